/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dumps of the compute driver's queues in debugfs, and the rows of a table made of them. A text may
 * hold anything: users play saved ones.
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
#include "sysfs.h"

/* Lines ---------------------------------------------------------------------------------------- */

static bool take(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool number(const char **p, unsigned int base, uint32_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; (unsigned int)digit(*s) < base; s++) {
		v = v * base + (unsigned int)digit(*s);
		if (v >= UINT32_MAX)
			v = UINT32_MAX;
	}
	if (s == *p || (base == 10 && v == UINT32_MAX))
		return false;
	*p = s;
	*out = (uint32_t)v;
	return true;
}

static void blanks(const char **p)
{
	*p += strspn(*p, " ");
}

/* "Process 12 PASID 32770:" or, of later drivers, with the PASID in decimal */
static bool process_line(const char *p, uint32_t *pid)
{
	uint32_t n;

	if (!take(&p, "Process ") || !number(&p, 10, &n) || n > INT32_MAX || !take(&p, " PASID "))
		return false;
	*pid = n;
	return true;
}

static bool mqd_line(const char *p, struct sf_dumped *q)
{
	q->kind = take(&p, "Compute queue on device ") ? SF_DUMP_MQD
		  : take(&p, "SDMA queue on device ")  ? SF_DUMP_MQD_SDMA
						       : SF_DUMP_MQD_OTHER;
	if (q->kind == SF_DUMP_MQD_OTHER && !take(&p, "DIQ on device "))
		return false;
	return number(&p, 16, &q->gpu_id);
}

/* "Node 2, gpu_id f7bc:" */
static bool node_line(const char *p, uint32_t *gpu_id)
{
	uint32_t node;

	return take(&p, "Node ") && number(&p, 10, &node) && take(&p, ", gpu_id ") &&
	       number(&p, 16, gpu_id);
}

/* "Inst 0,  CP Pipe 0, Queue 2"; drivers for a single compute part omit "Inst" */
static bool hqd_line(const char *p, struct sf_dumped *q)
{
	if (take(&p, "SDMA Engine ")) {
		q->kind = SF_DUMP_HQD_SDMA;
		return number(&p, 10, &q->pipe) && take(&p, ", RLC ") && number(&p, 10, &q->queue);
	}
	if (take(&p, "Inst ") && !(number(&p, 10, &q->inst) && take(&p, ",")))
		return false;
	blanks(&p);
	if (take(&p, "CP Pipe ")) {
		q->kind = SF_DUMP_HQD;
		return number(&p, 10, &q->pipe) && take(&p, ", Queue ") &&
		       number(&p, 10, &q->queue);
	}
	q->kind = SF_DUMP_HIQ;
	return take(&p, "HIQ on MEC ") && number(&p, 10, &q->mec) && take(&p, " Pipe ") &&
	       number(&p, 10, &q->pipe) && take(&p, " Queue ") && number(&p, 10, &q->queue);
}

#define MQD_REGS   0x200 /* offset of CP_MQD_BASE_ADDR in a compute MQD; other registers follow */
#define MQD_HEADER 0xc0310800 /* first word of an MQD of this layout */

/**
 * struct reading - the queue that the current lines belong to
 * @pid, @gpu_id: by the last line with an owner
 * @begin: address of its first register, if @begun
 * @last: address of the last line with registers
 * @on: there is a queue
 * @broken: a line that does not belong to a dump came after @last
 * @over: and then registers of another queue
 */
struct reading {
	struct sf_dumped q;
	uint32_t pid, gpu_id, begin, last;
	bool on, begun, broken, over;
	struct sf_dump_about *about;
};

static void keep(struct reading *r, uint32_t addr, uint32_t word)
{
	struct sf_dumped *q = &r->q;
	uint32_t from = q->kind == SF_DUMP_MQD ? MQD_REGS : q->kind >= SF_DUMP_HQD ? r->begin : 0;

	if (q->kind == SF_DUMP_MQD && !addr && word != MQD_HEADER)
		q->kind = SF_DUMP_MQD_OTHER;
	if (q->kind == SF_DUMP_MQD_OTHER || addr < from || (addr - from) / 4 >= SF_DUMP_WORDS ||
	    addr % 4)
		return;
	if (q->have >> (addr - from) / 4 & 1) /* one for each compute part: the first is kept */
		return;
	q->have |= 1ull << (addr - from) / 4;
	q->word[(addr - from) / 4] = word;
}

static void add_gpu(struct sf_dump_about *about, uint32_t gpu_id)
{
	for (unsigned int i = 0; about && i < about->ngpus; i++)
		if (about->gpu[i] == gpu_id)
			return;
	if (about && about->ngpus < SF_DUMP_GPUS)
		about->gpu[about->ngpus++] = gpu_id;
}

