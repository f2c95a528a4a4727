/* SPDX-License-Identifier: GPL-2.0 */
/* Names of functions by number, as NAME records tell them. */
#include <stdlib.h>
#include <string.h>

#include "../../backend/callname.h"
#include "internal.h"

static bool make_room(struct gt_model *m, uint64_t id)
{
	unsigned int n = m->nfunctions ? 2 * m->nfunctions : 64;
	void *p;

	if (id < m->nfunctions)
		return true;
	if (id >= GT_MAX_FUNCTIONS)
		return false;
	while (n <= id)
		n *= 2;
	p = reallocarray(m->functions, n, sizeof(*m->functions));
	if (!p)
		return false;
	m->functions = p;
	memset(m->functions[m->nfunctions], 0, (n - m->nfunctions) * sizeof(*m->functions));
	m->nfunctions = n;
	return true;
}

void gt_function_name(struct gt_model *m, const struct gt_name *n)
{
	if (n->part >= GT_CALLNAME_RECORDS || !make_room(m, n->id))
		return;
	gt_callname_piece(m->functions[n->id], n);
	m->gen++;
}
