/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows that are there twice, as where a run was written in two formats, or a table has its lines
 * again: the same number, device, queue, begin and end are one dispatch, copy or call. Rows come
 * merged by time, so the two follow one another closely; the last ones are remembered.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/hash.h"
#include "../lib/detail.h"
#include "../lib/file.h"
#include "rocprof.h"

static uint16_t rp_place_gpu(struct rp_places *pl, uint16_t group, uint64_t key);

#define SETS 8192
#define WAYS 8

/** struct rp_dedup - rows in sets by a hash of what they have in common, the latest of a set first */
struct rp_dedup {
	struct rp_once {
		uint64_t start, end, id, agent, side;
		uint32_t pid, uid;
		uint16_t group, gpu, kind;
		bool devices; /* the devices of its group were listed, so gpu is the one there is */
	} row[SETS][WAYS];
};

static bool same_process(uint32_t a, uint32_t b)
{
	return a == b || a == GT_NONE32 || b == GT_NONE32;
}

/* Files of two runs' names call devices by different numbers, and may not say which one it is */
static bool same_place(const struct rp_once *a, const struct rp_once *b)
{
	if (a->group == b->group)
		return a->agent == b->agent && a->side == b->side;
	return !a->devices || !b->devices || a->gpu == b->gpu;
}

static bool same_row(const struct rp_once *a, const struct rp_once *b)
{
	return a->end && a->start == b->start && a->end == b->end && a->id == b->id &&
	       a->kind == b->kind && a->uid == b->uid && same_process(a->pid, b->pid) &&
	       same_place(a, b);
}

/*
 * Which row of a full set a row of @uid replaces: the oldest of the user who would then have most of it. So
 * a user with many rows replaces their own as soon as others have some.
 */
static unsigned int row_to_replace(const struct rp_once set[WAYS], uint32_t uid)
{
	unsigned int at = WAYS - 1, most = 0;

	for (unsigned int i = WAYS; i--;) {
		unsigned int n = set[i].uid == uid;

		if (!set[i].end)
			return i;
		for (unsigned int j = 0; j < WAYS; j++)
			n += set[j].uid == set[i].uid;
		if (n > most) {
			most = n;
			at = i;
		}
	}
	return at;
}

/** rp_is_duplicate() - was the same dispatch, copy or call there before? It is remembered */
static bool rp_is_duplicate(struct rp_emitter *t, const struct rp_row *r,
			    const struct rp_file *file)
{
	uint16_t group = file->source.group;
	struct rp_once n = { .start = r->start,
			     .end = r->end,
			     .id = r->kind == RP_DISPATCH ? r->dispatch : r->correlation,
			     .agent = r->agent,
			     .side = r->kind == RP_DISPATCH ? r->queue
				     : r->kind == RP_COPY   ? r->from
							    : r->tid,
			     .pid = r->pid,
			     .uid = file->uid,
			     .group = group,
			     .gpu = GT_NONE16,
			     .kind = r->kind };
	struct rp_once *set;

	if (r->kind != RP_DISPATCH && r->kind != RP_COPY && r->kind != RP_API)
		return false;
	if (n.id == GT_NONE64)
		n.id = r->kind == RP_DISPATCH ? r->correlation : r->dispatch;
	if (n.id == GT_NONE64) /* two may run at the same time */
		return false;
	if (!t->dedup)
		t->dedup = calloc(1, sizeof(*t->dedup));
	if (!t->dedup)
		return false;
	n.devices = r->kind != RP_API && r->agent != GT_NONE64 && t->said->devices[group];
	if (n.devices)
		n.gpu = rp_place_gpu(&t->said->places, group, r->agent);
	set = t->dedup->row[gt_mix(r->start ^ 0x9e3779b97f4a7c15ull, r->end + n.id) % SETS];
	for (unsigned int i = 0; i < WAYS; i++)
		if (same_row(&set[i], &n))
			return true;
	memmove(set + 1, set, row_to_replace(set, n.uid) * sizeof(*set));
	*set = n;
	return false;
}

/* Devices and queues as results call them, and as the tree does. */

#define LIVE_QUEUE                                                                                 \
	(1u                                                                                        \
	 << 30) /* ids of queues from results begin there beside the machine's own              \
		    */

static struct rp_place *find(struct rp_places *pl, uint16_t group, uint64_t key)
{
	struct rp_place *last = &pl->place[pl->last];

	if (pl->n && last->key == key && last->group == group)
		return last;
	for (unsigned int i = 0; i < pl->n; i++)
		if (pl->place[i].key == key && pl->place[i].group == group) {
			pl->last = i;
			return &pl->place[i];
		}
	return NULL;
}

