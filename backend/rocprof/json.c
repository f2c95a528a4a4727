/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON of rocprofv3, streamed by yajl: a value is known by its key and the keys above it, whatever
 * else there is. Names and devices come before the records that mean them.
 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#define PIECE (64u << 10)

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
	j->yajl = yajl_alloc(&callbacks, NULL, in);
	j->buf = malloc(PIECE);
	if (!j->yajl || !j->buf)
		return rp_fail(in, "no memory");
	yajl_config(j->yajl, yajl_dont_validate_strings, 1);
	return 0;
}

static bool json_first(const struct rp_input *in)
{
	return false;
}

int rp_json_piece(struct rp_input *in, struct yajl_handle_t *yajl, char *buf, size_t len,
		  uint64_t *off)
{
	ssize_t n = rp_pread(in, buf, len, *off);
	yajl_status status;

	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	status = n ? yajl_parse(yajl, (unsigned char *)buf, (size_t)n) : yajl_complete_parse(yajl);
	if (status == yajl_status_ok) {
		*off += (uint64_t)n;
		return n > 0;
	}
	if (!n)
		return rp_fail(in, "is cut: it ends within its JSON, at byte %llu",
			       (unsigned long long)*off);
	return rp_fail(in,
		       status == yajl_status_client_canceled ? "is nested too deeply at byte %llu"
							     : "is no JSON from byte %llu on",
		       (unsigned long long)(*off + yajl_get_bytes_consumed(yajl)));
}

static int json_feed(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	return rp_json_piece(in, j->yajl, j->buf, PIECE, &j->off);
}

static void json_close(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	in->priv = NULL;
	if (!j)
		return;
	if (j->yajl)
		yajl_free(j->yajl);
	rp_json_free(j);
	free(j->buf);
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
