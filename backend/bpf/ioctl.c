/* SPDX-License-Identifier: GPL-2.0 */
/* ioctls on GPU devices, and the queues that they make, as bpf/ioctl.bpf.c saw them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ioctl.h"
#include "bpf/ioctl.skel.h"

static void gi_ended(struct gi *gi, struct gi_queue *q, uint64_t ts);
static void gi_found(struct gi *gi, const struct gt_bpf_queue *r);

/*
 * The compute driver's own list of queues, class/kfd/kfd/proc/PID/queues/NUMBER/{gpuid,size,type}
 * of sysfs (drivers/gpu/drm/amd/amdkfd/kfd_process.c, Linux 6.12). It lists those that were made
 * before the daemon came, and which have ended while nothing was reported.
 */

/* enum kfd_queue_type, which is not what CREATE_QUEUE takes */
enum { LIST_COMPUTE = 0, LIST_SDMA = 1, LIST_SDMA_XGMI = 4, LIST_SDMA_BY_ENG_ID = 5 };

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

/* A name that is all digits; 0: another, or more than @max */
static uint32_t number_of(const char *name, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	return *name < '0' || *name > '9' || *end || n > max ? 0 : (uint32_t)n;
}

static bool is_number(const char *name)
{
	return !strcmp(name, "0") || number_of(name, UINT32_MAX - 1);
}

static bool read_number(const char *dir, const char *name, uint64_t *out)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	ok = f && fscanf(f, "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return ok;
}

/* The real user, by a call; GT_NONE32: the process has gone */
static uint32_t uid_of(uint32_t pid)
{
	uint32_t uid = GT_NONE32;
	char path[32], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && uid == GT_NONE32 && fgets(line, sizeof(line), f))
		sscanf(line, "Uid: %" SCNu32, &uid);
	if (f)
		fclose(f);
	return uid;
}

/* What is known of a queue with the files in @dir; false: nothing, as it has gone */
static bool read_queue(const char *dir, struct gt_bpf_queue *r)
{
	uint64_t gpu, type, size;

	if (!read_number(dir, "gpuid", &gpu) || gpu >= GT_NONE32 ||
	    !read_number(dir, "type", &type) || !read_number(dir, "size", &size))
		return false;
	r->kfd_id = (uint32_t)gpu;
	r->size = size < GT_NONE32 ? (uint32_t)size : GT_NONE32;
	if (type == LIST_COMPUTE) {
		r->kind = GT_QUEUE_COMPUTE;
		r->engine = GT_ENGINE_COMPUTE;
	} else if (type == LIST_SDMA || type == LIST_SDMA_XGMI || type == LIST_SDMA_BY_ENG_ID) {
		r->kind = GT_QUEUE_SDMA;
		r->engine = GT_ENGINE_COPY;
	}
	return true;
}

