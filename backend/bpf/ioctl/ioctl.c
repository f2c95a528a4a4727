/* SPDX-License-Identifier: GPL-2.0 */
/* ioctls on GPU devices, and the queues that they make, as bpf/ioctl.bpf.c saw them. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "bpf/ioctl.skel.h"

enum { EXEC, EXIT }; /* gi.end */

/* Where the DRM core is there are functions, which may do without the tracepoints. */
static int probe(struct gb *b, char *err, size_t len)
{
	int ret = gb_tracefs(b, "ioctl", err, len);

	return ret && access("/sys/class/drm", F_OK) ? ret : 0;
}

static void stop(struct gb *b)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	for (int i = 0; i < 2; i++)
		bpf_link__destroy(gi->end[i]);
	gi_ways_end(gi);
	ioctl_bpf__destroy(gi->skel);
	gi_queues_free(&gi->queues);
	free(gi);
	b->priv[GT_BPF_IOCTL] = NULL;
}

/* What the commands of all drivers do, for the program to choose by */
static int tell_commands(int fd)
{
	int ret = 0;

	for (uint32_t i = 0; i < GT_IOCTL_DRIVERS << 8 && !ret; i++) {
		uint32_t bit = 1u << gt_ioctl_what((enum gt_ioctl_driver)(i >> 8), i & 255);

		ret = bpf_map_update_elem(fd, &i, &bit, BPF_ANY);
	}
	return ret;
}

/* A function that makes a queue may be traced, too; the ioctl knows which queue it is. */
static void claim_queues(struct gi *gi)
{
	struct gt_plugin *p = gi->devices.b->p;
	const struct gi_way *w = &gi->way[GT_IOCTL_KFD];

	if (p->host->claim)
		p->host->claim(p, GT_CLAIM_KFD_QUEUES, w->how && w->how != GI_BLIND ? 2 : -1);
}

/* Whose end nobody tells from now on */
static void forget_owners(const struct gi *gi)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_owners);
	uint32_t pid, none = 0;

	while (!bpf_map_get_next_key(fd, NULL, &pid) && !bpf_map_delete_elem(fd, &pid))
		;
	fd = bpf_map__fd(gi->skel->maps.gt_shares);
	for (uint32_t i = 0; i < GT_BPF_SHARES; i++)
		bpf_map_update_elem(fd, &i, &none, BPF_ANY);
}

static void attach_ends(struct gi *gi)
{
	struct bpf_program *const at[] = { [EXEC] = gi->skel->progs.gt_ioctl_exec,
					   [EXIT] = gi->skel->progs.gt_ioctl_exit_process };
	bool had = gi->end[EXIT];
	bool wanted = gi_devices_made(&gi->devices, GT_IOCTL_BY_KFD) ||
		      gi_devices_made(&gi->devices, GT_IOCTL_BY_AMDGPU);

	for (int i = 0; i < 2; i++) {
		if (wanted && !gi->end[i])
			gi->end[i] = bpf_program__attach(at[i]);
		if (wanted)
			continue;
		bpf_link__destroy(gi->end[i]);
		gi->end[i] = NULL;
	}
	if (had && !gi->end[EXIT])
		forget_owners(gi);
}

/* A kind's calls are told in one place before any of its devices is known to the programs. */
static void look_all(struct gi *gi)
{
	uint32_t functions;

	gi_devices_look(&gi->devices);
	attach_ends(gi);
	gi_files_look(gi);
	functions = gi_ways_look(gi);
	claim_queues(gi);
	gi_devices_tell(&gi->devices, functions);
}

static int open_all(struct gb *b, struct gi *gi, char *err, size_t len)
{
	const char *why;
	int ret = gi_queues_init(&gi->queues);

	gi->skel = ioctl_bpf__open();
	if (!gi->skel || ret)
		return gb_sentence(err, len, ENOMEM, "no memory");
	gi->preemptible = gb_kernel_preemptible();
	bpf_program__set_autoload(gi->skel->progs.gt_ioctl_enter_again, !gb_kernel_before(7, 0));
	bpf_program__set_autoload(gi->skel->progs.gt_ioctl_exit_again, !gb_kernel_before(7, 0));
	gi->skel->rodata->gt_o_path = b->o->o_path;
	ret = gb_object_load(b, gi->skel->obj, "ioctls", err, len);
	if (ret)
		return ret;
	ret = tell_commands(bpf_map__fd(gi->skel->maps.gt_what));
	if (ret)
		return gb_sentence(err, len, -ret, "a BPF map cannot be written: %s",
				   strerror(-ret));
	gi->devices.b = b;
	gi->devices.fd = bpf_map__fd(gi->skel->maps.gt_devices);
	gi->devices.config_fd = bpf_map__fd(gi->skel->maps.gt_config);
	look_all(gi);
	return gi_ways_blind(gi, &why) ? gb_sentence(err, len, EOPNOTSUPP, "%s", why) : 0;
}

static uint32_t owner(struct gi *gi, uint32_t pid, bool make)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_owners);
	struct gt_bpf_owner o = { 0, GT_NONE32 };

	if (!bpf_map_lookup_elem(fd, &pid, &o) || !make || !gi->end[EXIT])
		return o.gen;
	o.gen = ++gi->last_gen << 1 | 1; /* as the programs': odd */
	if (bpf_map_update_elem(fd, &pid, &o, BPF_NOEXIST))
		return 0;
	if (!kill((pid_t)pid, 0) || errno != ESRCH)
		return o.gen;
	bpf_map_delete_elem(fd, &pid); /* gone meanwhile: nobody else does */
	return 0;
}

