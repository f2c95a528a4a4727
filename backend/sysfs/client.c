/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../rights.h"
#include "client.h"

#define KEPT_OPEN 1024 /* fdinfo files; those of more clients are opened each time */

struct sf_clients *sf_clients_new(void)
{
	struct sf_clients *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	cs->inotify = -1;
	cs->user[SF_USERS - 1].uid = GT_NONE32;
	return cs;
}

/* Which there are -------------------------------------------------------------------------------
 */

static uint32_t *head_of(struct sf_clients *cs, uint16_t dev, uint64_t id)
{
	return &cs->head[(id * 0x9e3779b97f4a7c15ULL + dev) >> 52 & (SF_HEADS - 1)];
}

static struct sf_client *find(struct sf_clients *cs, uint16_t dev, uint64_t id)
{
	uint32_t i = *head_of(cs, dev, id);

	while (i && (cs->c[i - 1]->id != id || cs->c[i - 1]->dev != dev))
		i = cs->c[i - 1]->next;
	return i ? cs->c[i - 1] : NULL;
}

/* Two descriptors of a driver that numbers no clients may be one, or not: each counts. */
static uint64_t number_of(uint64_t id, uint32_t pid, unsigned int fd)
{
	return id != GT_NONE64 ? id : 1ULL << 63 | (uint64_t)pid << 31 | fd;
}

static void drop(struct sf_clients *cs, unsigned int slot)
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
		drop(cs, cs->n - 1);
	free(cs);
}

void sf_clients_forget(struct sf *sf)
{
	while (sf->clients->n)
		drop(sf->clients, sf->clients->n - 1);
	sf->clients->ngraves = 0;
	sf->clients->complete = false;
}

/* Nothing counts on it any more: another may have its place. */
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

static struct sf_client *add(struct sf_clients *cs, const struct sf_user *user)
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

static void enlist(struct sf_clients *cs, struct sf_client *c)
{
	uint32_t *head = head_of(cs, c->dev, c->id);
	unsigned int slot = 0;

	while (cs->c[slot] != c)
		slot++;
	c->next = *head;
	*head = slot + 1;
}

/* What is told -------------------------------------------------------------------------------- */

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

/* The beginning of a stat file of a captured tree: comm may hold anything but NUL (proc(5)) */
static void who_of(struct sf *sf, uint32_t pid, struct gt_use_who *who, char comm[16],
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

void sf_tell(struct sf *sf, struct gt_usage *u)
{
	struct gt_use_who who;
	char comm[16], cgroup[512];

	if (sf->root.captured) {
		who_of(sf, u->pid, &who, comm, cgroup);
		u->who = &who;
	}
	sf->p->host->usage(sf->p, u);
	u->who = NULL;
}

static uint64_t both(uint64_t a, uint64_t b)
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
	all[i].total = both(all[i].total, r->total);
	all[i].resident = both(all[i].resident, r->resident);
	all[i].shared = both(all[i].shared, r->shared);
	all[i].active = both(all[i].active, r->active);
	all[i].purgeable = both(all[i].purgeable, r->purgeable);
}

/* All that a process's clients hold of a device */
static void tell_memory(struct sf *sf, uint32_t pid, uint16_t dev, uint64_t now)
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
	sf_tell(sf, &u);
}

static const struct sf_engine *engine_in(const struct sf_fdinfo *f, const char *name)
{
	for (unsigned int i = 0; f && i < f->nengines; i++)
		if (!strcmp(f->engine[i].name, name))
			return &f->engine[i];
	return NULL;
}

/* What engines did since @old; 0: nothing. With @old NULL: all that the client ever did, or nothing
 */
static bool tell_engines(struct sf *sf, const struct sf_client *c, const struct sf_fdinfo *old,
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
	if (busy || !c->tells)
		sf_tell(sf, &u);
	return busy;
}

/* Reading ------------------------------------------------------------------------------------- */