/* Those of process r->pid, in @dir; false: it is not known which there are */
static bool look_process(struct gi *gi, const char *dir, struct gt_bpf_queue *r)
{
	char path[PATH_MAX];
	struct gi_queue *q;
	struct dirent *e;
	AUTO_DIR list = opendir(dir);

	if (!list)
		return errno == ENOENT;
	while ((e = readdir(list))) {
		if (!is_number(e->d_name) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
			continue;
		r->id = (uint32_t)strtoul(e->d_name, NULL, 10);
		q = gi_queue_find(&gi->queues, r->device, r->owner, r->id);
		if (q)
			q->listed = true;
		else if (read_queue(path, r))
			gi_found(gi, r);
	}
	return true;
}

static bool look_all_queues(struct gi *gi, const char *dir, struct gt_bpf_queue *r)
{
	char path[PATH_MAX];
	AUTO_DIR list = opendir(dir);
	struct dirent *e;
	bool all = list;

	while (list && (e = readdir(list))) {
		struct gt_bpf_queue own = *r;

		own.pid = number_of(e->d_name, INT32_MAX);
		own.owner = own.pid;
		if (!own.pid || snprintf(path, sizeof(path), "%s/%s/queues", dir, e->d_name) >=
					(int)sizeof(path))
			continue;
		own.gen = gi->owner(gi, own.pid, true);
		own.uid = uid_of(own.pid);
		if (own.uid != GT_NONE32)
			all &= look_process(gi, path, &own);
	}
	return all;
}

void gi_kfd_look(struct gi *gi, const char *sysfs, uint64_t ts)
{
	int slot = gi_devices_slot(&gi->devices, GT_IOCTL_KFD);
	char dir[PATH_MAX];
	struct gt_bpf_queue r;

	if (slot < 0 ||
	    snprintf(dir, sizeof(dir), "%s/class/kfd/kfd/proc", sysfs) >= (int)sizeof(dir))
		return;
	for (uint32_t i = 0; i < gi->queues.used; i++)
		gi->queues.q[i].listed = false;
	memset(&r, 0xff, sizeof(r));
	r.ts = ts;
	r.what = GT_IQ_CREATE;
	r.device = (uint16_t)slot;
	if (!look_all_queues(gi, dir, &r))
		return;
	for (uint32_t i = 0; i < gi->queues.used; i++) {
		struct gi_queue *q = &gi->queues.q[i];

		if (q->used && !q->listed && q->slot == (uint32_t)slot)
			gi_ended(gi, q, ts);
	}
}

/*
 * Queues that ioctls make. A driver numbers them within a process, or an opened device; below
 * queues/ they get numbers that no other has now, and which are used again, so that one who makes
 * and ends queues without end takes no more room than those that live.
 */

#define HEADS_BITS 12

static uint32_t *head_of(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	uint64_t h = (owner ^ qs->salt[0]) * qs->salt[1];

	h = (h ^ h >> 32 ^ ((uint64_t)slot << 32 | number)) * qs->salt[1];
	return &qs->head[h >> (64 - HEADS_BITS)];
}

static uint32_t bucket(const struct gi_queues *qs, uint64_t key)
{
	uint64_t h = (key ^ qs->salt[0]) * qs->salt[1];

	return (uint32_t)((h ^ h >> 32) * qs->salt[1] >> (64 - HEADS_BITS));
}

static uint64_t key_of(const struct gi_queue *q, enum gi_list list)
{
	return list == GI_BY_PID ? q->pid : q->owner;
}

static void enlist(struct gi_queues *qs, struct gi_queue *q, enum gi_list list)
{
	uint32_t *first = &qs->list[list][bucket(qs, key_of(q, list))], i = gi_queue_id(qs, q);

	q->in[list].prev = 0;
	q->in[list].next = *first;
	if (*first)
		qs->q[*first - 1].in[list].prev = i;
	*first = i;
}

static void delist(struct gi_queues *qs, const struct gi_queue *q, enum gi_list list)
{
	uint32_t prev = q->in[list].prev, next = q->in[list].next;

	if (prev)
		qs->q[prev - 1].in[list].next = next;
	else
		qs->list[list][bucket(qs, key_of(q, list))] = next;
	if (next)
		qs->q[next - 1].in[list].prev = prev;
}

struct gi_queue *gi_queue_first(const struct gi_queues *qs, enum gi_list list, uint64_t key)
{
	uint32_t i = qs->list[list][bucket(qs, key)];

	return i ? &qs->q[i - 1] : NULL;
}

struct gi_queue *gi_queue_next(const struct gi_queues *qs, enum gi_list list,
			       const struct gi_queue *q)
{
	uint32_t i = q->in[list].next;

	return i ? &qs->q[i - 1] : NULL;
}

int gi_queues_init(struct gi_queues *qs)
{
	static_assert(sizeof(qs->head) == sizeof(uint32_t) << HEADS_BITS, "a head for each hash");

	qs->q = calloc(GI_QUEUES, sizeof(*qs->q));
	if (getrandom(qs->salt, sizeof(qs->salt), GRND_NONBLOCK) < 0)
		qs->salt[0] = qs->salt[1] = (uintptr_t)qs->q * 0x9e3779b97f4a7c15ULL;
	qs->salt[1] |= 1; /* a factor */
	return qs->q ? 0 : -ENOMEM;
}

void gi_queues_free(struct gi_queues *qs)
{
	free(qs->q);
	qs->q = NULL;
}

struct gi_queue *gi_queue_find(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	for (uint32_t i = *head_of(qs, slot, owner, number); i; i = qs->q[i - 1].next) {
		struct gi_queue *q = &qs->q[i - 1];

		if (q->owner == owner && q->slot == slot && q->number == number)
			return q;
	}
	return NULL;
}

/* The user's entry, or a free one; NULL: too many users have queues */
static struct gi_user *user_of(struct gi_queues *qs, uint32_t uid)
{
	struct gi_user *free_one = NULL;

	for (unsigned int i = 0; i < GI_USERS; i++) {
		struct gi_user *u = &qs->user[i];

		if (u->queues && u->uid == uid)
			return u;
		if (!u->queues && !free_one)
			free_one = u;
	}
	if (free_one)
		free_one->uid = uid;
	return free_one;
}

void gi_queue_end(struct gi_queues *qs, struct gi_queue *q)
{
	uint32_t *at = head_of(qs, q->slot, q->owner, q->number), i = gi_queue_id(qs, q);

	while (*at && *at != i)
		at = &qs->q[*at - 1].next;
	if (*at)
		*at = q->next;
	for (enum gi_list l = 0; l < GI_LISTS; l++)
		delist(qs, q, l);
	user_of(qs, q->uid)->queues--;
	*q = (struct gi_queue){ .next = qs->free };
	qs->free = i;
}

static struct gi_queue *take(struct gi_queues *qs)
{
	struct gi_queue *q;

	if (!qs->free)
		return qs->used < GI_QUEUES ? &qs->q[qs->used++] : NULL;
	q = &qs->q[qs->free - 1];
	qs->free = q->next;
	return q;
}

struct gi_queue *gi_queue_new(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number,
			      uint32_t pid, uint32_t uid)
{
	uint32_t *head = head_of(qs, slot, owner, number);
	struct gi_user *user = user_of(qs, uid);
	struct gi_queue *q;

	if (!user || (uid && user->queues == GI_USER_QUEUES))
		return NULL;
	q = take(qs);
	if (!q)
		return NULL;
	user->queues++;
	*q = (struct gi_queue){ .owner = owner,
				.slot = slot,
				.number = number,
				.pid = pid,
				.uid = uid,
				.gpu = GT_NONE16,
				.used = true,
				.next = *head };
	*head = gi_queue_id(qs, q);
	for (enum gi_list l = 0; l < GI_LISTS; l++)
		enlist(qs, q, l);
	return q;
}

/*
 * From what the programs report of queues to records: which queue it is, and of which GPU. Who makes
 * one says what it is, in memory that can say anything: it concerns nobody else.
 */

static void init(const struct gi *gi, const struct gi_queue *q, union gt_record *r, uint64_t ts,
		 enum gt_type type)
{
	gt_record_init(r, ts, type);
	r->ev.gpu = q->gpu;
	if (type != GT_QUEUE)
		r->ev.queue = gi_queue_id(&gi->queues, q);
}

static void event(struct gi *gi, const struct gi_queue *q, const struct gt_bpf_queue *r,
		  enum gt_type type)
{
	union gt_record out;

	init(gi, q, &out, r->ts, type);
	out.ev.cpu = r->cpu;
	out.ev.pid = r->pid;
	out.ev.tid = r->tid;
	out.ev.uid = r->uid;
	if (type == GT_QUEUE_CREATE) {
		out.ev.ctx = r->base; /* by which its runtime knows it */
		out.ev.flags = q->found ? GT_F_INFERRED : 0;
	}
	gb_out(gi->b, &out);
}

/** gi_made() - emits @q, which is new, or else of what is now known of it */
static void gi_made(struct gi *gi, const struct gi_queue *q, const struct gt_bpf_queue *r,
		    bool is_new)
{
	union gt_record out;

	/* the event first: by it the model knows that the number is another queue's now */
	if (is_new)
		event(gi, q, r, GT_QUEUE_CREATE);
	init(gi, q, &out, r->ts, GT_QUEUE);
	out.queue.cpu = r->cpu;
	out.queue.queue = gi_queue_id(&gi->queues, q);
	out.queue.pid = q->pid;
	out.queue.uid = q->uid;
	out.queue.ctx = r->base;
	out.queue.kind = r->kind == UINT8_MAX ? GT_NONE16 : r->kind;
	out.queue.engine = r->engine == UINT8_MAX ? GT_NONE16 : r->engine;
	out.queue.priority = r->priority;
	out.queue.size = r->size == GT_NONE32 ? GT_NONE64 : r->size;
	gb_out(gi->b, &out);
}

/* Without the process: it may have ended, and must not be made anew. */
static void gi_ended(struct gi *gi, struct gi_queue *q, uint64_t ts)
{
	union gt_record out;

	init(gi, q, &out, ts, GT_QUEUE_DESTROY);
	out.ev.flags = GT_F_INFERRED;
	gb_out(gi->b, &out);
	gi_queue_end(&gi->queues, q);
}

static bool alive(struct gi *gi, const struct gi_queue *q)
{
	if (q->gen)
		return gi->owner(gi, q->pid, false) == q->gen;
	return !kill((pid_t)q->pid, 0) || errno != ESRCH;
}

void gi_sweep(struct gi *gi, uint64_t ts)
{
	gi->swept = ts;
	for (uint32_t i = 0; i < gi->queues.used; i++) {
		struct gi_queue *q = &gi->queues.q[i];

		if (q->used && !alive(gi, q))
			gi_ended(gi, q, ts);
	}
}

/* A process's of KFD are its own; those of a file are the file's, and of who made them. */
static bool ends(const struct gi_queue *q, const struct gt_bpf_queue *r)
{
	if (r->what == GT_IQ_CLOSE)
		return q->owner == r->owner;
	return q->pid == r->pid && (r->what == GT_IQ_EXIT || q->owner == r->pid);
}

static void end_all(struct gi *gi, const struct gt_bpf_queue *r)
{
	enum gi_list list = r->what == GT_IQ_CLOSE ? GI_BY_OWNER : GI_BY_PID;
	struct gi_queue *q, *next;

	q = gi_queue_first(&gi->queues, list, r->what == GT_IQ_CLOSE ? r->owner : r->pid);
	for (; q; q = next) {
		next = gi_queue_next(&gi->queues, list, q);
		if (ends(q, r))
			gi_ended(gi, q, r->ts);
	}
}

/* NULL also if it is that of an earlier process with this id and an end that was missed */
static struct gi_queue *find(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = gi_queue_find(&gi->queues, r->device, r->owner, r->id);

	if (!q || !q->gen || !r->gen || q->gen == r->gen || q->pid != r->pid)
		return q;
	gi_ended(gi, q, r->ts);
	return NULL;
}

static uint32_t gen_of(const struct gt_bpf_queue *r)
{
	return r->gen == GT_NONE32 ? 0 : r->gen;
}

static struct gi_queue *make(struct gi *gi, const struct gt_bpf_queue *r, uint16_t gpu)
{
	struct gi_queue *q = gi_queue_new(&gi->queues, r->device, r->owner, r->id, r->pid, r->uid);

	if (!q && r->ts - gi->swept >= GI_SWEEP_NS) {
		gi_sweep(gi, r->ts);
		q = gi_queue_new(&gi->queues, r->device, r->owner, r->id, r->pid, r->uid);
	}
	if (!q) {
		gi->queues.refused++;
		return NULL;
	}
	q->gen = gen_of(r);
	q->gpu = gpu;
	return q;
}

/* A new one; NULL: nobody knows its GPU, or there is no room */
static struct gi_queue *enter(struct gi *gi, const struct gt_bpf_queue *r)
{
	uint16_t gpu;

	if (!gi_devices_gpu(&gi->devices, r->device, &gpu) || gpu == GT_NONE16)
		gpu = gi_devices_kfd(&gi->devices, r->kfd_id);
	if (gpu != GT_NONE16)
		return make(gi, r, gpu);
	gi->unknown_queues++;
	return NULL;
}

static void created(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = find(gi, r);

	if (q && q->found) { /* it was found in the kernel's list, before this record came */
		q->found = false;
		q->gen = gen_of(r);
		gi_made(gi, q, r, false);
		return;
	}
	if (q) /* the end of the queue with this number was missed */
		gi_ended(gi, q, r->ts);
	q = enter(gi, r);
	if (q)
		gi_made(gi, q, r, true);
}

/** gi_found() - a queue of the kernel's list is not known */
static void gi_found(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = enter(gi, r);

	if (!q)
		return;
	q->found = q->listed = true;
	gi_made(gi, q, r, true);
}

static void changed(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = find(gi, r);

	if (!q) {
		gi->unknown_queues++;
		return;
	}
	if (r->what == GT_IQ_UPDATE) {
		gi_made(gi, q, r, false);
		event(gi, q, r, r->runs ? GT_QUEUE_SCHEDULE : GT_QUEUE_UNMAP);
		return;
	}
	event(gi, q, r, GT_QUEUE_DESTROY);
	gi_queue_end(&gi->queues, q);
}

void gi_queue_reported(struct gi *gi, const struct gt_bpf_queue *r)
{
	switch (r->what) {
	case GT_IQ_CREATE:
		created(gi, r);
		break;
	case GT_IQ_UPDATE:
	case GT_IQ_DESTROY:
		changed(gi, r);
		break;
	case GT_IQ_EXEC:
	case GT_IQ_EXIT:
	case GT_IQ_CLOSE:
		end_all(gi, r);
		break;
	}
}

enum { EXEC, EXIT }; /* gi.end */

/* Where the DRM core is there are functions, which may do without the tracepoints. */
static int probe(struct gb *b, char *err, size_t len)
{
	int ret = gb_tracefs(b, "ioctl", err, len);

	return ret && access("/sys/class/drm", F_OK) ? ret : 0;
}

static void stop(struct gb *b)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	for (int i = 0; i < 2; i++)
		bpf_link__destroy(gi->end[i]);
	gi_ways_end(gi);
	ioctl_bpf__destroy(gi->skel);
	gi_queues_free(&gi->queues);
	free(gi);
	b->priv[GT_BPF_IOCTL] = NULL;
}

