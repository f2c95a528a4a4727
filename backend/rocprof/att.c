/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread trace (ATT) as the decoder left it in a folder ui_output_agent_*: code.json has a row
 * for each instruction, occupancy.json one for each wave that began or ended. Both become texts of
 * their kernels.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocprof.h"
#include "json_stream.h"

/* Rows of both files */
#define RP_ATT_CELLS 12	  /* of a row that are looked at */
#define RP_ATT_TEXT  1024 /* bytes of one */

struct rp_hotspots;
struct rp_occupancy;

/* Instructions of a kernel by the time they took, from a thread trace; by samples, from PC
 * sampling. */

#define ROWS_MAX (1u << 18) /* of a kernel */

enum { TEXT = 0, SOURCE = 3, HIT = 6, LATENCY, STALL, IDLE, ISSUED, STALLED };

/** struct row - an instruction; @n: hits to idle, or with PC sampling issued and stalled */
struct row {
	char *text, *source;
	double n[6];
};

struct rp_hotspots {
	char *name;
	struct row *row;
	unsigned int n, room;
	uint64_t left_out, mapped;
	double sum[6];
};

static struct rp_hotspots *rp_hot_new(void)
{
	return calloc(1, sizeof(struct rp_hotspots));
}

static void clear(struct rp_hotspots *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		free(h->row[i].text);
		free(h->row[i].source);
	}
	free(h->name);
	h->name = NULL;
	h->n = 0;
	h->left_out = h->mapped = 0;
	memset(h->sum, 0, sizeof(h->sum));
}

static int longest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double d = y->n[1] + y->n[4] + y->n[5] - x->n[1] - x->n[4] - x->n[5];

	return d > 0 ? 1 : d < 0 ? -1 : 0;
}

