/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages that tell of queues, packets, kernels and copies. Their texts changed with the releases:
 * a letter became a capital, a field was added. So each is known by its first words, and its fields
 * by their names, in whatever order they come.
 */
#include <string.h>

#include "internal.h"

#define LIT(s) s, sizeof(s) - 1

/** struct cursor - a message; fields are mostly in order, so a search goes on behind the last one
 */
struct cursor {
	const char *p, *begin, *end;
};

static bool starts(const struct cursor *c, const char *with, size_t n)
{
	return (size_t)(c->end - c->p) >= n && !memcmp(c->p, with, n);
}

static bool take(struct cursor *c, const char *with, size_t n)
{
	bool found = starts(c, with, n);

	if (found)
		c->p += n;
	return found;
}

/* Behind "@key", from here or, once, from the begin */
static bool seek(struct cursor *c, const char *key, size_t n)
{
	const char *at = memmem(c->p, (size_t)(c->end - c->p), key, n);

	if (!at)
		at = memmem(c->begin, (size_t)(c->end - c->begin), key, n);
	if (at)
		c->p = at + n;
	return at;
}

static uint64_t decimal(struct cursor *c)
{
	const char *s = c->p;
	uint64_t v = 0;

	for (; s < c->end && *s >= '0' && *s <= '9' && s - c->p < 19; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	if (s == c->p)
		return GT_NONE64;
	c->p = s;
	return v;
}

/* With 0x or, as Windows prints a pointer, without */
static uint64_t pointer(struct cursor *c)
{
	const char *s = c->p;
	uint64_t v = 0;
	int n = 0;

	if (c->end - s > 2 && s[0] == '0' && s[1] == 'x')
		s += 2;
	for (; s < c->end && n < 16; s++, n++) {
		char d = *s;

		if (d >= '0' && d <= '9')
			v = v << 4 | (uint64_t)(d - '0');
		else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
			v = v << 4 | (uint64_t)((d | 0x20) - 'a' + 10);
		else
			break;
	}
	c->p = s;
	return n ? v : GT_NONE64;
}

#define POINTER_OF(c, key) (seek(c, LIT(key)) ? pointer(c) : GT_NONE64)
#define DECIMAL_OF(c, key) (seek(c, LIT(key)) ? decimal(c) : GT_NONE64)

static uint32_t narrow(uint64_t v)
{
	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

/* "Created SWq=0x… to map on HWq=0x… with size 16384 with priority 1, cooperative: 0";
 * "created hardware queue 0x… with size …", where the pointer is another one than packets tell */
static void created(struct cursor *c, struct gt_amd_msg *m)
{
	m->swq = pointer(c);
	m->hwq = POINTER_OF(c, "HWq=");
	m->size = DECIMAL_OF(c, "with size ");
	m->priority = narrow(DECIMAL_OF(c, "with priority "));
	m->what = m->swq != GT_NONE64 ? GT_AMD_CREATED : GT_AMD_BAD;
}

/* "acquireQueue refCount: 0x… (1)", "releaseQueue refCount:0x… (0)" */
static void users(struct cursor *c, struct gt_amd_msg *m, enum gt_amd_what what)
{
	while (c->p < c->end && *c->p == ' ')
		c->p++;
	m->hwq = pointer(c);
	if (take(c, LIT(" (")))
		m->number = decimal(c);
	m->what = m->hwq != GT_NONE64 && m->number != GT_NONE64 ? what : GT_AMD_BAD;
}

/* "HWq=0x…, id=1, Dispatch Header = 0xb02 (type=2, …), …, rptr=5, wptr=6" */
static void packet(struct cursor *c, struct gt_amd_msg *m)
{
	const char *header;
	size_t head;

	m->hwq = pointer(c);
	header = memmem(c->p, (size_t)(c->end - c->p), LIT(" Header = "));
	head = header ? (size_t)(header - c->p) : 0;
	if (m->hwq == GT_NONE64 || !header) {
		m->what = m->hwq == GT_NONE64 ? GT_AMD_BAD : GT_AMD_OTHER;
		return;
	}
	if (head >= 8 && !memcmp(header - 8, "Dispatch", 8))
		m->what = GT_AMD_DISPATCH;
	else
		m->what = memmem(c->p, head, LIT("Barrier")) ? GT_AMD_BARRIER : GT_AMD_OTHER;
	c->p = header;
	if (m->what == GT_AMD_DISPATCH)
		m->object = POINTER_OF(c, "kernel_obj=");
	m->signal = POINTER_OF(c, "completion_signal=");
	m->rptr = narrow(DECIMAL_OF(c, "rptr="));
	m->wptr = narrow(DECIMAL_OF(c, "wptr="));
}

/* "Signal = (0x…), Translated start/end = 1 / 2, Elapsed = 1 ns, …" */
static void signal_times(struct cursor *c, struct gt_amd_msg *m)
{
	m->signal = pointer(c);
	m->start = DECIMAL_OF(c, "start/end = ");
	if (take(c, LIT(" / ")))
		m->end = decimal(c);
	m->what = m->signal != GT_NONE64 && m->start != GT_NONE64 && m->end != GT_NONE64
			  ? GT_AMD_SIGNAL
			  : GT_AMD_BAD;
}

/* "Handler: value(0), timestamp(0x…), handle(0x…)": a signal's, when it is done */
static void handler(struct cursor *c, struct gt_amd_msg *m)
{
	m->number = DECIMAL_OF(c, "value(");
	m->signal = POINTER_OF(c, "handle(");
	m->what = m->signal == GT_NONE64 ? GT_AMD_BAD : GT_AMD_OTHER;
	if (m->what == GT_AMD_OTHER && !m->number)
		m->what = GT_AMD_HANDLER;
}

/* "Command (CopyHostToDevice) enqueued: 0x… to queue: 0x…" */
static void command(struct cursor *c, struct gt_amd_msg *m)
{
	const char *close = memchr(c->p, ')', (size_t)(c->end - c->p));

	if (!close) {
		m->what = GT_AMD_BAD;
		return;
	}
	m->name = c->p;
	m->len = (size_t)(close - c->p);
	c->p = close;
	if (!take(c, LIT(") enqueued: ")))
		return;
	m->object = pointer(c);
	m->what = m->object != GT_NONE64 ? GT_AMD_COMMAND : GT_AMD_BAD;
}

bool gt_amd_is_copy(const char *name, size_t len)
{
	return (len >= 4 && !memcmp(name, "Copy", 4)) ||
	       (len >= 9 && !memcmp(name, "hipMemcpy", 9));
}

/* How many bytes: the third argument of those whose arguments are plain */
static uint64_t copy_bytes(struct cursor *c, const struct gt_amd_msg *m)
{
	static const char *const plain[] = { "",	  "Async",    "WithStream", "HtoD",
					     "DtoH",	  "DtoD",     "HtoDAsync",  "DtoHAsync",
					     "DtoDAsync", "ToSymbol", "FromSymbol" };
	bool known = false;

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		known |= m->len == 9 + strlen(plain[i]) &&
			 !memcmp(m->name + 9, plain[i], m->len - 9);
	for (int i = 0; known && i < 2; i++)
		known = seek(c, LIT(", "));
	return known ? decimal(c) : GT_NONE64;
}

/* "hipMemcpyAsync ( 0x…, 0x…, 1261568, … )", "hipMemcpyAsync: Returned hipSuccess : " */
static void call(struct cursor *c, struct gt_amd_msg *m)
{
	const char *s = c->p;

	while (s < c->end && ((*s | 0x20) >= 'a' ? (*s | 0x20) <= 'z' : (*s >= '0' && *s <= '9')))
		s++;
	m->name = c->p;
	m->len = (size_t)(s - c->p);
	c->p = s;
	if (starts(c, LIT(": Returned "))) {
		m->what = GT_AMD_RETURN;
		return;
	}
	if (!starts(c, LIT(" (")))
		return;
	m->what = GT_AMD_CALL;
	if (gt_amd_is_copy(m->name, m->len))
		m->number = copy_bytes(c, m);
}

static void shader(struct cursor *c, struct gt_amd_msg *m)
{
	m->name = c->p;
	m->len = (size_t)(c->end - c->p);
	m->what = m->len ? GT_AMD_KERNEL : GT_AMD_BAD;
}

/* By the first letter, in either case */
static void by_word(struct cursor *c, struct gt_amd_msg *m)
{
	switch (*c->p++ | 0x20) {
	case 'a':
		if (take(c, LIT("cquireQueue refCount:")))
			users(c, m, GT_AMD_ACQUIRED);
		break;
	case 'c':
		if (take(c, LIT("ommand (")))
			command(c, m);
		else if (take(c, LIT("reated SWq=")) || take(c, LIT("reated hardware queue ")))
			created(c, m);
		else if (take(c, LIT("allback: Queue "))) {
			m->hwq = pointer(c);
			m->what = starts(c, LIT(" aborting")) ? GT_AMD_ABORT : GT_AMD_OTHER;
		}
		break;
	case 'd':
		if (take(c, LIT("eleting hardware queue "))) {
			m->hwq = pointer(c);
			m->what = m->hwq != GT_NONE64 ? GT_AMD_DELETED : GT_AMD_BAD;
		}
		break;
	case 'h':
		if (take(c, LIT("Wq=")))
			packet(c, m);
		else if (take(c, LIT("andler: ")))
			handler(c, m);
		else if (take(c, LIT("SA ")) && seek(c, LIT("size="))) {
			m->number = decimal(c);
			m->what = memmem(c->begin, (size_t)(c->end - c->begin), LIT("src="))
					  ? GT_AMD_COPY
					  : GT_AMD_OTHER;
		} else if (starts(c, LIT("ip"))) {
			c->p--;
			call(c, m);
		}
		break;
	case 'n':
		if (take(c, LIT("umber of allocated hardware queues")))
			m->what = GT_AMD_ASKED;
		break;
	case 'r':
		if (take(c, LIT("eleaseQueue refCount:")))
			users(c, m, GT_AMD_RELEASED);
		break;
	case 's':
		if (take(c, LIT("haderName : ")))
			shader(c, m);
		else if (take(c, LIT("Wq=")) && seek(c, LIT("HWq=")))
			packet(c, m);
		else if (take(c, LIT("ignal = (")))
			signal_times(c, m);
		else if (starts(c, LIT("elected queue")) && seek(c, LIT("efCount:")))
			users(c, m, GT_AMD_SELECTED);
		break;
	}
}

void gt_amd_message(const struct gt_amd_line *l, struct gt_amd_msg *m)
{
	struct cursor c = { .p = l->msg, .begin = l->msg, .end = l->msg + l->len };

	memset(m, 0xff, sizeof(*m));
	m->what = GT_AMD_OTHER;
	m->name = NULL;
	m->len = 0;
	if (l->len)
		by_word(&c, m);
}
