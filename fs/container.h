/* SPDX-License-Identifier: GPL-2.0 */
/* Which container, pod, batch job or unit a process belongs to, by the path of its cgroup. */
#ifndef GT_CONTAINER_H
#define GT_CONTAINER_H

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
