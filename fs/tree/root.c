/* SPDX-License-Identifier: GPL-2.0 */
/* The root directory's files. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/stream.h"
#include "internal.h"
#include "tree.h"

/* Of doctor: why no GPU was found, and which devices look like a GPU but are not served by a
 * driver. */

#define MAX_SHOWN 32

/** struct pci - a display controller or accelerator; "" is unknown */
struct pci {
	char path[PATH_MAX];
	char name[16], driver[32];
	unsigned int vendor, device, class;
};

/* Drivers of a vendor's GPUs, and the one to load */
static const struct vendor {
	unsigned int id;
	const char *modules[3];
} vendors[] = {
	{ 0x1002, { "amdgpu", "radeon" } },
	{ 0x8086, { "i915", "xe" } },
	{ 0x10de, { "nvidia", "nouveau" } },
	{ 0x1af4, { "virtio_gpu" } },
};

/* Drivers that reserve a device for a virtual machine */
static const char *const passthrough[] = { "vfio-pci", "pci-stub", "pciback" };

static bool read_hex(const char *dir, const char *file, unsigned int *out)
{
	char path[PATH_MAX + 16];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	good = f && fscanf(f, "%x", out) == 1;
	if (f)
		fclose(f);
	return good;
}

static bool is_there(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static bool read_pci(struct pci *p, const char *root, const char *name)
{
	char path[PATH_MAX + 16], link[256];
	const char *base;
	ssize_t n;

	*p = (struct pci){ 0 };
	if (snprintf(p->name, sizeof(p->name), "%s", name) >= (int)sizeof(p->name) ||
	    snprintf(p->path, sizeof(p->path), "%s/sys/bus/pci/devices/%s", root, name) >=
		    (int)sizeof(p->path) ||
	    !read_hex(p->path, "class", &p->class))
		return false;
	/* display controllers, processing accelerators */
	if (p->class >> 16 != 0x03 && p->class >> 8 != 0x1200)
		return false;
	read_hex(p->path, "vendor", &p->vendor);
	read_hex(p->path, "device", &p->device);
	snprintf(path, sizeof(path), "%s/driver", p->path);
	n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = 0;
		base = strrchr(link, '/');
		snprintf(p->driver, sizeof(p->driver), "%.31s", base ? base + 1 : link);
	}
	return true;
}

static bool is_given(const struct pci *p)
{
	for (size_t i = 0; i < sizeof(passthrough) / sizeof(passthrough[0]); i++)
		if (!strcmp(p->driver, passthrough[i]))
			return true;
	return false;
}

static void show_head(struct gt_text *t, const struct pci *p, const char *what)
{
	gt_text_str(t, "device ");
	gt_text_word(t, p->name, sizeof(p->name));
	gt_text_printf(t, " %04x:%04x %s\n", p->vendor & 0xffff, p->device & 0xffff, what);
}

/* The remedy is to read what the kernel said of it */
static void show_dmesg(struct gt_text *t, const struct pci *p)
{
	gt_text_str(t, "  remedy dmesg | grep ");
	gt_text_word(t, p->name, sizeof(p->name));
	gt_text_str(t, " says what went wrong\n");
}

static void show_no_driver(struct gt_text *t, const char *root, const struct pci *p)
{
	char modules[PATH_MAX];
	const struct vendor *v = vendors, *end = vendors + sizeof(vendors) / sizeof(vendors[0]);

	show_head(t, p, "has-no-driver");
	snprintf(modules, sizeof(modules), "%s/sys/module", root);
	while (v < end && v->id != p->vendor)
		v++;
	for (int i = 0; v < end && v->modules[i]; i++) {
		if (!is_there(modules, v->modules[i]))
			continue;
		gt_text_printf(t,
			       "  why %s is loaded but does not serve it: its probe failed, or it "
			       "does not know this device\n",
			       v->modules[i]);
		show_dmesg(t, p);
		return;
	}
	if (v < end) {
		gt_text_printf(t, "  why its driver, %s, is not loaded\n  remedy modprobe %s\n",
			       v->modules[0], v->modules[0]);
		return;
	}
	gt_text_str(t, "  why no driver that is loaded serves it\n");
	show_dmesg(t, p);
}

