/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which devices are GPUs: those that sysfs lists and the daemon knows. class/drm has cards and
 * render nodes, class/kfd the one device of AMD's compute driver, with its numbers of GPUs below
 * it. NVIDIA's driver has its own number of devices, which do not show their GPU.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ioctl.h"
#include "bpf/ioctl.skel.h"

#define DRM   "/sys/class/drm"
#define KFD   "/sys/class/kfd/kfd"
#define NODES KFD "/topology/nodes"

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

static uint32_t rdev_of(unsigned int major, unsigned int minor)
{
	return major << 20 | (minor & 0xfffff); /* include/linux/kdev_t.h, MKDEV() */
}

/* First line of a small file; false: there is none */
static bool read_line(const char *path, char *out, size_t len)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(out, (int)len, f);
	fclose(f);
	return ok;
}

/* "226:128" */
static bool read_dev(const char *dir, uint32_t *rdev)
{
	char path[PATH_MAX], text[32];
	unsigned int major, minor;

	snprintf(path, sizeof(path), "%s/dev", dir);
	if (!read_line(path, text, sizeof(text)) || sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	*rdev = rdev_of(major, minor);
	return true;
}

static enum gt_ioctl_driver driver_of(const char *dir)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/device/driver", dir);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return GT_IOCTL_BY_NOBODY;
	link[n] = '\0';
	base = strrchr(link, '/');
	return gt_ioctl_driver(base ? base + 1 : link);
}

static struct gi_device *find(struct gi_devices *d, struct gt_ioctl_key key, uint32_t kfd_id)
{
	for (unsigned int i = 0; i < d->n; i++) {
		struct gi_device *dev = &d->dev[i];

		if (dev->kfd_id == kfd_id && dev->key.kind == key.kind && dev->key.rdev == key.rdev)
			return dev;
	}
	return NULL;
}

/* @dev is there: under the slot that it had, or a new one */
static void put(struct gi_devices *d, const struct gi_device *dev)
{
	struct gi_device *to = find(d, dev->key, dev->kfd_id);

	if (!to && d->n == GT_IOCTL_DEVICES) {
		d->refused++;
		return;
	}
	if (!to)
		to = &d->dev[d->n++];
	*to = *dev;
	to->here = true;
}

static uint16_t gpu_listed(const struct gi_devices *d, int minor, uint32_t kfd_id)
{
	struct gt_gpu_desc desc = { .minor = minor, .kfd_id = kfd_id, .listed = true };

	return d->b->p->host->gpu(d->b->p, &desc);
}

/* What is a GPU's is for the daemon to say, which leaves out displays without one. */
static void look_drm(struct gi_devices *d)
{
	char dir[sizeof(DRM) + 264];
	AUTO_DIR list = opendir(DRM);
	struct dirent *e;

	while (list && (e = readdir(list))) {
		struct gi_device dev = { .key.kind = GT_IOCTL_DRM };

		snprintf(dir, sizeof(dir), DRM "/%s", e->d_name);
		if (e->d_name[0] == '.' || !read_dev(dir, &dev.key.rdev))
			continue;
		dev.gpu = gpu_listed(d, (int)(dev.key.rdev & 0xfffff), 0);
		dev.driver = driver_of(dir);
		if (dev.gpu != GT_NONE16)
			put(d, &dev);
	}
}

static void look_kfd(struct gi_devices *d)
{
	struct gi_device dev = { .key.kind = GT_IOCTL_KFD, .driver = GT_IOCTL_BY_KFD };
	char path[sizeof(NODES) + 272], text[32];
	AUTO_DIR list = opendir(NODES);
	struct dirent *e;

	dev.gpu = GT_NONE16;
	if (!read_dev(KFD, &dev.key.rdev))
		return;
	put(d, &dev);
	while (list && (e = readdir(list))) {
		snprintf(path, sizeof(path), NODES "/%s/gpu_id", e->d_name);
		if (e->d_name[0] == '.' || !read_line(path, text, sizeof(text)))
			continue;
		dev.kfd_id = (uint32_t)strtoul(text, NULL, 10);
		dev.gpu = dev.kfd_id ? gpu_listed(d, -1, dev.kfd_id) : GT_NONE16;
		if (dev.gpu != GT_NONE16)
			put(d, &dev);
	}
}