/* Asked before the host looks for the GPU, which may take long */
static bool has_room(struct rp_places *pl)
{
	*pl->refused += pl->n == RP_AGENTS;
	return pl->n < RP_AGENTS;
}

/* Behind has_room() */
static uint16_t add_place(struct rp_places *pl, uint16_t group, uint64_t key, uint16_t gpu)
{
	pl->place[pl->n++] = (struct rp_place){ .group = group, .gpu = gpu, .key = key };
	return gpu;
}

/* Who says which GPU it was; 0: whoever may name any */
static uint32_t owner(const struct rp_places *pl)
{
	return pl->p->recording || pl->uid == GT_NONE32 ? 0 : pl->uid;
}

/* KFD's location_id is bus, device and function; the bits above are a partition */
static uint16_t by_location(struct gt_plugin *p, const struct rp_agent *a, uint32_t uid)
{
	struct gt_gpu_desc d = {
		.driver = "amdgpu", .minor = -1, .listed = !p->recording, .uid = uid
	};
	uint64_t domain = a->domain == GT_NONE64 ? 0 : a->domain & 0xffff;
	char dev[32];
	uint16_t gpu = GT_NONE16;

	if (!p->recording && a->gpu_id && a->gpu_id < GT_NONE32) {
		d.kfd_id = (uint32_t)a->gpu_id;
		gpu = p->host->gpu(p, &d);
	}
	if (gpu != GT_NONE16 || a->location == GT_NONE64)
		return gpu;
	snprintf(dev, sizeof(dev), "%04x:%02x:%02x.%x", (unsigned int)domain,
		 (unsigned int)(a->location >> 8 & 0xff), (unsigned int)(a->location >> 3 & 0x1f),
		 (unsigned int)(a->location & 7));
	d.kfd_id = 0;
	d.dev = dev;
	return p->host->gpu(p, &d);
}

/* Without a table of devices the agent's number is that of its node on this machine */
static uint16_t of_node(struct gt_plugin *p, uint64_t node, uint32_t uid)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1, .listed = true, .uid = uid };
	char path[96];
	FILE *f;

	if (node > 1024)
		return GT_NONE16;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id",
		 (unsigned int)node);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", &d.kfd_id) != 1)
		d.kfd_id = 0;
	if (f)
		fclose(f);
	return d.kfd_id ? p->host->gpu(p, &d) : GT_NONE16;
}

/** rp_place_agent() - a device was listed */
static void rp_place_agent(struct rp_places *pl, uint16_t group, const struct rp_agent *a)
{
	const struct gt_gpu_desc any = { .driver = "amdgpu", .minor = -1, .uid = owner(pl) };
	uint16_t gpu = GT_NONE16;

	if (a->key == GT_NONE64 || find(pl, group, a->key) || !has_room(pl))
		return;
	if (a->gpu)
		gpu = by_location(pl->p, a, owner(pl));
	if (a->gpu && gpu == GT_NONE16) /* another machine's */
		gpu = pl->p->host->gpu(pl->p, &any);
	add_place(pl, group, a->key, gpu);
}

/* The only GPU that the run listed, or all of them, GT_NONE16; GT_NONE16: none, or several */
static uint16_t only_one(const struct rp_places *pl, uint16_t group)
{
	uint16_t gpu = GT_NONE16;

	for (unsigned int i = 0; i < pl->n; i++) {
		if (pl->place[i].gpu == GT_NONE16 ||
		    (group != GT_NONE16 && pl->place[i].group != group))
			continue;
		if (gpu != GT_NONE16 && gpu != pl->place[i].gpu)
			return GT_NONE16;
		gpu = pl->place[i].gpu;
	}
	return gpu;
}

/** rp_place_gpu() - the GPU that rows of @group call @key */
static uint16_t rp_place_gpu(struct rp_places *pl, uint16_t group, uint64_t key)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1, .uid = owner(pl) };
	const struct rp_place *known = find(pl, group, key);
	char dev[32];
	uint16_t gpu;

	if (known)
		return known->gpu;
	gpu = key == GT_NONE64 ? only_one(pl, group) : GT_NONE16;
	if (gpu != GT_NONE16)
		return gpu; /* of others it may learn yet */
	if (!has_room(pl))
		return GT_NONE16;
	snprintf(dev, sizeof(dev), "agent%llu", (unsigned long long)key);
	if (pl->p->recording && key != GT_NONE64)
		d.dev = dev;
	gpu = pl->p->recording ? GT_NONE16 : of_node(pl->p, key, owner(pl));
	if (gpu != GT_NONE16)
		return add_place(pl, group, key, gpu);
	return add_place(pl, group, key, pl->p->host->gpu(pl->p, &d));
}

