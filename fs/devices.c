/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPUs, as sysfs lists them: class/drm has every device with a DRM driver, bus/pci/drivers/nvidia
 * those of NVIDIA's own where nvidia-drm is not loaded, class/kfd/kfd/topology the numbers that
 * ROCm gives them.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../backend/lib/file.h"
#include "devices.h"
#include "privileges.h"

#define DRM_MAJOR 226 /* Documentation/admin-guide/devices.txt */

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool known(const unsigned int *minors, int n, unsigned int minor)
{
	for (int i = 0; i < n; i++)
		if (minors[i] == minor)
			return true;
	return false;
}

/*
 * The kernel follows the link to the file itself, whatever its name is there. What is known of the
 * file must do: one that would first ask a file system, as FUSE does, may wait for ever for it.
 */
static bool is_drm(int dir, const char *name, unsigned int *minor)
{
	struct statx st;

	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st))
		return false;
	*minor = st.stx_rdev_minor;
	return S_ISCHR(st.stx_mode) && st.stx_rdev_major == DRM_MAJOR;
}

static int look_at(uint32_t pid, unsigned int *minors, int max, unsigned int *look)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	struct dirent *e;
	unsigned int minor;
	char path[32];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		if (!*look)
			return -E2BIG;
		--*look;
		if (!is_drm(dirfd(dir), e->d_name, &minor) || known(minors, n, minor))
			continue;
		if (n == max)
			return -E2BIG;
		minors[n++] = minor;
	}
	return n;
}

int gt_drmfds(uint32_t pid, unsigned int *minors, int max, unsigned int *look)
{
	/* the folder is its user's alone, to open and to look a name up */
	uint64_t caps = gt_privs_raise(1ULL << CAP_DAC_READ_SEARCH);
	int n = look_at(pid, minors, max, look);

	gt_privs_lower(caps);
	return n;
}

#define GROUPS	  256
#define PROCESSES 8192 /* that are looked at */
#define ENTRIES	  128  /* of an ACL */
#define RW	  (ACL_READ | ACL_WRITE)

/** struct groups - what is known of a user's */
struct groups {
	gid_t gid[GROUPS];
	unsigned int n;
};

static void add(struct groups *g, gid_t gid)
{
	if (g->n < GROUPS)
		g->gid[g->n++] = gid;
}

static bool has(const struct groups *g, gid_t gid)
{
	for (unsigned int i = 0; i < g->n; i++)
		if (g->gid[i] == gid)
			return true;
	return false;
}

/* Without the name service, which may ask somebody and wait */
static void of_files(struct groups *g, uint32_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;
	const struct group *gr;
	char name[256] = "";

	while (f && (pw = fgetpwent(f))) {
		if (pw->pw_uid != uid)
			continue;
		snprintf(name, sizeof(name), "%s", pw->pw_name);
		add(g, pw->pw_gid);
		break;
	}
	if (f)
		fclose(f);
	f = *name ? fopen("/etc/group", "re") : NULL;
	while (f && (gr = fgetgrent(f)))
		for (char **m = gr->gr_mem; *m; m++)
			if (!strcmp(*m, name))
				add(g, gr->gr_gid);
	if (f)
		fclose(f);
}

/* "Gid:" and "Groups:" of a process's status */
static void of_status(struct groups *g, FILE *f)
{
	char *line = NULL, *s, *end;
	size_t room = 0;

	while (getline(&line, &room, f) > 0) {
		if (strncmp(line, "Gid:", 4) && strncmp(line, "Groups:", 7))
			continue;
		for (s = strchr(line, ':') + 1;; s = end) {
			unsigned long gid = strtoul(s, &end, 10);

			if (end == s)
				break;
			add(g, (gid_t)gid);
		}
	}
	free(line);
}

