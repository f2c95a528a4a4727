/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions of a kernel by the time they took, from a thread trace; by samples, from PC
 * sampling. */
#include "att.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct rp_hotspots *rp_hot_new(void)
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
	char source[256] = "-";
	int n;

	if (r->source && *r->source)
		snprintf(source, sizeof(source), "%s", r->source);
	for (char *c = source; *c; c++)
		if (*c == ' ')
			*c = '_';
	if (sampled)
		n = snprintf(out, len, "%.0f %.0f %s %.200s\n", r->n[4], r->n[5], source, r->text);
	else
		n = snprintf(out, len, "%.0f %.0f %.0f %.0f %s %.200s\n", r->n[1], r->n[2], r->n[3],
			     r->n[0], source, r->text);
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

static void tell(struct rp_input *in, struct rp_hotspots *h)
{
	bool sampled = h->sum[1] == 0 && h->sum[4] + h->sum[5] > 0;
	char *text = malloc(GT_KERNEL_TEXT_MAX);
	unsigned int i;
	size_t n, more;

	if (!text || !h->name || !h->n) {
		free(text);
		return;
	}
	qsort(h->row, h->n, sizeof(*h->row), longest_first);
	n = (size_t)snprintf(text, GT_KERNEL_TEXT_MAX,
			     "# instructions: %u\n# with a source: %.2f %%\n", h->n,
			     100.0 * (double)h->mapped / h->n);
	if (!sampled)
		n += (size_t)snprintf(text + n, 256,
				      "# cycles: latency %.0f stall %.0f idle %.0f\n", h->sum[1],
				      h->sum[2], h->sum[3]);
	n += (size_t)snprintf(text + n, 256, "%s",
			      sampled ? "# issued stalled source instruction\n"
				      : "# latency stall idle hits source instruction\n");
	for (i = 0; i < h->n; i++) {
		more = line(text + n, GT_KERNEL_TEXT_MAX - 64 - n, &h->row[i], sampled);
		if (!more)
			break;
		n += more;
	}
	if (i < h->n || h->left_out)
		n += (size_t)snprintf(text + n, 64, "# %llu more\n",
				      (unsigned long long)(h->n - i + h->left_out));
	rp_tell_text(in, h->name, strlen(h->name), GT_KT_HOTSPOTS, text, n);
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

void rp_hot_row(struct rp_input *in, struct rp_hotspots *h, const double *number, char **text)
{
	struct row *r;

	if (!text[TEXT]) {
		rp_fault(in, "a row of the code has no instruction: left out");
		return;
	}
	if (!strncmp(text[TEXT], "; ",
		     2)) { /* a kernel begins; its source column has its name as people write it */
		tell(in, h);
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

void rp_hot_end(struct rp_input *in, struct rp_hotspots *h)
{
	if (h->n && !h->name)
		rp_fault(in, "the code belongs to no kernel");
	tell(in, h);
	clear(h);
}

void rp_hot_free(struct rp_hotspots *h)
{
	if (!h)
		return;
	clear(h);
	free(h->row);
	free(h);
}
