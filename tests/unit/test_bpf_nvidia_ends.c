/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose queue ends when a hook reports an end, with what clients go, and what processes that lie,
 * or ask for a lot, can do.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nvbed.h"

/* The driver's order: sched_process_exit, then each file is closed, and the hooks report its
 * queues. */
static void test_two_end(bool release)
{
	restart(575);
	v->release = release;
	as(100);
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	as(200);
	client(1, 6, 0);
	group(1, 0xa0, 0x80, 13, 5);
	client(2, 7, 0);
	group(2, 0xa0, 0x80, 14, 5);
	as(100);
	end(GT_NV_EXIT, 0);
	end(GT_NV_CLOSE, 5);
	now_destroy(5);
	is_str(state(0, 5), "destroyed\n", "a process ends, and its TSG 5");
	is_str(state(13, 5), "mapped\n", "not another's");
	is_str(state(14, 5), "mapped\n", "nor that one's other");
	is(v->unmatched + v->ambiguous, 0, "no doubt");
	now_destroy(5);
	as(300); /* which is not known */
	end(GT_NV_CLOSE, 9);
	now_destroy(5);
	is_str(state(13, 5), "mapped\n", "nor with one from before us");
	is(v->unmatched, 2, "whose queues are not known");
	as(200);
	end(GT_NV_CLOSE, 6);
	is_str(state(13, 5), "mapped\n", "a file is closed, and its queue left to the hook");
	n.tid = 201;
	now_destroy(5);
	is_str(state(13, 5), "destroyed\n", "it goes");
	is_str(state(14, 5), "mapped\n", "not that of the other file");
	is(pushed.last[GT_QUEUE_DESTROY].ev.flags, 0, "as it was reported");
	n.tid = 200;
	now_destroy(5);
	is_str(state(14, 5), "mapped\n", "while the file is being closed no other goes");
	call(GT_NV_ENTER, 2, 0x80, 0, GT_NV_FREE);
	now_destroy(5);
	is_str(state(14, 5), "destroyed\n", "then it is freed with its device");
	is(v->leaving, 0, "none waits");
	as(100);
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	as(200); /* was given the file, and has a queue from before us */
	bind(n.ts / 1000 + 2, 5, 13, 1, 1);
	end(GT_NV_CLOSE, 5);
	now_destroy(5);
	is_str(state(0, 5), "destroyed\n", "who closes a file last ends what came by it");
	is_str(state(13, 5), "mapped\n", "not his own");
	as(300);
	bind(n.ts / 1000 + 2, 5, 13, 7, 0);
	is_str(q("nv-any", ID(13, 5), "channels"), "7\n", "numbers of one GPU mean one queue");
	is_str(q("nv-any", ID(13, 5), "pid"), "200\n", "which stays whose it is");
}

/* As the model learns it, and looks then */
static void ended(uint32_t pid)
{
	const struct gt_proc *p;

	GT_MODEL_LOCK(app.model);
	p = gt_model_proc(app.model, pid);
	ok(p && !p->dead, "the model has had it alive");
	if (p)
		gt_model_exit(app.model, p->slot);
	gt_model_reap(app.model);
}

/* Where the end of files is reported, a client lives as long as the file that it came by. */
static void test_passed_on(void)
{
	restart(575);
	v->release = true;
	as(100);
	client(1, 5, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	client(2, 6, 0);
	call(GT_NV_GROUP, 2, 0xa0, 0x80, 1);
	call(GT_NV_DEVICE, 3, 0x80, 3, 0);
	call(GT_NV_GROUP, 3, 0xa0, 0x80, 1);
	end(GT_NV_EXIT, 0);
	ended(100);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "another has the file");
	is_str(q("nv-any", OWN(2), "state"), "destroyed\n", "a client of no known file is gone");
	n.rm.gen = 77;
	n.rm.client = n.rm.object = 1;
	tell(GT_NV_CLIENT);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "the pid is used again");
	is(v->user[1].procs, 2, "by another process");
	end(GT_NV_CLOSE, 5);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "the file is closed");
	is_str(q("nv-any", OWN(1), "state"), "created\n", "the other is not");
	is(v->user[1].procs, 2, "so its process is remembered");
	is(pushed.last[GT_QUEUE_DESTROY].ev.pid, GT_NONE32, "but not reported again");
	end(GT_NV_CLOSE, 6);
	is_str(q("nv-any", OWN(1), "state"), "destroyed\n", "until that is closed");
	is(v->user[1].procs, 1, "then it is forgotten");
	client(1, 7, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	end(GT_NV_EXIT, 0);
	lost(0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "that may be among what was lost");
	is(v->user[1].procs, 0, "nothing is left");
	as(101);
	client(1, 8, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	end(GT_NV_EXIT, 0);
	gv_forsake(v, n.ts);
	flush();
	is_str(q("nv-any", OWN(0), "state"), "created\n", "nobody tells any more");
	ended(101);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "then it has ended with its process");
}

