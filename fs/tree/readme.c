/* SPDX-License-Identifier: GPL-2.0 */
/* The root's README: the tables' own help, so that it cannot differ from what is there. */
#include <stdio.h>

#include "about.h"

static const struct {
	enum gt_dir_kind kind;
	const char *path, *what;
} sections[] = {
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
	{ GT_DIR_KERNELS, "<gpu>/kernels", "a directory for each kernel that results of a profiler tell of" },
	{ GT_DIR_KERNEL, "<gpu>/kernels/<name>", "one such kernel; only its user, and who may know of all, sees it" },
	{ GT_DIR_PROCS, "proc, <gpu>/proc", "a directory for each process that used a GPU" },
	{ GT_DIR_PROC, "proc/<pid>",
	  "one process; `self` in the root is a link to the reader's own" },
	{ GT_DIR_USER, "users/<uid>",
	  "totals of one user; only who may know of all that is in it sees it" },
	{ GT_DIR_CGROUP, "cgroups/<path>", "totals of a control group and all below it; likewise" },
	{ GT_DIR_PROC_QUEUES, "proc/<pid>/queues", "links to the queues of the process" },
};

static void show_section(struct gt_text *t, enum gt_dir_kind kind)
{
	for (const struct gt_file *f = gt_tree_files[kind]; f->name; f++) {
		gt_text_printf(t, "  %-18s", f->name);
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

	gt_text_printf(t, "  %-18s%s (%s)\n", info->made->name, info->made->help, info->name);
	for (const struct gt_made_file *f = info->made->files; f->name; f++) {
		snprintf(name, sizeof(name), "%s/<name>/%s", info->made->name, f->name);
		gt_text_printf(t, "  %-30s%s%s (%s)\n", name, f->help, f->check ? " (may be written)" : "",
			       info->name);
	}
}

/* The settings and texts of each backend, from the tables it came with. */
static void show_own(struct gt_text *t, struct gt_app *app)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++) {
		for (const struct gt_option *o = info.options; o && o->name; o++) {
			if (o->flags & GT_OPT_HIDDEN)
				continue;
			gt_text_printf(t, "  %-18s%s (%s)\n", o->name, o->help ? o->help : "",
				       info.name);
		}
		for (const struct gt_backend_file *f = info.files; f && f->name; f++)
			gt_text_printf(t, "  %-18s%s (%s)\n", f->name, f->help ? f->help : "",
				       info.name);
		if (info.made)
			show_made(t, &info);
	}
}

static void show_examples(struct gt_text *t, const char *mnt)
{
	gt_text_printf(
		t,
		"Try:\n"
		"  cat %1$s/gpus                            which GPUs there are\n"
		"  cat %1$s/*/ring0/latency                 how long jobs wait and run\n"
		"  watch -n1 cat %1$s/top                   who uses the GPU\n"
		"  cat %1$s/self/blame                      for whom this process's jobs waited\n"
		"  cat %1$s/self/stats                      what this process did\n"
		"  timeout 5 cat %1$s/trace                 events as they happen\n"
		"  tail -n 20 %1$s/report                   the last finished jobs\n"
		"  echo 10 > %1$s/config/sampling           record one job in ten\n"
		"  echo threshold > %1$s/config/sampling_mode; echo 1000000 > "
		"%1$s/config/sampling_threshold\n"
		"                                           record only jobs slower than 1 ms\n"
		"  cat %1$s/last_cmd_status                 why a write was refused\n"
		"  cat %1$s/doctor                          what cannot be seen here, and why\n"
		"  mkdir t; cat %1$s/metadata > t/metadata; timeout 5 cat %1$s/events > "
		"t/events; babeltrace2 t\n\n",
		mnt);
}

int gt_show_readme(struct gt_text *t, const struct gt_show *s)
{
	const char *mnt = s->app->mountpoint ? s->app->mountpoint : "/gputrace";

	gt_text_str(t, "gputrace " GT_VERSION ": what the GPUs of this machine do, as files.\n\n");
	if (s->app->simulated)
		gt_text_str(t, "sim0 is SIMULATED: its work never happened. It stands in where no "
			       "GPU was found; `doctor` says what is missing.\n\n");
	if (s->app->replay)
		gt_text_str(t, "This is a recording that is being played, not this machine.\n\n");
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
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		gt_text_printf(t, "\n%s: %s\n", sections[i].path, sections[i].what);
		show_section(t, sections[i].kind);
		if (sections[i].kind == GT_DIR_BACKEND)
			show_own(t, s->app);
	}
	return 0;
}
