/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way to a folder that a user has named, and to what is in it. A path may lead into a file
 * system that a program of that user answers for, or into our own, which waits for this thread:
 * even to look up a name, or what kind of file system it is, would be to ask. So a mount is entered
 * only if the kernel's list of mounts says that it is of a kind that the kernel alone answers for,
 * and links are not followed at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/file.h"
#include "jobs.h"
#include "rocprof.h"

/* Of this machine's disks and memory. Who mounts an overlay here is the administrator: a user's own
 * is in another namespace */
static const char *const locals[] = {
	"ext2",	 "ext3", "ext4",  "xfs",      "btrfs", "f2fs",	 "tmpfs", "ramfs", "squashfs",
	"erofs", "vfat", "exfat", "bcachefs", "jfs",   "nilfs2", "zfs",	  "ntfs3", "overlay"
};

static bool is_fine(const char *type, bool whole)
{
	if (whole) /* it is who sees everything that names it: no reason to refuse NFS */
		return strncmp(type, "fuse", 4) && strcmp(type, "autofs");
	for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		if (!strcmp(locals[i], type))
			return true;
	return false;
}

/* As mountinfo writes names: proc(5) */
static void escaped(char *to, const char *s)
{
	for (; *s; s++)
		if (strchr(" \t\n\\", *s))
			to += sprintf(to, "\\%03o", (unsigned char)*s);
		else
			*to++ = *s;
	*to = '\0';
}

/* struct mount - a line of the kernel's list of mounts: @at as it is written there */
struct mount {
	uint64_t id;
	char *at, *type;
};

/*
 * The list, as it was when it last changed. A user may have a thousand mounts, and the kernel takes
 * milliseconds to write so many lines, for each name that is looked up.
 */
static struct {
	FILE *f;
	struct mount *mount;
	size_t n, room;
} mounts;

static void mounts_empty(void)
{
	while (mounts.n) {
		mounts.n--;
		free(mounts.mount[mounts.n].at);
		free(mounts.mount[mounts.n].type);
	}
}

void rp_way_forget(void)
{
	mounts_empty();
	free(mounts.mount);
	if (mounts.f)
		fclose(mounts.f);
	memset(&mounts, 0, sizeof(mounts));
}

/* A line, "ID PARENT DEV ROOT AT OPTIONS … - TYPE SOURCE …" */
static bool mounts_add(char *line)
{
	char *end = strstr(line, " - ");
	struct mount m = { .id = strtoull(line, NULL, 10) };
	int from = 0, to = 0;

	sscanf(line, "%*u %*u %*s %*s %n%*s%n", &from, &to);
	if (!to || !end)
		return true;
	if (mounts.n == mounts.room) {
		size_t room = mounts.room ? mounts.room * 2 : 64;
		struct mount *more = realloc(mounts.mount, room * sizeof(*more));

		if (!more)
			return false;
		mounts.mount = more;
		mounts.room = room;
	}
	end += 3;
	m.at = strndup(line + from, (size_t)(to - from));
	m.type = strndup(end, strcspn(end, " \n"));
	mounts.mount[mounts.n++] = m;
	return m.at && m.type;
}

static bool mounts_read(void)
{
	char *line = NULL;
	size_t room = 0;
	bool whole = true;

	mounts_empty();
	rewind(mounts.f);
	while (whole && getline(&line, &room, mounts.f) > 0)
		whole = mounts_add(line);
	free(line);
	return whole && !ferror(mounts.f);
}

/* Is @mounts what the kernel has now? proc(5): poll() says POLLPRI after a change, once. */
static bool mounts_fresh(void)
{
	struct pollfd p = { .events = POLLPRI };

	if (!mounts.f) {
		mounts.f = fopen("/proc/self/mountinfo", "re");
		return mounts.f && mounts_read();
	}
	p.fd = fileno(mounts.f);
	return poll(&p, 1, 0) == 0 || mounts_read();
}

/* Number of the mount at @path if it may be entered, 0: it may not. Of several, one upon the other,
 * the last is on top */
static uint64_t mount_at(const char *path, bool whole)
{
	char want[4 * 4096 + 1];

	if (!mounts_fresh()) {
		rp_way_forget();
		return 0;
	}
	escaped(want, path);
	for (size_t i = mounts.n; i-- > 0;)
		if (!strcmp(mounts.mount[i].at, want))
			return is_fine(mounts.mount[i].type, whole) ? mounts.mount[i].id : 0;
	return 0;
}

