/* SPDX-License-Identifier: GPL-2.0 */
/* fs/processes.c: paths of cgroups as runtimes make them, and such that look like them. */
#include <string.h>

#include "../../fs/processes.h"
#include "../lib/tap.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "7f5c5b0c-1d2e-4f30-8a9b-0c1d2e3f4a5b"
#define U_D  "7f5c5b0c_1d2e_4f30_8a9b_0c1d2e3f4a5b"
#define MD5  "0123456789abcdef0123456789abcdef"
#define KP   "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" U_D ".slice"
#define KPS  "kubepods-burstable-pod" U_D ".slice"
#define USER "/user.slice/user-1000.slice/user@1000.service/user.slice/"

static const struct {
	const char *path, *runtime, *container, *pod, *job, *unit;
} paths[] = {
	{ "/", "", "", "", "", "" },
	{ "", "", "", "", "", "" },
	/* docker: cgroupfs and systemd drivers, of both versions; rootless */
	{ "/docker/" ID, "docker", ID, "", "", "" },
	{ "/docker/" ID "/", "docker", ID, "", "", "" },
	{ "/system.slice/docker-" ID ".scope", "docker", ID, "", "", "docker-" ID ".scope" },
	{ USER "docker-" ID ".scope", "docker", ID, "", "", "docker-" ID ".scope" },
	/* systemd in a container, a container in a container */
	{ "/docker/" ID "/system.slice/nginx.service", "docker", ID, "", "", "nginx.service" },
	{ "/docker/" ID "/docker/" ID2, "docker", ID2, "", "", "" },
	/* containerd: nerdctl, CRI */
	{ "/default/" ID, "containerd", ID, "", "", "" },
	{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, "", "", "nerdctl-" ID ".scope" },
	{ KP "/cri-containerd-" ID ".scope", "containerd", ID, UID, "",
	  "cri-containerd-" ID ".scope" },
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" U_D
	  ".slice:cri-containerd:" ID,
	  "containerd", ID, UID, "", "containerd.service" },
	/* kubelet: QoS classes by slice and by directory, guaranteed, static, before a container */
	{ KP, "kubernetes", "", UID, "", KPS },
	{ "/kubepods.slice/kubepods-pod" U_D ".slice/crio-" ID ".scope", "cri-o", ID, UID, "",
	  "crio-" ID ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" MD5
	  ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, MD5, "", "cri-containerd-" ID ".scope" },
	{ "/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, "", "" },
	{ "/kubepods/burstable/pod" UID "/" ID, "kubernetes", ID, UID, "", "" },
	{ "/kubepods/pod" UID "/" ID, "kubernetes", ID, UID, "", "" },
	{ "/kubepods/burstable/pod" UID "/crio-" ID, "cri-o", ID, UID, "", "" },
	{ "/kubepods/burstable/pod" UID, "kubernetes", "", UID, "", "" },
	/* kind: a node that is a container */
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" U_D
	  ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, UID, "", "cri-containerd-" ID ".scope" },
	{ KP "/cri-containerd-" ID ".scope/docker/" ID2, "docker", ID2, UID, "",
	  "cri-containerd-" ID ".scope" },
	/* cri-o's and podman's monitors are no containers */
	{ "/system.slice/crio-conmon-" ID ".scope", "systemd", "", "", "",
	  "crio-conmon-" ID ".scope" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "systemd", "", "", "",
	  "libpod-conmon-" ID ".scope" },
	/* podman: root, rootless, cgroupfs, pods; crun's sub-cgroup */
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, "", "",
	  "libpod-" ID ".scope" },
	{ USER "libpod-" ID ".scope/container", "podman", ID, "", "", "libpod-" ID ".scope" },
	{ "/libpod_parent/libpod-" ID, "podman", ID, "", "", "" },
	{ USER "user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", "podman", ID, ID2, "",
	  "libpod-" ID ".scope" },
	{ "/libpod_parent/" ID2 "/libpod-" ID, "podman", ID, ID2, "", "" },
	/* others */
	{ "/lxc/web", "lxc", "web", "", "", "" },
	{ "/lxc.payload.web/system.slice/a.service", "lxc", "web", "", "", "a.service" },
	{ "/lxc.payload/web", "lxc", "web", "", "", "" },
	{ "/machine.slice/systemd-nspawn@deb.service/payload", "systemd-nspawn", "deb", "", "",
	  "systemd-nspawn@deb.service" },
	/* Slurm: version 1 with and without the node's name, version 2 */
	{ "/slurm/uid_1000/job_1234", "slurm", "", "", "1234", "" },
	{ "/slurm/uid_1000/job_1234/step_0/task_3", "slurm", "", "", "1234.0", "" },
	{ "/slurm_node17/uid_1000/job_1234/step_batch", "slurm", "", "", "1234.batch", "" },
	{ "/system.slice/slurmstepd.scope/job_99/step_extern/user/task_0", "slurm", "", "",
	  "99.extern", "slurmstepd.scope" },
	{ "/system.slice/node17_slurmstepd.scope/job_99/step_0/user/libpod-" ID ".scope", "podman",
	  ID, "", "99.0", "libpod-" ID ".scope" },
	/* systemd */
	{ "/system.slice/ssh.service", "systemd", "", "", "", "ssh.service" },
	{ "/user.slice/user-1000.slice/session-3.scope", "systemd", "", "", "", "session-3.scope" },
	{ USER "app.slice", "systemd", "", "", "", "user@1000.service" },
	{ "/system.slice", "systemd", "", "", "", "system.slice" },
	{ "/system.slice/system-foo.slice", "systemd", "", "", "", "system-foo.slice" },
	{ "/init.scope", "systemd", "", "", "", "init.scope" },
	/* such that are none */
	{ "/docker/0123", "", "", "", "", "" },
	{ "/docker/" ID "0", "", "", "", "", "" },
	{ "/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", "", "",
	  "", "" },
	{ "/" ID, "", "", "", "", "" },
	{ "/xdocker/" ID, "", "", "", "", "" },
	{ "/pod" UID "/" ID, "", "", "", "", "" },
	{ "/kubepods/pod7f5c5b0c-1d2e-4f30-8a9b-0c1d2e3f4a5/" ID, "", "", "", "", "" },
	{ "/kubepods/a/b/pod" UID, "", "", "", "", "" },
	{ "/job_1/step_0", "", "", "", "", "" },
	{ "/slurm/uid_x/job_1", "", "", "", "", "" },
	{ "/slurm/uid_1/job_1x", "", "", "", "", "" },
	{ "/.service", "", "", "", "", "" },
	{ "/../../docker/" ID, "docker", ID, "", "", "" },
};

