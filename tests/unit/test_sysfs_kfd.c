/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: queues that AMD's compute driver lists: they come and go, numbers are used again,
 * folders that are none; what a look costs with many processes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/sysfs/client.h"
#include "../../backend/sysfs/kfd.h"
#include "../lib/tap.h"
#include "../lib/top.h"

#define PROC "sys/class/kfd/kfd/proc"

/* A host that keeps what it is told -------------------------------------------------------------
 */

static union gt_record rec[8192];
static unsigned int nrec;
static uint64_t usages, last_usage_pid;
static const char *better; /* who tells of queues */
static int rank_asked;

static uint64_t clock_now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static void (*meanwhile)(void); /* happens when the time is asked for, once */
static uint64_t host_now(struct gt_plugin *p)
{
	void (*now)(void) = meanwhile;

	meanwhile = NULL;
	if (now)
		now();
	return clock_now(CLOCK_MONOTONIC);
}
static uint16_t host_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	return (uint16_t)d->minor;
}
static void host_usage(struct gt_plugin *p, const struct gt_usage *u)
{
	usages++;
	last_usage_pid = u->pid;
}
static void host_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && nrec < 8192; i++)
		rec[nrec++] = r[i];
}
static const char *host_claim(struct gt_plugin *p, const char *what, int rank)
{
	rank_asked = rank;
	return rank < 0 ? NULL : better;
}
static const struct gt_host host = { .now = host_now,
				     .gpu = host_gpu,
				     .usage = host_usage,
				     .push = host_push,
				     .claim = host_claim };
static struct gt_plugin plugin = { .host = &host };

/* A tree -----------------------------------------------------------------------------------------
 */

static void shell(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;
	int n = snprintf(cmd, sizeof(cmd), "cd %s && ", top);

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	if (system(cmd))
		ok(false, "%s", cmd);
}

/* Cards 0 and 1; KFD calls them 100 and 101 */
static void make_gpus(void)
{
	for (int i = 0; i < 2; i++) {
		shell("mkdir -p sys/class/drm sys/devices/d%d/drm/card%d "
		      "sys/devices/d%d/drm/renderD%d && ln -s ../../devices/d%d/drm/card%d "
		      "sys/class/drm/card%d && ln -s ../.. sys/devices/d%d/drm/card%d/device && "
		      "ln -s x/amdgpu sys/devices/d%d/driver",
		      i, i, i, 128 + i, i, i, i, i, i, i);
		shell("d=sys/class/kfd/kfd/topology/nodes/%d && mkdir -p $d && echo %d >$d/gpu_id "
		      "&& echo drm_render_minor %d >$d/properties",
		      i + 1, 100 + i, 128 + i);
	}
}

static void make_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void make_dir(const char *fmt, ...)
{
	char path[512];
	va_list ap;
	int n = snprintf(path, sizeof(path), "%s/" PROC "/", top);

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	for (char *at = path + strlen(top) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0755);
	}
	mkdir(path, 0755);
}

