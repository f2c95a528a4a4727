/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grtrace's own settings. They are the machine's, not this daemon's: it is started if nobody has,
 * with buffers of the size that is asked, and stopped again; at level verbose its own level is,
 * too. Overwrite mode is not asked for: who reads all the time needs the oldest no less than the
 * newest.
 *
 * debugfs has no links. In another folder, which may be somebody's own, one could lead anywhere,
 * and this is root.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>

#include "../lib/detail.h"
#include "relay.h"

/*
 * Where grtrace's files are. Its documents call them events0, trace0 and buffer0, in debugfs, which
 * is usually at /sys/kernel/debug. They come and go with the module, and with CPUs.
 */

#define LOCKDOWN "/sys/kernel/security/lockdown"

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

/* "none [integrity] confidentiality": what is in brackets; "" where there is no such thing */
static void lockdown(char *out, size_t len)
{
	char text[128] = "", *from, *to;

	*out = '\0';
	gr_read("/sys/kernel/security", "lockdown", text, sizeof(text));
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to && strncmp(from, "[none]", 6))
		snprintf(out, len, "%.*s", (int)(to - from - 1), from + 1);
}

static bool locked(char *err, size_t len)
{
	char mode[32];

	lockdown(mode, sizeof(mode));
	if (!*mode)
		return false;
	snprintf(err, len,
		 "this kernel is locked down (%s, see " LOCKDOWN "): it forbids relay files, so "
		 "grtrace cannot be read. %s reads the same tracepoints instead; secure boot, "
		 "or lockdown= on the kernel's command line, is what locks it",
		 mode,
		 strcmp(mode, "integrity") ? "ftrace, where that is allowed," : "bpf or ftrace");
	return true;
}

static int find_debugfs(char *dir, size_t len)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *e;
	int ret = -ENOENT;

	while (f && ret && (e = getmntent(f)))
		if (!strcmp(e->mnt_type, "debugfs"))
			ret = snprintf(dir, len, "%s/grtrace", e->mnt_dir) < (int)len
				      ? 0
				      : -ENAMETOOLONG;
	if (f)
		endmntent(f);
	return ret;
}

int gr_find(const char *path, char *dir, size_t len, char *err, size_t errlen)
{
	struct stat st;

	if (path && *path) {
		snprintf(dir, len, "%s", path);
	} else if (locked(err, errlen)) {
		return -EPERM;
	} else if (find_debugfs(dir, len)) {
		snprintf(err, errlen,
			 "debugfs is not mounted, where grtrace has its files: mount -t debugfs "
			 "none /sys/kernel/debug, then write rescan to control");
		return -ENOENT;
	}
	if (!stat(dir, &st) && S_ISDIR(st.st_mode))
		return 0;
	if (errno == EACCES)
		snprintf(err, errlen, "%s may not be entered by this user: mount as root", dir);
	else
		snprintf(err, errlen,
			 "there is no %s: grtrace is not loaded; modprobe grtrace, then write "
			 "rescan to control",
			 dir);
	return errno == EACCES ? -EACCES : -ENOENT;
}

void gr_writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg)
{
	const struct gr_options *o = p->options;
	char dir[PATH_MAX];

	if (o->path && *o->path)
		snprintf(dir, sizeof(dir), "%s", o->path);
	else if (find_debugfs(dir, sizeof(dir))) /* it may be mounted yet */
		snprintf(dir, sizeof(dir), "/sys/kernel/debug/grtrace");
	add(arg, dir);
}

/* "events12" of any of the spellings; -1: none */
static int number_of(const char *name, int *kind)
{
	static const char *const spellings[] = { "events", "trace", "buffer" };
	char *end;
	long v;

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(spellings[i]);

		if (strncmp(name, spellings[i], n) || name[n] < '0' || name[n] > '9')
			continue;
		v = strtol(name + n, &end, 10);
		*kind = i;
		return *end || v >= GR_CPUS ? -1 : (int)v;
	}
	return -1;
}

/* The first spelling of which there is a file: the others' are the same records. */
static int spelling(const char *dir)
{
	AUTO_DIR d = opendir(dir);
	struct dirent *e;
	int best = 3, kind;

	while (d && (e = readdir(d)))
		if (number_of(e->d_name, &kind) >= 0 && kind < best)
			best = kind;
	return best;
}