/* A line with the owner of what follows. If its number is damaged, the owner is unknown, and not that
 * of the line before. "Process " without a number is text of another source, such as the kernel's log
 * on the same terminal. */
static bool owner_line(struct reading *r, const char *p)
{
	const char *process = p;

	if (take(&process, "Process ") && digit(*process) < 10) {
		r->pid = 0;
		return process_line(p, &r->pid);
	}
	if (!node_line(p, &r->gpu_id))
		return false;
	r->pid = 0;
	add_gpu(r->about, r->gpu_id);
	return true;
}

/* "0000c914: 006e3000 00000000 …" */
static bool word_line(struct reading *r, const char *p)
{
	uint32_t addr, word;

	if (strspn(p, "0123456789abcdef") != 8 || !number(&p, 16, &addr) || !take(&p, ":"))
		return false;
	r->over = r->broken && r->begun && addr <= r->last; /* of a queue with its own line lost */
	if (r->over)
		return false;
	if (!r->begun)
		r->begin = addr;
	r->begun = true;
	r->last = addr;
	for (int i = 0; i < 8 && take(&p, " ") && strspn(p, "0123456789abcdef") == 8; i++) {
		number(&p, 16, &word);
		keep(r, addr + 4 * (uint32_t)i, word);
	}
	return true;
}

static void end_queue(struct reading *r, void (*fn)(void *, const struct sf_dumped *), void *arg)
{
	if (r->on)
		fn(arg, &r->q);
	r->on = r->begun = r->broken = r->over = false;
}

/* A line that does not belong to a dump does not end a queue: more registers may follow it. */
static bool line(struct reading *r, const char *p, void (*fn)(void *, const struct sf_dumped *),
		 void *arg)
{
	struct sf_dumped next = { .gpu_id = r->gpu_id, .pid = r->pid };

	if (r->on && word_line(r, p))
		return true;
	if (r->over)
		end_queue(r, fn, arg);
	if (!*p || owner_line(r, p)) {
		end_queue(r, fn, arg);
		return true;
	}
	if (!mqd_line(p, &next)) {
		next = (struct sf_dumped){ .gpu_id = r->gpu_id, .pid = r->pid };
		if (!hqd_line(p, &next)) {
			r->broken = true;
			return false;
		}
	}
	end_queue(r, fn, arg);
	r->q = next;
	r->on = true;
	return true;
}

/* Copies the next line of @text, cut to @room, without leading blanks, a CR at the end, and a UTF-8
 * byte order mark. Return: its length in @text with the newline */
