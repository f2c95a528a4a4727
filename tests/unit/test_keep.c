/* SPDX-License-Identifier: GPL-2.0 */
/* Settings that survive a remount: what is written, what is read, and what is refused and left as
 * it was; and profiles, whose settings are given or not. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../conf/profile.h"
#include "../../fs/state_file.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX], path[TMP_PATH_MAX + 16], next[TMP_PATH_MAX + 16];
static bool none[GT_KEEP_ITEMS];

static const char *text_of(const char *file)
{
	static char text[4096];
	int fd = open(file, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return fd < 0 ? "(none)" : text;
}

static void make(const char *text, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (write(fd, text, strlen(text)) < 0)
		printf("# %s cannot be written\n", path);
	fchmod(fd, mode);
	close(fd);
}

static int number(const char *key)
{
	int i = 0;

	while (strcmp(gt_conf_items[i].key, key))
		i++;
	return i;
}

static void test_kept(void)
{
	bool given[GT_KEEP_ITEMS] = { 0 };
	struct gt_keep *k = gt_keep_new(path);
	struct gt_config c, d;
	struct stat st;
	char err[256] = "";

	gt_config_init(&c);
	gt_config_init(&d);
	gt_keep_read(k, &c, given);
	ok(!gt_keep_refused(k) && !memcmp(given, none, sizeof(none)), "no file: nothing is kept");
	c.level = 3;
	c.sampling = 7;
	c.aggregator_enable = false;
	c.aggregator_window = 333;
	gt_keep_mark(k, "aggregator_enable");
	gt_keep_mark(k, "sampling");
	gt_keep_mark(k, "level");
	gt_keep_mark(k, "nothing");
	is(gt_keep_save(k, &c, "level", err, sizeof(err)), 0, "saved: %s", err);
	is_str(strchr(text_of(path), '\n') + 1,
	       "[trace]\nlevel = verbose\nsampling = 7\naggregator_enable = 0\n",
	       "what was changed, and nothing else");
	stat(path, &st);
	is(st.st_mode & 0777, 0600, "for its owner alone");
	ok(access(next, F_OK), "nothing is left over");
	gt_keep_free(k);

	k = gt_keep_new(path);
	given[number("sampling")] = true;
	gt_keep_read(k, &d, given);
	ok(d.level == 3 && !d.aggregator_enable && d.aggregator_window == 1000, "read");
	is(d.sampling, 100, "what a mount option said stays");
	ok(given[number("level")] && !given[number("aggregator_window")], "it says what it set");
	gt_keep_mark(k, "visibility");
	gt_keep_save(k, &d, "visibility", err, sizeof(err));
	is_str(strchr(text_of(path), '\n') + 1,
	       "[trace]\nlevel = verbose\nsampling = 100\naggregator_enable = 0\n[access]\n"
	       "visibility = redacted\n",
	       "what was kept before is kept on");
	rmdir(next);
	mkdir(next, 0700);
	d.level = 0;
	ok(gt_keep_save(k, &d, "level", err, sizeof(err)) < 0 && strstr(err, path), "no room: %s",
	   err);
	ok(strstr(text_of(path), "level = verbose"), "the old one is still there");
	rmdir(next);
	gt_keep_free(k);
	gt_config_free(&c);
	gt_config_free(&d);
}

static void test_no_line(void)
{
	struct gt_keep *k = gt_keep_new(path);
	struct gt_config c;
	char err[256] = "";

	unlink(path);
	gt_config_init(&c);
	gt_config_set(&c, "filter_ring", ";a", err, sizeof(err));
	gt_config_set(&c, "watchlist", "#a;b", err, sizeof(err));
	gt_keep_mark(k, "filter_ring");
	gt_keep_mark(k, "watchlist");
	is(gt_keep_save(k, &c, "filter_ring", err, sizeof(err)), -E2BIG,
	   "it would be read as a comment: %s", err);
	ok(strstr(err, "filter_ring"), "… which one is said");
	is_str(strchr(text_of(path), '\n') + 1, "[trace]\nwatchlist = #a;b\n", "others are kept");
	is(gt_keep_save(k, &c, "watchlist", err, sizeof(err)), 0,
	   "… and nothing is said when these change");
	gt_keep_free(k);
	gt_config_free(&c);
}

static void refused(const char *why)
{
	struct gt_keep *k = gt_keep_new(path);
	char before[4096], err[512] = "";
	struct gt_config c;

	gt_config_init(&c);
	snprintf(before, sizeof(before), "%s", text_of(path));
	bool given[GT_KEEP_ITEMS] = { 0 };
	gt_keep_read(k, &c, given);
	ok(gt_keep_refused(k) && strstr(gt_keep_refused(k), why), "refused: %s",
	   gt_keep_refused(k));
	ok(c.level == 2 && c.sampling == 100 && !memcmp(given, none, sizeof(none)),
	   "nothing of it is taken");
	gt_keep_mark(k, "level");
	is(gt_keep_save(k, &c, "level", err, sizeof(err)), -EPERM, "nothing is kept");
	ok(strstr(err, why), "and it is said why");
	is_str(text_of(path), before, "it stays as it was");
	gt_keep_free(k);
	gt_config_free(&c);
}

static void test_refused(void)
{
	char big[70000];

	make("[trace]\nlevel = 0\nsampling = 10x\n", 0600);
	refused("sampling: '10x' is not a number");
	make("[trace]\nlevel = 0\n[backend sim]\nrate = 5\n", 0600);
	refused("'rate' is no setting of config/");
	make("[trace]\nlevel = 0\n[access]\nconfig/* = 0666\n", 0600);
	refused("'config/*' is no setting of config/");
	make("[trace]\nlevel = 0\n[main]\nplugin_dir = /srv\n", 0600);
	refused("plugin_dir is no file of config/");
	make("[trace]\nlevel = 0\n", 0620);
	refused("can be written by others");
	make("\x7f"
	     "ELF\1\1",
	     0600);
	refused(path);
	memset(big, ';', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	make(big, 0600);
	refused("longer than 65536 bytes");
	if (!geteuid()) {
		make("[trace]\nlevel = 0\n", 0600);
		if (!chown(path, 1000, 1000))
			refused("belongs to uid 1000");
	}
	unlink(path);
	if (!symlink("/etc/hostname", path))
		refused("no regular file");
	unlink(path);
	mkdir(path, 0700);
	refused("no regular file");
	rmdir(path);
}

static void no_folder(const char *where, const char *why)
{
	struct gt_keep *k = gt_keep_new(where);

	ok(gt_keep_refused(k) && strstr(gt_keep_refused(k), why), "%s: %s", where,
	   gt_keep_refused(k));
	gt_keep_free(k);
}

static void test_profiles(void)
{
	bool given[GT_KEEP_ITEMS] = { 0 };
	struct gt_config c;

	gt_config_init(&c);
	is(c.profile, GT_PROFILE_CUSTOM, "none at first");
	gt_profile_apply(&c, given);
	is(c.sampling, 100, "which sets nothing");
	c.profile = 0;
	gt_profile_apply(&c, given);
	ok(c.profile == 0 && c.sampling == 10, "production");
	c.profile = 1;
	given[number("sampling")] = true;
	gt_profile_apply(&c, given);
	ok(c.level == 3 && c.sampling == 10, "what is given stays");
	is(c.profile, GT_PROFILE_CUSTOM, "and makes it custom");
	for (unsigned int i = 0; gt_profile_key(i); i++)
		for (int p = 0; p < GT_PROFILE_CUSTOM; p++) {
			const char *value = gt_profile_value(p, gt_profile_key(i));
			char err[256] = "", now[64];

			if (!value)
				continue;
			ok(!gt_config_set(&c, gt_profile_key(i), value, err, sizeof(err)),
			   "%s = %s is a setting %s", gt_profile_key(i), value, err);
			gt_conf_text(&c, &gt_conf_items[number(gt_profile_key(i))], now,
				     sizeof(now));
			is_str(now, value, "and reads so");
		}
	gt_config_free(&c);
}

int main(void)
{
	if (!tmp_dir(dir, "gt-keep"))
		return 1;
	snprintf(path, sizeof(path), "%s/kept", dir);
	snprintf(next, sizeof(next), "%s/kept.new", dir);
	test_kept();
	test_no_line();
	test_refused();
	no_folder("kept", "needs the whole path");
	no_folder("/gt/is/not/here/kept", "No such file");
	no_folder("/", "needs the whole path");
	chmod(dir, 01777);
	no_folder(path, "can be written by others");
	test_profiles();
	rmdir(dir);
	return done_testing();
}