/* What the commands of all drivers do, for the program to choose by */
static int emit_commands(int fd)
{
	int ret = 0;

	for (uint32_t i = 0; i < GT_IOCTL_DRIVERS << 8 && !ret; i++) {
		uint32_t bit = 1u << gt_ioctl_what((enum gt_ioctl_driver)(i >> 8), i & 255);

		ret = bpf_map_update_elem(fd, &i, &bit, BPF_ANY);
	}
	return ret;
}

/* A function that makes a queue may be traced, too; the ioctl knows which queue it is. */
static void claim_queues(struct gi *gi)
{
	struct gt_plugin *p = gi->devices.b->p;
	const struct gi_way *w = &gi->way[GT_IOCTL_KFD];

	if (p->host->claim)
		p->host->claim(p, GT_CLAIM_KFD_QUEUES, w->how && w->how != GI_BLIND ? 2 : -1);
}

/* Queues with an end that nobody reports from now on */
static void forget_owners(const struct gi *gi)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_owners);
	uint32_t pid, none = 0;

	while (!bpf_map_get_next_key(fd, NULL, &pid) && !bpf_map_delete_elem(fd, &pid))
		;
	fd = bpf_map__fd(gi->skel->maps.gt_shares);
	for (uint32_t i = 0; i < GT_BPF_SHARES; i++)
		bpf_map_update_elem(fd, &i, &none, BPF_ANY);
}