/** rp_place_any() - likewise of whatever group: handles are not the same on two devices */
static uint16_t rp_place_any(struct rp_places *pl, uint16_t group, uint64_t key)
{
	uint16_t gpu = key == GT_NONE64 && pl->p->recording ? only_one(pl, GT_NONE16) : GT_NONE16;

	if (gpu != GT_NONE16)
		return gpu;
	if (!find(pl, group, key))
		for (unsigned int i = 0; i < pl->n; i++)
			if (pl->place[i].key == key && pl->place[i].gpu != GT_NONE16)
				return pl->place[i].gpu;
	return rp_place_gpu(pl, group, key);
}

static bool same_queue(const struct rp_queue *q, uint16_t group, uint16_t gpu, uint64_t handle,
		       uint32_t pid, uint32_t uid)
{
	return q->handle == handle && q->pid == pid && q->uid == uid && q->gpu == gpu &&
	       q->group == group;
}

/** rp_queue_id() - id of a queue of @group; @is_new: it is seen for the first time. GT_NONE32: there are
 * too many */
static uint32_t rp_queue_id(struct gt_plugin *p, struct rp_queues *q, uint16_t group, uint16_t gpu,
			    uint64_t handle, uint32_t pid, uint32_t uid, bool *is_new)
{
	unsigned int theirs = 0;
	uint32_t id;

	*is_new = false;
	if (handle == GT_NONE64)
		return GT_NONE32;
	if (!q->queue)
		q->queue = calloc(RP_QUEUES, sizeof(*q->queue));
	if (q->n && same_queue(&q->queue[q->last], group, gpu, handle, pid, uid))
		return q->queue[q->last].id;
	for (unsigned int i = 0; i < q->n; i++) {
		if (same_queue(&q->queue[i], group, gpu, handle, pid, uid)) {
			q->last = i;
			return q->queue[i].id;
		}
		theirs += q->queue[i].uid == uid;
	}
	if (!q->queue || q->n == RP_QUEUES ||
	    (!p->recording && uid && theirs == RP_QUEUES / RP_SHARE)) {
		q->refused++;
		return GT_NONE32;
	}
	id = p->recording ? 1 + q->ids : LIVE_QUEUE + q->ids % LIVE_QUEUE;
	q->ids++;
	q->queue[q->n++] = (struct rp_queue){ handle, pid, uid, id, gpu, group };
	*is_new = true;
	return id;
}

/* Calls by function, and operations on memory: tables under backends/rocprof/. */

/* One more, of @n: @theirs are of the file's owner. A recording has one owner */
static bool may_add(const struct rp_emitter *t, unsigned int theirs, unsigned int n,
		    unsigned int most)
{
	bool bound = t->files->live && t->said->places.uid;

	return n < most && !(bound && theirs >= most / RP_SHARE);
}

/* An earlier file of the same user may have named it */
static uint16_t call_of(struct rp_emitter *t, const char *name)
{
	uint32_t uid = t->said->places.uid;
	unsigned int theirs = 0;
	char *own;

	for (unsigned int i = 0; i < t->ncalls; i++) {
		if (t->call[i].uid != uid)
			continue;
		if (!strcmp(t->call[i].name, name))
			return (uint16_t)i;
		theirs++;
	}
	own = may_add(t, theirs, t->ncalls, RP_CALLS_MAX) ? strndup(name, 256) : NULL;
	if (!own)
		return GT_NONE16;
	t->call[t->ncalls] =
		(struct rp_call){ .name = own, .uid = uid, .min = GT_NONE64, .max = GT_NONE64 };
	return (uint16_t)t->ncalls++;
}

/** rp_count_call() - @calls of function @n, which took @total in all */
static void rp_count_call(struct rp_emitter *t, struct rp_emitted_name *n, uint64_t calls,
			  uint64_t total, uint64_t min, uint64_t max)
{
	struct rp_call *c;

	if (n && n->call == GT_NONE16)
		n->call = call_of(t, n->text);
	if (!n || n->call == GT_NONE16) {
		t->refused++;
		t->lacks = "without_room";
		return;
	}
	c = &t->call[n->call];
	c->count += calls;
	c->total += total;
	if (min < c->min)
		c->min = min;
	if (max != GT_NONE64 && (c->max == GT_NONE64 || max > c->max))
		c->max = max;
}

