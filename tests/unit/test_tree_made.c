/* SPDX-License-Identifier: GPL-2.0 */
/* fs/tree: directories that users make in one of a backend's. */
#include "treewalk.h"

static void test_made(void)
{
	static const struct gt_view a = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	static const struct gt_view b = { .uid = 2000, .visibility = GT_VIS_REDACTED };
	static const struct gt_view open = { .uid = 2000, .visibility = GT_VIS_ALL };
	static const struct gt_view boxed = { .uid = 1000,
					      .ns = 77,
					      .visibility = GT_VIS_REDACTED };
	struct gt_entry dir, e;

	find("backends/ftrace/made", &a, &dir);
	is(dir.mode, S_IFDIR | S_ISVTX | 0777, "anybody may make a directory there");
	is(gt_tree_make(&app, &gt_tree_root, "x", &a), -EPERM, "… but nowhere else");
	is(gt_tree_make(&app, &dir.obj, "x", &a), 0, "a user does");
	is(gt_tree_make(&app, &dir.obj, "x", &a), -EEXIST, "… once");
	is(gt_tree_make(&app, &dir.obj, "x", &b), 0, "another has the same name");
	is(gt_tree_make(&app, &dir.obj, "y", &boxed), -EPERM, "not from another PID namespace");
	is(gt_tree_make(&app, &dir.obj, "y", &root_view), 0, "root's own");
	is_str(list("backends/ftrace/made", &a), "x ", "each sees their own");
	is_str(list("backends/ftrace/made", &boxed), "", "… who is not in another PID namespace");
	is_str(list("backends/ftrace/made", &root_view), "x~1000 x~2000 y ", "root sees all");
	is_str(list("backends/ftrace/made", &open), "x~1000 x y~0 ",
	       "so do all with visibility=all");
	is(find("backends/ftrace/made/x~2000", &a, &e), -ENOENT, "no other's is found");
	is(find("backends/ftrace/made/x~1000", &a, &e), -ENOENT, "… nor one's own by that name");
	is(find("backends/ftrace/made/x", &b, &e) || e.uid != 2000 || e.mode != (S_IFDIR | 0550), 0,
	   "it belongs to who made it");
	is(find("backends/ftrace/made/x/word", &b, &e) || e.uid != 2000 ||
		   e.mode != (S_IFREG | 0640),
	   0, "so do its files");
	is(put_raw("backends/ftrace/made/x/word", "new\n", 4, &a, false), 0, "it is written");
	is_str(show("backends/ftrace/made/x/word", &a), "new\n", "… and reads back");
	is_str(show("backends/ftrace/made/x/word", &b), "first\n", "… the other's as before");
	is(put_raw("backends/ftrace/made/x~1000/word", "mine", 4, &open, false), -EACCES,
	   "with visibility=all others do not write either");
	is(put_raw("backends/ftrace/made/x/word", "two words", 9, &a, false), -EINVAL,
	   "a bad value");
	ok(strstr(show("last_cmd_status", &a), "backends/ftrace/made/x/word: a word"),
	   "… is reported: %s", show("last_cmd_status", &a));
	is_str(show("backends/ftrace/made/x~1000/path", &root_view),
	       "/mnt/gpu/backends/ftrace/made/x~1000\n", "a text knows where it is for its reader");
	test_walk();
	is(gt_tree_unmake(&app, &dir.obj, "x~2000", &a), -ENOENT, "nobody removes another's");
	is(gt_tree_unmake(&app, &dir.obj, "x~1000", &open), -EPERM, "… also who sees it");
	find("backends/ftrace/made/x", &a, &e);
	is(gt_tree_unmake(&app, &dir.obj, "x", &a), 0, "one's own one does");
	ok(!gt_tree_alive(&app, &e.obj), "… and it is gone");
	is(gt_tree_unmake(&app, &dir.obj, "x~2000", &root_view), 0, "root does any");
	app.replay = true;
	is(find("backends/ftrace/made", &a, &e), -ENOENT, "a recording has none");
	app.replay = false;
}

int main(void)
{
	make_machine();
	test_made();
	is(locked_calls, 0, "the host is never called with the model's lock held");
	free_machine();
	return done_testing();
}