static void attach_ends(struct gi *gi)
{
	struct bpf_program *const at[] = { [EXEC] = gi->skel->progs.gt_ioctl_exec,
					   [EXIT] = gi->skel->progs.gt_ioctl_exit_process };
	bool had = gi->end[EXIT];
	bool wanted = gi_devices_made(&gi->devices, GT_IOCTL_BY_KFD) ||
		      gi_devices_made(&gi->devices, GT_IOCTL_BY_AMDGPU);

	for (int i = 0; i < 2; i++) {
		if (wanted && !gi->end[i])
			gi->end[i] = bpf_program__attach(at[i]);
		if (wanted)
			continue;
		bpf_link__destroy(gi->end[i]);
		gi->end[i] = NULL;
	}
	if (had && !gi->end[EXIT])
		forget_owners(gi);
}

/* A kind's calls are seen in one place before any of its devices is known to the programs. */
static void look_all(struct gi *gi)
{
	uint32_t functions;

	gi_devices_look(&gi->devices);
	attach_ends(gi);
	gi_files_look(gi);
	functions = gi_ways_look(gi);
	claim_queues(gi);
	gi_devices_emit(&gi->devices, functions);
}

static int open_all(struct gb *b, struct gi *gi, char *err, size_t len)
{
	const char *why;
	int ret = gi_queues_init(&gi->queues);

	gi->skel = ioctl_bpf__open();
	if (!gi->skel || ret)
		return gb_sentence(err, len, ENOMEM, "no memory");
	gi->skel->rodata->gt_o_path = b->o->o_path;
	ret = gb_object_load(b, gi->skel->obj, "ioctls", err, len);
	if (ret)
		return ret;
	ret = emit_commands(bpf_map__fd(gi->skel->maps.gt_what));
	if (ret)
		return gb_sentence(err, len, -ret, "a BPF map cannot be written: %s",
				   strerror(-ret));
	gi->devices.b = b;
	gi->devices.fd = bpf_map__fd(gi->skel->maps.gt_devices);
	gi->devices.config_fd = bpf_map__fd(gi->skel->maps.gt_config);
	look_all(gi);
	return gi_ways_blind(gi, &why) ? gb_sentence(err, len, EOPNOTSUPP, "%s", why) : 0;
}

