/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Naming and choosing the functions of a large driver takes the kernel seconds on a slow machine,
 * so a thread of its own does it. How many functions were chosen takes as long again to tell, and
 * is known later.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "change.h"

void ft_change_move(struct ft_change *c, enum ft_stage to)
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

	c->syms = ft_syms_read(FT_KALLSYMS, c->want);
	if (!c->syms && errno != ENODATA) {
		int err = errno;

		snprintf(c->err, sizeof(c->err), "functions: " FT_KALLSYMS ": %s", strerror(err));
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
		ft_change_move(c, FT_NAMED);
		pthread_mutex_lock(&c->lock);
		while (c->stage == FT_NAMED)
			pthread_cond_wait(&c->moved, &c->lock);
		pthread_mutex_unlock(&c->lock);
		c->ret = ft_tracer_filter(c->dir, c->want, c->old, c->lenient, c->err,
					  sizeof(c->err));
	}
	ft_change_move(c, FT_DONE);
	if (!c->ret)
		*c->matched = ft_tracer_count(c->dir, &c->cancel);
	return NULL;
}

enum ft_stage ft_change_stage(struct ft_change *c)
{
	enum ft_stage now;

	pthread_mutex_lock(&c->lock);
	now = c->stage;
	pthread_mutex_unlock(&c->lock);
	return now;
}

/* Signals are for the daemon's main thread. */
int ft_change_begin(struct ft_change *c)
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
	if (ret) {
		pthread_cond_destroy(&c->moved);
		pthread_mutex_destroy(&c->lock);
	}
	return -ret;
}

enum ft_stage ft_change_wait(struct ft_change *c, enum ft_stage from)
{
	struct timespec until;
	enum ft_stage now;

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

void ft_change_end(struct ft_change *c)
{
	if (!c)
		return;
	c->cancel = true;
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->lock);
	ft_syms_free(c->syms);
	free(c);
}
