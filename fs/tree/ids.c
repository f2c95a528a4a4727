/* SPDX-License-Identifier: GPL-2.0 */
/* by-id/ of the root: links to GPUs by what else they are called. */
#include <stdio.h>
#include <string.h>

#include "node.h"
#include "shows.h"

/* Name @kind of @g; "" if it has none */
static void name_of(const struct gt_gpu *g, unsigned int kind, char out[GT_NAME_MAX])
{
	const char *plain[] = { g->pci, g->card, g->render, g->uuid };

	out[0] = '\0';
	if (kind < sizeof(plain) / sizeof(plain[0]) && *plain[kind])
		gt_name_escape(out, plain[kind], 48);
	else if (kind == GT_GPU_IDS - 1 && g->kfd_id)
		snprintf(out, GT_NAME_MAX, "kfd-%u", g->kfd_id);
}

/* Parts of one device may share a name: then it is the first one's. */
static bool taken(const struct gt_model *m, unsigned int gpu, unsigned int kind, const char *name)
{
	char other[GT_NAME_MAX];

	for (unsigned int i = 0; i < gpu; i++) {
		if (m->gpus[i]->gone)
			continue;
		name_of(m->gpus[i], kind, other);
		if (!strcmp(name, other))
			return true;
	}
	return false;
}

bool gt_gpu_link(const struct gt_model *m, uint32_t i, char name[GT_NAME_MAX], char target[256])
{
	unsigned int gpu = i / GT_GPU_IDS, kind = i % GT_GPU_IDS;
	char dir[GT_NAME_MAX];

	if (gpu >= m->ngpus || m->gpus[gpu]->gone)
		return false;
	name_of(m->gpus[gpu], kind, name);
	if (!*name || taken(m, gpu, kind, name))
		return false;
	gt_name_escape(dir, m->gpus[gpu]->name, sizeof(m->gpus[gpu]->name));
	snprintf(target, 256, "../%.200s", dir);
	return true;
}

bool gt_has_gpu_links(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	char name[GT_NAME_MAX], target[256];
	bool any = false;
	GT_MODEL_LOCK(s->app->model);

	for (uint32_t i = 0; !any && i < m->ngpus * GT_GPU_IDS; i++)
		any = gt_gpu_link(m, i, name, target);
	return any;
}