static void test_no_hook_comes(void)
{
	restart(575);
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	end(GT_NV_CLOSE, 5);
	round_at(n.ts + GV_PATIENCE_NS - 1);
	is_str(state(0, 5), "mapped\n", "the hook has a second");
	round_at(n.ts + GV_PATIENCE_NS);
	is_str(state(0, 5), "destroyed\n", "then the queue has ended");
	ok(pushed.last[GT_QUEUE_DESTROY].ev.flags & GT_F_INFERRED, "which is a conclusion");
	is(v->user[1].tsgs, 0, "and it is forgotten");
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	end(GT_NV_EXIT, 0);
	as(200);
	n.uid = 2000;
	client(1, 6, 0);
	is(v->user[1].tsgs, 1, "until then it takes part of its user's room");
	is(v->user[2].tsgs, 0, "and of no other's");
	round_at(n.ts + GV_PATIENCE_NS);
	is(v->user[1].tsgs + v->user[1].procs, 0, "then of nobody's");
	v->destroys = false;
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 6);
	end(GT_NV_CLOSE, 5);
	is_str(state(0, 6), "destroyed\n", "where no hook reports ends it goes with its file");
}

/* TSG 5 of runlist 0 is there on each of two GPUs. */
static void test_two_gpus(void)
{
	restart(575);
	strcpy(v->pci[v->npci++], "0000:01:00.0");
	strcpy(v->pci[v->npci++], "0000:02:00.0");
	call(GT_NV_GPU_ID, 0, 0, 0, 0x100);
	call(GT_NV_GPU_ID, 0, 0, 1, 0x200);
	client(1, 5, 0);
	call(GT_NV_DEVICE, 1, 0x81, 1, 1);
	group(1, 0xa0, 0x80, 0, 5);
	group(1, 0xa1, 0x81, 0, 5);
	is_str(q("nv-01:00.0", ID(0, 5), "state"), "mapped\n", "one");
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "and the other");
	call(GT_NV_ENTER, 1, 0x80, 0, GT_NV_FREE);
	now_destroy(5);
	is_str(q("nv-01:00.0", ID(0, 5), "state"), "destroyed\n",
	       "a device is freed, with its own");
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "not the other GPU's");
	call(GT_NV_FREE, 1, 0x80, 0, 0);
	as(666); /* says that it uses the second GPU */
	call(GT_NV_GPU_ID, 0, 0, 1, 0x200);
	client(1, 6, 1);
	group(1, 0xa0, 0x80, 0, 5);
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "and nobody ends it by a lie");
	is_str(q("nv-02:00.0", OWN(0), "state"), "mapped\n", "but gets an id of ours");
	is(v->ambiguous, 0, "no doubt");
}