static int open_at(int dir, const char *name, int flags, unsigned int how)
{
	int fd = gt_beneath(dir, name, flags | O_NOFOLLOW, GT_BENEATH_NO_LINKS | how);

	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

int rp_at(int dir, const char *name, int flags)
{
	return open_at(dir, name, flags, GT_BENEATH_MOUNT);
}

int rp_stat_at(int dir, const char *name, struct stat *st)
{
	int fd = rp_at(dir, name, O_PATH), ret;

	if (fd < 0)
		return -1;
	ret = fstat(fd, st);
	close(fd);
	return ret;
}

/* The mount at @path, which is @name in @dir */
static int enter(int dir, const char *name, const char *path, bool whole)
{
	uint64_t id = mount_at(path, whole);
	int fd = id ? open_at(dir, name, O_PATH, 0) : -1;

	if (fd >= 0 && gt_mount_of(fd) != id) { /* something was mounted over it meanwhile */
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		errno = EXDEV;
	return fd;
}

static int way(const char *path, bool whole)
{
	char so_far[4096] = "", name[256];
	int dir = enter(AT_FDCWD, "/", "/", whole), next;
	size_t n, len = 0;

	for (const char *s = path; dir >= 0; s += n) {
		s += strspn(s, "/");
		n = strcspn(s, "/");
		if (!n)
			break;
		next = -1;
		errno = ENAMETOOLONG;
		if (n < sizeof(name) && len + n + 2 < sizeof(so_far)) {
			len += (size_t)sprintf(so_far + len, "/%.*s", (int)n, s);
			snprintf(name, sizeof(name), "%.*s", (int)n, s);
			next = rp_at(dir, name, O_PATH);
		}
		if (next < 0 && errno == EXDEV)
			next = enter(dir, name, so_far, whole);
		close(dir);
		dir = next;
	}
	return dir;
}

/** rp_way_folder() - opens a folder, rp_way_file() a file; -1 */
static int rp_way_folder(const char *path, bool whole)
{
	int at = way(path, whole),
	    dir = at >= 0 ? rp_at(at, ".", O_RDONLY | O_NONBLOCK | O_DIRECTORY) : -1;

	if (at >= 0)
		close(at);
	return dir;
}

int rp_way_file(const char *path, bool whole)
{
	const char *base = strrchr(path, '/');
	char folder[4096];
	int dir, fd;

	if (!base || base - path >= (long)sizeof(folder))
		return -1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	dir = rp_way_folder(folder, whole);
	fd = dir >= 0 ? rp_at(dir, base + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -1;
	if (dir >= 0)
		close(dir);
	return fd;
}

/*
 * Results of a job, in the folder that it names. Anybody may name any folder: of a user's job only
 * folders and files that are that user's are looked at, so that nothing is learnt of others', and
 * so many names that it costs nobody else anything.
 */

#define DEPTH	  4
#define NAMES	  512 /* in a user's folder and below, in one look */
#define ALL_NAMES 16384
#define WATCHES	  32 /* of its folders that report when something changes */
#define SECOND	  1000000000ull
#define PATIENCE  4 /* looks for a folder that is not there before they become half as many, */
#define RARELY	  5 /* and how often they do */
#define AT_ONCE	  4 /* folders that are looked for in one call */

/* struct look - one look at a job's folder */
struct look {
	struct gt_plugin *p;
	struct rp_files *f;
	struct rp_job *j;
	unsigned int watches;
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_ours(struct rp_job *j, const struct stat *st)
{
	if (j->whole || st->st_uid == j->uid)
		return true;
	j->others++;
	return false;
}

static void saw_file(struct look *l, int dir, const char *folder, const char *name)
{
	struct rp_job *j = l->j;
	char path[4096];
	struct stat st;

	if (rp_stat_at(dir, name, &st) < 0 || !is_ours(j, &st) ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return;
	if (S_ISREG(st.st_mode) && rp_ends(name, ".att")) {
		j->raw++;
		if ((uint64_t)st.st_size > j->raw_size)
			j->raw_size = (uint64_t)st.st_size;
	}
	if (S_ISREG(st.st_mode) && !strcmp(name, "code.json") && st.st_size)
		j->decoded++;
	j->over += !rp_files_found(l->p, l->f, j, dir, folder, path, name, &st);
}

static void watch(struct look *l, int dir)
{
	l->j->unwatched += l->watches++ >= WATCHES || !rp_watch_folder(l->f, dir);
}

static void walk(struct look *l, int dir, const char *folder, int depth);

/* A thread trace has a file for each wave: only those that are read are looked for */
static void saw_trace(struct look *l, int dir, const char *folder)
{
	l->j->traces++;
	watch(l, dir);
	saw_file(l, dir, folder, "code.json");
	saw_file(l, dir, folder, "occupancy.json");
	close(dir);
}

static void saw_folder(struct look *l, int in, const char *folder, const char *name, int depth)
{
	char path[4096];
	struct stat st;
	int dir;

	if (depth >= DEPTH ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
		l->j->deep++;
		return;
	}
	dir = rp_at(in, name, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return;
	if (fstat(dir, &st) < 0 || !is_ours(l->j, &st))
		close(dir);
	else if (begins(name, "ui_output_agent_"))
		saw_trace(l, dir, path);
	else
		walk(l, dir, path, depth + 1);
}

static void saw(struct look *l, int dir, const char *folder, const char *name, int depth)
{
	struct stat st;

	if (rp_stat_at(dir, name, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		saw_folder(l, dir, folder, name, depth);
	else
		saw_file(l, dir, folder, name);
}

/* Takes @dir */
static void walk(struct look *l, int dir, const char *folder, int depth)
{
	const struct dirent *e;
	DIR *d;

	watch(l, dir); /* first, so that what comes meanwhile is reported */
	d = fdopendir(dir);
	if (!d) {
		close(dir);
		return;
	}
	while ((e = readdir(d))) {
		if (++l->j->looked > (l->j->whole ? ALL_NAMES : NAMES)) {
			l->j->cut = l->j->whole ? ALL_NAMES : NAMES;
			break;
		}
		if (e->d_name[0] != '.')
			saw(l, dirfd(d), folder, e->d_name, depth);
	}
	closedir(d);
}

/* The folder itself; whatever is wrong with it, it is just not there for a user who does not own it */
static int open_folder(struct rp_job *j)
{
	struct stat st;
	int dir = rp_way_folder(j->path, j->whole);

	if (dir >= 0 && (fstat(dir, &st) < 0 || !(j->whole || st.st_uid == j->uid))) {
		close(dir);
		dir = -1;
	}
	return dir;
}

/* The first looks are a second apart, the last half a minute: a run may take long to begin */
static void look_later(struct gt_plugin *p, struct rp_job *j)
{
	unsigned int n = j->tries++ / PATIENCE;

	j->again = p->host->now(p) + (SECOND << (n < RARELY ? n : RARELY));
}

/* What was seen before of the same job, with the same folder: how long it has been missing stays */
static void still_missing(struct gt_plugin *p, struct rp_job *j, const struct rp_job *old,
			  unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (old[i].serial == j->serial && !old[i].there && !strcmp(old[i].path, j->path)) {
			j->tries = old[i].tries;
			j->again = old[i].again;
		}
	if (!j->tries)
		look_later(p, j);
}

static void look(struct gt_plugin *p, struct rp_files *f, const struct gt_userdir *m,
		 const struct rp_job *old, unsigned int n)
{
	struct rp_job *j = &f->job[f->jobs];
	struct look l = { p, f, j, 0 };
	int dir;

	*j = (struct rp_job){ .serial = m->serial, .uid = m->uid, .whole = m->whole };
	if (!*m->value[RP_JOB_FOLDER])
		return;
	j->path = strdup(m->value[RP_JOB_FOLDER]);
	if (!j->path)
		return;
	f->jobs++;
	dir = open_folder(j);
	j->there = dir >= 0;
	if (j->there)
		walk(&l, dir, j->path, 0);
	else
		still_missing(p, j, old, n);
}

static void forget(struct rp_job *j, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(j[i].path);
}

void rp_jobs_forget(struct rp_files *f)
{
	forget(f->job, f->jobs);
	f->jobs = 0;
}

/* start() has the right to read anything, and a user chose the folder */
static void as_anybody(void)
{
	gt_caps_set(0, 1ull << CAP_DAC_READ_SEARCH);
}

void rp_jobs_look(struct gt_plugin *p, struct rp_files *f)
{
	struct rp_job old[RP_JOBS];
	const struct gt_userdir *m;
	unsigned int n = f->jobs;

	as_anybody();
	memcpy(old, f->job, n * sizeof(*old));
	f->jobs = 0;
	for (unsigned int i = 0;
	     p->host->userdir && (m = p->host->userdir(p, i)) && f->jobs < RP_JOBS; i++)
		look(p, f, m, old, n);
	forget(old, n);
}

bool rp_jobs_came(struct gt_plugin *p, struct rp_files *f)
{
	uint64_t now = p->host->now(p);
	unsigned int n = 0;
	int dir;

	for (unsigned int i = 0; i < f->jobs && n < AT_ONCE; i++) {
		struct rp_job *j = &f->job[i];

		if (j->there || j->again > now)
			continue;
		if (!n++)
			as_anybody();
		look_later(p, j);
		dir = open_folder(j);
		if (dir < 0)
			continue;
		close(dir);
		return true;
	}
	return false;
}

uint64_t rp_jobs_due(const struct rp_files *f)
{
	uint64_t due = 0;

	for (unsigned int i = 0; i < f->jobs; i++)
		if (!f->job[i].there && (!due || f->job[i].again < due))
			due = f->job[i].again;
	return due;
}

bool rp_jobs_wait(struct gt_plugin *p)
{
	const struct gt_userdir *m;

	for (unsigned int i = 0; p->host->userdir && (m = p->host->userdir(p, i)); i++)
		if (*m->value[RP_JOB_FOLDER])
			return true;
	return false;
}

/** rp_job_has() - is it a result of that job? */
static bool rp_job_has(const struct rp_job *j, const struct rp_file *f)
{
	size_t n = strlen(j->path);

	return (j->whole || f->uid == j->uid) && !strncmp(f->path, j->path, n) && f->path[n] == '/';
}

/* What is missing in the results of a job, and what to change. */

/* struct found - what is in the files; @kernels: rows of dispatches; @matched: of kernels that
 * kernel_include means; @known: it was one that could be known here; @readings: rows of counters;
 * @whole: there are results that may have anything in them */
struct found {
	unsigned int files;
	uint64_t kernels, matched, readings, instructions;
	double mapped;
	bool known, whole, tables, counters;
};

static uint64_t number(const struct gt_userdir *m, enum rp_job_file f)
{
	return rp_job_number(m->value[f], NULL);
}

static void __attribute__((format(printf, 3, 4)))
problem(struct gt_details *d, const char *what, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_detail(d, "%s %s\n", what, text);
}

/* The hash of what is asked for: rows are counted by what it was when they came */
static uint64_t hash_of(const char *include)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *include; include++)
		h = (h ^ (uint8_t)*include) * 0x100000001b3ULL;
	return h | 1;
}

static bool is_plain(const char *include)
{
	return !include[strcspn(include, "\\[](){}*+?|^$.")];
}

/* NULL: the job has gone, or has an expression */
static const char *means(struct gt_plugin *p, const struct rp_job *j)
{
	const struct gt_userdir *m;

	for (unsigned int i = 0; p->host->userdir && (m = p->host->userdir(p, i)); i++)
		if (m->serial == j->serial)
			return is_plain(m->value[RP_JOB_INCLUDE]) ? m->value[RP_JOB_INCLUDE] : NULL;
	return NULL;
}

void rp_job_asks(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file)
{
	const char *is = NULL;
	uint64_t asked;

	for (unsigned int k = 0; k < f->jobs && !is; k++)
		if (rp_job_has(&f->job[k], file))
			is = means(p, &f->job[k]);
	free(file->means);
	file->means = is ? strdup(is) : NULL;
	asked = file->means ? hash_of(file->means) : 0;
	/* rows that came when something else was asked for are not distinguished */
	file->asked = !file->rows || file->asked == asked ? asked : GT_NONE64;
}

void rp_job_hotspots(struct rp_file *file, const char *text)
{
	unsigned int n;
	double share;

	if (sscanf(text, "instructions %u\nwith_source_percent %lf", &n, &share) != 2)
		return;
	file->instructions += n;
	file->mapped += n * share / 100;
}

static void settings(struct gt_details *d, const struct gt_userdir *m)
{
	const char *formats = m->value[RP_JOB_FORMATS];

	if (!*m->value[RP_JOB_FOLDER])
		problem(d, "no_folder", "output_directory is not set: results are not picked up");
	if (!strstr(formats, "csv") && !strstr(formats, "json") && !strstr(formats, "rocpd"))
		problem(d, "format",
			"nothing in output_format is read here: add csv, json or rocpd");
}

static void count(struct found *f, const struct rp_file *file, uint64_t asked)
{
	f->files++;
	f->whole |= !strcmp(file->table, "json") || !strcmp(file->table, "rocpd");
	if (!strcmp(file->table, "kernel_trace")) {
		f->tables = true;
		f->kernels += file->rows;
		f->matched += file->matched;
		f->known |= file->asked == asked;
	}
	if (!strcmp(file->table, "counter_collection")) {
		f->counters = true;
		f->readings += file->rows;
	}
	f->instructions += file->instructions;
	f->mapped += file->mapped;
}

/* What is wrong with each file itself, as backends/rocprof/problems has it */
static void fault(struct gt_details *d, const struct rp_job *j, const struct rp_file *file)
{
	if (!*file->error && strcmp(file->state, "refused") && strcmp(file->state, "unreadable"))
		return;
	char name[512];

	gt_word(name, sizeof(name), file->path + strlen(j->path) + 1);
	problem(d, "file", "%s %s: %s", name, file->state, *file->error ? file->error : "not read");
}

static uint64_t first_iteration(const char *list)
{
	uint64_t first = UINT64_MAX, n;

	for (const char *s = list; *s; s += *s == ',') {
		n = strtoull(s, NULL, 10);
		first = n < first ? n : first;
		s += strcspn(s, ",");
	}
	return *list ? first : 1;
}

/* Kernels ran, and none of those that were asked for was traced */
static void not_matched(struct gt_details *d, const struct gt_userdir *m, const struct found *f)
{
	const char *include = m->value[RP_JOB_INCLUDE];
	bool known = f->known && is_plain(include);
	uint64_t first = first_iteration(m->value[RP_JOB_ITERATIONS]);

	if (!f->tables || !f->kernels)
		return;
	if (known && !f->matched)
		problem(d, "no_match",
			"%" PRIu64
			" kernels ran, none has kernel_include in its name: choose it from those "
			"that the first line of command shows",
			f->kernels);
	else if (known && f->matched < first)
		problem(d, "iterations",
			"kernel_iterations begins at %" PRIu64
			", and what kernel_include means ran %" PRIu64
			" times: write 1-2 to it, or let the program run longer",
			first, f->matched);
	else
		problem(d, "no_match",
			"%" PRIu64
			" kernels ran, none was traced: kernel_include means none of them, or "
			"kernel_iterations is past how often it ran: try 1-2",
			f->kernels);
}

static void thread_trace(struct gt_details *d, const struct gt_userdir *m, const struct rp_job *j,
			 const struct found *f)
{
	uint64_t size = number(m, RP_JOB_ATT_BUFFER);

	if (j->raw && !j->traces)
		problem(d, "no_decoder",
			"%u .att files, and no ui_output_agent_*: rocprofv3 did not find the trace "
			"decoder: "
			"install rocprof-trace-decoder, and write its folder to att_library_path",
			j->raw);
	if (j->traces > j->decoded)
		problem(d, "empty_trace",
			"%u of %u ui_output_agent_* have no code.json: kernel_include matched "
			"nothing there, "
			"or decoder and ROCm do not fit together (INVALID_SHADER_DATA): update "
			"both",
			j->traces - j->decoded, j->traces);
	if (j->raw && j->raw_size >= size - size / 64)
		problem(d, "truncated",
			"an .att file has %" PRIu64
			" bytes, as att_buffer_size: its end is missing: write "
			"%" PRIu64 " to that",
			j->raw_size, size <= 1u << 30 ? 2 * size : 2147483648u);
	if (f->instructions && f->mapped < 0.01 * (double)f->instructions)
		problem(d, "no_source",
			"%" PRIu64
			" instructions, none with a source line: env needs what makes the compiler "
			"keep them (FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1, TRITON_DISABLE_LINE_INFO=0; "
			"-g for HIP), "
			"and caches of compiled kernels must be empty",
			f->instructions);
	if (number(m, RP_JOB_ATT) && !j->raw && !j->traces && !f->whole)
		not_matched(d, m, f);
}

/* Where a bound ended the look: what is not reported may be there */
static void not_all(struct gt_details *d, const struct rp_job *j)
{
	if (j->cut)
		problem(d, "cut",
			"more than %u names are in the folder and below: not all were looked at: "
			"give the job a folder of its own, or remove what is old",
			j->cut);
	if (j->deep)
		problem(d, "cut", "%u folders are too far below it: they were not looked at",
			j->deep);
	if (j->over)
		problem(d, "cut",
			"%u results are more than uid %u may have, or than there is room for, in "
			"all folders: remove what is old",
			j->over, j->uid);
	if (j->unwatched)
		problem(d, "unwatched",
			"%u folders are more than are watched: what comes there is found within "
			"30 seconds, when something changes elsewhere, or by rescan to control",
			j->unwatched);
}

/* What the user's share of something was too small for, in all jobs */
static void beyond_share(struct gt_details *d, struct gt_plugin *p, uint32_t uid)
{
	const struct rp *r = p->priv;
	uint64_t over = rp_over_share(p, uid);

	if (over)
		problem(d, "history",
			"%" PRIu64 " rows are in statistics, but not in the history, of which uid "
			"%u has its share (history_user_percent)",
			over, uid);
	for (unsigned int i = 0; i < RP_USERS; i++)
		if (r->user[i].used && r->user[i].uid == uid && r->user[i].strikes)
			problem(d, "slow",
				"%" PRIu64 " readings of uid %u's failed: the next begins later, "
				"and may take less time",
				r->user[i].failed, uid);
}

static void results(struct gt_details *d, const struct gt_userdir *m, const struct rp_job *j,
		    const struct rp_files *files)
{
	struct found f = { 0 };

	for (unsigned int i = 0; i < files->n; i++)
		if (rp_job_has(j, &files->file[i])) {
			count(&f, &files->file[i], hash_of(m->value[RP_JOB_INCLUDE]));
			fault(d, j, &files->file[i]);
		}
	if (j->others)
		problem(d, "others",
			"%u files or folders are not uid %u's, and not looked at: chown them, or "
			"run as that "
			"user",
			j->others, j->uid);
	not_all(d, j);
	if (!f.files && !j->raw && !j->traces)
		problem(d, "nothing", "no result is there yet: run command");
	thread_trace(d, m, j, &f);
	if (*m->value[RP_JOB_COUNTERS] && f.files && !f.whole && !f.readings)
		problem(d, "no_counters",
			"%s: kernel_include means no kernel that ran, or a job hung: see what "
			"rocprofv3 said, "
			"and take fewer counters",
			f.counters ? "counter_collection.csv has no row"
				   : "no counter_collection.csv");
}

void rp_job_problems(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		     size_t len)
{
	struct gt_details d = { buf, len };
	const struct rp *r = p->priv;
	const struct rp_job *j = NULL;

	gt_detail(&d, "# problem what is missing, and what to change\n");
	settings(&d, m);
	for (unsigned int i = 0; r && i < r->files.jobs; i++)
		if (r->files.job[i].serial == m->serial)
			j = &r->files.job[i];
	if (!*m->value[RP_JOB_FOLDER])
		return;
	if (!r)
		problem(&d, "not_running",
			"the backend does not run: see state and last_error, beside jobs");
	else if (!j)
		problem(&d, "not_yet", "the folder has not been looked at yet");
	else if (!j->there)
		problem(&d, "no_folder",
			"there is no folder of uid %u by the name in output_directory that "
			"gputrace "
			"may look at: no links, no file system but of this machine, and others may "
			"pass (x) on the way",
			m->uid);
	else if (j->whole && !m->whole)
		problem(&d, "rights",
			"results were looked for with the rights of who sees everything: only such "
			"a reader sees what was found");
	else
		results(&d, m, j, &r->files);
	if (r)
		beyond_share(&d, p, m->uid);
}
