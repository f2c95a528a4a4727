/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CSV tables of every version, split by libcsv: what a column is, its name says (columns.c). A row
 * that does not fit is left out and counted; a second header, as where files were put together,
 * begins anew.
 */
#include "columns.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	 (64u << 10)
#define CELL_MAX (4u << 20) /* bytes: what is longer is a fault */

/**
 * struct rp_csv - a table being read
 * @cells: of the row at hand so far; @bad: it does not fit
 * @head, @nhead: cells of the header
 */
struct rp_csv {
	struct csv_parser parser;
	struct rp_columns columns;
	bool have_header, bad, in_header;
	unsigned int cells;
	uint64_t off, line, end;
	struct rp_row row;
	struct rp_agent agent;
	char **head;
	unsigned int nhead;
	char buf[PIECE];
};

static bool csv_detect(const char *head, size_t len)
{
	size_t line = 0;

	while (line < len && head[line] != '\n')
		line++;
	if (memchr(head, '\0', len) || head[0] == '{' || head[0] == '[')
		return false;
	return memchr(head, ',', line);
}

static void free_head(struct rp_csv *c)
{
	for (unsigned int i = 0; i < c->nhead; i++)
		free(c->head[i]);
	free(c->head);
	c->head = NULL;
	c->nhead = 0;
}

static void head_cell(struct rp_csv *c, const char *s, size_t len)
{
	char **more =
		c->nhead < RP_COLUMNS ? reallocarray(c->head, c->nhead + 1, sizeof(*more)) : NULL;

	if (!more)
		return;
	c->head = more;
	c->head[c->nhead] = strndup(s, len < 64 ? len : 64);
	c->nhead += c->head[c->nhead] != NULL;
}

static void on_cell(void *data, size_t len, void *arg)
{
	struct rp_input *in = arg;
	struct rp_csv *c = in->priv;
	const char *s = data ? data : "";
	unsigned int i = c->cells++;

	if (!i && (!c->have_header || rp_columns_first(&c->columns, s, len))) {
		c->in_header = true;
		free_head(c);
	}
	if (c->in_header) {
		head_cell(c, s, len);
		return;
	}
	if (!i) {
		rp_row_init(&c->row, c->columns.kind);
		memset(&c->agent, 0xff, sizeof(c->agent));
		c->agent.gpu = false;
		c->bad = false;
	}
	if (i < c->columns.n && !rp_column_take(in, &c->columns, i, s, len, &c->row, &c->agent))
		c->bad = true;
}

static void end_header(struct rp_input *in, struct rp_csv *c)
{
	c->in_header = false;
	c->have_header =
		rp_columns_bind(&c->columns, (const char *const *)c->head, c->nhead, in->s);
	if (c->have_header)
		rp_table(in, c->columns.name);
}

static void on_row(int end, void *arg)
{
	struct rp_input *in = arg;
	struct rp_csv *c = in->priv;
	unsigned int cells = c->cells;
	struct rp_row *r = &c->row;

	c->cells = 0;
	c->line++;
	if (c->in_header) {
		end_header(in, c);
		return;
	}
	if (!cells || !c->have_header)
		return;
	if (cells != c->columns.n || c->bad) {
		rp_fault(in, "row %llu does not fit its header: left out",
			 (unsigned long long)c->line);
		return;
	}
	if (c->columns.agents) {
		rp_tell_agent(in, &c->agent);
		return;
	}
	if (r->start != GT_NONE64 && r->end != GT_NONE64 && r->end < r->start) {
		rp_fault(in, "row %llu ends before it begins: left out",
			 (unsigned long long)c->line);
		return;
	}
	rp_emit(in, r);
}

/* Behind the last newline: what follows may not be whole yet */
static uint64_t whole_lines(struct rp_input *in, struct rp_csv *c)
{
	uint64_t end = in->s->size, from = end > PIECE ? end - PIECE : 0;
	ssize_t n = rp_pread(in, c->buf, PIECE, from);
	const char *nl = n > 0 ? memrchr(c->buf, '\n', (size_t)n) : NULL;

	return nl ? from + (uint64_t)(nl - c->buf) + 1 : 0;
}

static int csv_open(struct rp_input *in)
{
	struct rp_csv *c = calloc(1, sizeof(*c));

	in->priv = c;
	if (!c || csv_init(&c->parser, CSV_APPEND_NULL))
		return rp_fail(in, "no memory");
	c->end = in->s->live ? whole_lines(in, c) : in->packed ? UINT64_MAX : in->s->size;
	if (!c->end)
		return 0;
	/* as much as tells what it is */
	while (!c->have_header) {
		ssize_t n = rp_pread(in, c->buf, 4096, c->off);

		if (n <= 0 || c->line > 8)
			break;
		for (ssize_t i = 0; i < n && !c->have_header; i++, c->off++)
			csv_parse(&c->parser, &c->buf[i], 1, on_cell, on_row, in);
	}
	if (c->have_header && !c->columns.agents && in->s->at[0] > c->off)
		c->off = in->s->at[0];
	if (!c->have_header)
		return rp_fail(in, "has no header of a table of rocprof's: \"%.40s\" ...",
			       c->nhead ? c->head[0] : "");
	return 0;
}

static bool csv_first(const struct rp_input *in)
{
	const struct rp_csv *c = in->priv;

	return c->columns.agents;
}

static int csv_feed(struct rp_input *in)
{
	struct rp_csv *c = in->priv;
	uint64_t at[RP_PLACES] = { c->off }, left = c->end > c->off ? c->end - c->off : 0;
	ssize_t n = rp_pread(in, c->buf, left < PIECE ? left : PIECE, c->off);

	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	if (n == 0) {
		if (!in->s->live)
			csv_fini(&c->parser, on_cell, on_row, in);
		rp_tell_at(in, at);
		return 0;
	}
	c->off += (uint64_t)n;
	if (csv_parse(&c->parser, c->buf, (size_t)n, on_cell, on_row, in) != (size_t)n)
		return rp_fail(in, "row %llu: %s", (unsigned long long)c->line + 1,
			       csv_strerror(csv_error(&c->parser)));
	if (c->parser.entry_pos > CELL_MAX)
		return rp_fail(in, "row %llu has a cell of more than %u bytes",
			       (unsigned long long)c->line + 1, CELL_MAX);
	return 1;
}

static void csv_close(struct rp_input *in)
{
	struct rp_csv *c = in->priv;

	in->priv = NULL;
	if (!c)
		return;
	csv_free(&c->parser);
	free_head(c);
	free(c);
}

const struct rp_format rp_format_csv = {
	.name = "csv",
	.detect = csv_detect,
	.open = csv_open,
	.first = csv_first,
	.feed = csv_feed,
	.close = csv_close,
};