/** rp_count_memory() - an allocation, or the like */
static void rp_count_memory(struct rp_emitter *t, const struct rp_row *r, uint16_t gpu)
{
	const char *name = r->name < t->said->names && t->said->name[r->name].text
				   ? t->said->name[r->name].text
				   : "-";
	uint32_t uid = t->said->places.uid;
	struct rp_memory *m = NULL;
	unsigned int theirs = 0;

	for (unsigned int i = 0; i < t->nmemory && !m; i++) {
		if (t->memory[i].uid != uid)
			continue;
		if (t->memory[i].gpu == gpu && t->memory[i].kind == r->kind &&
		    !strcmp(t->memory[i].name, name))
			m = &t->memory[i];
		theirs++;
	}
	if (!m) {
		char *own =
			may_add(t, theirs, t->nmemory, RP_MEMORY_MAX) ? strndup(name, 256) : NULL;

		if (!own) {
			t->refused++;
			t->lacks = "without_room";
			return;
		}
		m = &t->memory[t->nmemory++];
		*m = (struct rp_memory){ .name = own, .uid = uid, .gpu = gpu, .kind = r->kind };
	}
	m->count++;
	if (r->bytes != GT_NONE64)
		m->bytes += r->bytes;
	if (r->start != GT_NONE64 && r->end != GT_NONE64 && r->end >= r->start)
		m->ns += r->end - r->start;
}

/* One user's long names do not push another's rows out of the text */
#define ROW_MAX 250 /* bytes: a name of 127, and numbers */
static_assert(RP_CALLS_MAX * ROW_MAX < GT_BACKEND_TEXT_MAX, "all rows fit");

static int longest_first(const void *a, const void *b)
{
	const struct rp_call *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name) ?: (x->uid > y->uid) - (x->uid < y->uid);
}

static void number(char out[24], uint64_t v)
{
	snprintf(out, 24, v == GT_NONE64 ? "-" : "%llu", (unsigned long long)v);
}

void rp_show_calls(const struct rp_emitter *t, char *buf, size_t len)
{
	struct rp_call *c = calloc(t->ncalls + 1, sizeof(*c));
	char name[128], uid[24], min[24], max[24];
	struct gt_details d = { buf, len };

	if (!c)
		return;
	memcpy(c, t->call, t->ncalls * sizeof(*c));
	qsort(c, t->ncalls, sizeof(*c), longest_first);
	for (unsigned int i = 0; i < t->ncalls; i++) {
		gt_word(name, sizeof(name), c[i].name);
		number(min, c[i].min);
		number(max, c[i].max);
		number(uid, c[i].uid == GT_NONE32 ? GT_NONE64 : c[i].uid);
		gt_detail(&d, "%s %llu %llu %s %s %s\n", uid, (unsigned long long)c[i].count,
			  (unsigned long long)c[i].total, min, max, *name ? name : "-");
	}
	free(c);
}

void rp_show_allocations(const struct rp_emitter *t, char *buf, size_t len)
{
	char name[128], uid[24], gpu[24];
	struct gt_details d = { buf, len };

	for (unsigned int i = 0; i < t->nmemory; i++) {
		const struct rp_memory *m = &t->memory[i];

		gt_word(name, sizeof(name), m->name);
		number(gpu, m->gpu == GT_NONE16 ? GT_NONE64 : m->gpu);
		number(uid, m->uid == GT_NONE32 ? GT_NONE64 : m->uid);
		gt_detail(&d, "%s %s %s %llu %llu %llu %s\n", uid,
			  m->kind == RP_SCRATCH ? "scratch" : "memory", gpu,
			  (unsigned long long)m->count, (unsigned long long)m->bytes,
			  (unsigned long long)m->ns, *name ? name : "-");
	}
}

/* What the child sends becomes records, kernels and counters; nothing of it is believed unchecked.
 */

static void flush(struct rp_emitter *t)
{
	if (t->batched)
		t->p->host->push(t->p, t->batch, t->batched);
	t->batched = 0;
}

void rp_emit_flush(struct rp_emitter *t)
{
	flush(t);
}

static void add_record(struct rp_emitter *t, const union gt_record *r)
{
	if (t->batched == RP_BATCH)
		flush(t);
	if (r->ev.ts > t->pos)
		t->pos = r->ev.ts;
	t->batch[t->batched++] = *r;
}

static struct rp_file *file_of(struct rp_emitter *t, uint16_t i)
{
	return &t->files->file[t->said->index[i]];
}

