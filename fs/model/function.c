/* SPDX-License-Identifier: GPL-2.0 */
/* Names of functions by number, as NAME records tell them. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PIECE sizeof(((struct gt_name *)0)->text)
static_assert(GT_FUNCTION_NAME % PIECE == 0, "a name is made of whole pieces");

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
	char *name;

	if (n->part >= GT_FUNCTION_NAME / PIECE || !make_room(m, n->id))
		return;
	name = m->functions[n->id];
	/* A piece whose first ones were never told would be taken for the whole. */
	if (strnlen(name, GT_FUNCTION_NAME) < n->part * PIECE)
		return;
	memset(name + n->part * PIECE, 0, GT_FUNCTION_NAME - n->part * PIECE);
	memcpy(name + n->part * PIECE, n->text, strnlen(n->text, PIECE));
	name[GT_FUNCTION_NAME - 1] = '\0';
	m->gen++;
}