static uint32_t owner(struct gi *gi, uint32_t pid, bool make)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_owners);
	struct gt_bpf_owner o = { 0, GT_NONE32 };

	if (!bpf_map_lookup_elem(fd, &pid, &o) || !make || !gi->end[EXIT])
		return o.gen;
	o.gen = ++gi->last_gen << 1 | 1; /* as the programs': odd */
	if (bpf_map_update_elem(fd, &pid, &o, BPF_NOEXIST))
		return 0;
	if (!kill((pid_t)pid, 0) || errno != ESRCH)
		return o.gen;
	bpf_map_delete_elem(fd, &pid); /* gone meanwhile: nobody else does */
	return 0;
}

/* With the next drain: who has ended, and which queues there are */
static void sweep_soon(struct gi *gi)
{
	gi->sweep = true;
	gi->swept = 0;
	gi->b->p->host->timer(gi->b->p, GB_SLACK_NS);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct gi *gi = calloc(1, sizeof(*gi));
	int ret;

	if (!gi)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_IOCTL] = gi;
	gi->b = b;
	gi->owner = owner;
	ret = open_all(b, gi, err, len);
	if (ret)
		stop(b);
	else
		sweep_soon(gi);
	return ret;
}

static int look(struct gb *b, char *err, size_t len)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	look_all(gi);
	sweep_soon(gi); /* nothing was reported in a pause */
	return 0;
}

