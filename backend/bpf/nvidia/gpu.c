/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which GPU. A program opens one by a number that RM gave it, and asked RM before which GPU that is
 * (GPU_GET_ID_INFO): a GPU id is domain << 16 | bus << 8 | device of its PCI address. The numbers
 * depend on the order in which GPUs were first used, so without that answer they tell nothing.
 *
 * Answers are read from the program's memory: a GPU that the driver does not have is none.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "nvidia.h"

#define MAX_LOOKED 256 /* objects of a process that are looked at for its devices */

void gv_gpus_read(struct gv *v, const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned int x;
	char dot;

	v->npci = 0;
	while (d && (e = readdir(d)) && v->npci < GV_MAX_GPUS)
		if (strlen(e->d_name) == 12 &&
		    sscanf(e->d_name, "%4x:%2x:%2x%c%1x", &x, &x, &x, &dot, &x) == 5)
			snprintf(v->pci[v->npci++], sizeof(v->pci[0]), "%.15s", e->d_name);
	if (d)
		closedir(d);
}

uint16_t gv_gpu_any(struct gv *v)
{
	struct gt_gpu_desc d = { .driver = "nvidia", .minor = -1 };

	return v->b->p->host->gpu(v->b->p, &d);
}

static uint16_t by_id(struct gv *v, uint32_t id)
{
	struct gt_gpu_desc d = { .driver = "nvidia", .minor = -1 };
	char pci[16];

	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", id >> 16, id >> 8 & 0xff, id & 0xff);
	for (unsigned int i = 0; i < v->npci; i++)
		if (!strcmp(v->pci[i], pci))
			d.dev = pci;
	return d.dev ? v->b->p->host->gpu(v->b->p, &d) : gv_gpu_any(v);
}

uint16_t gv_gpu_of(struct gv *v, const struct gv_proc *p, uint32_t number)
{
	for (uint32_t i = 0; i < p->nids; i++)
		if (p->ids[i].number == number)
			return by_id(v, p->ids[i].id);
	return gv_gpu_any(v);
}

/* What follows @o, or is below it, where a device can be: a client's, or nobody's that is known; 0:
 * that was all */
static uint32_t next_device(const struct gv *v, uint32_t o)
{
	if (v->obj[o].kind == GT_NV_CLIENT && v->obj[o].first)
		return v->obj[o].first;
	if (!v->obj[o].next && v->obj[o].up)
		o = v->obj[o].up;
	return v->obj[o].next;
}

uint16_t gv_gpu_of_proc(struct gv *v, const struct gv_proc *p)
{
	uint16_t gpu = GT_NONE16;
	unsigned int looked = 0;

	for (uint32_t o = p->first; o; o = next_device(v, o)) {
		if (++looked > MAX_LOOKED)
			return gv_gpu_any(v);
		if (v->obj[o].kind != GT_NV_DEVICE)
			continue;
		if (gpu != GT_NONE16 && gpu != v->obj[o].gpu)
			return gv_gpu_any(v);
		gpu = v->obj[o].gpu;
	}
	return gpu == GT_NONE16 ? gv_gpu_any(v) : gpu;
}
