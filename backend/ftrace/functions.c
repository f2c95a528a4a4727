/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The setting `functions`. Naming and choosing the functions of a large driver takes the kernel
 * seconds on a slow machine, so a thread of its own does it, and whoever asked goes on draining
 * events until it is done: their buffers do not run over meanwhile. How many functions were chosen
 * takes as long again to tell, and is known later.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "internal.h"

#define KALLSYMS "/proc/kallsyms"
#define LOOK_NS	 50000000ull /* between looks for a function that no table has */

/* NAMED: the table is made, and waits to be taken over before the first call can come. */
enum stage { NAMING, NAMED, TAKEN, DONE };

/**
 * struct ft_change - a filter on its way to work, in a thread
 * @want: to be at work; @old: is; both are read only by the thread, but for @want's ft_word.hit
 * @lenient: as ft_tracer_filter()
 * @lock: guards @stage; what a stage is named after is finished then
 * @ret: 0 or -errno, with @err
 */
struct ft_change {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum stage stage;
	_Atomic bool cancel;
	_Atomic long *matched;
	const char *dir;
	struct ft_filter *want;
	const struct ft_filter *old;
	struct ft_syms *syms;
	bool lenient;
	int ret;
	char err[400];
};

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
	ft_auto_free char *text = ft_read("/proc", "modules", NULL);
	uint64_t h = 14695981039346656037ull;

	for (const char *p = text; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (concerns(f, p, strcspn(p, " \n")))
			h = hash_line(h, p);
	return h;
}

static void move(struct ft_change *c, enum stage to)
{
	pthread_mutex_lock(&c->lock);
	c->stage = to;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

/* The table, and whether each word can mean something; -errno with a sentence */
static int name_them(struct ft_change *c)
{
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];

	c->syms = ft_syms_read(KALLSYMS, c->want);
	if (!c->syms && errno != ENODATA) {
		int err = errno;

		snprintf(c->err, sizeof(c->err), "functions: " KALLSYMS ": %s", strerror(err));
		return -err;
	}
	if (!c->syms) {
		snprintf(c->err, sizeof(c->err),
			 "functions: the kernel hides where its functions are, so that no call "
			 "could be named: sysctl kernel.kptr_restrict=1");
		return -EPERM;
	}
	for (unsigned int i = 0; !c->lenient && i < c->want->n; i++) {
		const struct ft_word *w = &c->want->word[i];

		/* What has a module the kernel would take for a word that waits. */
		if (w->hit || (*w->module && (!w->plain || !ft_module_loaded(w->module))))
			continue;
		ft_filter_print(w, word, sizeof(word));
		return ft_tracer_refused(word, -EINVAL, c->err, sizeof(c->err));
	}
	return 0;
}

static void *change_thread(void *arg)
{
	struct ft_change *c = arg;

	c->ret = name_them(c);
	if (!c->ret) {
		move(c, NAMED);
		pthread_mutex_lock(&c->lock);
		while (c->stage == NAMED)
			pthread_cond_wait(&c->moved, &c->lock);
		pthread_mutex_unlock(&c->lock);
		c->ret = ft_tracer_filter(c->dir, c->want, c->old, c->lenient, c->err,
					  sizeof(c->err));
	}
	move(c, DONE);
	if (!c->ret)
		*c->matched = ft_tracer_count(c->dir, &c->cancel);
	return NULL;
}

static enum stage stage_of(struct ft_change *c)
{
	enum stage now;

	pthread_mutex_lock(&c->lock);
	now = c->stage;
	pthread_mutex_unlock(&c->lock);
	return now;
}

/* Signals are for the daemon's main thread. */
static int spawn(struct ft_change *c)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int ret;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->moved, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&c->thread, NULL, change_thread, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -ret;
}

/* Waits a little for the stage to leave @from; the stage then. */
static enum stage wait_stage(struct ft_change *c, enum stage from)
{
	struct timespec until;
	enum stage now;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)FT_DRAIN_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&c->lock);
	while (c->stage == from && !pthread_cond_timedwait(&c->moved, &c->lock, &until))
		;
	now = c->stage;
	pthread_mutex_unlock(&c->lock);
	return now;
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

/* Ends what still counts. */
static void end_change(struct ft_functions *fn)
{
	struct ft_change *c = fn->change;

	if (!c)
		return;
	c->cancel = true;
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->lock);
	ft_syms_free(c->syms);
	free(c);
	fn->change = NULL;
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
	if (!ft_tasks_foreign(ft->tasks))
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
	enum stage stage = NAMING;
	bool taken = false;

	while (stage != DONE) {
		stage = wait_stage(c, taken ? TAKEN : NAMING);
		if (stage == NAMED) {
			take_over(ft, c);
			taken = true;
			move(c, TAKEN);
		}
		if (live && stage != DONE) /* else it is not clear yet whose table it is */
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

	end_change(fn);
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
	ret = spawn(c);
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
		end_change(fn);
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

	end_change(fn);
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
	if (fn->change && stage_of(fn->change) != DONE)
		return false;
	fn->looked = now;
	if (fn->modules == modules_sign(fn->filter))
		return false;
	s = ft_syms_read(KALLSYMS, fn->filter);
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