/* Times of results count from the boot, sleep included */
static uint64_t when(struct rp_emitter *t, uint64_t ts)
{
	if (t->p->recording)
		return ts;
	return t->p->host->monotonic(t->p, GT_CLOCK_ID_BOOTTIME, ts, NULL);
}

static uint32_t pid_of(struct rp_emitter *t, const struct rp_row *r, uint32_t uid)
{
	struct rp_pid *known;

	if (t->p->recording || r->pid == GT_NONE32)
		return r->pid;
	known = &t->pid[r->pid % RP_PIDS];
	if (known->pid != r->pid || known->uid != uid) {
		known->pid = r->pid;
		known->uid = uid;
		known->there = gt_process_owner(r->pid, uid, r->start) == GT_OWNER_SAME;
	}
	return known->there ? r->pid : GT_NONE32;
}

/* Names ------------------------------------------------------------------------------------------
 */

static bool launches(const char *s)
{
	static const char *const begin[] = { "hipLaunch",	   "hipModuleLaunch",
					     "hipExtLaunch",	   "hipDrvLaunch",
					     "hipExtModuleLaunch", "hipGraphLaunch",
					     "hipHccModuleLaunch" };

	if (strstr(s, "HostFunc"))
		return false;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(s, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* Ids come in order, each once */
static int take_name(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_emitted_name *n;
	struct rp_name head;
	const struct rp_file *file = file_of(t, f->file);
	uint64_t most = t->files->live && file->uid ? RP_USER_BYTES : RP_NAME_BYTES;

	if (f->len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.id != t->said->names || t->said->names == RP_NAMES ||
	    f->len - sizeof(head) > GT_KERNEL_NAME_MAX)
		return -EBADMSG;
	n = &t->said->name[t->said->names++];
	n->len = f->len - sizeof(head);
	n->hash = head.hash;
	n->call = GT_NONE16;
	if (t->said->bytes + n->len > most)
		return 0; /* what is called so is counted as refused */
	n->text = malloc(n->len + 1);
	if (!n->text)
		return 0;
	memcpy(n->text, data + sizeof(head), n->len);
	n->text[n->len] = '\0';
	n->launches = launches(n->text);
	n->meant = file->means && strstr(n->text, file->means);
	t->said->bytes += n->len;
	return 0;
}

static struct rp_emitted_name *name_of(struct rp_emitter *t, uint32_t id)
{
	return id < t->said->names && t->said->name[id].text ? &t->said->name[id] : NULL;
}

/* Kernels ----------------------------------------------------------------------------------------
 */

static bool timed(const struct rp_row *r)
{
	return r->start != GT_NONE64 && r->end != GT_NONE64 && r->start <= r->end &&
	       r->end < INT64_MAX;
}

static struct rp_slot *slot_of(struct rp_emitted_name *n, uint16_t gpu, uint32_t uid)
{
	struct rp_slot *s;

	for (unsigned int i = 0; i < n->nslots; i++)
		if (n->slot[i].gpu == gpu && n->slot[i].uid == uid)
			return &n->slot[i];
	s = n->nslots < RP_AGENTS ? reallocarray(n->slot, n->nslots + 1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	n->slot = s;
	s = &n->slot[n->nslots++];
	memset(s, 0xff, sizeof(*s));
	s->gpu = gpu;
	s->uid = uid;
	s->asked = false;
	return s;
}

/* Number of the row's kernel; the host is asked when it is new, or another shape of it comes */
static uint32_t kernel_of(struct rp_emitter *t, const struct rp_row *r, uint16_t gpu, uint32_t uid)
{
	struct rp_emitted_name *n = name_of(t, r->name);
	struct rp_slot *s = n && gpu != GT_NONE16 ? slot_of(n, gpu, uid) : NULL;
	struct gt_kernel_desc d;

	if (!s) {
		t->refused++;
		return GT_NONE32;
	}
	if (s->asked &&
	    (s->kernel == GT_NONE32 ||
	     (!memcmp(s->v, r->v, sizeof(s->v)) && r->queued == GT_NONE64 && r->kind != RP_STAT))) {
		t->refused += s->kernel == GT_NONE32;
		return s->kernel;
	}
	gt_kernel_init(&d);
	d.id = s->asked ? s->kernel : GT_NONE32;
	d.gpu = gpu;
	d.uid = uid;
	d.name = n->text;
	d.len = n->len;
	d.hash = n->hash;
	memcpy(d.value, r->v, sizeof(d.value));
	if (r->queued != GT_NONE64 && timed(r) && r->queued <= r->start) {
		d.ts = when(t, r->end);
		d.queue_ns = r->start - r->queued;
	}
	if (r->kind == RP_STAT) {
		d.calls = r->bytes;
		d.total_ns = r->total;
		d.min_ns = r->min;
		d.max_ns = r->max;
	}
	s->kernel = t->p->host->kernel(t->p, &d);
	s->asked = true;
	memcpy(s->v, r->v, sizeof(s->v));
	t->refused += s->kernel == GT_NONE32;
	return s->kernel;
}

/* Rows -------------------------------------------------------------------------------------------
 */

static void event_of(struct rp_emitter *t, union gt_record *rec, const struct rp_row *r,
		     enum gt_type type, uint32_t uid)
{
	gt_record_init(rec, when(t, rp_row_ts(r)), type);
	rec->ev.pid = pid_of(t, r, uid);
	rec->ev.tid = rec->ev.pid == GT_NONE32 && !t->p->recording ? GT_NONE32 : r->tid;
	rec->ev.uid = uid;
	rec->ev.seqno = r->correlation;
}

static void describe_queue(struct rp_emitter *t, const struct rp_row *r, uint16_t gpu, uint32_t id,
			   uint32_t uid)
{
	union gt_record rec;

	gt_record_init(&rec, when(t, r->start), GT_QUEUE);
	rec.queue.gpu = gpu;
	rec.queue.queue = id;
	rec.queue.pid = pid_of(t, r, uid);
	rec.queue.uid = uid;
	rec.queue.ctx = r->queue;
	rec.queue.kind = GT_QUEUE_COMPUTE;
	rec.queue.engine = GT_ENGINE_COMPUTE;
	rec.queue.size = 0;
	rec.ev.ts = when(t, r->end); /* merged with the rest */
	add_record(t, &rec);
}

static int on_dispatch(struct rp_emitter *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu = rp_place_gpu(&t->said->places, group, r->agent);
	uint32_t kernel = kernel_of(t, r, gpu, uid), queue;
	union gt_record rec;
	bool is_new;

	if (gpu == GT_NONE16) {
		t->lacks = "without_gpu";
		return 0;
	}
	queue = rp_queue_id(t->p, &t->queues, group, gpu, r->queue, r->pid, uid, &is_new);
	if (is_new)
		describe_queue(t, r, gpu, queue, uid);
	event_of(t, &rec, r, GT_DISPATCH, uid);
	rec.ev.gpu = gpu;
	rec.ev.queue = queue;
	rec.ev.ctx = r->dispatch;
	rec.ev.value = r->end - r->start;
	rec.ev.ref = kernel == GT_NONE32 ? GT_NONE64 : kernel;
	add_record(t, &rec);
	return 1;
}

static int on_counter(struct rp_emitter *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu = rp_place_gpu(&t->said->places, group, r->agent);
	uint32_t kernel = kernel_of(t, r, gpu, uid);
	struct rp_emitted_name *n = name_of(t, r->counter);

	if (kernel != GT_NONE32 && n)
		t->p->host->counter(t->p, kernel, n->text, r->value);
	else
		t->lacks = gpu == GT_NONE16 ? "without_gpu" : "without_room";
	return 0;
}

static int on_stat(struct rp_emitter *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu = rp_place_gpu(&t->said->places, group, r->agent);

	if (kernel_of(t, r, gpu, uid) == GT_NONE32)
		t->lacks = gpu == GT_NONE16 ? "without_gpu" : "without_room";
	return 0;
}

static int on_copy(struct rp_emitter *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu =
		r->agent == GT_NONE64 ? GT_NONE16 : rp_place_gpu(&t->said->places, group, r->agent);
	union gt_record rec;

	/* Without a table of devices the host's side would be taken for a GPU */
	if (!t->said->devices[group] && name_of(t, r->name))
		gpu = rp_place_gpu(&t->said->places, group,
				   strstr(name_of(t, r->name)->text, "DEVICE_TO_HOST") ? r->from
										       : r->agent);
	else if (gpu == GT_NONE16 && r->from != GT_NONE64)
		gpu = rp_place_gpu(&t->said->places, group, r->from);
	event_of(t, &rec, r, GT_COPY, uid);
	rec.ev.gpu = gpu;
	rec.ev.value = r->bytes;
	rec.ev.ref = r->end - r->start;
	add_record(t, &rec);
	return 1;
}

static int on_api(struct rp_emitter *t, const struct rp_row *r, uint32_t uid)
{
	struct rp_emitted_name *n = name_of(t, r->name);
	union gt_record rec;

	rp_count_call(t, n, 1, r->end - r->start, r->end - r->start, r->end - r->start);
	if (!n || !n->launches || r->kind == RP_MARKER)
		return 0;
	event_of(t, &rec, r, GT_LAUNCH, uid);
	add_record(t, &rec);
	return 1;
}

static int on_row(struct rp_emitter *t, const struct rp_row *r, struct rp_file *file)
{
	uint16_t group = file->source.group;

	switch (r->kind) {
	case RP_DISPATCH:
		file->matched += name_of(t, r->name) && name_of(t, r->name)->meant;
		return on_dispatch(t, r, group, file->uid);
	case RP_COUNTER:
	case RP_READING:
		return on_counter(t, r, group, file->uid);
	case RP_COPY:
		return on_copy(t, r, group, file->uid);
	case RP_API:
	case RP_MARKER:
		return on_api(t, r, file->uid);
	case RP_STAT:
		return on_stat(t, r, group, file->uid);
	case RP_CALLS:
		rp_count_call(t, name_of(t, r->name), r->bytes, r->total, r->min, r->max);
		return 0;
	default:
		rp_count_memory(t, r, rp_place_gpu(&t->said->places, group, r->agent));
		return 0;
	}
}

/* One more event of the file: it shows something, or lacks what it needs for that. */
static void count(struct rp_file *file, const char *lacks)
{
	file->count.events++;
	if (lacks)
		gt_file_skip(&file->count, lacks, 1);
	else
		file->count.used++;
}

static int take_row(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);
	struct rp_row r;
	int n;

	if (f->len != sizeof(r))
		return -EBADMSG;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= RP_ROW_KINDS)
		return -EBADMSG;
	if ((r.kind == RP_DISPATCH || r.kind == RP_API || r.kind == RP_MARKER ||
	     r.kind == RP_COPY) &&
	    !timed(&r))
		return -EBADMSG;
	if (rp_row_reads(&r) && !isfinite(r.value))
		return -EBADMSG;
	if (rp_is_duplicate(t, &r, file)) {
		t->duplicates++;
		file->rows++;
		count(file, "duplicates");
		return 0;
	}
	t->lacks = NULL;
	n = on_row(t, &r, file);
	if (r.kind == RP_READING)
		return n;
	file->rows++;
	count(file, t->lacks);
	return n;
}

/* Lines of printable letters, whatever came */
static int take_text(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);
	struct rp_row r = { .kind = RP_COUNTER, .queued = GT_NONE64 };
	struct rp_text head;
	uint32_t kernel;
	size_t len;
	char *text;

	if (f->len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	len = f->len - sizeof(head);
	if (head.which >= GT_KERNEL_TEXTS || len >= GT_KERNEL_TEXT_MAX)
		return -EBADMSG;
	memset(r.v, 0xff, sizeof(r.v));
	r.name = head.name;
	kernel = kernel_of(t, &r, rp_place_any(&t->said->places, file->source.group, head.agent),
			   file->uid);
	text = kernel == GT_NONE32 ? NULL : malloc(len + 1);
	count(file, text ? NULL : "without_kernel");
	if (!text)
		return 0;
	for (size_t i = 0; i < len; i++) {
		char c = (char)data[sizeof(head) + i];

		text[i] = (c < ' ' && c != '\n') || c >= 0x7f ? '?' : c;
	}
	text[len] = '\0';
	t->p->host->kernel_text(t->p, kernel, (enum gt_kernel_text)head.which, text);
	if (head.which == GT_KT_HOTSPOTS_STATS)
		rp_job_hotspots(file, text);
	free(text);
	file->rows++;
	return 0;
}

static int take_at(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);

	if (f->len != sizeof(file->source.at))
		return -EBADMSG;
	memcpy(file->source.at, data, f->len);
	return 0;
}