/* Files as relay has them, and FIFOs, which tests may use. In a folder that is somebody's own, a
 * link leads anywhere, and to open a device may do something: nothing is opened before it is known.
 */
static int open_file(int dir, const char *name, struct stat *st)
{
	gt_live_auto_close int at = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	int fd;

	if (at < 0 || fstat(at, st))
		return -errno;
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int gr_check(const char *dir, char *err, size_t len)
{
	AUTO_DIR d = opendir(dir);
	int best = spelling(dir), kind, fd = -ENOENT;
	struct dirent *e;
	struct stat st;

	while (d && fd == -ENOENT && (e = readdir(d)))
		if (number_of(e->d_name, &kind) >= 0 && kind == best)
			fd = open_file(dirfd(d), e->d_name, &st);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM && locked(err, len))
		return fd;
	if (fd == -EPERM)
		snprintf(err, len,
			 "the files in %s may not be opened, by root neither, as where a kernel is "
			 "locked down (mount securityfs at /sys/kernel/security to see): bpf or "
			 "ftrace read the same tracepoints instead",
			 dir);
	else if (fd == -EINVAL)
		snprintf(err, len,
			 "what has the name of a CPU's file in %s is a link, a folder or a device: "
			 "it is left alone",
			 dir);
	else if (fd == -ENOENT)
		snprintf(err, len, "%s has no file events0, trace0 or buffer0 of any CPU", dir);
	else
		snprintf(err, len, "the files in %s cannot be opened: %s", dir, strerror(-fd));
	return fd;
}

static void on_fault(void *arg, uint64_t at, const char *what)
{
	struct gr *gr = arg;

	if (!gr->faults++)
		snprintf(gr->fault, sizeof(gr->fault), "byte %llu: %s", (unsigned long long)at,
			 what);
}

static bool known(const struct gr *gr, const struct stat *st)
{
	for (unsigned int i = 0; i < gr->n; i++)
		if (gr->cpu[i]->ino == st->st_ino && gr->cpu[i]->dev == st->st_dev)
			return true;
	return false;
}

static void add(struct gr *gr, int fd, unsigned int number, const struct stat *st)
{
	struct gr_cpu *c = calloc(1, sizeof(*c));

	if (!c || gt_grt_init(&c->g, &gr->set, number, gr->began)) {
		if (c)
			gt_grt_free(&c->g);
		free(c);
		close(fd);
		return;
	}
	c->g.fault = on_fault;
	c->g.arg = gr;
	c->fd = fd;
	c->cpu = number;
	c->dev = st->st_dev;
	c->ino = st->st_ino;
	c->waits = S_ISREG(st->st_mode);
	gr->cpu[gr->n++] = c;
	gr->opened++;
	if (gr->watching && c->waits)
		gr->p->host->watch(gr->p, fd, true);
}

static void open_new(struct gr *gr, int dir, const char *name, unsigned int number)
{
	struct stat st;
	int fd;

	if (gr->n == GR_CPUS || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || known(gr, &st))
		return;
	fd = open_file(dir, name, &st);
	if (fd < 0)
		return;
	if (known(gr, &st))
		close(fd);
	else
		add(gr, fd, number, &st);
}

unsigned int gr_look(struct gr *gr)
{
	int best = spelling(gr->dir), kind, number;
	AUTO_DIR d = opendir(gr->dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		number = number_of(e->d_name, &kind);
		if (number >= 0 && kind == best)
			open_new(gr, dirfd(d), e->d_name, (unsigned int)number);
	}
	gr->began = true;
	return gr->n;
}

static void gr_sum(struct gt_grt_stats *to, const struct gt_grt_stats *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

void gr_close(struct gr *gr, unsigned int i)
{
	struct gr_cpu *c = gr->cpu[i];

	if (gr->watching && c->waits)
		gr->p->host->watch(gr->p, c->fd, false);
	gr_sum(&gr->gone, &c->g.n);
	gt_grt_free(&c->g);
	close(c->fd);
	free(c);
	gr->cpu[i] = gr->cpu[--gr->n];
	gr->closed++;
}

void gr_close_all(struct gr *gr)
{
	while (gr->n)
		gr_close(gr, gr->n - 1);
}

/* Whether somebody else has one of the files open: each record goes to one reader only, so they
 * take each other's. Who that is, is not shown: everybody reads stats and doctor. */

#define LOOK_NS	 5000000ull
#define START_NS 1000000000ull
#define AGAIN_NS 5000000000ull

static bool is_ours(const struct gr *gr, int dir, const char *name)
{
	struct statx st;
	dev_t dev;

	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st))
		return false;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (unsigned int i = 0; i < gr->n; i++)
		if (gr->cpu[i]->ino == st.stx_ino && gr->cpu[i]->dev == dev)
			return true;
	return false;
}