/* The first of the user's processes: a login's have the same groups */
static void of_processes(struct groups *g, uint32_t uid)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	char path[64];
	struct stat st;
	FILE *f;

	for (unsigned int n = 0; d && n < PROCESSES && (e = readdir(d)); n++) {
		if (!isdigit((unsigned char)e->d_name[0]) || fstatat(dirfd(d), e->d_name, &st, 0) ||
		    st.st_uid != uid)
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/status", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		of_status(g, f);
		fclose(f);
		break;
	}
	if (d)
		closedir(d);
}

static bool by_mode(const struct stat *st, uint32_t uid, const struct groups *g)
{
	if (st->st_uid == uid)
		return (st->st_mode >> 6 & RW) == RW;
	if (has(g, st->st_gid))
		return (st->st_mode >> 3 & RW) == RW;
	return (st->st_mode & RW) == RW;
}

/* As acl(5) says. 1 or 0; -1: there is no ACL */
static int by_acl(const char *node, const struct stat *st, uint32_t uid, const struct groups *g)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entry[ENTRIES];
	} acl;
	ssize_t len = getxattr(node, "system.posix_acl_access", &acl, sizeof(acl));
	unsigned int n, mask = RW, group = 0, other = 0;
	int named = -1;
	bool in = false;

	if (len < (ssize_t)sizeof(acl.head) || acl.head.a_version != POSIX_ACL_XATTR_VERSION)
		return -1;
	n = (unsigned int)(((size_t)len - sizeof(acl.head)) / sizeof(acl.entry[0]));
	for (unsigned int i = 0; i < n; i++) {
		const struct posix_acl_xattr_entry *e = &acl.entry[i];
		bool ours = (e->e_tag == ACL_GROUP_OBJ && has(g, st->st_gid)) ||
			    (e->e_tag == ACL_GROUP && has(g, e->e_id));

		if (e->e_tag == ACL_USER_OBJ && st->st_uid == uid)
			return (e->e_perm & RW) == RW;
		if (e->e_tag == ACL_USER && e->e_id == uid)
			named = e->e_perm;
		if (e->e_tag == ACL_MASK)
			mask = e->e_perm;
		if (e->e_tag == ACL_OTHER)
			other = e->e_perm;
		in |= ours;
		if (ours && (e->e_perm & RW) == RW)
			group = RW;
	}
	if (named >= 0)
		return ((unsigned int)named & mask & RW) == RW;
	return ((in ? group & mask : other) & RW) == RW;
}

static bool may(const char *node, const struct stat *st, uint32_t uid, const struct groups *g)
{
	int acl = by_acl(node, st, uid, g);

	return acl < 0 ? by_mode(st, uid, g) : acl;
}

bool gt_device_access(const char *node, uint32_t uid)
{
	struct groups g = { .n = 0 };
	struct stat st;

	if (stat(node, &st) < 0)
		return false;
	if (!uid)
		return true;
	of_files(&g, uid);
	if (may(node, &st, uid, &g))
		return true;
	of_processes(&g, uid);
	return may(node, &st, uid, &g);
}

#define DEVICES_MAX 256 /* a bound on what is read, not on what there can be */

/*
 * 0, with *@d NULL, if there is no such folder: a device comes and goes while it is read. Anything
 * else, such as no descriptor left, says nothing about what there is.
 */
static int open_dir(const struct gt_root *root, DIR **d, const char *path)
{
	*d = gt_root_dir(root, path);
	return *d || errno == ENOENT || errno == ENOTDIR || errno == ENODEV ? 0 : -errno;
}

void gt_device_name(char *out, unsigned long len, const char *driver, unsigned int n)
{
	size_t dl = strlen(driver);
	char number[16];
	int nl;

	nl = snprintf(number, sizeof(number), "%s%u",
		      dl && driver[dl - 1] >= '0' && driver[dl - 1] <= '9' ? "-" : "", n);
	/* a driver's name is cut rather than its number, which makes the name unique */
	if (dl + (size_t)nl + 1 > len)
		dl = len > (size_t)nl ? len - (size_t)nl - 1 : 0;
	snprintf(out, len, "%.*s%s", (int)dl, driver, number);
}

