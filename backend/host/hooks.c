/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a plugin calls: struct gt_host of backend.h, always from within a hook, in the ingest thread;
 * and exclusive claims, by which backends that see the same events agree on the one that records
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <syslog.h>
#include <unistd.h>

#include "../lib/file.h"
#include "internal.h"

#define AHEAD_NS   1000000000u /* a live source's clock may be ahead by this, but not users' files */
#define MEASURE_NS 10000000u   /* clocks are measured this often while times are converted */

static struct gt_be *be_of(struct gt_plugin *p)
{
	return (struct gt_be *)(void *)p;
}

/*
 * A plugin may push events and descriptions; other types are the daemon's to write. A record later
 * than @latest would make every record after it late, of all sources.
 */
static bool may_push(const union gt_record *r, uint64_t latest)
{
	if (r->ev.ts > latest)
		return false;
	return r->ev.type < GT_NTYPES || (r->ev.type >= GT_PROCESS && r->ev.type <= GT_LOST);
}

static void note_bit(struct gt_be *b, uint64_t *word, unsigned int bit)
{
	uint64_t old = *word;

	*word |= 1ULL << bit;
	b->h->rings_new |= *word != old;
}

static void note_jobs(struct gt_be *b, uint16_t gpu, uint16_t ring)
{
	if (gpu >= GT_HOST_GPUS)
		return;
	b->gpus |= 1ULL << gpu;
	if (ring < GT_HOST_RINGS)
		note_bit(b, &b->rings[gpu][ring / 64], ring % 64);
}

static void note_event(struct gt_be *b, const struct gt_event *e)
{
	if (e->type <= GT_END && e->ring != GT_NONE16)
		note_jobs(b, e->gpu, e->ring);
	else if ((e->type == GT_DISPATCH || e->type == GT_COPY) && e->gpu < GT_HOST_GPUS)
		note_bit(b, &b->work, e->gpu);
}

static void count_records(struct gt_be *b, const union gt_record *r, size_t n, size_t bad)
{
	uint64_t lost = 0, uncounted = 0;

	for (size_t i = 0; i < n; i++) {
		note_event(b, &r[i].ev);
		if (r[i].ev.type != GT_LOST || r[i].lost.cause != GT_LOST_SOURCE)
			continue;
		lost = gt_lost_sum(lost, r[i].lost.count);
		uncounted += r[i].lost.count == GT_NONE64;
	}
	GT_HOST_LOCK(b->h);
	b->info.records += n;
	b->info.lost = gt_lost_sum(b->info.lost, lost);
	b->info.uncounted += uncounted;
	b->info.malformed += bad;
}

/* Saturates at both ends */
static uint64_t moved_by(uint64_t ts, int64_t by)
{
	uint64_t d = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;

	if (by < 0)
		return ts > d ? ts - d : 0;
	return ts < UINT64_MAX - d ? ts + d : UINT64_MAX;
}

/* A time of the source, moved by its clock offset */
static uint64_t shifted(const struct gt_be *b, uint64_t ts)
{
	return moved_by(ts, atomic_load_explicit(&b->clock_offset, memory_order_relaxed));
}

/*
 * The latest time, by its clock, that a source may deliver: a live one @ahead of now. If somebody set a
 * clock offset, the source's clock may be anything, but users, who write the times in their files, get no
 * further than now.
 */
static uint64_t latest_time(const struct gt_be *b, uint64_t ahead)
{
	int64_t offset = atomic_load_explicit(&b->clock_offset, memory_order_relaxed);

	if (b->p.recording)
		return UINT64_MAX;
	if (b->be->flags & GT_BACKEND_USERS)
		return moved_by(gt_host_now(), offset == INT64_MIN ? INT64_MAX : -offset);
	return offset ? UINT64_MAX : gt_host_now() + ahead;
}

static void push(struct gt_be *b, const union gt_record *r, size_t n)
{
	uint64_t now = gt_host_now();
	union gt_record moved;

	if (!atomic_load_explicit(&b->clock_offset, memory_order_relaxed)) {
		gt_order_push(b->h->order, b->index, r, n, now);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		moved = r[i];
		moved.ev.ts = shifted(b, moved.ev.ts);
		gt_order_push(b->h->order, b->index, &moved, 1, now);
	}
}

static void hook_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gt_be *b = be_of(p);
	uint64_t latest = latest_time(b, AHEAD_NS);

	if (!b->h->order || !r)
		return;
	while (n) {
		size_t good = 0;

		while (good < n && may_push(&r[good], latest))
			good++;
		if (good)
			push(b, r, good);
		count_records(b, r, good, good < n);
		good += good < n; /* leaves the malformed one out */
		r += good;
		n -= good;
	}
}