/* What links in a folder of descriptors say is looked at before the file. Anybody may call a file
 * so, also in a file system that does not answer, as this daemon's own while this thread is busy:
 * so the file system is not asked, either. */
static bool is_candidate(int dir, const char *name)
{
	static const char *const spellings[] = { "/events", "/trace", "/buffer" };
	char path[PATH_MAX], *slash;
	ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	for (int i = 0; slash && i < 3; i++)
		if (!strncmp(slash, spellings[i], strlen(spellings[i])))
			return true;
	return false;
}

static bool reads(const struct gr *gr, const char *pid, uint64_t deadline)
{
	char path[64];
	AUTO_DIR d = NULL;
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && gr->p->host->now(gr->p) < deadline)
		if (isdigit((unsigned char)*e->d_name) && is_candidate(dirfd(d), e->d_name) &&
		    is_ours(gr, dirfd(d), e->d_name))
			return true;
	return false;
}

/* On from where the last look ended, a process at least: whether that was the last one */
static bool look_on(struct gr *gr, uint64_t until)
{
	AUTO_DIR d = opendir("/proc");
	struct dirent *e;
	char self[32];

	snprintf(self, sizeof(self), "%d", (int)getpid());
	if (d && gr->readers_at)
		seekdir(d, gr->readers_at);
	while (d && (e = readdir(d))) {
		gr->readers_at = e->d_off;
		if (isdigit((unsigned char)*e->d_name) && strcmp(e->d_name, self))
			gr->readers_found += reads(gr, e->d_name, until);
		if (gr->p->host->now(gr->p) >= until)
			return false;
	}
	return true;
}

void gr_readers(struct gr *gr, bool now)
{
	uint64_t t = gr->p->host->now(gr->p);

	if (now)
		gr->readers_at = 0;
	else if (!gr->readers_at && gr->asked_readers && t - gr->asked_readers < AGAIN_NS)
		return;
	if (!gr->readers_at)
		gr->readers_found = 0;
	gr->asked_readers = t;
	if (look_on(gr, t + (now ? START_NS : LOOK_NS))) {
		gr->readers = gr->readers_found;
		gr->readers_at = 0;
	} else if (gr->readers < gr->readers_found) {
		gr->readers = gr->readers_found;
	}
}

/** gr_read_lines() - likewise, all of it that @len has room for */
static void gr_read_lines(const char *dir, const char *file, char *buf, size_t len)
{
	char path[PATH_MAX];
	gt_live_auto_close int fd = -1;
	ssize_t n;

	*buf = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, buf, len - 1);
	buf[n > 0 ? n : 0] = '\0';
}

void gr_read(const char *dir, const char *file, char *buf, size_t len)
{
	gr_read_lines(dir, file, buf, len);
	buf[strcspn(buf, "\n")] = '\0';
}

/** gr_refused_next() - the next in grtrace's list at *@at, which is moved; false: no more */
static bool gr_refused_next(const char **at, struct gr_refused *r)
{
	while (**at) {
		const char *line = *at;
		char arguments[16] = "";
		int n = 0;

		*at += strcspn(line, "\n");
		*at += **at == '\n';
		if (sscanf(line, "%63s %63s %*s %15s %n", r->tracepoint, r->module, arguments,
			   &n) != 3 ||
		    *line == '#' || !strcmp(arguments, "fits") || !strcmp(arguments, "allowed"))
			continue;
		r->unverified = !strcmp(arguments, "unverified");
		snprintf(r->why, sizeof(r->why), "%.*s", n ? (int)strcspn(line + n, "\n") : 0,
			 line + n);
		return true;
	}
	return false;
}

