/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON of rocprof v1: a list of Chrome's trace events. What a dispatch, call or copy has in its
 * "args" is named as the columns of v1's tables are, and read as these are (csv.c). All values
 * are texts there. Copies, and ranges that the program named, differ from calls by the "process"
 * that they are shown under.
 */
#include "rocprof.h"
#include "json_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	  8
#define CELLS	  16
#define CELL_MAX  (4u << 20) /* bytes: what is longer is left out */
#define KEY_MAX	  24
#define EVENT	  3 /* depth in an event: the file's map, its list, the event */
#define EVENT_SET 4 /* in a map of an event */

enum table { DISPATCHES, CALLS, COPIES, TABLES };

static const char *const headers[TABLES][CELLS] = {
	[DISPATCHES] = { "KernelName", "gpu-id", "queue-id", "pid", "tid", "grd", "wgr", "lds",
			 "scr", "arch_vgpr", "accum_vgpr", "sgpr", "DispatchNs", "BeginNs",
			 "EndNs" },
	[CALLS] = { "Function", "pid", "tid", "BeginNs", "EndNs" },
	[COPIES] = { "Direction", "pid", "tid", "BeginNs", "EndNs" },
};

/**
 * struct rp_v1 - a file being read
 * @columns: of each table; @header[..].n of them
 * @list: the list that is read is that of the events; @args: the map is an event's "args"
 * @key: of the value that comes next; @cell: texts of the event at hand
 * @shown, @copies, @markers: "process" that the event, copies, or the program's ranges are shown
 *	under
 */
struct rp_v1 {
	struct rp_walk walk;
	uint64_t events;
	struct rp_columns columns[TABLES];
	unsigned int depth;
	bool list, args;
	char key[KEY_MAX];
	struct {
		char key[KEY_MAX], *text;
		size_t len;
	} cell[CELLS];
	unsigned int cells;
	long long shown, copies, markers;
};

static bool v1_detect(const char *head, size_t len)
{
	static const char mark[] = "{\"traceEvents\":[";
	char first[128];

	rp_squeeze(first, head, len);
	return !strncmp(first, mark, sizeof(mark) - 1) && memmem(head, len, "\"BeginNs\"", 9);
}

static void forget(struct rp_v1 *v)
{
	while (v->cells)
		free(v->cell[--v->cells].text);
	v->shown = -1;
}

/* What stands in the event under the name of a column */
static int cell_of(const struct rp_v1 *v, const char *column)
{
	if (!strcmp(column, "Function") || !strcmp(column, "Direction"))
		column = "Name";
	for (unsigned int i = 0; i < v->cells; i++)
		if (!strcmp(v->cell[i].key, column))
			return (int)i;
	return -1;
}

static void end_event(struct rp_input *in, struct rp_v1 *v)
{
	enum table t = cell_of(v, "KernelName") >= 0 ? DISPATCHES
		       : v->shown == v->copies	     ? COPIES
						     : CALLS;
	const struct rp_columns *c = &v->columns[t];
	struct rp_row row;
	bool bad = false;

	v->events++;
	if (cell_of(v, "BeginNs") < 0 || cell_of(v, "EndNs") < 0)
		return; /* an arrow between two others, or a name for people */
	rp_row_init(&row, t == CALLS && v->shown == v->markers ? RP_MARKER : c->kind);
	for (unsigned int i = 0; i < c->n && !bad; i++) {
		int at = cell_of(v, headers[t][i]);

		bad = at >= 0 &&
		      !rp_column_take(in, c, i, v->cell[at].text, v->cell[at].len, &row, NULL);
	}
	if (bad || row.name == GT_NONE32)
		rp_fault(in, "event %llu is not as others of its kind: left out",
			 (unsigned long long)v->events);
	else if (row.end < row.start)
		rp_fault(in, "event %llu ends before it begins: left out",
			 (unsigned long long)v->events);
	else
		rp_emit(in, &row);
}

static int on_key(void *arg, const unsigned char *s, size_t len)
{
	struct rp_v1 *v = ((struct rp_input *)arg)->priv;

	if (len >= KEY_MAX)
		len = 0;
	memcpy(v->key, s, len);
	v->key[len] = '\0';
	return 1;
}

