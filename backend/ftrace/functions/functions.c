/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The setting `functions`: change.c's thread puts it to work, and whoever asked goes on draining
 * events until that is done: their buffers do not run over meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "change.h"

#define LOOK_NS 50000000ull /* between looks for a function that no table has */

bool ft_functions_pending(const struct ft_word *w)
{
	return w->plain && !w->away && *w->module && !ft_module_loaded(w->module);
}

/* Can the coming or going of the module at @name, of @n letters, change what @f means? */
static bool concerns(const struct ft_filter *f, const char *name, size_t n)
{
	for (unsigned int i = 0; i < f->n; i++) {
		const struct ft_word *w = &f->word[i];

		if (!w->plain || (!strncmp(w->module, name, n) && !w->module[n]))
			return true;
	}
	return false;
}

/* FNV-1a of a line "name size users by, state address", less what changes with each user */
static uint64_t hash_line(uint64_t h, const char *p)
{
	unsigned int column = 0;

	for (; *p && *p != '\n'; p++) {
		column += *p == ' ';
		if (column < 2 || column == 5)
			h = (h ^ (uint8_t)*p) * 1099511628211ull;
	}
	return h;
}

/* A number that is another when modules that concern @f came, went, or came again. */
static uint64_t modules_sign(const struct ft_filter *f)
{
	ft_auto_free char *text = gt_live_read("/proc", "modules", NULL);
	uint64_t h = 14695981039346656037ull;

	for (const char *p = text; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (concerns(f, p, strcspn(p, " \n")))
			h = hash_line(h, p);
	return h;
}

/* The new table is in use before the first call, and the old one as long as calls may be left. */
static void take_over(struct ft *ft, struct ft_change *c)
{
	struct ft_functions *fn = &ft->functions;

	ft_calls_bind(ft, c->syms);
	ft_syms_free(fn->before);
	fn->before = fn->syms;
	fn->syms = c->syms;
	c->syms = NULL;
}

static void take_back(struct ft_functions *fn)
{
	ft_syms_free(fn->syms);
	fn->syms = fn->before;
	fn->before = NULL;
}

static int tracer_off(struct ft *ft, char *err, size_t len)
{
	int ret = ft_cpus_tracer(ft, "nop");

	if (ret)
		snprintf(err, len, "functions: the function tracer cannot be switched off: %s",
			 strerror(-ret));
	else
		ft_tracer_forget(ft->dir);
	return ret;
}

static int tracer_on(struct ft *ft, char *err, size_t len)
{
	int ret;

	/* elsewhere our thread ids are those of others */
	if (!gt_tasks_foreign(ft->tasks))
		ft_tracer_spare(ft->dir);
	ret = ft_cpus_tracer(ft, FT_FUNCTION_NAME);
	if (!ret)
		return 0;
	tracer_off(ft, err, len);
	snprintf(err, len, "functions: the function tracer cannot be switched on: %s",
		 strerror(-ret));
	return ret;
}

/* Waits until @c is done, its table in use in time. @live: draining. Is the table in use? */
static bool see_through(struct ft *ft, struct ft_change *c, bool live)
{
	enum ft_stage stage = FT_NAMING;
	bool taken = false;

	while (stage != FT_DONE) {
		stage = ft_change_wait(c, taken ? FT_TAKEN : FT_NAMING);
		if (stage == FT_NAMED) {
			take_over(ft, c);
			taken = true;
			ft_change_move(c, FT_TAKEN);
		}
		if (live && stage != FT_DONE) /* else it is not clear yet whose table it is */
			ft_drain(ft->p);
	}
	return taken;
}

/* Puts @want to work; on success it is the filter's, else still the caller's. */
static int change(struct ft *ft, struct ft_filter *want, bool lenient, bool live, char *err,
		  size_t len)
{
	struct ft_functions *fn = &ft->functions;
	uint64_t modules = modules_sign(want);
	struct ft_change *c = calloc(1, sizeof(*c));
	bool taken;
	int ret;

	ft_change_end(fn->change);
	fn->change = NULL;
	fn->matched = -1;
	if (!c) {
		snprintf(err, len, "functions: no memory");
		return -ENOMEM;
	}
	c->dir = ft->dir;
	c->want = want;
	c->old = fn->filter;
	c->lenient = lenient;
	c->matched = &fn->matched;
	ret = ft_change_begin(c);
	if (ret) {
		snprintf(err, len, "functions: no thread: %s", strerror(-ret));
		free(c);
		return ret;
	}
	fn->change = c;
	taken = see_through(ft, c, live);
	ret = c->ret;
	if (ret)
		snprintf(err, len, "%s", c->err);
	else if (!fn->filter)
		ret = tracer_on(ft, err, len);
	if (ret) {
		if (taken)
			take_back(fn);
		ft_change_end(fn->change);
		fn->change = NULL;
		return ret;
	}
	if (fn->filter != want)
		free(fn->filter);
	fn->filter = want;
	fn->modules = modules;
	return 0;
}

static int turn_off(struct ft *ft, char *err, size_t len)
{
	struct ft_functions *fn = &ft->functions;
	int ret;

	ft_change_end(fn->change);
	fn->change = NULL;
	ret = fn->filter ? tracer_off(ft, err, len) : 0;
	if (ret)
		return ret;
	free(fn->filter);
	fn->filter = NULL;
	fn->matched = -1;
	return 0;
}

int ft_functions_set(struct ft *ft, const char *text, bool live, char *err, size_t len)
{
	struct ft_filter *want;
	int ret = ft_filter_parse(text ? text : "", &want, err, len);

	if (ret)
		return ret;
	if (!want)
		return turn_off(ft, err, len);
	ret = ft_tracer_usable(ft->dir, err, len);
	if (!ret && ft->functions.id < 0 && ft_calls_format(ft) < 0) {
		snprintf(err, len, "functions: this kernel's function event is not understood");
		ret = -EOPNOTSUPP;
	}
	if (!ret)
		ret = change(ft, want, false, live, err, len);
	if (ret)
		free(want);
	return ret;
}

void ft_functions_rescan(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	char err[400] = "";

	if (!fn->filter || fn->modules == modules_sign(fn->filter))
		return;
	if (change(ft, fn->filter, true, true, err, sizeof(err)))
		ft->p->host->log(ft->p, LOG_WARNING, "%s", err);
}

bool ft_functions_missed(struct ft *ft, uint64_t now)
{
	struct ft_functions *fn = &ft->functions;
	struct ft_syms *s;

	/* Only a module that has come since can be the reason. */
	if (!fn->filter || (fn->looked && now - fn->looked < LOOK_NS))
		return false;
	if (fn->change && ft_change_stage(fn->change) != FT_DONE)
		return false;
	fn->looked = now;
	if (fn->modules == modules_sign(fn->filter))
		return false;
	s = ft_syms_read(FT_KALLSYMS, fn->filter);
	if (!s)
		return false;
	ft_calls_bind(ft, s);
	ft_syms_free(fn->before);
	fn->before = fn->syms;
	fn->syms = s;
	return true;
}

void ft_functions_stop(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	char err[400];

	if (turn_off(ft, err, sizeof(err)))
		free(fn->filter); /* the tracer goes with the instance */
	fn->filter = NULL;
	ft_syms_free(fn->syms);
	ft_syms_free(fn->before);
	free(fn->format);
	fn->syms = fn->before = NULL;
	fn->format = NULL;
}
