/* SPDX-License-Identifier: GPL-2.0 */
#include <string.h>

#include "kfd_dump.h"

/* Reading lines ------------------------------------------------------------------------------- */

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

/* --- lines that begin something --- */

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

/* "Inst 0,  CP Pipe 0, Queue 2"; drivers that know of one compute part do without the first */
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

/* --- and their registers --- */

#define MQD_REGS   0x200 /* byte of a compute MQD that CP_MQD_BASE_ADDR is at, and others behind */
#define MQD_HEADER 0xc0310800 /* all that are of this layout begin so */

/**
 * struct reading - the queue that the lines are of
 * @on: there is one; @begin: address of its first register, @begun: it is known
 */
struct reading {
	struct sf_dumped q;
	uint32_t pid, gpu_id, begin;
	bool on, begun;
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
	if (q->have >> (addr - from) / 4 & 1) /* each compute part has one: the first's is kept */
		return;
	q->have |= 1ull << (addr - from) / 4;
	q->word[(addr - from) / 4] = word;
}

/* What comes below it is of whom it names, or of nobody: not of whom the line before it named */
static bool owner_line(struct reading *r, const char *p)
{
	const char *process = p;

	if (take(&process, "Process ")) {
		r->pid = 0;
		return process_line(p, &r->pid);
	}
	if (!node_line(p, &r->gpu_id))
		return false;
	r->pid = 0;
	return true;
}

/* "0000c914: 006e3000 00000000 …" */
static bool word_line(struct reading *r, const char *p)
{
	uint32_t addr, word;

	if (strspn(p, "0123456789abcdef") != 8 || !number(&p, 16, &addr) || !take(&p, ":"))
		return false;
	if (!r->begun)
		r->begin = addr;
	r->begun = true;
	for (int i = 0; i < 8 && take(&p, " ") && strspn(p, "0123456789abcdef") == 8; i++) {
		number(&p, 16, &word);
		keep(r, addr + 4 * (uint32_t)i, word);
	}
	return true;
}

static bool line(struct reading *r, const char *p, void (*fn)(void *, const struct sf_dumped *),
		 void *arg)
{
	struct sf_dumped next = { .gpu_id = r->gpu_id, .pid = r->pid };

	if (r->on && word_line(r, p))
		return true;
	if (r->on)
		fn(arg, &r->q);
	r->on = false;
	if (!*p || owner_line(r, p))
		return true;
	r->on = mqd_line(p, &next) || hqd_line(p, &next);
	r->q = next;
	r->begun = false;
	return r->on;
}

#define FIRST_LINES 32 /* before it a script may have written something of its own */

bool sf_dump_begins(const char *text, size_t len)
{
	const char *end = text + len, *nl;
	char buf[128];
	uint32_t n;

	for (int i = 0; i < FIRST_LINES && (nl = memchr(text, '\n', (size_t)(end - text))); i++) {
		size_t room = (size_t)(nl - text) < sizeof(buf) ? (size_t)(nl - text) : 0;

		memcpy(buf, text, room);
		buf[room] = '\0';
		if (process_line(buf, &n) || node_line(buf, &n))
			return true;
		text = nl + 1;
	}
	return false;
}

unsigned int sf_dump_parse(const char *text, void (*fn)(void *, const struct sf_dumped *),
			   void *arg)
{
	struct reading r = { .on = false };
	unsigned int bad = 0;
	char buf[128];
	size_t len;

	for (; *text; text += len + (text[len] == '\n')) {
		const char *p = buf;

		len = strcspn(text, "\n");
		memcpy(buf, text, len < sizeof(buf) ? len : sizeof(buf) - 1);
		buf[len < sizeof(buf) ? len : sizeof(buf) - 1] = '\0';
		blanks(&p);
		bad += !line(&r, p, fn, arg);
	}
	if (r.on)
		fn(arg, &r.q);
	return bad;
}

/* What they mean ------------------------------------------------------------------------------
 *
 * gc_9_0_offset.h and those of later parts: registers of a queue lie in the same order, and an MQD
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

/* Two words, of which the lower comes first */
static uint64_t wide(const struct sf_dumped *q, int i, int shift)
{
	uint64_t lo = word(q, i), hi = word(q, i + 1);

	return lo == UINT64_MAX || hi == UINT64_MAX ? UINT64_MAX : (hi << 32 | lo) << shift;
}

static uint64_t masked(uint64_t v, uint32_t mask)
{
	return v == UINT64_MAX ? v : v & mask;
}

/* As the logarithm of its dwords, bits @at to @at + @bits - 1 of @v: 1 GiB at most */
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
