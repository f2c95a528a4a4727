/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of sysfs and /proc, of this machine or of a captured tree that stands for another: there no
 * link leads out, and nothing is opened but plain files and folders, whoever made the tree.
 */
#ifndef GT_SYSROOT_H
#define GT_SYSROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** struct gt_root - the folder that stands for "/"; @captured: it is not this machine's own */
struct gt_root {
	int fd;
	bool captured;
};

/** gt_root_open() - @path "" or "/" is this machine's. 0 or -errno */
int gt_root_open(struct gt_root *root, const char *path);
void gt_root_close(struct gt_root *root);

/** gt_root_fd() - opens a plain file for reading; @path has no leading "/". -errno */
int gt_root_fd(const struct gt_root *root, const char *path);
/**
 * gt_root_read() - the beginning of a plain file, with a NUL
 * @len: of @buf, at least 1. Return: bytes read, or -errno; @buf is "" then
 */
ssize_t gt_root_read(const struct gt_root *root, const char *path, char *buf, size_t len);
/** gt_root_word() - its first word; "" if there is none */
void gt_root_word(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_dir() - a folder to list; NULL with errno */
DIR *gt_root_dir(const struct gt_root *root, const char *path);
/** gt_root_is() - is there anything of that name? Opens nothing */
bool gt_root_is(const struct gt_root *root, const char *path);
/** gt_root_link() - last part of where the link @path points to; "" if it is none */
void gt_root_link(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_real() - where @path really lies, as the kernel names it; -errno */
int gt_root_real(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_inode() - number of @path's inode, of the link itself unless @follow; 0 unknown */
uint64_t gt_root_inode(const struct gt_root *root, const char *path, bool follow);

void gt_root_closedir(DIR **d);
/** GT_ROOT_DIR - a folder that is closed at the end of the block */
#define GT_ROOT_DIR __attribute__((cleanup(gt_root_closedir))) DIR *

/**
 * gt_root_number() - a decimal number at @s that ends with the string, a blank or a line's end
 * @end: behind it; may be NULL. Return: 0, -EINVAL: none, -ERANGE: too large
 */
int gt_root_number(const char *s, int64_t *out, const char **end);

#endif