/* One entry for /dev/nvidiactl, by which nearly all calls go, and /dev/nvidia0 and so on: none
 * shows its GPU. nvidia-uvm is another device, and its commands are plain numbers, not of type F. */
static void look_nvidia(struct gi_devices *d)
{
	static const struct gi_device dev = { .key = { GT_IOCTL_NVIDIA, GT_NVIDIA_MAJOR << 20 },
					      .driver = GT_IOCTL_BY_NVIDIA,
					      .gpu = GT_NONE16 };

	if (gb_nvidia_loaded())
		put(d, &dev);
}

/* One word of the hidden option: "d/226/128/amdgpu/0000:04:00.0"; G is KFD's number of a GPU */
static void put_configured(struct gi_devices *d, const char *word)
{
	char type, driver[16], name[32];
	unsigned int major, minor;
	struct gt_gpu_desc desc = { .driver = driver, .dev = name, .minor = -1 };
	struct gi_device dev = { .gpu = GT_NONE16 };

	if (sscanf(word, "%c/%u/%u/%15[^/]/%31s", &type, &major, &minor, driver, name) != 5)
		return;
	if (type == 'F')
		minor = 0; /* any */
	else if (type != 'K')
		dev.gpu = d->b->p->host->gpu(d->b->p, &desc);
	dev.key.kind = type == 'd' ? GT_IOCTL_DRM : type == 'F' ? GT_IOCTL_NVIDIA : GT_IOCTL_KFD;
	dev.key.rdev = type == 'G' ? 0 : rdev_of(major, minor);
	dev.driver = type == 'd'   ? gt_ioctl_driver(driver)
		     : type == 'F' ? GT_IOCTL_BY_NVIDIA
				   : GT_IOCTL_BY_KFD;
	dev.kfd_id = type == 'G' ? major : 0;
	put(d, &dev);
}

static void look_configured(struct gi_devices *d, const char *list)
{
	char word[96];
	int n;

	for (; sscanf(list, " %95s%n", word, &n) == 1; list += n)
		put_configured(d, word);
}

/* Numbers of commands that are wanted on some device that is here */
static void want(const struct gi_devices *d, struct gt_ioctl_config *cfg)
{
	for (unsigned int i = 0; i < d->n; i++) {
		const struct gi_device *dev = &d->dev[i];

		for (uint32_t nr = 0; nr < 256 && dev->here; nr++)
			if (1u << gt_ioctl_what(dev->driver, nr) & cfg->wanted)
				cfg->any[dev->key.kind * 4 + nr / 64] |= 1ull << nr % 64;
	}
}

void gi_devices_emit(const struct gi_devices *d, uint32_t functions)
{
	struct gt_ioctl_config cfg = { .wanted = ~0u, .functions = functions };

	if (d->b->level < 3)
		cfg.wanted &= ~(1u << GT_IOCTL_OTHER);
	want(d, &cfg);
	bpf_map_update_elem(d->config_fd, &(uint32_t){ 0 }, &cfg, BPF_ANY);
	for (unsigned int i = 0; i < d->n; i++) {
		const struct gi_device *dev = &d->dev[i];
		struct gt_ioctl_device to = { (uint16_t)i, (uint16_t)dev->driver };

		if (dev->kfd_id)
			continue;
		if (!dev->here) {
			bpf_map_delete_elem(d->fd, &dev->key);
			continue;
		}
		bpf_map_update_elem(d->fd, &dev->key, &to, BPF_ANY);
	}
}

int gi_devices_slot(const struct gi_devices *d, enum gt_ioctl_kind kind)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (d->dev[i].here && d->dev[i].key.kind == kind && !d->dev[i].kfd_id)
			return (int)i;
	return -1;
}

/** gi_devices_here() - is there one of @kind? */
static bool gi_devices_here(const struct gi_devices *d, enum gt_ioctl_kind kind)
{
	return gi_devices_slot(d, kind) >= 0;
}

bool gi_devices_made(const struct gi_devices *d, enum gt_ioctl_driver driver)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (d->dev[i].here && d->dev[i].driver == driver)
			return true;
	return false;
}

void gi_devices_look(struct gi_devices *d)
{
	for (unsigned int i = 0; i < d->n; i++)
		d->dev[i].here = false;
	if (*d->b->o->ioctl_devices) {
		look_configured(d, d->b->o->ioctl_devices);
	} else {
		look_drm(d);
		look_kfd(d);
		look_nvidia(d);
	}
}

