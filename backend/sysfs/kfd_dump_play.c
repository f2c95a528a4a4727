/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays saved dumps of queues: opens the files, has a child without rights read them, as anybody may
 * have written them, and reports the queues and their places on the hardware. A dump has no time: all
 * of it is at 0. The child sends rows of one size, which are checked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/detail.h"
#include "../lib/recording.h"
#include "../lib/sandbox.h"
#include "kfd_dump.h"
#include "internal.h"

#define SF_PLAY_FILES GT_SANDBOX_FILES

/**
 * struct sf_played_file - what became of the queues and slots of a file
 * @own: the driver's own queues
 * @idle: slots without a queue
 * @blank: without the registers that say what they are
 * @no_room: beyond the limit of rows
 * @bad: lines that do not belong to a dump
 * @first_bad: number of the first of these, from 1
 * @cut: the file is longer than what is read
 */
struct sf_played_file {
	uint64_t events, used, own, idle, blank, no_room, bad, first_bad, cut;
};

/** struct sf_played - sent by the child before the @n rows; @about: of all files */
struct sf_played {
	uint64_t n, cut;
	struct sf_played_file file[SF_PLAY_FILES];
	struct sf_dump_about about;
};

/* In the child ------------------------------------------------------------------------------------ */

/** struct reading - file @f, and the rows that its queues are added to */
struct reading {
	struct sf_rows *all;
	struct sf_played_file *f;
};

static bool is_slot(const struct sf_dumped *q)
{
	return q->kind == SF_DUMP_HQD || q->kind == SF_DUMP_HQD_SDMA || q->kind == SF_DUMP_HIQ;
}

/* Adds a queue by @take, and counts what became of it. */
static void count(struct reading *r, const struct sf_dumped *q,
		  void (*take)(void *, const struct sf_dumped *))
{
	uint64_t cut = r->all->cut;
	struct sf_hw hw;

	r->f->events++;
	take(r->all, q);
	if (q->kind == SF_DUMP_HIQ || q->kind == SF_DUMP_MQD_OTHER)
		r->f->own++;
	else if (!sf_dump_hw(q, &hw))
		r->f->blank++;
	else if (is_slot(q) && !hw.active)
		r->f->idle++;
	else if (r->all->cut != cut)
		r->f->no_room++;
	else
		r->f->used++;
}

static void on_mqd(void *arg, const struct sf_dumped *q)
{
	if (!is_slot(q))
		count(arg, q, sf_rows_mqd);
}

static void on_hqd(void *arg, const struct sf_dumped *q)
{
	if (is_slot(q))
		count(arg, q, sf_rows_hqd);
}

/* Reads the beginning of a file, "" if it cannot be read. A NUL becomes "?": the text would end there.
 * True: the file is longer */
static bool read_file(int fd, char *text)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < SF_DUMP_MAX - 1 &&
	       (got = pread(fd, text + n, SF_DUMP_MAX - 1 - n, (off_t)n)) > 0)
		n += (size_t)got;
	for (char *nul = text; (nul = memchr(nul, '\0', n - (size_t)(nul - text)));)
		*nul = '?';
	text[n] = '\0';
	return got > 0;
}

/* Descriptors first, as slots refer to them. A line that belongs to no dump is counted once. */
static void read_all(unsigned int n, char *text, struct sf_rows *all, struct sf_played *head)
{
	for (unsigned int i = 0; i < n; i++) {
		struct sf_played_file *f = &head->file[i];

		f->cut = read_file(GT_SANDBOX_FIRST + (int)i, text);
		all->cut += f->cut;
		f->bad = sf_dump_parse(text, on_mqd, &(struct reading){ all, f }, &head->about);
		f->first_bad = head->about.first_bad;
	}
	for (unsigned int i = 0; i < n; i++) {
		read_file(GT_SANDBOX_FIRST + (int)i, text);
		sf_dump_parse(text, on_hqd, &(struct reading){ all, &head->file[i] }, NULL);
	}
}

static void child_main(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;
	struct sf_rows all = { .n = 0 };
	struct sf_played head = { .n = 0 };
	char *text = malloc(SF_DUMP_MAX);

	all.row = calloc(SF_ROWS, sizeof(*all.row));
	if (!text || !all.row)
		_exit(1);
	read_all(n, text, &all, &head);
	head.n = all.n;
	head.cut = all.cut;
	gt_sandbox_write(&head, sizeof(head));
	gt_sandbox_write(all.row, all.n * sizeof(*all.row));
}

