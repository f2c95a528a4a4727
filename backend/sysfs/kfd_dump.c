/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dumps of the compute driver's queues in debugfs, and the rows of a table made of them. A text may
 * hold anything: users play saved ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/detail.h"
#include "kfd_dump.h"

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
