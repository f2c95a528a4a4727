/* SPDX-License-Identifier: GPL-2.0 */
/* backends/<name>/: a plugin's state and figures, and its options as files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "shows.h"

#define MAX_OFFSET_NS (3650ULL * 86400 * 1000000000)

static int info_of(const struct gt_show *s, struct gt_backend_info *info)
{
	return s->app->host && gt_host_info(s->app->host, s->obj.id, info) ? 0 : -ENODEV;
}

static int show_state(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_str(t, gt_backend_state_name(info.state));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_version(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_word(t, info.version, sizeof(info.version));
	gt_text_ch(t, '\n');
	return 0;
}

/* A plugin's lines end with a newline, whatever it wrote. */
static void plugin_lines(struct gt_text *t, const struct gt_show *s)
{
	char buf[4096] = "";

	if (gt_host_doctor(s->app->host, s->obj.id, buf, sizeof(buf)) || !*buf)
		return;
	gt_text_str(t, buf);
	if (buf[strlen(buf) - 1] != '\n')
		gt_text_ch(t, '\n');
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_kv(t, "records", info.records);
	gt_text_kv(t, "lost", info.lost);
	gt_text_kv(t, "malformed", info.malformed);
	gt_text_kv(t, "drains", info.drains);
	gt_text_kv(t, "drain_ns", info.drain_ns);
	plugin_lines(t, s);
	return 0;
}

static int show_last_error(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret || !*info.last_error)
		return ret;
	gt_text_mem(t, info.last_error, strnlen(info.last_error, sizeof(info.last_error)));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_clock_offset(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_i64(t, info.clock_offset);
	gt_text_ch(t, '\n');
	return 0;
}

static int store_clock_offset(const struct gt_show *s, const char *value, char *err, size_t len)
{
	bool negative = *value == '-';
	uint64_t ns;
	int ret = gt_parse_u64(value + negative, 0, MAX_OFFSET_NS, &ns);

	if (ret) {
		snprintf(err, len,
			 "a clock's offset is a whole number of ns, at most 10 years either way");
		return ret;
	}
	return gt_host_clock_offset(s->app->host, s->obj.id, negative ? -(int64_t)ns : (int64_t)ns);
}

const struct gt_file gt_backend_files[] = {
	{ .name = "state",
	  .mode = 0444,
	  .show = show_state,
	  .help = "running, paused, ended, off, unavailable, refused or quarantined" },
	{ .name = "version",
	  .mode = 0444,
	  .show = show_version,
	  .flags = GT_FILE_STATIC,
	  .help = "the plugin's own version" },
	{ .name = "stats",
	  .mode = 0444,
	  .show = show_stats,
	  .help = "records delivered and lost, time spent, and what the plugin tells of itself" },
	{ .name = "last_error",
	  .mode = 0444,
	  .show = show_last_error,
	  .help = "what is wrong and the remedy; empty: nothing" },
	{ .name = "clock_offset",
	  .mode = 0664,
	  .show = show_clock_offset,
	  .store = store_clock_offset,
	  .help = "ns that are added to every time of this source; see clocks" },
	{ 0 },
};

static int show_option(struct gt_text *t, const struct gt_show *s)
{
	char value[4096] = "";
	int ret = gt_host_option_get(s->app->host, s->obj.id, s->file->name, value, sizeof(value));

	if (ret)
		return ret;
	gt_text_str(t, value);
	gt_text_ch(t, '\n');
	return 0;
}

static int store_option(const struct gt_show *s, const char *value, char *err, size_t len)
{
	return gt_host_option_set(s->app->host, s->obj.id, s->file->name, value, err, len);
}

static int show_own(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	char *buf;
	int ret = info_of(s, &info);
	unsigned int i = 0;

	if (ret)
		return ret;
	if (!gt_view_whole(&s->view))
		return -EACCES; /* it is the plugin's, and tells of any process */
	while (info.files && info.files[i].name && strcmp(info.files[i].name, s->file->name))
		i++;
	buf = info.files && info.files[i].name ? malloc(GT_BACKEND_TEXT_MAX) : NULL;
	if (!buf)
		return -ENOMEM;
	ret = gt_host_file(s->app->host, s->obj.id, i, buf, GT_BACKEND_TEXT_MAX);
	if (!ret)
		gt_text_str(t, buf);
	free(buf);
	return ret;
}

/* A third party's table may hold names that are none, or that are ours. */
bool gt_backend_good_name(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > 63 || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (const struct gt_file *f = gt_backend_files; f->name; f++)
		if (!strcmp(f->name, name))
			return false;
	return true;
}

bool gt_option_visible(const struct gt_option *o)
{
	return !(o->flags & GT_OPT_HIDDEN) && gt_backend_good_name(o->name);
}

static void option_file(const struct gt_option *o, struct gt_file *dyn, char name[64])
{
	snprintf(name, 64, "%s", o->name);
	*dyn = (struct gt_file){
		.name = name,
		.mode = o->flags & GT_OPT_RUNTIME ? 0664 : 0444,
		.show = show_option,
		.store = o->flags & GT_OPT_RUNTIME ? store_option : NULL,
		.help = o->help,
	};
}

bool gt_backend_own(const struct gt_backend_info *info, unsigned int i, struct gt_file *dyn,
		    char name[64])
{
	const struct gt_option *o = info->options;
	const struct gt_backend_file *f = info->files;

	name[0] = '\0';
	for (; o && o->name; o++, i--) {
		if (i)
			continue;
		if (gt_option_visible(o))
			option_file(o, dyn, name);
		return true;
	}
	for (; f && f->name; f++, i--) {
		if (i)
			continue;
		if (f->show && gt_backend_good_name(f->name)) {
			snprintf(name, 64, "%s", f->name);
			*dyn = (struct gt_file){
				.name = name,
				.mode = 0444,
				.flags = GT_FILE_VIEW | GT_FILE_LONG,
				.show = show_own,
				.help = f->help,
			};
		}
		return true;
	}
	return false;
}
