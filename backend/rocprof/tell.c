/* SPDX-License-Identifier: GPL-2.0 */
/* What the child tells becomes records, kernels and counters; nothing of it is believed unchecked.
 */
#include "tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../whose.h"

static void flush(struct rp_teller *t)
{
	if (t->batched)
		t->p->host->push(t->p, t->batch, t->batched);
	t->batched = 0;
}

void rp_tell_flush(struct rp_teller *t)
{
	flush(t);
}

static void add(struct rp_teller *t, const union gt_record *r)
{
	if (t->batched == RP_BATCH)
		flush(t);
	if (r->ev.ts > t->pos)
		t->pos = r->ev.ts;
	t->batch[t->batched++] = *r;
}

static struct rp_file *file_of(struct rp_teller *t, uint16_t i)
{
	return &t->files->file[t->index ? t->index[i] : i];
}

/* Times of results count from the boot, sleep included */
static uint64_t when(struct rp_teller *t, uint64_t ts)
{
	if (t->p->recording)
		return ts;
	return t->p->host->monotonic(t->p, GT_CLOCK_ID_BOOTTIME, ts, NULL);
}

static uint32_t pid_of(struct rp_teller *t, const struct rp_row *r, uint32_t uid)
{
	if (t->p->recording || r->pid == GT_NONE32)
		return r->pid;
	if (t->pid.pid != r->pid || t->pid.uid != uid) {
		t->pid.pid = r->pid;
		t->pid.uid = uid;
		t->pid.there = gt_whose(r->pid, uid, r->start) == GT_WHOSE_THEIRS;
	}
	return t->pid.there ? r->pid : GT_NONE32;
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
static int take_name(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_told_name *n;
	struct rp_name head;
	const struct rp_file *file = file_of(t, f->file);

	if (f->len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.id != t->names || t->names == RP_NAMES ||
	    f->len - sizeof(head) > GT_KERNEL_NAME_MAX)
		return -EBADMSG;
	n = &t->name[t->names++];
	n->len = f->len - sizeof(head);
	n->hash = head.hash;
	n->call = GT_NONE16;
	if (t->bytes + n->len > RP_NAME_BYTES)
		return 0; /* what is called so is counted as refused */
	n->text = malloc(n->len + 1);
	if (!n->text)
		return 0;
	memcpy(n->text, data + sizeof(head), n->len);
	n->text[n->len] = '\0';
	n->launches = launches(n->text);
	n->meant = file->means && strstr(n->text, file->means);
	t->bytes += n->len;
	return 0;
}

static struct rp_told_name *name_of(struct rp_teller *t, uint32_t id)
{
	return id < t->names && t->name[id].text ? &t->name[id] : NULL;
}

/* Kernels ----------------------------------------------------------------------------------------
 */

static struct rp_slot *slot_of(struct rp_told_name *n, uint16_t gpu, uint32_t uid)
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
static uint32_t kernel_of(struct rp_teller *t, const struct rp_row *r, uint16_t gpu, uint32_t uid)
{
	struct rp_told_name *n = name_of(t, r->name);
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
	if (r->queued != GT_NONE64 && r->queued <= r->start) {
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

static void event_of(struct rp_teller *t, union gt_record *rec, const struct rp_row *r,
		     enum gt_type type, uint32_t uid)
{
	gt_record_init(rec, when(t, rp_row_ts(r)), type);
	rec->ev.pid = pid_of(t, r, uid);
	rec->ev.tid = rec->ev.pid == GT_NONE32 && !t->p->recording ? GT_NONE32 : r->tid;
	rec->ev.uid = uid;
	rec->ev.seqno = r->correlation;
}

static void describe_queue(struct rp_teller *t, const struct rp_row *r, uint16_t gpu, uint32_t id,
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
	add(t, &rec);
}

static int on_dispatch(struct rp_teller *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu = rp_place_gpu(&t->places, group, r->agent);
	uint32_t kernel = kernel_of(t, r, gpu, uid), queue;
	union gt_record rec;
	bool is_new;

	if (gpu == GT_NONE16)
		return 0;
	queue = rp_place_queue(&t->places, group, gpu, r->queue, r->pid, uid, &is_new);
	if (is_new)
		describe_queue(t, r, gpu, queue, uid);
	event_of(t, &rec, r, GT_DISPATCH, uid);
	rec.ev.gpu = gpu;
	rec.ev.queue = queue;
	rec.ev.ctx = r->dispatch;
	rec.ev.value = r->end - r->start;
	rec.ev.ref = kernel == GT_NONE32 ? GT_NONE64 : kernel;
	add(t, &rec);
	return 1;
}

static int on_counter(struct rp_teller *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu = rp_place_gpu(&t->places, group, r->agent);
	uint32_t kernel = kernel_of(t, r, gpu, uid);
	struct rp_told_name *n = name_of(t, r->counter);

	if (kernel != GT_NONE32 && n)
		t->p->host->counter(t->p, kernel, n->text, r->value);
	return 0;
}

static int on_copy(struct rp_teller *t, const struct rp_row *r, uint16_t group, uint32_t uid)
{
	uint16_t gpu =
		r->agent == GT_NONE64 ? GT_NONE16 : rp_place_gpu(&t->places, group, r->agent);
	union gt_record rec;

	/* Without a table of devices the host's side would be taken for a GPU */
	if (!t->devices[group] && name_of(t, r->name))
		gpu = rp_place_gpu(&t->places, group,
				   strstr(name_of(t, r->name)->text, "DEVICE_TO_HOST") ? r->from
										       : r->agent);
	else if (gpu == GT_NONE16 && r->from != GT_NONE64)
		gpu = rp_place_gpu(&t->places, group, r->from);
	event_of(t, &rec, r, GT_COPY, uid);
	rec.ev.gpu = gpu;
	rec.ev.value = r->bytes;
	rec.ev.ref = r->end - r->start;
	add(t, &rec);
	return 1;
}

static int on_api(struct rp_teller *t, const struct rp_row *r, uint32_t uid)
{
	struct rp_told_name *n = name_of(t, r->name);
	union gt_record rec;

	rp_count_call(t, n, 1, r->end - r->start, r->end - r->start, r->end - r->start);
	if (!n || !n->launches)
		return 0;
	event_of(t, &rec, r, GT_LAUNCH, uid);
	add(t, &rec);
	return 1;
}

static bool timed(const struct rp_row *r)
{
	return r->start != GT_NONE64 && r->end != GT_NONE64 && r->start <= r->end &&
	       r->end < INT64_MAX;
}

static int take_row(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);
	uint16_t group = file->source.group;
	struct rp_row r;

	if (f->len != sizeof(r))
		return -EBADMSG;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= RP_ROW_KINDS)
		return -EBADMSG;
	if ((r.kind == RP_DISPATCH || r.kind == RP_API || r.kind == RP_COPY) && !timed(&r))
		return -EBADMSG;
	file->rows++;
	switch (r.kind) {
	case RP_DISPATCH:
		file->matched += name_of(t, r.name) && name_of(t, r.name)->meant;
		return on_dispatch(t, &r, group, file->uid);
	case RP_COUNTER:
		return on_counter(t, &r, group, file->uid);
	case RP_COPY:
		return on_copy(t, &r, group, file->uid);
	case RP_API:
		return on_api(t, &r, file->uid);
	case RP_STAT:
		kernel_of(t, &r, rp_place_gpu(&t->places, group, r.agent), file->uid);
		return 0;
	case RP_CALLS:
		rp_count_call(t, name_of(t, r.name), r.bytes, r.total, r.min, r.max);
		return 0;
	default:
		rp_count_memory(t, &r, rp_place_gpu(&t->places, group, r.agent));
		return 0;
	}
}

/* Lines of printable letters, whatever came */
static int take_text(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
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
	kernel = kernel_of(t, &r, rp_place_any(&t->places, file->source.group, head.agent),
			   file->uid);
	text = kernel == GT_NONE32 ? NULL : malloc(len + 1);
	if (!text)
		return 0;
	for (size_t i = 0; i < len; i++) {
		char c = (char)data[sizeof(head) + i];

		text[i] = (c < ' ' && c != '\n') || c >= 0x7f ? '?' : c;
	}
	text[len] = '\0';
	t->p->host->kernel_text(t->p, kernel, (enum gt_kernel_text)head.which, text);
	if (head.which == GT_KT_HOTSPOTS)
		rp_job_hotspots(file, text);
	free(text);
	file->rows++;
	return 0;
}

static int take_at(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);

	if (f->len != sizeof(file->source.at))
		return -EBADMSG;
	memcpy(file->source.at, data, f->len);
	return 0;
}

