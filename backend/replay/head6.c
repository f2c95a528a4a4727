/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The header of a trace.dat of version 6, as trace-cmd.dat.v6(5) tells it. Only what is of use is
 * kept; every size is checked against the file's before anything is read or allocated.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX   (8u << 20) /* of what is kept: formats, names of threads */
#define CPUS_MAX   4096u
#define SYSTEM_MAX 128u
#define OPTION_MAX 256u
#define EVENTS_MAX 65536u /* a tracepoint's number has 16 bits; systems are fewer */

#define OPTION_DATE   1
#define OPTION_BUFFER 3 /* the buffer of another instance */
#define OPTION_OFFSET 7

/* Where in the file it reads; @what is said when the file ends there. @events: formats so far */
struct cur {
	struct gt_source *s;
	uint64_t off;
	const char *what;
	uint32_t events;
};

static int cut(const struct cur *c)
{
	return gt_source_error(c->s, EBADMSG, "byte %llu: the file ends inside %s",
			       (unsigned long long)c->off, c->what);
}

static int odd(const struct cur *c, unsigned long long value)
{
	return gt_source_error(c->s, EBADMSG, "byte %llu: %s: %llu makes no sense",
			       (unsigned long long)c->off, c->what, value);
}

static int get(struct cur *c, void *buf, size_t len)
{
	if (gt_source_pread(c->s, buf, len, c->off) != (ssize_t)len)
		return cut(c);
	c->off += len;
	return 0;
}

static int get16(struct cur *c, uint16_t *v)
{
	return get(c, v, sizeof(*v));
}

static int get32(struct cur *c, uint32_t *v)
{
	return get(c, v, sizeof(*v));
}

static int get64(struct cur *c, uint64_t *v)
{
	return get(c, v, sizeof(*v));
}

static int skip(struct cur *c, uint64_t len)
{
	if (len > c->s->size || c->off > c->s->size - len)
		return cut(c);
	c->off += len;
	return 0;
}

/* @len bytes in memory of their own, with a NUL behind. */
static int get_text(struct cur *c, uint64_t len, char **out)
{
	int ret;

	if (len > c->s->size)
		return cut(c);
	if (len > TEXT_MAX)
		return odd(c, len);
	*out = malloc(len + 1);
	if (!*out)
		return gt_source_error(c->s, ENOMEM, "no memory");
	ret = get(c, *out, len);
	if (ret < 0) {
		free(*out);
		*out = NULL;
		return ret;
	}
	(*out)[len] = '\0';
	return 0;
}

static int get_magic(struct cur *c, const char *want, size_t len)
{
	char have[16];
	int ret = get(c, have, len);

	if (!ret && memcmp(have, want, len))
		return gt_source_error(c->s, EBADMSG, "byte %llu: no %s",
				       (unsigned long long)c->off - len, c->what);
	return ret;
}

/* A string with its NUL, at most @len bytes. */
static int get_string(struct cur *c, char *out, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int ret = get(c, &out[i], 1);

		if (ret < 0 || !out[i])
			return ret;
	}
	return odd(c, len);
}

static int initial(struct cur *c, struct gt_head6 *h)
{
	uint8_t b[2];
	int ret;

	c->what = "the initial format";
	ret = get_magic(c, "\x17\x08\x44tracing6", 12);
	if (!ret)
		ret = get(c, b, sizeof(b));
	if (ret < 0)
		return ret;
	if (b[0])
		return gt_source_error(c->s, EOPNOTSUPP,
				       "was recorded on a machine of the other byte order");
	h->long_size = b[1];
	return get32(c, &h->page_size);
}

static int headers(struct cur *c, struct gt_head6 *h)
{
	uint64_t len = 0;
	int ret;

	c->what = "header_page";
	ret = get_magic(c, "header_page", 12);
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->header_page);
	h->page_len = len;
	c->what = "header_event";
	if (!ret)
		ret = get_magic(c, "header_event", 13);
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->header_event);
	h->event_len = len;
	return ret;
}

/* "name: NAME" and "ID: NUMBER" of a format; a format without is left out. */
static void add_format(struct gt_source *s, const char *system, const char *text, size_t len)
{
	const char *name = strstr(text, "name: "), *id = strstr(text, "\nID: ");
	char copy[SYSTEM_MAX];
	size_t n;

	if (!name || !id)
		return;
	name += 6;
	n = strcspn(name, "\n");
	if (!n || n >= sizeof(copy))
		return;
	memcpy(copy, name, n);
	copy[n] = '\0';
	gt_events_add(s->events, system, copy, atoi(id + 5), text, len);
}

static int formats(struct cur *c, const char *system, uint32_t n)
{
	c->what = "the event formats";
	/* The file may have holes, so its size alone is no bound. */
	if (n > EVENTS_MAX - c->events)
		return odd(c, n);
	c->events += n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len;
		char *text = NULL;
		int ret = get64(c, &len);

		if (!ret)
			ret = get_text(c, len, &text);
		if (ret < 0)
			return ret;
		if (system)
			add_format(c->s, system, text, len);
		free(text);
	}
	return 0;
}

