/* SPDX-License-Identifier: GPL-2.0 */
/* User directories: which rights one has, what its number reveals, when the plugin knows of it; and
 * requests to the ingest thread that nobody waits for any more. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../backend/host/internal.h"
#include "../lib/tap.h"

static int check(const char *value, char *err, size_t len)
{
	return 0;
}

static unsigned int shows, notices;

static void show(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		 size_t len)
{
	shows++;
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

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	notices += what == GT_CTL_USERDIR;
	return 0;
}

static const struct gt_backend backend = { .name = "things", .control = control };

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

static unsigned int made_by(uint32_t uid, bool whole)
{
	unsigned int n = 0;
	char name[16];

	do
		snprintf(name, sizeof(name), "n%u", n);
	while (!gt_host_userdir_make(&h, 0, name, uid, whole, err, sizeof(err)) && ++n);
	return n;
}

/* Several users who have one owner leave some to others, and what is refused is counted. */
static void test_shares(void)
{
	uint64_t refused = gt_host_userdirs_refused(&h);
	unsigned int of[16], users = 0, all = 0;

	gt_userdir_free_all(&be);
	do {
		of[users] = made_by(20 + users, false);
		all += of[users];
	} while (of[users++] && users < 16);
	is(of[0], GT_USERDIR_USER, "a user has a share");
	is(of[6], 2, "the seventh has half of the rest");
	is(all, GT_USERDIR_ALL, "all users but root have theirs");
	is(gt_host_userdirs_refused(&h) - refused, users, "each that is refused counts");
	is(made_by(0, true), GT_USERDIR_MAX - GT_USERDIR_ALL, "and root has the others");
	gt_userdir_free_all(&be);
}

static void *nobody(void *arg)
{
	return NULL;
}

/* From here on the ingest thread is at work with something else. */
static void begin_late(void)
{
	pthread_create(&h.thread, NULL, nobody, NULL);
	h.threaded = true;
}

static void end_late(void)
{
	h.threaded = false;
	pthread_join(h.thread, NULL);
}

static const struct gt_userdir *known(uint64_t serial)
{
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++)
		if (be.known[i] && be.known[i]->serial == serial)
			return be.known[i];
	return NULL;
}

/* A user's change does not wait for the ingest thread, which has the plugin know of it. */
static void test_at_once(void)
{
	const struct gt_userdir *m;
	uint64_t serial;
	char word[64];

	be.be = &backend;
	be.started = true;
	begin_late();
	m = make("now", 9, false);
	serial = m->serial;
	is(gt_host_userdir_make(&h, 0, "now", 9, false, err, sizeof(err)), -EEXIST,
	   "it is there at once");
	ok(!known(serial), "the plugin does not know it yet");
	gt_call_serve(&h);
	ok(known(serial) && known(serial) != m, "then it has its own");
	is(notices, 0, "that there is one more is nothing to look for");
	is(gt_host_userdir_set(&h, 0, serial, 0, "new", false, err, sizeof(err)), 0, "a setting");
	is(gt_host_userdir_set(&h, 0, serial, 0, "newer", false, err, sizeof(err)), 0, "and again");
	gt_host_userdir_get(&h, 0, serial, 0, word, sizeof(word));
	is_str(word, "newer", "is what is read");
	is_str(known(serial)->value[0], "", "the plugin has the one before");
	gt_call_serve(&h);
	is_str(known(serial)->value[0], "newer", "then the last");
	is(notices, 1, "which it is notified of once");
	gt_call_serve(&h);
	is(notices, 1, "not again without a change");
	is(gt_host_userdir_remove(&h, 0, serial), 0, "removed");
	is(gt_host_userdir_remove(&h, 0, serial), -ENODEV, "once");
	is(gt_host_userdir_set(&h, 0, serial, 0, "x", false, err, sizeof(err)), -ENODEV,
	   "and not set any more");
	ok(known(serial), "the plugin may be reading it");
	gt_call_serve(&h);
	ok(!known(serial) && notices == 2, "and knows that it is gone");
	end_late();
	be.started = false;
}

static struct gt_call *asked(const struct gt_userdir *m)
{
	struct gt_call *c = gt_call_new(GT_CALL_USERDIR_SHOW);

	c->serial = m->serial;
	c->file = 1;
	c->big = malloc(GT_USERDIR_TEXT_MAX);
	return c;
}

static void test_late(void)
{
	const struct gt_userdir *m = make("late", 9, false);
	struct gt_call *c = asked(m), *next = asked(m);
	unsigned int before = shows;

	begin_late();
	is(gt_call_run(&h, c, 1), -ETIMEDOUT, "nobody answers");
	gt_call_late(&h, c, err, sizeof(err));
	ok(!strstr(err, "may be done"), "what has not begun is not done: %s", err);
	gt_call_put(&h, c);
	is(gt_call_run(&h, next, 1), -ETIMEDOUT, "the next one need not wait");
	gt_call_put(&h, next);
	gt_call_serve(&h);
	is(shows, before, "nothing is done when it is too late");
	c = asked(m);
	c->done = true; /* as if the answer came during the wait */
	is(gt_call_run(&h, c, 1000), 0, "one that is answered");
	gt_call_put(&h, c);
	gt_call_serve(&h);
	is(shows, before + 1, "… is done");
	end_late();
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
	test_shares();
	test_at_once();
	test_late();
	gt_userdir_free_all(&be);
	close(h.eventfd);
	return done_testing();
}