static void show_device(struct gt_text *t, const char *root, const struct pci *p)
{
	if (!*p->driver) {
		show_no_driver(t, root, p);
	} else if (is_given(p)) {
		show_head(t, p, "is-given-away");
		gt_text_str(t, "  why ");
		gt_text_word(t, p->driver, sizeof(p->driver));
		gt_text_str(t, " has it, for a virtual machine\n"
			       "  remedy the machine that has it sees its work\n");
	} else if (is_there(p->path, "drm")) {
		show_head(t, p, "is-a-display");
		gt_text_str(t, "  why ");
		gt_text_word(t, p->driver, sizeof(p->driver));
		gt_text_str(t, " only shows pictures: it has no render node, and gets no work\n");
	} else {
		show_head(t, p, "failed");
		gt_text_str(t, "  why ");
		gt_text_word(t, p->driver, sizeof(p->driver));
		gt_text_str(t, " serves it but made no DRM device of it\n");
		show_dmesg(t, p);
	}
}

/* Is it a GPU of the tree? */
static bool is_shown(struct gt_model *m, const char *pci)
{
	GT_MODEL_LOCK(m);

	for (unsigned int i = 0; i < m->ngpus; i++)
		if (!m->gpus[i]->gone && !strcmp(m->gpus[i]->pci, pci))
			return true;
	return false;
}

static bool has_gpus(struct gt_model *m)
{
	GT_MODEL_LOCK(m);

	for (unsigned int i = 0; i < m->ngpus; i++)
		if (!m->gpus[i]->gone)
			return true;
	return false;
}

static void show_none(struct gt_text *t, const char *root, int err, unsigned int shown)
{
	char drm[PATH_MAX];

	gt_text_str(t, "gpu none-found\n  why ");
	snprintf(drm, sizeof(drm), "%s/sys/class/drm", root);
	if (err && err != ENOENT)
		gt_text_printf(t, "/sys/bus/pci/devices cannot be read: %s\n", strerror(err));
	else if (shown)
		gt_text_str(t, "no driver offers a GPU: see each device below\n");
	else if (access(drm, R_OK | X_OK) && errno != ENOENT)
		gt_text_printf(t, "/sys/class/drm cannot be read: %s\n", strerror(errno));
	else
		gt_text_str(t, "this machine has no PCI display controller or accelerator, and no "
			       "driver offers a DRM device with a render node\n");
	gt_text_str(t, "  remedy after a driver was loaded: echo rescan > control; "
		       "-o backend=sim simulates a GPU\n");
}

/* A display, or one that a virtual machine has: nothing is wrong with it */
static bool is_no_gpu_here(const struct pci *p)
{
	return *p->driver && (is_given(p) || is_there(p->path, "drm"));
}

void gt_show_devices(struct gt_text *t, struct gt_app *app, bool faults)
{
	const char *root = app->conf ? app->conf->sysroot : "";
	char path[PATH_MAX];
	bool gpus = has_gpus(app->model);
	struct gt_text devices;
	unsigned int shown = 0;
	struct dirent *e;
	struct pci p;
	int err;
	DIR *d;

	gt_text_init(&devices, 0);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
	d = opendir(path);
	err = d ? 0 : errno;
	while (d && shown < MAX_SHOWN && (e = readdir(d))) {
		if (*e->d_name == '.' || !read_pci(&p, root, e->d_name) ||
		    is_shown(app->model, p.name) || (gpus && is_no_gpu_here(&p)) == faults)
			continue;
		show_device(&devices, root, &p);
		shown++;
	}
	if (d)
		closedir(d);
	if (faults && !gpus)
		show_none(t, root, err, shown);
	gt_text_mem(t, devices.buf, devices.len);
	gt_text_free(&devices);
}

