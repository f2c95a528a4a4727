/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVIDIA's queues. Three sources, whichever the machine has: calls of the resource manager, where
 * the driver takes them, or at the tracepoints of ioctl() where that function cannot be probed;
 * hooks of the patched module; and its function at the end of a file.
 *
 * All are kprobes, which do not keep the module from being unloaded (kernel/kprobes.c; fentry
 * would: ioctl_attach.c), and its types are seldom there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nvidia.h"
#include "bpf/nvidia.skel.h"

#define DRIVER_FOLDER "/sys/bus/pci/drivers/nvidia"

/* Hooks, then others */
enum function {
	TASK_INIT,
	BIND,
	TOKEN,
	DESTROY,
	OLD_BIND,
	OLD_TOKEN,
	RELEASE,
	CALL,
	OLD_CALL,
	FUNCTIONS
};
enum end { EXIT, CLOSE, EXEC, ENDS };

static const char *const functions[FUNCTIONS] = {
	[TASK_INIT] = "nv_gpu_sched_task_init",
	[BIND] = "nv_gpu_sched_bind",
	[TOKEN] = "nv_gpu_sched_token_request",
	[DESTROY] = "nv_gpu_sched_task_destroy",
	[OLD_BIND] = "nv_gpu_sched_schedule",
	[OLD_TOKEN] = "nv_gpu_sched_work_submit",
	[RELEASE] = "nvidia_close",
	[CALL] = "nvidia_unlocked_ioctl",
	[OLD_CALL] = "nvidia_frontend_unlocked_ioctl", /* which then calls, or has, no CALL */
};

/**
 * struct nvidia - of a running part
 * @calls, @ends: links at tracepoints; @link: at functions, @end: where those return
 * @call: function at which calls are seen, FUNCTIONS: at none
 * @module: that the functions are of; @instance: which of that name was looked into, 0 none
 */
struct nvidia {
	struct gv v;
	struct nvidia_bpf *skel;
	struct bpf_link *calls[2], *ends[ENDS], *link[FUNCTIONS], *end[FUNCTIONS];
	enum function call;
	char module[64];
	uint64_t instance;
};

/* The driver's devices have this number since ever, so it is there if a driver is. */
bool gb_nvidia_loaded(void)
{
	FILE *f = fopen("/proc/devices", "re");
	bool found = false;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && strncmp(line, "Block", 5))
		found |= !strncmp(line, "195 ", 4);
	if (f)
		fclose(f);
	return found;
}

static int probe(struct gb *b, char *err, size_t len)
{
	const struct gb_options *o = b->p->options;
	int ret = gb_tracefs(b, NULL, err, len);

	if (ret || o->nvidia_any_result || gb_nvidia_loaded())
		return ret;
	return gb_sentence(
		err, len, ENODEV,
		"no driver has NVIDIA's devices: modprobe nvidia, then echo rescan > control");
}

/* "nvidia_close [nvidia]" */
static void note(struct nvidia *n, char *line, bool *listed)
{
	const char *module = strchr(line, '[');

	line[strcspn(line, " \t\n")] = '\0';
	for (int i = 0; i < FUNCTIONS; i++) {
		if (strcmp(line, functions[i]))
			continue;
		listed[i] = true;
		if (module)
			snprintf(n->module, sizeof(n->module), "%.*s",
				 (int)strcspn(module + 1, "]"), module + 1);
	}
}

/* What can be probed is what the function tracer lists; other functions are there, but refused. */
static int look_up(struct gb *b, struct nvidia *n, bool *listed, char *err, size_t len)
{
	char path[4352], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/available_filter_functions", b->p->tracefs);
	errno = 0;
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f)) {
		int e = errno;

		if (f)
			fclose(f);
		return gb_sentence(err, len, e ? e : ENOENT, "functions cannot be probed: %s: %s",
				   path, e ? strerror(e) : "it is empty");
	}
	do {
		if (line[0] == 'n' && line[1] == 'v')
			note(n, line, listed);
	} while (fgets(line, sizeof(line), f));
	fclose(f);
	return 0;
}

