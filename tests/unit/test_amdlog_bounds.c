/* SPDX-License-Identifier: GPL-2.0 */
/* Logs of AMD's runtime: what many files, many names and lines in no order cost, and where links
 * lead.
 */
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>

#include "../lib/amdhost.h"
#include "../lib/tap.h"

#define NAME(us) ":3:x.cpp :1 : " #us " us:  ShaderName : f()\n"

static struct gt_amd *priv(struct ah *h)
{
	return h->p.priv;
}

static void make(const char *prefix, unsigned int n, uid_t uid)
{
	char name[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s_%u.log", prefix, i);
		ah_write(name, NAME(5), O_TRUNC);
		if (uid && chown(ah_name(name), uid, uid))
			printf("# %s\n", strerror(errno));
	}
}

static void unmake(const char *prefix, unsigned int n)
{
	char name[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s_%u.log", prefix, i);
		unlink(ah_name(name));
	}
}

/* One user's many files do not shut out another's. */
static void check_shares(void)
{
	unsigned int share = GT_AMD_FILES / GT_AMD_SHARE;
	struct ah *h;

	if (geteuid() && ok(true, "a user's share of logs # skip it takes root"))
		return;
	make("many", 300, 65534);
	make("other", 3, 65533);
	h = ah_follow("*.log");
	is(priv(h)->n, share + 3, "a user's logs are no more than their share");
	is(priv(h)->over, 300 - share, "the rest is counted");
	make("later", 2, 65533);
	ah_settle(h);
	is(priv(h)->n, share + 5, "there is room for others' that come");
	unmake("many", 300);
	make("again", 3, 65534);
	for (int i = 0; i < 100 && priv(h)->n != 8;
	     i++) { /* a look may come before all have gone */
		ah_settle(h);
		h->ahead += 2000000000;
	}
	is(priv(h)->n, 8, "and for the user's own when others of theirs have gone");
	ah_free(h);
	unmake("other", 3);
	unmake("later", 2);
	unmake("again", 3);
}

static void check_queue_shares(void)
{
	unsigned int most = GT_AMD_QUEUES_ALL / GT_AMD_SHARE, logs = most / GT_AMD_QUEUES * 2;
	struct ah *h;
	char name[64];

	if (geteuid() && ok(true, "a user's share of queues # skip it takes root"))
		return;
	for (unsigned int i = 0; i < logs; i++) {
		FILE *f;

		snprintf(name, sizeof(name), "many_%u.log", i);
		f = fopen(ah_name(name), "w");
		for (unsigned int k = 1; k <= GT_AMD_QUEUES; k++)
			fprintf(f, ":3:x.cpp :1 : 5 us:  acquireQueue refCount: 0x%x (1)\n",
				k * 4096);
		fclose(f);
		if (chown(ah_name(name), 65534, 65534))
			printf("# %s\n", strerror(errno));
	}
	h = ah_follow("many_*.log");
	is(ah_counts(h).queues, most, "a user's queues are no more than their share");
	is(ah_counts(h).refused, logs * GT_AMD_QUEUES - most, "the rest is counted");
	ah_free(h);
	unmake("many", logs);
}

/* Until so many lines have been read; how many at most by one drain */
static unsigned int read_on(struct ah *h, unsigned int lines)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < 10000 && ah_counts(h).lines < lines; i++) {
		unsigned int was = (unsigned int)ah_counts(h).lines, n;

		gt_amd_drain(&h->p);
		n = (unsigned int)ah_counts(h).lines - was;
		most = n > most ? n : most;
	}
	return most;
}

/* Each look at the clock finds the time over: still all is done, bit by bit. */
static void check_late(void)
{
	unsigned int most = 0, drains = 0, was = 0;
	struct ah *h;

	if (geteuid() && ok(true, "more logs than a user may have # skip it takes root"))
		return;
	h = ah_new(ah_name("late_*.log"), false);
	make("late", 200, 0);
	h->tick = 1000000000;
	is(gt_amd_start(&h->p), 0, "started");
	was = priv(h)->n;
	for (; drains < 10000 && priv(h)->n < 200; drains++) {
		gt_amd_drain(&h->p);
		most = priv(h)->n - was > most ? priv(h)->n - was : most;
		was = priv(h)->n;
	}
	is(priv(h)->n, 200, "all names of a folder are looked at");
	ok(most <= 64 && drains > 2, "some in each of %u drains", drains);
	most = read_on(h, 200);
	is(ah_counts(h).lines, 200, "all logs are read");
	ok(most == 1, "one after the other");
	for (int i = 0; i < 1000; i++)
		ah_write("late_7.log", NAME(5), O_APPEND);
	ok(read_on(h, 1200) <= 64, "and a long one bit by bit");
	is(ah_counts(h).lines, 1200, "to its end");
	ah_free(h);
	unmake("late", 200);
}