/* The root's README: the tables' own help, so that it cannot differ from what is there. */

const struct gt_section gt_tree_sections[] = {
	{ GT_DIR_ROOT, ".", "the whole machine" },
	{ GT_DIR_CONFIG, "config", "settings: `cat` reads, `echo` writes" },
	{ GT_DIR_BACKENDS, "backends", "a directory for each source of events" },
	{ GT_DIR_BACKEND, "backends/<name>",
	  "one source; its own settings are files beside these" },
	{ GT_DIR_BY_ID, "by-id",
	  "links to the GPUs by PCI address, card, render node, UUID and kfd-<gpu_id>" },
	{ GT_DIR_GPU, "<gpu>", "one GPU; its rings, queues and processes are directories in it" },
	{ GT_DIR_RING, "<gpu>/ring<N>", "one ring: a queue of the hardware" },
	{ GT_DIR_BY_NAME, "<gpu>/by-name", "links to the rings by the driver's names" },
	{ GT_DIR_QUEUES, "<gpu>/queues", "a directory for each queue that a program made" },
	{ GT_DIR_QUEUE, "<gpu>/queues/<id>", "one such queue (KFD, NVIDIA TSG, Xe exec queue)" },
	{ GT_DIR_KERNELS, "<gpu>/kernels",
	  "a directory for each kernel in the results of a profiler" },
	{ GT_DIR_KERNEL, "<gpu>/kernels/<name>",
	  "one such kernel; visible to its user and to readers who see everything" },
	{ GT_DIR_PROCS, "proc, <gpu>/proc", "a directory for each process that used a GPU" },
	{ GT_DIR_PROC, "proc/<pid>, <gpu>/proc/<pid>",
	  "one process; `self` in the root is a link to the reader's own" },
	{ GT_DIR_USER, "users/<uid>",
	  "totals of one user; visible to readers who may see all that is in it" },
	{ GT_DIR_CGROUP, "cgroups, cgroups/<path>",
	  "totals of a control group and all below it; likewise" },
	{ GT_DIR_PROC_QUEUES, "proc/<pid>/queues", "links to the queues of the process" },
	{ 0 },
};

static void show_section(struct gt_text *t, enum gt_dir_kind kind)
{
	for (const struct gt_file *f = gt_tree_files[kind]; f->name; f++) {
		gt_text_printf(t, "  %-18s %-11s ", f->name, gt_file_format(f));
		gt_text_str(t, f->help ? f->help : "");
		if (f->flags & (GT_FILE_PIPE | GT_FILE_TPIPE))
			gt_text_str(t, " (blocks)");
		if (f->store)
			gt_text_str(t, " (may be written)");
		gt_text_ch(t, '\n');
	}
}

/* What is in each directory that users make there */
static void show_made(struct gt_text *t, const struct gt_backend_info *info)
{
	char name[160];

	gt_text_printf(t, "  %-18s %-11s %s (%s)\n", info->userdirs->name, "directory",
		       info->userdirs->help, info->name);
	for (const struct gt_userdir_file *f = info->userdirs->files; f->name; f++) {
		snprintf(name, sizeof(name), "%s/<name>/%s", info->userdirs->name, f->name);
		gt_text_printf(t, "  %-29s %s%s (%s)\n", name, f->help,
			       f->check ? " (may be written)" : "", info->name);
	}
}

/* The settings and texts of each backend, from the tables it came with. */
static void show_own_settings(struct gt_text *t, struct gt_app *app)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++) {
		for (const struct gt_option *o = info.options; o && o->name; o++) {
			if (!gt_option_visible(o))
				continue;
			gt_text_printf(t, "  %-18s %-11s %s (%s)\n", o->name, "value",
				       o->help ? o->help : "", info.name);
		}
		for (const struct gt_backend_file *f = info.files; f && f->name; f++)
			gt_text_printf(t, "  %-18s %-11s %s (%s)\n", f->name,
				       gt_backend_file_format(f), f->help ? f->help : "",
				       info.name);
		if (info.userdirs)
			show_made(t, &info);
	}
}

