/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of our own, made where the kernel has none: btf.c (the kernel's types), fetch.c (what is
 * to be fetched), dynamic.c (making and removing events), standin.c (which of them serve).
 *
 * Everything runs in the ingest thread.
 */
#ifndef GT_FTRACE_PROBES_H
#define GT_FTRACE_PROBES_H

#include "internal.h"

struct btf;

#define FT_GROUP_PREFIX "gputrace_" /* and our pid: the group of our events */
#define FT_BTF_DIR	"/sys/kernel/btf"
#define FT_FETCH	64 /* of one field, with its NUL: MAX_ARGSTR_LEN in kernel/trace/trace_probe.h */

/** struct ft_types - of the kernel, and of one module on top; @lacks: why there are none of it */
struct ft_types {
	struct btf *kernel, *module;
	char lacks[160];
};

/* btf.c */

/**
 * ft_types_load() - the types in @dir, usually FT_BTF_DIR
 * @module: "" for none; one that has no types is no error, as it may be part of the kernel
 *
 * Return: 0, or -errno with the sentence in @err.
 */
int ft_types_load(struct ft_types *t, const char *dir, const char *module, char *err, size_t len);
void ft_types_free(struct ft_types *t);
/** ft_type_find() - the struct or union called @name */
int ft_type_find(const struct ft_types *t, const char *name, uint32_t *id, char *err, size_t len);
/** ft_type_member() - the type of a member of *@id; its offset in bytes is added to *@off */
int ft_type_member(const struct ft_types *t, uint32_t *id, const char *name, int64_t *off,
		   char *err, size_t len);
/** ft_type_target() - what the pointer *@id points to; -EINVAL: it is no pointer */
int ft_type_target(const struct ft_types *t, uint32_t *id);

enum ft_class {
	FT_CLASS_NONE, /* cannot be in a record */
	FT_CLASS_NUMBER,
	FT_CLASS_STRING,     /* characters, right there */
	FT_CLASS_STRING_PTR, /* a pointer to them */
};

/** ft_type_class() - @type: out: the kernel's word for a number, "u32" */
enum ft_class ft_type_class(const struct ft_types *t, uint32_t id, char type[8]);

/* fetch.c */

/**
 * ft_fetch() - an expression of an event map as the kernel's own ("fetcharg"): what
 * $fence<drm_sched_fence.finished>->sched->name is in this kernel, +0(+24(+72($fence))):string
 * @format: the source's `format` file; NULL: the source is a function
 *
 * Return: 0, or -errno with the sentence in @err.
 */
int ft_fetch(const struct ft_types *t, const char *format, const char *expr, char out[FT_FETCH],
	     char *err, size_t len);

/* dynamic.c */

/** ft_dynamic_make() - the event @group/@name; 0 or -errno, with the sentence in @err.
 * @probe: its source; @args: " NAME=FETCHARG…" */
int ft_dynamic_make(const char *tracefs, const char *group, const char *name,
		    const struct gt_probe *probe, const char *args, char *err, size_t len);
int ft_dynamic_remove(const char *tracefs, const char *group, const char *name);
/** ft_dynamic_clean() - removes what a gputrace that is gone, or an earlier start of this one, left
 */
void ft_dynamic_clean(struct gt_plugin *p);

/* standin.c: between two calls of gt_eventmap_select(), and after the second */

/** ft_standins_retry() - what was refused may be possible now */
void ft_standins_retry(struct ft *ft);
/** ft_standins_update() - makes what is wanted and can be; -ENOMEM */
int ft_standins_update(struct ft *ft);
/** ft_standins_group() - the group of our event that tells @tp; NULL: the kernel's own does */
const char *ft_standins_group(const struct ft *ft, const struct gt_tp *tp);
/** ft_standins_refuse() - our event for @tp cannot be enabled; false: there is none */
bool ft_standins_refuse(struct ft *ft, const struct gt_tp *tp, const char *why);
/** ft_standins_trim() - removes those that are not wanted any more, or @all; none that is enabled
 */
void ft_standins_trim(struct ft *ft, bool all);
/** ft_standins_free() - removes all: after the instance, where they are enabled */
void ft_standins_free(struct ft *ft);
/** ft_standins_tell() - the @i-th line for doctor, without its end; false: there is none */
bool ft_standins_tell(const struct ft *ft, unsigned int i, char *buf, size_t len);

#endif