/* Its driver passes them something else than grtrace was built for, or it cannot find out */
static unsigned int refused(const struct gr *gr)
{
	char text[GR_TRACEPOINTS];
	const char *at = text;
	struct gr_refused r;
	unsigned int n = 0;

	gr_read_lines(gr->dir, "tracepoints", text, sizeof(text));
	while (gr_refused_next(&at, &r))
		n++;
	return n;
}

bool gr_refuses(struct gr *gr)
{
	unsigned int n = refused(gr);

	if (n && n != gr->refused)
		gr->p->host->log(gr->p, LOG_WARNING,
				 "grtrace does not hook %u tracepoint%s, see %s/tracepoints: "
				 "another backend takes them all if there is one",
				 n, n == 1 ? "" : "s", gr->dir);
	gr->refused = n;
	return n;
}

static int put(struct gr *gr, const char *file, const char *text)
{
	char path[PATH_MAX];
	gt_live_auto_close int fd = -1;
	ssize_t n = (ssize_t)strlen(text), done;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/%s", gr->dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = gr->p->host->file(gr->p, GT_FILE_OPEN, path,
			       O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	done = fd < 0 ? fd : write(fd, text, (size_t)n);
	if (done != n)
		ret = fd < 0 ? fd : done < 0 ? -errno : -EIO;
	if (ret && ret != -ENOENT)
		gr->p->host->log(gr->p, LOG_WARNING, "%s: \"%s\" cannot be written: %s", path, text,
				 strerror(-ret));
	return ret;
}

/* It says so in one of two files. */
bool gr_traces(const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "enabled", text, sizeof(text));
	if (*text)
		return *text == '1';
	gr_read(gr->dir, "stats", text, sizeof(text));
	return strncmp(text, "enabled=0", 9) && strncmp(text, "enabled 0", 9);
}

/* The kernel may end processes to find memory: what is too much is not even tried. */
static void ask_size(struct gr *gr)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t want =
		MIN(gr->o->buffer_size, gt_live_buffer_cap(memory, sysconf(_SC_NPROCESSORS_ONLN)));
	char text[32];
	int ret = gr->o->buffer_size ? -ENOMEM : 0;

	for (want = MAX(want, GR_SIZE_MIN); ret == -ENOMEM && want >= GR_SIZE_MIN; want /= 2) {
		snprintf(text, sizeof(text), "%lld", (long long)want);
		ret = put(gr, "buffer_size", text);
	}
}

/* What the option reads as from now on */
static void granted(struct gr *gr)
{
	char text[32];
	long long n;

	gr_read(gr->dir, "buffer_size", text, sizeof(text));
	n = strtoll(text, NULL, 10);
	if (n > 0)
		gr->o->buffer_size = n;
}

void gr_tracing(struct gr *gr, bool on)
{
	if (!*gr->dir || on == gr->started)
		return;
	if (!on) {
		put(gr, "control", "stop");
		gr->started = false;
		return;
	}
	if (!gr_traces(gr)) {
		ask_size(gr);
		gr->started = !put(gr, "control", "start");
	}
	granted(gr);
	gr_look(gr); /* with buffers of another size it has other files */
}

void gr_level(struct gr *gr)
{
	char text[sizeof(gr->level)];

	if (!*gr->dir)
		return;
	gr_read(gr->dir, "level", text, sizeof(text));
	if (gr->verbose && !strcmp(text, "normal") && !put(gr, "level", "verbose"))
		snprintf(gr->level, sizeof(gr->level), "%s", text);
	else if (!gr->verbose && *gr->level)
		gr_restore(gr);
}

void gr_restore(struct gr *gr)
{
	if (*gr->dir && *gr->level)
		put(gr, "level", gr->level);
	gr->level[0] = '\0';
}

/* What doctor and backends/relay/stats say. */