static int systems(struct cur *c)
{
	uint32_t n, events;
	int ret;

	c->what = "the ftrace formats";
	ret = get32(c, &n);
	if (!ret)
		ret = formats(c, NULL, n);
	if (!ret)
		ret = get32(c, &n);
	if (!ret && n > EVENTS_MAX)
		return odd(c, n);
	for (uint32_t i = 0; !ret && i < n; i++) {
		char system[SYSTEM_MAX];

		ret = get_string(c, system, sizeof(system));
		if (!ret)
			ret = get32(c, &events);
		if (!ret)
			ret = formats(c, system, events);
	}
	return ret;
}

/* kallsyms and printk formats are of no use here; then who was who */
static int tables(struct cur *c, struct gt_head6 *h)
{
	static const char *const names[] = { "kallsyms", "the printk formats" };
	uint64_t len = 0;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		uint32_t size = 0;

		c->what = names[i];
		ret = get32(c, &size);
		if (!ret)
			ret = skip(c, size);
	}
	c->what = "the names of threads";
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->cmdlines);
	h->cmdlines_len = len;
	return ret;
}

static int option(struct cur *c, struct gt_head6 *h, uint16_t id, uint32_t size)
{
	char text[OPTION_MAX] = "";
	int ret;

	if (id == OPTION_BUFFER)
		gt_source_fault(c->s, "byte %llu: the events of another instance are left out",
				(unsigned long long)c->off);
	if ((id != OPTION_DATE && id != OPTION_OFFSET) || size >= sizeof(text))
		return skip(c, size);
	ret = get(c, text, size);
	if (!ret)
		/* both are added, as libtracecmd does */
		h->offset = (int64_t)((uint64_t)h->offset + (uint64_t)strtoll(text, NULL, 0));
	return ret;
}

static int options(struct cur *c, struct gt_head6 *h)
{
	c->what = "the options";
	for (;;) {
		uint16_t id;
		uint32_t size;
		int ret = get16(c, &id);

		if (ret || !id)
			return ret;
		ret = get32(c, &size);
		if (!ret)
			ret = option(c, h, id, size);
		if (ret)
			return ret;
	}
}

static int places(struct cur *c, struct gt_head6 *h)
{
	h->cpu = calloc(h->cpus, sizeof(*h->cpu));
	if (!h->cpu)
		return gt_source_error(c->s, ENOMEM, "no memory");
	for (uint32_t i = 0; i < h->cpus; i++) {
		struct gt_cpu6 *cpu = &h->cpu[i];
		int ret = get64(c, &cpu->off);

		if (!ret)
			ret = get64(c, &cpu->size);
		if (ret < 0)
			return ret;
		if (cpu->size <= c->s->size && cpu->off <= c->s->size - cpu->size)
			continue;
		gt_source_fault(
			c->s,
			"byte %llu: data of CPU %u, %llu bytes at %llu, is beyond the file's end",
			(unsigned long long)c->off - 16, i, (unsigned long long)cpu->size,
			(unsigned long long)cpu->off);
		cpu->off = cpu->off < c->s->size ? cpu->off : c->s->size;
		cpu->size = c->s->size - cpu->off;
	}
	return 0;
}

static int data(struct cur *c, struct gt_head6 *h)
{
	char kind[10];
	int ret;

	c->what = "the number of CPUs";
	ret = get32(c, &h->cpus);
	if (!ret && (!h->cpus || h->cpus > CPUS_MAX))
		return odd(c, h->cpus);
	c->what = "the head of the data";
	if (!ret)
		ret = get(c, kind, sizeof(kind));
	if (!ret && !memcmp(kind, "options  ", sizeof(kind))) {
		ret = options(c, h);
		c->what = "the head of the data";
		if (!ret)
			ret = get(c, kind, sizeof(kind));
	}
	if (ret)
		return ret;
	if (!memcmp(kind, "latency  ", sizeof(kind))) {
		h->text = c->off;
		return 0;
	}
	if (memcmp(kind, "flyrecord", sizeof(kind)))
		return gt_source_error(c->s, EBADMSG, "byte %llu: neither flyrecord nor latency",
				       (unsigned long long)c->off - sizeof(kind));
	return places(c, h);
}

int gt_head6_read(struct gt_source *s, struct gt_head6 *h)
{
	struct cur c = { .s = s };
	int ret = initial(&c, h);

	if (!ret)
		ret = headers(&c, h);
	if (!ret)
		ret = systems(&c);
	if (!ret)
		ret = tables(&c, h);
	if (!ret)
		ret = data(&c, h);
	return ret;
}

void gt_head6_free(struct gt_head6 *h)
{
	free(h->header_page);
	free(h->header_event);
	free(h->cmdlines);
	free(h->cpu);
	memset(h, 0, sizeof(*h));
}