void gt_be_blind(struct gt_be *b)
{
	uint64_t now = gt_host_now(), mark;
	union gt_record r;

	if (b->p.recording || !b->h->order || atomic_load(&b->h->quit))
		return;
	mark = gt_order_mark(b->h->order, b->index);
	for (uint16_t i = 0; i < 64; i++) {
		if (!(b->gpus & 1ULL << i))
			continue;
		/* in the clock of its records, of which some are on their way */
		gt_record_init(&r, mark ? mark : shifted(b, now), GT_LOST);
		r.lost.gpu = i;
		r.lost.count = 0;
		r.lost.since = r.lost.ts;
		r.lost.until = shifted(b, now);
		r.lost.cause = GT_LOST_SOURCE;
		gt_order_push(b->h->order, b->index, &r, 1, now);
	}
}

static void hook_watermark(struct gt_plugin *p, uint64_t ts)
{
	struct gt_be *b = be_of(p);
	uint64_t latest = latest_time(b, 0);

	if (ts > latest)
		ts = latest;
	if (b->h->order)
		gt_order_watermark(b->h->order, b->index, shifted(b, ts));
}

static uint16_t hook_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	struct gt_be *b = be_of(p);

	return b->h->sink.gpu(b->h->sink.arg, desc, p->recording);
}

static uint16_t hook_ring(struct gt_plugin *p, uint16_t gpu, const char *name,
			  enum gt_engine engine)
{
	struct gt_be *b = be_of(p);

	if (gpu == GT_NONE16 || !name)
		return GT_NONE16;
	return b->h->sink.ring(b->h->sink.arg, gpu, name, engine);
}

static uint32_t hook_kernel(struct gt_plugin *p, const struct gt_kernel_desc *d)
{
	struct gt_be *b = be_of(p);

	if (!b->h->sink.kernel || d->gpu == GT_NONE16)
		return GT_NONE32;
	return b->h->sink.kernel(b->h->sink.arg, d);
}

static void hook_counter(struct gt_plugin *p, uint32_t kernel, const char *name, double value)
{
	struct gt_be *b = be_of(p);

	if (b->h->sink.counter && name)
		b->h->sink.counter(b->h->sink.arg, kernel, name, value);
}

static void hook_kernel_text(struct gt_plugin *p, uint32_t kernel, enum gt_kernel_text which,
			     const char *text)
{
	struct gt_be *b = be_of(p);

	if (b->h->sink.kernel_text && which < GT_KERNEL_TEXTS)
		b->h->sink.kernel_text(b->h->sink.arg, kernel, which, text);
}

static void hook_reading(struct gt_plugin *p, const struct gt_reading *r)
{
	struct gt_be *b = be_of(p);

	if (r->gpu != GT_NONE16 && r->n <= GT_GAUGES_MAX && b->h->sink.reading)
		b->h->sink.reading(b->h->sink.arg, r);
}

static void hook_usage(struct gt_plugin *p, const struct gt_usage *u)
{
	struct gt_be *b = be_of(p);

	if (u->gpu == GT_NONE16 || u->nengines > GT_USE_ENGINES || u->nregions > GT_USE_REGIONS ||
	    !b->h->sink.usage)
		return;
	b->h->delivered = true;
	b->h->sink.usage(b->h->sink.arg, u);
}

static void hook_queues_hw(struct gt_plugin *p, const struct gt_queue_hw *q, size_t n)
{
	const struct gt_sink *s = &be_of(p)->h->sink;

	for (size_t i = 0; i < n; i++)
		if (q[i].nslots > GT_QUEUE_SLOTS)
			return;
	if (s->queues_hw)
		s->queues_hw(s->arg, q, n);
}

static bool forget_fd(struct gt_be *b, int fd)
{
	for (unsigned int i = 0; i < b->nfds; i++)
		if (b->fds[i] == fd) {
			b->fds[i] = b->fds[--b->nfds];
			return true;
		}
	return false;
}

static int unwatch(struct gt_be *b, int fd)
{
	if (!forget_fd(b, fd))
		return -ENOENT;
	/* epoll has dropped a descriptor that was closed already. */
	epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, fd, NULL);
	return 0;
}

