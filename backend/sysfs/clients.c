/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DRM clients: which processes have a GPU open, and what they use of it.
 *
 * All processes are scanned at the daemon's start, when somebody opens a device node (inotify), when
 * a process with a GPU has ended, as it may have passed the GPU on, and at intervals, since nodes of a
 * container send no inotify events. A single process is scanned when another backend sees it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/file.h"
#include "sysfs.h"

/* fdinfo (Documentation/gpu/drm-usage-stats.rst) ----------------------------------------------- */

static bool is_name(const char *s, size_t len)
{
	if (!len || len >= GT_USE_NAME)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
			    s[i]))
			return false;
	return true;
}

static struct sf_engine *engine_of(struct sf_fdinfo *f, const char *name, size_t len)
{
	struct sf_engine *e = f->engine;

	if (!is_name(name, len))
		return NULL;
	while (e < f->engine + f->nengines &&
	       (strlen(e->name) != len || memcmp(e->name, name, len)))
		e++;
	if (e < f->engine + f->nengines)
		return e;
	if (f->nengines == GT_USE_ENGINES)
		return NULL;
	f->nengines++;
	*e = (struct sf_engine){
		.ns = GT_NONE64, .cycles = GT_NONE64, .total_cycles = GT_NONE64, .max_hz = GT_NONE64
	};
	memcpy(e->name, name, len);
	return e;
}

static struct gt_use_region *region_of(struct sf_fdinfo *f, const char *name, size_t len)
{
	struct gt_use_region *r = f->region;

	if (!is_name(name, len))
		return NULL;
	while (r < f->region + f->nregions &&
	       (strlen(r->name) != len || memcmp(r->name, name, len)))
		r++;
	if (r < f->region + f->nregions)
		return r;
	if (f->nregions == GT_USE_REGIONS)
		return NULL;
	f->nregions++;
	memset(r, 0xff, sizeof(*r));
	memset(r->name, 0, sizeof(r->name));
	memcpy(r->name, name, len);
	return r;
}

/* Parses "12 KiB", "300 MHz" or "5" */
static bool value_of(const char *s, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t factor;
	} units[] = {
		{ "KiB", 1024 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "Hz", 1 },
		{ "KHz", 1000 }, { "kHz", 1000 },    { "MHz", 1000000 }, { "GHz", 1000000000 }
	};
	const char *end;
	uint64_t factor = 1;
	int64_t v;

	s += strspn(s, " \t");
	if (gt_root_number(s, &v, &end) || v < 0)
		return false;
	end += strspn(end, " \t");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].unit);

		if (!strncmp(end, units[i].unit, n) && (!end[n] || end[n] == '\n'))
			factor = units[i].factor;
	}
	return !__builtin_mul_overflow((uint64_t)v, factor, out) && *out != GT_NONE64;
}

/* amdgpu prints one key twice, for its two kinds of decoders. */
static void add_value(uint64_t *to, uint64_t v)
{
	if (*to == GT_NONE64)
		*to = v;
	else if (__builtin_add_overflow(*to, v, to) || *to == GT_NONE64)
		*to = GT_NONE64 - 1;
}

#define BEGINS(s, len, word)                                                                       \
	((len) > sizeof(word) - 1 && !memcmp(s, word, sizeof(word) - 1) &&                         \
	 ((s) += sizeof(word) - 1, (len) -= sizeof(word) - 1, true))

/* engine-gfx, engine-capacity-gfx, cycles-gfx, total-cycles-gfx, maxfreq-gfx; false: another key */
static bool take_engine(struct sf_fdinfo *f, const char *key, size_t len, uint64_t v)
{
	struct sf_engine *e;

	if (BEGINS(key, len, "engine-capacity-")) {
		e = engine_of(f, key, len);
		if (e && v && v < 65536)
			e->capacity = (uint32_t)v;
	} else if (BEGINS(key, len, "engine-")) {
		e = engine_of(f, key, len);
		if (e)
			add_value(&e->ns, v);
	} else if (BEGINS(key, len, "total-cycles-")) {
		e = engine_of(f, key, len);
		if (e)
			e->total_cycles = v;
	} else if (BEGINS(key, len, "cycles-")) {
		e = engine_of(f, key, len);
		if (e)
			add_value(&e->cycles, v);
	} else if (BEGINS(key, len, "maxfreq-")) {
		e = engine_of(f, key, len);
		if (e)
			e->max_hz = v;
	} else {
		return false;
	}
	return true;
}

