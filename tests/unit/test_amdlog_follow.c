/* SPDX-License-Identifier: GPL-2.0 */
/* Logs of AMD's runtime that are written on, are others', are hostile. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/amdhost.h"
#include "../lib/tap.h"

/* Files -------------------------------------------------------------------------------------------
 */

#define P(us)	 ":4:x.cpp                    :1   : " #us " us: [pid:77 tid: 0x9] "
#define Q	 "SWq=0x1, HWq=0x2000, id=1, "
#define NAME(us) ":3:x.cpp :1 : " #us " us:  ShaderName : f()\n"

static void check_growing(void)
{
	char moved[sizeof(ah_folder) + 6];
	struct ah *h;

	snprintf(moved, sizeof(moved), "%s-moved", ah_folder);
	ah_write("live_1.log", "", O_TRUNC);
	h = ah_follow("live_*.log");
	ah_write("live_1.log", NAME(5) ":3:x.cpp :1 : 6", O_APPEND);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 1, "what comes is read, up to its last whole line");
	ah_write("live_1.log", " us:  ShaderName : g()\n", O_APPEND);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 2, "and its rest when it comes");
	ah_write("live_2.log", NAME(7) NAME(8), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 4, "a new file is found");
	ah_write("live_1.log", NAME(9), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 5, "one that is cut and written anew is read anew");
	rename(ah_name("live_1.log"), moved);
	ah_write("live_1.log", NAME(10), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 6, "one that takes the name of another is read, too");
	is(((struct gt_amd *)h->p.priv)->n, 3, "and the other followed on");
	unlink(moved);
	unlink(ah_name("live_1.log"));
	unlink(ah_name("live_2.log"));
	/* a file that is seen to be gone is read once more, which may be at the next wake-up */
	for (int i = 0; i < 1000 && ((struct gt_amd *)h->p.priv)->n; i++)
		gt_amd_drain(&h->p);
	is(((struct gt_amd *)h->p.priv)->n, 0, "until it is deleted");
	ah_free(h);
}

/* Killed, as where memory is short */
static void check_reader(void)
{
	struct gt_amd *a;
	struct ah *h;

	ah_write("kill_1.log", "", O_TRUNC);
	h = ah_follow("kill_*.log");
	a = h->p.priv;
	ah_write("kill_1.log", NAME(5), O_APPEND);
	ah_settle(h);
	ok(a->reader.child.pid > 0, "a process takes lines apart");
	kill(a->reader.child.pid, SIGKILL);
	ah_write("kill_1.log", NAME(6), O_APPEND);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 2, "when it is killed another one does");
	is(a->readers_failed, 1, "… which is counted");
	is(a->n, 1, "… and the log followed on");
	ah_free(h);
	unlink(ah_name("kill_1.log"));
}

static void check_refused(void)
{
	struct ah *h;

	if (symlink("/etc/shadow", ah_name("bad_link.log")) ||
	    (!geteuid() && lchown(ah_name("bad_link.log"), 65534, 65534)) ||
	    mkfifo(ah_name("bad_fifo.log"), 0644))
		printf("# %s\n", strerror(errno));
	h = ah_follow("bad_*.log");
	is(((struct gt_amd *)h->p.priv)->n, 0, "no link is followed, and nobody waits for a pipe");
	ok(!*h->error || !strstr(h->error, "bad"), "everybody may read which: none is named");
	ah_free(h);
	h = ah_new(ah_name("bad_link.log"), false);
	gt_amd_start(&h->p);
	is(((struct gt_amd *)h->p.priv)->n, 0, "nor by its own name");
	ah_free(h);
	h = ah_new(ah_name("bad_fifo.log"), true);
	ok(gt_amd_start(&h->p) < 0 && strstr(h->error, "is not a regular file"), "played: %s",
	   h->error);
	ah_free(h);
	unlink(ah_name("bad_link.log"));
	unlink(ah_name("bad_fifo.log"));
}

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

/* The process of the one dispatch that log @n tells, which is written when it is followed already */
static uint32_t believed(const char *n, uint32_t pid, unsigned long long us)
{
	char text[200];
	struct ah *h;
	uint32_t is;

	ah_write(n, "", O_TRUNC);
	h = ah_follow(n);
	snprintf(text, sizeof(text), ":3:x.cpp :1 : %llu us: [pid:%u tid: 0x1] ShaderName : f()\n",
		 us, pid);
	ah_write(n, text, O_APPEND);
	ah_settle(h);
	is = ah_nth(h, GT_DISPATCH, 0)->ev.pid;
	ah_free(h);
	unlink(ah_name(n));
	return is;
}

/* A process that has ended is believed only of a log that it was seen with. */
static void check_ended(void)
{
	pid_t child = fork();
	char n[32], text[200];
	struct ah *h;

	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(n, sizeof(n), "ended_%d", child);
	is(believed("own.log", (uint32_t)child, now_us()), child, "a process of the log's owner");
	is(believed("own.log", (uint32_t)child, 5), GT_NONE32, "was not there before it began");
	ah_write(n, "", O_TRUNC);
	h = ah_follow(n);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(text, sizeof(text), ":3:x.cpp :1 : %llu us:  ShaderName : f()\n", now_us());
	ah_write(n, text, O_APPEND);
	ah_settle(h);
	is(ah_nth(h, GT_DISPATCH, 0)->ev.pid, child, "it may end before its last lines are read");
	ah_free(h);
	unlink(ah_name(n));
	is(believed("own.log", (uint32_t)child, now_us()), GT_NONE32,
	   "one that nobody saw may be another's");
}