bool gi_devices_gpu(const struct gi_devices *d, unsigned int slot, uint16_t *gpu)
{
	if (slot >= d->n)
		return false;
	*gpu = d->dev[slot].gpu;
	return true;
}

uint16_t gi_devices_kfd(const struct gi_devices *d, uint32_t id)
{
	for (unsigned int i = 0; i < d->n && id && id != GT_NONE32; i++)
		if (d->dev[i].kfd_id == id)
			return d->dev[i].gpu;
	return GT_NONE16;
}

/*
 * Where the calls of each kind of device are seen: at the driver's own function, by fentry and
 * fexit or by a kprobe and a kretprobe, which cost nobody else anything; or at the tracepoints of
 * ioctl(), which every ioctl of the machine passes, and which put all its tasks on the slow way
 * into the kernel. The best that the kernel allows is chosen when the first device of the kind
 * appears, and let go with the last, so that what it is attached to can be unloaded.
 *
 * What is attached by fentry holds its module: since Linux 5.13 while it is attached
 * (kernel/bpf/trampoline.c, bpf_trampoline_module_get()), since 6.3 while the program is loaded
 * (kernel/bpf/verifier.c, bpf_check_attach_target()). A kprobe holds it only while it is being put
 * there (kernel/kprobes.c, check_kprobe_address_safe()), and goes with it. So fentry is for
 * drm_ioctl(): the module drm has its drivers as users, and when the last of their devices has gone
 * it is let go here. The compute driver's function is in amdgpu itself, which is to be unloaded at
 * any time: there it is a kprobe, and its kretprobe has room for twice as many calls at once as there
 * are CPUs, and at least 10 (kernel/kprobes.c, register_kretprobe()); what has none is counted
 * (gt_ioctl_count.unended), and its end is not reported.
 */

/* @old: what took the calls before @function did, which it then calls, or which is not there */
static const struct {
	const char *name, *function, *old, *module;
	bool fentry;
} kinds[GT_IOCTL_KINDS] = {
	[GT_IOCTL_DRM] = { "drm", "drm_ioctl", NULL, "drm", true },
	[GT_IOCTL_KFD] = { "kfd", "kfd_ioctl", NULL, "amdgpu", false },
	[GT_IOCTL_NVIDIA] = { "nvidia", "nvidia_unlocked_ioctl", "nvidia_frontend_unlocked_ioctl",
			      "nvidia", false },
};

static void detach(struct gi_way *w)
{
	bpf_link__destroy(w->begin);
	bpf_link__destroy(w->end);
	ioctl_bpf__destroy(w->own);
	*w = (struct gi_way){ 0 };
}

/* The programs of fentry alone, with the maps of the others */
static int set_up_fentry(struct ioctl_bpf *from, struct ioctl_bpf *to)
{
	struct bpf_program *p;
	struct bpf_map *m, *mine;
	int ret = 0;

	bpf_object__for_each_program(p, to->obj)
		bpf_program__set_autoload(p, p == to->progs.gt_ioctl_fentry ||
						     p == to->progs.gt_ioctl_fexit);
	bpf_object__for_each_map(m, to->obj) {
		mine = bpf_object__find_map_by_name(from->obj, bpf_map__name(m));
		if (mine && !ret)
			ret = bpf_map__reuse_fd(m, bpf_map__fd(mine));
	}
	return ret;
}

static int no_fentry(const char *function, int e, const char *words, char *err, size_t len)
{
	if (e == ESRCH)
		return gb_sentence(err, len, e,
				   "no fentry: the kernel's types do not know %s() (they need "
				   "CONFIG_DEBUG_INFO_BTF_MODULES)",
				   function);
	if (words[0])
		return gb_sentence(err, len, e, "no fentry: the kernel refuses the program: %s",
				   words);
	return gb_sentence(err, len, e,
			   "no fentry: %s (it takes CONFIG_FUNCTION_TRACER, no lockdown, and "
			   "CAP_SYS_ADMIN)",
			   e == 524 ? "not for this machine" : strerror(e)); /* ENOTSUPP */
}