static bool record(struct gb *b, union gt_record *r)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];
	struct gt_bpf_queue q;

	switch (r->ev.type) {
	case GT_PROCESS:
		return true;
	case GT_QUEUE:
		memcpy(&q, r, sizeof(q));
		if (!gi->end[EXIT])
			q.gen = 0; /* nobody takes the number back */
		gi_queue_reported(gi, &q);
		return false;
	default:
		return gi_devices_gpu(&gi->devices, r->ev.gpu, &r->ev.gpu);
	}
}

/* What was lost may have been an end. */
static void lost(struct gb *b, const struct gt_lost *l)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	gi->sweep = true;
}

static void counts_of(const struct gi *gi, struct gt_ioctl_count *sum)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_ioctl_counts), cpus = libbpf_num_possible_cpus();
	gb_auto_free struct gt_ioctl_count *c = cpus > 0 ? calloc((size_t)cpus, sizeof(*c)) : NULL;

	*sum = (struct gt_ioctl_count){ 0 };
	if (!c || bpf_map_lookup_elem(fd, &(uint32_t){ 0 }, c))
		return;
	for (int i = 0; i < cpus; i++) {
		sum->strange += c[i].strange;
		sum->unwanted += c[i].unwanted;
		sum->full += c[i].full;
		sum->unreadable += c[i].unreadable;
		sum->unended += c[i].unended;
		sum->owners_full += c[i].owners_full;
	}
}