static void show_examples(struct gt_text *t, const char *mnt)
{
	gt_text_printf(
		t,
		"Try:\n"
		"  cat %1$s/gpus                            busy, memory, power, temperature and "
		"clock\n"
		"  cat %1$s/*/ring0/latency                 how long jobs wait and run\n"
		"  watch -n1 cat %1$s/top                   who uses the GPU\n"
		"  cat %1$s/blame                           which processes waited, and whom they "
		"waited for\n"
		"  cat %1$s/proc/PID/stats                  what process PID did\n"
		"  timeout 5 cat %1$s/trace                 events as they happen\n"
		"  tail -n 20 %1$s/report                   the last finished jobs\n"
		"  echo 10 > %1$s/config/sampling           record one job in ten\n"
		"  echo threshold > %1$s/config/sampling_mode; echo 1000000 > "
		"%1$s/config/sampling_threshold\n"
		"                                           record only jobs slower than 1 ms\n"
		"  cat %1$s/last_cmd_status                 why a write was refused, if "
		"you are root or in the group gputrace\n"
		"  cat %1$s/doctor                          what cannot be seen here, and why\n"
		"  mkdir -p ctf; cat %1$s/metadata > ctf/metadata; timeout 5 cat %1$s/events > "
		"ctf/events; babeltrace2 ctf\n\n",
		mnt);
}

static int show_readme(struct gt_text *t, const struct gt_show *s)
{
	const char *mnt = s->app->mountpoint ? s->app->mountpoint : "/gputrace";

	gt_text_str(t, "gputrace " GT_VERSION ": what the GPUs of this machine do, as files.\n\n");
	if (s->app->simulated)
		gt_text_str(t, "sim0 is SIMULATED: its work never happened. It is there because "
			       "of backend=sim.\n\n");
	if (s->app->replay)
		gt_text_str(
			t, "This is a recording that is being played, not this machine. Where the "
			   "clocks of its CPUs differ (`doctor`),\nstages of jobs that two of them "
			   "would make are not known.\n\n");
	show_examples(t, mnt);
	gt_text_printf(t,
		       "`events` and `trace` block until something happens: leave them out of "
		       "recursive readers,\n"
		       "  grep -r --exclude=events --exclude=trace WORD %s\n"
		       "  rsync -a --exclude=events --exclude=trace %s/ copy/\n\n"
		       "Text is a snapshot per open. Statistics see every event; settings narrow "
		       "only what is recorded.\nA value that is not known is left out, or `-` in a "
		       "table; 0 is a measured 0.\n",
		       mnt, mnt);
	for (const struct gt_section *x = gt_tree_sections; x->path; x++) {
		gt_text_printf(t, "\n%s: %s\n", x->path, x->what);
		show_section(t, x->kind);
		if (x->kind == GT_DIR_BACKEND)
			show_own_settings(t, s->app);
	}
	return 0;
}

/* backends/<name>/: a plugin's state and figures, and its options as files. */

#define MAX_OFFSET_NS (3650ULL * 86400 * 1000000000)

static int info_of(const struct gt_show *s, struct gt_backend_info *info)
{
	return s->app->host && gt_host_info(s->app->host, s->obj.id, info) ? 0 : -ENODEV;
}

