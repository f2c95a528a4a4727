/* SPDX-License-Identifier: GPL-2.0 */
/* Files that tell who a process is: comm, uid, cgroup, and what the cgroup's path says. */
#include <errno.h>
#include <string.h>

#include "../container.h"
#include "lines.h"

/** struct who - identity, copied */
struct who {
	uint32_t uid;
	bool dead;
	char comm[16], cgroup[GT_CGROUP_MAX];
};

static int take_who(const struct gt_show *s, struct who *w)
{
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	w->uid = p->uid;
	w->dead = p->dead;
	memcpy(w->comm, p->comm, sizeof(w->comm));
	memcpy(w->cgroup, p->cgroup, sizeof(w->cgroup));
	return 0;
}

enum { COMM, UID, CGROUP, RUNTIME, CONTAINER, POD, JOB, UNIT, STATE, NFILES };
static const char *const names[NFILES] = { "comm", "uid", "cgroup", "runtime", "container",
					   "pod",  "job", "unit",   "state" };

/* "" where it does not say */
static const char *said(const struct gt_container *c, int what)
{
	switch (what) {
	case RUNTIME:
		return c->runtime;
	case CONTAINER:
		return c->container;
	case POD:
		return c->pod;
	case JOB:
		return c->job;
	default:
		return c->unit;
	}
}

/* Nothing where it is not known */
static void put(struct gt_text *t, const struct who *w, int what)
{
	struct gt_container c;

	switch (what) {
	case COMM:
		if (w->comm[0])
			gt_cell_word(t, w->comm, sizeof(w->comm));
		break;
	case UID:
		if (w->uid != GT_NONE32)
			gt_cell_u32(t, w->uid);
		break;
	case CGROUP:
		if (w->cgroup[0])
			gt_cell_word(t, w->cgroup, sizeof(w->cgroup));
		break;
	case STATE:
		gt_text_str(t, w->dead ? "dead" : "alive");
		break;
	default:
		gt_container_of(w->cgroup, &c);
		if (*said(&c, what))
			gt_cell_word(t, said(&c, what), sizeof(c.unit));
	}
}

int gt_show_who(struct gt_text *t, const struct gt_show *s)
{
	int what = 0, err;
	struct who w;

	while (what < STATE && strcmp(s->file->name, names[what]))
		what++;
	err = take_who(s, &w);
	if (err)
		return err;
	put(t, &w, what);
	if (!t->len)
		return -ENODEV;
	gt_text_ch(t, '\n');
	return 0;
}

bool gt_has_who(const struct gt_show *s)
{
	struct gt_text t;
	bool has;

	gt_text_init(&t, 0);
	has = !gt_show_who(&t, s);
	gt_text_free(&t);
	return has;
}