static int load_fentry(struct gi *gi, struct gi_way *w, const char *function, char *err, size_t len)
{
	struct gb *b = gi->devices.b;
	struct bpf_program *p;
	int ret;

	w->own = ioctl_bpf__open();
	if (!w->own)
		return gb_sentence(err, len, ENOMEM, "no fentry: no memory");
	gb_words[0] = '\0';
	ret = set_up_fentry(gi->skel, w->own);
	bpf_object__for_each_program(p, w->own->obj)
		if (!ret && bpf_program__autoload(p))
			ret = bpf_program__set_attach_target(p, 0, function);
	if (!ret)
		ret = gb_object_load(b, w->own->obj, "ioctls", err, len);
	return ret ? no_fentry(function, -ret, gb_words, err, len) : 0;
}

/* The end first: a call with a reported begin has its end reported, too. */
static int by_fentry(struct gi *gi, struct gi_way *w, const char *function, char *err, size_t len)
{
	/* Types of modules are for CAP_SYS_ADMIN: kernel/bpf/syscall.c, bpf_btf_get_fd_by_id() */
	uint64_t raised = gt_caps_set(1ull << CAP_SYS_ADMIN, 0);
	int ret = load_fentry(gi, w, function, err, len);

	if (!ret) {
		w->end = bpf_program__attach(w->own->progs.gt_ioctl_fexit);
		w->begin = w->end ? bpf_program__attach(w->own->progs.gt_ioctl_fentry) : NULL;
		if (!w->begin)
			ret = no_fentry(function, errno, "", err, len);
	}
	gt_caps_set(0, raised);
	if (ret) {
		detach(w);
		return ret;
	}
	w->how = GI_FENTRY;
	w->at = function;
	return 0;
}

