/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: queues that AMD's compute driver lists: they come and go, numbers are used again,
 * folders that are none; what a look reads with many processes. */
#include <sys/inotify.h>
#include <sys/resource.h>

#include "kfdbed.h"

static void test_come_and_go(void)
{
	const union gt_record *r;
	uint32_t id, other;
	struct sf sf;

	make_queue(10, 0, "100", "0", "262144");
	shell("mkdir -p proc/10 && printf 'Name:\\tx\\nUid:\\t1002\\t1002\\t1002\\t1002\\n' "
	      ">proc/10/status");
	open_sf(&sf);
	is(look(&sf), 1, "a queue that was there before gets no event");
	r = first(GT_QUEUE);
	id = r->queue.queue;
	ok(r->queue.gpu == 0 && r->queue.pid == 10 && r->queue.uid == 1002 &&
		   r->queue.kind == GT_QUEUE_COMPUTE && r->queue.engine == GT_ENGINE_COMPUTE &&
		   r->queue.size == 262144,
	   "but what it is");
	is(last_usage_pid, 10, "its owner, before");
	is(look(&sf), 0, "without a change nothing is emitted");
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
	   "its process, which may have gone, is not named");
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
	is(rank_asked, 2, "it asks for the claim on queues");
	is(look(&sf), 1, "it may");
	nrec = 0;
	better = "bpf";
	sf_kfd_claim(&sf);
	is(of_type(GT_QUEUE_DESTROY), 1, "another knows more: its own end");
	is(look(&sf), 0, "and it emits nothing");
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
	   "of folders that are none only the queue is emitted, here and where links lead to it");
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

static bool was_opened(int in)
{
	char buf[4096];

	return read(in, buf, sizeof(buf)) > 0;
}

#define PROCESSES 500

static void test_many(void)
{
	struct sf_user *user;
	unsigned int found = 0;
	struct sf sf;
	char path[TMP_PATH_MAX + 64];
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
	for (int i = 0; i < 50; i++)
		found = look(&sf);
	is(found, 0, "no change");
	usages = 0;
	sf_kfd_look(&sf, true);
	is(usages, 0, "processes without a known number are not emitted");
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
	test_no_more_files();
	test_numbers();
	test_claim();
	test_hostile();
	test_cut();
	test_many();
	top_drop();
	return done_testing();
}
