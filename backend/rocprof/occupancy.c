/* SPDX-License-Identifier: GPL-2.0 */
/* Waves of each dispatch on each compute unit, from a thread trace. */
#include "att.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct rp_occupancy *rp_occ_new(void)
{
	return calloc(1, sizeof(struct rp_occupancy));
}

void rp_occ_row(struct rp_input *in, struct rp_occupancy *o, unsigned int se, const double *number,
		unsigned int n)
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

void rp_occ_name(struct rp_input *in, struct rp_occupancy *o, unsigned int i, const char *s,
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

void rp_occ_end(struct rp_input *in, struct rp_occupancy *o)
{
	static const char head[] = "# se cu waves peak avg_waves cycles\n";
	char *text = malloc(GT_KERNEL_TEXT_MAX);
	size_t n;

	for (unsigned int i = 0; text && i < DISPATCHES; i++) {
		if (!*o->name[i])
			nameless(in, o, i);
		if (!*o->name[i] || again(o, i))
			continue;
		memcpy(text, head, sizeof(head));
		n = sizeof(head) - 1;
		n += dispatch_lines(text + n, GT_KERNEL_TEXT_MAX - n, o, i);
		if (n > sizeof(head) - 1)
			rp_tell_text(in, o->name[i], strlen(o->name[i]), GT_KT_OCCUPANCY, text, n);
	}
	free(text);
}