/* A queue that calls reported, before the hooks were there */
static void test_hooks_later(void)
{
	restart(575);
	init(n.ts / 1000 + 2, 4, 1, 2);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	is(pushed.type[GT_QUEUE_CREATE], 1,
	   "a call without a reported begin has made the hook's queue");
	restart(575);
	client(1, 5, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	call(GT_NV_ENTER, 1, 0xa0, 0, GT_NV_SCHEDULE);
	bind(n.ts / 1000 + 2, 7, 3, 2, 1);
	call(GT_NV_SCHEDULE, 1, 0xa0, 0, 1);
	is(pushed.type[GT_QUEUE_SCHEDULE], 1, "hooks that come later report the same queue");
	is(pushed.last[GT_QUEUE].queue.queue, OWN(0), "under the id that it has");
	is(pushed.last[GT_QUEUE].queue.runlist, 3, "of a runlist");
	is(pushed.last[GT_QUEUE].queue.ctx, 7, "with its number");
	call(GT_NV_ENTER, 1, 0xa0, 0, GT_NV_FREE);
	now_destroy(7);
	is(pushed.type[GT_QUEUE_DESTROY], 1, "and its end");
	as(666); /* claims a number */
	client(1, 6, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	call(GT_NV_INFO, 1, 0xa0, 0, 9);
	now_destroy(9);
	is(pushed.type[GT_QUEUE_DESTROY], 1, "a number that a program names is not the driver's");
}

/* Whatever a process says is said of itself, and there is an end to it. */
static void test_hostile(void)
{
	unsigned int before;

	restart(575);
	strcpy(v->pci[v->npci++], "0000:05:00.0");
	rm_begin(1, 1);
	n.pid = n.tid = 666;
	n.uid = 6666;
	call(GT_NV_FREE, 1, 0xa0, 0, 0);
	call(GT_NV_FREE, 1, 1, 0, 0);
	call(GT_NV_SCHEDULE, 1, 0xa0, 0, 0);
	call(GT_NV_EXIT, 0, 0, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "another's objects cannot be freed");
	rm_begin(1, 1);
	is_str(q("nv-any", OWN(0), "pid"), "637320\n", "nor taken over");
	is_str(q("nv-any", OWN(1), "pid"), "666\n", "by one with the same handles");
	before = app.model->ngpus;
	for (uint32_t i = 0; i < 200; i++)
		call(GT_NV_GPU_ID, 0, 0, i, 0xdead00 + i);
	call(GT_NV_DEVICE, 1, 0x90, 1, 3);
	is(app.model->ngpus, before, "a GPU that the driver does not have makes none");
	for (uint32_t i = 0; i < 20000; i++)
		call(GT_NV_GROUP, 1, 0x1000 + i, 0x80, 1);
	is(v->user[2].tsgs, GV_USER_TSGS, "queues have an end");
	is(v->user[2].objs, GV_USER_OBJS, "objects too");
	ok(v->tsgs_refused && v->objs_refused, "and it is counted");
	n.pid = n.tid = 637320;
	n.uid = 1000;
	call(GT_NV_GROUP, 1, 0xa7, 0x80, 1);
	is(v->user[1].tsgs, 2, "others have room");
	for (uint32_t i = 0; i < 300; i++) {
		n.pid = n.tid = 10000 + i;
		n.uid = 20000 + i;
		call(GT_NV_CLIENT, 1, 1, i, i);
	}
	ok(v->procs_refused > 0, "there is an end to users");
	for (uint32_t i = 0; i < 100; i++) { /* every kind, with nonsense */
		memset((char *)&n + 16, (int)i * 7, 32);
		tell((uint16_t)i);
	}
	n.pid = 666;
	call(GT_NV_EXIT, 0, 0, 0, 0);
	is(v->user[2].objs + v->user[2].tsgs, 0, "with the process all goes");
	n.uid = 6666;
	for (uint32_t i = 0; i < 2 * GT_BPF_USER_OWNERS; i++) {
		n.pid = n.tid = 100000 + i;
		call(GT_NV_CLIENT, 1, 1, i, i);
	}
	is(v->user[2].procs, GT_BPF_USER_OWNERS, "there is an end to a user's processes");
}

static void to_nobody(struct gt_plugin *p, const union gt_record *r, size_t n_records)
{
}

/* A table that is not to be touched: each page that is, is counted and may be from then on */
static struct {
	uintptr_t from, to;
	size_t page, looked;
} guarded;

static void guard(int how)
{
	if (mprotect((void *)guarded.from, guarded.to - guarded.from, how))
		abort();
}

static void look(int sig, siginfo_t *si, void *context)
{
	uintptr_t at = (uintptr_t)si->si_addr & ~(guarded.page - 1);

	if (at < guarded.from || at >= guarded.to ||
	    mprotect((void *)at, guarded.page, PROT_READ | PROT_WRITE))
		abort();
	guarded.looked++;
}

/* Does @act look at some pages of a table, but not at a quarter? Where pages are large nobody can tell */
static bool looks_at_few(void *table, size_t bytes, void (*act)(void))
{
	struct sigaction sa = { .sa_sigaction = look, .sa_flags = SA_SIGINFO }, was;
	size_t pages;

	guarded.page = (size_t)sysconf(_SC_PAGESIZE);
	guarded.from = ((uintptr_t)table + guarded.page - 1) & ~(guarded.page - 1);
	guarded.to = ((uintptr_t)table + bytes) & ~(guarded.page - 1);
	guarded.looked = 0;
	if (guarded.to < guarded.from + 32 * guarded.page)
		return true;
	sigaction(SIGSEGV, &sa, &was);
	guard(PROT_NONE);
	act();
	guard(PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &was, NULL);
	pages = (guarded.to - guarded.from) / guarded.page;
	printf("# %zu of %zu pages\n", guarded.looked, pages);
	return guarded.looked && guarded.looked * 4 < pages;
}

/* One of many goes and comes, neither the first nor the last */
static void one_client(void)
{
	call(GT_NV_FREE, GV_MAX_OBJS / 2, GV_MAX_OBJS / 2, 0, 0);
	call(GT_NV_CLIENT, GV_MAX_OBJS / 2, GV_MAX_OBJS / 2, 5, 1);
}

static void one_queue(void)
{
	call(GT_NV_GROUP, 1, 10 + GV_MAX_TSGS / 2, 2, 1);
}

/*
 * What a call costs must not grow with what its process has, as any program may have a lot and make
 * calls over and over: a call does not look at all of it.
 */
static void test_many_clients(void)
{
	restart(0);
	n.uid = 0;
	for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
		call(GT_NV_CLIENT, i, i, 5, 1);
	is(v->user[1].objs, GV_MAX_OBJS, "65536 clients of one file");
	ok(looks_at_few(v->obj, v->nobjs * sizeof(*v->obj), one_client),
	   "one goes and comes, and few others are looked at");
	call(GT_NV_CLOSE, 0, 0, 5, 1);
	is(v->user[1].objs, 0, "with their file all go");
	for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
		call(GT_NV_CLIENT, i, i, 5, 1);
	for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
		call(GT_NV_FREE, i, i, 0, 0);
	is(v->user[1].objs + v->objs_refused, 0, "there was room for all, and none is left");
}

static void test_many_queues(void)
{
	const struct gt_host deaf = { .push = to_nobody, .gpu = gpu_named };
	const uint32_t others = GV_MAX_TSGS - 1;

	restart(0);
	n.uid = 0;
	plugin.host = &deaf;
	call(GT_NV_CLIENT, 1, 1, 5, 1);
	call(GT_NV_DEVICE, 1, 2, 1, 0);
	for (uint32_t i = 1; i <= others; i++)
		call(GT_NV_GROUP, 1, 10 + i, 2, 1);
	for (uint32_t i = 0; i < 1000; i++)
		call(GT_NV_GROUP, 1, 9, 2, 1);
	is(v->user[1].tsgs, others + 1, "queues are made over and over");
	is(v->tsg[v->obj[gv_obj(v, v->tsg[1].proc, 1, 9)].tsg].id, OWN(others),
	   "under the id that is free");
	ok(looks_at_few(v->tsg, v->ntsgs * sizeof(*v->tsg), one_queue),
	   "one of 4096 is made anew, and few others are looked at");
	ok(looks_at_few(v->obj, v->nobjs * sizeof(*v->obj), one_queue), "... nor many objects");
	call(GT_NV_FREE, 1, 1, 0, 0);
	is(v->user[1].tsgs, 0, "all go");
	plugin.host = &host;
}

static void test_odd_objects(void)
{
	restart(0);
	call(GT_NV_CLIENT, 1, 1, 5, 1);
	call(GT_NV_DEVICE, 1, 2, 1, 0);
	for (uint32_t i = 0; i < 100; i++)
		call(GT_NV_DEVICE, 1, 3 + i, 2 + i, 0);
	is(v->user[1].objs, 102, "a device below a device");
	call(GT_NV_GROUP, 1, 1, 3, 1);
	is(v->user[1].objs, 1, "a client's handle is given to a group: with it all goes");
	call(GT_NV_FREE, 1, 1, 0, 0);
	is(v->user[1].objs + v->user[1].tsgs, 0, "which then goes, too");
}

/* Keys that share a bucket in one run must not do so in the next. */
static void test_salt(void)
{
	uint32_t first, with = 0, still = 0;
	uint32_t same[64];

	restart(0);
	first = gv_bucket(v, 1, 2, 0);
	for (uint32_t i = 1; with < 64; i++)
		if (gv_bucket(v, 1, 2, i) == first)
			same[with++] = i;
	restart(0);
	first = gv_bucket(v, 1, 2, 0);
	for (uint32_t i = 0; i < 64; i++)
		still += gv_bucket(v, 1, 2, same[i]) == first;
	ok(still < 8, "nobody can choose handles that share a bucket");
}

int main(void)
{
	make_machine();
	test_two_end(false);
	test_two_end(true);
	test_passed_on();
	test_no_hook_comes();
	test_two_gpus();
	test_hooks_later();
	test_hostile();
	test_many_clients();
	test_many_queues();
	test_odd_objects();
	test_salt();
	return done_testing();
}
