/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host of the backends: its start and stop, and what other threads may ask of it, by a copy
 * under its lock or by a request to the ingest thread. See host.h.
 */
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

#include "internal.h"

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

/* Reports sections of no backend: a misspelt name would have no effect. */
static int check_sections(struct gt_host_state *h, char *err, size_t len)
{
	const struct gt_host_conf *c = &h->conf;
	const char *section, *key, *where;

	for (unsigned int i = 0; c->option_each && c->option_each(c->option_arg, i, &section, &key);
	     i++) {
		if (gt_host_find(h, section) >= 0)
			continue;
		gt_host_log(h, NULL, LOG_WARNING,
			    "section [backend %s]: there is no such backend, %s is ignored",
			    section, key);
		where = c->option_where ? c->option_where(c->option_arg, section, key) : NULL;
		if (c->strict && !*h->bad_conf)
			snprintf(h->bad_conf, sizeof(h->bad_conf),
				 "%s%sthere is no backend '%s' in %s", where ? where : "",
				 where ? ": " : "", section, c->plugin_dir);
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
 * A timer of CLOCK_REALTIME that never fires becomes readable when a clock is set or the machine
 * sleeps. Without it, the next measurement finds the jump.
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
	pthread_condattr_t attr;

	if (!h) {
		snprintf(err, len, "%s", strerror(ENOMEM));
		return NULL;
	}
	h->conf = *conf;
	h->sink = *sink;
	h->level = conf->level;
	h->epfd = h->timerfd = h->eventfd = h->clockfd = -1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->cond, &attr);
	pthread_condattr_destroy(&attr);
	if (set_up(h, err, len)) {
		gt_host_free(h);
		return NULL;
	}
	return h;
}

int gt_host_start(struct gt_host_state *h, char *err, size_t len)
{
	struct gt_call *c = gt_call_new(GT_CALL_START);
	sigset_t all, old;
	int ret = -ENOMEM;

	if (c) { /* signals are for the main thread: this one starts with all blocked */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ret = -pthread_create(&h->thread, NULL, gt_host_ingest, h);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (ret) {
		snprintf(err, len, "ingest thread: %s", strerror(-ret));
		free(c);
		return ret;
	}
	pthread_setname_np(h->thread, "gt-ingest");
	h->threaded = true;
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
	struct timespec until = gt_host_deadline(GT_HOST_STOP_MS);

	if (!h->threaded)
		return true;
	h->cpu_ns = gt_host_cpu_ns(h); /* a thread that has ended has no clock */
	h->quit = true;
	gt_host_wake(h);
	if (pthread_clockjoin_np(h->thread, NULL, CLOCK_MONOTONIC, &until))
		return false;
	h->threaded = false;
	gt_call_serve(h); /* requests that came while the thread ended */
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void gt_host_free(struct gt_host_state *h)
{
	if (!h || !gt_host_stop(h))
		return;
	for (unsigned int i = 0; i < h->n; i++)
		gt_be_free(h->be[i]);
	gt_order_free(h->order);
	gt_host_unpacked_free(h);
	close_fd(h->epfd);
	close_fd(h->timerfd);
	close_fd(h->eventfd);
	close_fd(h->clockfd);
	pthread_cond_destroy(&h->cond);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* What other threads ask -------------------------------------------------------------------- */

unsigned int gt_host_count(struct gt_host_state *h)
{
	return h->n;
}

bool gt_host_info(struct gt_host_state *h, unsigned int i, struct gt_backend_info *out)
{
	if (i >= h->n)
		return false;
	GT_HOST_LOCK(h);
	*out = h->be[i]->info;
	return true;
}

int gt_host_clock_offset(struct gt_host_state *h, unsigned int i, int64_t ns)
{
	if (i >= h->n)
		return -ENODEV;
	GT_HOST_LOCK(h);
	atomic_store_explicit(&h->be[i]->clock_offset, ns, memory_order_relaxed);
	h->be[i]->info.clock_offset = ns;
	return 0;
}

int gt_host_find(struct gt_host_state *h, const char *name)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (!strcmp(h->be[i]->info.name, name))
			return (int)i;
	return -ENOENT;
}

void gt_host_clocks(struct gt_host_state *h, struct gt_clocks *out)
{
	GT_HOST_LOCK(h);

	gt_clocks_measure(&h->clocks);
	*out = h->clocks;
}

bool gt_host_replaying(struct gt_host_state *h)
{
	return atomic_load(&h->playing);
}

bool gt_host_refresh_sensors(struct gt_host_state *h, unsigned int what)
{
	struct gt_call *c;
	int ret;

	if (!atomic_load_explicit(&h->refreshers, memory_order_relaxed))
		return true;
	c = gt_call_new(GT_CALL_REFRESH);
	if (!c)
		return false;
	c->arg = what;
	ret = gt_call_run(h, c, what & GT_REFRESH_SLOTS ? GT_HOST_CALL_MS : GT_HOST_FRESH_MS);
	gt_call_put(h, c);
	return !ret;
}

void gt_host_process_seen(struct gt_host_state *h, uint32_t pid)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (b->be && GT_HAS(b->be, process_seen) && b->be->process_seen && b->started)
			b->be->process_seen(&b->p, pid);
	}
}