/* "card12" with prefix "card" is 12; anything else -1 */
static int numbered(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	char *end;
	long v;

	if (strncmp(name, prefix, n) || name[n] < '0' || name[n] > '9')
		return -1;
	v = strtol(name + n, &end, 10);
	return *end || v > 1048575 ? -1 : (int)v;
}

/* 0000:04:00.0 */
static bool is_pci(const char *s, size_t n)
{
	static const char shape[] = "xxxx:xx:xx.x";

	if (n != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'x' ? !strchr("0123456789abcdef", s[i]) : s[i] != shape[i])
			return false;
	return true;
}

/* The nearest PCI device at or above @path: a virtio GPU is a child of one. */
static void find_pci(char out[16], const char *path)
{
	const char *end = path + strlen(path), *from;

	for (; end > path; end = from - 1) {
		from = memrchr(path, '/', (size_t)(end - path));
		if (!from++)
			return;
		if (is_pci(from, (size_t)(end - from))) {
			snprintf(out, 16, "%.*s", (int)(end - from), from);
			return;
		}
	}
}

static int find_render(const struct gt_root *root, char *out, size_t len, const char *device)
{
	char path[PATH_MAX + 8];
	struct dirent *e;
	GT_ROOT_DIR d = NULL;
	int ret;

	snprintf(path, sizeof(path), "%s/drm", device);
	ret = open_dir(root, &d, path);
	while (d && (e = readdir(d)))
		if (numbered(e->d_name, "renderD") >= 0)
			snprintf(out, len, "%.*s", (int)len - 1, e->d_name);
	return ret;
}

static struct gt_device *append(struct gt_devices *d)
{
	struct gt_device *dev;

	if (d->n >= DEVICES_MAX)
		return NULL;
	dev = realloc(d->dev, (d->n + 1) * sizeof(*dev));
	if (!dev)
		return NULL;
	d->dev = dev;
	dev += d->n++;
	memset(dev, 0, sizeof(*dev));
	dev->minor = dev->kfd_node = -1;
	return dev;
}

/* vgem and vkms are drivers for tests; the first has a render node all the same. */
static bool is_gpu(const struct gt_device *dev)
{
	return dev->render[0] && dev->driver[0] && strcmp(dev->driver, "vgem") &&
	       strcmp(dev->driver, "vkms");
}

/* ROCm's name of an AMD GPU, as rocminfo prints it, from amdgpu's unique_id (amdgpu_pm.c) */
static void find_amd_uuid(const struct gt_root *root, struct gt_device *dev, const char *device)
{
	char path[PATH_MAX + 16], id[32];

	snprintf(path, sizeof(path), "%s/unique_id", device);
	gt_root_word(root, path, id, sizeof(id));
	if (id[0])
		snprintf(dev->uuid, sizeof(dev->uuid), "GPU-%s", id);
}

static void find_driver(const struct gt_root *root, struct gt_device *dev, const char *device)
{
	char link[PATH_MAX + 300];

	snprintf(link, sizeof(link), "%s/driver", device);
	gt_root_link(root, link, dev->driver, sizeof(dev->driver));
	snprintf(link, sizeof(link), "%s/driver/module", device);
	gt_root_link(root, link, dev->module, sizeof(dev->module));
}

/*
 * A virtio GPU's card hangs below the device that carries virtio, which has the driver virtio-pci:
 * the GPU, as its own events call it, is that one's child (virtgpu_drv.c).
 */
static int find_virtio(const struct gt_root *root, struct gt_device *dev, const char *device)
{
	char child[PATH_MAX + 272];
	struct dirent *e;
	GT_ROOT_DIR d = NULL;
	int ret;

	if (strncmp(dev->driver, "virtio-", 7))
		return 0;
	ret = open_dir(root, &d, device);
	while (d && (e = readdir(d))) {
		if (numbered(e->d_name, "virtio") < 0)
			continue;
		snprintf(dev->dev, sizeof(dev->dev), "%.31s", e->d_name);
		snprintf(child, sizeof(child), "%s/%s", device, e->d_name);
		find_driver(root, dev, child);
	}
	return ret;
}

