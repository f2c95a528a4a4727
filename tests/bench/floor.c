/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The floor: the smallest low-level FUSE file system with the tree's rules for nodes, sizes and
 * caching, and nothing behind them. `text` has a fixed text, a new node for each LOOKUP; `zeroes` is
 * an endless direct_io file. What it costs is what FUSE costs.
 *
 *	floor DIR BYTES
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZEROES 2
#define BIG    (1 << 20)

static size_t text_len;
static char *text, *zeroes;

static void attr_of(fuse_ino_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino > ZEROES ? 3 : ino;
	st->st_nlink = 1;
	st->st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0555 : S_IFREG | 0444;
	st->st_size = ino > ZEROES ? (off_t)text_len : 0;
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	static fuse_ino_t next = 1000;
	struct fuse_entry_param e = { .attr_timeout = 86400 };

	if (!strcmp(name, "text")) {
		e.ino = next++;
	} else if (!strcmp(name, "zeroes")) {
		e.ino = ZEROES;
		e.entry_timeout = 1;
	} else {
		fuse_reply_err(req, ENOENT);
		return;
	}
	attr_of(e.ino, &e.attr);
	fuse_reply_entry(req, &e);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	fuse_reply_none(req);
}

static void getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	attr_of(ino, &st);
	fuse_reply_attr(req, &st, ino > ZEROES ? 86400 : 1);
}

static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

static void read_file(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	if (ino == ZEROES)
		fuse_reply_buf(req, zeroes, size < BIG ? size : BIG);
	else if ((size_t)off >= text_len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, text + off,
			       text_len - (size_t)off < size ? text_len - (size_t)off : size);
}

static void release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops ops = {
	.lookup = lookup,
	.forget = forget,
	.getattr = getattr,
	.open = open_file,
	.read = read_file,
	.release = release,
};

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *se;
	int ret = 1;

	if (argc != 3)
		return 2;
	text_len = (size_t)atol(argv[2]);
	text = malloc(text_len + 1);
	zeroes = calloc(1, BIG);
	if (!text || !zeroes)
		return 1;
	memset(text, 'x', text_len);
	fuse_opt_add_arg(&args, "floor");
	fuse_opt_add_arg(&args, "-oallow_other,default_permissions,fsname=gputrace-floor");
	se = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!se)
		return 1;
	if (!fuse_set_signal_handlers(se) && !fuse_session_mount(se, argv[1])) {
		fuse_daemonize(0);
		ret = fuse_session_loop(se);
		fuse_session_unmount(se);
	}
	fuse_remove_signal_handlers(se);
	fuse_session_destroy(se);
	fuse_opt_free_args(&args);
	free(text);
	free(zeroes);
	return ret;
}