static int show_state(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_str(t, gt_backend_state_name(info.state));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_backend_version(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_word(t, info.version, sizeof(info.version));
	gt_text_ch(t, '\n');
	return 0;
}

/* A plugin's lines end with a newline, whatever it wrote. */
static void plugin_lines(struct gt_text *t, const struct gt_show *s)
{
	char *buf = malloc(GT_BACKEND_DOCTOR_MAX);

	if (buf && !gt_host_doctor(s->app->host, s->obj.id, buf, GT_BACKEND_DOCTOR_MAX) && *buf) {
		gt_text_str(t, buf);
		if (buf[strlen(buf) - 1] != '\n')
			gt_text_ch(t, '\n');
	}
	free(buf);
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_kv(t, "records", info.records);
	gt_lost_lines(t, "", "lost", info.lost, info.uncounted);
	gt_text_kv(t, "malformed", info.malformed);
	gt_text_kv(t, "drains", info.drains);
	gt_text_kv(t, "drain_ns", info.drain_ns);
	plugin_lines(t, s);
	return 0;
}

static int show_last_error(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret || !*info.last_error)
		return ret;
	gt_text_mem(t, info.last_error, strnlen(info.last_error, sizeof(info.last_error)));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_clock_offset(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	int ret = info_of(s, &info);

	if (ret)
		return ret;
	gt_text_i64(t, info.clock_offset);
	gt_text_ch(t, '\n');
	return 0;
}

static int store_clock_offset(const struct gt_show *s, const char *value, char *err, size_t len)
{
	bool negative = *value == '-';
	uint64_t ns;
	int ret = gt_parse_u64(value + negative, 0, MAX_OFFSET_NS, &ns);

	if (ret) {
		snprintf(err, len,
			 "a clock's offset is a whole number of ns, at most 10 years either way");
		return ret;
	}
	return gt_host_clock_offset(s->app->host, s->obj.id, negative ? -(int64_t)ns : (int64_t)ns);
}

const struct gt_file gt_backend_files[] = {
	{ .name = "state",
	  .mode = 0444,
	  .show = show_state,
	  .help = "running, paused, ended, off, unavailable, refused or quarantined" },
	{ .name = "version",
	  .mode = 0444,
	  .show = show_backend_version,
	  .flags = GT_FILE_STATIC,
	  .help = "the plugin's own version" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_KEYED,
	  .show = show_stats,
	  .fields = "records lost losses_uncounted malformed drains drain_ns *",
	  .help = "records delivered and lost, time spent, and the plugin's own counters" },
	{ .name = "last_error",
	  .mode = 0444,
	  .flags = GT_FILE_PROSE,
	  .show = show_last_error,
	  .help = "what is wrong and the remedy; empty: nothing" },
	{ .name = "clock_offset",
	  .mode = 0664,
	  .show = show_clock_offset,
	  .store = store_clock_offset,
	  .help = "ns added to every time of this source; see clocks" },
	{ 0 },
};

static int show_option(struct gt_text *t, const struct gt_show *s)
{
	char value[4096] = "";
	int ret = gt_host_option_get(s->app->host, s->obj.id, s->file->name, value, sizeof(value));

	if (ret)
		return ret;
	gt_text_str(t, value);
	gt_text_ch(t, '\n');
	return 0;
}

static int store_option(const struct gt_show *s, const char *value, char *err, size_t len)
{
	return gt_host_option_set(s->app->host, s->obj.id, s->file->name, value, err, len);
}

static int show_own(struct gt_text *t, const struct gt_show *s)
{
	struct gt_backend_info info;
	char *buf;
	int ret = info_of(s, &info);
	unsigned int i = 0;

	if (ret)
		return ret;
	if (!gt_view_whole(&s->view))
		return -EACCES; /* it is the plugin's, and shows any process */
	while (info.files && info.files[i].name && strcmp(info.files[i].name, s->file->name))
		i++;
	buf = info.files && info.files[i].name ? malloc(GT_BACKEND_TEXT_MAX) : NULL;
	if (!buf)
		return -ENOMEM;
	*buf = '\0';
	ret = gt_host_file(s->app->host, s->obj.id, i, buf, GT_BACKEND_TEXT_MAX);
	if (!ret && !strcmp(buf, "unavailable\n"))
		ret = -ENODATA;
	if (!ret)
		gt_text_str(t, buf);
	free(buf);
	return ret;
}

/* A third party's table may hold names that are none, or that are ours. */
bool gt_backend_good_name(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > 63 || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (const struct gt_file *f = gt_backend_files; f->name; f++)
		if (!strcmp(f->name, name))
			return false;
	return true;
}

bool gt_option_visible(const struct gt_option *o)
{
	return !(o->flags & (GT_OPT_HIDDEN | GT_OPT_GONE)) && gt_backend_good_name(o->name);
}

static void option_file(const struct gt_option *o, struct gt_file *dyn, char name[64])
{
	snprintf(name, 64, "%s", o->name);
	*dyn = (struct gt_file){
		.name = name,
		.mode = o->flags & GT_OPT_RUNTIME ? 0664 : 0444,
		.show = show_option,
		.store = o->flags & GT_OPT_RUNTIME ? store_option : NULL,
		.help = o->help,
	};
}

bool gt_backend_own(const struct gt_backend_info *info, unsigned int i, struct gt_file *dyn,
		    char name[64])
{
	const struct gt_option *o = info->options;
	const struct gt_backend_file *f = info->files;

	name[0] = '\0';
	for (; o && o->name; o++, i--) {
		if (i)
			continue;
		if (gt_option_visible(o))
			option_file(o, dyn, name);
		return true;
	}
	for (; f && f->name; f++, i--) {
		if (i)
			continue;
		if (f->show && gt_backend_good_name(f->name)) {
			snprintf(name, 64, "%s", f->name);
			*dyn = (struct gt_file){
				.name = name,
				.mode = 0444,
				.flags = GT_FILE_VIEW | GT_FILE_LONG |
					 (f->columns ? 0 : GT_FILE_PROSE),
				.show = show_own,
				.help = f->help,
				.fields = f->columns,
			};
		}
		return true;
	}
	return false;
}

static int show_version(struct gt_text *t, const struct gt_show *s)
{
	gt_text_kvs(t, "release", GT_VERSION);
	gt_text_kv(t, "record_version", GT_RECORD_VERSION);
	gt_text_kv(t, "backend_abi", GT_BACKEND_ABI);
	return 0;
}

/* Names are only ever appended. */
static int show_features(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, "control\n"
		       "level\n"
		       "sampling\n"
		       "last_cmd_status\n"
		       "error_log\n"
		       "doctor\n"
		       "clocks\n"
		       "snapshot_texts\n"
		       "poll\n"
		       "events\n"
		       "metadata_ctf\n"
		       "trace\n"
		       "report\n"
		       "timeline\n"
		       "by_name\n"
		       "queues\n"
		       "processes\n"
		       "self\n"
		       "replay\n"
		       "replay_stream\n"
		       "replay_trace_dat\n"
		       "replay_ftrace_text\n"
		       "replay_grtrace\n"
		       "replay_annotator_text\n"
		       "seek\n"
		       "hotplug\n"
		       "pid_namespaces\n"
		       "containers\n"
		       "users\n"
		       "cgroups\n"
		       "setting_permissions\n"
		       "blame\n"
		       "user_limits\n"
		       "backend_texts\n"
		       "ioctls\n"
		       "runtime_calls\n"
		       "kfd_queues\n"
		       "nvidia_queues\n"
		       "windows\n"
		       "kernels\n"
		       "rocprof_results\n"
		       "sampling_modes\n"
		       "rate_limit\n"
		       "filters\n"
		       "watchlists\n"
		       "profiles\n"
		       "kept_settings\n"
		       "gpu_readings\n"
		       "fdinfo\n"
		       "kfd_processes\n"
		       "sysroot\n"
		       "profiler_jobs\n"
		       "kfd_queue_list\n"
		       "kfd_hqds\n"
		       "kfd_events\n"
		       "gpu_links\n"
		       "queue_slots\n"
		       "kfd_dump_replay\n");
	return 0;
}

