/* SPDX-License-Identifier: GPL-2.0 */
/* User directories: which rights one has, what its number reveals; and
 * requests that nobody waits for any more. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../../backend/host/internal.h"
#include "../lib/tap.h"

static int check(const char *value, char *err, size_t len)
{
	return 0;
}

static void show(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		 size_t len)
{
	snprintf(buf, len, "%s", m->whole ? "all" : "own");
}

static const struct gt_userdir_file files[] = {
	{ "word", "a word", .check = check },
	{ "text", "a text", .show = show },
	{ 0 },
};
static const struct gt_backend_userdirs made = { "things", "things", files };

static struct gt_host_state h;
static struct gt_be be = { .h = &h };
static char err[256];

static struct gt_userdir *make(const char *name, uint32_t uid, bool whole)
{
	is(gt_host_userdir_make(&h, 0, name, uid, whole, err, sizeof(err)), 0, "%s is made", name);
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++)
		if (be.made[i] && !strcmp(be.made[i]->name, name))
			return be.made[i];
	return NULL;
}

static const char *shown(const struct gt_userdir *m, bool whole)
{
	static char buf[GT_USERDIR_TEXT_MAX];

	gt_host_userdir_show(&h, 0, m->serial, 1, "/", whole, buf, sizeof(buf));
	return buf;
}

static void test_rights(void)
{
	struct gt_userdir *m = make("a", 7, true);

	is_str(shown(m, true), "all", "who saw everything made it");
	is_str(shown(m, false), "own", "that is shown to no other");
	ok(m->whole, "… who leaves it as it was");
	gt_host_userdir_set(&h, 0, m->serial, 0, "x", true, err, sizeof(err));
	ok(m->whole, "nor does it change when such a one sets something");
	gt_host_userdir_set(&h, 0, m->serial, 0, "/root", false, err, sizeof(err));
	ok(!m->whole, "what another sets has that one's rights");
	gt_host_userdir_set(&h, 0, m->serial, 0, "/", true, err, sizeof(err));
	is_str(shown(m, true), "own", "… from then on");
	m = make("b", 7, false);
	gt_host_userdir_set(&h, 0, m->serial, 0, "/root", true, err, sizeof(err));
	ok(!m->whole, "nobody gives what is not theirs more");
}

/* From one's own numbers nobody can count others' */
static void test_numbers(void)
{
	const struct gt_userdir *m[4];
	uint64_t step;

	for (int i = 0; i < 4; i++) {
		char name[2] = { (char)('p' + i), 0 };

		m[i] = make(name, 8, false);
	}
	step = m[1]->serial - m[0]->serial;
	ok(m[2]->serial - m[1]->serial != step && m[3]->serial - m[2]->serial != step,
	   "numbers follow no order");
	for (int i = 1; i < 4; i++)
		ok((m[i]->serial ^ m[0]->serial) & 0xffffff, "inodes' numbers differ");
}

static unsigned int there(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++)
		n += be.made[i] != NULL;
	return n;
}

static struct gt_call *asked(const char *name)
{
	struct gt_call *c = gt_call_new(GT_CALL_MKDIR);

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->uid = 9;
	return c;
}

static void *nobody(void *arg)
{
	return NULL;
}

/* The ingest thread is at work with something else. */
static void test_late(void)
{
	struct gt_call *c = asked("late"), *next = asked("next");
	unsigned int before = there();

	pthread_create(&h.thread, NULL, nobody, NULL);
	h.threaded = true;
	is(gt_call_run(&h, c, 1), -ETIMEDOUT, "nobody answers");
	gt_call_late(&h, c, err, sizeof(err));
	ok(!strstr(err, "may be done"), "what has not begun is not done: %s", err);
	gt_call_put(&h, c);
	is(gt_call_run(&h, next, 1), -ETIMEDOUT, "the next one need not wait");
	gt_call_put(&h, next);
	gt_call_serve(&h);
	is(there(), before, "nothing is made when it is too late");
	c = asked("done");
	c->done = true; /* as if the answer came during the wait */
	is(gt_call_run(&h, c, 1000), 0, "one that is answered");
	gt_call_put(&h, c);
	gt_call_serve(&h);
	is(there(), before + 1, "… is done");
	h.threaded = false;
	pthread_join(h.thread, NULL);
}

int main(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&h.lock, NULL);
	pthread_cond_init(&h.cond, &attr);
	h.eventfd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	h.be[0] = &be;
	h.n = 1;
	be.info.userdirs = &made;
	test_rights();
	test_numbers();
	test_late();
	gt_userdir_free_all(&be);
	close(h.eventfd);
	return done_testing();
}