/*
 * How amdgpu divides the device, as "SPX/NPS1" (amdgpu_gfx.c, amdgpu_gmc.c): what it keeps in
 * memory, so that asking does not wake the device
 */
static void find_partition(const struct gt_root *root, struct gt_device *dev, const char *device)
{
	char path[PATH_MAX + 32], compute[16], memory[16];

	snprintf(path, sizeof(path), "%s/current_compute_partition", device);
	gt_root_word(root, path, compute, sizeof(compute));
	snprintf(path, sizeof(path), "%s/current_memory_partition", device);
	gt_root_word(root, path, memory, sizeof(memory));
	snprintf(dev->partition, sizeof(dev->partition), "%.7s%s%.7s", compute,
		 *compute && *memory ? "/" : "", memory);
}

static int add_card(const struct gt_root *root, struct gt_devices *d, const char *card)
{
	char device[PATH_MAX], real[PATH_MAX];
	struct gt_device dev = { .minor = numbered(card, "card"), .kfd_node = -1 }, *to;
	int ret;

	snprintf(device, sizeof(device), "sys/class/drm/%.255s", card);
	if (dev.minor < 0)
		return 0;
	dev.instance = gt_root_inode(root, device, true);
	strcat(device, "/device");
	ret = gt_root_real(root, device, real, sizeof(real));
	if (ret)
		return ret == -EAGAIN || ret == -EMFILE || ret == -ENFILE || ret == -ENOMEM ? ret
											    : 0;
	snprintf(dev.card, sizeof(dev.card), "%.15s", card);
	snprintf(dev.dev, sizeof(dev.dev), "%.31s", strrchr(real, '/') + 1);
	find_driver(root, &dev, device);
	ret = find_virtio(root, &dev, device);
	if (!ret)
		ret = find_render(root, dev.render, sizeof(dev.render), device);
	find_pci(dev.pci, real);
	if (ret || !is_gpu(&dev))
		return ret;
	find_amd_uuid(root, &dev, device);
	find_partition(root, &dev, device);
	to = append(d);
	if (!to)
		return -ENOMEM;
	*to = dev;
	return 0;
}

static int scan_drm(const struct gt_root *root, struct gt_devices *d)
{
	struct dirent *e;
	GT_ROOT_DIR dir = NULL;
	int ret;

	ret = open_dir(root, &dir, "sys/class/drm");
	while (dir && !ret && (e = readdir(dir)))
		ret = add_card(root, d, e->d_name);
	return ret;
}

static struct gt_device *by_pci(struct gt_devices *d, const char *pci)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (!strcmp(d->dev[i].pci, pci))
			return &d->dev[i];
	return NULL;
}

/* Line "GPU UUID: GPU-…" of the proprietary driver's own file, beside sysfs */
static void find_nvidia_uuid(const struct gt_root *root, struct gt_device *dev)
{
	char path[128], text[4096];
	const char *line;

	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", dev->pci);
	gt_root_read(root, path, text, sizeof(text));
	line = strstr(text, "GPU UUID:");
	if (line)
		sscanf(line, "GPU UUID: %47s", dev->uuid);
}

static int add_nvidia(const struct gt_root *root, struct gt_devices *d, const char *pci)
{
	struct gt_device *dev = by_pci(d, pci);
	char link[128];

	if (!dev) {
		dev = append(d);
		if (!dev)
			return -ENOMEM;
		snprintf(dev->driver, sizeof(dev->driver), "nvidia");
		snprintf(dev->pci, sizeof(dev->pci), "%.12s", pci);
		snprintf(dev->dev, sizeof(dev->dev), "%.12s", pci);
		snprintf(link, sizeof(link), "sys/bus/pci/drivers/nvidia/%.12s", pci);
		dev->instance = gt_root_inode(root, link, false);
	}
	find_nvidia_uuid(root, dev);
	return 0;
}

