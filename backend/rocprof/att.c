/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread trace (ATT) as the decoder left it in a folder ui_output_agent_*: code.json has a row
 * for each instruction, occupancy.json one for each wave that began or ended. Both become texts of
 * their kernels.
 */
#include "att.h"
#include "walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	.detect = att_detect,
	.open = att_open,
	.first = att_first,
	.feed = att_feed,
	.close = att_close,
};
