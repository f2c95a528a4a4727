/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the ftrace backend: calls of kernel functions, by the function tracer of our instance.
 * functions.c (the setting: its words, what is written to tracefs, the thread that does it), calls.c
 * (which address is which function, and from a call to a record).
 */
#ifndef GT_FTRACE_FUNCTIONS_H
#define GT_FTRACE_FUNCTIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../event.h"

struct ft;
struct gt_plugin;
struct gt_tp;

#define FT_WORDS	256
#define FT_WORD_NAME	GT_FUNCTION_NAME
#define FT_WORD_MODULE	64
#define FT_SYMS		(1u << 19) /* functions of which the address is kept */
#define FT_SYM_DISTANCE 16	   /* an event's ip may lie so far behind a function's begin */
/* the tracer, its event, and the maps' system for functions */
#define FT_FUNCTION_NAME "function"

/**
 * struct ft_word - NAME, NAME:mod:MODULE or :mod:MODULE, with ! before it: functions taken away
 * @others: "!" before the module: those of every other one
 * @plain: the module's name is no pattern
 * @hit: some function is meant by it, as far as ft_syms_read() saw
 */
struct ft_word {
	bool away, others, plain, hit;
	char name[FT_WORD_NAME];
	char module[FT_WORD_MODULE]; /* "": not given */
};

/** struct ft_filter - the setting `functions`; @n is never 0 */
struct ft_filter {
	unsigned int n;
	struct ft_word word[];
};

/** struct ft_sym - a function; @name: offset in ft_syms.names; @id: of gt_callname_id(), or GT_NONE32
 */
struct ft_sym {
	uint64_t addr;
	struct gt_tp *tp; /* what an event map makes of its calls, or NULL */
	uint32_t name;
	uint32_t id;
};

/** struct ft_syms - functions that a filter means, by address */
struct ft_syms {
	struct ft_sym *sym;
	size_t n, cap;
	char *names;
	size_t len, room;
	bool cut; /* there were more than FT_SYMS */
};

/* functions.c */

/**
 * ft_filter_parse() - @text in ftrace's syntax, words with blanks or commas between them
 * @out: free() it; NULL for a text without words
 *
 * Return: 0, -EINVAL with a sentence, or -ENOMEM.
 */
int ft_filter_parse(const char *text, struct ft_filter **out, char *err, size_t len);
/** ft_filter_print() - a word as the kernel wants it */
void ft_filter_print(const struct ft_word *w, char *buf, size_t len);
/** ft_filter_takes() - is this function meant? Notes which words meant it. @module NULL: none */
bool ft_filter_takes(struct ft_filter *f, const char *name, const char *module);
/** ft_glob() - does @pattern (* ? [a-z] [!a-z] \) mean all of @s? Time is bounded by their product
 */
bool ft_glob(const char *pattern, const char *s);

/* calls.c */

/**
 * ft_syms_read() - takes from a file like /proc/kallsyms what @f means
 *
 * Return: free with ft_syms_free(); NULL with errno, ENODATA: the kernel hides all addresses.
 */
struct ft_syms *ft_syms_read(const char *path, struct ft_filter *f);
void ft_syms_free(struct ft_syms *s);
/** ft_syms_find() - the function that an event's @ip is in, or NULL; @s may be NULL */
struct ft_sym *ft_syms_find(const struct ft_syms *s, uint64_t ip);
static inline const char *ft_sym_name(const struct ft_syms *s, const struct ft_sym *sym)
{
	return s->names + sym->name;
}

/* functions.c: what is written to tracefs; from a thread of its own, so only @dir is used */

/* calls.c */

/** ft_calls_format() - takes the layout of a function event; its id, or -1 */
int ft_calls_format(struct ft *ft);
/** ft_calls_bind() - finds what the event maps make of which function */
void ft_calls_bind(struct ft *ft, struct ft_syms *s);
struct gt_evctx;
/** ft_call() - an event of the function tracer becomes records */
void ft_call(struct ft *ft, const struct gt_evctx *c, const uint8_t *data, uint32_t len);

/* functions.c */

struct ft_change;

/**
 * struct ft_functions - what is traced
 * @syms: of @filter; @before: of the filter before; its calls may still be in the buffers
 * @modules: ft_modules_sign() when @filter was put to work
 * @change: under way, or only counting; NULL
 * @id: of the event, -1; @format: its layout; @ip: offset in it
 * @matched: functions traced, -1: not counted yet
 */
struct ft_functions {
	struct ft_filter *filter;
	struct ft_syms *syms, *before;
	uint64_t modules;
	struct ft_change *change;
	int id;
	char *format;
	size_t format_len;
	uint32_t ip;
	_Atomic long matched;
	uint64_t calls, unknown, unnamed, looked;
};

/** ft_functions_set() - @text as ft_filter_parse(); at work when it returns. @live: events are
 * drained meanwhile. -errno with a sentence in @err, and the old filter goes on */
int ft_functions_set(struct ft *ft, const char *text, bool live, char *err, size_t len);
/** ft_functions_rescan() - modules may have come or gone: puts the filter to work on what there is
 */
void ft_functions_rescan(struct ft *ft);
/** ft_functions_missed() - an @ip that no table has: true if they are new now */
bool ft_functions_missed(struct ft *ft, uint64_t now);
/** ft_functions_pending() - does @w wait for a module that is not loaded? */
bool ft_functions_pending(const struct ft_word *w);
/** ft_functions_stop() - the tracer is off and all is freed */
void ft_functions_stop(struct ft *ft);

#endif