static int scan_nvidia(const struct gt_root *root, struct gt_devices *d)
{
	struct dirent *e;
	GT_ROOT_DIR dir = NULL;
	int ret;

	ret = open_dir(root, &dir, "sys/bus/pci/drivers/nvidia");
	while (dir && !ret && (e = readdir(dir)))
		if (is_pci(e->d_name, strlen(e->d_name)))
			ret = add_nvidia(root, d, e->d_name);
	return ret;
}

/* "drm_render_minor 128" of a node's properties; the key to the DRM device */
static int render_minor_of(const struct gt_root *root, const char *node)
{
	char path[PATH_MAX + 300], text[4096];
	const char *line;
	int minor = -1;

	snprintf(path, sizeof(path), "%s/properties", node);
	gt_root_read(root, path, text, sizeof(text));
	line = strstr(text, "drm_render_minor ");
	return line && sscanf(line, "drm_render_minor %d", &minor) == 1 ? minor : -1;
}

static void match_kfd(const struct gt_root *root, struct gt_devices *d, const char *node)
{
	char path[PATH_MAX + 300], id[32];
	unsigned long v;
	int minor;

	snprintf(path, sizeof(path), "%s/gpu_id", node);
	gt_root_word(root, path, id, sizeof(id));
	v = strtoul(id, NULL, 10);
	minor = render_minor_of(root, node);
	if (!v || v > UINT32_MAX || minor < 0)
		return; /* gpu_id 0 is a CPU */
	for (unsigned int i = 0; i < d->n; i++) {
		if (numbered(d->dev[i].render, "renderD") != minor || d->dev[i].kfd_id)
			continue;
		d->dev[i].kfd_id = (uint32_t)v;
		d->dev[i].kfd_node = numbered(strrchr(node, '/') + 1, "");
	}
}

static void scan_kfd(const struct gt_root *root, struct gt_devices *d)
{
	static const char nodes[] = "sys/class/kfd/kfd/topology/nodes";
	char node[sizeof(nodes) + 272];
	struct dirent *e;
	GT_ROOT_DIR dir = gt_root_dir(root, nodes);

	while (dir && (e = readdir(dir))) {
		if (numbered(e->d_name, "") < 0)
			continue;
		snprintf(node, sizeof(node), "%s/%s", nodes, e->d_name);
		match_kfd(root, d, node);
	}
}

/* PCI devices first, by address; the rest, and partitions of one device, by card number */
static int in_pci_order(const void *a, const void *b)
{
	const struct gt_device *x = a, *y = b;
	int c;

	if (!x->pci[0] != !y->pci[0])
		return x->pci[0] ? -1 : 1;
	c = strcmp(x->pci, y->pci);
	return c ? c : (x->minor > y->minor) - (x->minor < y->minor);
}

static void name_all(struct gt_devices *d)
{
	unsigned int n;

	qsort(d->dev, d->n, sizeof(*d->dev), in_pci_order);
	for (unsigned int i = 0; i < d->n; i++) {
		n = 0;
		for (unsigned int j = 0; j < i; j++)
			n += !strcmp(d->dev[i].driver, d->dev[j].driver);
		gt_device_name(d->dev[i].name, sizeof(d->dev[i].name), d->dev[i].driver, n);
	}
}

/* A module's holders/ has those that use it; there is none where it is built in. */
bool gt_device_uses(const struct gt_device *dev, const char *module)
{
	char holders[128], path[sizeof(holders) + 40];

	snprintf(holders, sizeof(holders), "/sys/module/%.60s/holders", module);
	if (!dev->module[0] || access(holders, F_OK))
		return true;
	snprintf(path, sizeof(path), "%s/%s", holders, dev->module);
	return !access(path, F_OK);
}

