/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A complete backend plugin, built as anybody would build one: against the installed headers, with
 * nothing else of gputrace. It shows one GPU with one ring, and a few jobs a second on it.
 *
 * Every hook is called from one thread, so nothing here is locked. Read <gputrace/backend.h> beside
 * it: it says what each hook must do, and what a plugin may ask of the host.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gputrace/backend.h>

/* Settings. The host makes this struct, fills it from the configuration, and writes changes to it.
 */
struct options {
	int64_t jobs_per_second;
};

/* Each is a key of section [backend minimal], and a file under backends/minimal/. */
static const struct gt_option options[] = {
	{
		.name = "jobs_per_second",
		.type = GT_OPT_INT,
		.flags = GT_OPT_RUNTIME, /* may change while running: needs set() below */
		.off = offsetof(struct options, jobs_per_second),
		.def = "4",
		.min = 1,
		.max = 1000,
		.help = "jobs shown per second",
	},
	{ .name = NULL }, /* the end */
};

/* What start() made and stop() frees: plugin->priv. */
struct minimal {
	uint16_t gpu, ring; /* the host's numbers for ours */
	uint64_t next;	    /* when the next job is submitted, ns of CLOCK_MONOTONIC */
	uint64_t seqno;
};

/*
 * Can this work here? Looks, and changes nothing. A plugin for real hardware would say here what is
 * missing and what to do about it:
 *
 *	return p->host->error(p, ENOENT, "no /dev/foo0: modprobe foo");
 */
static int probe(struct gt_plugin *p)
{
	return 0;
}

/* How long one job and the pause after it take together, ns. */
static uint64_t period(const struct gt_plugin *p)
{
	const struct options *o = p->options;

	return 1000000000 / (uint64_t)o->jobs_per_second;
}

/* Begins. After an error stop() is not called, so whatever was made must be freed here. */
static int start(struct gt_plugin *p)
{
	struct gt_gpu_desc desc = { .driver = "minimal", .dev = "minimal:0", .minor = -1 };
	struct minimal *m = calloc(1, sizeof(*m));

	if (!m)
		return p->host->error(p, ENOMEM, "no memory");
	m->gpu = p->host->gpu(p, &desc);
	m->ring = p->host->ring(p, m->gpu, "gfx", GT_ENGINE_GRAPHICS);
	if (m->ring == GT_NONE16) {
		free(m);
		return p->host->error(p, ENOSPC, "the host has no room for one more GPU");
	}
	m->next = p->host->now(p) + period(p);
	p->priv = m;
	/* drain() is called once after this; or when a descriptor given to watch() is readable. */
	p->host->timer(p, period(p));
	return 0;
}

/* One step of a job. All that is not set here is unknown, and is shown nowhere. */
static void step(const struct minimal *m, union gt_record *r, uint64_t ts, enum gt_type type)
{
	gt_record_init(r, ts, type);
	r->ev.gpu = m->gpu;
	r->ev.ring = m->ring;
	r->ev.ctx = 1; /* with seqno this is the job's identity */
	r->ev.seqno = m->seqno;
}

/*
 * Pushes what has come since the last time, in order of time and never from the future: a job that
 * was submitted, handed to the hardware 10 us later, and complete 100 us after that.
 */
static int drain(struct gt_plugin *p)
{
	struct minimal *m = p->priv;
	uint64_t now = p->host->now(p);
	int n = 0;

	/* After a long sleep of the machine, do not make up for all of it. */
	if (now > m->next + 10 * period(p))
		m->next = now - period(p);
	while (m->next + 110000 <= now) {
		union gt_record r[3];

		m->seqno++;
		step(m, &r[0], m->next, GT_SUBMIT);
		step(m, &r[1], m->next + 10000, GT_COMMIT);
		step(m, &r[2], m->next + 110000, GT_COMPLETE);
		p->host->push(p, r, 3);
		n += 3;
		m->next += period(p);
	}
	/* What comes later is not older than this: other backends need not wait for us. */
	p->host->watermark(p, m->next < now ? m->next : now);
	p->host->timer(p, period(p)); /* a timer fires once */
	return n;
}

/* Ends, and frees all that start() made. Timers and watches are the host's to end. */
static void stop(struct gt_plugin *p)
{
	free(p->priv);
	p->priv = NULL;
}

/* An option was changed while running; the new value is in the struct already. */
static int set(struct gt_plugin *p, const struct gt_option *o)
{
	struct minimal *m = p->priv;

	m->next = p->host->now(p) + period(p);
	p->host->timer(p, period(p));
	return 0;
}

/* Lines "key value" for doctor and backends/minimal/stats. */
static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	const struct minimal *m = p->priv;

	snprintf(buf, len, "jobs %" PRIu64 "\n", m->seqno);
}

/* The one symbol that a plugin exports. Hooks that are not needed are left out. */
GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "minimal",
	.version = "1",
	.help = "an example: one GPU, one ring, a few jobs a second",
	.options = options,
	.options_size = sizeof(struct options),
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.set = set,
	.doctor = doctor,
};