/* Has the ingest thread write a text of backend @i, @most bytes, into @buf */
static int run_text(struct gt_host_state *h, enum gt_call_kind kind, unsigned int i, unsigned int f,
		    size_t most, char *buf, size_t len)
{
	struct gt_call *c = gt_call_new(kind);

	if (!c)
		return -ENOMEM;
	c->index = i;
	c->file = f;
	c->big = calloc(1, most);
	if (c->big)
		return gt_call_finish(h, c, buf, len);
	gt_call_put(h, c);
	return -ENOMEM;
}

int gt_host_doctor(struct gt_host_state *h, unsigned int i, char *buf, size_t len)
{
	buf[0] = 0;
	return i < h->n ? run_text(h, GT_CALL_DOCTOR, i, 0, GT_BACKEND_DOCTOR_MAX, buf, len)
			: -ENOENT;
}

int gt_host_file(struct gt_host_state *h, unsigned int i, unsigned int f, char *buf, size_t len)
{
	buf[0] = 0;
	if (i >= h->n || !h->be[i]->info.files)
		return -ENOENT;
	return run_text(h, GT_CALL_FILE, i, f, GT_BACKEND_TEXT_MAX, buf, len);
}

int gt_host_option_get(struct gt_host_state *h, unsigned int i, const char *name, char *buf,
		       size_t len)
{
	const struct gt_option *o = i < h->n ? gt_options_find(h->be[i], name) : NULL;

	if (!o)
		return -ENOENT;
	GT_HOST_LOCK(h);
	gt_options_print(h->be[i], o, buf, len);
	return 0;
}

int gt_host_option_set(struct gt_host_state *h, unsigned int i, const char *name, const char *value,
		       char *err, size_t len)
{
	struct gt_call *c;

	err[0] = 0;
	if (i >= h->n || strlen(name) >= sizeof(c->name))
		return -ENOENT;
	if (strlen(value) >= sizeof(c->value)) {
		snprintf(err, len, "%s: longer than %zu bytes", name, sizeof(c->value) - 1);
		return -E2BIG;
	}
	c = gt_call_new(GT_CALL_SET);
	if (!c)
		return -ENOMEM;
	c->index = i;
	strcpy(c->name, name);
	strcpy(c->value, value);
	return gt_call_finish(h, c, err, len);
}

int gt_host_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		    size_t len)
{
	struct gt_call *c = gt_call_new(GT_CALL_CONTROL);

	err[0] = 0;
	if (!c)
		return -ENOMEM;
	c->what = what;
	c->arg = arg;
	return gt_call_finish(h, c, err, len);
}

void gt_host_rescan(struct gt_host_state *h)
{
	atomic_store(&h->rescan, true);
	gt_host_wake(h);
}

bool gt_host_drained(struct gt_host_state *h, int timeout_ms)
{
	struct timespec until = gt_host_deadline(timeout_ms);
	uint64_t seq;
	bool done;

	if (!h->threaded)
		return false;
	GT_HOST_LOCK(h);
	h->waiters++;
	seq = h->quiet_seq;
	gt_host_wake(h);
	while (h->quiet_seq == seq)
		if (pthread_cond_timedwait(&h->cond, &h->lock, &until) == ETIMEDOUT)
			break;
	done = h->quiet_seq != seq;
	h->waiters--;
	return done;
}
