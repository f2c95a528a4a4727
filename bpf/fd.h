/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors of the process that runs now. */
#ifndef GT_BPF_FD_H
#define GT_BPF_FD_H

#include "kernel.h"

#define GT_FMODE_PATH 0x4000 /* include/linux/fs.h, FMODE_PATH */

const volatile bool gt_o_path; /* for tests: a file that was opened by name only counts, too */

/** gt_file_at() - the file that descriptor @fd is, even one that was opened by name only; NULL:
 * none
 */
static __always_inline struct file *gt_file_at(uint32_t fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;

	if (fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	files = BPF_CORE_READ(fdt, fd);
	return bpf_probe_read_kernel(&file, sizeof(file), files + fd) ? NULL : file;
}

/**
 * gt_file_of() - the file that descriptor @fd calls; NULL: none
 *
 * A file that was opened by name only (O_PATH) is none: anybody can have one of anything, and no
 * call reaches the device.
 */
static __always_inline struct file *gt_file_of(uint32_t fd)
{
	struct file *file = gt_file_at(fd);

	if (!gt_o_path && file && (BPF_CORE_READ(file, f_mode) & GT_FMODE_PATH))
		return NULL;
	return file;
}

/** gt_rdev_of() - the device that @file is, major << 20 | minor; 0: it is none; GT_NONE32: no file
 */
static __always_inline uint32_t gt_rdev_of(struct file *file)
{
	return file ? BPF_CORE_READ(file, f_inode, i_rdev) : GT_NONE32;
}

/* include/linux/fs.h: a count of references, or since Linux 6.13 one less than that */
struct file___counted {
	struct {
		int64_t counter;
	} f_count;
} __attribute__((preserve_access_index));

struct file___refs {
	struct {
		struct {
			int64_t counter;
		} refcnt;
	} f_ref;
} __attribute__((preserve_access_index));

/** gt_last_reference() - does nobody else hold @file? Its close() is its end, then */
static __always_inline bool gt_last_reference(struct file *file)
{
	struct file___counted *old = (void *)file;
	struct file___refs *new = (void *)file;

	if (bpf_core_field_exists(new->f_ref))
		return BPF_CORE_READ(new, f_ref.refcnt.counter) == 0;
	return BPF_CORE_READ(old, f_count.counter) == 1;
}

#endif