static int take_agent(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);
	uint16_t group = file->source.group;
	struct rp_agent a;

	if (f->len != sizeof(a) || data[offsetof(struct rp_agent, gpu)] > 1)
		return -EBADMSG;
	count(file, NULL);
	memcpy(&a, data, sizeof(a));
	t->said->devices[group] = true;
	rp_place_agent(&t->said->places, group, &a);
	return 0;
}

/* Bytes of a file in a sentence must not do anything to a terminal. */
static void sentence(char *out, size_t len, const uint8_t *data, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < len - 1; i++)
		out[i] = data[i] < ' ' || data[i] >= 0x7f ? '?' : (char)data[i];
	out[i] = '\0';
}

static int take_fault(struct rp_emitter *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);
	struct rp_where where;

	if (f->len < sizeof(where))
		return -EBADMSG;
	memcpy(&where, data, sizeof(where));
	if (where.place >= GT_PLACES)
		return -EBADMSG;
	file->faults++;
	gt_file_damaged(&file->count, (enum gt_place)where.place, where.at);
	if (f->kind == RP_FAIL)
		file->state = "refused";
	if (f->len == sizeof(where) || (f->kind == RP_FAULT && *file->error))
		return 0;
	sentence(file->error, sizeof(file->error), data + sizeof(where), f->len - sizeof(where));
	rp_files_error(t->p, t->files, EBADMSG, file->path, file->error);
	return 0;
}