static int show_last_cmd_status(struct gt_text *t, const struct gt_show *s)
{
	if (s->app->writes)
		gt_writelog_show_status(s->app->writes, t, &s->view);
	return 0;
}

static int show_error_log(struct gt_text *t, const struct gt_show *s)
{
	if (s->app->writes)
		gt_writelog_show_errors(s->app->writes, t, &s->view);
	return 0;
}

static uint64_t gen_writes(const struct gt_show *s)
{
	return s->app->writes ? gt_writelog_gen(s->app->writes) : 0;
}

static int show_metadata(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_log *l = s->app->log;
	__attribute__((cleanup(gt_names_freep))) struct gt_names *n = gt_names_take(s->app->model);
	struct gt_ctf_functions f;

	if (!n)
		return -ENOMEM;
	f.n = n->nfunctions;
	f.name = (const char(*)[GT_FUNCTION_NAME])n->function;
	gt_ctf_metadata(t, (const char(*)[32])n->custom, &f, l->realtime_offset, l->session);
	return 0;
}

/* Who is not known has no directory either, nor who did nothing in a recording: the link then dangles
 */
/* In a recording's tree are the recording's processes: its reader is none of them */
static bool has_self(const struct gt_show *s)
{
	return !s->app->replay;
}

static int show_self(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, "proc/");
	if (s->view.own_pid)
		gt_text_u64(t, s->view.own_pid);
	else
		gt_text_str(t, "unknown");
	return 0;
}