static const char *no_kprobe(int e)
{
	if (access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		return "the kernel has none (CONFIG_KPROBE_EVENTS)";
	if (e == ENOENT)
		return "it has no such function";
	if (e == EPERM || e == EACCES)
		return "they are forbidden: lockdown, perf_event_paranoid, or CAP_PERFMON is "
		       "missing";
	return strerror(e);
}

static int by_kprobe(struct gi *gi, struct gi_way *w, const char *function, char *err, size_t len)
{
	struct ioctl_bpf *s = gi->skel;
	int e;

	w->end = bpf_program__attach_kprobe(s->progs.gt_ioctl_kretprobe, true, function);
	if (w->end)
		w->begin = bpf_program__attach_kprobe(s->progs.gt_ioctl_kprobe, false, function);
	e = errno;
	if (w->begin) {
		w->how = GI_KPROBE;
		w->at = function;
		return 0;
	}
	detach(w);
	return gb_sentence(err, len, e, "no kprobe on %s(): %s", function, no_kprobe(e));
}

/* Those of the system call, for all kinds that have nothing better */
static int tracepoints(struct gi *gi, char *err, size_t len)
{
	int ret = gi->call[0] ? 0 : gb_tracefs(gi->devices.b, "ioctl", err, len);

	if (ret || gi->call[0])
		return ret;
	gi->call[1] = bpf_program__attach(gi->skel->progs.gt_ioctl_exit);
	gi->call[0] = gi->call[1] ? bpf_program__attach(gi->skel->progs.gt_ioctl_enter) : NULL;
	if (gi->call[0])
		return 0;
	ret = errno;
	bpf_link__destroy(gi->call[1]);
	gi->call[1] = NULL;
	return gb_refused(ret, "ioctls", "", err, len);
}

/* The hidden option's; devices that need not be there are seen by the system call alone. */
static bool may_be(const struct gb *b, const char *how)
{
	if (*b->o->ioctl_by)
		return strstr(b->o->ioctl_by, how);
	return !*b->o->ioctl_devices || !strcmp(how, "tracepoint");
}

/* Of a kind that knows two functions, what the calls come to first */
static int by_kprobes(struct gi *gi, enum gt_ioctl_kind kind, char *err, size_t len)
{
	struct gi_way *w = &gi->way[kind];
	const char *old = kinds[kind].old;

	if (old && !by_kprobe(gi, w, old, err, len))
		return 0;
	*err = '\0';
	return by_kprobe(gi, w, kinds[kind].function, err, len);
}

static void choose(struct gi *gi, enum gt_ioctl_kind kind)
{
	const char *function = kinds[kind].function;
	const struct gb *b = gi->devices.b;
	struct gi_way *w = &gi->way[kind];
	char why[3][GB_SENTENCE / 3] = { 0 };

	if (kinds[kind].fentry && may_be(b, "fentry") &&
	    !by_fentry(gi, w, function, why[0], sizeof(why[0])))
		return;
	if (may_be(b, "kprobe") && !by_kprobes(gi, kind, why[1], sizeof(why[1])))
		w->instance = gb_module_instance(kinds[kind].module);
	else if (may_be(b, "tracepoint") && !tracepoints(gi, why[2], sizeof(why[2])))
		w->how = GI_TRACEPOINT;
	else
		w->how = GI_BLIND;
	for (int i = 0; i < 3; i++)
		snprintf(w->why + strlen(w->why), sizeof(w->why) - strlen(w->why), "%s%s",
			 *w->why && *why[i] ? "; " : "", why[i]);
}

/* A kprobe goes with its module: another of that name has none. Of a module that is called
 * otherwise that is not known. */
static bool is_another(const struct gi_way *w, enum gt_ioctl_kind kind)
{
	return w->how == GI_BLIND ||
	       (w->how == GI_KPROBE &&
		(!w->instance || w->instance != gb_module_instance(kinds[kind].module)));
}

uint32_t gi_ways_look(struct gi *gi)
{
	uint32_t functions = 0;
	bool call = false;

	for (int k = 0; k < GT_IOCTL_KINDS; k++) {
		struct gi_way *w = &gi->way[k];
		bool here = gi_devices_here(&gi->devices, (enum gt_ioctl_kind)k);

		if (w->how && (!here || is_another(w, (enum gt_ioctl_kind)k)))
			detach(w);
		if (here && !w->how)
			choose(gi, (enum gt_ioctl_kind)k);
		functions |= (w->how == GI_FENTRY || w->how == GI_KPROBE) ? 1u << k : 0;
		call |= w->how == GI_TRACEPOINT;
	}
	for (int i = 0; i < 2 && !call; i++) {
		bpf_link__destroy(gi->call[i]);
		gi->call[i] = NULL;
	}
	return functions;
}

void gi_files_look(struct gi *gi)
{
	uint64_t instance = gb_module_instance(kinds[GT_IOCTL_DRM].module);
	bool wanted = gi_devices_made(&gi->devices, GT_IOCTL_BY_AMDGPU);

	if (gi->file && (!wanted || gi->file_instance != instance)) {
		bpf_link__destroy(gi->file);
		gi->file = NULL;
	}
	if (!wanted || gi->file)
		return;
	gi->file_instance = instance;
	if (may_be(gi->b, "kprobe"))
		gi->file = bpf_program__attach_kprobe(gi->skel->progs.gt_ioctl_release, false,
						      "drm_release");
	if (!gi->file)
		gi->file = bpf_program__attach(gi->skel->progs.gt_ioctl_close);
}

void gi_ways_end(struct gi *gi)
{
	bpf_link__destroy(gi->file);
	for (int k = 0; k < GT_IOCTL_KINDS; k++)
		detach(&gi->way[k]);
	for (int i = 0; i < 2; i++)
		bpf_link__destroy(gi->call[i]);
}

bool gi_ways_blind(const struct gi *gi, const char **why)
{
	bool blind = false;

	for (int k = 0; k < GT_IOCTL_KINDS; k++) {
		if (gi->way[k].how == GI_BLIND)
			*why = gi->way[k].why;
		else if (gi->way[k].how)
			return false;
		blind |= gi->way[k].how == GI_BLIND;
	}
	return blind;
}

void gi_ways_doctor(const struct gi *gi, struct gt_details *t)
{
	static const char *const how[] = {
		[GI_FENTRY] = "fentry",
		[GI_KPROBE] = "kprobe",
		[GI_TRACEPOINT] =
			"tracepoints of the system call, which each one of this machine passes",
		[GI_BLIND] = "nothing",
	};

	for (int k = 0; k < GT_IOCTL_KINDS; k++) {
		const struct gi_way *w = &gi->way[k];

		if (!w->how)
			continue;
		gt_detail(t, "ioctl_%s_by %s%s%s%s%s\n", kinds[k].name, how[w->how],
			  w->at ? " " : "", w->at ? w->at : "", *w->why ? ": " : "", w->why);
	}
}