int rp_emit_frame(struct rp_emitter *t, struct rp_said *said, const struct rp_frame *f,
		  const uint8_t *data)
{
	if (f->file >= said->nindex)
		return -EBADMSG;
	t->said = said;
	switch (f->kind) {
	case RP_AGENT:
		return take_agent(t, f, data);
	case RP_NAME:
		return take_name(t, f, data);
	case RP_ROW:
		return take_row(t, f, data);
	case RP_TEXT:
		return take_text(t, f, data);
	case RP_AT:
		return take_at(t, f, data);
	case RP_FAULT:
	case RP_FAIL:
		return take_fault(t, f, data);
	case RP_TABLE:
		sentence(file_of(t, f->file)->table, sizeof(file_of(t, f->file)->table), data,
			 f->len);
		return 0;
	default:
		return 0;
	}
}

uint64_t rp_emitter_position(const struct rp_emitter *t)
{
	return t->pos;
}

void rp_emitter_detail(const struct rp_emitter *t, struct gt_details *d)
{
	gt_detail(d, "duplicates %llu\nwithout_room %llu\n", (unsigned long long)t->duplicates,
		  (unsigned long long)t->refused);
	gt_detail(d, "agents_refused %llu\nqueues_refused %llu\n",
		  (unsigned long long)t->agents_refused, (unsigned long long)t->queues.refused);
}

