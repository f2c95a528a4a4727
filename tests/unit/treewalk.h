/* SPDX-License-Identifier: GPL-2.0 */
/* The whole tree, walked as readdir and lookup tell it. */
#ifndef GT_TESTS_TREEWALK_H
#define GT_TESTS_TREEWALK_H

#include "../lib/treebed.h"

struct walk {
	struct gt_obj dir;
	ino_t *inos;
	unsigned int n, bad;
};

static inline void walk(struct walk *w);

/* What readdir says of a name, lookup says too; and down it goes. */
static inline bool walk_one(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next)
{
	struct walk *w = arg, down = *w;
	struct gt_entry e;
	int ret = gt_tree_lookup(&app, &w->dir, name, &root_view, &e);

	if (ret || e.ino != ino || !ino || (e.mode & S_IFMT) != type || strchr(name, '/') ||
	    next >= 1U << 31) {
		printf("# %s: %d\n", name, ret);
		w->bad++;
	}
	w->inos[w->n++] = ino;
	if (ret || e.kind != GT_ENTRY_DIR)
		return true;
	down.n = w->n;
	down.dir = e.obj;
	down.bad = 0;
	walk(&down);
	w->n = down.n;
	w->bad += down.bad;
	return true;
}

static inline void walk(struct walk *w)
{
	struct gt_obj up = gt_tree_parent(&w->dir);

	w->bad += gt_tree_readdir(&app, &w->dir, &root_view, 0, walk_one, w) != 0;
	w->bad += !gt_tree_alive(&app, &w->dir) || !gt_tree_alive(&app, &up);
}

static inline int by_ino(const void *a, const void *b)
{
	ino_t x = *(const ino_t *)a, y = *(const ino_t *)b;

	return (x > y) - (x < y);
}

static inline void test_walk(void)
{
	struct walk w = { .dir = gt_tree_root, .inos = calloc(1 << 20, sizeof(ino_t)) };
	unsigned int twice = 0;

	walk(&w);
	is(w.bad, 0, "readdir, lookup, parent and alive agree on the whole tree");
	ok(w.n > 200, "there is a tree: %u names", w.n);
	qsort(w.inos, w.n, sizeof(*w.inos), by_ino);
	for (unsigned int i = 1; i < w.n; i++)
		twice += w.inos[i] == w.inos[i - 1];
	is(twice, 0, "inode numbers are unique");
	free(w.inos);
}

#endif