/* A call without a reported end may have made a queue, or ended one. */
static bool more_unended(struct gi *gi)
{
	struct gt_ioctl_count c;
	uint64_t was = gi->unended;

	counts_of(gi, &c);
	gi->unended = c.unended;
	return c.unended > was;
}

static uint64_t missed(const struct gi *gi)
{
	uint64_t n = gb_missed(gi->skel->obj);

	for (unsigned int i = 0; i < GT_IOCTL_KINDS; i++)
		if (gi->way[i].own)
			n += gb_missed(gi->way[i].own->obj);
	return n;
}

/* Likewise one that the kernel kept from the programs. */
static bool more_missed(struct gi *gi, uint64_t now)
{
	uint64_t was = gi->missed;

	if (now - gi->asked < GI_SWEEP_NS)
		return false;
	gi->asked = now;
	gi->missed = missed(gi);
	return gi->missed != was;
}

static void round_done(struct gb *b, uint64_t until)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	gi->sweep |= more_unended(gi);
	gi->sweep |= more_missed(gi, until);
	if (!gi->sweep)
		return;
	if (until - gi->swept < GI_SWEEP_NS) {
		b->p->host->timer(b->p, GI_SWEEP_NS);
		return;
	}
	gi->sweep = false;
	gi_sweep(gi, until);
	gi_kfd_look(gi, *b->o->sysfs ? b->o->sysfs : "/sys", until);
}

static void doctor(struct gb *b, struct gt_details *t)
{
	const struct gi *gi = b->priv[GT_BPF_IOCTL];
	unsigned int here = 0;
	struct gt_ioctl_count c;

	for (unsigned int i = 0; i < gi->devices.n; i++)
		here += gi->devices.dev[i].here && !gi->devices.dev[i].kfd_id;
	counts_of(gi, &c);
	gi_ways_doctor(gi, t);
	gt_detail(t, "ioctl_devices %u\n", here);
	gt_detail(t, "ioctl_devices_refused %" PRIu64 "\n", gi->devices.refused);
	gt_detail(t, "ioctl_no_gpu %" PRIu64 "\n", c.strange);
	gt_detail(t, "ioctl_unwanted %" PRIu64 "\n", c.unwanted);
	gt_detail(t, "ioctl_table_full %" PRIu64 "\n", c.full);
	gt_detail(t, "ioctl_unreadable %" PRIu64 "\n", c.unreadable);
	gt_detail(t, "ioctl_exits_missing %" PRIu64 "\n", c.unended);
	gt_detail(t, "ioctl_missed %" PRIu64 "\n", missed(gi));
	gt_detail(t, "ioctl_unknown_queues %" PRIu64 "\n", gi->unknown_queues);
	gt_detail(t, "ioctl_queues_refused %" PRIu64 "\n", gi->queues.refused);
	gt_detail(t, "ioctl_owners_refused %" PRIu64 "\n", c.owners_full);
}

const struct gb_part gb_ioctl = {
	.name = "ioctl",
	.parks = true,
	.probe = probe,
	.start = start,
	.stop = stop,
	.record = record,
	.lost = lost,
	.round = round_done,
	.look = look,
	.doctor = doctor,
};