static void append(const char *name, unsigned int lines)
{
	for (unsigned int i = 0; i < lines; i++)
		ah_write(name, NAME(5), O_APPEND);
}

static void give(const char *name, uid_t uid)
{
	ah_write(name, "", O_TRUNC);
	if (chown(ah_name(name), uid, uid))
		printf("# %s\n", strerror(errno));
}

/* Whoever has many logs with much in them: each user's turn comes after one log of each other user */
static void check_turns(void)
{
	const struct gt_amd_user *other;
	unsigned int drains = 0;
	char name[64];
	struct ah *h;

	if (geteuid() && ok(true, "turns of users # skip it takes root"))
		return;
	make("many", 60, 65534);
	give("one.log", 65533);
	h = ah_follow("*.log");
	for (unsigned int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "many_%u.log", i);
		append(name, 70);
	}
	append("one.log", 1);
	h->tick = 1000000000; /* each drain reads 64 lines of one log */
	is(ah_counts(h).lines, 60, "many logs of one user, one of another");
	other = gt_amd_user_of(priv(h), 65533);
	for (; drains < 100 && (!drains || other->turn < priv(h)->turns); drains++)
		gt_amd_drain(&h->p);
	ok(drains <= 2, "the other's turn comes after one of them: drain %u", drains);
	is(ah_counts(h).lines, 60 + (drains - 1) * 64 + 1, "and what is new there is read");
	h->tick = 0;
	ah_settle(h);
	is(ah_counts(h).lines, 60 + 60 * 70 + 1, "all is read in the end");
	ah_free(h);
	unmake("many", 60);
	unlink(ah_name("one.log"));
}

static void drains(struct ah *h)
{
	for (int i = 0; i < 10; i++)
		gt_amd_drain(&h->p);
}

/* Lines that were read of that log */
static uint64_t lines_of(struct ah *h, const char *name)
{
	for (unsigned int i = 0; i < priv(h)->n; i++)
		if (!strcmp(priv(h)->file[i]->path, ah_name(name)))
			return priv(h)->file[i]->log.n.lines;
	return 0;
}

/* Until @lines of that log have been read */
static void read_lines(struct ah *h, const char *name, uint64_t lines)
{
	for (unsigned int i = 0; i < 10000 && lines_of(h, name) < lines; i++)
		gt_amd_drain(&h->p);
	is(lines_of(h, name), lines, "%s is read", name);
}

/* Beyond the records that a user may have in a second what comes waits in the logs. */
static void check_rate(void)
{
	const unsigned int many = 4 * 2000 + 2 * GT_AMD_RECORDS;
	char text[2000], *log = malloc(many * sizeof(NAME(5)));
	struct ah *h;

	if (geteuid() && ok(true, "a user's share of records # skip it takes root")) {
		free(log);
		return;
	}
	*log = '\0';
	for (char *to = log; to < log + many * strlen(NAME(5));)
		to = stpcpy(to, NAME(5));
	give("theirs.log", 65534);
	give("others.log", 65533);
	give("roots.log", 0);
	h = ah_follow("*.log");
	h->opt.user_records = 2000;
	ah_write("theirs.log", log, O_APPEND);
	for (unsigned int i = 0; i < 10000 && !priv(h)->waits; i++)
		gt_amd_drain(&h->p);
	is(priv(h)->waits, 1, "a user has to wait, which is counted");
	ok(lines_of(h, "theirs.log") < many, "before all is read: %llu of %u lines",
	   (unsigned long long)lines_of(h, "theirs.log"), many);
	gt_amd_show_logs(&h->p, text, sizeof(text));
	ok(strstr(text, "waiting 65534") && strstr(text, "read 0 "), "which the table shows");
	ok(h->watched < 0 && h->timer, "it is looked at again without inotify");
	ah_write("roots.log", log, O_APPEND);
	read_lines(h, "roots.log", many);
	append("others.log", 10);
	read_lines(h, "others.log", 10);
	for (unsigned int i = 0; i < 10000 && lines_of(h, "theirs.log") < many; i++) {
		h->ahead += 1000000000;
		gt_amd_drain(&h->p);
	}
	is(lines_of(h, "theirs.log"), many, "later all is read");
	ah_free(h);
	free(log);
	unlink(ah_name("theirs.log"));
	unlink(ah_name("others.log"));
	unlink(ah_name("roots.log"));
}