/* memory-vram is the older name of resident-vram, which has priority. */
static void take_region(struct sf_fdinfo *f, const char *key, size_t len, uint64_t v)
{
	struct gt_use_region *r;

	if (BEGINS(key, len, "memory-")) {
		r = region_of(f, key, len);
		if (r && r->resident == GT_NONE64)
			r->resident = v;
	} else if (BEGINS(key, len, "resident-")) {
		r = region_of(f, key, len);
		if (r)
			r->resident = v;
	} else if (BEGINS(key, len, "total-")) {
		r = region_of(f, key, len);
		if (r)
			r->total = v;
	} else if (BEGINS(key, len, "shared-")) {
		r = region_of(f, key, len);
		if (r)
			r->shared = v;
	} else if (BEGINS(key, len, "active-")) {
		r = region_of(f, key, len);
		if (r)
			r->active = v;
	} else if (BEGINS(key, len, "purgeable-")) {
		r = region_of(f, key, len);
		if (r)
			r->purgeable = v;
	}
}

static void take_line(struct sf_fdinfo *f, const char *key, size_t len, const char *value)
{
	uint64_t v;

	if (!BEGINS(key, len, "drm-"))
		return;
	if (len == 6 && !memcmp(key, "driver", 6)) {
		f->drm = true;
		return;
	}
	if (!value_of(value, &v))
		return;
	if (len == 9 && !memcmp(key, "client-id", 9))
		f->id = v;
	else if (!take_engine(f, key, len, v))
		take_region(f, key, len, v);
}

void sf_fdinfo_parse(const char *text, struct sf_fdinfo *out)
{
	const char *line, *end;

	memset(out, 0, sizeof(*out));
	out->id = GT_NONE64;
	/* the last line may be cut: only lines with an end are read */
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		const char *colon = memchr(line, ':', (size_t)(end - line));

		if (colon)
			take_line(out, line, (size_t)(colon - line), colon + 1);
	}
}

static uint64_t more(uint64_t old, uint64_t now)
{
	return now != GT_NONE64 && now > old ? now - old : 0;
}

static uint64_t part(uint64_t n, uint64_t of, uint64_t time)
{
	unsigned __int128 v = of ? (unsigned __int128)n * time / of : 0;

	return v < GT_NONE64 ? (uint64_t)v : GT_NONE64 - 1;
}

uint64_t sf_engine_busy(const struct sf_engine *old, const struct sf_engine *now, uint64_t dt)
{
	uint64_t cycles, total;

	if (now->ns != GT_NONE64)
		return more(old && old->ns != GT_NONE64 ? old->ns : 0, now->ns);
	if (now->cycles == GT_NONE64)
		return 0;
	cycles = more(old && old->cycles != GT_NONE64 ? old->cycles : 0, now->cycles);
	if (now->total_cycles != GT_NONE64) {
		/* the engine's cycles count from when it was switched on, not from when the client
		 * was made: without an older value they are useless */
		total = old && old->total_cycles != GT_NONE64
				? more(old->total_cycles, now->total_cycles)
				: 0;
		return part(cycles < total ? cycles : total, total, dt);
	}
	return now->max_hz != GT_NONE64 ? part(cycles, now->max_hz, 1000000000) : 0;
}

#define KEPT_OPEN 1024 /* fdinfo files kept open; more are opened for each read */

struct sf_clients *sf_clients_new(void)
{
	struct sf_clients *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	cs->inotify = -1;
	cs->user[SF_USERS - 1].uid = GT_NONE32;
	return cs;
}

/* Clients and users ---------------------------------------------------------------------------- */

static uint32_t *head_of(struct sf_clients *cs, uint16_t dev, uint64_t id)
{
	return &cs->head[(id * 0x9e3779b97f4a7c15ULL + dev) >> 52 & (SF_HEADS - 1)];
}

static struct sf_client *find_client(struct sf_clients *cs, uint16_t dev, uint64_t id)
{
	uint32_t i = *head_of(cs, dev, id);

