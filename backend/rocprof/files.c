/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which files are results. Whoever may write to a folder may put anything there: no link is
 * followed, nothing but regular files is opened, and a file's owner, not the folder's, owns what
 * results they are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/file.h"
#include "rocprof.h"

static int rp_file_refuse(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file,
			  int err, const char *why);
static const char *rp_file_is_none(mode_t mode);
static bool rp_file_busy(int dir, const char *name);
static void rp_file_free(struct rp_file *f);

/* What a file is, by its name and by its first bytes: nothing is opened here. */

/* What rocprofv3 and rocprof put at the end of names, before the suffix */
static const char *const tables[] = {
	"kernel_trace",	      "counter_collection", "hip_api_trace", "hip_runtime_trace",
	"hip_compile_trace",  "hsa_api_trace",	    "hsa_trace",     "hip_trace",
	"marker_api_trace",   "rccl_api_trace",	    "marker_trace",  "memory_copy_trace",
	"memory_allocation_", "scratch_memory_",    "kernel_stats",  "hip_api_stats",
	"hip_stats",	      "hsa_stats",	    "hsa_api_stats", "domain_stats",
	"memory_copy_stats",  "agent_info",	    "results",	     "kernel_names",
	"marker_api_stats",   "rccl_api_stats",
};

const char *rp_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool rp_ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

/* "ui_output_agent_<handle>_dispatch_<number>" is a thread trace of device <handle>; -1: none */
static uint64_t rp_agent_of(const char *folder)
{
	static const char begin[] = "ui_output_agent_";
	const char *base, *from = folder + strlen(folder);
	char *end;
	uint64_t agent;

	while (from > folder && from[-1] == '/')
		from--;
	for (base = from; base > folder && base[-1] != '/';)
		base--;
	if (strncmp(base, begin, sizeof(begin) - 1))
		return GT_NONE64;
	agent = strtoull(base + sizeof(begin) - 1, &end, 10);
	return strncmp(end, "_dispatch_", 10) ? GT_NONE64 : agent;
}

/* A thread trace is often copied to a folder of another name. */
static bool rp_is_result(const char *folder, const char *name, bool live)
{
	bool traced = rp_agent_of(folder) != GT_NONE64;

	if ((traced || !live) && (!strcmp(name, "code.json") || !strcmp(name, "occupancy.json")))
		return true;
	if (traced)
		return false;
	return rp_ends(name, ".csv") || rp_ends(name, "results.json") || rp_ends(name, ".db");
}

/** rp_plain() - bytes of a name before the suffix of what is compressed, or all */
static size_t rp_plain(const char *name)
{
	static const char *const suffixes[] = { ".gz", ".xz", ".bz2", ".zst", ".zip" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (rp_ends(name, suffixes[i]))
			return strlen(name) - strlen(suffixes[i]);
	return strlen(name);
}

/** rp_is_packed() - is it one that is compressed? In a watched folder it is not read */
static bool rp_is_packed(const char *folder, const char *name, bool live)
{
	char plain[256];

	snprintf(plain, sizeof(plain), "%.*s", (int)rp_plain(name), name);
	return name[rp_plain(name)] && rp_is_result(folder, plain, live);
}

/* Bytes of @path that files of a run have alike: its folder, and what comes before the table */
static size_t rp_run_of(const char *path)
{
	const char *base = rp_base_of(path), *at;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		at = strstr(base, tables[i]);
		if (at)
			return (size_t)(at - path);
	}
	return (size_t)(base - path);
}

/* "1234_kernel_trace.csv" is of process 1234 */
static uint32_t rp_pid_of(const char *base)
{
	char *end;
	unsigned long pid = strtoul(base, &end, 10);

	return *base >= '1' && *base <= '9' && *end == '_' && pid < 1u << 22 ? (uint32_t)pid
									     : GT_NONE32;
}

/* Does @base, but for ".csv", end in @table, which nothing or a mark comes before? */
static bool is_table(const char *base, const char *table)
{
	size_t n = strlen(base), m = strlen(table);

	if (rp_ends(base, ".csv"))
		n -= 4;
	return n >= m && !strncmp(base + n - m, table, m) &&
	       (n == m || base[n - m - 1] == '_' || base[n - m - 1] == '.');
}

/* Their columns are the same: what comes before the table's name is the user's, and may be "hip".
 */
