/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs and backend/sysroot.c: numbers and tables as drivers print them, and files that are
 * none. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../backend/sysfs/sysfs.h"
#include "../lib/tap.h"
#include "../lib/top.h"

static void test_numbers(void)
{
	static const struct {
		const char *text;
		int ret;
		int64_t value;
	} all[] = {
		{ "0", 0, 0 },
		{ "42\n", 0, 42 },
		{ "-5 C", 0, -5 },
		{ "9223372036854775807\n", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1x", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int64_t v = 0;

		is(gt_root_number(all[i].text, &v, NULL), all[i].ret, "number '%s'", all[i].text);
		if (!all[i].ret)
			is(v, all[i].value, "… is that");
	}
}

static void levels(const char *text, uint64_t now, uint64_t least, uint64_t most, const char *what)
{
	uint64_t hz[3];

	is(sf_levels(text, hz), least != GT_NONE64, "levels: %s", what);
	ok(hz[0] == now && hz[1] == least && hz[2] == most, "… are these");
}

static void test_levels(void)
{
	const uint64_t none = GT_NONE64, mhz = 1000000;

	levels("0: 500Mhz \n1: 1000Mhz *\n2: 2575Mhz \n", 1000 * mhz, 500 * mhz, 2575 * mhz,
	       "amdgpu's");
	levels("S: 19Mhz *\n0: 96Mhz \n1: 1218Mhz \n", 19 * mhz, 19 * mhz, 1218 * mhz,
	       "in deep sleep");
	levels("0: 96MHz", none, 96 * mhz, 96 * mhz, "none is set, no end of the line");
	levels("0: 2.5GT/s, x1 310Mhz *\n", none, none, none, "a link's");
	levels("", none, none, none, "nothing");
	levels("0: -5Mhz *\n1: 99999999999999999999Mhz\n2: 9223372036854775807Mhz\n", none, none,
	       none, "no frequencies");
	levels("::::\n0\n0:\n0: \n0: Mhz\n:0Mhz\n1: 7Mhz *", 7 * mhz, 7 * mhz, 7 * mhz, "rubbish");
}

static void test_root(void)
{
	struct gt_root root;
	char buf[64];
	int err;

	top_put("plain", "word and more\n");
	mkdir(top_at("dir"), 0755);
	top_put("dir/inner", "inside\n");
	mkfifo(top_at("pipe"), 0600);
	err = symlink("/dir/inner", top_at("whole")) | symlink("/etc/passwd", top_at("out")) |
	      mknod(top_at("null"), S_IFCHR | 0666, makedev(1, 3));
	is(gt_root_open(&root, top), 0, "a captured tree");
	gt_root_word(&root, "plain", buf, sizeof(buf));
	is_str(buf, "word", "a word");
	gt_root_word(&root, "whole", buf, sizeof(buf));
	is_str(buf, "inside", "a link with a whole path leads within");
	is(gt_root_read(&root, "out", buf, sizeof(buf)), -ENOENT, "one that leads out to nothing");
	is(gt_root_read(&root, "pipe", buf, sizeof(buf)), -EINVAL, "a pipe is not opened");
	is(gt_root_read(&root, "dir", buf, sizeof(buf)), -EINVAL, "a folder is no file");
	if (geteuid() || err)
		ok(true, "a device # skip cannot be made here");
	else
		is(gt_root_read(&root, "null", buf, sizeof(buf)), -EINVAL,
		   "a device is not opened");
	is_str(buf, "", "what cannot be read is empty");
	is(gt_root_read(&root, "plain", buf, 5), 4, "no more than there is room for");
	is_str(buf, "word", "with an end");
	gt_root_link(&root, "out", buf, sizeof(buf));
	is_str(buf, "passwd", "where a link points");
	ok(!gt_root_dir(&root, "plain") && errno == ENOTDIR, "a file is no folder");
	gt_root_close(&root);
	is(gt_root_open(&root, top_at("nothing")), -ENOENT, "a tree that is not there");
}

int main(void)
{
	if (!top_make())
		return 1;
	test_numbers();
	test_levels();
	test_root();
	top_drop();
	return done_testing();
}
