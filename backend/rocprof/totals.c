/* SPDX-License-Identifier: GPL-2.0 */
/* Calls by function, and operations on memory: tables under backends/rocprof/. */
#include "../detail.h"
#include "tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An earlier file may have named it */
static uint16_t call_of(struct rp_teller *t, const char *name)
{
	char *own;

	for (unsigned int i = 0; i < t->ncalls; i++)
		if (!strcmp(t->call[i].name, name))
			return (uint16_t)i;
	own = t->ncalls < RP_CALLS_MAX ? strndup(name, 256) : NULL;
	if (!own)
		return GT_NONE16;
	t->call[t->ncalls] = (struct rp_call){ .name = own, .min = GT_NONE64 };
	return (uint16_t)t->ncalls++;
}

void rp_count_call(struct rp_teller *t, struct rp_told_name *n, uint64_t calls, uint64_t total,
		   uint64_t min, uint64_t max)
{
	struct rp_call *c;

	if (n && n->call == GT_NONE16)
		n->call = call_of(t, n->text);
	if (!n || n->call == GT_NONE16) {
		t->refused++;
		return;
	}
	c = &t->call[n->call];
	c->count += calls;
	c->total += total;
	if (min < c->min)
		c->min = min;
	if (max != GT_NONE64 && max > c->max)
		c->max = max;
}

void rp_count_memory(struct rp_teller *t, const struct rp_row *r, uint16_t gpu)
{
	const char *name =
		r->name < t->names && t->name[r->name].text ? t->name[r->name].text : "-";
	struct rp_memory *m = NULL;

	for (unsigned int i = 0; i < t->nmemory && !m; i++)
		if (t->memory[i].gpu == gpu && t->memory[i].kind == r->kind &&
		    !strcmp(t->memory[i].name, name))
			m = &t->memory[i];
	if (!m) {
		char *own = t->nmemory < RP_MEMORY_MAX ? strndup(name, 256) : NULL;

		if (!own) {
			t->refused++;
			return;
		}
		m = &t->memory[t->nmemory++];
		*m = (struct rp_memory){ .name = own, .gpu = gpu, .kind = r->kind };
	}
	m->count++;
	if (r->bytes != GT_NONE64)
		m->bytes += r->bytes;
	if (r->start != GT_NONE64 && r->end != GT_NONE64 && r->end >= r->start)
		m->ns += r->end - r->start;
}

/* A name as one word, whatever its bytes are */
static void word(char out[128], const char *s)
{
	size_t i;

	for (i = 0; s[i] && i < 127; i++)
		out[i] = s[i] <= ' ' || s[i] >= 0x7f ? '_' : s[i];
	out[i] = '\0';
}

static int longest_first(const void *a, const void *b)
{
	const struct rp_call *x = a, *y = b;

	return x->total < y->total ? 1 : x->total > y->total ? -1 : strcmp(x->name, y->name);
}

static void number(char out[24], uint64_t v)
{
	snprintf(out, 24, v == GT_NONE64 ? "-" : "%llu", (unsigned long long)v);
}

void rp_show_calls(const struct rp_teller *t, char *buf, size_t len)
{
	struct rp_call *c = calloc(t->ncalls + 1, sizeof(*c));
	char name[128], min[24], max[24];
	struct gt_details d = { buf, len };

	gt_detail(&d, "# function calls total_ns min_ns max_ns\n");
	if (!c)
		return;
	memcpy(c, t->call, t->ncalls * sizeof(*c));
	qsort(c, t->ncalls, sizeof(*c), longest_first);
	for (unsigned int i = 0; i < t->ncalls && d.left > 256; i++) {
		word(name, c[i].name);
		number(min, c[i].min);
		number(max, c[i].max ? c[i].max : GT_NONE64);
		gt_detail(&d, "%s %llu %llu %s %s\n", *name ? name : "-",
			  (unsigned long long)c[i].count, (unsigned long long)c[i].total, min, max);
	}
	free(c);
}

void rp_show_memory(const struct rp_teller *t, char *buf, size_t len)
{
	char name[128], gpu[24];
	struct gt_details d = { buf, len };

	gt_detail(&d, "# kind operation gpu count bytes total_ns\n");
	for (unsigned int i = 0; i < t->nmemory && d.left > 256; i++) {
		const struct rp_memory *m = &t->memory[i];

		word(name, m->name);
		number(gpu, m->gpu == GT_NONE16 ? GT_NONE64 : m->gpu);
		gt_detail(&d, "%s %s %s %llu %llu %llu\n",
			  m->kind == RP_SCRATCH ? "scratch" : "memory", *name ? name : "-", gpu,
			  (unsigned long long)m->count, (unsigned long long)m->bytes,
			  (unsigned long long)m->ns);
	}
}