enum rp_stats rp_stats_of(const char *name)
{
	static const char *const calls[] = {
		"hip_stats",
		"hip_api_stats",
		"hsa_stats",
		"hsa_api_stats",
		"marker_stats",
		"marker_api_stats",
		"rccl_stats",
		"rccl_api_stats",
		"domain_stats",
		"memory_copy_stats",
		"scratch_memory_stats",
		"rocjpeg_api_stats",
		"rocdecode_api_stats",
		"memory_allocation_stats",
	};
	char base[256];

	snprintf(base, sizeof(base), "%.*s", (int)rp_plain(name), name);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (is_table(base, calls[i]))
			return RP_STATS_CALLS;
	if (is_table(base, "kernel_stats") || rp_ends(base, ".stats.csv")) /* rocprof v1 */
		return RP_STATS_KERNELS;
	return RP_STATS_EITHER;
}

bool rp_is_call(const char *s, size_t len)
{
	static const char *const begin[] = {
		"hsa_", "__hip", "roctx", "nccl", "rocDec", "rocJpeg"
	};

	if (len > 3 && !strncmp(s, "hip", 3) && s[3] >= 'A' && s[3] <= 'Z')
		return true;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (len > strlen(begin[i]) && !strncmp(s, begin[i], strlen(begin[i])))
			return true;
	for (size_t i = 0; i < len; i++) /* MEMORY_COPY_HOST_TO_DEVICE */
		if (!((s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_'))
			return false;
	return memchr(s, '_', len) != NULL;
}

/*
 * Files that stand beside those that count and hold nothing that could be shown without them. The
 * first keys say, however the file is called: @begin and @has without blanks.
 */
static const struct {
	const char *begin, *has, *why;
} parts[] = {
	{ "{\"tokens\":[", "",
	  "gives a viewer of thread traces its names and colours: nothing in it was measured" },
	{ "{\"counter_names\":", "",
	  "lists the waves of a thread trace: play code.json or occupancy.json beside it, or the "
	  "folder" },
	{ "{\"duration\":", "\"num_insts\":",
	  "is one wave of a thread trace, and calls its instructions by lines of code.json: play "
	  "that, "
	  "which has their sums, or the folder" },
	{ "{\"name\":\"wstates", "",
	  "has how many waves were in one state, not of which kernel: play occupancy.json beside "
	  "it, "
	  "or the folder" },
	{ "{\"SE", "\":[[",
	  "ties a thread trace's clock to another: play code.json or occupancy.json beside it, or "
	  "the "
	  "folder" },
	{ "{\"/\":{", "",
	  "lists the sources of a thread trace: play code.json beside it, which names them, or the "
	  "folder" },
};

/** rp_part_only() - why what begins so shows nothing by itself, what else to play; NULL: it may */
static const char *rp_part_only(const char *head, size_t len)
{
	char first[128];

	rp_squeeze(first, head, len);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strncmp(first, parts[i].begin, strlen(parts[i].begin)) &&
		    strstr(first, parts[i].has))
			return parts[i].why;
	return NULL;
}

/** rp_head_known() - does something of rocprof begin so, be it a part only? */
static bool rp_head_known(const char *head, size_t len)
{
	return rp_columns_known(head, len) || rp_format_json.detect(head, len) ||
	       rp_format_v1json.detect(head, len) || rp_format_db.detect(head, len) ||
	       rp_format_att.detect(head, len) || rp_part_only(head, len);
}

/*
 * Results in folders that are watched: which are new, and which have changed. A file is known by
 * its inode, as it may be renamed while it is written; but numbers of inodes are used again.
 */

/* When it was made; 0: its file system does not know. By the descriptor: to look a name up may be
 * to ask somebody */
static uint64_t birth(int dir, const char *name, const struct stat *st)
{
	int fd = rp_at(dir, name, O_PATH);
	struct statx x = { 0 };
	bool reported;

	if (fd < 0)
		return 0;
	reported = !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &x);
	close(fd);
	if (!reported || !(x.stx_mask & STATX_BTIME) || x.stx_ino != st->st_ino)
		return 0;
	return (uint64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

/* Another owner or time of birth is another file; where that time was not known once, it
 * is the one that was seen last */
static struct rp_file *known(struct rp_files *f, const struct stat *st, uint64_t born)
{
	struct rp_file *last = NULL;

	for (unsigned int i = 0; i < f->n; i++) {
		struct rp_file *file = &f->file[i];

		if (file->ino != st->st_ino || file->dev != st->st_dev || file->uid != st->st_uid)
			continue;
		if (file->born == born)
			return file;
		if (!file->born || !born)
			last = file;
	}
	if (last && !last->born)
		last->born = born;
	return last;
}

static bool too_many(const struct rp_files *f, uid_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < f->n; i++)
		n += f->file[i].uid == uid;
	return uid && n >= RP_USER_FILES;
}

static struct rp_file *meet_new(struct gt_plugin *p, struct rp_files *f, const char *path,
				const struct stat *st, uint64_t born)
{
	struct rp_file *file;

	if (too_many(f, st->st_uid)) {
		f->left_out++;
		return NULL;
	}
	file = rp_file_add(p, f, path, st->st_uid);
	if (!file)
		return NULL;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->born = born;
	file->mtime = GT_NONE64;
	file->source.live = true;
	if (rp_file_is_none(st->st_mode))
		rp_file_refuse(p, f, file, EINVAL, rp_file_is_none(st->st_mode));
	return file;
}

/* In a folder that is watched: is it new, or has it changed? It is opened when it is its turn. */
static bool meet(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		 const char *folder, const char *path, const char *name, const struct stat *st)
{
	uint64_t mtime = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t born = birth(dir, name, st);
	struct rp_file *file = known(f, st, born);

	if (!file)
		file = meet_new(p, f, path, st, born);
	if (!file)
		return false;
	file->there = true;
	file->named = j != NULL;
	file->whole = j && j->whole;
	f->later |= file->read;
	if (rp_file_is_none(st->st_mode) || file->read)
		return true;
	if (strcmp(file->path, path)) {
		free(file->path);
		file->path = strdup(path);
		if (!file->path)
			file->path = strdup("");
	}
	file->source.agent = rp_agent_of(folder);
	file->busy = rp_file_busy(dir, name);
	if (file->busy)
		file->state = "being_written";
	if (file->mtime == mtime && file->source.size == (uint64_t)st->st_size)
		return true;
	if (rp_ends(name, ".csv") && (uint64_t)st->st_size < file->source.at[0])
		memset(file->source.at, 0, sizeof(file->source.at)); /* begun anew */
	file->mtime = mtime;
	file->source.size = (uint64_t)st->st_size;
	file->changed = !file->once;
	if (file->once)
		snprintf(file->error, sizeof(file->error),
			 "changed after it was read: not read again");
	return true;
}

bool rp_files_found(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		    const char *folder, const char *path, const char *name, const struct stat *st)
{
	return !rp_is_result(folder, name, true) || meet(p, f, j, dir, folder, path, name, st);
}

unsigned int rp_files_forget(struct rp_files *f, uint16_t moved[RP_LIVE_FILES])
{
	unsigned int n = 0, had = f->n;

	for (unsigned int i = 0; i < had; i++) {
		moved[i] = (uint16_t)n;
		if (f->file[i].there || f->file[i].read)
			f->file[n++] = f->file[i];
		else
			rp_file_free(&f->file[i]);
	}
	f->n = n;
	return had - n;
}

#define DEPTH	4     /* folders below the one that is named */
#define ENTRIES 4096  /* of a folder */
#define LOOK_AT 65536 /* of all folders, in one look */

/* The next number that no file has: there are more of them than files */
static uint16_t free_group(struct rp_files *f)
{
	unsigned int i;

	do {
		f->groups = f->groups < GT_NONE16 - 1 ? f->groups + 1 : 1;
		for (i = 0; i < f->n && f->file[i].source.group != f->groups - 1; i++)
			;
	} while (i < f->n);
	return f->groups - 1;
}

/* In watched folders a run is one user's: nobody's devices are those of another's rows, and what
 * one wrote is not read in the process that reads another's. */
static uint16_t group_of(struct rp_files *f, const char *path, uint32_t uid)
{
	size_t n = rp_run_of(path);

	for (unsigned int i = 0; i < f->n; i++)
		if ((!f->live || f->file[i].uid == uid) && !strncmp(f->file[i].path, path, n) &&
		    rp_run_of(f->file[i].path) == n) /* last: it takes longest */
			return f->file[i].source.group;
	return free_group(f);
}

struct rp_file *rp_file_add(struct gt_plugin *p, struct rp_files *f, const char *path, uint32_t uid)
{
	struct rp_file *more;
	uint16_t group;
	int most = f->live ? RP_LIVE_FILES : RP_FILES;

	if ((int)f->n == most) {
		f->left_out++;
		if (!f->reported)
			p->host->error(p, E2BIG, "more than %d files: the rest is left out", most);
		f->reported = true;
		return NULL;
	}
	group = group_of(f, path, uid);
	more = reallocarray(f->file, f->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	f->file = more;
	more = &f->file[f->n];
	memset(more, 0, sizeof(*more));
	more->path = strdup(path);
	if (!more->path)
		return NULL;
	f->n++;
	more->state = "waiting";
	more->uid = uid;
	more->source.fd = -1;
	more->source.group = group;
	more->source.agent = GT_NONE64;
	more->source.pid = rp_pid_of(rp_base_of(path));
	more->source.statistics = rp_stats_of(rp_base_of(path));
	return more;
}

int rp_files_error(struct gt_plugin *p, const struct rp_files *f, int err, const char *path,
		   const char *why)
{
	if (f->live)
		return p->host->error(p, err,
				      "a result was left out, or a part of it: see problems");
	return p->host->error(p, err, "%s: %s", path, why);
}

/** rp_file_refuse() - it is not read, and says why. Returns -@err */
static int rp_file_refuse(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file,
			  int err, const char *why)
{
	file->state = "refused";
	snprintf(file->error, sizeof(file->error), "%s", why);
	return rp_files_error(p, f, err, file->path, why);
}

/** rp_file_is_none() - why what has this mode is not read, NULL: it may be */
static const char *rp_file_is_none(mode_t mode)
{
	if (S_ISLNK(mode))
		return "is a symbolic link: it is not followed";
	return S_ISREG(mode) ? NULL : "is not a regular file";
}

/*
 * SQLite writes into the database itself once a transaction is large, and keeps what was there in a
 * journal: until that has gone, or a log that is still to be merged in, the database is not whole.
 *
 * A file of a watched folder has a plain name, and its journal is on the same mount. A path that
 * was given for a file may lead through links and over mounts, and leads to the journal the same
 * way.
 */
static bool rp_file_busy(int dir, const char *name)
{
	static const char *const more[] = { "-journal", "-wal" };
	char path[4096];
	struct stat st;
	int ret;

	for (size_t i = 0; i < 2 && rp_ends(name, ".db"); i++) {
		if (snprintf(path, sizeof(path), "%s%s", name, more[i]) >= (int)sizeof(path))
			continue;
		ret = dir == AT_FDCWD ? fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW)
				      : rp_stat_at(dir, path, &st);
		if (!ret && st.st_size > 0)
			return true;
	}
	return false;
}

/* The name is looked at before it is opened: opening a device may do something already. */
static int open_file(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file, int dir,
		     const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rp_file_refuse(p, f, file, errno, strerror(errno));
	if (rp_file_is_none(st.st_mode))
		return rp_file_refuse(p, f, file, EINVAL, rp_file_is_none(st.st_mode));
	file->source.fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (file->source.fd < 0)
		return rp_file_refuse(p, f, file, errno, strerror(errno));
	if (fstat(file->source.fd, &st) < 0 || rp_file_is_none(st.st_mode))
		return rp_file_refuse(p, f, file, EINVAL, "is not a regular file");
	if (rp_file_busy(dir, name)) {
		close(file->source.fd);
		file->source.fd = -1;
		return rp_file_refuse(p, f, file, EBUSY,
				      "is being written: there is a journal beside it");
	}
	file->uid = st.st_uid;
	file->source.size = (uint64_t)st.st_size;
	return 0;
}

/* What the host has unpacked of it; -ENOENT: it is a file itself */
static int open_unpacked(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file)
{
	const char *damage = NULL;
	struct stat st;
	int fd = p->host->unpacked ? p->host->unpacked(p, file->path, &damage) : -ENOENT;

	if (fd < 0 && fd != -ENOENT && damage)
		return rp_file_refuse(p, f, file, EBADMSG, damage);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return rp_file_refuse(p, f, file, errno, strerror(errno));
	}
	file->source.fd = fd;
	file->uid = st.st_uid;
	file->source.size = (uint64_t)st.st_size;
	if (damage) {
		file->faults++;
		gt_file_damaged(&file->count, GT_PLACE_NONE, 0);
		snprintf(file->error, sizeof(file->error), "%s", damage);
		rp_files_error(p, f, EBADMSG, file->path, damage);
	}
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static _Thread_local unsigned int taken, dropped; /* of the folder that is listed */

/* A folder may have millions: they are not kept */
static int to_keep(const struct dirent *d)
{
	if (d->d_name[0] == '.')
		return 0;
	if (taken < ENTRIES)
		return (int)++taken;
	dropped++;
	return 0;
}

static int list_folder(int dir, struct dirent ***list)
{
	taken = dropped = 0;
	*list = NULL;
	return scandirat(dir, ".", list, to_keep, by_name);
}

static void add_folder(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		       int depth);

/* For the host to unpack it: no more of them than are read. */
static void hand_over(struct rp_files *f, int dir, const char *name, const char *whole)
{
	int fd = f->packed < RP_FILES
			 ? openat(dir, name,
				  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
			 : -1;
	struct stat st;

	f->packed++;
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		f->found(f->arg, fd, whole);
	if (fd >= 0)
		close(fd);
}

/* Adds a compressed file if the host has unpacked it; if not, only counts it in @packed of struct rp_files. */
static void add_packed(struct gt_plugin *p, struct rp_files *f, const char *path, const char *whole)
{
	const char *damage;
	struct rp_file *file;
	int fd = p->host->unpacked && !f->live ? p->host->unpacked(p, whole, &damage) : -ENOENT;

	if (fd >= 0)
		close(fd);
	file = fd == -ENOENT ? NULL : rp_file_add(p, f, whole, GT_NONE32);
	f->packed += fd == -ENOENT;
	if (!file)
		return;
	file->source.agent = rp_agent_of(path);
	open_unpacked(p, f, file);
}

/* A folder of a recording may hold what only somebody else can play: it is named */
static void note_other(struct rp_files *f, const char *path)
{
	if (!f->live && f->others < RP_OTHERS)
		gt_word(f->other[f->others], sizeof(f->other[0]), path);
	f->others++;
}

static void add_entry(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		      const char *name, int depth)
{
	char whole[4096];
	struct rp_file *file;
	struct stat st;
	int fd;

	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) >= (int)sizeof(whole) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode) && depth < DEPTH) {
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
		if (fd >= 0)
			add_folder(p, f, fd, whole, depth + 1);
		return;
	}
	f->deep += S_ISDIR(st.st_mode);
	if (S_ISREG(st.st_mode) && rp_is_packed(path, name, f->live)) {
		if (f->found)
			hand_over(f, dir, name, whole);
		else
			add_packed(p, f, path, whole);
		return;
	}
	if (S_ISDIR(st.st_mode) || f->found)
		return;
	if (!rp_is_result(path, name, f->live)) {
		note_other(f, whole);
		return;
	}
	if (f->live) {
		rp_files_found(p, f, NULL, dir, path, whole, name, &st);
		return;
	}
	file = rp_file_add(p, f, whole, GT_NONE32);
	if (!file)
		return;
	file->source.agent = rp_agent_of(path);
	open_file(p, f, file, dir, name);
}