/* clang-format off */
const struct gt_file gt_root_files[] = {
	{ "README", 0444, GT_FILE_PROSE, show_readme, NULL, NULL, NULL,
	  "how to use this tree: every file in one line, and examples", NULL },
	{ "version", 0444, GT_FILE_STATIC | GT_FILE_KEYED, show_version, NULL, NULL, NULL,
	  "release, version of the record, backend ABI",
	  "release record_version backend_abi" },
	{ "features", 0444, GT_FILE_STATIC, show_features, NULL, NULL, NULL,
	  "names of capabilities; names are only ever added",
	  "feature" },
	{ "status", 0444, GT_FILE_KEYED, gt_show_status, NULL, NULL, NULL,
	  "state, level, uptime; where every event went; readers, limits, memory",
	  GT_STATUS_KEYS },
	{ "control", 0664, 0, gt_show_control, gt_store_control, NULL, gt_gen_control,
	  "start, stop, clear, rescan; in a replay also play, pause, seek +5s", NULL },
	{ "available_control", 0444, GT_FILE_STATIC, gt_show_available_control, NULL, NULL, NULL,
	  "what control takes", NULL },
	{ "last_cmd_status", 0444, GT_FILE_VIEW | GT_FILE_PROSE, show_last_cmd_status, NULL, NULL, gen_writes,
	  "what became of the last write of this user and session", NULL },
	{ "error_log", 0444, GT_FILE_VIEW | GT_FILE_PROSE, show_error_log, NULL, NULL, gen_writes,
	  "the last 8 refused writes of each user, with place and reason", NULL },
	{ "doctor", 0444, GT_FILE_LONG | GT_FILE_AGAIN | GT_FILE_PROSE, gt_show_doctor, NULL, NULL, NULL,
	  "each backend's state, what blocks it and the remedy; GPU work that is not traced", NULL },
	{ "clocks", 0444, 0, gt_show_clocks, NULL, NULL, NULL,
	  "each source's clock, its offset to CLOCK_MONOTONIC and how well it is known",
	  "source clock offset_to_monotonic_ns uncertainty_ns since_s until_s measured" },
	{ "gpus", 0444, GT_FILE_LOOKS, gt_show_gpus, NULL, NULL, NULL,
	  "each GPU now: busy, memory, power, temperature, clock",
	  "gpu busy_percent memory_used_bytes memory_total_bytes power_watts temperature_celsius clock_hz "
	  "driver pci flags" },
	{ "events", 0444, GT_FILE_PIPE, NULL, NULL, NULL, NULL,
	  "every GPU's events as 64-byte records, a CTF 1.8 stream", NULL },
	{ "metadata", 0444, GT_FILE_PROSE, show_metadata, NULL, NULL, NULL,
	  "CTF metadata that describes the binary pipes", NULL },
	{ "trace", 0444, GT_FILE_TPIPE, NULL, NULL, NULL, NULL,
	  "one line an event", NULL },
	{ "events_by_type", 0444, 0, gt_show_events_by_type, NULL, NULL, gt_gen_model,
	  "types of events: seen, recorded, per second",
	  GT_TYPES_COLUMNS },
	{ "report", 0444, GT_FILE_VIEW | GT_FILE_LONG, gt_show_report, NULL, NULL, gt_gen_history,
	  "the history's finished jobs: the time of each stage, and who made it wait",
	  GT_REPORT_COLUMNS },
	{ "report_stats", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED, gt_show_report_stats, NULL, NULL, gt_gen_history,
	  "rows that report has, and older ones that it leaves out",
	  GT_REPORT_STATS_KEYS },
	{ "timeline", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_PROSE, gt_show_timeline, NULL, NULL, gt_gen_history,
	  "the history's CPU and GPU events by time, with notes on waits", NULL },
	{ "timeline_stats", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED, gt_show_timeline_stats, NULL, NULL, gt_gen_history,
	  "events of the history, their time and rate, and how many of them timeline leaves out",
	  GT_TIMELINE_STATS_KEYS },
	{ "rings", 0444, 0, gt_show_rings, NULL, NULL, gt_gen_model,
	  "all rings with name and engine",
	  GT_RINGS_COLUMNS },
	{ "latency", 0444, GT_FILE_LONG, gt_show_latency, NULL, NULL, gt_gen_model,
	  "jobs, total, average, percentiles and maximum of each stage, of all rings",
	  "gpu ring " GT_STAGE_COLUMNS },
	{ "latency_10s", 0444, GT_FILE_LONG, gt_show_latency_10s, NULL, NULL, gt_gen_model,
	  "the same of the last 10 s",
	  "gpu ring " GT_STAGE_COLUMNS },
	{ "aggregate", 0444, 0, gt_show_aggregate, NULL, NULL, gt_gen_model,
	  "rings over the last finished window: events, latency, depth",
	  GT_AGGREGATE_COLUMNS },
	{ "perf", 0444, 0, gt_show_perf, NULL, NULL, gt_gen_model,
	  "rings: utilization, drop rate, mean latency",
	  "ring_id utilization_percent drop_rate_percent avg_latency_us" },
	{ "top", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_AGAIN, gt_show_top, NULL, NULL, gt_gen_model,
	  "processes and engines by GPU time, pid -: the process is not known; of the last 10 s, or of the whole recording",
	  "pid uid gpu engine busy_percent share_percent jobs queue_p99_ns comm" },
	{ "memory", 0444, GT_FILE_VIEW | GT_FILE_LOOKS, gt_show_memory, NULL, NULL, NULL,
	  "processes by the memory that they hold on each GPU, from the driver",
	  "pid uid gpu resident_bytes shared_bytes comm" },
	{ "blame", 0444, GT_FILE_VIEW | GT_FILE_LONG, gt_show_blame, NULL, NULL, gt_gen_model,
	  "whom jobs waited for in the last 10 s, or the whole recording: those 100 processes and rings that waited longest",
	  GT_BLAME_COLUMNS },
	{ "blame_stats", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED, gt_show_blame_stats, NULL, NULL, gt_gen_model,
	  "what blame covers: time, jobs, and what it leaves out",
	  GT_BLAME_STATS_KEYS },
	{ "sampling_stats", 0444, 0, gt_show_sampling_stats, NULL, NULL, gt_gen_model,
	  "rings: percent recorded since settings changed last; seen, recorded and sampled out since the start or clear",
	  "gpu ring name recorded_percent sampling_percent seen recorded sampled_out" },
	{ "filter_stats", 0444, 0, gt_show_filter_stats, NULL, NULL, gt_gen_model,
	  "per filter: how many events it refused",
	  "filter refused" },
	{ "self", 0777, GT_FILE_VIEW | GT_FILE_LINK, show_self, NULL, has_self, NULL,
	  "link to the reader's own directory under proc/, without any GPU work, too; not in a replay", NULL },
	{ 0 },
};
/* clang-format on */