static int listen_to(struct gt_be *b, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.u64 = (uint64_t)(b->index + 1) << 32 | (uint32_t)fd;
	return epoll_ctl(b->h->epfd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int hook_watch(struct gt_plugin *p, int fd, bool on)
{
	struct gt_be *b = be_of(p);
	int ret;

	if (!on)
		return unwatch(b, fd);
	/* A plugin may have closed a watched descriptor, and its number is in use again. */
	for (unsigned int i = 0; i < b->h->n; i++)
		if (forget_fd(b->h->be[i], fd))
			epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, fd, NULL);
	if (b->nfds >= GT_HOST_MAX_WATCHES)
		return -ENOSPC;
	if (!(b->nfds & (b->nfds - 1))) { /* the array is full at each power of two */
		int *fds = realloc(b->fds, (b->nfds ? b->nfds * 2 : 1) * sizeof(*fds));

		if (!fds)
			return -ENOMEM;
		b->fds = fds;
	}
	ret = listen_to(b, fd);
	if (!ret)
		b->fds[b->nfds++] = fd;
	return ret;
}

void gt_be_mute(struct gt_be *b, bool on)
{
	for (unsigned int i = 0; i < b->nfds; i++)
		if (on)
			epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, b->fds[i], NULL);
		else
			listen_to(b, b->fds[i]); /* fails if it was closed meanwhile */
}

void gt_be_unwatch_all(struct gt_be *b)
{
	while (b->nfds)
		unwatch(b, b->fds[0]);
}

static void hook_timer(struct gt_plugin *p, uint64_t ns)
{
	struct gt_be *b = be_of(p);
	uint64_t now = gt_host_now();

	if (!ns)
		b->timer = 0;
	else
		b->timer = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}

static int hook_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	struct gt_be *b = be_of(p);
	char text[sizeof(b->info.last_error)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s; s++)
		if ((unsigned char)*s < ' ')
			*s = ' '; /* one line, whatever a file's or device's name holds */
	GT_HOST_LOCK(b->h);
	if (b->info.state != GT_BS_QUARANTINED) { /* of several faults the first one is shown */
		memcpy(b->info.last_error, text, sizeof(text));
		b->has_error = true;
	}
	return err > 0 ? -err : err < 0 ? err : -EIO;
}

static void hook_log(struct gt_plugin *p, int priority, const char *fmt, ...)
{
	struct gt_be *b = be_of(p);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_host_log(b->h, b, priority, "%s", text);
}

/* Measures the clocks first, which takes less than 1 us, to find a jump that the timer has not reported
 * yet. */
static uint64_t hook_monotonic(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
			       uint64_t *uncertainty)
{
	struct gt_host_state *h = be_of(p)->h;

	if (uncertainty)
		*uncertainty = GT_NONE64;
	if (p->recording)
		return ts;
	GT_HOST_LOCK(h);
	if (gt_host_now() - h->clocks.boottime.looked > MEASURE_NS)
		gt_clocks_measure(&h->clocks);
	return gt_clocks_mono(&h->clocks, clock, ts, uncertainty);
}

static size_t hook_clock_lines(struct gt_plugin *p, enum gt_clock_id clock, char *buf, size_t len)
{
	struct gt_host_state *h = be_of(p)->h;
	int n;

	if (p->recording) {
		n = snprintf(buf, len, "clock %s\n", gt_clock_name(clock));
		return n < 0 || !len ? 0 : (size_t)n < len ? (size_t)n : len - 1;
	}
	GT_HOST_LOCK(h);
	gt_clocks_measure(&h->clocks);
	return gt_clocks_lines(&h->clocks, clock, buf, len);
}

static const struct gt_userdir *hook_userdir(struct gt_plugin *p, unsigned int i)
{
	const struct gt_be *b = be_of(p);

	for (unsigned int at = 0; at < GT_USERDIR_MAX; at++)
		if (b->known[at] && !i--)
			return b->known[at];
	return NULL;
}

static uint64_t hook_now(struct gt_plugin *p)
{
	return gt_host_now();
}