static void put(int pid, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" PROC "/%d/%s", top, pid, name);
	f = fopen(path, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static void make_queue(int pid, int number, const char *gpu, const char *type, const char *size)
{
	char name[64];

	make_dir("%d/queues/%d", pid, number);
	snprintf(name, sizeof(name), "queues/%d/gpuid", number);
	put(pid, name, gpu);
	snprintf(name, sizeof(name), "queues/%d/type", number);
	put(pid, name, type);
	snprintf(name, sizeof(name), "queues/%d/size", number);
	put(pid, name, size);
}

/* A folder of queues is of links to one: they are folders of their own by their inodes. */
static void link_queue(int pid, int number, const char *to)
{
	char path[512];

	make_dir("%d/queues", pid);
	snprintf(path, sizeof(path), "%s/" PROC "/%d/queues/%d", top, pid, number);
	if (symlink(to, path))
		perror(path);
}

static void open_sf(struct sf *sf)
{
	*sf = (struct sf){ .p = &plugin };
	sf->clients = sf_clients_new();
	sf->kfd = sf_kfd_new();
	is(gt_root_open(&sf->root, top), 0, "a tree");
	sf_devices_scan(sf);
	sf_kfd_claim(sf);
}

static void close_sf(struct sf *sf)
{
	sf_devices_free(sf);
	sf_clients_free(sf->clients);
	sf_kfd_free(sf->kfd);
	gt_root_close(&sf->root);
}

static unsigned int look(struct sf *sf)
{
	nrec = 0;
	sf_kfd_look(sf, false);
	return nrec;
}

static unsigned int of_type(unsigned int type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nrec; i++)
		n += rec[i].ev.type == type;
	return n;
}

static const union gt_record *first(unsigned int type)
{
	for (unsigned int i = 0; i < nrec; i++)
		if (rec[i].ev.type == type)
			return &rec[i];
	return &rec[8191];
}

/* ------------------------------------------------------------------------------------------------
 */

/* A process's queues as the driver dumps them, the last first: device and where the packets are */
static void dump(int pid, int n, const char *const gpu[], const unsigned int base[])
{
	char path[512];
	FILE *f;

	shell("mkdir -p sys/kernel/debug/kfd");
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/kfd/mqds", top);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "Process %d PASID 0x8002:\n", pid);
	for (int i = 0; i < n; i++)
		fprintf(f,
			"  Compute queue on device %s\n    00000000: c0310800 00000000\n"
			"    00000200: 00000000 00000000 00000001 00000003 00000000 00000000 "
			"00000000 00000000\n"
			"    00000220: %08x 0000007f 00000000 00000000 00000000 00000000 00000000 "
			"00000000\n"
			"    00000240: 00000000 0000000f 00000000\n",
			gpu[i], base[i]);
	fclose(f);
}

/* What the list does not tell, where a queue's packets are, the dump of descriptors does. */
static void test_places(void)
{
	static const char *const a[] = { "64", "64" }, *const b[] = { "65", "64" };
	static const unsigned int at[] = { 0x2222, 0x1111 };
	const union gt_record *last;
	struct sf sf;

	make_queue(30, 0, "100", "0", "262144");
	open_sf(&sf);
	is(look(&sf), 1, "a queue, and nobody tells where it is");
	ok(first(GT_QUEUE)->queue.ctx == GT_NONE64, "… nor where its packets are");
	make_queue(30, 1, "100", "0", "262144");
	dump(30, 2, b, at);
	sf.kfd->place_due = 0;
	is(look(&sf), 2, "a dump of other queues");
	is(sf.kfd->stats.placed, 0, "… tells of none");
	dump(30, 2, a, at);
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	is(look(&sf), 2, "one of these tells of both");
	last = &rec[1];
	ok(first(GT_QUEUE)->queue.ctx + last->queue.ctx ==
			   2 * (0x7full << 40) + (0x1111ull << 8) + (0x2222ull << 8) &&
		   last->queue.pid == 30 && last->queue.type == GT_QUEUE,
	   "… where their packets are");
	ok((sf.kfd->queue[0].ino < sf.kfd->queue[1].ino) ==
		   (sf.kfd->queue[0].base < sf.kfd->queue[1].base),
	   "the one that was made last comes first");
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	is(look(&sf), 0, "which is told once");
	sf.kfd->queue[0].base = sf.kfd->queue[1].base = 0;
	sf.kfd->unplaced = true;
	sf.kfd->place_due = UINT64_MAX;
	is(look(&sf), 0, "the dump is not read more often than it may be");
	shell("mkdir -p sys/devices/d1/power && echo suspended "
	      ">sys/devices/d1/power/runtime_status");
	sf.kfd->place_due = 0;
	is(look(&sf), 0, "nor while a GPU sleeps");
	sf.kfd->place_due = 0;
	shell("rm -r sys/devices/d1/power");
	is(look(&sf), 2, "but when it is awake");
	close_sf(&sf);
	shell("rm -r " PROC "/30 sys/kernel");
}

static void another_queue(void)
{
	shell("rm -r " PROC "/30/queues/0");
	make_queue(30, 1, "100", "0", "262144");
}

static void another_queue_later(void)
{
	meanwhile = another_queue;
}

/* One queue is there before the dump, another like it in the dump */
static void test_places_meanwhile(void)
{
	static const char *const gpu[] = { "64" };
	static const unsigned int at[] = { 0x3333 };
	struct sf sf;

	make_queue(30, 0, "100", "0", "262144");
	make_queue(31, 0, "100", "0", "262144");
	open_sf(&sf);
	look(&sf);
	dump(30, 1, gpu, at);
	make_queue(31, 1, "100", "0", "262144");
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	meanwhile = another_queue_later; /* when 30's queues have been looked at, and 31's are */
	sf_kfd_find_places(&sf);
	ok(sf.kfd->stats.placed == 0 && sf.kfd->unplaced,
	   "what changed while it was dumped is not believed");
	sf.kfd->place_due = 0;
	sf_kfd_find_places(&sf);
	is(sf.kfd->stats.placed, 1, "but when it is the same again");
	close_sf(&sf);
	shell("rm -r " PROC "/30 " PROC "/31 sys/kernel");
}

static void test_come_and_go(void)
{
	const union gt_record *r;
	uint32_t id, other;
	struct sf sf;

	make_queue(10, 0, "100", "0", "262144");
	shell("mkdir -p proc/10 && printf 'Name:\\tx\\nUid:\\t1002\\t1002\\t1002\\t1002\\n' "
	      ">proc/10/status");
	open_sf(&sf);
	is(look(&sf), 1, "of a queue that was there before no event is told");
	r = first(GT_QUEUE);
	id = r->queue.queue;
	ok(r->queue.gpu == 0 && r->queue.pid == 10 && r->queue.uid == 1002 &&
		   r->queue.kind == GT_QUEUE_COMPUTE && r->queue.engine == GT_ENGINE_COMPUTE &&
		   r->queue.size == 262144,
	   "but what it is");
	is(last_usage_pid, 10, "whose it is, before");
	is(look(&sf), 0, "without a change nothing is told");
	make_queue(10, 1, "101", "4", "4096");
	is(look(&sf), 2, "one more");
	r = first(GT_QUEUE_CREATE);
	ok(r->ev.pid == 10 && r->ev.uid == 1002 && r->ev.flags == GT_F_INFERRED && r->ev.gpu == 1,
	   "it was made lately");
	r = first(GT_QUEUE);
	other = r->queue.queue;
	ok(other == rec[0].ev.queue && other != id && r->queue.kind == GT_QUEUE_SDMA &&
		   r->queue.engine == GT_ENGINE_COPY,
	   "on the other GPU, of the other kind, with a number of its own");
	shell("mv " PROC "/10/queues/0 was");
	make_queue(10, 0, "100", "0", "8192");
	is(look(&sf), 3, "a number that is used again between two looks");
	ok(first(GT_QUEUE_DESTROY)->ev.queue == id && first(GT_QUEUE)->queue.queue != id &&
		   first(GT_QUEUE)->queue.size == 8192,
	   "is another queue's");
	id = first(GT_QUEUE)->queue.queue;
	shell("rm -r " PROC "/10/queues/1");
	is(look(&sf), 1, "one ends");
	r = first(GT_QUEUE_DESTROY);
	ok(r->ev.queue == other && r->ev.gpu == 1 && r->ev.flags == GT_F_INFERRED &&
		   r->ev.pid == GT_NONE32,
	   "its process, which may have gone, is not told");
	shell("mv " PROC "/10 gone");
	ok(look(&sf) == 1 && first(GT_QUEUE_DESTROY)->ev.queue == id, "its process ends");
	is(sf.kfd->nqueues, 0, "no queue is left");
	make_queue(10, 0, "100", "0", "1");
	look(&sf);
	shell("mv " PROC "/10 gone2 && mv gone " PROC "/10");
	look(&sf);
	ok(of_type(GT_QUEUE_DESTROY) == 1 && of_type(GT_QUEUE_CREATE) == 1,
	   "a process that has another's number is another");
	close_sf(&sf);
	shell("rm -rf " PROC " was gone2");
}

static void test_no_more_files(void)
{
	struct rlimit was, none;
	struct sf sf;

	make_queue(10, 0, "100", "0", "1");
	open_sf(&sf);
	look(&sf);
	getrlimit(RLIMIT_NOFILE, &was);
	none = (struct rlimit){ 0, was.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	look(&sf);
	ok(nrec == 0 && sf.kfd->nqueues == 1, "where no folder can be opened no queue ends");
	sf_kfd_queues(&sf);
	sf_kfd_flush(&sf);
	ok(nrec == 0 && sf.kfd->nqueues == 1, "nor where it is a process's");
	setrlimit(RLIMIT_NOFILE, &was);
	is(look(&sf), 0, "nor later");
	shell("rm -r " PROC);
	is(look(&sf), 1, "but where there is none");
	close_sf(&sf);
}

static void test_numbers(void)
{
	struct sf sf;
	uint32_t id;

	make_queue(10, 0, "100", "0", "1");
	open_sf(&sf);
	look(&sf);
	id = first(GT_QUEUE)->queue.queue;
	sf.kfd->last = SF_KFD_NUMBERS - 1;
	make_queue(10, 1, "100", "0", "1");
	look(&sf);
	is(first(GT_QUEUE)->queue.queue, SF_KFD_BASE + SF_KFD_NUMBERS - 1, "the last number");
	make_queue(10, 2, "100", "0", "1");
	look(&sf);
	is(first(GT_QUEUE)->queue.queue, id + 1, "then that of a queue that lives is left out");
	close_sf(&sf);
	shell("rm -r " PROC);
}

static void test_claim(void)
{
	struct sf sf;

	make_queue(10, 0, "100", "0", "1");
	open_sf(&sf);
	sf.root.captured = false; /* as if it were this machine */
	sf_kfd_claim(&sf);
	is(rank_asked, 2, "it asks whether it may tell of queues");
	is(look(&sf), 1, "it may");
	nrec = 0;
	better = "bpf";
	sf_kfd_claim(&sf);
	is(of_type(GT_QUEUE_DESTROY), 1, "another knows more: its own end");
	is(look(&sf), 0, "and it tells nothing");
	better = NULL;
	sf_kfd_claim(&sf);
	ok(look(&sf) == 1 && of_type(GT_QUEUE) == 1,
	   "until that one has gone: then they were there before");
	sf.n = 0;
	sf_kfd_claim(&sf);
	is(rank_asked, -1, "without a GPU it does not ask");
	close_sf(&sf);
	shell("rm -r " PROC);
}

static void test_hostile(void)
{
	struct sf sf;

	open_sf(&sf);
	look(&sf);
	make_queue(10, 0, "100", "7", "1");
	make_queue(10, 6, "100", "0", "18446744073709551615");
	make_queue(10, 1, "99", "0", "1");
	make_queue(10, 2, "0", "0", "1");
	make_queue(10, 3, "-5", "0", "1");
	make_queue(10, 4, "100", "x", "1");
	make_queue(10, 5, "99999999999999999999999", "0", "1");
	shell("cd " PROC
	      "/10/queues && mkdir -- x 7 99999999999999999999 -1 && : >8 && mkfifo 9 && "
	      "ln -s /etc 11 && mkdir 12 && mkfifo 12/gpuid && ln -s /etc/passwd 7/gpuid && "
	      "mkdir -p 13/gpuid");
	shell("cd " PROC " && mkdir -p -- 99999999999/queues/0 -3 a && : >77 && mkfifo 78 && "
	      "ln -s /proc/1 79 && mkdir 80 && mkfifo 80/queues && mkdir 81 && ln -s 81 82 && "
	      "ln -s ../10/queues 81/queues");
	look(&sf);
	is(of_type(GT_QUEUE), 3,
	   "of folders that are none only the queue is told, here and where links lead to it");
	ok(first(GT_QUEUE)->queue.kind == GT_NONE16, "a kind that is none is not known");
	is(sf.kfd->stats.strange, 6, "queues of GPUs that nobody knows are counted");
	is(look(&sf), 0, "and not read again");
	close_sf(&sf);
	shell("rm -r " PROC);
}

/* A folder with more processes than are looked at: whoever is not listed has not ended. */
static void test_cut(void)
{
	struct sf_user *user;
	unsigned int ended = 0;
	struct sf sf;

	for (int i = 1; i <= 20; i++)
		make_queue(i, 0, "100", "0", "1");
	open_sf(&sf);
	is(look(&sf), 20, "queues of 20 processes");
	shell("cd " PROC " && seq 100 5100 | xargs mkdir");
	for (int i = 0; i < 3; i++) {
		look(&sf);
		ended += of_type(GT_QUEUE_DESTROY);
	}
	is(ended, 0, "5000 more processes end none of them");
	ok(sf.kfd->stats.cut, "that not all were looked at is counted");
	shell("rm -r " PROC "/20");
	is(look(&sf), 1, "one that goes ends all the same");
	shell("cd " PROC " && seq 100 5100 | xargs rm -r");
	look(&sf);
	is(sf.kfd->n, 19, "as many as before");
	user = sf_user(sf.clients, 1000);
	user->kfd = SF_KFD_PROCS / SF_SHARE - 2;
	for (int i = 30; i < 36; i++) {
		make_queue(i, 0, "100", "0", "1");
		shell("mkdir -p proc/%d && printf 'Name:\\tx\\nUid:\\t%d\\n' >proc/%d/status", i,
		      i < 35 ? 1000 : 1001, i);
	}
	for (unsigned int i = ended = 0; i < 3; i++, ended += of_type(GT_QUEUE))
		look(&sf);
	is(ended, 3, "a user's many processes keep out no other's");
	close_sf(&sf);
	shell("rm -r " PROC " proc");
}

static char table[GT_BACKEND_TEXT_MAX];

static const char *show(struct sf *sf)
{
	plugin.priv = sf;
	sf->kfd->table_due = 0;
	sf_kfd_show(&plugin, table, sizeof(table));
	return table;
}

#define RING "    00000000: 00000025 41b52000 0000007f\\n"

static void test_slots(void)
{
	static const char mqds[] = "printf 'Process %d PASID 1:\\n  SDMA queue on device 64\\n" RING
				   "' >>sys/kernel/debug/kfd/mqds";
	struct sf sf;

	shell("mkdir -p sys/kernel/debug/kfd && printf 'Node 1, gpu_id 64:\\n  SDMA Engine 1, RLC "
	      "0\\n" RING "' >sys/kernel/debug/kfd/hqds");
	shell(mqds, 10);
	open_sf(&sf);
	ok(strstr(show(&sf), "100 10 - sdma 1 - - 0x7f41b5200000 1048576 - - sdma1.0\n"),
	   "a slot is of the process whose ring it has");
	shell(mqds, 11);
	show(&sf);
	ok(strstr(table, "\n100 10 - sdma 1 - - 0x7f41b5200000 1048576 - - -\n") &&
		   strstr(table, "\n100 11 - sdma 1 - - 0x7f41b5200000 1048576 - - -\n") &&
		   strstr(table, "\n100 - - sdma 1 - - 0x7f41b5200000 1048576 - - sdma1.0\n"),
	   "of two that have one at the same address nobody knows whose it is");
	shell("d=sys/class/kfd/kfd/topology/nodes/3 && mkdir $d && echo 102 >$d/gpu_id");
	is_str(show(&sf), "unavailable\n", "a GPU that came since may sleep: it is not woken");
	close_sf(&sf);
	shell("rm -r sys/kernel sys/class/kfd/kfd/topology/nodes/3");
}

static bool was_opened(int in)
{
	char buf[4096];

	return read(in, buf, sizeof(buf)) > 0;
}

#define PROCESSES 500

static void test_many(void)
{
	struct sf_user *user;
	uint64_t began, least = UINT64_MAX;
	unsigned int found = 0;
	struct sf sf;
	char path[128];
	int in;

	make_queue(1, 0, "100", "0", "4096");
	for (int i = 1; i < PROCESSES * 2; i++)
		link_queue(i / 2 + 1, i % 2, "../../1/queues/0");
	open_sf(&sf);
	look(&sf);
	is(of_type(GT_QUEUE), PROCESSES * 2, "the first look finds the queues of 500 processes");
	make_queue(499, 5, "100", "0", "1");
	for (int i = 0; i < PROCESSES / SF_KFD_TURN + 1; i++)
		found += look(&sf);
	is(found, 2, "later looks take them in turn");
	for (int i = 0; i < 50; i++) {
		began = clock_now(CLOCK_THREAD_CPUTIME_ID);
		found = look(&sf);
		began = clock_now(CLOCK_THREAD_CPUTIME_ID) - began;
		least = began < least ? began : least;
	}
	is(found, 0, "no change");
	printf("# measured a look with no change: %" PRIu64 " us of CPU\n", least / 1000);
	usages = 0;
	sf_kfd_look(&sf, true);
	is(usages, 0, "processes of which no number is known are not told");
	for (int i = 1; i <= 40; i++)
		put(i, "vram_100", "5\n");
	for (int i = 0; i < PROCESSES * 2 / SF_KFD_PAIRS + 1; i++)
		sf_kfd_look(&sf, true);
	ok(usages >= 40, "what they use is read in turn, too");
	shell("mkdir -p proc/502 && printf 'Uid:\\t1000\\n' >proc/502/status && "
	      "sed -i '1i Name:\\tx' proc/502/status");
	user = sf_user(sf.clients, 1000);
	user->queues = SF_KFD_QUEUES / SF_SHARE - 2;
	for (int i = 0; i < 5; i++)
		link_queue(502, i, "../../1/queues/0");
	sf.kfd->begun = false; /* all of them at once */
	is(look(&sf), 2, "a user's queues are no more than their share");
	is(sf.clients->stats.over, 3, "others of theirs are counted");
	sf.kfd->used = SF_KFD_QUEUES - 3;
	for (int i = 0; i < 5; i++)
		link_queue(501, i, "../../1/queues/0");
	sf.kfd->begun = false; /* all of them at once */
	is(look(&sf), 3, "as many queues as there is room for");
	is(sf.kfd->stats.refused, 2, "others are counted");
	in = inotify_init1(IN_NONBLOCK);
	snprintf(path, sizeof(path), "%s/" PROC "/1/queues/0/gpuid", top);
	inotify_add_watch(in, path, IN_OPEN);
	sf.kfd->turn = 500;
	look(&sf);
	ok(!was_opened(in) && sf.kfd->stats.refused == 2 && sf.clients->stats.over == 3,
	   "once, and are not read again");
	shell("rm " PROC "/3/queues/0");
	for (int i = 0; i < 2; i++) {
		sf.kfd->begun = false;
		look(&sf);
	}
	ok(of_type(GT_QUEUE) == 1 && was_opened(in), "until there is room");
	close(in);
	close_sf(&sf);
}

int main(void)
{
	if (!top_make())
		return 1;
	make_gpus();
	test_come_and_go();
	test_places();
	test_places_meanwhile();
	test_no_more_files();
	test_numbers();
	test_claim();
	test_hostile();
	test_cut();
	test_slots();
	test_many();
	top_drop();
	return done_testing();
}