static int enter(struct rp_v1 *v)
{
	return v->depth == DEPTH ? 0 : (v->depth++, 1);
}

static int on_map(void *arg)
{
	struct rp_v1 *v = ((struct rp_input *)arg)->priv;

	if (v->list && v->depth == EVENT - 1)
		forget(v);
	v->args = v->list && v->depth == EVENT && !strcmp(v->key, "args");
	return enter(v);
}

static int on_map_end(void *arg)
{
	struct rp_input *in = arg;
	struct rp_v1 *v = in->priv;

	if (v->list && v->depth == EVENT)
		end_event(in, v);
	v->args = false;
	v->depth--;
	return 1;
}

static int on_array(void *arg)
{
	struct rp_v1 *v = ((struct rp_input *)arg)->priv;

	if (v->depth == 1)
		v->list = !strcmp(v->key, "traceEvents");
	return enter(v);
}

static int on_array_end(void *arg)
{
	struct rp_v1 *v = ((struct rp_input *)arg)->priv;

	v->depth--;
	if (v->depth == 1)
		v->list = false;
	return 1;
}

static bool is_column(const char *key)
{
	for (unsigned int t = 0; t < TABLES; t++)
		for (unsigned int i = 0; i < CELLS && headers[t][i]; i++)
			if (!strcmp(key, headers[t][i]))
				return true;
	return !strcmp(key, "Name") || !strcmp(key, "name");
}

static int on_text(void *arg, const unsigned char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_v1 *v = in->priv;

	if (!v->args || v->depth != EVENT_SET || v->cells == CELLS || !is_column(v->key))
		return 1;
	if (len > CELL_MAX) {
		rp_fault(in, "event %llu has a text of more than %u bytes: left out",
			 (unsigned long long)v->events + 1, CELL_MAX);
		return 1;
	}
	v->cell[v->cells].text = malloc(len + 1); /* JSON may have a NUL in a text */
	if (!v->cell[v->cells].text)
		return 0;
	memcpy(v->cell[v->cells].text, s, len);
	v->cell[v->cells].text[len] = '\0';
	memcpy(v->cell[v->cells].key, v->key, KEY_MAX);
	v->cell[v->cells++].len = len;
	return 1;
}

static int on_integer(void *arg, long long n)
{
	struct rp_v1 *v = ((struct rp_input *)arg)->priv;
	int name;

	if (!v->list || v->depth != EVENT || strcmp(v->key, "pid"))
		return 1;
	v->shown = n;
	name = cell_of(v, "name");
	if (name >= 0 && !strcmp(v->cell[name].text, "COPY"))
		v->copies = n;
	else if (name >= 0 && !strcmp(v->cell[name].text, "Markers and Ranges"))
		v->markers = n;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_integer = on_integer,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

static int v1_open(struct rp_input *in)
{
	struct rp_v1 *v = calloc(1, sizeof(*v));

	in->priv = v;
	if (!v)
		return rp_fail(in, "no memory");
	v->copies = v->markers = -2; /* nothing is shown there */
	for (unsigned int t = 0; t < TABLES; t++) {
		unsigned int n = 0;

		while (n < CELLS && headers[t][n])
			n++;
		if (!rp_columns_bind(&v->columns[t], headers[t], n, in->s))
			return rp_fail(in, "its tables are not known");
	}
	rp_table(in, "rocprof_v1");
	return rp_walk_begin(in, &v->walk, &callbacks);
}

static bool v1_first(const struct rp_input *in)
{
	return false;
}

static int v1_feed(struct rp_input *in)
{
	struct rp_v1 *v = in->priv;

	return rp_walk_piece(in, &v->walk);
}

static void v1_close(struct rp_input *in)
{
	struct rp_v1 *v = in->priv;

	in->priv = NULL;
	if (!v)
		return;
	rp_walk_done(&v->walk);
	forget(v);
	free(v);
}

const struct rp_format rp_format_v1json = {
	.name = "rocprof_v1",
	.detect = v1_detect,
	.open = v1_open,
	.first = v1_first,
	.feed = v1_feed,
	.close = v1_close,
};