static int hook_unpacked(struct gt_plugin *p, const char *path, const char **damage)
{
	const struct gt_host_state *h = be_of(p)->h;

	for (unsigned int i = 0; i < h->nunpacked; i++) {
		const struct gt_host_unpacked *u = &h->unpacked[i];
		int fd;

		if (strcmp(u->path, path))
			continue;
		*damage = u->damage;
		if (u->fd < 0)
			return -EBADMSG;
		fd = fcntl(u->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

static int hook_file(struct gt_plugin *p, enum gt_file_op op, const char *path, int flags)
{
	const struct gt_host_conf *conf = &be_of(p)->h->conf;

	return conf->file ? conf->file(conf->file_arg, op, path, flags)
			  : gt_file_here(op, path, flags);
}

static uint64_t hook_over_share(struct gt_plugin *p, uint32_t uid)
{
	const struct gt_sink *s = &be_of(p)->h->sink;

	return s->over_share ? s->over_share(s->arg, uid) : 0;
}

/* Exclusive claims, see gt_host.claim --------------------------------------------------------- */

static struct gt_claim *claim_of(struct gt_be *b, const char *what)
{
	for (int i = 0; i < GT_CLAIMS; i++)
		if (!strcmp(b->claim[i].what, what))
			return &b->claim[i];
	return NULL;
}

/* The backend that has @what if @self claims it at @rank, NULL for @self. Of equal ranks the first one
 * in order of name has it. */
static const struct gt_be *holder(const struct gt_be *self, const char *what, int rank)
{
	const struct gt_host_state *h = self->h;

	for (unsigned int i = 0; i < h->n; i++) {
		const struct gt_claim *c = h->be[i] == self ? NULL : claim_of(h->be[i], what);

		if (c && (c->rank > rank || (c->rank == rank && i < self->index)))
			return h->be[i];
	}
	return NULL;
}

static void ask_again(struct gt_be *b)
{
	if (!b->h->level || b->h->quit || !b->started)
		return;
	if (gt_be_ask(b, GT_CTL_RESCAN, 0) < 0 && b->has_error)
		gt_host_log(b->h, b, LOG_WARNING, "%s", b->info.last_error);
}

static void ask_others(struct gt_be *b, const char *what)
{
	for (unsigned int i = 0; i < b->h->n; i++)
		if (b->h->be[i] != b && claim_of(b->h->be[i], what))
			ask_again(b->h->be[i]);
}

/* The rings of @b are observed by those that report in its place from now on. */
static void inherit_rings(const struct gt_be *b, const char *what)
{
	for (unsigned int i = 0; i < b->h->n; i++) {
		struct gt_be *o = b->h->be[i];

		if (o == b || !claim_of(o, what))
			continue;
		for (unsigned int gpu = 0; gpu < GT_HOST_GPUS; gpu++)
			for (unsigned int k = 0; k < GT_HOST_RINGS / 64; k++)
				o->rings[gpu][k] |= b->rings[gpu][k];
		b->h->rings_new = true;
	}
}

static void drop(struct gt_be *b, struct gt_claim *c)
{
	struct gt_claim old = *c;

	*c = (struct gt_claim){ 0 };
	if (holder(b, old.what, old.rank)) /* another had it all the time */
		return;
	inherit_rings(b, old.what);
	ask_others(b, old.what);
}

void gt_claim_drop(struct gt_be *b)
{
	for (int i = 0; i < GT_CLAIMS; i++)
		if (b->claim[i].what[0])
			drop(b, &b->claim[i]);
}

const char *gt_claim_ask(struct gt_be *b, const char *what, int rank)
{
	struct gt_claim *c = claim_of(b, what);
	bool ours = c && !holder(b, what, c->rank);
	const struct gt_be *better;

	if (rank < 0) {
		if (c)
			drop(b, c);
		return NULL;
	}
	if (!c)
		c = claim_of(b, "");
	if (!c)
		return b->info.name;
	c->rank = rank;
	snprintf(c->what, sizeof(c->what), "%s", what);
	better = holder(b, what, rank);
	/* Lost by the lower rank, or won: then the one that had it stops before this one begins. */
	if (ours == (better != NULL))
		ask_others(b, what);
	return better ? better->info.name : NULL;
}

static const char *hook_claim(struct gt_plugin *p, const char *what, int rank)
{
	return gt_claim_ask(be_of(p), what, rank);
}

const struct gt_host gt_host_hooks = {
	.push = hook_push,
	.watermark = hook_watermark,
	.reading = hook_reading,
	.usage = hook_usage,
	.queues_hw = hook_queues_hw,
	.gpu = hook_gpu,
	.ring = hook_ring,
	.watch = hook_watch,
	.timer = hook_timer,
	.error = hook_error,
	.log = hook_log,
	.claim = hook_claim,
	.kernel = hook_kernel,
	.counter = hook_counter,
	.kernel_text = hook_kernel_text,
	.monotonic = hook_monotonic,
	.clock_lines = hook_clock_lines,
	.userdir = hook_userdir,
	.unpacked = hook_unpacked,
	.file = hook_file,
	.over_share = hook_over_share,
	.now = hook_now,
};

void gt_be_clear_error(struct gt_be *b)
{
	GT_HOST_LOCK(b->h);

	b->has_error = false;
}

void gt_be_fail(struct gt_be *b, enum gt_backend_state s, const char *doing, int err)
{
	{
		GT_HOST_LOCK(b->h);

		if (!b->has_error)
			snprintf(b->info.last_error, sizeof(b->info.last_error), "%s failed: %s",
				 doing, strerror(err < 0 ? -err : EIO));
		b->info.state = s;
	}
	gt_host_log(b->h, b, s == GT_BS_UNAVAILABLE ? LOG_INFO : LOG_ERR, "%s: %s",
		    gt_backend_state_name(s), b->info.last_error);
}