bool gt_device_is(const struct gt_device *dev, unsigned int minor)
{
	return (int)minor == dev->minor || (int)minor == numbered(dev->render, "renderD");
}

int gt_devices_scan(struct gt_devices *d, const char *path)
{
	struct gt_root root;
	int ret = gt_root_open(&root, path);

	memset(d, 0, sizeof(*d));
	if (ret)
		return ret;
	ret = scan_drm(&root, d);
	if (!ret)
		ret = scan_nvidia(&root, d);
	if (!ret)
		scan_kfd(&root, d);
	gt_root_close(&root);
	if (ret) {
		gt_devices_free(d);
		return ret;
	}
	if (d->n)
		name_all(d);
	return 0;
}

void gt_devices_free(struct gt_devices *d)
{
	free(d->dev);
	memset(d, 0, sizeof(*d));
}

/* Linux lib/kobject_uevent.c says what the messages hold, and that the kernel sends as port 0. */

#define KERNEL_GROUP 1	  /* udev's own messages are in group 2 */
#define MESSAGE_MAX  8192 /* UEVENT_BUFFER_SIZE is 2048, and its header */
#define DRAIN_MAX    256

int gt_uevent_open(void)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);
	int on = 1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&me, sizeof(me))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is(const char *field, const char *key, const char *value)
{
	size_t n = strlen(key);

	return !strncmp(field, key, n) && !strcmp(field + n, value);
}

int gt_uevent_about(const char *msg, size_t len)
{
	const char *end = msg + len;
	bool drm = false, pci = false, module = false, driver = false;

	if (!len || end[-1] || !memchr(msg, '@', strlen(msg)))
		return 0;
	for (const char *f = msg + strlen(msg) + 1; f < end; f += strlen(f) + 1) {
		drm |= is(f, "SUBSYSTEM=", "drm");
		pci |= is(f, "SUBSYSTEM=", "pci");
		module |= is(f, "SUBSYSTEM=", "module");
		/* without a DRM device, as with NVIDIA's own driver, there is no more than this */
		driver |= is(f, "ACTION=", "bind") || is(f, "ACTION=", "unbind");
	}
	return (drm || (pci && driver) ? GT_UEVENT_DEVICE : 0) | (module ? GT_UEVENT_MODULE : 0);
}

/* The kernel's own: from port 0, with no process behind it. Anybody may send to this socket. */
static bool of_kernel(struct msghdr *h)
{
	const struct sockaddr_nl *from = h->msg_name;
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	struct ucred cred;

	if (h->msg_namelen != sizeof(*from) || from->nl_pid || from->nl_groups != KERNEL_GROUP)
		return false;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len < CMSG_LEN(sizeof(cred)))
		return false;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	return !cred.pid && !cred.uid;
}

/* GT_UEVENT_* of the next message; -EAGAIN if no message waits, else -errno */
static int next_message(int fd)
{
	char msg[MESSAGE_MAX], control[CMSG_SPACE(sizeof(struct ucred))]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
	struct sockaddr_nl from;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(msg) };
	struct msghdr h = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &h, 0);

	/* too many at once, and some are lost: there may be anything among them */
	if (n < 0)
		return errno == ENOBUFS ? GT_UEVENT_DEVICE | GT_UEVENT_MODULE : -errno;
	if (!of_kernel(&h) || (h.msg_flags & MSG_TRUNC))
		return 0;
	return gt_uevent_about(msg, (size_t)n);
}

int gt_uevent_drain(int fd)
{
	int what = 0, ret;

	for (int i = 0; i < DRAIN_MAX; i++) {
		ret = next_message(fd);
		if (ret == -EAGAIN)
			break;
		if (ret < 0 && ret != -EINTR)
			return ret;
		what |= ret > 0 ? ret : 0;
	}
	return what;
}
