/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A number belongs to a name, so a function of a module that is loaded again keeps it. Numbers stay after
 * the backend has stopped, since older records refer to them.
 */
#include "callname.h"
#include "../backend.h"

#include <stdlib.h>
#include <string.h>

#define NAME_HASH 4096

/* Names by number; @next: of the same hash, number + 1, 0 none */
static struct {
	char *name[GT_MAX_FUNCTIONS];
	uint32_t next[GT_MAX_FUNCTIONS];
	uint32_t head[NAME_HASH];
	uint32_t n;
} ids;

static void __attribute__((destructor)) free_ids(void)
{
	for (uint32_t i = 0; i < ids.n; i++)
		free(ids.name[i]);
	ids.n = 0;
}

uint32_t gt_callname_id(const char *name, size_t len)
{
	uint32_t hash = 2166136261u, i; /* FNV-1a */

	if (len >= GT_FUNCTION_NAME)
		return GT_NONE32;
	for (size_t k = 0; k < len; k++)
		hash = (hash ^ (uint8_t)name[k]) * 16777619u;
	hash = (hash ^ hash >> 16) % NAME_HASH;
	for (i = ids.head[hash]; i; i = ids.next[i - 1])
		if (strlen(ids.name[i - 1]) == len && !memcmp(ids.name[i - 1], name, len))
			return i - 1;
	if (ids.n == GT_MAX_FUNCTIONS)
		return GT_NONE32;
	ids.name[ids.n] = strndup(name, len);
	if (!ids.name[ids.n])
		return GT_NONE32;
	ids.next[ids.n] = ids.head[hash];
	ids.head[hash] = ids.n + 1;
	return ids.n++;
}

size_t gt_callname_base(const char *name, size_t len)
{
	static const char *const versions[] = { ".constprop.", ".isra." };
	const char *dot = memchr(name, '.', len);
	size_t base = dot ? (size_t)(dot - name) : len;

	for (size_t i = 0; i < 2; i++)
		if (len - base > strlen(versions[i]) &&
		    !memcmp(name + base, versions[i], strlen(versions[i])))
			return base;
	return len;
}

unsigned int gt_callname_records(uint32_t id, uint64_t ts, union gt_record *out)
{
	const size_t piece = GT_CALLNAME_PIECE;
	size_t len = strlen(ids.name[id]);
	unsigned int n = 0;

	for (size_t at = 0; at < len; at += piece, n++) {
		gt_record_init(&out[n], ts, (enum gt_type)GT_NAME);
		out[n].name.id = id;
		out[n].name.kind = GT_NAME_FUNCTION;
		out[n].name.part = n;
		memset(out[n].name.text, 0, piece);
		memcpy(out[n].name.text, ids.name[id] + at, len - at < piece ? len - at : piece);
	}
	return n;
}
