/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>

#include "internal.h"
#include "rules.h"

static const struct gb_part *const parts[GT_BPF_PARTS] = {
	[GT_BPF_IOCTL] = &gb_ioctl,
	[GT_BPF_TRACEPOINT] = &gb_tracepoint,
	[GT_BPF_NVIDIA] = &gb_nvidia,
	[GT_BPF_RUNTIME] = &gb_runtime,
};

const struct gb_part *gb_part(unsigned int i)
{
	return parts[i];
}

int gb_sentence(char *err, size_t len, int e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -e;
}

static int share(struct bpf_object *o, const char *name, int fd)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o, name);

	return m ? bpf_map__reuse_fd(m, fd) : 0;
}

/* A program's variables are read and set where its skeleton has them: the kernel's own take that
 * place, as bpf_object__load_skeleton() does it. */
static int map_variables(struct bpf_object *o)
{
	struct bpf_map *map;
	const void *at;
	size_t size;
	void *got;

	bpf_object__for_each_map (map, o) {
		at = bpf_map__initial_value(map, &size);
		if (!at || bpf_map__map_flags(map) & BPF_F_RDONLY_PROG)
			continue;
		got = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, bpf_map__fd(map), 0);
		if (got == MAP_FAILED)
			return -errno;
	}
	return 0;
}

int gb_object_load(struct gb *b, struct bpf_object *o, const char *what, char *err, size_t len)
{
	char path[GB_PATH];
	int ret = gb_btf(b, path, err, len);

	if (!ret)
		ret = gb_rules_before(o, err, len);
	if (ret)
		return ret;
	ret = share(o, "gt_ring", b->ring.fd);
	if (!ret)
		ret = share(o, "gt_wake", b->ring.wake_fd);
	if (!ret)
		ret = share(o, "gt_count", b->ring.count_fd);
	gb_words[0] = '\0';
	if (!ret)
		ret = bpf_object__load(o);
	if (!ret)
		ret = map_variables(o);
	return ret ? gb_refused(-ret, what, gb_words, err, len) : gb_rules_after(o, err, len);
}

int gb_bodies_put(const struct bpf_map *next, const struct bpf_program *const body[GT_BPF_LEVELS])
{
	for (uint32_t i = 0; i < GT_BPF_LEVELS; i++) {
		int fd = bpf_program__fd(body[i]);
		int ret = bpf_map_update_elem(bpf_map__fd(next), &i, &fd, 0);

		if (ret)
			return ret;
	}
	return 0;
}

static void start(struct gb *b, unsigned int i)
{
	uint64_t raised = gt_rights(gb_perf_rights(), 0);
	char was[GB_SENTENCE];

	snprintf(was, sizeof(was), "%s", b->why[i]);
	b->why[i][0] = '\0';
	b->state[i] = parts[i]->probe(b, b->why[i], GB_SENTENCE);
	if (!b->state[i])
		b->state[i] = parts[i]->start(b, b->why[i], GB_SENTENCE);
	gt_rights(0, raised);
	if (b->state[i] && strcmp(was, b->why[i]) != 0)
		b->p->host->log(b->p, LOG_INFO, "%s: %s", parts[i]->name, b->why[i]);
}

int gb_parts_start(struct gb *b)
{
	int n = 0;

	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		start(b, i);
		n += !b->state[i];
	}
	return n;
}

static void look(struct gb *b, unsigned int i)
{
	uint64_t raised = gt_rights(gb_perf_rights(), 0);

	b->state[i] = parts[i]->look(b, b->why[i], GB_SENTENCE);
	gt_rights(0, raised);
}

void gb_parts_look(struct gb *b)
{
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		if (!b->state[i] && parts[i]->look)
			look(b, i);
		else if (b->state[i])
			start(b, i);
	}
}

void gb_parts_stop(struct gb *b)
{
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		if (!b->state[i])
			parts[i]->stop(b);
}
