/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What writes text writes it nearly in order of time: what comes waits in a window and leaves it in
 * order.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE GT_WINDOW_MAX

int gt_window_init(struct gt_window *w)
{
	w->slot = calloc(SIZE, sizeof(*w->slot));
	w->order = malloc(2 * SIZE * sizeof(*w->order));
	w->unused = malloc(SIZE * sizeof(*w->unused));
	if (!w->slot || !w->order || !w->unused)
		return -1;
	w->head = w->tail = 0;
	for (w->nunused = 0; w->nunused < SIZE; w->nunused++)
		w->unused[w->nunused] = (uint16_t)(SIZE - 1 - w->nunused);
	return 0;
}

void gt_window_free(struct gt_window *w)
{
	for (unsigned int i = 0; w->slot && i < SIZE; i++)
		free(w->slot[i].data);
	free(w->slot);
	free(w->order);
	free(w->unused);
	*w = (struct gt_window){ 0 };
}

/* A slot goes behind all that are not later. */
static void enqueue(struct gt_window *w, uint16_t slot)
{
	uint64_t ts = w->slot[slot].item.ts;
	unsigned int i;

	if (w->tail == 2 * SIZE) {
		memmove(w->order, w->order + w->head, (w->tail - w->head) * sizeof(*w->order));
		w->tail -= w->head;
		w->head = 0;
	}
	for (i = w->tail; i > w->head && w->slot[w->order[i - 1]].item.ts > ts; i--)
		w->order[i] = w->order[i - 1];
	w->order[i] = slot;
	w->tail++;
}

int gt_window_put(struct gt_window *w, const struct gt_item *it)
{
	uint16_t i = w->unused[w->nunused - 1];
	struct gt_slot *slot = &w->slot[i];

	if (slot->cap < it->len) {
		char *data = realloc(slot->data, it->len);

		if (!data)
			return -ENOMEM;
		slot->data = data;
		slot->cap = it->len;
	}
	slot->item = *it;
	slot->item.data = it->len ? slot->data : "";
	if (it->len)
		memcpy(slot->data, it->data, it->len);
	w->nunused--;
	enqueue(w, i);
	return 0;
}

bool gt_window_get(struct gt_window *w, struct gt_item *out)
{
	uint16_t i;

	if (w->head == w->tail)
		return false;
	i = w->order[w->head++];
	w->unused[w->nunused++] = i;
	*out = w->slot[i].item;
	return true;
}