	while (i && (cs->c[i - 1]->id != id || cs->c[i - 1]->dev != dev))
		i = cs->c[i - 1]->next;
	return i ? cs->c[i - 1] : NULL;
}

/* Without a client number from the driver, each descriptor counts as a client. */
static uint64_t client_id(uint64_t id, uint32_t pid, unsigned int fd)
{
	return id != GT_NONE64 ? id : 1ULL << 63 | (uint64_t)pid << 31 | fd;
}

static void drop_client(struct sf_clients *cs, unsigned int slot)
{
	struct sf_client *c = cs->c[slot];
	uint32_t *at = head_of(cs, c->dev, c->id);

	while (*at && *at != slot + 1)
		at = &cs->c[*at - 1]->next;
	if (*at)
		*at = c->next;
	if (c->fd >= 0)
		close(c->fd);
	cs->user[c->user].clients--;
	free(c);
	cs->c[slot] = NULL;
	cs->count--;
	while (cs->n && !cs->c[cs->n - 1])
		cs->n--;
}

void sf_clients_free(struct sf_clients *cs)
{
	if (!cs)
		return;
	while (cs->n)
		drop_client(cs, cs->n - 1);
	free(cs);
}

void sf_clients_forget(struct sf *sf)
{
	while (sf->clients->n)
		drop_client(sf->clients, sf->clients->n - 1);
	sf->clients->ngraves = 0;
	sf->clients->complete = false;
}

/* Nothing is counted for the user any more: another one may take the entry. */
static bool unused(const struct sf_user *u)
{
	return !u->processes && !u->fds && !u->clients && !u->kfd && !u->queues;
}

struct sf_user *sf_user(struct sf_clients *cs, uint32_t uid)
{
	struct sf_user *others = &cs->user[SF_USERS - 1], *free = NULL;

	for (struct sf_user *u = cs->user; u < others; u++) {
		if (u->known && u->uid == uid)
			return u;
		if (!free && (!u->known || unused(u)))
			free = u;
	}
	if (!free)
		return others;
	*free = (struct sf_user){ .uid = uid, .known = true };
	return free;
}

static struct sf_client *new_client(struct sf_clients *cs, const struct sf_user *user)
{
	unsigned int slot = 0;
	struct sf_client *c;

	if (user->uid && user->clients >= SF_CLIENTS / SF_SHARE) {
		cs->stats.over++;
		return NULL;
	}
	while (slot < cs->n && cs->c[slot])
		slot++;
	c = slot < SF_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		cs->stats.refused++;
		return NULL;
	}
	cs->c[slot] = c;
	if (slot == cs->n)
		cs->n++;
	cs->count++;
	c->fd = -1;
	return c;
}

static void add_to_hash(struct sf_clients *cs, struct sf_client *c)
{
	uint32_t *head = head_of(cs, c->dev, c->id);
	unsigned int slot = 0;

	while (cs->c[slot] != c)
		slot++;
	c->next = *head;
	*head = slot + 1;
}

/* Usage ---------------------------------------------------------------------------------------- */

uint32_t sf_uid(const struct sf *sf, uint32_t pid)
{
	char path[64], text[2048];
	const char *uid;
	int64_t n;

	snprintf(path, sizeof(path), "proc/%u/status", pid);
	gt_root_read(&sf->root, path, text, sizeof(text));
	uid = strstr(text, "\nUid:\t");
	return uid && !gt_root_number(uid + 6, &n, NULL) && n >= 0 && n < GT_NONE32 ? (uint32_t)n
										    : GT_NONE32;
}

/* Identity of a process of a captured tree; in its stat file, comm may hold anything but NUL (proc(5)) */
static void read_identity(struct sf *sf, uint32_t pid, struct gt_use_who *who, char comm[16],
			  char cgroup[512])
{
	char path[64], text[2048], *a, *b;
	int64_t n;

	*who = (struct gt_use_who){ .uid = sf_uid(sf, pid), .comm = comm, .cgroup = cgroup };
	comm[0] = cgroup[0] = '\0';
	snprintf(path, sizeof(path), "proc/%u/stat", pid);
	gt_root_read(&sf->root, path, text, sizeof(text));
	a = strchr(text, '(');
	b = strrchr(text, ')');
	if (a && b && b > a)
		snprintf(comm, 16, "%.*s", (int)(b - a - 1), a + 1);
	for (int field = 2; b && field < 22; field++)
		b = strchr(b + 1, ' ');
	if (b && !gt_root_number(b + 1, &n, NULL) && n > 0 && n < INT64_MAX / 10000000)
		who->start = (uint64_t)n * 10000000; /* ticks of USER_HZ, which is 100 */
	snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
	gt_root_read(&sf->root, path, text, sizeof(text));
	if (!strncmp(text, "0::", 3))
		snprintf(cgroup, 512, "%.*s", (int)strcspn(text + 3, "\n"), text + 3);
}