static size_t line(char *out, size_t len, const struct row *r, bool sampled)
{
	char source[256] = "-", instruction[512];
	int n;

	if (r->source && *r->source)
		gt_word(source, sizeof(source), r->source);
	gt_word(instruction, sizeof(instruction), r->text);
	if (sampled)
		n = snprintf(out, len, "- - - - %.0f %.0f %s %s\n", r->n[4], r->n[5], source,
			     instruction);
	else
		n = snprintf(out, len, "%.0f %.0f %.0f %.0f - - %s %s\n", r->n[1], r->n[2], r->n[3],
			     r->n[0], source, instruction);
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

static void emit_hotspots(struct rp_input *in, struct rp_hotspots *h)
{
	bool sampled = h->sum[1] == 0 && h->sum[4] + h->sum[5] > 0;
	char *text = malloc(GT_KERNEL_TEXT_MAX);
	unsigned int i;
	size_t n = 0, more;

	if (!text || !h->name || !h->n) {
		free(text);
		return;
	}
	qsort(h->row, h->n, sizeof(*h->row), longest_first);
	for (i = 0; i < h->n; i++) {
		more = line(text + n, GT_KERNEL_TEXT_MAX - n, &h->row[i], sampled);
		if (!more)
			break;
		n += more;
	}
	rp_emit_text(in, h->name, strlen(h->name), GT_KT_HOTSPOTS, text, n);
	n = (size_t)snprintf(text, GT_KERNEL_TEXT_MAX,
			     "instructions %u\nwith_source_percent %.2f\nrows_left_out %llu\n",
			     h->n, 100.0 * (double)h->mapped / h->n,
			     (unsigned long long)(h->n - i + h->left_out));
	if (!sampled)
		n += (size_t)snprintf(text + n, GT_KERNEL_TEXT_MAX - n,
				      "latency_cycles %.0f\nstall_cycles %.0f\nidle_cycles %.0f\n",
				      h->sum[1], h->sum[2], h->sum[3]);
	rp_emit_text(in, h->name, strlen(h->name), GT_KT_HOTSPOTS_STATS, text, n);
	free(text);
}

static struct row *new_row(struct rp_hotspots *h)
{
	unsigned int room = h->room ? 2 * h->room : 1024;
	struct row *more;

	if (h->n == h->room) {
		more = room <= ROWS_MAX ? reallocarray(h->row, room, sizeof(*more)) : NULL;
		if (!more) {
			h->left_out++;
			return NULL;
		}
		h->row = more;
		h->room = room;
	}
	return &h->row[h->n++];
}

/** rp_hot_row() - a row of code.json: text, -, line, source, object, address, hits, latency, stall,
 * idle, issued, stalled. Its texts may be taken: set to NULL then */
static void rp_hot_row(struct rp_input *in, struct rp_hotspots *h, const double *number,
		       char **text)
{
	struct row *r;

	if (!text[TEXT]) {
		rp_fault(in, "a row of the code has no instruction: left out");
		return;
	}
	if (!strncmp(text[TEXT], "; ",
		     2)) { /* a kernel begins; its source column has its name as people write it */
		emit_hotspots(in, h);
		clear(h);
		h->name = strdup(text[SOURCE] && *text[SOURCE] ? text[SOURCE] : text[TEXT] + 2);
		return;
	}
	r = new_row(h);
	if (!r)
		return;
	r->text = text[TEXT];
	r->source = text[SOURCE];
	text[TEXT] = text[SOURCE] = NULL;
	h->mapped += r->source && *r->source;
	for (unsigned int i = 0; i < 6; i++) {
		r->n[i] = number[HIT + i] >= 0 && number[HIT + i] < 1e18 ? number[HIT + i] : 0;
		h->sum[i] += r->n[i];
	}
}

/** rp_hot_end() - there are no more: the last kernel is emitted, like each when the next begins */
static void rp_hot_end(struct rp_input *in, struct rp_hotspots *h)
{
	if (h->n && !h->name)
		rp_fault(in, "the code belongs to no kernel");
	emit_hotspots(in, h);
	clear(h);
}

static void rp_hot_free(struct rp_hotspots *h)
{
	if (!h)
		return;
	clear(h);
	free(h->row);
	free(h);
}

/* Waves of each dispatch on each compute unit, from a thread trace. */

#define DISPATCHES 64
#define SES	   32
#define CUS	   64

/** struct unit - a compute unit during a dispatch; times are cycles, @integral is waves by cycles
 */
struct unit {
	uint64_t waves, first, last, at, integral;
	uint32_t now, peak;
};

struct rp_occupancy {
	struct unit unit[DISPATCHES][SES][CUS];
	char name[DISPATCHES][512];
	uint64_t strange;
};

static struct rp_occupancy *rp_occ_new(void)
{
	return calloc(1, sizeof(struct rp_occupancy));
}

/** rp_occ_row() - a row of occupancy.json: time, CU, SIMD, slot, began or ended, dispatch */
static void rp_occ_row(struct rp_input *in, struct rp_occupancy *o, unsigned int se,
		       const double *number, unsigned int n)
{
	uint64_t ts = number[0] >= 0 && number[0] < 9e18 ? (uint64_t)number[0] : 0;
	struct unit *u;

	if (n < 6 || se >= SES || !(number[1] >= 0 && number[1] < CUS) ||
	    !(number[5] >= 0 && number[5] < DISPATCHES)) {
		if (!o->strange++)
			rp_fault(in, "a wave of no dispatch or unit that there could be: left out");
		return;
	}
	u = &o->unit[(unsigned int)number[5]][se][(unsigned int)number[1]];
	if (u->waves && ts > u->at)
		u->integral += u->now * (ts - u->at);
	if (ts > u->at || !u->waves)
		u->at = ts;
	if (number[4] != 0) {
		if (!u->waves++)
			u->first = ts;
		if (++u->now > u->peak)
			u->peak = u->now;
	} else if (u->now) {
		u->now--;
	}
	if (ts > u->last)
		u->last = ts;
}

/** rp_occ_name() - which kernel dispatch @i is */
static void rp_occ_name(struct rp_input *in, struct rp_occupancy *o, unsigned int i, const char *s,
			size_t len)
{
	if (i < DISPATCHES)
		snprintf(o->name[i], sizeof(o->name[i]), "%.*s", (int)(len < 511 ? len : 511), s);
}

static size_t unit_line(char *out, size_t len, unsigned int se, unsigned int cu,
			const struct unit *u)
{
	double cycles = (double)(u->last - u->first);
	int n = snprintf(out, len, "%u %u %llu %u %.2f %.0f\n", se, cu,
			 (unsigned long long)u->waves, u->peak,
			 cycles > 0 ? (double)u->integral / cycles : 0, cycles);

	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

static size_t dispatch_lines(char *out, size_t len, const struct rp_occupancy *o, unsigned int i)
{
	size_t n = 0;

	for (unsigned int se = 0; se < SES; se++)
		for (unsigned int cu = 0; cu < CUS; cu++)
			if (o->unit[i][se][cu].waves)
				n += unit_line(out + n, len - n, se, cu, &o->unit[i][se][cu]);
	return n;
}

/* A kernel that was dispatched several times has the first of these that was traced */
static bool again(const struct rp_occupancy *o, unsigned int i)
{
	static char few[64];

	for (unsigned int k = 0; k < i; k++)
		if (!strcmp(o->name[k], o->name[i]) && dispatch_lines(few, sizeof(few), o, k))
			return true;
	return false;
}

static void nameless(struct rp_input *in, const struct rp_occupancy *o, unsigned int i)
{
	char few[64];

	if (dispatch_lines(few, sizeof(few), o, i))
		rp_fault(in, "the waves of dispatch %u are of no kernel that is named: left out",
			 i);
}

static void rp_occ_end(struct rp_input *in, struct rp_occupancy *o)
{
	char *text = malloc(GT_KERNEL_TEXT_MAX);
	size_t n;

	for (unsigned int i = 0; text && i < DISPATCHES; i++) {
		if (!*o->name[i])
			nameless(in, o, i);
		if (!*o->name[i] || again(o, i))
			continue;
		n = dispatch_lines(text, GT_KERNEL_TEXT_MAX, o, i);
		if (n)
			rp_emit_text(in, o->name[i], strlen(o->name[i]), GT_KT_OCCUPANCY, text, n);
	}
	free(text);
}

#define DEPTH 16

/**
 * struct rp_att - a file being read
 * @depth: of maps and arrays; @key: of the outermost map; @inner: of the map in it
 * @at: place in a row, an array in an array; @number, @text: its cells
 */
struct rp_att {
	struct rp_walk walk;
	unsigned int depth;
	char key[24], inner[24];
	unsigned int at;
	double number[RP_ATT_CELLS];
	char *text[RP_ATT_CELLS];
	struct rp_hotspots *hot;
	struct rp_occupancy *occ;
	bool map[DEPTH];
};

static struct rp_att *att_of(void *arg)
{
	return ((struct rp_input *)arg)->priv;
}

static void clear_row(struct rp_att *a)
{
	for (unsigned int i = 0; i < RP_ATT_CELLS; i++) {
		free(a->text[i]);
		a->text[i] = NULL;
		a->number[i] = 0;
	}
	a->at = 0;
}

static int enter(struct rp_att *a, bool map)
{
	if (a->depth + 1 == DEPTH)
		return 0;
	a->map[++a->depth] = map;
	if (a->depth == 3)
		clear_row(a);
	return 1;
}

static int on_map(void *arg)
{
	return enter(att_of(arg), true);
}

static int on_array(void *arg)
{
	return enter(att_of(arg), false);
}

static bool in_row(const struct rp_att *a)
{
	return a->depth == 3 && !a->map[3] && !a->map[2];
}

static int leave(void *arg)
{
	struct rp_input *in = arg;
	struct rp_att *a = in->priv;

	if (in_row(a) && a->hot && !strcmp(a->key, "code"))
		rp_hot_row(in, a->hot, a->number, a->text);
	else if (in_row(a) && a->occ)
		rp_occ_row(in, a->occ, (unsigned int)atoi(a->key), a->number, a->at);
	if (a->depth == 4)
		a->at++;
	a->depth--;
	return 1;
}

static int on_key(void *arg, const unsigned char *s, size_t len)
{
	struct rp_att *a = att_of(arg);
	char *to = a->depth == 1 ? a->key : a->depth == 2 ? a->inner : NULL;

	if (to)
		snprintf(to, sizeof(a->key), "%.*s", (int)(len < 23 ? len : 23), (const char *)s);
	return 1;
}

static int on_text(void *arg, const unsigned char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_att *a = in->priv;

	if (in_row(a) && a->at < RP_ATT_CELLS)
		a->text[a->at++] = strndup((const char *)s, len < RP_ATT_TEXT ? len : RP_ATT_TEXT);
	else if (a->depth == 2 && a->occ && !strcmp(a->key, "dispatches"))
		rp_occ_name(in, a->occ, (unsigned int)atoi(a->inner), (const char *)s, len);
	return 1;
}

static int on_number(void *arg, const char *s, size_t len)
{
	struct rp_att *a = att_of(arg);
	char text[32];

	if (!in_row(a) || a->at >= RP_ATT_CELLS)
		return 1;
	snprintf(text, sizeof(text), "%.*s", (int)(len < 31 ? len : 31), s);
	a->number[a->at++] = strtod(text, NULL);
	return 1;
}

static int on_null(void *arg)
{
	struct rp_att *a = att_of(arg);

	a->at += in_row(a) && a->at < RP_ATT_CELLS;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_number = on_number,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = leave,
	.yajl_start_array = on_array,
	.yajl_end_array = leave,
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* {"1":[[108012, ... */
static bool is_occupancy(const char *first)
{
	size_t n;

	if (begins(first, "{\"dispatches\":"))
		return true;
	n = begins(first, "{\"") ? strspn(first + 2, "0123456789") : 0;
	return n && begins(first + 2 + n, "\":[[");
}

static bool att_detect(const char *head, size_t len)
{
	char first[128];

	rp_squeeze(first, head, len);
	return begins(first, "{\"code\":") || is_occupancy(first);
}

static int att_open(struct rp_input *in)
{
	struct rp_att *a = calloc(1, sizeof(*a));
	char head[256], first[128];
	ssize_t n = rp_pread(in, head, sizeof(head), 0);

	in->priv = a;
	if (!a || n < 0)
		return rp_fail(in, "no memory");
	rp_squeeze(first, head, (size_t)n);
	if (is_occupancy(first))
		a->occ = rp_occ_new();
	else
		a->hot = rp_hot_new();
	if (!a->occ && !a->hot)
		return rp_fail(in, "no memory");
	rp_table(in, a->occ ? "att_occupancy" : "att_code");
	return rp_walk_begin(in, &a->walk, &callbacks);
}

static bool att_first(const struct rp_input *in)
{
	return false;
}

static int att_feed(struct rp_input *in)
{
	struct rp_att *a = in->priv;

	if (rp_walk_piece(in, &a->walk) > 0)
		return 1;
	if (a->hot)
		rp_hot_end(in, a->hot);
	else
		rp_occ_end(in, a->occ);
	return 0;
}

static void att_close(struct rp_input *in)
{
	struct rp_att *a = in->priv;

	in->priv = NULL;
	if (!a)
		return;
	rp_walk_done(&a->walk);
	clear_row(a);
	rp_hot_free(a->hot);
	free(a->occ);
	free(a);
}

const struct rp_format rp_format_att = {
	.name = "att",
	.last = true,
	.detect = att_detect,
	.open = att_open,
	.first = att_first,
	.feed = att_feed,
	.close = att_close,
};
