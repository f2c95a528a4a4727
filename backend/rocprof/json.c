/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON of rocprofv3, streamed by yajl: a value is known by its key and the keys above it, whatever
 * else there is. Names and devices come before the records that mean them.
 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool json_detect(const char *head, size_t len)
{
	char first[128];

	rp_squeeze(first, head, len);
	return first[0] == '{' && strstr(first, "\"rocprofiler-sdk-tool\"");
}

/* Where in the file something is: the key of the map that is @up levels above the value */
static uint8_t key_at(const struct rp_json *j, unsigned int up)
{
	return up < j->depth ? j->level[j->depth - up].key : 0;
}

/* The nearest key above that of the value: an array has none of its own */
static uint8_t parent_key(const struct rp_json *j)
{
	for (unsigned int up = 1; up < j->depth; up++)
		if (j->level[j->depth - up].map)
			return key_at(j, up);
	return 0;
}

static int on_key(void *arg, const unsigned char *s, size_t len)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	j->level[j->depth].key = rp_json_key((const char *)s, len);
	return 1;
}

static int enter(struct rp_json *j, bool map)
{
	if (j->depth + 1 == RP_JSON_DEPTH)
		return 0;
	j->depth++;
	j->level[j->depth].map = map;
	j->level[j->depth].key = 0;
	return 1;
}

static int on_map(void *arg)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;

	if (!enter(j, true))
		return 0;
	rp_json_begin(in, j);
	return 1;
}

static int on_map_end(void *arg)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;

	rp_json_end(in, j);
	j->depth--;
	return 1;
}

static int on_array(void *arg)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	return enter(j, false);
}

static int on_array_end(void *arg)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	j->depth--;
	return 1;
}

static int on_text(void *arg, const unsigned char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;
	uint8_t key = j->level[j->depth].map ? key_at(j, 0) : parent_key(j);

	rp_json_text(in, j, key, (const char *)s, len);
	return 1;
}

static int on_number(void *arg, const char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;
	char text[48], *end;
	uint64_t v;

	if (!j->level[j->depth].map || !len || len >= sizeof(text))
		return 1;
	memcpy(text, s, len);
	text[len] = '\0';
	errno = 0;
	v = *text == '-' ? GT_NONE64 : strtoull(text, &end, 10);
	if (*text == '-' || errno || *end)
		v = GT_NONE64;
	rp_json_number(in, j, key_at(j, 0), parent_key(j), v, strtod(text, NULL));
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_number = on_number,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* A file that is still being written does not end in a brace */
static bool whole(const struct rp_input *in)
{
	char tail[64];
	ssize_t n = rp_pread(in, tail, sizeof(tail),
			     in->s->size > sizeof(tail) ? in->s->size - sizeof(tail) : 0);

	while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
		n--;
	return n > 0 && tail[n - 1] == '}';
}

static int json_open(struct rp_input *in)
{
	struct rp_json *j = calloc(1, sizeof(*j));

	in->priv = j;
	if (!j)
		return rp_fail(in, "no memory");
	if (in->s->live && !whole(in))
		return rp_fail(in, "is being written");
	j->pid = in->s->pid;
	return rp_walk_begin(in, &j->walk, &callbacks);
}

static bool json_first(const struct rp_input *in)
{
	return false;
}

static int json_feed(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	return rp_walk_piece(in, &j->walk);
}

static void json_close(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	in->priv = NULL;
	if (!j)
		return;
	rp_walk_done(&j->walk);
	rp_json_free(j);
	free(j);
}

const struct rp_format rp_format_json = {
	.name = "json",
	.detect = json_detect,
	.open = json_open,
	.first = json_first,
	.feed = json_feed,
	.close = json_close,
};
