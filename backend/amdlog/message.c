/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages about queues, packets, kernels and copies. Their texts changed with the releases:
 * a letter became a capital, a field was added. So each is known by its first words, and its fields
 * by their names, in whatever order they come.
 */
#include <string.h>

#include "amdlog.h"

/* clang-format off */

/*
 * What is before a line's message. Each release of ROCm has had its own form, and releases do not
 * say which: so it is decided by what is there. The source is rocclr/utils/debug.cpp of ROCm/clr;
 * where a log is named, the form is taken from that.
 *
 * ROCm 4.5:
 *	:3:rocdevice.cpp            :1562: 1885937163 us: message
 *	:1:hip_code_object.cpp      :507 : 0123456789 us: [7fb360ad23c0]!	message
 * 5.x:
 *	:3:rocdevice.cpp            :426 : 75799966442 us: 202289: [tid:0x7f674bedd880] message
 * 6.x:
 *	:3:rocdevice.cpp            :468 : 14902569084 us: [pid:32899 tid:0x71038c239180] message
 * 6.3.2 (ROCm/ROCm#4394, ROCm/legacy-rocm-build#4358):
 *	:4:rocvirtual.cpp           :930 : 7270505900d us: [pid:21983 tid: 7f316f4006c0] message
 * 7.x, the number padded on either side (ROCm/rocm-systems#5315):
 *	:3:hip_memory.cpp           :205 : 185087797883 us: [pid:73084 tid: 0xece25 ] message
 * 7.x, level 3 and less:
 *	:3:rocdevice.cpp            :480 : 6306213494 us: message
 * As reports quote it, the message in the next line:
 *	:3:rocdevice.cpp:3045: 175037104827 us: [pid:157801]
 * Without a time:
 *	:1:hip_code_object.cpp:507: message
 * ROCr, without a level (its flag.cpp):
 *	:amd_gpu_agent.cpp        :123 : 12345 us: [pid:7     tid:0x7f67] [***rocr***] message
 *
 * The name of the source file is padded, may be a whole path, and may be missing.
 */
/* clang-format on */

#define TRIES 8 /* places in a line that look like the begin of a log's line */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits up to @end; false: none, or too many */
static bool number(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && is_digit(*s) && s - *p < 19; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	if (s == *p || (s < end && is_digit(*s)))
		return false;
	*p = s;
	*out = v;
	return true;
}

static int hex_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	while (s < end && *s == ' ')
		s++; /* "0x 3564" is padded */
	*p = s;
	for (; s < end && hex_of(*s) >= 0 && s - *p < 16; s++)
		v = v << 4 | (uint64_t)hex_of(*s);
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

static bool is_level(const char *p, const char *end)
{
	return end - p > 2 && p[0] == ':' && is_digit(p[1]) && p[2] == ':';
}

static const char *blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* "ESC [ … letter" */
static const char *colour(const char *p, const char *end)
{
	const char *s = p + 2;

	if (end - p < 3 || p[0] != '\033' || p[1] != '[')
		return p;
	while (s < end && (is_digit(*s) || *s == ';'))
		s++;
	return s < end ? s + 1 : p;
}

