/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opening and reading files: those that control the daemon, those below a folder that
 * somebody else controls, and sysfs and /proc of this machine or of a captured copy.
 */
#ifndef GT_FILE_H
#define GT_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../backend.h"

/**
 * gt_pread() - reads @len bytes at offset @off, or up to the end of the file
 *
 * Return: bytes read, or -errno if none could be read.
 */
ssize_t gt_pread(int fd, void *buf, size_t len, uint64_t off);
/** gt_file_here() - gt_host.file for a process that may write itself: a descriptor, 0, or -errno */
int gt_file_here(enum gt_file_op op, const char *path, int flags);
/**
 * gt_unnamed_file() - makes a file without a name in folder @dir, open for reading and writing
 *
 * Return: a descriptor, with which the file goes; or -1 with errno.
 */
int gt_unnamed_file(const char *dir);

/**
 * gt_trusted_open() - opens a file or folder that only root or the daemon's own user can have
 * written
 * @dir: folder that the file is in; @path is then a single name that is no link. Or AT_FDCWD, with
 *	a @path that the caller vouches for, links included
 * @type: S_IFREG or S_IFDIR; anything else is refused, and not waited for
 * @err: a sentence with @path, what is wrong with it, and the remedy
 *
 * The owner must be root or the effective user; neither group nor others may have write access.
 *
 * Return: a descriptor, the caller's to close, or -errno.
 */
int gt_trusted_open(int dir, const char *path, mode_t type, char *err, size_t len);

#define GT_BENEATH_ROOT	    0x1 /* the folder is "/": neither a link nor ".." leads out of it */
#define GT_BENEATH_NO_LINKS 0x2 /* a link in the path is an error, -ELOOP */
#define GT_BENEATH_MOUNT    0x4 /* another mount is an error, -EXDEV, and is not accessed */

/**
 * gt_beneath() - opens @path one name at a time and never follows a link in the kernel
 * @dir: folder that a relative @path starts in, or AT_FDCWD; with GT_BENEATH_ROOT every @path does
 * @flags: flags of open(2) for reading; O_CLOEXEC is implied. With O_PATH | O_NOFOLLOW a link at
 *	the end of the path is itself opened
 * @how: GT_BENEATH_*, with GT_BENEATH_ROOT or GT_BENEATH_NO_LINKS at least
 *
 * openat2(2) could do most of this, but the daemon's system call filter cannot see its flags, and
 * the daemon opens nothing for writing: so openat2() is not allowed.
 *
 * Return: a descriptor, or -errno.
 */
int gt_beneath(int dir, const char *path, int flags, unsigned int how);

/** gt_mount_of() - ID of the mount that @fd is in, as in mountinfo; 0 if unknown. Does not ask the
 * file system */
uint64_t gt_mount_of(int fd);

/**
 * struct gt_root - the folder that stands for "/"
 * @captured: it is a copy of another machine's sysfs and /proc: no link leads out of it, and only
 *	plain files and folders are opened, whoever made the copy
 */
struct gt_root {
	int fd;
	bool captured;
};

/** gt_root_open() - @path "" or "/" means this machine's. 0 or -errno */
int gt_root_open(struct gt_root *root, const char *path);
void gt_root_close(struct gt_root *root);

/** gt_root_fd() - opens a plain file for reading; @path has no leading "/". -errno */
int gt_root_fd(const struct gt_root *root, const char *path);
/**
 * gt_root_read() - reads the beginning of a plain file and ends it with a NUL
 * @len: size of @buf, at least 1
 *
 * Return: bytes read, or -errno with "" in @buf.
 */
ssize_t gt_root_read(const struct gt_root *root, const char *path, char *buf, size_t len);
/** gt_root_word() - the file's first word, or "" */
void gt_root_word(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_dir() - opens a folder to list it; NULL with errno */
DIR *gt_root_dir(const struct gt_root *root, const char *path);
/** gt_root_is() - does @path exist? Opens nothing */
bool gt_root_is(const struct gt_root *root, const char *path);
/** gt_root_link() - last part of the target of the link @path, or "" */
void gt_root_link(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_real() - the kernel's name of the file that @path leads to; -errno */
int gt_root_real(const struct gt_root *root, const char *path, char *out, size_t len);
/** gt_root_inode() - inode number of @path, of the link itself unless @follow; 0 if unknown */
uint64_t gt_root_inode(const struct gt_root *root, const char *path, bool follow);

void gt_root_closedir(DIR **d);
/** GT_ROOT_DIR - a folder that is closed at the end of the block */
#define GT_ROOT_DIR __attribute__((cleanup(gt_root_closedir))) DIR *

/**
 * gt_root_number() - parses a decimal number that a blank, a line's end or the string's end follows
 * @end: set to the first character after it; may be NULL
 *
 * Return: 0; -EINVAL: not such a number; -ERANGE: too large.
 */
int gt_root_number(const char *s, int64_t *out, const char **end);

/* Capabilities of a thread, and the owner of a process. */

/**
 * gt_caps_set() - raises the capabilities @on of this thread, of those it has, and lowers @off
 *
 * Return: the capabilities that are effective now and were not before.
 */
uint64_t gt_caps_set(uint64_t on, uint64_t off);

enum gt_process_owner {
	GT_OWNER_GONE,	/* there is no such process */
	GT_OWNER_SAME,	/* it is that user's, and ran at that time */
	GT_OWNER_OTHER, /* it is another user's, or began later */
};

/**
 * gt_process_owner() - is process @pid of this machine one of user @uid's, and did it run at @ts?
 * @ts: CLOCK_BOOTTIME, ns
 *
 * A user can write any pid into a file of theirs: this checks it.
 */
enum gt_process_owner gt_process_owner(uint32_t pid, uint32_t uid, uint64_t ts);

#endif