void sf_emit_usage(struct sf *sf, struct gt_usage *u)
{
	struct gt_use_who who;
	char comm[16], cgroup[512];

	if (sf->root.captured) {
		read_identity(sf, u->pid, &who, comm, cgroup);
		u->who = &who;
	}
	sf->p->host->usage(sf->p, u);
	u->who = NULL;
}

static uint64_t add_known(uint64_t a, uint64_t b)
{
	if (a == GT_NONE64 || b == GT_NONE64)
		return a == GT_NONE64 ? b : a;
	return a > GT_NONE64 - 1 - b ? GT_NONE64 - 1 : a + b;
}

static void add_region(struct gt_use_region *all, unsigned int *n, const struct gt_use_region *r)
{
	unsigned int i = 0;

	while (i < *n && strcmp(all[i].name, r->name))
		i++;
	if (i == GT_USE_REGIONS)
		return;
	if (i == *n) {
		all[(*n)++] = *r;
		return;
	}
	all[i].total = add_known(all[i].total, r->total);
	all[i].resident = add_known(all[i].resident, r->resident);
	all[i].shared = add_known(all[i].shared, r->shared);
	all[i].active = add_known(all[i].active, r->active);
	all[i].purgeable = add_known(all[i].purgeable, r->purgeable);
}

/* Emits the memory of all clients of a process on a device */
static void emit_memory(struct sf *sf, uint32_t pid, uint16_t dev, uint64_t now)
{
	const struct sf_clients *cs = sf->clients;
	struct gt_use_region r[GT_USE_REGIONS];
	struct gt_usage u = { .gpu = sf->dev[dev].gpu,
			      .pid = pid,
			      .since = now,
			      .at = now,
			      .region = r,
			      .memory = true };

	for (unsigned int i = 0; i < cs->n; i++)
		for (unsigned int k = 0; cs->c[i] && cs->c[i]->pid == pid && cs->c[i]->dev == dev &&
					 k < cs->c[i]->last.nregions;
		     k++)
			add_region(r, &u.nregions, &cs->c[i]->last.region[k]);
	sf_emit_usage(sf, &u);
}

static const struct sf_engine *engine_in(const struct sf_fdinfo *f, const char *name)
{
	for (unsigned int i = 0; f && i < f->nengines; i++)
		if (!strcmp(f->engine[i].name, name))
			return &f->engine[i];
	return NULL;
}

/* Emits engine times since @old, and returns whether there are any. @old NULL: all that the client ever
 * did if it is newer than the daemon, else nothing */
static bool emit_engines(struct sf *sf, const struct sf_client *c, const struct sf_fdinfo *old,
			 const struct sf_fdinfo *now, uint64_t since, uint64_t at)
{
	struct gt_use_engine e[GT_USE_ENGINES];
	struct gt_usage u = {
		.gpu = sf->dev[c->dev].gpu, .pid = c->pid, .since = since, .at = at, .engine = e
	};
	bool busy = false;

	for (unsigned int i = 0; i < now->nengines; i++) {
		const struct sf_engine *from = engine_in(old, now->engine[i].name);
		bool count = old || c->since_begin;

		e[i] = (struct gt_use_engine){ .capacity = now->engine[i].capacity };
		memcpy(e[i].name, now->engine[i].name, sizeof(e[i].name));
		if (count)
			e[i].ns = sf_engine_busy(from, &now->engine[i], at - since);
		busy |= e[i].ns;
	}
	u.nengines = now->nengines;
	if (busy || !c->emitted)
		sf_emit_usage(sf, &u);
	return busy;
}

