/* SPDX-License-Identifier: GPL-2.0 */
/* The host of the backends: start and stop, and what other threads see. See host.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "host_internal.h"

uint64_t gt_host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

const char *gt_backend_state_name(enum gt_backend_state s)
{
	static const char *const names[] = { "refused", "unavailable", "off",	     "running",
					     "paused",	"ended",       "quarantined" };

	return (unsigned int)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}

void gt_host_log(struct gt_host_state *h, const struct gt_be *b, int priority, const char *fmt, ...)
{
	char line[1024];
	size_t n = 0;
	va_list ap;

	if (b)
		n = (size_t)snprintf(line, sizeof(line), "backend %s: ", b->info.name);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	if (h->conf.log)
		h->conf.log(h->conf.log_arg, priority, line);
	else
		syslog(priority, "%s", line);
}

void gt_be_set_state(struct gt_be *b, enum gt_backend_state s)
{
	GT_HOST_LOCK(b->h);

	b->info.state = s;
}

bool gt_be_live(const struct gt_be *b)
{
	return b->started;
}

static bool has_section(const struct gt_host_state *h, const char *name)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (!strcmp(h->be[i]->info.name, name))
			return true;
	return false;
}

/* A misspelt section would otherwise do nothing, without a word. */
static int check_sections(struct gt_host_state *h, char *err, size_t len)
{
	const struct gt_host_conf *c = &h->conf;
	const char *section, *key, *where;

	for (unsigned int i = 0; c->option_each && c->option_each(c->option_arg, i, &section, &key);
	     i++) {
		if (has_section(h, section))
			continue;
		gt_host_log(h, NULL, LOG_WARNING,
			    "section [backend %s]: there is no such backend, %s is ignored",
			    section, key);
		where = c->option_where ? c->option_where(c->option_arg, section, key) : NULL;
		if (c->strict && !*h->bad_conf)
			snprintf(h->bad_conf, sizeof(h->bad_conf), "%s%sthere is no backend '%s' in %s",
				 where ? where : "", where ? ": " : "", section, c->plugin_dir);
	}
	if (!*h->bad_conf)
		return 0;
	snprintf(err, len, "%s", h->bad_conf);
	return -EINVAL;
}

static int add_own(struct gt_host_state *h, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint32_t)fd };

	return fd < 0 || epoll_ctl(h->epfd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/*
 * A timer of CLOCK_REALTIME that never fires tells at once when a clock was set or the machine
 * slept. Where there is none, looks find it later.
 */
static void watch_clocks(struct gt_host_state *h)
{
	struct itimerspec never = { .it_value.tv_sec = (time_t)(1ll << 33) };

	gt_clocks_init(&h->clocks, NULL, NULL);
	h->clockfd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (h->clockfd < 0 ||
	    timerfd_settime(h->clockfd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) <
		    0 ||
	    add_own(h, h->clockfd))
		gt_host_log(h, NULL, LOG_WARNING, "timer of the clocks: %s", strerror(errno));
}

static int open_fds(struct gt_host_state *h)
{
	int ret;

	h->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (h->epfd < 0)
		return -errno;
	h->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	ret = add_own(h, h->timerfd);
	if (ret)
		return ret;
	watch_clocks(h);
	h->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return add_own(h, h->eventfd);
}

static void init_lock(struct gt_host_state *h)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->cond, &attr);
	pthread_condattr_destroy(&attr);
}

static int set_up(struct gt_host_state *h, char *err, size_t len)
{
	struct gt_order_ops ops = gt_host_order_ops(h);
	int ret = open_fds(h);

	if (ret) {
		snprintf(err, len, "epoll: %s", strerror(-ret));
		return ret;
	}
	ret = gt_host_load(h, err, len);
	if (ret)
		return ret;
	ret = check_sections(h, err, len);
	if (!ret)
		ret = gt_host_assign(h, err, len);
	if (ret)
		return ret;
	h->order = gt_order_new(h->n, &ops);
	if (!h->order) {
		snprintf(err, len, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return gt_host_select(h, err, len);
}

struct gt_host_state *gt_host_new(const struct gt_host_conf *conf, const struct gt_sink *sink,
				  char *err, size_t len)
{
	struct gt_host_state *h = calloc(1, sizeof(*h));

	if (!h) {
		snprintf(err, len, "%s", strerror(ENOMEM));
		return NULL;
	}
	h->conf = *conf;
	h->sink = *sink;
	h->level = conf->level;
	h->epfd = h->timerfd = h->eventfd = h->clockfd = -1;
	init_lock(h);
	if (set_up(h, err, len)) {
		gt_host_free(h);
		return NULL;
	}
	return h;
}

/* Signals are for the main thread: this one has blocked all when it begins. */
static int spawn(struct gt_host_state *h)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&h->thread, NULL, gt_host_ingest, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	pthread_setname_np(h->thread, "gt-ingest");
	h->threaded = true;
	return 0;
}

int gt_host_start(struct gt_host_state *h, char *err, size_t len)
{
	struct gt_call *c = gt_call_new(GT_CALL_START);
	int ret = c ? spawn(h) : -ENOMEM;

	if (ret) {
		snprintf(err, len, "ingest thread: %s", strerror(-ret));
		free(c);
		return ret;
	}
	ret = gt_call_run(h, c, -1);
	if (ret)
		snprintf(err, len, "%s", c->text);
	gt_call_put(h, c);
	return ret;
}

uint64_t gt_host_cpu_ns(struct gt_host_state *h)
{
	struct timespec t;
	clockid_t clock;

	if (!h->threaded || pthread_getcpuclockid(h->thread, &clock) || clock_gettime(clock, &t))
		return h->cpu_ns;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool gt_host_stop(struct gt_host_state *h)
{
	uint64_t end = gt_host_now() + GT_HOST_STOP_MS * 1000000ull;
	struct timespec until = { .tv_sec = (time_t)(end / 1000000000),
				  .tv_nsec = (long)(end % 1000000000) };

	if (!h->threaded)
		return true;
	h->cpu_ns = gt_host_cpu_ns(h); /* a thread that has ended has no clock */
	h->quit = true;
	gt_host_wake(h);
	if (pthread_clockjoin_np(h->thread, NULL, CLOCK_MONOTONIC, &until))
		return false;
	h->threaded = false;
	gt_call_serve(h); /* what was asked for while the thread ended */
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void gt_host_free(struct gt_host_state *h)
{
	if (!h)
		return;
	if (!gt_host_stop(h))
		return;
	for (unsigned int i = 0; i < h->n; i++)
		gt_be_free(h->be[i]);
	gt_order_free(h->order);
	close_fd(h->epfd);
	close_fd(h->timerfd);
	close_fd(h->eventfd);
	close_fd(h->clockfd);
	pthread_cond_destroy(&h->cond);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