/* 1: it is a client's, 0: of something else, or not to be had */
static bool read_info(struct sf *sf, struct sf_client *c, struct sf_fdinfo *out)
{
	char path[64], text[SF_FDINFO_MAX];
	int fd = c->fd;
	ssize_t n;

	if (fd < 0) {
		uint64_t raised = gt_rights(SF_RIGHTS, 0);

		snprintf(path, sizeof(path), "proc/%u/fdinfo/%u", c->pid, c->number);
		fd = gt_root_fd(&sf->root, path);
		gt_rights(0, raised);
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

/* Its process ended, or closed it: what it did since the last look nobody will know. */
static void end(struct sf *sf, unsigned int slot, uint64_t now)
{
	struct sf_clients *cs = sf->clients;
	struct sf_client *c = cs->c[slot];
	struct sf_grave *g = &cs->grave[cs->ngraves++ % SF_GRAVES];
	uint32_t pid = c->pid;
	uint16_t dev = c->dev;

	cs->stats.ended++;
	cs->stats.unseen_ns += now - c->at;
	*g = (struct sf_grave){ .id = c->id, .dev = dev, .at = c->at, .last = c->last };
	drop(cs, slot);
	tell_memory(sf, pid, dev, now);
	/* others may hold it as well */
	if (!cs->due)
		cs->due = now > cs->scanned + SF_AGAIN_NS ? now : cs->scanned + SF_AGAIN_NS;
}

static bool same_memory(const struct sf_fdinfo *a, const struct sf_fdinfo *b)
{
	return a->nregions == b->nregions &&
	       !memcmp(a->region, b->region, a->nregions * sizeof(a->region[0]));
}

/* A counter may go back for a moment: what it had reached is what the next look is compared with.
 */
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

	if (!read_info(sf, c, &info) || number_of(info.id, c->pid, c->number) != c->id) {
		end(sf, slot, now);
		return;
	}
	changed = tell_engines(sf, c, &c->last, &info, c->at, now);
	memory = !same_memory(&c->last, &info);
	keep_greater(&info, &c->last);
	c->last = info;
	c->at = now;
	if (memory)
		tell_memory(sf, c->pid, c->dev, now);
	if (changed || memory)
		c->warm = SF_WARM;
	else if (c->warm)
		c->warm--;
}

/* Counters of a GPU that sleeps stand still, and some drivers would wake it to be asked. */
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

/* At most @max that are @warm or not, from slot *@at on; returns where to begin next time */
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
	/* those first that are idle: else one that is read here for the second time would be */
	cs->idle = read_some(sf, cs->idle, false, SF_IDLE, asleep);
	cs->work = read_some(sf, cs->work, true, SF_AT_WORK, asleep);
}

/* What is new of it counts, if it was made after the daemon came; what it had when it changed hands
 * did. */
static void first_look(struct sf *sf, struct sf_client *c, const struct sf_fdinfo *info)
{
	struct sf_clients *cs = sf->clients;
	struct sf_grave *g = grave_of(cs, c->dev, c->id);
	uint64_t now = sf->p->host->now(sf->p), since = cs->scanned ? cs->scanned : now;

	c->since_begin = cs->complete && !sf->dev[c->dev].unseen;
	tell_engines(sf, c, g ? &g->last : NULL, info, g ? g->at : since, now);
	c->tells = true;
	c->last = *info;
	if (g)
		keep_greater(&c->last, &g->last);
	c->at = now;
	c->warm = SF_WARM;
	if (g)
		g->id = GT_NONE64;
	tell_memory(sf, c->pid, c->dev, now);
}

void sf_client_found(struct sf *sf, struct sf_user *user, uint32_t pid, unsigned int number,
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
	try.id = number_of(info.id, pid, number);
	c = info.drm && !find(cs, dev, try.id) ? add(cs, user) : NULL;
	if (!c || cs->count > KEPT_OPEN || sf->root.captured) { /* whose files may be replaced */
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (!c)
		return;
	*c = try;
	user->clients++;
	c->fd = fd;
	enlist(cs, c);
	first_look(sf, c, &info);
}
