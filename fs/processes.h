/* SPDX-License-Identifier: GPL-2.0 */
/* Processes of this machine: files of /proc, ends of processes, and their containers. */
#ifndef GT_PROCESSES_H
#define GT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/model.h"

/**
 * gt_proc_read() - the beginning of /proc/<@pid>/<@name>, with a NUL
 * @pid: a process or a thread, in the namespace of this /proc; @len: of @buf, at least 1
 * Return: bytes read, 0 or less if there are none; @buf is "" then, or untouched if it cannot be
 * opened
 */
ssize_t gt_proc_read(uint32_t pid, const char *name, char *buf, size_t len);

/**
 * gt_proc_text() - all of such a file, with a NUL, whatever its size, up to a MiB
 * Return: to be freed; NULL if it cannot be had, or not as a whole
 */
char *gt_proc_text(uint32_t pid, const char *name);
void gt_proc_textp(char **text);
/** gt_proc_auto - frees a text at the end of the block */
#define gt_proc_auto __attribute__((cleanup(gt_proc_textp)))

/**
 * gt_proc_line() - what stands behind @key, with which a line of @text begins; NULL if none does
 *
 * Elsewhere in a line it may be what a process calls itself (comm), in which the kernel has escaped
 * newlines only (proc(5)). @text may be NULL.
 */
const char *gt_proc_line(const char *text, const char *key);

/* Processes of this machine: who a pid is, and when it ends (by pidfd, without polling). */

/** gt_procwatch_new() - an epoll descriptor that turns readable when a watched process ends */
int gt_procwatch_new(void);
/**
 * gt_procwatch_add() - asks /proc about a pid that is new, informs the model and watches it,
 *	or reports that it has ended already. Model's lock held. @epfd may be -1: not watched.
 */
void gt_procwatch_add(struct gt_model *m, int epfd, uint32_t pid);
/** gt_procwatch_ended() - informs the model of those that have ended */
void gt_procwatch_ended(struct gt_model *m, int epfd);

/* Which container, pod, batch job or unit a process belongs to, by the path of its cgroup. */

/**
 * struct gt_container - what a path contains; "" where it lacks it
 * @runtime: who made the innermost: "docker", "podman", "slurm", "systemd" …
 * @container: its id as the runtime prints it, 64 hexadecimal digits; of LXC and systemd-nspawn the
 *	name
 * @pod: uid of the Kubernetes pod, with dashes; of podman's pods the id, 64 hexadecimal digits
 * @job: of Slurm, as sacct(1) prints it: "1234", or "1234.0", "1234.batch" with the step
 * @unit: of systemd: the innermost service or scope, else the innermost slice
 */
struct gt_container {
	const char *runtime;
	char container[128], pod[72], job[64], unit[256];
};

/**
 * gt_container_of() - reads the path of a cgroup
 * @path: of /proc/PID/cgroup; who may make cgroups chooses their names, so any bytes but NUL
 */
void gt_container_of(const char *path, struct gt_container *c);

#endif