/* With the next drain: who has ended, and which queues there are */
static void sweep_soon(struct gi *gi)
{
	gi->sweep = true;
	gi->swept = 0;
	gi->b->p->host->timer(gi->b->p, GB_SLACK_NS);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct gi *gi = calloc(1, sizeof(*gi));
	int ret;

	if (!gi)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_IOCTL] = gi;
	gi->b = b;
	gi->owner = owner;
	ret = open_all(b, gi, err, len);
	if (ret)
		stop(b);
	else
		sweep_soon(gi);
	return ret;
}

static int look(struct gb *b, char *err, size_t len)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	look_all(gi);
	sweep_soon(gi); /* nothing was told in a pause */
	return 0;
}

static bool record(struct gb *b, union gt_record *r)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];
	struct gt_bpf_queue q;

	switch (r->ev.type) {
	case GT_PROCESS:
		return true;
	case GT_QUEUE:
		memcpy(&q, r, sizeof(q));
		if (!gi->end[EXIT])
			q.gen = 0; /* nobody takes the number back */
		gi_told(gi, &q);
		return false;
	default:
		return gi_devices_gpu(&gi->devices, r->ev.gpu, &r->ev.gpu);
	}
}

/* What was lost may have told of an end. */
static void lost(struct gb *b, const struct gt_lost *l)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	gi->sweep = true;
}

static void counts_of(const struct gi *gi, struct gt_ioctl_count *sum)
{
	int fd = bpf_map__fd(gi->skel->maps.gt_ioctl_counts), cpus = libbpf_num_possible_cpus();
	gb_auto_free struct gt_ioctl_count *c = cpus > 0 ? calloc((size_t)cpus, sizeof(*c)) : NULL;

	*sum = (struct gt_ioctl_count){ 0 };
	if (!c || bpf_map_lookup_elem(fd, &(uint32_t){ 0 }, c))
		return;
	for (int i = 0; i < cpus; i++) {
		sum->strange += c[i].strange;
		sum->unwanted += c[i].unwanted;
		sum->full += c[i].full;
		sum->unreadable += c[i].unreadable;
		sum->unended += c[i].unended;
		sum->caught += c[i].caught;
		sum->owners_full += c[i].owners_full;
	}
}

/* A call whose end was not told may have made a queue, or ended one. */
static bool more_unended(struct gi *gi)
{
	struct gt_ioctl_count c;
	uint64_t was = gi->unended;

	counts_of(gi, &c);
	gi->unended = c.unended;
	return c.unended > was;
}

static uint64_t missed(const struct gi *gi)
{
	uint64_t n = gb_missed(gi->skel->obj);
	struct gt_ioctl_count c;

	for (unsigned int i = 0; i < GT_IOCTL_KINDS; i++)
		if (gi->way[i].own)
			n += gb_missed(gi->way[i].own->obj);
	counts_of(gi, &c);
	return n > c.caught ? n - c.caught : 0;
}

/* Likewise one that the kernel kept from the programs. */
static bool more_missed(struct gi *gi, uint64_t now)
{
	uint64_t was = gi->missed;

	if (now - gi->asked < GI_SWEEP_NS)
		return false;
	gi->asked = now;
	gi->missed = missed(gi);
	return gi->missed != was;
}

static void round_done(struct gb *b, uint64_t until)
{
	struct gi *gi = b->priv[GT_BPF_IOCTL];

	gi->sweep |= more_unended(gi);
	gi->sweep |= more_missed(gi, until);
	if (!gi->sweep)
		return;
	if (until - gi->swept < GI_SWEEP_NS) {
		b->p->host->timer(b->p, GI_SWEEP_NS);
		return;
	}
	gi->sweep = false;
	gi_sweep(gi, until);
	gi_kfd_look(gi, *b->o->sysfs ? b->o->sysfs : "/sys", until);
}

static void doctor(struct gb *b, struct gt_details *t)
{
	const struct gi *gi = b->priv[GT_BPF_IOCTL];
	unsigned int here = 0;
	struct gt_ioctl_count c;

	for (unsigned int i = 0; i < gi->devices.n; i++)
		here += gi->devices.dev[i].here && !gi->devices.dev[i].kfd_id;
	counts_of(gi, &c);
	gi_ways_doctor(gi, t);
	gt_detail(t, "ioctl_devices %u\n", here);
	gt_detail(t, "ioctl_devices_refused %" PRIu64 "\n", gi->devices.refused);
	gt_detail(t, "ioctl_no_gpu %" PRIu64 "\n", c.strange);
	gt_detail(t, "ioctl_unwanted %" PRIu64 "\n", c.unwanted);
	gt_detail(t, "ioctl_table_full %" PRIu64 "\n", c.full);
	gt_detail(t, "ioctl_unreadable %" PRIu64 "\n", c.unreadable);
	gt_detail(t, "ioctl_unended %" PRIu64 "\n", c.unended);
	gt_detail(t, "ioctl_missed %" PRIu64 "\n", missed(gi));
	gt_detail(t, "ioctl_caught %" PRIu64 "\n", c.caught);
	gt_detail(t, "ioctl_unknown_queues %" PRIu64 "\n", gi->unknown_queues);
	gt_detail(t, "ioctl_queues_refused %" PRIu64 "\n", gi->queues.refused);
	gt_detail(t, "ioctl_owners_refused %" PRIu64 "\n", c.owners_full);
}

const struct gb_part gb_ioctl = {
	.name = "ioctl",
	.probe = probe,
	.start = start,
	.stop = stop,
	.record = record,
	.lost = lost,
	.round = round_done,
	.look = look,
	.doctor = doctor,
};