/* Reading them --------------------------------------------------------------------------------- */

/* Reads a client's fdinfo; false: it is gone, or of something else */
static bool read_info(struct sf *sf, struct sf_client *c, struct sf_fdinfo *out)
{
	char path[64], text[SF_FDINFO_MAX];
	int fd = c->fd;
	ssize_t n;

	if (fd < 0) {
		uint64_t raised = gt_caps_set(SF_RIGHTS, 0);

		snprintf(path, sizeof(path), "proc/%u/fdinfo/%u", c->pid, c->number);
		fd = gt_root_fd(&sf->root, path);
		gt_caps_set(0, raised);
	}
	n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	if (c->fd < 0 && fd >= 0)
		close(fd);
	sf->clients->stats.reads++;
	text[n > 0 ? n : 0] = '\0';
	sf_fdinfo_parse(text, out);
	return out->drm;
}

static struct sf_grave *grave_of(struct sf_clients *cs, uint16_t dev, uint64_t id)
{
	for (unsigned int i = 0; i < SF_GRAVES && i < cs->ngraves; i++)
		if (cs->grave[i].id == id && cs->grave[i].dev == dev)
			return &cs->grave[i];
	return NULL;
}

/* Its process has ended, or closed it; what it did since the last read is unknown. */
static void end_client(struct sf *sf, unsigned int slot, uint64_t now)
{
	struct sf_clients *cs = sf->clients;
	struct sf_client *c = cs->c[slot];
	struct sf_grave *g = &cs->grave[cs->ngraves++ % SF_GRAVES];
	uint32_t pid = c->pid;
	uint16_t dev = c->dev;

	cs->stats.ended++;
	cs->stats.unseen_ns += now - c->at;
	*g = (struct sf_grave){ .id = c->id, .dev = dev, .at = c->at, .last = c->last };
	drop_client(cs, slot);
	emit_memory(sf, pid, dev, now);
	/* another process may have it as well: scan again */
	if (!cs->due)
		cs->due = now > cs->scanned + SF_AGAIN_NS ? now : cs->scanned + SF_AGAIN_NS;
}

static bool same_memory(const struct sf_fdinfo *a, const struct sf_fdinfo *b)
{
	return a->nregions == b->nregions &&
	       !memcmp(a->region, b->region, a->nregions * sizeof(a->region[0]));
}

/* A counter may go back for a moment: the next read is compared with the highest value. */
static void keep_greater(struct sf_fdinfo *now, const struct sf_fdinfo *old)
{
	for (unsigned int i = 0; i < now->nengines; i++) {
		struct sf_engine *e = &now->engine[i];
		const struct sf_engine *was = engine_in(old, e->name);

		if (!was)
			continue;
		if (e->ns != GT_NONE64 && was->ns != GT_NONE64 && was->ns > e->ns)
			e->ns = was->ns;
		if (e->cycles != GT_NONE64 && was->cycles != GT_NONE64 && was->cycles > e->cycles)
			e->cycles = was->cycles;
	}
}

static void read_client(struct sf *sf, unsigned int slot)
{
	struct sf_client *c = sf->clients->c[slot];
	uint64_t now = sf->p->host->now(sf->p);
	struct sf_fdinfo info;
	bool changed, memory;

	if (!read_info(sf, c, &info) || client_id(info.id, c->pid, c->number) != c->id) {
		end_client(sf, slot, now);
		return;
	}
	changed = emit_engines(sf, c, &c->last, &info, c->at, now);
	memory = !same_memory(&c->last, &info);
	keep_greater(&info, &c->last);
	c->last = info;
	c->at = now;
	if (memory)
		emit_memory(sf, c->pid, c->dev, now);
	if (changed || memory)
		c->warm = SF_WARM;
	else if (c->warm)
		c->warm--;
}

/* Counters of a GPU that sleeps stand still, and some drivers would wake it for a read. */
static void find_asleep(struct sf *sf, bool asleep[SF_DEVICES])
{
	bool used[SF_DEVICES] = { false };
	char word[16];

	for (unsigned int i = 0; i < sf->clients->n; i++)
		if (sf->clients->c[i])
			used[sf->clients->c[i]->dev] = true;
	for (unsigned int i = 0; i < sf->n; i++)
		asleep[i] = used[i] && !sf_device_awake(sf, &sf->dev[i], word, sizeof(word));
}