static void trim(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *next;

	for (;; p = next) {
		next = colour(blanks(p, end), end);
		if (next < end && (*next == '!' || *next == '\t'))
			next++;
		if (next == p)
			break;
	}
	while (end > p && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	/* a colour at the end is short: "ESC [ 0 m" */
	for (size_t n = 3; n <= 8 && (size_t)(end - p) >= n && end[-1] == 'm'; n++)
		if (end[-(ptrdiff_t)n] == '\033') {
			end -= n;
			break;
		}
	while (end > p && end[-1] == ' ')
		end--;
	out->msg = p;
	out->len = (size_t)(end - p);
}

static bool begins(const char *p, const char *end, const char *with, size_t n)
{
	return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

#define BEGINS(p, end, with) begins(p, end, with, sizeof(with) - 1)

/* The process of the line, in one of the forms; where none is there, @p is the message */
static const char *thread(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *s = p;
	uint64_t pid = 0;

	if (number(&s, end, &pid)) { /* "202289: [tid:0x" */
		s = blanks(s, end);
		if (!BEGINS(s, end, ": [tid:"))
			return p;
		s += 7;
	} else if (BEGINS(s, end, "[pid:")) {
		s += 5;
		if (!number(&s, end, &pid))
			return p;
		s = blanks(s, end);
		if (s < end && *s == ']')
			goto out;
		if (!BEGINS(s, end, "tid:"))
			return p;
		s = blanks(s + 4, end);
	} else if (s < end && *s == '[') {
		s++;
	} else {
		return p;
	}
	if (!hex(&s, end, &out->tid))
		return p;
	s = blanks(s, end);
	if (s == end || *s != ']')
		return p;
out:
	if (pid < GT_NONE32)
		out->pid = (uint32_t)pid;
	return s + 1;
}

/* Behind the digits of a time: " us: ", of ROCm 6.3 "d us: ", at the end of the line without a
 * blank
 */
static const char *unit(const char *p, const char *end)
{
	p += p < end && *p == 'd';
	if (!BEGINS(p, end, " us:"))
		return NULL;
	p += 4;
	return p == end ? p : *p == ' ' ? p + 1 : NULL;
}

/* Behind the name's colon: "3045: 353425 us: " or, without a time, "507: " */
static const char *place(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *s, *msg;
	uint64_t line;

	if (!number(&p, end, &line))
		return NULL;
	p = blanks(p, end);
	if (end - p < 2 || p[0] != ':' || p[1] != ' ')
		return NULL;
	p += 2;
	s = p;
	msg = number(&s, end, &out->us) ? unit(s, end) : NULL;
	if (msg)
		return msg;
	out->us = GT_NONE64;
	return p;
}

/* From the colon before the level, or before the file of a line without one */
static bool prefix(const char *p, const char *end, struct gt_amd_line *out)
{
	bool level = is_level(p, end);
	const char *colon = level ? p + 2 : p, *msg = NULL;

	if (end - p < 6)
		return false;
	*out = (struct gt_amd_line){ .level = level ? (uint8_t)(p[1] - '0') : 0 };
	/* A path may have colons of its own. */
	for (int i = 0; i < (level ? 4 : 1) && !msg; i++) {
		colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
		if (!colon)
			return false;
		msg = place(colon + 1, end, out);
	}
	if (!msg)
		return false;
	trim(thread(msg, end, out), end, out);
	return level || BEGINS(out->msg, out->msg + out->len, "[***rocr***]");
}

bool gt_amd_line(const char *p, size_t len, struct gt_amd_line *out)
{
	const char *end = p + len, *s = p;

	if (len > GT_AMD_LINE_MAX)
		return false;
	while (end > p && end[-1] == '\r')
		end--;
	len = (size_t)(end - p);
	if (len && *p == ':' && prefix(p, end, out))
		return true;
	s = colour(blanks(p, end), end);
	if (s > p && s < end && prefix(s, end, out))
		return true;
	/* Text that the program wrote without a newline may precede the prefix. */
	for (int i = 0; i < TRIES && (s = memchr(s, ':', (size_t)(end - s))); i++, s++)
		if (is_level(s, end) && prefix(s, end, out) && out->us != GT_NONE64)
			return true;
	return false;
}

void gt_amd_line_message(const char *p, size_t len, struct gt_amd_line *out)
{
	trim(p, p + len, out);
}

bool gt_amd_line_begins(const char *p, size_t len)
{
	const char *end = p + len;

	return is_level(colour(blanks(p, end), end), end);
}

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
 * "created hardware queue 0x… with size …", with another pointer than in packets */
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
	m->what = m->signal != GT_NONE64 && m->start < INT64_MAX && m->end < INT64_MAX
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

bool gt_amd_is_kernel(const char *name, size_t len)
{
	return len == 15 && !memcmp(name, "KernelExecution", 15);
}

bool gt_amd_is_copy(const char *name, size_t len)
{
	return (len >= 4 && !memcmp(name, "Copy", 4)) ||
	       (len >= 9 && !memcmp(name, "hipMemcpy", 9));
}

/* How many bytes: the third argument of those with plain arguments */
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
	take(c, LIT(" "));
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
		else if (take(c, LIT("QL dispatch failed")))
			m->what = GT_AMD_REFUSED; /* rocvirtual.cpp of every release */
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
		if (take(c, LIT("haderName :")))
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

/* Where the time would be stands a number without its unit: the line is cut there, or damaged. No
 * message begins so, in logs without times neither. */
static bool is_half_time(const struct gt_amd_line *l)
{
	size_t n = 0;

	while (n < l->len && l->msg[n] >= '0' && l->msg[n] <= '9')
		n++;
	return l->us == GT_NONE64 && n && (n == l->len || (n >= 8 && l->msg[n] == ' '));
}

void gt_amd_message(const struct gt_amd_line *l, struct gt_amd_msg *m)
{
	struct cursor c = { .p = l->msg, .begin = l->msg, .end = l->msg + l->len };

	memset(m, 0xff, sizeof(*m));
	m->what = GT_AMD_OTHER;
	m->name = NULL;
	m->len = 0;
	if (l->len && *l->msg == '[')
		m->what = starts(&c, LIT("[pid:")) ? GT_AMD_BAD : GT_AMD_OTHER;
	else if (is_half_time(l))
		m->what = GT_AMD_BAD;
	else if (l->len)
		by_word(&c, m);
}