/* What a user deletes while it has to wait takes room for a short time only */
static void check_deleted(void)
{
	const size_t line = 64, size = 12u << 20;
	struct pollfd p = { .events = POLLIN };
	char *text = malloc(size + 1);
	struct ah *h;

	if (geteuid() && ok(true, "a log that is deleted # skip it takes root")) {
		free(text);
		return;
	}
	memset(text, 'x', size);
	for (size_t i = line - 1; i < size; i += line)
		text[i] = '\n';
	text[size] = '\0';
	give("short.log", 65534);
	h = ah_follow("*.log");
	p.fd = h->watched;
	unlink(ah_name("short.log"));
	is(poll(&p, 1, 0), 1, "that a log is deleted is reported");
	drains(h);
	is(priv(h)->n, 0, "so that it is closed");
	give("long.log", 65534);
	ah_settle(h);
	h->opt.user_records = 1;
	ah_write("long.log", text, O_APPEND);
	unlink(ah_name("long.log"));
	for (int i = 0; i < 1000 && priv(h)->n; i++) {
		h->ahead += 3600ull * 1000000000;
		gt_amd_drain(&h->p);
	}
	is(priv(h)->n, 0, "one that is not read to its end is closed, too");
	ok(ah_counts(h).lines * line <= (5u << 20), "after some MB: %llu lines",
	   (unsigned long long)ah_counts(h).lines);
	ah_free(h);
	free(text);
}

/* One user's problems leave room for another's */
static void check_problems(void)
{
	char text[8192], name[32];
	struct ah *h;

	if (geteuid() && ok(true, "a user's share of problems # skip it takes root"))
		return;
	ah_write("one.log", "", O_TRUNC);
	h = ah_follow("*.log");
	for (int i = 0; i < 11; i++) {
		snprintf(name, sizeof(name), "link%d.log", i);
		if (symlink("one.log", ah_name(name)) ||
		    lchown(ah_name(name), i ? 65534 : 65533, 65533))
			printf("# %s\n", strerror(errno));
		ah_settle(h);
		drains(h);
	}
	gt_amd_show_problems(&h->p, text, sizeof(text));
	ok(strstr(text, "/link0.log: is a symbolic link\n"), "the other user's problem is shown");
	ok(strstr(text, "/link10.log: ") && strstr(text, "/link9.log: ") &&
		   !strstr(text, "/link8.log: "),
	   "and the last two of who has many: %s", text);
	ah_free(h);
	for (int i = 0; i < 11; i++) {
		snprintf(name, sizeof(name), "link%d.log", i);
		unlink(ah_name(name));
	}
	unlink(ah_name("one.log"));
}

/* Lines whose times go back all the way, and some of one time */
static void check_backwards(void)
{
	struct ah *h;
	FILE *f = fopen(ah_name("back_1.log"), "w");
	bool stable = true;

	for (unsigned int i = 0; i < 3000; i++)
		fprintf(f, ":3:x.cpp :1 : %u us:  acquireQueue refCount: 0x%x (1)\n",
			100000 - i / 3 * 7, (i % 100 + 1) * 4096);
	fclose(f);
	h = ah_new(ah_name("back_1.log"), true);
	is(ah_play(h), -ENODATA, "a log that goes back in time");
	is(h->back, 0, "is reported in order");
	for (size_t i = 1; i < h->n; i++) /* a queue is described, then in use: both at one time */
		if (h->rec[i].ev.type == GT_QUEUE_MAP)
			stable &= h->rec[i - 1].ev.type == GT_QUEUE &&
				  h->rec[i - 1].queue.queue == h->rec[i].ev.queue;
	ok(stable && h->types[GT_QUEUE_MAP] == 100, "and what is of one time as it came");
	ah_free(h);
	unlink(ah_name("back_1.log"));
}

/* Who has a link on the way does not have another's folder looked through. */
static void check_links(void)
{
	struct ah *h;

	mkdir(ah_name("real"), 0755);
	ah_write("real/a.log", NAME(5), O_TRUNC);
	if (symlink("real", ah_name("way")) || (!geteuid() && lchown(ah_name("way"), 65534, 65534)))
		printf("# %s\n", strerror(errno));
	h = ah_follow("real/*.log");
	is(priv(h)->n, 1, "a log in its folder");
	ah_free(h);
	h = ah_follow("way/*.log");
	is(priv(h)->n, 0, "by a link's way it is not found");
	ok(!strstr(h->error, "way"), "which is reported without a name: %s", h->error);
	ah_free(h);
	h = ah_follow("*/a.log");
	is(priv(h)->n, 1, "nor by a pattern");
	is(priv(h)->nfolders, 1, "which has the folder itself");
	ah_free(h);
	h = ah_follow("real/../real/*.log");
	is(priv(h)->n, 0, "and nothing goes up");
	ah_free(h);
	unlink(ah_name("way"));
}