static void test_paths(void)
{
	struct gt_container c;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		gt_container_of(paths[i].path, &c);
		is_str(c.runtime, paths[i].runtime, "%s: runtime", paths[i].path);
		is_str(c.container, paths[i].container, "container");
		is_str(c.pod, paths[i].pod, "pod");
		is_str(c.job, paths[i].job, "job");
		is_str(c.unit, paths[i].unit, "unit");
	}
}

/* As long as a path may be, made of what patterns are made of */
static void test_hostile(void)
{
	static const char *const parts[] = { "kubepods", "-pod", "/",	    "slurm",
					     ".slice",	 ":",	 "docker-", "libpod_pod_",
					     ID,	 U_D,	 "*",	    "%c",
					     ".scope",	 "\xff" };
	char path[512];
	struct gt_container c;
	unsigned int seed = 1, bad = 0;

	for (int round = 0; round < 20000; round++) {
		path[0] = '\0';
		for (;;) {
			const char *part = parts[(seed = seed * 1103515245 + 12345) >> 16 & 15
							 ? (seed >> 20) % 14
							 : 2];

			if (strlen(path) + strlen(part) >= sizeof(path))
				break;
			strcat(path, part);
		}
		gt_container_of(path, &c);
		bad += strchr(c.container, '/') || strchr(c.unit, '/') || !c.runtime;
	}
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memcpy(path, "/lxc/", 5);
	gt_container_of(path, &c);
	is_str(c.container, "", "a name that does not fit is not reported");
	is(bad, 0, "whatever a path is made of");
}

int main(void)
{
	test_paths();
	test_hostile();
	return done_testing();
}