/* Reads at most @max clients that are @warm, or are not, from slot @at on. Return: the next slot */
static unsigned int read_some(struct sf *sf, unsigned int at, bool warm, unsigned int max,
			      const bool *asleep)
{
	struct sf_clients *cs = sf->clients;
	unsigned int end_at = cs->n;

	for (unsigned int i = 0; i < end_at && max && cs->n; i++) {
		unsigned int slot = at++ % end_at;

		if (slot >= cs->n || !cs->c[slot] || !!cs->c[slot]->warm != warm ||
		    asleep[cs->c[slot]->dev])
			continue;
		max--;
		read_client(sf, slot);
	}
	return end_at ? at % end_at : 0;
}

void sf_clients_read(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	bool asleep[SF_DEVICES] = { false };

	cs->looked = sf->p->host->now(sf->p);
	cs->stats.looks++;
	if (!cs->count)
		return;
	find_asleep(sf, asleep);
	/* idle ones first: a client that becomes idle by being read must not be read twice */
	cs->idle = read_some(sf, cs->idle, false, SF_IDLE, asleep);
	cs->work = read_some(sf, cs->work, true, SF_AT_WORK, asleep);
}

/* The first read of a client. Its whole work counts if it is newer than the daemon; of one that changed
 * hands, what is more than was counted before. */
static void first_read(struct sf *sf, struct sf_client *c, const struct sf_fdinfo *info)
{
	struct sf_clients *cs = sf->clients;
	struct sf_grave *g = grave_of(cs, c->dev, c->id);
	uint64_t now = sf->p->host->now(sf->p), since = cs->scanned ? cs->scanned : now;

	c->since_begin = cs->complete && !sf->dev[c->dev].unseen;
	emit_engines(sf, c, g ? &g->last : NULL, info, g ? g->at : since, now);
	c->emitted = true;
	c->last = *info;
	if (g)
		keep_greater(&c->last, &g->last);
	c->at = now;
	c->warm = SF_WARM;
	if (g)
		g->id = GT_NONE64;
	emit_memory(sf, c->pid, c->dev, now);
}

/* Process @pid of @user has descriptor @number open, of device @dev */
static void client_found(struct sf *sf, struct sf_user *user, uint32_t pid, unsigned int number,
			 uint16_t dev, const char *path)
{
	struct sf_clients *cs = sf->clients;
	struct sf_client try = { .pid = pid,
				 .number = number,
				 .dev = dev,
				 .user = (uint16_t)(user - cs->user),
				 .fd = -1 },
			 *c;
	struct sf_fdinfo info;
	char text[SF_FDINFO_MAX], word[16];
	int fd;
	ssize_t n;

	if (!sf_device_awake(sf, &sf->dev[dev], word, sizeof(word))) {
		sf->dev[dev].skipped = true;
		return;
	}
	fd = gt_root_fd(&sf->root, path);
	n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	sf_fdinfo_parse(text, &info);
	try.id = client_id(info.id, pid, number);
	c = info.drm && !find_client(cs, dev, try.id) ? new_client(cs, user) : NULL;
	if (!c || cs->count > KEPT_OPEN || sf->root.captured) { /* its files may be replaced */
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (!c)
		return;
	*c = try;
	user->clients++;
	c->fd = fd;
	add_to_hash(cs, c);
	first_read(sf, c, &info);
}

/* Finding them --------------------------------------------------------------------------------- */

#define DRM_MAJOR  226	 /* Documentation/admin-guide/devices.txt */
#define FDS_EACH   4096	 /* descriptors of a process */
#define FDS_A_SCAN 65536 /* 1 us each */
#define PROCESSES  32768
#define A_TIME	   16 /* steps between two readings of the clock */

void sf_scan_start(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	char path[4096];

	cs->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (cs->inotify < 0)
		return;
	if (!gt_root_real(&sf->root, "dev/dri", path, sizeof(path)))
		inotify_add_watch(cs->inotify, path, IN_OPEN | IN_ONLYDIR);
	if (!gt_root_real(&sf->root, "dev/kfd", path, sizeof(path)))
		inotify_add_watch(cs->inotify, path, IN_OPEN);
	if (sf->p->host->watch(sf->p, cs->inotify, true)) {
		close(cs->inotify);
		cs->inotify = -1;
	}
}

void sf_scan_stop(struct sf *sf)
{
	if (sf->clients->inotify < 0)
		return;
	sf->p->host->watch(sf->p, sf->clients->inotify, false);
	close(sf->clients->inotify);
}

bool sf_scan_noticed(struct sf *sf)
{
	char buf[4096] __attribute__((aligned(8)));
	bool any = false;

	while (sf->clients->inotify >= 0 && read(sf->clients->inotify, buf, sizeof(buf)) > 0)
		any = true;
	return any;
}

/* Index of the device that has this minor number, of its card or render node; GT_NONE16: none */
static uint16_t device_of(const struct sf *sf, unsigned int minor)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if ((int)minor == sf->dev[i].minor || (int)minor == sf->dev[i].render)
			return (uint16_t)i;
	return GT_NONE16;
}

