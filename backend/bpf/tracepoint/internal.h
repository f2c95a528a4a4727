/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the part `tracepoint`: tracepoint.c (it begins and ends), select.c (which tracepoints,
 * which bytes of their records, and attaching to them), decode.c (from their records or arguments to
 * ours), synth.c (synthetic tracepoints, where the kernel has none).
 */
#ifndef GB_TRACEPOINT_H
#define GB_TRACEPOINT_H

#include "../internal.h"
#include "../../live/live.h"

struct tracepoint_bpf; /* skeletons */
struct args_bpf;

#define TP_FORMAT 4096 /* bytes of a format made here */

enum tp_how {
	TP_OFF,
	TP_RAW,	      /* by its record */
	TP_MADE,      /* a stand-in: by its source's record, or the arguments of a function */
	TP_ARGS,      /* by its arguments */
	TP_MADE_ARGS, /* a stand-in, by those of its source */
};

/**
 * struct tp_slot - a tracepoint of the maps; it keeps its number
 * @how, @link: how it is attached; @wanted: and how it shall be; @args: of TP_*ARGS, its programs;
 *	@again: the second one is attached, too, see bpf/args.bpf.c; @asked_again: that was tried
 * @by_args: it can be read from its arguments, as @made says; @noargs: why not, or why not
 *	all that the map wants of them; @nolink: the kernel refused that once: it is not tried again
 * @made: what is made where the kernel lacks it, if @probed; @want: that is to be; @instance: with
 *	types of that module
 * @own: the kernel has it; @refused: it cannot be made, as @why says
 * @error: what is in the way of the kernel's own, or of part of it
 */
struct tp_slot {
	struct gt_tp *tp;
	struct bpf_link *link, *again;
	struct args_bpf *args;
	enum tp_how how, wanted;
	bool by_args, nolink, asked_again, probed, own, want, ready, refused;
	struct gt_bpf_made made;
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

/** enum tp_more - programs that are seldom needed: each is loaded when it is */
enum tp_more { TP_CALLED, TP_RECORD_CALL, TP_MORE };

/** struct tp_share - events of a while: those that came, and those that the kernel kept from the
 * programs; @last: of the while before, of a million */
struct tp_share {
	uint64_t seen, missed, last;
};

#define TP_WHILE 10000 /* events */

/**
 * struct tp_state - the part while it runs
 * @more: has those of them that are loaded
 * @reported_by: the backend that reports tracepoints instead; "": this one
 * @tick: ns, to which /proc rounds the begin of a process
 * @missed: events that came while another program ran on their CPU, as the kernel counts them;
 *	@missed_gone: by programs that are no more; @uncounted: it does not; @kept: those, and events
 *	that second programs took, when that was asked last
 * @preemptible: a task can be taken off its CPU within a tracepoint's program (since Linux 7.0)
 * @share: how many of all those are; @seen: events, when that was asked; @often: they are so many
 *	that others may do better, @yields: those are to be asked
 * @rank: of the claim
 * @nowhere: tracepoints that there is no slot for
 * @asked: when it was asked about that, and when again, 0: when something comes; @heard: something
 *	came since; @round: what /proc said is not older than this; @unknown:
 * records of no tracepoint in use
 */
struct tp_state {
	struct gb *b;
	struct tracepoint_bpf *skel, *more[TP_MORE];
	struct tp_shadow shadow;
	struct gt_eventmap *map;
	struct gt_tasks *tasks;
	struct gt_types types;
	char module[64];
	unsigned int n, attached, nowhere;
	bool uncounted, preemptible, heard, often, yields;
	struct tp_share share;
	int rank;
	struct tp_slot slot[GT_BPF_TPS];
	char map_error[256], bind_error[GB_SENTENCE], reported_by[32];
	struct gt_bpf_levels *levels; /* of all CPUs, for tp_on_its_way() */
	uint64_t tick, missed, missed_gone, kept, seen, asked, ask_again, unknown, round;
};

/* select.c */

/** tp_select() - attaches to what the maps want and the kernel has, and leaves the rest. How many
 * are attached, or -ENOMEM */
int tp_select(struct tp_state *t);
void tp_detach_all(struct tp_state *t);
/** tp_more_program() - that one of @o */
const struct bpf_program *tp_more_program(const struct tracepoint_bpf *o, enum tp_more which);

/* select.c */

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

/* synth.c */

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
/** tp_make() - the record of a tracepoint's stand-in, and its format; fields that cannot be had are
 * left out, the first of them is in @why; -EPROTOTYPE: @source is another than the map means */
int tp_make(const struct gt_types *types, const struct gt_probe *probe,
	    const struct gt_source *source, struct gt_bpf_made *made, char out[TP_FORMAT],
	    char *why, size_t len);

/* decode.c */

/** tp_args_prepare() - binds @s to its arguments; false: it needs another way */
bool tp_args_prepare(struct tp_state *t, struct tp_slot *s);
/** tp_args_link() - attaches @s->wanted, which is TP_*ARGS; NULL: @s->noargs says why not */
struct bpf_link *tp_args_link(struct tp_state *t, struct tp_slot *s);
void tp_args_unlink(struct tp_state *t, struct tp_slot *s);
/** tp_load_more() - loads an object with the maps of @t->skel, as far as they have its
 * names; 0, or -errno with the sentence in @err */
int tp_load_more(struct tp_state *t, struct bpf_object *o, char *err, size_t len);
/** tp_on_its_way() - the time of the oldest event that a program reports now, UINT64_MAX: none; 0:
 * not known */
uint64_t tp_on_its_way(struct gb *b);
/** tp_caught() - how many it took; false: not known */
bool tp_caught(const struct tp_state *t, uint64_t *n);
/** tp_skipped() - how many events have been kept from the first programs by now, of which second
 * ones may catch some; false: the kernel does not say */
bool tp_skipped(const struct tp_state *t, uint64_t *n);
/** tp_missed_often() - @seen events more came, and @missed did not: at the end of a while, were
 * more than @most of a million missed? */
bool tp_missed_often(struct tp_share *s, uint64_t seen, uint64_t missed, uint64_t most);
/** tp_may_miss() - can events come in interrupts, while a program runs that keeps theirs from
 * running? */
bool tp_may_miss(const struct tp_state *t);

/* synth.c: after gt_eventmap_select() has shown which tracepoints are missing, tp_standins_update() makes them; then
 * gt_eventmap_select() must be called again */
/** tp_types_having() - likewise those that have @tracepoint: @module's, or whichever module's */
const struct gt_types *tp_types_having(struct tp_state *t, const char *module,
				       const char *tracepoint, char *err, size_t len);
void tp_standins_retry(struct tp_state *t);
void tp_standins_update(struct tp_state *t);
/** tp_standins_emit() - what became of slot @i's, a line for doctor; false: there is none */
bool tp_standins_emit(const struct tp_state *t, const struct tp_slot *s, char *buf, size_t len);

/* decode.c */
void tp_raw(struct gb *b, const struct gt_bpf_raw *raw, const void *data, size_t len);
void tp_round(struct gb *b, uint64_t until);
bool tp_record(struct gb *b, union gt_record *r);

#endif