/* In the daemon ----------------------------------------------------------------------------------- */

#define WAIT_NS	    1000000u
#define CPU_S	    30
#define MEMORY	    (64u << 20)
#define TIMEOUT	    120000000000u /* ns until the child is given up; its own limit is shorter */
#define RECEIVE_MAX (sizeof(struct sf_played) + SF_ROWS * sizeof(struct sf_row))

/**
 * struct play - a replay
 * @fds: the @n files that are open
 * @path: names of all @files
 * @cut: the file was unpacked, and part of it is missing
 * @received: @len bytes from the @child
 * @began: when the child was started
 * @head, @rows: the content of @received
 * @emitted: number of queues emitted
 */
struct play {
	struct gt_sandbox child;
	int fds[SF_PLAY_FILES];
	char *path[SF_PLAY_FILES];
	bool cut[SF_PLAY_FILES];
	unsigned int n, files;
	uint8_t *received;
	size_t len;
	uint64_t began;
	struct sf_played head;
	struct sf_rows rows;
	unsigned int emitted;
	bool ended;
};

bool sf_play_knows(const char *path, const uint8_t *head, size_t len)
{
	return head && sf_dump_begins((const char *)head, len);
}

int sf_play_probe(struct gt_plugin *p, const char *files)
{
	return files && *files ? 0 : p->host->error(p, ENOENT, "no dump to play");
}

static void close_files(struct play *y)
{
	while (y->n)
		close(y->fds[--y->n]);
}

void sf_play_stop(struct gt_plugin *p)
{
	struct play *y = p->priv;

	close_files(y);
	gt_sandbox_end(&y->child);
	while (y->files)
		free(y->path[--y->files]);
	free(y->received);
	free(y->rows.row);
	free(y);
	p->priv = NULL;
}

static int open_file(struct gt_plugin *p, struct play *y, const char *path)
{
	const char *damage = NULL;
	int fd = y->n == SF_PLAY_FILES ? -1 : gt_recording_open(p, path, &damage);
	struct stat st;

	if (y->n == SF_PLAY_FILES)
		return p->host->error(p, E2BIG, "more than %d files", SF_PLAY_FILES);
	if (fd < 0)
		return p->host->error(p, -fd, "%s: %s", path, strerror(-fd));
	if (damage)
		p->host->error(p, EBADMSG, "%s: %s", path, damage);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return p->host->error(p, EINVAL, "%s: is not a regular file", path);
	}
	y->fds[y->n++] = fd;
	y->cut[y->files] = damage != NULL;
	y->path[y->files] = strdup(path);
	if (!y->path[y->files])
		return -ENOMEM;
	y->files++;
	return 0;
}

static int open_files(struct gt_plugin *p, struct play *y, const char *files)
{
	char *list = strdup(files), *rest = list;
	int ret = list ? 0 : -ENOMEM;

	for (char *f = ret ? NULL : gt_path_next(&rest, ':'); f && !ret;
	     f = gt_path_next(&rest, ':'))
		ret = open_file(p, y, f);
	free(list);
	return ret;
}

static int start_child(struct gt_plugin *p, struct play *y)
{
	const struct gt_sandbox_conf c = { .fds = y->fds,
					   .n = y->n,
					   .cpu_s = CPU_S,
					   .memory = MEMORY,
					   .run = child_main,
					   .arg = &y->n };
	int ret = gt_sandbox_start(&y->child, &c);

	if (ret == -EBUSY)
		return p->host->error(p, EBUSY,
				      "the last readers hang yet: a file does not answer");
	if (ret)
		return p->host->error(p, -ret, "no process: %s", strerror(-ret));
	close_files(y);
	return 0;
}