static unsigned int by(const char *pattern)
{
	struct ah *h = ah_follow(pattern);
	unsigned int n = priv(h)->n;

	ah_free(h);
	return n;
}

static void link_to(const char *name, const char *to)
{
	unlink(ah_name(name));
	if (symlink(to, ah_name(name)))
		printf("# %s\n", strerror(errno));
}

/* What root alone can have put there leads on, if the configuration names it */
static void check_roots_links(void)
{
	static const struct gt_option o = { .name = "files" };
	struct ah *h;

	if (geteuid() && ok(true, "links of root's # skip it takes root"))
		return;
	chmod(ah_folder, 0755);
	link_to("way", "real");
	link_to("last.log", "way/a.log");
	link_to("up", "real/../way");
	is(by("way/*.log"), 1, "a link of root's on the way is followed");
	is(by("way"), 1, "… at its end");
	is(by("last.log"), 1, "… to a log");
	is(by("up/a.log"), 1, "… and up, if it says so");
	is(by("up/../real/a.log"), 0, "which a word does not");
	h = ah_new(ah_name("way/*.log"), false);
	gt_amd_set(&h->p, &o);
	gt_amd_start(&h->p);
	is(priv(h)->n, 0, "nor is it followed for who wrote the setting");
	ah_free(h);
	link_to("way", "way");
	is(by("way/a.log"), 0, "one that leads to itself leads nowhere");
	link_to("way", "/");
	is(by("way/etc/nothing.log"), 0, "nor one that leads to where nothing is");
	link_to("way", "real");
	chmod(ah_folder, 0777);
	is(by("way/*.log"), 0, "where all may put one it is not followed");
	chmod(ah_folder, 01777);
	is(by("way/*.log"), 1, "but where nobody can move root's");
	chmod(ah_folder, 0755);
	unlink(ah_name("way"));
	unlink(ah_name("up"));
	unlink(ah_name("last.log"));
}

/* What was written to `files` is looked for where everybody may */
static void check_written(void)
{
	static const struct gt_option o = { .name = "files" };
	struct ah *h;

	if (geteuid() && ok(true, "logs that not all may read # skip it takes root"))
		return;
	chmod(ah_folder, 0755);
	chmod(ah_name("real"), 0700);
	h = ah_follow("real/*.log");
	is(priv(h)->n, 1, "the configuration may name what is not for all");
	gt_amd_set(&h->p, &o);
	ah_settle(h);
	is(priv(h)->n, 0, "who writes the setting may not");
	gt_amd_stop(&h->p);
	gt_amd_start(&h->p);
	ah_settle(h);
	is(priv(h)->n, 0, "nor after a new start");
	chmod(ah_name("real"), 0755);
	gt_amd_set(&h->p, &o);
	ah_settle(h);
	is(priv(h)->n, 1, "but what is");
	ah_free(h);
	unlink(ah_name("real/a.log"));
	rmdir(ah_name("real"));
}

#define FOLDERS 4200
#define OTHERS	12

/* Folders that a user makes where all may are not all that a pattern means. In memory: a disk is
 * slow */
static void check_folder_shares(void)
{
	char top[] = "/dev/shm/gt-amdlog-XXXXXX", name[64];
	struct ah *h;
	FILE *f;

	if (geteuid() && ok(true, "a user's share of folders # skip it takes root"))
		return;
	if (!mkdtemp(top) && ok(true, "a user's share of folders # skip no folder in /dev/shm"))
		return;
	for (uid_t i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "%s/f%u", top, i);
		mkdir(name, 0755);
		if (chown(name, i < OTHERS ? 7778 + i : 7777, 7777))
			printf("# %s\n", strerror(errno));
		strcat(name, "/a.log");
		f = i < OTHERS ? fopen(name, "w") : NULL;
		if (f)
			fclose(f);
	}
	snprintf(name, sizeof(name), "%s/*/a.log", top);
	h = ah_new(name, false);
	gt_amd_start(&h->p);
	ah_settle(h);
	is(priv(h)->n, OTHERS, "other users' folders are found between them");
	is(priv(h)->refused, 1, "and that not all were looked at is reported");
	ah_free(h);
	snprintf(name, sizeof(name), "rm -r %s", top);
	if (system(name))
		printf("# %s\n", name);
}

int main(void)
{
	if (!ah_dir())
		return 1;
	check_shares();
	check_queue_shares();
	check_late();
	check_turns();
	check_rate();
	check_deleted();
	check_problems();
	check_backwards();
	check_links();
	check_roots_links();
	check_written();
	check_folder_shares();
	rmdir(ah_folder);
	return done_testing();
}
