/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the backends of the running kernel share: who a thread is and which tracepoints exist (threads.c),
 * the kernel's types, and expressions of event maps by these (kernel_types.c).
 */
#ifndef GT_THREADS_H
#define GT_THREADS_H

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "../eventmap/eventmap.h"

#define GT_TASKS   4096
#define GT_BTF_DIR "/sys/kernel/btf"
#define GT_BUFFERS (256ll << 20) /* of all CPUs */
#define GT_FETCH                                                                                   \
	64 /* bytes of a field's expression: MAX_ARGSTR_LEN in kernel/trace/trace_probe.h */

struct btf;

static inline void gt_live_freep(void *p)
{
	free(*(void **)p);
}
static inline void gt_live_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define gt_live_auto_free  __attribute__((cleanup(gt_live_freep)))
#define gt_live_auto_close __attribute__((cleanup(gt_live_closep)))

/** gt_live_buffer_cap() - bytes per CPU that a source's buffers may take, with @memory bytes of
 * memory */
static inline int64_t gt_live_buffer_cap(int64_t memory, int64_t ncpus)
{
	int64_t total = memory / 64;

	if (total > GT_BUFFERS)
		total = GT_BUFFERS;
	return ncpus > 1 ? total / ncpus : total;
}

/* threads.c */

/** gt_live_access() - access(2) with the effective rights, as open() has them, including
 * capabilities */
int gt_live_access(const char *path, int mode);
/** gt_live_read() - DIR/@file, malloc()ed and NUL-terminated, up to 4 MiB; NULL if it cannot be
 * read */
char *gt_live_read(const char *dir, const char *file, size_t *len);

/** gt_tracepoint_exists() - gt_tracepoint_exists_fn: does tracefs, at path @arg, have the tracepoint? */
bool gt_tracepoint_exists(void *arg, const char *system, const char *event);
/** gt_live_report_handover() - another backend records the tracepoints from now on: reports a loss of
 * unknown size, since events up to its attaching are missed */
void gt_live_report_handover(struct gt_plugin *p);
/** gt_live_check() - does this kernel have a tracepoint of the maps that only a GPU's driver has? 0, or
 * -errno with a sentence in @err */
int gt_live_check(struct gt_plugin *p, char *err, size_t len);

/* kernel_types.c */

/** struct gt_types - types of the kernel and of one module; @lacks: why the module's are missing */
struct gt_types {
	struct btf *kernel, *module;
	char lacks[160];
};

/**
 * gt_types_load() - loads types from @dir, usually GT_BTF_DIR
 * @module: "" for none; missing types of it are no error, as it may be part of the kernel
 *
 * Return: 0, or -errno with the sentence in @err.
 */
int gt_types_load(struct gt_types *t, const char *dir, const char *module, char *err, size_t len);
/** gt_types_of_tracepoint() - loads the types of the module that has the tracepoint, unless those in
 * @t have it; -ENOENT: none has */
int gt_types_of_tracepoint(struct gt_types *t, const char *dir, const char *tracepoint);
void gt_types_free(struct gt_types *t);

/** gt_type_tracepoint() - type of the function that is called at a tracepoint; 0: not found */
uint32_t gt_type_tracepoint(const struct gt_types *t, const char *name);
/** gt_type_function() - type of a function; 0: not found */
uint32_t gt_type_function(const struct gt_types *t, const char *name);

/**
 * struct gt_source - what an expression starts with
 * @format: a `format` file with the field; NULL: an argument
 * @function: type of the function with the arguments; 0: unknown to the kernel's types
 * @first: number of the parameter that is $arg1: a tracepoint's function has one before it
 */
struct gt_source {
	const char *format;
	uint32_t function;
	unsigned int first;
};

/** gt_source_record() - fields of a record */
struct gt_source gt_source_record(const char *format);
/** gt_source_tracepoint() - arguments of a tracepoint */
struct gt_source gt_source_tracepoint(const struct gt_types *t, const char *name);
/** gt_source_function() - arguments of a function */
struct gt_source gt_source_function(const struct gt_types *t, const char *name);

/**
 * gt_fetch() - translates an expression of an event map to the kernel's ("fetcharg"): in this kernel,
 * $fence<drm_sched_fence.finished>->sched->name may be +0(+24(+72($fence))):string
 *
 * If the expression says what its first field or argument points to, that is checked: an argument by
 * the kernel's types, a field by the format. A tracepoint's name alone does not say what it passes.
 *
 * Return: 0, or -errno with a sentence in @err. -EPROTOTYPE: the source is not what the expression was
 * written for, so no other expression of it can be trusted.
 */
int gt_fetch(const struct gt_types *t, const struct gt_source *s, const char *expr,
	     char out[GT_FETCH], char *err, size_t len);

/* threads.c */

/**
 * gt_tasks_new() - a cache of threads: the process and user of each
 * @tracefs: where the kernel's lists of threads that ended are, saved_tgids and saved_cmdlines. They are
 *	true only while an instance with record-tgid records the threads in question; else they hold threads
 *	that had these numbers long ago. NULL: the lists are not used
 */
struct gt_tasks *gt_tasks_new(const char *tracefs);
void gt_tasks_free(struct gt_tasks *t);
/** gt_tasks_foreign() - does the trace have another PID namespace, so that pids stay unknown? */
bool gt_tasks_foreign(const struct gt_tasks *t);
/** gt_tasks_owner() - is an event of @type caused by the thread that runs? */
bool gt_tasks_owner(unsigned int type);
/** gt_tasks_round() - a drain begins at @now: /proc and tracefs may be read again */
void gt_tasks_round(struct gt_tasks *t, uint64_t now);
/**
 * gt_tasks_fill() - completes pid and uid of @r if its type has an owner, and clears tid if the thread
 * was only interrupted; a uid that is set stays
 * @proc: a PROCESS record that must go before @r if true is returned
 */
bool gt_tasks_fill(struct gt_tasks *t, union gt_record *r, union gt_record *proc);
/** gt_tasks_own() - likewise for a call of a function, which the thread causes whatever the type;
 * but a kernel thread owns no queue */
bool gt_tasks_own(struct gt_tasks *t, union gt_record *r, union gt_record *proc);

#endif