static size_t next_line(const char *text, size_t len, bool first, char *buf, size_t room)
{
	const char *nl = memchr(text, '\n', len), *end = nl ? nl : text + len, *p = text;
	size_t n;

	if (first && end - p >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3;
	while (p < end && *p == ' ')
		p++;
	n = (size_t)(end - p) < room ? (size_t)(end - p) : room - 1;
	memcpy(buf, p, n);
	buf[n] = '\0';
	while (n && (buf[n - 1] == '\r' || buf[n - 1] == ' '))
		buf[--n] = '\0';
	return (size_t)(end - text) + (nl != NULL);
}

#define FIRST_LINES 32 /* a script may have written lines before the dump */

bool sf_dump_begins(const char *text, size_t len)
{
	struct sf_dumped q;
	char buf[128];
	uint32_t n;
	size_t at = 0;

	for (int i = 0; i < FIRST_LINES && at < len; i++) {
		at += next_line(text + at, len - at, !i, buf, sizeof(buf));
		if (text[at - 1] == '\n' &&
		    (process_line(buf, &n) || node_line(buf, &n) || mqd_line(buf, &q)))
			return true;
	}
	return false;
}

unsigned int sf_dump_parse(const char *text, void (*fn)(void *, const struct sf_dumped *),
			   void *arg, struct sf_dump_about *about)
{
	struct reading r = { .about = about };
	size_t len = strlen(text), at = 0;
	unsigned int bad = 0, first = 0;
	char buf[128];

	for (unsigned int i = 1; at < len; i++) {
		at += next_line(text + at, len - at, i == 1, buf, sizeof(buf));
		if (line(&r, buf, fn, arg))
			continue;
		bad++;
		first = first ? first : i;
	}
	end_queue(&r, fn, arg);
	if (about) {
		about->bad = bad;
		about->first_bad = first;
	}
	return bad;
}

/*
 * What the registers mean. gc_9_0_offset.h and those of later parts: registers of a queue lie in the same order, and an MQD
 * has them in that order, too. Those of SDMA: sdma0_4_0_offset.h, struct v9_sdma_mqd.
 */

enum {
	MQD_ADDR = 0,
	ACTIVE = 2,
	VMID = 3,
	PQ_BASE = 8,
	PQ_RPTR = 10,
	DOORBELL = 15,
	PQ_CONTROL = 17,
	PQ_WPTR = 54
};
enum { RB_CNTL = 0, RB_BASE = 1, RB_RPTR = 3, RB_WPTR = 5 };

static uint64_t word(const struct sf_dumped *q, int i)
{
	return q->have >> i & 1 ? q->word[i] : UINT64_MAX;
}

/* Two words, the lower one first */
static uint64_t wide(const struct sf_dumped *q, int i, int shift)
{
	uint64_t lo = word(q, i), hi = word(q, i + 1);

	return lo == UINT64_MAX || hi == UINT64_MAX ? UINT64_MAX : (hi << 32 | lo) << shift;
}

static uint64_t masked(uint64_t v, uint32_t mask)
{
	return v == UINT64_MAX ? v : v & mask;
}

/* A size as a logarithm of dwords, in bits @at to @at + @bits - 1 of @v; 1 GiB at most */
static uint64_t size_of(uint64_t v, int at, int bits, unsigned int more)
{
	uint64_t log = v == UINT64_MAX ? 64 : (v >> at & ((1u << bits) - 1)) + more;

	return log <= 28 ? 4ull << log : UINT64_MAX;
}

bool sf_dump_hw(const struct sf_dumped *q, struct sf_hw *out)
{
	bool sdma = q->kind == SF_DUMP_MQD_SDMA || q->kind == SF_DUMP_HQD_SDMA;
	uint64_t state = word(q, sdma ? RB_CNTL : ACTIVE);

	memset(out, 0xff, sizeof(*out));
	out->active = state != UINT64_MAX && state & 1;
	if (q->kind == SF_DUMP_MQD_OTHER || state == UINT64_MAX)
		return false;
	if (sdma) {
		out->base = wide(q, RB_BASE, 8);
		out->size = size_of(state, 1, 5, 0);
		out->rptr = wide(q, RB_RPTR, 0);
		out->wptr = wide(q, RB_WPTR, 0);
		return true;
	}
	out->mqd = wide(q, MQD_ADDR, 0);
	out->vmid = q->kind == SF_DUMP_MQD ? UINT64_MAX : masked(word(q, VMID), 0xf);
	out->doorbell = masked(word(q, DOORBELL), 0x0ffffffc);
	out->base = wide(q, PQ_BASE, 8);
	out->size = size_of(word(q, PQ_CONTROL), 0, 6, 1);
	out->rptr = word(q, PQ_RPTR);
	out->wptr = wide(q, PQ_WPTR, 0);
	return true;
}

/* Rows ----------------------------------------------------------------------------------------- */

/* The descriptors of a process follow each other. */
static bool has_room(const struct sf_rows *all, uint32_t pid)
{
	unsigned int n = 0;

	while (all->most && pid && n < all->n && all->row[all->n - 1 - n].q.pid == pid)
		n++;
	return all->n < SF_ROWS && (!all->most || n < all->most);
}

static struct sf_row *add_row(struct sf_rows *all, const struct sf_dumped *q,
			      const struct sf_hw *hw)
{
	struct sf_row *r = &all->row[all->n];

	if (!has_room(all, q->pid)) {
		all->cut++;
		return NULL;
	}
	all->n++;
	*r = (struct sf_row){
		.gpu_id = q->gpu_id, .vmid = hw->vmid, .rptr = hw->rptr, .wptr = hw->wptr
	};
	r->q = (struct gt_queue_hw){
		.gpu = GT_NONE16,
		.queue = GT_NONE32,
		.pid = q->pid,
		.sdma = q->kind == SF_DUMP_MQD_SDMA || q->kind == SF_DUMP_HQD_SDMA,
		.active = hw->active,
		.address = hw->mqd,
		.doorbell = hw->doorbell,
		.base = hw->base,
		.size = hw->size,
		.rptr = hw->rptr,
		.wptr = hw->wptr,
	};
	return r;
}

void sf_rows_mqd(void *arg, const struct sf_dumped *q)
{
	struct sf_hw hw;

	if ((q->kind == SF_DUMP_MQD || q->kind == SF_DUMP_MQD_SDMA) && sf_dump_hw(q, &hw))
		add_row(arg, q, &hw);
}

/* The row of a slot. A doorbell belongs to one queue of a GPU. An SDMA queue is found by its ring's
 * address, which several processes may have in common: then its owner is unknown. */
static struct sf_row *find_mapped(const struct sf_rows *all, uint32_t gpu_id, bool sdma,
				  const struct sf_hw *hw)
{
	struct sf_row *found = NULL;

	for (unsigned int i = 0; hw->base != GT_NONE64 && i < all->n; i++) {
		struct sf_row *r = &all->row[i];

		if (r->gpu_id != gpu_id || r->q.sdma != sdma || r->q.base != hw->base ||
		    r->q.doorbell != hw->doorbell)
			continue;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

void sf_rows_hqd(void *arg, const struct sf_dumped *q)
{
	struct sf_rows *all = arg;
	bool sdma = q->kind == SF_DUMP_HQD_SDMA;
	struct sf_hw hw;
	struct sf_row *r;

	if ((q->kind != SF_DUMP_HQD && !sdma) || !sf_dump_hw(q, &hw) || !hw.active)
		return;
	r = find_mapped(all, q->gpu_id, sdma, &hw);
	r = r ? r : add_row(all, q, &hw);
	if (!r || r->q.nslots == GT_QUEUE_SLOTS) {
		all->cut += r != NULL;
		return;
	}
	r->vmid = hw.vmid;
	r->rptr = hw.rptr; /* memory has older values */
	r->wptr = hw.wptr;
	r->q.slot[r->q.nslots++] = (struct gt_queue_slot){
		.inst = (uint16_t)q->inst,
		.pipe = (uint16_t)q->pipe,
		.queue = (uint16_t)q->queue,
		.vmid = hw.vmid == GT_NONE64 ? GT_NONE16 : (uint16_t)hw.vmid,
		.rptr = hw.rptr,
		.wptr = hw.wptr,
	};
}

static void print_number(struct gt_details *t, const char *fmt, uint64_t v)
{
	char text[32] = "-";

	if (v != GT_NONE64)
		snprintf(text, sizeof(text), fmt, v);
	gt_detail(t, " %s", text);
}

static void print_slots(const struct gt_queue_hw *q, char *buf, size_t len)
{
	struct gt_details t = { buf, len };

	gt_detail(&t, "%s", q->nslots ? " " : " -");
	for (unsigned int i = 0; i < q->nslots; i++) {
		const struct gt_queue_slot *s = &q->slot[i];

		if (q->sdma)
			gt_detail(&t, "%ssdma%u.%u", i ? "," : "", s->pipe, s->queue);
		else
			gt_detail(&t, "%s%u.%u.%u", i ? "," : "", s->inst, s->pipe, s->queue);
	}
}

void sf_rows_print(struct sf_rows *all, char *buf, size_t len)
{
	struct gt_details t = { buf, len };

	for (unsigned int i = 0; i < all->n; i++) {
		const struct sf_row *r = &all->row[i];
		const struct gt_queue_hw *q = &r->q;
		char line[640];
		struct gt_details l = { line, sizeof(line) };

		gt_detail(&l, "%u", r->gpu_id);
		print_number(&l, "%" PRIu64, q->pid ? q->pid : GT_NONE64);
		print_number(&l, "%" PRIu64, q->queue == GT_NONE32 ? GT_NONE64 : q->queue);
		gt_detail(&l, " %s %d", q->sdma ? "sdma" : "compute", q->active);
		print_number(&l, "%" PRIu64, r->vmid);
		print_number(&l, "0x%" PRIx64, q->doorbell);
		print_number(&l, "0x%" PRIx64, q->base);
		print_number(&l, "%" PRIu64, q->size);
		print_number(&l, "%" PRIu64, r->rptr);
		print_number(&l, "%" PRIu64, r->wptr);
		print_slots(q, l.p, l.left);
		if (t.left <= strlen(line) + 2) {
			all->cut++;
			continue;
		}
		gt_detail(&t, "%s\n", line);
	}
}

/*
 * Plays saved dumps of queues: opens the files, has a child without rights read them, as anybody may
 * have written them, and reports the queues and their places on the hardware. A dump has no time: all
 * of it is at 0. The child sends rows of one size, which are checked.
 */

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

/** struct dump_reading - file @f, and the rows that its queues are added to */
struct dump_reading {
	struct sf_rows *all;
	struct sf_played_file *f;
};

static bool is_slot(const struct sf_dumped *q)
{
	return q->kind == SF_DUMP_HQD || q->kind == SF_DUMP_HQD_SDMA || q->kind == SF_DUMP_HIQ;
}

/* Adds a queue by @add, and counts what became of it. */
static void count(struct dump_reading *r, const struct sf_dumped *q,
		  void (*add)(void *, const struct sf_dumped *))
{
	uint64_t cut = r->all->cut;
	struct sf_hw hw;

	r->f->events++;
	add(r->all, q);
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
		f->bad =
			sf_dump_parse(text, on_mqd, &(struct dump_reading){ all, f }, &head->about);
		f->first_bad = head->about.first_bad;
	}
	for (unsigned int i = 0; i < n; i++) {
		read_file(GT_SANDBOX_FIRST + (int)i, text);
		sf_dump_parse(text, on_hqd, &(struct dump_reading){ all, &head->file[i] }, NULL);
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
static bool play_take(struct play *y)
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
	if (got < 0 || !play_take(y))
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
