/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that detaches programs. For each program at a tracepoint's record that takes the kernel a
 * grace period of RCU, some 20 to 100 ms. Whoever changes a setting does not wait for that: the
 * programs are switched off at once by a flag, and detached here a while later. If they are wanted
 * again before, they are taken back.
 *
 * The thread is there while there is something to end. It is the process's, not a plugin's: what it
 * ends may outlive a backend that is stopped, and begun anew.
 */
#include "internal.h"

struct item {
	struct item *next;
	uint64_t id, due;
	void (*end)(void *what);
	void *what;
};

/*
 * @first, @last: in the order in which they came
 * @n: of these, and the one that is being ended
 * @holds: how many attach now: the kernel does that and detaching one after the other, so the
 *	thread lets them go first
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, **last;
	unsigned int n, holds;
	uint64_t id;
	bool running;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* The first that is due; NULL, and when to ask again: none is now. @every: due or not. Lock held */
static struct item *take_due(uint64_t *when, bool every)
{
	uint64_t now = gb_now();

	*when = UINT64_MAX;
	if (all.holds && !every)
		return NULL;
	for (struct item **at = &all.first, *i; (i = *at); at = &i->next) {
		if (i->due <= now || every) {
			*at = i->next;
			if (!*at)
				all.last = at;
			return i;
		}
		*when = i->due < *when ? i->due : *when;
	}
	return NULL;
}

/* Lock held */
static void wait_until(uint64_t when)
{
	struct timespec t = { (time_t)(when / 1000000000), (long)(when % 1000000000) };

	pthread_cond_clockwait(&all.changed, &all.lock, CLOCK_MONOTONIC, &t);
}

/* Until nothing is left. Lock held, but not while something is ended */
static void end_all(bool every)
{
	struct item *i;
	uint64_t when;

	while (all.n) {
		i = take_due(&when, every);
		if (!i) {
			wait_until(when);
			continue;
		}
		pthread_mutex_unlock(&all.lock);
		i->end(i->what);
		free(i);
		pthread_mutex_lock(&all.lock);
		all.n--;
		pthread_cond_broadcast(&all.changed);
	}
}

/* The end of the process: when it is gone nothing is attached, so that a driver can be unloaded. */
__attribute__((destructor)) static void end_rest(void)
{
	pthread_mutex_lock(&all.lock);
	end_all(true);
	pthread_mutex_unlock(&all.lock);
}

/* Who begins the thread may have raised rights, to attach. */
static void *run(void *unused)
{
	gt_caps_set(0, ~0ull);
	pthread_setname_np(pthread_self(), "gt-detach");
	pthread_mutex_lock(&all.lock);
	end_all(false);
	all.running = false;
	pthread_mutex_unlock(&all.lock);
	return unused;
}

/* Lock held; false: there is no thread, and none can be started */
static bool start_thread(void)
{
	pthread_t thread;

	if (all.running || gb_thread(&thread, run, NULL))
		return all.running;
	pthread_detach(thread);
	all.running = true;
	return true;
}

uint64_t gb_detach_later(void (*end)(void *what), void *what, uint64_t ns)
{
	struct item *i = malloc(sizeof(*i));
	uint64_t id = 0;

	pthread_mutex_lock(&all.lock);
	if (i && all.n < GB_DETACHING_MAX && start_thread()) {
		id = ++all.id;
		*i = (struct item){ NULL, id, gb_now() + ns, end, what };
		if (!all.first)
			all.last = &all.first;
		*all.last = i;
		all.last = &i->next;
		all.n++;
		pthread_cond_broadcast(&all.changed);
	}
	pthread_mutex_unlock(&all.lock);
	if (id)
		return id;
	free(i);
	end(what);
	return 0;
}

void *gb_detach_cancel(uint64_t id)
{
	struct item *i = NULL;
	void *what = NULL;

	pthread_mutex_lock(&all.lock);
	for (struct item **at = &all.first; id && *at; at = &(*at)->next) {
		if ((*at)->id != id)
			continue;
		i = *at;
		*at = i->next;
		if (!*at)
			all.last = at;
		all.n--;
		what = i->what;
		pthread_cond_broadcast(&all.changed);
		break;
	}
	pthread_mutex_unlock(&all.lock);
	free(i);
	return what;
}

void gb_detach_hold(bool on)
{
	pthread_mutex_lock(&all.lock);
	all.holds += on ? 1 : -1u;
	pthread_cond_broadcast(&all.changed);
	pthread_mutex_unlock(&all.lock);
}

unsigned int gb_detaching(void)
{
	unsigned int n;

	pthread_mutex_lock(&all.lock);
	n = all.n;
	pthread_mutex_unlock(&all.lock);
	return n;
}