static void add_folder(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		       int depth)
{
	struct dirent **list = NULL;
	int n;

	if (f->live) /* first, so that what comes meanwhile is reported */
		rp_watch_folder(f, dir);
	n = f->looked < LOOK_AT ? list_folder(dir, &list) : 0;
	f->left_out += n > 0 ? dropped : 0;
	for (int i = 0; i < n; i++) {
		if (f->looked++ < LOOK_AT)
			add_entry(p, f, dir, path, list[i]->d_name, depth);
		else
			f->left_out++;
		free(list[i]);
	}
	free(list);
	close(dir);
}

/* A file that was named by itself, whatever its name is */
static int add_named(struct gt_plugin *p, struct rp_files *f, const char *path)
{
	struct rp_file *file = rp_file_add(p, f, path, GT_NONE32);
	char folder[4096], head[4096];
	const char *why;
	ssize_t n;
	int ret;

	if (!file)
		return -ENOMEM;
	ret = open_unpacked(p, f, file);
	if (ret == -ENOENT)
		ret = open_file(p, f, file, AT_FDCWD, path);
	if (ret)
		return ret;
	snprintf(folder, sizeof(folder), "%.*s", (int)(rp_base_of(path) - path), path);
	file->source.agent = rp_agent_of(folder);
	n = gt_pread(file->source.fd, head, sizeof(head), 0);
	why = n > 0 ? rp_part_only(head, (size_t)n) : NULL;
	if (!why)
		return 0;
	close(file->source.fd);
	file->source.fd = -1;
	return rp_file_refuse(p, f, file, EINVAL, why);
}

