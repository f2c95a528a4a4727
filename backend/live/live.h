/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the backends of the running kernel share, whatever way its events take: who is a thread
 * (tasks.c), which tracepoints there are (present.c), the kernel's types (types.c) and where the
 * members of an event map's expression lie in them (fetch.c).
 */
#ifndef GT_LIVE_H
#define GT_LIVE_H

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "../eventmap/eventmap.h"

#define GT_TASKS   4096
#define GT_BTF_DIR "/sys/kernel/btf"
#define GT_BUFFERS (256ll << 20) /* of all CPUs */
#define GT_FETCH   64 /* of one field, with its NUL: MAX_ARGSTR_LEN in kernel/trace/trace_probe.h */

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

/** gt_live_buffer_cap() - bytes per CPU that a source's buffers may have, with @ncpus and @memory
 * bytes of memory */
static inline int64_t gt_live_buffer_cap(int64_t memory, int64_t ncpus)
{
	int64_t total = memory / 64;

	if (total > GT_BUFFERS)
		total = GT_BUFFERS;
	return ncpus > 1 ? total / ncpus : total;
}

/* file.c */

/** gt_live_access() - access(2) by the rights that an open() has: not the real user's alone, who
 * may have been given capabilities */
int gt_live_access(const char *path, int mode);
/** gt_live_read() - DIR/@file, malloc()ed and NUL-terminated, up to 4 MiB; NULL if it cannot be
 * read */
char *gt_live_read(const char *dir, const char *file, size_t *len);

/* present.c */

/** gt_live_present() - gt_eventmap_present: @arg is tracefs' path */
bool gt_live_present(void *arg, const char *system, const char *event);
/** gt_live_handed_over() - another backend tells of the tracepoints from now on: what comes until
 * it has attached to them nobody tells, which is a loss of unknown size */
void gt_live_handed_over(struct gt_plugin *p);
/** gt_live_check() - has this kernel one of the maps' tracepoints that only a GPU's driver
 * has? 0, or -errno with the sentence in @err */
int gt_live_check(struct gt_plugin *p, char *err, size_t len);

/* types.c */

/** struct gt_types - of the kernel, and of one module on top; @lacks: why there are none of it */
struct gt_types {
	struct btf *kernel, *module;
	char lacks[160];
};

/**
 * gt_types_load() - the types in @dir, usually GT_BTF_DIR
 * @module: "" for none; one that has no types is no error, as it may be part of the kernel
 *
 * Return: 0, or -errno with the sentence in @err.
 */
int gt_types_load(struct gt_types *t, const char *dir, const char *module, char *err, size_t len);
/** gt_types_of_tracepoint() - the types of the module that has it are @t's then, if they are not
 * yet; -ENOENT: no types have it */
int gt_types_of_tracepoint(struct gt_types *t, const char *dir, const char *tracepoint);
void gt_types_free(struct gt_types *t);
/** gt_type_find() - the struct or union called @name */
int gt_type_find(const struct gt_types *t, const char *name, uint32_t *id, char *err, size_t len);
/** gt_type_member() - the type of a member of *@id; its offset in bytes is added to *@off */
int gt_type_member(const struct gt_types *t, uint32_t *id, const char *name, int64_t *off,
		   char *err, size_t len);
/** gt_type_target() - what the pointer *@id points to; -EINVAL: it is no pointer */
int gt_type_target(const struct gt_types *t, uint32_t *id);

/** gt_type_tracepoint() - the function that is called at one; 0: not in these types */
uint32_t gt_type_tracepoint(const struct gt_types *t, const char *name);
/** gt_type_function() - that of a function; 0: not in these types */
uint32_t gt_type_function(const struct gt_types *t, const char *name);
/** gt_type_parameter() - the type of parameter @n, from 0, of a function; -EINVAL: it has none */
int gt_type_parameter(const struct gt_types *t, uint32_t function, unsigned int n, uint32_t *id);
/** gt_type_spell() - the type in C, "struct sched" or "u64", without qualifiers; "" if it has no
 * name */
void gt_type_spell(const struct gt_types *t, uint32_t id, char *buf, size_t len);
/** gt_type_same() - are these the same, or described twice? */
bool gt_type_same(const struct gt_types *t, uint32_t a, uint32_t b);

enum gt_class {
	GT_CLASS_NONE, /* cannot be in a record */
	GT_CLASS_NUMBER,
	GT_CLASS_STRING,     /* characters, right there */
	GT_CLASS_STRING_PTR, /* a pointer to them */
};

/** gt_type_class() - @type: out: the kernel's word for a number, "u32" */
enum gt_class gt_type_class(const struct gt_types *t, uint32_t id, char type[8]);

/* fetch.c */

/**
 * struct gt_source - what an expression begins with
 * @format: the `format` file of the source, whose fields they are; NULL: they are arguments
 * @function: of the function that is called with these; 0: the kernel's types do not have it
 * @first: which of its parameters is $arg1: what is called at a tracepoint has one before it
 */
struct gt_source {
	const char *format;
	uint32_t function;
	unsigned int first;
};

/** gt_source_record() - fields of a record */
struct gt_source gt_source_record(const char *format);
/** gt_source_tracepoint() - arguments of a tracepoint, by the types that have it */
struct gt_source gt_source_tracepoint(const struct gt_types *t, const char *name);
/** gt_source_function() - arguments of a function */
struct gt_source gt_source_function(const struct gt_types *t, const char *name);

/**
 * gt_fetch() - an expression of an event map as the kernel's own ("fetcharg"): what
 * $fence<drm_sched_fence.finished>->sched->name is in this kernel, +0(+24(+72($fence))):string
 *
 * Where the expression says what the field or argument it begins with points to, that has to be so:
 * by the kernel's types for an argument, by the format for a field. A tracepoint's name alone says
 * nothing of what it passes.
 *
 * Return: 0, or -errno with the sentence in @err; -EPROTOTYPE: the source is not what the
 * expression was written for, so that no other of its expressions is to be trusted.
 */
int gt_fetch(const struct gt_types *t, const struct gt_source *s, const char *expr,
	     char out[GT_FETCH], char *err, size_t len);

/* tasks.c */
struct gt_tasks *gt_tasks_new(const char *tracefs);
void gt_tasks_free(struct gt_tasks *t);
/** gt_tasks_foreign() - is our PID namespace not the trace's, so that pids stay unknown? */
bool gt_tasks_foreign(const struct gt_tasks *t);
/** gt_tasks_owner() - does the thread that runs say whose doing an event of @type is? */
bool gt_tasks_owner(unsigned int type);
/** gt_tasks_round() - a drain begins, at @now: what /proc and tracefs say may be read anew */
void gt_tasks_round(struct gt_tasks *t, uint64_t now);
/**
 * gt_tasks_fill() - completes pid and uid of @r, where its type has an owner, and blanks them where
 * the thread is only the one that was interrupted
 * @proc: out: a PROCESS record that must go before @r, if true is returned
 */
bool gt_tasks_fill(struct gt_tasks *t, union gt_record *r, union gt_record *proc);
/** gt_tasks_own() - likewise for a call of a function: its thread is whose doing it is, whatever
 * the type; only a thread of the kernel owns no queue */
bool gt_tasks_own(struct gt_tasks *t, union gt_record *r, union gt_record *proc);

#endif