/* The end first: a call with a reported begin has its end reported, too. */
static int attach(struct nvidia *n, enum function at, struct bpf_program *begin,
		  struct bpf_program *end)
{
	if (end)
		n->end[at] = bpf_program__attach_kprobe(end, true, functions[at]);
	n->link[at] = bpf_program__attach_kprobe(begin, false, functions[at]);
	return n->link[at] ? 0 : -errno;
}

static void detach_to(struct nvidia *n, enum function end)
{
	n->skel->bss->gt_nv_hooks = n->skel->bss->gt_nv_returns = n->v.destroys = false;
	for (enum function i = 0; i < end; i++) {
		bpf_link__destroy(n->end[i]);
		bpf_link__destroy(n->link[i]);
		n->link[i] = n->end[i] = NULL;
	}
}

static void detach(struct nvidia *n)
{
	detach_to(n, FUNCTIONS);
}

/* The calls, at the function by which the driver takes them */
static void attach_call(struct nvidia *n, const bool *listed)
{
	enum function at = listed[OLD_CALL] ? OLD_CALL : CALL;
	int ret = listed[at] ? attach(n, at, n->skel->progs.gt_nv_unlocked_ioctl,
				      n->skel->progs.gt_nv_unlocked_ioctl_end)
			     : 0;

	if (!ret && n->end[at]) {
		n->call = at;
		return;
	}
	bpf_link__destroy(n->link[at]);
	bpf_link__destroy(n->end[at]);
	n->link[at] = n->end[at] = NULL;
}

/* Older releases of the patched module have other names for two of its hooks. Calls are reported
 * when they begin before any hook is: one inside is the call's then. */
static int attach_hooks(struct nvidia *n, const bool *listed)
{
	enum function bind = listed[BIND] ? BIND : OLD_BIND;
	enum function token = listed[TOKEN] ? TOKEN : OLD_TOKEN;
	int ret;

	n->skel->bss->gt_nv_hooks = true;
	ret = attach(n, TASK_INIT, n->skel->progs.gt_nv_task_init, NULL);
	if (!ret && listed[DESTROY])
		ret = attach(n, DESTROY, n->skel->progs.gt_nv_task_destroy, NULL);
	if (!ret && listed[bind])
		ret = attach(n, bind, n->skel->progs.gt_nv_bind, n->skel->progs.gt_nv_bind_end);
	if (!ret && listed[token])
		ret = attach(n, token, n->skel->progs.gt_nv_token_request, NULL);
	if (ret) {
		detach_to(n, RELEASE);
		return ret;
	}
	n->skel->bss->gt_nv_returns = n->end[bind];
	n->v.destroys = n->link[DESTROY];
	return 0;
}

/* What the driver that is there now offers; @why: in words */
static void attach_functions(struct gb *b, struct nvidia *n, char *why, size_t len)
{
	bool listed[FUNCTIONS] = { false };
	int ret;

	n->v.driver = n->skel->bss->gt_nv_driver = gv_driver_read();
	gv_gpus_read(&n->v, DRIVER_FOLDER);
	n->v.release = false;
	n->instance = 0;
	n->call = FUNCTIONS;
	snprintf(n->module, sizeof(n->module), "nvidia");
	if (!gb_nvidia_loaded() || look_up(b, n, listed, why, len))
		return;
	n->instance = gb_module_instance(n->module);
	if (listed[RELEASE])
		n->v.release = !attach(n, RELEASE, n->skel->progs.gt_nv_release, NULL);
	attach_call(n, listed);
	if (!listed[TASK_INIT]) {
		snprintf(why, len,
			 "no function %s can be probed: the nvidia module is not the patched one",
			 functions[TASK_INIT]);
		return;
	}
	ret = attach_hooks(n, listed);
	if (ret)
		snprintf(why, len,
			 "%s cannot be probed: %s: the kernel is without kprobes, or locked down",
			 functions[TASK_INIT], strerror(-ret));
}