/* A captured tree has symbolic links where /proc has its own kind. */
static bool captured_minor(const struct sf *sf, const char *path, unsigned int *minor)
{
	char name[32];
	int64_t n;
	bool card;

	gt_root_link(&sf->root, path, name, sizeof(name));
	card = !strncmp(name, "card", 4);
	if ((!card && strncmp(name, "renderD", 7)) ||
	    gt_root_number(name + (card ? 4 : 7), &n, NULL) || n < 0 || n > 1048575)
		return false;
	*minor = (unsigned int)n;
	return true;
}

/* Only what the kernel has cached of the file: a user's file system is not asked. */
static bool is_drm(const struct sf *sf, int dir, const char *name, const char *path,
		   unsigned int *minor)
{
	struct statx st;

	if (sf->root.captured)
		return captured_minor(sf, path, minor);
	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st))
		return false;
	*minor = st.stx_rdev_minor;
	return S_ISCHR(st.stx_mode) && st.stx_rdev_major == DRM_MAJOR;
}

/* By the real user: a setuid program may act as anybody. A process that hides its files still shows
 * the user as the owner of /proc/PID. */
struct sf_user *sf_user_of(struct sf *sf, uint32_t pid)
{
	uint32_t uid = sf_uid(sf, pid);
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (sf->root.captured)
		uid = uid == GT_NONE32 ? 0 : uid; /* no quota applies */
	else if (uid == GT_NONE32 && !stat(path, &st))
		uid = st.st_uid;
	return sf_user(sf->clients, uid);
}

/* Is descriptor @name of process @pid a client? */
static void check_descriptor(struct sf *sf, DIR *list, struct sf_user *user, uint32_t pid,
			     const char *name)
{
	unsigned int minor;
	char path[64];
	uint16_t dev;

	sf->clients->stats.descriptors++;
	snprintf(path, sizeof(path), "proc/%u/fd/%.10s", pid, name);
	if (!is_drm(sf, dirfd(list), name, path, &minor))
		return;
	dev = device_of(sf, minor);
	snprintf(path, sizeof(path), "proc/%u/fdinfo/%.10s", pid, name);
	if (dev != GT_NONE16)
		client_found(sf, user, pid, (unsigned int)atoi(name), dev, path);
}

static DIR *open_fds(struct sf *sf, uint32_t pid)
{
	char path[32];
	DIR *list;

	snprintf(path, sizeof(path), "proc/%u/fd", pid);
	list = gt_root_dir(&sf->root, path);
	sf->clients->stats.processes += list != NULL;
	return list;
}

/* The next descriptor in the folder, or NULL */
static const char *next_fd(DIR *list)
{
	struct dirent *e;
	int64_t fd;

	while ((e = readdir(list)))
		if (!gt_root_number(e->d_name, &fd, NULL) && fd >= 0 && fd <= INT32_MAX)
			return e->d_name;
	return NULL;
}

void sf_scan_process(struct sf *sf, uint32_t pid)
{
	uint64_t raised = gt_caps_set(SF_RIGHTS, 0);
	GT_ROOT_DIR list = open_fds(sf, pid);
	struct sf_user *user = sf_user_of(sf, pid);
	const char *name = NULL;

	for (unsigned int n = 0; list && n < FDS_EACH && (name = next_fd(list)); n++)
		check_descriptor(sf, list, user, pid, name);
	sf->clients->stats.cut += name != NULL;
	gt_caps_set(0, raised);
}