static int take_agent(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	uint16_t group = file_of(t, f->file)->source.group;
	struct rp_agent a;

	if (f->len != sizeof(a) || data[offsetof(struct rp_agent, gpu)] > 1)
		return -EBADMSG;
	memcpy(&a, data, sizeof(a));
	t->devices[group] = true;
	rp_place_agent(&t->places, group, &a);
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

static int take_fault(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	struct rp_file *file = file_of(t, f->file);

	file->faults++;
	if (f->kind == RP_FAIL)
		file->state = "refused";
	if (!f->len || (f->kind == RP_FAULT && *file->error))
		return 0;
	sentence(file->error, sizeof(file->error), data, f->len);
	rp_files_error(t->p, t->files, EBADMSG, file->path, file->error);
	return 0;
}

int rp_tell(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data)
{
	if (f->file >= (t->index ? t->nindex : t->files->n))
		return -EBADMSG;
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

uint64_t rp_teller_position(const struct rp_teller *t)
{
	return t->pos;
}

struct rp_teller *rp_teller_new(struct gt_plugin *p, struct rp_files *files)
{
	struct rp_teller *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->p = t->places.p = p;
	t->files = files;
	t->name = calloc(RP_NAMES, sizeof(*t->name));
	t->devices = calloc(files->live ? GT_NONE16 : files->groups + 1u, sizeof(*t->devices));
	if (t->name && t->devices)
		return t;
	rp_teller_free(t);
	return NULL;
}

static void forget_names(struct rp_teller *t)
{
	for (uint32_t i = 0; t->name && i < t->names; i++) {
		free(t->name[i].text);
		free(t->name[i].slot);
		t->name[i] = (struct rp_told_name){ 0 };
	}
	t->names = 0;
	t->bytes = 0;
}

void rp_teller_reading(struct rp_teller *t, const uint16_t *index, unsigned int n)
{
	forget_names(t);
	t->index = index;
	t->nindex = n;
	for (unsigned int i = 0; i < n; i++)
		rp_job_asks(t->p, t->files, &t->files->file[index[i]]);
	t->pid.pid = GT_NONE32;
	memset(t->devices, 0, GT_NONE16 * sizeof(*t->devices));
	t->places.n = t->places.last = 0; /* each reading tells of its devices */
	if (t->places.nqueues > 512) {
		t->places.queue_base += t->places.nqueues;
		t->places.nqueues = t->places.last_queue = 0;
	}
}

void rp_teller_free(struct rp_teller *t)
{
	if (!t)
		return;
	forget_names(t);
	for (unsigned int i = 0; i < t->ncalls; i++)
		free(t->call[i].name);
	for (unsigned int i = 0; i < t->nmemory; i++)
		free(t->memory[i].name);
	free(t->name);
	free(t->devices);
	free(t->places.queue);
	free(t);
}