static void counters(struct gt_details *t, const struct gr *gr)
{
	struct gt_grt_stats n = gr->gone;

	for (unsigned int i = 0; i < gr->n; i++)
		gr_sum(&n, &gr->cpu[i]->g.n);
	gt_detail(t, "events %" PRIu64 "\nlost_events %" PRIu64 "\ngaps %" PRIu64 "\n", n.records,
		  n.lost, n.gaps);
	gt_detail(t, "before %" PRIu64 "\nrecords_out_of_order %" PRIu64 "\n", gr->before,
		  gr->late);
	gt_detail(t, "sessions %" PRIu64 "\ndescriptions %" PRIu64 "\n", n.sessions,
		  n.descriptions);
	gt_detail(t, "unknown_types %" PRIu64 "\ndamaged %" PRIu64 "\nskipped_bytes %" PRIu64 "\n",
		  n.unknown, n.damaged, n.skipped);
	gt_detail(t, "padding_bytes %" PRIu64 "\nbad_times %" PRIu64 "\n", n.padding, n.times);
	gt_detail(t, "custom_unnamed %" PRIu64 "\nring_ids_too_high %" PRIu64 "\n", n.unnamed,
		  n.ringless);
	gt_detail(t, "other_layout %" PRIu64 "\n", n.layout);
	gt_detail(t,
		  "drains_full %" PRIu64 "\nfiles_opened %" PRIu64 "\nfiles_closed %" PRIu64 "\n",
		  gr->full, gr->opened, gr->closed);
	if (gr->faults)
		gt_detail(t, "first_damage %s\n", gr->fault);
}

/* Of one session: gseq counts events of all CPUs, so that what no file here has is seen, too. */
static void session(struct gt_details *t, const struct gr *gr)
{
	uint64_t id = 0, min = GT_NONE64, max = 0, here = 0;

	for (unsigned int i = 0; i < gr->n; i++) {
		const struct gt_grt *g = &gr->cpu[i]->g;

		if (id && g->session && g->session != id)
			return; /* one has begun just now */
		id = g->session ? g->session : id;
		if (!g->events)
			continue;
		min = g->gseq_min < min ? g->gseq_min : min;
		max = g->gseq_max > max ? g->gseq_max : max;
		here += g->events + g->lost;
	}
	if (!id)
		return;
	gt_detail(t, "session %" PRIu64 "\n", id);
	if (here)
		gt_detail(t, "session_elsewhere %" PRIu64 "\n",
			  max - min + 1 > here ? max - min + 1 - here : 0);
}

/* grtrace's own level may leave events out. */
static void left_out(struct gt_details *t, const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "level", text, sizeof(text));
	if (!strcmp(text, "off") || !strcmp(text, "stats"))
		gt_detail(t, "left_out_by_grtrace level is %s: it writes no events\n", text);
}

/* What is not hooked, and why: a driver that is not the one that grtrace was built for */
static void show_refused(struct gt_details *t, const struct gr *gr)
{
	char text[GR_TRACEPOINTS];
	const char *at = text;
	struct gr_refused r;

	gr_read_lines(gr->dir, "tracepoints", text, sizeof(text));
	while (gr_refused_next(&at, &r))
		gt_detail(t, "%s %s of %s: %s%s\n",
			  r.unverified ? "tracepoint_unverified" : "tracepoint_refused",
			  r.tracepoint, r.module, r.why,
			  r.unverified
				  ? "; grtrace's parameter hook_unverified=1 hooks it all the same"
				  : "");
}

static void grtrace(struct gt_details *t, const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "buffer_size", text, sizeof(text));
	if (*text)
		gt_detail(t, "buffer_granted %.20s\n", text);
	gr_read(gr->dir, "buffer_mode", text, sizeof(text));
	if (*text)
		gt_detail(t, "buffer_mode %.20s\n", text);
	gt_detail(t, "tracing %s\n", gr->started ? "started-here" : "not-started-here");
	left_out(t, gr);
}

void gr_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct gr *gr = p->priv;

	if (!len)
		return;
	*buf = '\0';
	if (!gr)
		return;
	if (*gr->dir)
		show_refused(&t, gr);
	if (gr->reported_by[0]) {
		gt_detail(&t, "tracepoints_reported_by %s: grtrace's files are left alone\n",
			  gr->reported_by);
		return;
	}
	gt_detail(&t, "folder %.300s\n", *gr->dir ? gr->dir : "none");
	gt_detail(&t, "files %u\nclock mono\nclock_offset_ns 0\nclock_uncertainty_ns 0\n", gr->n);
	gt_detail(&t, "clock_measured by_definition\n");
	if (!*gr->dir)
		return;
	gr_readers(gr, false);
	gt_detail(&t, "other_readers %u\n", gr->readers);
	grtrace(&t, gr);
	session(&t, gr);
	counters(&t, gr);
}