/* Where the calls are not seen at a function, every ioctl of the machine is asked what it is. */
static void attach_tracepoints(const struct gb *b, struct nvidia *n)
{
	bool wanted = n->call == FUNCTIONS && (gb_nvidia_loaded() || b->o->nvidia_any_result);

	if (wanted == !!n->calls[0])
		return;
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(n->calls[i]);
		n->calls[i] = NULL;
	}
	if (wanted)
		n->calls[1] = bpf_program__attach(n->skel->progs.gt_nv_ioctl_end);
	if (n->calls[1])
		n->calls[0] = bpf_program__attach(n->skel->progs.gt_nv_ioctl);
}

/* Where no probe reports the end of a file, its last close() is it, or execve(). */
static void attach_closes(struct nvidia *n)
{
	for (int i = CLOSE; i <= EXEC && n->v.release; i++) {
		bpf_link__destroy(n->ends[i]);
		n->ends[i] = NULL;
	}
	if (!n->v.release && !n->ends[CLOSE])
		n->ends[CLOSE] = bpf_program__attach(n->skel->progs.gt_nv_close);
	if (!n->v.release && !n->ends[EXEC])
		n->ends[EXEC] = bpf_program__attach(n->skel->progs.gt_nv_exec);
}

static void report_sources(const struct nvidia *n, const char *why, char *out, size_t len)
{
	bool function = n->call != FUNCTIONS;

	snprintf(out, len, ": RM calls %s%s%s, end of files by %s, %s%s",
		 function      ? "by "
		 : n->calls[0] ? "by tracepoints of ioctl()"
			       : "cannot be seen",
		 function ? functions[n->call] : "", function ? "()" : "",
		 n->v.release	  ? "nvidia_close()"
		 : n->ends[CLOSE] ? "close()"
				  : "exit()",
		 n->skel->bss->gt_nv_hooks ? "hooks of the patched module" : "no hooks: ",
		 n->skel->bss->gt_nv_hooks ? ""
		 : *why			   ? why
					   : "no NVIDIA driver is loaded");
}

static uint32_t gen_of(struct gv *v, uint32_t pid)
{
	struct nvidia *n = v->priv;
	struct gt_bpf_owner p = { 0 };

	bpf_map_lookup_elem(bpf_map__fd(n->skel->maps.gt_owners), &pid, &p);
	return p.gen;
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void stop(struct gb *b)
{
	struct nvidia *n = b->priv[GT_BPF_NVIDIA];

	if (n->skel && n->skel->bss)
		detach(n);
	for (int i = 0; i < ENDS; i++)
		bpf_link__destroy(n->ends[i]);
	bpf_link__destroy(n->calls[1]);
	bpf_link__destroy(n->calls[0]);
	nvidia_bpf__destroy(n->skel);
	gv_forsake(&n->v, (uint64_t)ns_of(CLOCK_MONOTONIC));
	gv_tables_free(&n->v);
	free(n);
	b->priv[GT_BPF_NVIDIA] = NULL;
}

static int begin(struct gb *b, struct nvidia *n, char *err, size_t len)
{
	int ret;

	n->skel = nvidia_bpf__open();
	if (!n->skel || gv_tables_new(&n->v))
		return gb_sentence(err, len, ENOMEM, "no memory");
	n->skel->rodata->gt_nv_any_result = b->o->nvidia_any_result;
	n->skel->rodata->gt_o_path = b->o->o_path;
	ret = gb_object_load(b, n->skel->obj, "NVIDIA's queues", err, len);
	if (ret)
		return ret;
	n->ends[EXIT] = bpf_program__attach(n->skel->progs.gt_nv_exit);
	return n->ends[EXIT] ? 0 : gb_refused(errno, "NVIDIA's queues", "", err, len);
}

/* What is probed stays probed unless the module is another: nothing is missed meanwhile. */
static void refresh(struct gb *b, struct nvidia *n, char *out, size_t len)
{
	char why[GB_SENTENCE / 2] = "";

	if (n->instance && n->instance == gb_module_instance(n->module))
		return;
	detach(n);
	attach_functions(b, n, why, sizeof(why));
	attach_tracepoints(b, n);
	attach_closes(n);
	report_sources(n, why, out, len);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct nvidia *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_NVIDIA] = n;
	n->v.b = b;
	n->v.priv = n;
	n->v.gen_of = gen_of;
	ret = begin(b, n, err, len);
	if (ret) {
		stop(b);
		return ret;
	}
	refresh(b, n, err, len);
	return 0;
}

