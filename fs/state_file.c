/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../backend/lib/file.h"
#include "../conf/profile.h"
#include "state_file.h"
#include "text/text.h"
#include "tree/internal.h"
#include "writer.h"

#define FILE_MAX (64 << 10)
#define NAME_LEN 128
#define LINE_LEN 198 /* gputrace.conf(5) */

/** struct gt_keep - @dir: the folder; @has: what the file holds, by number in gt_conf_items */
struct gt_keep {
	char path[PATH_MAX];
	char name[NAME_LEN];
	int dir;
	struct gt_writer *writer;
	bool has[GT_KEEP_ITEMS];
	char refused[512];
};

static void refuse(struct gt_keep *k, const char *why)
{
	snprintf(k->refused, sizeof(k->refused), "keep: %.480s", why);
}

static void open_folder(struct gt_keep *k)
{
	char folder[PATH_MAX], err[400];
	const char *name = strrchr(k->path, '/');

	if (!name || *k->path != '/' || !name[1] || strlen(name + 1) >= NAME_LEN) {
		refuse(k, "needs the whole path of a file, with a name of at most 127 bytes");
		return;
	}
	snprintf(k->name, sizeof(k->name), "%s", name + 1);
	snprintf(folder, sizeof(folder), "%.*s", (int)(name - k->path + 1), k->path);
	k->dir = gt_trusted_open(AT_FDCWD, folder, S_IFDIR, err, sizeof(err));
	if (k->dir < 0)
		refuse(k, err);
}

struct gt_keep *gt_keep_new(const char *path)
{
	struct gt_keep *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->dir = -1;
	snprintf(k->path, sizeof(k->path), "%s", path);
	open_folder(k);
	return k;
}

void gt_keep_free(struct gt_keep *k)
{
	if (!k)
		return;
	if (k->dir >= 0)
		close(k->dir);
	free(k);
}

const char *gt_keep_file(const struct gt_keep *k, int *folder)
{
	*folder = k && !*k->refused ? k->dir : -1;
	return *folder < 0 ? NULL : k->path;
}

void gt_keep_by(struct gt_keep *k, struct gt_writer *w)
{
	k->writer = w;
}

const char *gt_keep_refused(const struct gt_keep *k)
{
	return *k->refused ? k->refused : NULL;
}

static bool is_setting(const char *key)
{
	for (const struct gt_file *f = gt_config_files; f->name; f++)
		if (!strcmp(f->name, key))
			return true;
	return false;
}

/* Is there a file that may be read at all? False: there is none, or it was refused */
static bool usable(struct gt_keep *k)
{
	struct stat st;
	char why[64];

	if (fstatat(k->dir, k->name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			refuse(k, strerror(errno));
		return false;
	}
	if (S_ISREG(st.st_mode) && st.st_size <= FILE_MAX)
		return true;
	snprintf(why, sizeof(why),
		 S_ISREG(st.st_mode) ? "it is longer than %d bytes" : "it is no regular file",
		 FILE_MAX);
	refuse(k, why);
	return false;
}

static bool check(struct gt_keep *k, const bool *seen)
{
	char why[128];

	for (int i = 0; gt_conf_items[i].key; i++) {
		if (!seen[i] || is_setting(gt_conf_items[i].key))
			continue;
		snprintf(why, sizeof(why), "%s is no file of config/", gt_conf_items[i].key);
		refuse(k, why);
		return false;
	}
	return true;
}

static void take(struct gt_keep *k, struct gt_config *c, const struct gt_config *from, bool *given)
{
	char value[GT_CONF_PATHLEN], err[256];

	for (int i = 0; gt_conf_items[i].key; i++) {
		if (!k->has[i] || given[i])
			continue;
		gt_conf_text(from, &gt_conf_items[i], value, sizeof(value));
		if (!gt_config_set(c, gt_conf_items[i].key, value, err, sizeof(err)))
			given[i] = true;
	}
}

void gt_keep_read(struct gt_keep *k, struct gt_config *c, bool *given)
{
	bool seen[GT_KEEP_ITEMS] = { 0 };
	struct gt_config kept;
	char err[400];

	if (*k->refused || !usable(k) || gt_config_init(&kept))
		return;
	if (gt_config_read_values(&kept, k->path, seen, err, sizeof(err))) {
		refuse(k, err);
	} else if (check(k, seen)) {
		memcpy(k->has, seen, sizeof(k->has));
		take(k, c, &kept, given);
	}
	gt_config_free(&kept);
}

void gt_keep_mark(struct gt_keep *k, const char *key)
{
	for (int i = 0; k && gt_conf_items[i].key; i++)
		if (!strcmp(gt_conf_items[i].key, key))
			k->has[i] = true;
}

/* A ; behind a blank begins a comment, and one comes before each value */
static bool fits(const char *key, const char *value)
{
	return strlen(key) + 3 + strlen(value) <= LINE_LEN && *value != ';' && !strstr(value, " ;");
}

/* What a line cannot hold is left out. Return: is @key among that? */
static bool print(const struct gt_keep *k, const struct gt_config *c, const char *key,
		  struct gt_text *t)
{
	const char *section = "";
	bool left = false;
	char value[GT_CONF_PATHLEN];

	gt_text_str(t, "; Settings changed under config/ of a mounted gputrace: see keep in "
		       "gputrace.conf(5)\n");
	for (const struct gt_conf_item *it = gt_conf_items; it->key; it++) {
		if (!k->has[it - gt_conf_items])
			continue;
		gt_conf_text(c, it, value, sizeof(value));
		if (!fits(it->key, value)) {
			left |= !strcmp(it->key, key);
			continue;
		}
		if (strcmp(section, it->section))
			gt_text_printf(t, "[%s]\n", it->section);
		section = it->section;
		gt_text_printf(t, "%s = %s\n", it->key, value);
	}
	return left;
}

int gt_keep_save(struct gt_keep *k, const struct gt_config *c, const char *key, char *err,
		 size_t len)
{
	struct gt_text t;
	bool left;
	int ret;

	if (*k->refused) {
		snprintf(err, len, "%s", k->refused);
		return -EPERM;
	}
	gt_text_init(&t, FILE_MAX);
	left = print(k, c, key, &t);
	ret = t.failed ? -E2BIG : gt_writer_replace(k->writer, k->dir, k->path, t.buf, t.len);
	if (ret)
		snprintf(err, len, "%.200s: %s", k->path, strerror(-ret));
	else if (left)
		snprintf(err, len,
			 "a line of a configuration file cannot hold %s: it is too long or begins "
			 "with ;",
			 key);
	gt_text_free(&t);
	return ret ? ret : left ? -E2BIG : 0;
}