int sf_play_start(struct gt_plugin *p, const char *files)
{
	struct play *y = calloc(1, sizeof(*y));
	int ret = y ? 0 : -ENOMEM;

	if (ret)
		return ret;
	p->priv = y;
	y->child.fd = -1;
	y->received = malloc(RECEIVE_MAX + 1);
	y->rows.row = calloc(SF_ROWS, sizeof(*y->rows.row));
	y->began = p->host->now(p);
	ret = y->received && y->rows.row ? open_files(p, y, files) : -ENOMEM;
	if (!ret)
		ret = start_child(p, y);
	if (ret)
		sf_play_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

static bool is_row(const uint8_t *row)
{
	const uint8_t *q = row + offsetof(struct sf_row, q);

	return q[offsetof(struct gt_queue_hw, sdma)] <= 1 &&
	       q[offsetof(struct gt_queue_hw, active)] <= 1;
}

/* Checks what the child sent: it has read files that anybody may have written. */
static bool take(struct play *y)
{
	if (y->len < sizeof(y->head))
		return false;
	memcpy(&y->head, y->received, sizeof(y->head));
	if (y->head.n > SF_ROWS || y->head.about.ngpus > SF_DUMP_GPUS ||
	    y->len != sizeof(y->head) + y->head.n * sizeof(struct sf_row))
		return false;
	for (size_t at = sizeof(y->head); at < y->len; at += sizeof(struct sf_row))
		if (!is_row(y->received + at))
			return false;
	y->rows.n = (unsigned int)y->head.n;
	memcpy(y->rows.row, y->received + sizeof(y->head), y->rows.n * sizeof(struct sf_row));
	for (unsigned int i = 0; i < y->rows.n; i++)
		if (y->rows.row[i].q.nslots > GT_QUEUE_SLOTS || y->rows.row[i].q.pid > INT32_MAX)
			return false;
	return true;
}

static uint16_t gpu_of(struct gt_plugin *p, uint32_t gpu_id)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1 };
	char dev[32];

	snprintf(dev, sizeof(dev), "kfd-%u", gpu_id);
	d.dev = dev;
	return p->host->gpu(p, &d);
}