static int look(struct gb *b, char *err, size_t len)
{
	struct nvidia *n = b->priv[GT_BPF_NVIDIA];

	refresh(b, n, err, len);
	/* nothing came while all was paused; what ended is reported with the next drain */
	n->v.lost = true;
	n->v.looked = 0;
	b->p->host->timer(b->p, GB_SLACK_NS);
	return 0;
}

static bool record(struct gb *b, union gt_record *r)
{
	struct nvidia *n = b->priv[GT_BPF_NVIDIA];
	struct gt_bpf_nv nv;

	memcpy(&nv, r, sizeof(nv));
	return gv_record(&n->v, &nv);
}

static void lost(struct gb *b, const struct gt_lost *l)
{
	struct nvidia *n = b->priv[GT_BPF_NVIDIA];

	n->v.lost = true;
}

static void round_done(struct gb *b, uint64_t until)
{
	struct nvidia *n = b->priv[GT_BPF_NVIDIA];

	gv_round(&n->v, until);
	if (n->v.leaving || n->v.lost)
		b->p->host->timer(b->p, GV_PATIENCE_NS);
}

static void doctor(struct gb *b, struct gt_details *t)
{
	const struct nvidia *n = b->priv[GT_BPF_NVIDIA];
	const struct gv *v = &n->v;
	unsigned int queues = 0;

	for (uint32_t i = 1; i <= v->ntsgs; i++)
		queues += v->tsg[i].used;
	if (v->driver)
		gt_detail(t, "nvidia_driver %u\n", v->driver);
	gt_detail(t, "nvidia_queues %u\n", queues);
	gt_detail(t, "nvidia_queues_refused %" PRIu64 "\n", v->tsgs_refused);
	gt_detail(t, "nvidia_objects_refused %" PRIu64 "\n", v->objs_refused);
	gt_detail(t, "nvidia_processes_refused %" PRIu64 "\n",
		  v->procs_refused + n->skel->bss->gt_nv_procs_refused);
	gt_detail(t, "nvidia_calls_refused %" PRIu64 "\n", n->skel->bss->gt_nv_calls_refused);
	gt_detail(t, "nvidia_missed %" PRIu64 "\n", gb_missed(n->skel->obj));
	gt_detail(t, "nvidia_unmatched %" PRIu64 "\n", v->unmatched);
	gt_detail(t, "nvidia_ambiguous %" PRIu64 "\n", v->ambiguous);
	gt_detail(t, "nvidia_read_failed %" PRIu64 "\n", n->skel->bss->gt_nv_read_failed);
}

void gb_nvidia_trace(struct gt_plugin *p, char *buf, size_t len)
{
	struct gb *b = p->priv;
	const struct nvidia *n = b ? b->priv[GT_BPF_NVIDIA] : NULL;
	struct gt_bpf_count count = { 0 };
	struct gv_counted c = { 0 };

	if (!n) {
		snprintf(buf, len, "unavailable: %s\n", b ? b->why[GT_BPF_NVIDIA] : "");
		return;
	}
	gb_ring_counts(b, GT_BPF_NVIDIA, &count);
	c.dropped = count.lost;
	c.read_failed = n->skel->bss->gt_nv_read_failed;
	gv_trace_text(&n->v, &c, ns_of(CLOCK_REALTIME) - ns_of(CLOCK_MONOTONIC), buf, len);
}

const struct gb_part gb_nvidia = {
	.name = "nvidia",
	.shows = true,
	.probe = probe,
	.start = start,
	.stop = stop,
	.record = record,
	.lost = lost,
	.round = round_done,
	.look = look,
	.doctor = doctor,
};