static void forget_pids(struct rp_emitter *t)
{
	for (unsigned int i = 0; i < RP_PIDS; i++)
		t->pid[i].pid = GT_NONE32;
}

struct rp_emitter *rp_emitter_new(struct gt_plugin *p, struct rp_files *files)
{
	struct rp_emitter *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->p = p;
	t->files = files;
	forget_pids(t);
	return t;
}

void rp_emitter_free(struct rp_emitter *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->ncalls; i++)
		free(t->call[i].name);
	for (unsigned int i = 0; i < t->nmemory; i++)
		free(t->memory[i].name);
	free(t->dedup);
	free(t->queues.queue);
	free(t);
}

/*
 * Handles of queues mean nothing beyond their run. When a reading of @uid's begins, the queues of that user's
 * earlier ones make room if they are many, and the oldest of all users if all are.
 */
static void forget_queues(struct rp_queues *q, uint32_t uid)
{
	unsigned int most = (uid ? RP_QUEUES / RP_SHARE : RP_QUEUES) / 2, theirs = 0, n = 0;
	unsigned int oldest = q->n > RP_QUEUES / 4 * 3 ? q->n / 2 : 0;

	for (unsigned int i = 0; i < q->n; i++)
		theirs += q->queue[i].uid == uid;
	for (unsigned int i = oldest; i < q->n; i++)
		if (theirs <= most || q->queue[i].uid != uid)
			q->queue[n++] = q->queue[i];
	q->n = n;
	q->last = 0;
}

struct rp_said *rp_said_new(struct rp_emitter *t, const uint16_t *index, unsigned int n)
{
	struct rp_said *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->index = index;
	s->nindex = n;
	s->places.p = t->p;
	s->places.refused = &t->agents_refused;
	s->places.uid = n ? t->files->file[index[0]].uid : GT_NONE32;
	s->name = calloc(RP_NAMES, sizeof(*s->name));
	s->devices = calloc(RP_GROUPS, sizeof(*s->devices));
	if (!s->name || !s->devices) {
		rp_said_free(s);
		return NULL;
	}
	for (unsigned int i = 0; i < n; i++)
		rp_job_asks(t->p, t->files, &t->files->file[index[i]]);
	forget_pids(t);
	forget_queues(&t->queues, s->places.uid);
	return s;
}

void rp_said_free(struct rp_said *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->name && i < s->names; i++) {
		free(s->name[i].text);
		free(s->name[i].slot);
	}
	free(s->name);
	free(s->devices);
	free(s);
}
