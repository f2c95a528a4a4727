/* SPDX-License-Identifier: GPL-2.0 */
/* backends/<name>/: a plugin's state and figures, and its options as files. */
#include <errno.h>
#include <stdio.h>
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

/* A third party's table may hold names that are none, or that are ours. */
bool gt_option_visible(const struct gt_option *o)
{
	size_t n = strlen(o->name);

	if ((o->flags & GT_OPT_HIDDEN) || !n || n > 63 || strchr(o->name, '/') ||
	    !strcmp(o->name, ".") || !strcmp(o->name, ".."))
		return false;
	for (const struct gt_file *f = gt_backend_files; f->name; f++)
		if (!strcmp(f->name, o->name))
			return false;
	return true;
}

void gt_option_file(const struct gt_option *o, struct gt_file *dyn, char name[64])
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