static int by_gpu(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* GPUs get their numbers in order of their IDs, whatever the order in the dump, those without a queue
 * as well. */
static void name_gpus(struct gt_plugin *p, struct sf_rows *all, const struct sf_dump_about *about)
{
	uint32_t *id = calloc(all->n + about->ngpus + 1, sizeof(*id));
	unsigned int n = 0;

	for (unsigned int i = 0; id && i < all->n; i++)
		id[n++] = all->row[i].gpu_id;
	for (unsigned int i = 0; id && i < about->ngpus; i++)
		id[n++] = about->gpu[i];
	if (id)
		qsort(id, n, sizeof(*id), by_gpu);
	for (unsigned int i = 0; i < n; i++)
		if (!i || id[i] != id[i - 1])
			gpu_of(p, id[i]);
	free(id);
	for (unsigned int i = 0; i < all->n; i++)
		all->row[i].q.gpu = gpu_of(p, all->row[i].gpu_id);
}

static void describe(struct gt_plugin *p, const struct gt_queue_hw *q)
{
	union gt_record r;

	gt_record_init(&r, 0, GT_QUEUE);
	r.queue.gpu = q->gpu;
	r.queue.queue = q->queue;
	r.queue.pid = q->pid ? q->pid : GT_NONE32;
	r.queue.kind = q->sdma ? GT_QUEUE_SDMA : GT_QUEUE_COMPUTE;
	r.queue.engine = q->sdma ? GT_ENGINE_COPY : GT_ENGINE_COMPUTE;
	r.queue.size = q->size;
	r.queue.ctx = q->pid ? q->base : GT_NONE64;
	p->host->push(p, &r, 1);
}

/* Were the slots of that GPU dumped? */
static bool has_slots(const struct play *y, uint32_t gpu_id)
{
	for (unsigned int i = 0; i < y->head.about.ngpus; i++)
		if (y->head.about.gpu[i] == gpu_id)
			return true;
	return false;
}

/* A queue with a slot is mapped. If slots were not dumped, its descriptor has the state, as the hardware
 * saves it there (CP_HQD_ACTIVE, RB_ENABLE). */
static void emit_state(struct gt_plugin *p, const struct play *y, const struct sf_row *row)
{
	bool known = has_slots(y, row->gpu_id), mapped = known ? row->q.nslots : row->q.active;
	union gt_record r;

	gt_record_init(&r, 0, mapped ? GT_QUEUE_MAP : GT_QUEUE_UNMAP);
	r.ev.gpu = row->q.gpu;
	r.ev.queue = row->q.queue;
	r.ev.pid = row->q.pid ? row->q.pid : GT_NONE32;
	r.ev.flags = known ? 0 : GT_F_INFERRED;
	p->host->push(p, &r, 1);
}

/* Lines that do not belong to a dump, such as the kernel's log on the same terminal; names the first. */
static void report_bad_lines(struct gt_plugin *p, const struct play *y)
{
	for (unsigned int i = 0; i < y->files; i++) {
		const struct sf_played_file *f = &y->head.file[i];

		if (!f->bad)
			continue;
		p->host->error(p, EBADMSG,
			       "%s: line %" PRIu64 " is none of a dump of queues: %" PRIu64
			       " such lines were left out",
			       y->path[i], f->first_bad, f->bad);
		return;
	}
}

/* Queues first: places are reported of known queues only. */
static int emit_queues(struct gt_plugin *p, struct play *y)
{
	name_gpus(p, &y->rows, &y->head.about);
	for (unsigned int i = 0; i < y->rows.n; i++) {
		struct gt_queue_hw *q = &y->rows.row[i].q;

		if (q->gpu == GT_NONE16)
			continue;
		q->queue = i + 1;
		describe(p, q);
		emit_state(p, y, &y->rows.row[i]);
		y->emitted++;
	}
	y->rows.cut += y->head.cut + y->rows.n - y->emitted;
	for (unsigned int i = 0; i < y->files; i++)
		y->rows.bad += y->head.file[i].bad;
	if (!y->emitted)
		p->host->error(p, ENODATA, "no queue is in what was dumped");
	else if (y->rows.bad)
		report_bad_lines(p, y);
	p->host->timer(p, 1);
	return 2 * (int)y->emitted + 1;
}

static int emit_slots(struct gt_plugin *p, struct play *y)
{
	struct gt_queue_hw *q = calloc(y->emitted + 1, sizeof(*q));
	size_t n = 0;

	for (unsigned int i = 0; q && i < y->rows.n; i++)
		if (y->rows.row[i].q.gpu != GT_NONE16)
			q[n++] = y->rows.row[i].q;
	p->host->queues_hw(p, q, n);
	free(q);
	y->ended = true;
	return -ENODATA;
}

static int failed(struct gt_plugin *p, struct play *y)
{
	gt_sandbox_end(&y->child);
	y->rows.n = 0;
	y->head = (struct sf_played){ 0 };
	y->ended = true;
	p->host->error(p, EIO, "the reader failed on these files");
	return -ENODATA;
}

/* 1: all has come; 0: not yet; -1: the child hangs, or sent too much */
static int receive(struct gt_plugin *p, struct play *y)
{
	ssize_t n;

	do {
		n = read(y->child.fd, y->received + y->len, RECEIVE_MAX + 1 - y->len);
		y->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && y->len <= RECEIVE_MAX);
	if (!n)
		return 1;
	if (n > 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return p->host->now(p) - y->began > TIMEOUT ? -1 : 0;
}

int sf_play_drain(struct gt_plugin *p)
{
	struct play *y = p->priv;
	int got;

	if (y->ended)
		return -ENODATA;
	if (y->child.fd < 0)
		return emit_slots(p, y);
	got = receive(p, y);
	if (!got) {
		p->host->timer(p, WAIT_NS);
		return 1;
	}
	if (got < 0 || !take(y))
		return failed(p, y);
	gt_sandbox_end(&y->child);
	return emit_queues(p, y);
}

static void file_count(const struct sf_played_file *f, struct gt_filecount *c)
{
	const struct {
		const char *kind;
		uint64_t n;
	} skipped[] = {
		{ "driver_queues", f->own },	   { "idle_slots", f->idle },
		{ "without_registers", f->blank }, { "without_room", f->no_room },
		{ "parts_beyond_8_mib", f->cut },
	};

	*c = (struct gt_filecount){ .events = f->events,
				    .used = f->used,
				    .damaged = f->bad,
				    .place = f->bad ? GT_PLACE_LINE : GT_PLACE_NONE,
				    .first = f->first_bad };
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (skipped[i].n)
			gt_file_skip(c, skipped[i].kind, skipped[i].n);
}

void sf_play_doctor(const struct gt_plugin *p, char *buf, size_t len)
{
	const struct play *y = p->priv;
	struct gt_details t = { buf, len };

	gt_detail(&t, "kfd_queues %u\nkfd_dump_bad_lines %" PRIu64 "\nkfd_dump_cut %" PRIu64 "\n",
		  y->emitted, y->rows.bad, y->rows.cut);
	for (unsigned int i = 0; i < y->files; i++) {
		struct gt_filecount c;

		file_count(&y->head.file[i], &c);
		if (y->cut[i])
			gt_file_damaged(&c, GT_PLACE_NONE, 0);
		gt_file_detail(&t, i, y->path[i], "kfd-dump", &c);
	}
}

void sf_play_show(struct gt_plugin *p, char *buf, size_t len)
{
	struct play *y = p->priv;

	sf_rows_print(&y->rows, buf, len);
}