int rp_files_add(struct gt_plugin *p, struct rp_files *f, const char *path)
{
	int dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);

	if (dir >= 0) {
		add_folder(p, f, dir, path, 0);
		return 0;
	}
	if (f->live)
		return p->host->error(p, errno, "%s: %s", path, strerror(errno));
	return add_named(p, f, path);
}

static int rank(const char *path)
{
	size_t n = rp_plain(path);

	if (n >= 3 && !memcmp(path + n - 3, ".db", 3))
		return 2;
	return n >= 5 && !memcmp(path + n - 5, ".json", 5);
}

/* Why @b does for @a: it is the same run in a fuller format, or the same file before it was
 * compressed, or compressed another way. NULL: it does not */
static const char *does_for(const struct rp_file *a, const struct rp_file *b)
{
	size_t n = rp_plain(a->path);

	if (rank(b->path) > rank(a->path))
		return "has the same run";
	if (a->path[n] && rp_plain(b->path) == n && !memcmp(a->path, b->path, n) &&
	    (b < a || !b->path[n]))
		return "is the same";
	return NULL;
}

void rp_files_once(struct rp_files *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		struct rp_file *a = &f->file[i];

		for (unsigned int k = 0; k < f->n && a->source.fd >= 0; k++) {
			const struct rp_file *b = &f->file[k];
			const char *why = does_for(a, b);

			if (b->source.fd < 0 || b->source.group != a->source.group || !why)
				continue;
			close(a->source.fd);
			a->source.fd = -1;
			a->state = "skipped";
			snprintf(a->error, sizeof(a->error), "%.200s %s", rp_base_of(b->path), why);
		}
	}
}