/* Scanning all processes ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The next process in the folder, or 0 */
static uint32_t next_in(DIR *proc)
{
	struct dirent *e;
	int64_t pid;

	while ((e = readdir(proc)))
		if (!gt_root_number(e->d_name, &pid, NULL) && pid > 0 && pid <= INT32_MAX)
			return (uint32_t)pid;
	return 0;
}

/* In order of pid, as a client belongs to the first process that has it. /proc is in this order, a
 * captured tree in any. */
static void sort_captured(struct sf_scan *s)
{
	uint32_t pid;

	s->pid = malloc(PROCESSES * sizeof(*s->pid));
	while (s->pid && s->npid < PROCESSES && (pid = next_in(s->proc)))
		s->pid[s->npid++] = pid;
	if (s->npid)
		qsort(s->pid, s->npid, sizeof(*s->pid), by_number);
}

void sf_scan_end(struct sf *sf)
{
	struct sf_scan *s = &sf->clients->scan;

	if (s->fds)
		closedir(s->fds);
	if (s->proc)
		closedir(s->proc);
	free(s->pid);
	*s = (struct sf_scan){ .proc = NULL };
}

void sf_scan_begin(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;

	sf_scan_end(sf);
	cs->scan.began = sf->p->host->now(sf->p);
	cs->scan.left = FDS_A_SCAN;
	cs->scan.proc = gt_root_dir(&sf->root, "proc");
	if (cs->scan.proc && sf->root.captured)
		sort_captured(&cs->scan);
	for (unsigned int i = 0; i < SF_USERS; i++)
		cs->user[i].processes = cs->user[i].fds = 0;
	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].skipped = false;
}

static bool has_enough(const struct sf_user *u)
{
	return u->uid && (u->processes >= PROCESSES / SF_SHARE || u->fds >= FDS_A_SCAN / SF_SHARE);
}

/* Starts with the next process; false: there is none, or the limit is reached */
static bool next_process(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	struct sf_scan *s = &cs->scan;

	if (!s->proc)
		return false;
	if (sf->root.captured)
		s->now = s->at < s->npid ? s->pid[s->at++] : 0;
	else
		s->now = next_in(s->proc);
	if (!s->now)
		return false;
	if (!s->left || s->processes == PROCESSES) {
		cs->stats.cut++;
		return false;
	}
	s->user = sf_user_of(sf, s->now);
	if (has_enough(s->user)) {
		cs->stats.over++;
		return true;
	}
	s->looked = 0;
	s->processes++;
	s->user->processes++;
	s->fds = open_fds(sf, s->now);
	return true;
}

/* One process, or one descriptor of it; false at the end */
static bool scan_step(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	struct sf_scan *s = &cs->scan;
	const char *name;

	if (!s->fds)
		return next_process(sf);
	name = next_fd(s->fds);
	if (name && s->left && s->looked < FDS_EACH && !has_enough(s->user)) {
		s->left--;
		s->looked++;
		s->user->fds++;
		check_descriptor(sf, s->fds, s->user, s->now, name);
		return true;
	}
	cs->stats.cut += name != NULL;
	closedir(s->fds);
	s->fds = NULL;
	return true;
}

static void scan_finished(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;

	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].unseen = sf->dev[i].skipped;
	cs->scanned = cs->scan.began;
	cs->cost = cs->scan.cost;
	cs->complete = true;
	cs->stats.scans++;
	sf_scan_end(sf);
}

bool sf_scan_continue(struct sf *sf, uint64_t until)
{
	uint64_t raised = gt_caps_set(SF_RIGHTS, 0), began = sf->p->host->now(sf->p), now = began;
	struct sf_scan *s = &sf->clients->scan;
	bool more;

	do {
		more = scan_step(sf);
		if (!(++s->steps % A_TIME) || !more)
			now = sf->p->host->now(sf->p);
	} while (more && now < until);
	s->cost += now - began;
	gt_caps_set(0, raised);
	if (!more)
		scan_finished(sf);
	return !more;
}