/* A process that is there, and another user's than the log */
static void check_forged(void)
{
	char text[400];
	struct ah *h;

	if (geteuid())
		return;
	snprintf(text, sizeof(text),
		 ":3:x.cpp :1 : %llu us: [pid:%d tid: 0x1] hipX ( 1 )\n"
		 ":3:x.cpp :1 : %llu us: [pid:%d tid: 0x1] ShaderName : f()\n",
		 now_us(), getpid(), now_us(), getpid());
	ah_write("forged.log", "", O_TRUNC);
	if (chown(ah_name("forged.log"), 65534, 65534))
		printf("# %s\n", strerror(errno));
	h = ah_follow("forged.log");
	ah_write("forged.log", text, O_APPEND);
	ah_settle(h);
	ok(ah_nth(h, GT_DISPATCH, 0)->ev.pid == GT_NONE32 &&
		   ah_nth(h, GT_DISPATCH, 0)->ev.uid == 65534,
	   "another user's process is not believed");
	is(((struct gt_amd *)h->p.priv)->forged, 1, "and counted");
	if (chown(ah_name("forged.log"), 65533, 65533))
		printf("# %s\n", strerror(errno));
	ah_write("forged.log", NAME(7), O_APPEND);
	ah_settle(h);
	ok(!((struct gt_amd *)h->p.priv)->n && !strstr(h->error, "forged"),
	   "a new owner ends it: %s", h->error);
	ok(h->watched < 0, "and it is looked for again, though inotify reports nothing more");
	h->ahead += 2000000000;
	ah_settle(h);
	is(((struct gt_amd *)h->p.priv)->n, 1, "as theirs it is found again");
	gt_amd_show_problems(&h->p, text, sizeof(text));
	ok(strstr(text, "another owner"), "and who may see it reads why");
	ah_free(h);
	unlink(ah_name("forged.log"));
}

/* What nobody would write but to harm */
static void check_hostile(void)
{
	size_t len = 3u << 20;
	char *big = malloc(len + 1);
	struct gt_amd_counts n;
	struct ah *h;
	int fd = open(ah_name("big.log"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	unsigned int seed = 1;

	ah_write("big.log", ":3:x.cpp :1 : 5 us:  ShaderName : ", 0);
	memset(big, 'x', len);
	big[1u << 20] = '\n';
	memcpy(big + (1u << 20) + 1, NAME(6), strlen(NAME(6)));
	lseek(fd, 0, SEEK_END);
	is(write(fd, big, len), len, "a name of 1 MB, and a line without an end");
	h = ah_follow("big.log");
	n = ah_counts(h);
	ok(n.too_long == 1 && n.dispatches == 1,
	   "are left out and counted, what is between is not");
	ah_free(h);

	/* bytes of all kinds with bits of lines between them */
	for (size_t i = 0; i < len; i++) {
		static const char *const bits[] = { P(7),
						    Q,
						    NAME(9),
						    "\n",
						    "HWq=0x",
						    "Header = ",
						    "(",
						    ": ",
						    "acquireQueue refCount: 0x",
						    "hipMemcpy ( 0x1, 0x2, " };
		const char *bit = bits[rand_r(&seed) % 10];
		size_t k = strlen(bit);

		if (rand_r(&seed) % 3 || i + k > len) {
			big[i] = (char)rand_r(&seed);
			continue;
		}
		memcpy(big + i, bit, k);
		i += k - 1;
	}
	if (ftruncate(fd, 0) || pwrite(fd, big, len, 0) != (ssize_t)len)
		printf("# %s\n", strerror(errno));
	h = ah_new(ah_name("big.log"), true);
	is(ah_play(h), -ENODATA, "noise is read to its end");
	ok(h->pushed, "and gives %llu records", (unsigned long long)h->pushed);
	ah_free(h);
	close(fd);
	free(big);
	unlink(ah_name("big.log"));
}

static void check_many_queues(void)
{
	struct ah *h;
	FILE *f = fopen(ah_name("many.log"), "w");

	for (int i = 1; i < 3000; i++)
		fprintf(f, P(5) "acquireQueue refCount: 0x%x (1)\n", i * 4096);
	fclose(f);
	h = ah_follow("many.log");
	is(ah_counts(h).queues, GT_AMD_QUEUES, "so many queues of a log are known");
	is(ah_counts(h).refused, 2999 - GT_AMD_QUEUES, "others are counted");
	ah_free(h);
	unlink(ah_name("many.log"));
}

int main(void)
{
	if (!ah_dir())
		return 1;
	check_growing();
	check_reader();
	check_refused();
	check_ended();
	check_forged();
	check_hostile();
	check_many_queues();
	rmdir(ah_folder);
	return done_testing();
}