/** rp_file_free() - what it holds, but no descriptor */
static void rp_file_free(struct rp_file *f)
{
	free(f->path);
	free(f->means);
}

void rp_files_close(struct rp_files *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (f->file[i].source.fd >= 0)
			close(f->file[i].source.fd);
		f->file[i].source.fd = -1;
	}
}

void rp_files_free(struct rp_files *f)
{
	rp_files_close(f);
	rp_jobs_forget(f);
	rp_way_forget();
	for (unsigned int i = 0; i < f->n; i++)
		rp_file_free(&f->file[i]);
	free(f->file);
	*f = (struct rp_files){ 0 };
}

/* A folder with a result in it or below: looked at no further than it takes */
static bool folder_has(int dir, const char *path, int depth)
{
	struct dirent **list = NULL;
	int n = list_folder(dir, &list);
	bool found = false;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		int fd = -1;

		if (!found && (rp_is_result(path, name, false) || rp_is_packed(path, name, false)))
			found = true;
		else if (!found && depth < DEPTH)
			fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
		if (fd >= 0)
			found = folder_has(fd, name, depth + 1);
		free(list[i]);
	}
	free(list);
	close(dir);
	return found;
}

/* A file, or one of an archive, as it would be one in a folder */
static bool is_named_result(const char *path)
{
	const char *base = rp_base_of(path);
	char folder[4096];

	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	return rp_is_result(folder, base, false);
}

bool rp_knows(const char *path, const uint8_t *head, size_t len)
{
	int dir;

	if (head &&
	    rp_part_only((const char *)head, len)) /* of an archive, as of a folder, unread */
		return access(path, F_OK) == 0;
	if (head)
		return rp_head_known((const char *)head, len);
	dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	return dir >= 0 ? folder_has(dir, path, 0) : errno == ENOTDIR && is_named_result(path);
}

void rp_packed(const char *path, void (*found)(void *arg, int fd, const char *path), void *arg)
{
	struct rp_files f = { .found = found, .arg = arg };
	int dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);

	if (dir >= 0)
		add_folder(NULL, &f, dir, path, 0);
}
