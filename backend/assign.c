/* SPDX-License-Identifier: GPL-2.0 */
/* Which backend plays which recording: the first that knows it, by its first bytes or its name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_internal.h"

#define HEAD 65536

typedef bool (*knows_hook)(const char *path, const uint8_t *head, size_t len);

/* A plugin that was built before there was such a hook has none. */
static knows_hook knows_of(const struct gt_be *b)
{
	size_t need = offsetof(struct gt_backend, knows) + sizeof(b->be->knows);

	return b->be && b->be->size >= need ? b->be->knows : NULL;
}

/* First bytes of a file; 0 of what is none, or cannot be read: whose it is will say so */
static size_t read_head(const char *path, uint8_t *head, bool *folder)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = 0;

	*folder = fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode);
	if (fd >= 0 && !*folder && !fstat(fd, &st) && S_ISREG(st.st_mode))
		n = pread(fd, head, HEAD, 0);
	if (fd >= 0)
		close(fd);
	return n > 0 ? (size_t)n : 0;
}

static struct gt_be *find(struct gt_host_state *h, const char *path, uint8_t *head)
{
	struct gt_be *rest = NULL;
	bool folder;
	size_t n = read_head(path, head, &folder);

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];
		knows_hook knows = knows_of(b);

		if (knows && (folder || n) && knows(path, folder ? NULL : head, n))
			return b;
		if (b->be && !knows && b->be->flags & GT_BACKEND_RECORDING && !rest)
			rest = b;
	}
	return rest;
}

static int assign(struct gt_host_state *h, const char *path, uint8_t *head, char *err, size_t len)
{
	struct gt_be *b = find(h, path, head);
	int ret = b ? gt_options_append(b, path) : -ENOENT;

	if (ret) {
		snprintf(err, len, "%.256s: no backend in %.256s plays recordings", path,
			 h->conf.plugin_dir);
		return ret;
	}
	b->wanted = true;
	b->p.recording = true;
	return 0;
}

int gt_host_assign(struct gt_host_state *h, char *err, size_t len)
{
	char *list, *save = NULL;
	uint8_t *head;
	int ret = 0;

	if (!h->conf.replay || !*h->conf.replay)
		return 0;
	list = strdup(h->conf.replay);
	head = malloc(HEAD);
	if (!list || !head)
		ret = -ENOMEM;
	for (char *f = ret ? NULL : strtok_r(list, ":", &save); f && !ret;
	     f = strtok_r(NULL, ":", &save))
		ret = assign(h, f, head, err, len);
	free(head);
	free(list);
	if (ret == -ENOMEM)
		snprintf(err, len, "not enough memory");
	return ret;
}

bool gt_host_replay_failed(struct gt_host_state *h, char *err, size_t len)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; i < h->n; i++) {
		if (!h->be[i]->wanted || !gt_host_info(h, i, &info))
			continue;
		if (info.state == GT_BS_RUNNING || info.state == GT_BS_ENDED ||
		    info.state == GT_BS_PAUSED)
			continue;
		snprintf(err, len, "%s", info.last_error);
		return true;
	}
	return false;
}
