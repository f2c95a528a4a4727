/* SPDX-License-Identifier: GPL-2.0 */
/* A host that numbers GPUs and rings by first sight and keeps what is pushed, for tests of maps. */
#ifndef GT_MAPHOST_H
#define GT_MAPHOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/eventmap/eventmap.h"

#define MAPHOST_MAX 64

static struct {
	char gpu[MAPHOST_MAX][96];  /* "driver dev minor" */
	char ring[MAPHOST_MAX][96]; /* "gpu name engine" */
	unsigned int gpus, rings, calls, pushed;
	bool full;	      /* has no room for anything new */
	const char *open[16]; /* by thread id: the device that it has open, if just one */
	unsigned int looks;
	union gt_record last;
} maphost;

static inline uint16_t maphost_number(char (*list)[96], unsigned int *n, const char *text)
{
	maphost.calls++;
	for (unsigned int i = 0; i < *n; i++)
		if (!strcmp(list[i], text))
			return (uint16_t)i;
	if (*n == MAPHOST_MAX || maphost.full)
		return GT_NONE16;
	strcpy(list[*n], text);
	return (uint16_t)(*n)++;
}

static inline uint16_t maphost_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	const char *dev = d->dev;
	char text[96];

	if (d->pid) {
		maphost.looks++;
		dev = d->pid < 16 ? maphost.open[d->pid] : NULL;
		if (!dev)
			return GT_NONE16;
	}
	snprintf(text, sizeof(text), "%s %s %d", d->driver ? d->driver : "-", dev ? dev : "-",
		 d->minor);
	return maphost_number(maphost.gpu, &maphost.gpus, text);
}

static inline uint16_t maphost_ring(struct gt_plugin *p, uint16_t gpu, const char *name,
				    enum gt_engine engine)
{
	char text[96];

	snprintf(text, sizeof(text), "%d %s %d", gpu, name, engine);
	return maphost_number(maphost.ring, &maphost.rings, text);
}

static inline void maphost_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	maphost.pushed += (unsigned int)n;
	maphost.last = r[n - 1];
}

static const struct gt_host maphost_ops = { .push = maphost_push,
					    .gpu = maphost_gpu,
					    .ring = maphost_ring };
static struct gt_plugin maphost_plugin = { .host = &maphost_ops, .recording = true };

/* A path in the source tree; GT_SRC says where that is, else here. */
static inline const char *source_path(const char *rest)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", getenv("GT_SRC") ? getenv("GT_SRC") : ".",
		 rest);
	return path[turn];
}

/* A whole file, NUL-terminated, for the test's life; "" if it cannot be read. */
static inline char *read_text(const char *path)
{
	char *text = calloc(1, 1 << 18);
	FILE *f = fopen(path, "r");
	size_t n = f && text ? fread(text, 1, (1 << 18) - 1, f) : 0;

	if (f)
		fclose(f);
	else
		printf("# cannot read %s\n", path);
	if (text)
		text[n] = '\0';
	return text;
}

/*
 * The format of @system/@event in one of tests/data/format; NULL if it is not there. @n: its
 * length, up to the next one's "system:" line.
 */
static inline const char *find_format(const char *all, const char *system, const char *event,
				      size_t *n)
{
	char head[200];
	const char *p, *end;

	snprintf(head, sizeof(head), "system: %s\nname: %s\n", system, event);
	p = strstr(all, head);
	if (!p)
		return NULL;
	end = strstr(p + 1, "\nsystem: ");
	*n = end ? (size_t)(end - p) : strlen(p);
	return p;
}

#endif
