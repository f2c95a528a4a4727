/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the part `tracepoint`: tracepoint.c (which tracepoints, which bytes of their records, and
 * from these or their arguments to our records), tracepoint_program.c (the program of each),
 * tracepoint_synth.c (synthetic tracepoints, where the kernel has none).
 */
#ifndef GT_TRACEPOINT_H
#define GT_TRACEPOINT_H

#include "../lib/threads.h"
#include "bpf.h"

struct tracepoint_bpf; /* skeleton */

#define TP_FORMAT    4096 /* bytes of a format made here */
#define TP_PROCESSES 8192 /* processes that were reported, by pid modulo this */

enum tp_how {
	TP_OFF,
	TP_RAW,	      /* by its record */
	TP_MADE,      /* synthetic: by its source's record, or the arguments of a function */
	TP_ARGS,      /* by its arguments */
	TP_MADE_ARGS, /* synthetic, by those of its source */
};

/**
 * struct tp_program - a program that is attached to a tracepoint
 * @prog, @link: descriptors
 * @conf: as it was loaded, but for its serial
 * @serial: see struct gt_bpf_tp
 * @instance: of the module with the types that @conf was made from, see gb_module_instance()
 */
struct tp_program {
	int prog, link;
	struct gt_bpf_tp conf;
	uint16_t serial;
	enum tp_how how;
	uint64_t instance;
};

/**
 * struct tp_slot - a tracepoint of the maps; it keeps its number
 * @how: how it is attached
 * @wanted: how it shall be
 * @now: its program, while it is attached
 * @last: the program before, for gb_detach_cancel(): it may be taken back
 * @conf: what its program is to send, for @wanted
 * @exists: the kernel has it
 * @by_args: it can be read from its arguments; @noargs: why not, or why not all that the map wants of
 *	them; @nolink: the kernel refused that once: it is not tried again
 * @probed: the maps say how to make it of another one; @want: that is to be; @instance: with types
 *	of that module; @ready: @conf says how; @refused: it cannot be made, as @why says
 * @error: what is in the way of the kernel's own, or of part of it
 */
struct tp_slot {
	struct gt_tp *tp;
	struct tp_program *now;
	uint64_t last;
	enum tp_how how, wanted;
	bool by_args, nolink, probed, exists, want, ready, refused;
	struct gt_bpf_tp conf;
	uint64_t instance;
	char why[240], error[240], noargs[200];
};

/** struct tp_shadow - the plugin the event maps see: what they push gets its place in our order */
struct tp_shadow {
	struct gt_plugin p;
	struct gt_host host;
	struct gb *b;
};

/** struct tp_process - a process that was reported; @start: as in struct gt_bpf_raw */
struct tp_process {
	uint64_t start;
	uint32_t pid;
};

/**
 * struct tp_state - the part while it runs
 * @reported_by: the backend that reports tracepoints instead; "": this one
 * @rank: of the claim
 * @tick: ns, to which /proc rounds the begin of a process
 * @nowhere: tracepoints that there is no slot for
 * @gap: events were not seen while a tracepoint was attached to in another way
 * @uncounted: the kernel does not count the events that it keeps from programs of records
 * @preemptible: a task can be taken off its CPU within a program of arguments (since Linux 7.0)
 * @missed: events that the kernel kept from the programs, as it counts them; @missed_gone: from
 *	programs that are no more
 * @asked: when it was asked about that, and @ask_again: when again, 0: when something comes;
 *	@heard: something came since
 * @round: what /proc said is not older than this
 * @unknown: records of no program in use
 * @template: what the programs are copies of
 * @serial: of the last program that was loaded
 */
struct tp_state {
	struct gb *b;
	struct tp_shadow shadow;
	struct gt_eventmap *map;
	struct gt_tasks *tasks;
	struct gt_types types;
	struct tracepoint_bpf *template;
	char module[64];
	unsigned int n, attached, nowhere;
	bool gap, uncounted, preemptible, heard;
	int rank;
	uint16_t serial;
	struct tp_slot slot[GT_BPF_TPS];
	struct tp_process process[TP_PROCESSES];
	char map_error[256], bind_error[GB_SENTENCE], reported_by[32];
	uint64_t tick, missed, missed_gone, asked, ask_again, unknown, round;
};

/* tracepoint.c */

/** tp_prefers_args() - are its arguments better than its record, where both can be had? */
bool tp_prefers_args(const struct tp_state *t, const struct tp_slot *s);

/** struct tp_field - a line of a `format` file; @string: a word that says where characters are;
 * @rel: from behind it; @chars: they are right here */
struct tp_field {
	char name[32];
	unsigned int off, size;
	bool string, rel, chars;
};

/** tp_field_next() - the field at or behind *@p, which is moved behind it; false: no more */
bool tp_field_next(const char **p, struct tp_field *f);
/** tp_layout() - what of a record of this format is sent; false: not all its fields */
bool tp_layout(const char *format, struct gt_bpf_tp *out);

/* tracepoint_program.c */

/** tp_template_load() - what all programs are copies of; -errno with the sentence: none can be loaded */
int tp_template_load(struct tp_state *t, char *err, size_t len);
void tp_template_free(struct tp_state *t);
/**
 * tp_program_make() - loads and attaches a program that does for @s what is wanted, and switches it on
 *
 * Return: 0 with *@out, or -errno with the sentence.
 */
int tp_program_make(struct tp_state *t, const struct tp_slot *s, struct tp_program **out, char *err,
		    size_t len);
/** tp_program_on() - its events are sent from now on, and those of no other program of its tracepoint */
void tp_program_on(struct tp_state *t, const struct tp_program *p);
/** tp_program_off() - no program of its tracepoint sends anything from now on */
void tp_program_off(struct tp_state *t, const struct tp_program *p);
/** tp_program_missed() - events that the kernel has kept from it */
uint64_t tp_program_missed(const struct tp_program *p);
/** tp_program_free() - detaches it; for gb_detach_later(), in any thread */
void tp_program_free(void *program);

/* tracepoint_synth.c */

/**
 * tp_follow() - how the BPF program gets at a field
 * @fetch: as gt_fetch() writes it, "+0(+24(+72($fence))):string"
 * @format: of the source; NULL: the source is a function
 * @type: out: as in a format, "u64"; "char" where it ends at characters
 *
 * Return: 0, or -EINVAL with the sentence in @err.
 */
int tp_follow(const char *fetch, const char *format, struct gt_bpf_field *out, char type[8],
	      char *err, size_t len);

/** tp_args_prepare() - binds @s to its arguments; false: it needs another way */
bool tp_args_prepare(struct tp_state *t, struct tp_slot *s);
/* tracepoint_synth.c: after gt_eventmap_select() has shown which tracepoints are missing, tp_standins_update() makes them; then
 * gt_eventmap_select() must be called again */
void tp_standins_retry(struct tp_state *t);
void tp_standins_update(struct tp_state *t);
/** tp_standins_emit() - what became of slot @i's, a line for doctor; false: there is none */
bool tp_standins_emit(const struct tp_state *t, const struct tp_slot *s, char *buf, size_t len);

#endif
