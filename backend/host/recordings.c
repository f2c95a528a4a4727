/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recordings: which backend plays which one, and how compressed ones and archives are unpacked.
 *
 * libarchive reads an archive in a child without rights (sandbox.h), which sends what it finds in
 * frames. The daemon writes the files, and so decides how much there may be: an archive of a few KiB
 * can hold petabytes.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "../lib/file.h"
#include "../lib/recording.h"
#include "../lib/sandbox.h"
#include "internal.h"

#define HEAD	65536 /* bytes of a file that decide its kind */
#define MEMBERS 1024  /* of an archive */

/**
 * struct member - an unpacked file
 * @name: in the archive; "" for a compressed file that is no archive
 * @fd: an unlinked file of the archive's owner, for reading only
 * @damage: why part of it is missing; NULL: it is complete
 */
struct member {
	char *name, *damage;
	int fd;
};

struct unpacked {
	struct member *member;
	unsigned int n;
	char *damage; /* of an archive that gave no member */
};

/**
 * struct limits - shared by all archives of one folder, all zero at first
 * @size: bytes of the archives unpacked so far
 * @done: bytes that these became
 * @fit: bytes that there was room for at first
 * @until: CLOCK_MONOTONIC, s, when unpacking has taken too long
 */
struct limits {
	uint64_t size, done, fit;
	time_t until;
};

/* Compressed files and archives -------------------------------------------------------------- */

#define IN_FD	  GT_SANDBOX_FIRST
#define OUT_FD	  GT_SANDBOX_IO
#define RATIO	  256		 /* bytes that a byte may become */
#define ALWAYS	  (256ull << 20) /* bytes that are allowed whatever the ratio */
#define BLOCK	  (128u << 10)
#define NAME	  512
#define TAR_MAGIC 257	       /* where a tar archive has its magic */
#define SKIPPABLE 8	       /* header of a frame of zstd that is skipped */
#define MEMORY	  (1ull << 30) /* above what is mapped: xz may need much */
#define CPU_S	  30	       /* plus a second for each MiB of the archive */
#define CPU_MOST  600
#define WALL_S	  1800
#define SILENCE_S 60

enum kind { MEMBER, DATA, DAMAGE, FAIL, END, KINDS };

/** struct frame - header that the child sends before @len bytes: a name, data or a sentence */
struct frame {
	uint32_t kind, len;
};

/* A frame of zstd without data of the file: pzstd writes one before each other frame. */
static bool is_skippable(const uint8_t *p)
{
	return p[0] >> 4 == 5 && !memcmp(p + 1, "\x2a\x4d\x18", 3);
}

static const char zstd[] = "\x28\xb5\x2f\xfd";

/* Do these first bytes start a gzip, xz, bzip2 or zstd file, a tar or a zip archive? */
static bool is_packed(const uint8_t *head, size_t len)
{
	static const struct {
		const char *magic;
		size_t len;
	} packed[] = {
		{ "\x1f\x8b\x08", 3 },
		{ "\xfd"
		  "7zXZ\0",
		  6 },
		{ "BZh", 3 },
		{ zstd, 4 },
		{ "PK\x03\x04", 4 },
		{ "PK\x05\x06", 4 }, /* an empty one */
	};

	if (len >= TAR_MAGIC + 5 && !memcmp(head + TAR_MAGIC, "ustar", 5))
		return true;
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++)
		if (len >= packed[i].len && !memcmp(head, packed[i].magic, packed[i].len))
			return packed[i].magic[0] != 'B' ||
			       (len > 9 && !memcmp(head + 4, "1AY&SY", 6));
	return len >= SKIPPABLE && is_skippable(head);
}

/* In the child */

static void put(enum kind kind, const void *data, size_t len)
{
	struct frame f = { kind, (uint32_t)len };
	const char *parts[] = { (const char *)&f, data };
	size_t lens[] = { sizeof(f), len };

	for (int i = 0; i < 2; i++)
		while (lens[i]) {
			ssize_t n = write(OUT_FD, parts[i], lens[i]);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				_exit(0); /* nobody listens any more */
			parts[i] += n;
			lens[i] -= (size_t)n;
		}
}

static void put_text(enum kind kind, const char *text)
{
	size_t len = strlen(text);

	put(kind, text, len < NAME ? len : NAME - 1);
}

/* gzip alone: with another compression inside, the file does not end with a check sum. */
static bool is_gzip(struct archive *a)
{
	return archive_filter_code(a, 0) == ARCHIVE_FILTER_GZIP && archive_filter_count(a) == 2;
}

/* Compares size and check sum, which libarchive does not. Of concatenated files they are the last
 * one's: with another header in the file nothing can be said. */
static void check_gzip(uint64_t size, uint32_t crc)
{
	static const char magic[] = "\x1f\x8b\x08";
	static char buf[BLOCK];
	uint32_t noted[2];
	off_t end = lseek(IN_FD, 0, SEEK_END);
	ssize_t n;

	if (end < 18 || gt_pread(IN_FD, noted, 8, (uint64_t)end - 8) != 8)
		return;
	if (noted[0] == crc && noted[1] == (uint32_t)size)
		return;
	for (uint64_t off = 3;
	     noted[1] != (uint32_t)size && (n = gt_pread(IN_FD, buf, BLOCK, off)) > 2;
	     off += (uint64_t)n - 2)
		if (memmem(buf, (size_t)n, magic, 3))
			return;
	put_text(DAMAGE, "its check sum is wrong");
}

static bool is_file(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return *base && *base != '.' && strncmp(name, "__MACOSX/", 9);
}

static void read_member(struct archive *a, bool raw)
{
	uint32_t crc = (uint32_t)crc32(0, NULL, 0);
	uint64_t size = 0;
	const void *data;
	size_t len;
	la_int64_t off;
	int ret;

	while ((ret = archive_read_data_block(a, &data, &len, &off)) == ARCHIVE_OK) {
		static const char zero[BLOCK];

		for (uint64_t hole; size < (uint64_t)off; size += hole) {
			hole = (uint64_t)off - size < BLOCK ? (uint64_t)off - size : BLOCK;
			put(DATA, zero, hole);
		}
		if (raw && is_gzip(a))
			crc = (uint32_t)crc32(crc, data, (uInt)len);
		size += len;
		for (const char *p = data; len;) {
			size_t n = len < BLOCK ? len : BLOCK;

			put(DATA, p, n);
			p += n;
			len -= n;
		}
	}
	if (ret != ARCHIVE_EOF)
		put_text(DAMAGE,
			 archive_error_string(a) ? archive_error_string(a) : "it is damaged");
	else if (raw && is_gzip(a))
		check_gzip(size, crc);
}

/* Sends all files of the archive. Return: number of entries, with one that could not be read */
static unsigned int read_archive(struct archive *a)
{
	struct archive_entry *e;
	unsigned int n = 0;
	int ret;

	while ((ret = archive_read_next_header(a, &e)) == ARCHIVE_OK || ret == ARCHIVE_WARN) {
		bool raw = archive_format(a) == ARCHIVE_FORMAT_RAW;
		const char *name = raw ? "" : archive_entry_pathname(e);

		n++;
		if (!raw && (!name || archive_entry_filetype(e) != AE_IFREG || !is_file(name)))
			continue;
		if (archive_entry_hardlink(e)) /* another member has the data */
			continue;
		if (archive_entry_is_data_encrypted(e) > 0) {
			put_text(FAIL, "is encrypted: unpack it first");
			return n;
		}
		/* is_packed() is true, and yet no filter applies */
		if (raw && archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE) {
			put_text(FAIL, "cannot be unpacked: it is cut or damaged");
			return n;
		}
		put_text(MEMBER, name);
		read_member(a, raw);
	}
	if (ret != ARCHIVE_EOF)
		put_text(DAMAGE,
			 archive_error_string(a) ? archive_error_string(a) : "it is damaged");
	return ret == ARCHIVE_EOF ? n : n + 1;
}

/* Skips to the first zstd frame that libarchive knows; false if there is none */
static bool rewind_archive(void)
{
	uint8_t head[SKIPPABLE];
	uint64_t off = 0;

	while (gt_pread(IN_FD, head, SKIPPABLE, off) == SKIPPABLE && is_skippable(head))
		off += SKIPPABLE +
		       (head[4] | head[5] << 8 | head[6] << 16 | (uint64_t)head[7] << 24);
	if (off && (gt_pread(IN_FD, head, 4, off) != 4 || memcmp(head, zstd, 4)))
		return false;
	return lseek(IN_FD, (off_t)off, SEEK_SET) >= 0;
}

/* The archive gave no data: is it empty, or cut? A gzip file of nothing ends with a check sum and a
 * length of 0; others are at most 32 bytes long. */
static bool is_empty(void)
{
	uint8_t head[2] = { 0 }, end[8];
	struct stat st;

	if (fstat(IN_FD, &st) || st.st_size < (off_t)sizeof(end) ||
	    gt_pread(IN_FD, head, sizeof(head), 0) != sizeof(head) ||
	    gt_pread(IN_FD, end, sizeof(end), (uint64_t)st.st_size - sizeof(end)) != sizeof(end))
		return false;
	if (head[0] != 0x1f || head[1] != 0x8b)
		return st.st_size <= 32;
	return !memcmp(end, "\0\0\0\0\0\0\0", sizeof(end));
}

/* Reads the archive; false if it is a tar archive without members, as any file of zeros is */
static bool read_as(bool tar)
{
	struct archive *a = archive_read_new();
	bool found = true;

	/* only filters that are libraries: for others libarchive would run a program */
	if (!a || archive_read_support_filter_gzip(a) || archive_read_support_filter_xz(a) ||
	    archive_read_support_filter_bzip2(a) || archive_read_support_filter_zstd(a) ||
	    archive_read_support_format_zip(a) || (tar && archive_read_support_format_tar(a)) ||
	    archive_read_support_format_raw(a) || archive_read_support_format_empty(a))
		put_text(FAIL, "cannot be unpacked: libarchive here lacks what it takes");
	else if (!rewind_archive() || archive_read_open_fd(a, IN_FD, BLOCK))
		put_text(FAIL, "cannot be unpacked: it is cut or damaged");
	else
		found = read_archive(a) ||
			(archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_TAR;
	if (archive_format(a) == ARCHIVE_FORMAT_EMPTY)
		put_text(FAIL, is_empty() ? "is whole, but what it holds is empty"
					  : "cannot be unpacked: it is cut or damaged");
	archive_read_free(a);
	return found;
}

static void child_main(void *arg)
{
	if (!read_as(true))
		read_as(false);
	put(END, "", 0);
}

/* In the daemon */

/**
 * struct job - an archive that is being unpacked into @u
 * @b: what is left to it
 * @dir: folder of the unpacked files
 * @done: bytes written so far
 * @most: bytes that all archives of @b may become
 * @out: the member that is being written, or -1
 * @err: gets a sentence
 */
struct job {
	struct unpacked *u;
	struct limits *b;
	const struct stat *st;
	const char *dir;
	uint64_t done, most;
	int out;
	char *err;
	size_t len;
};

static int fail(struct job *j, int err, const char *what)
{
	snprintf(j->err, j->len, "%s", what);
	return -err;
}

/* Players and their children get this one: none of them can write to what others read. */
static int reopen_read_only(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Chooses the folder of the files. They may take half of what is free: others write there, too */
static int find_room(struct job *j)
{
	const char *dirs[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int fd = dirs[i] && *dirs[i] == '/' ? gt_unnamed_file(dirs[i]) : -1;
		struct statvfs v;

		if (fd < 0)
			continue;
		if (!fstatvfs(fd, &v)) {
			j->dir = dirs[i];
			if (!j->b->fit)
				j->b->fit = (uint64_t)v.f_bavail * v.f_frsize / 2;
		}
		close(fd);
		if (j->dir)
			return 0;
	}
	return fail(j, EACCES,
		    "cannot be unpacked: no file can be made in $TMPDIR, /var/tmp or /tmp");
}

/* Text of the child, without control characters */
static char *clean_text(const char *data, size_t len)
{
	char *text = strndup(data, len);

	for (char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}

static void end_member(struct job *j)
{
	if (j->out >= 0)
		close(j->out);
	j->out = -1;
}

static int add_member(struct job *j, const char *data, size_t len)
{
	struct member *more, *m;

	end_member(j);
	if (j->u->n == MEMBERS)
		return fail(j, E2BIG, "has more than 1024 files: unpack it, and play the folder");
	more = reallocarray(j->u->member, j->u->n + 1, sizeof(*more));
	if (!more)
		return fail(j, ENOMEM, "no memory");
	j->u->member = more;
	m = &more[j->u->n];
	j->out = gt_unnamed_file(j->dir);
	*m = (struct member){ .name = clean_text(data, len),
			      .fd = j->out < 0 ? -1 : reopen_read_only(j->out) };
	if (!m->name || m->fd < 0) {
		free(m->name);
		if (m->fd >= 0)
			close(m->fd);
		return fail(j, EIO, "cannot be unpacked: no file can be made");
	}
	j->u->n++;
	/* what is read of it belongs to the archive's owner, who so owns the file, too */
	return fchown(m->fd, j->st->st_uid, j->st->st_gid) && !geteuid()
		       ? fail(j, errno, "cannot be unpacked: its files cannot be its owner's")
		       : 0;
}

static int add_data(struct job *j, const char *data, size_t len)
{
	char why[256];

	if (j->out < 0)
		return fail(j, EBADMSG, "cannot be unpacked");
	j->done += len;
	if (j->b->done + j->done > j->most) {
		snprintf(why, sizeof(why),
			 "unpacks to more than %llu MiB, %u times its size%s: if it is to be so, "
			 "unpack it and play that",
			 (unsigned long long)(j->most >> 20), RATIO,
			 j->b->done ? ", with those before it" : "");
		return fail(j, EFBIG, why);
	}
	if (j->b->done + j->done > j->b->fit) {
		snprintf(why, sizeof(why),
			 "unpacks to more than %llu MiB, half of what is free in %.64s: "
			 "TMPDIR=FOLDER names another",
			 (unsigned long long)(j->b->fit >> 20), j->dir);
		return fail(j, ENOSPC, why);
	}
	while (len) {
		ssize_t n = write(j->out, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			snprintf(why, sizeof(why), "cannot be unpacked to %.64s: %s", j->dir,
				 strerror(errno));
			return fail(j, EIO, why);
		}
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static void note_damage(struct job *j, const char *data, size_t len)
{
	char **to = j->u->n ? &j->u->member[j->u->n - 1].damage : &j->u->damage;
	char *text = clean_text(data, len);

	if (text && !*to && asprintf(to, "is cut or damaged: %s", text) < 0)
		*to = NULL;
	free(text);
}

/* Return: 1 at the end, 0, or -errno with a sentence */
static int take_frame(struct job *j, const struct frame *f, const char *data)
{
	char why[NAME]; /* every text is shorter */

	switch (f->kind) {
	case MEMBER:
		return add_member(j, data, f->len);
	case DATA:
		return add_data(j, data, f->len);
	case DAMAGE:
		note_damage(j, data, f->len);
		return 0;
	case FAIL:
		snprintf(why, sizeof(why), "%.*s", (int)f->len, data);
		return fail(j, EBADMSG, why);
	default:
		return 1;
	}
}

/* Reads all of @len bytes from the child; -errno with a sentence */
static int get(struct job *j, int fd, void *buf, size_t len, time_t until)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct timespec now;
	size_t done = 0;

	while (done < len) {
		int ready = poll(&pfd, 1, SILENCE_S * 1000);
		ssize_t n = ready > 0 ? read(fd, (char *)buf + done, len - done) : -1;

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (ready < 0 && errno == EINTR)
			continue;
		if (!ready || now.tv_sec > until)
			return fail(j, ETIMEDOUT,
				    "takes too long to unpack: unpack it and play that");
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return fail(j, EBADMSG,
				    "cannot be unpacked: it is damaged, or takes too long");
		done += (size_t)n;
	}
	return 0;
}

/* Takes the child's frames up to END */
static int receive(struct job *j, int fd)
{
	char *buf = malloc(BLOCK);
	struct timespec now;
	struct frame f;
	int ret = buf ? 0 : fail(j, ENOMEM, "no memory");

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!j->b->until)
		j->b->until = now.tv_sec + WALL_S;
	while (!ret) {
		ret = get(j, fd, &f, sizeof(f), j->b->until);
		if (!ret && (f.kind >= KINDS || f.len > BLOCK || (f.kind != DATA && f.len >= NAME)))
			ret = fail(j, EBADMSG, "cannot be unpacked: its reader failed");
		if (!ret)
			ret = get(j, fd, buf, f.len, j->b->until);
		if (!ret)
			ret = take_frame(j, &f, buf);
	}
	free(buf);
	return ret < 0 ? ret : 0;
}

/*
 * Unpacks @fd to unlinked files in $TMPDIR, /var/tmp or /tmp. Return: 0, or -errno with a sentence;
 * unpacked_free() in either case
 */
static int unpack(int fd, struct unpacked *u, struct limits *b, char *err, size_t len)
{
	struct gt_sandbox_conf c = { .fds = &fd, .n = 1, .memory = MEMORY, .run = child_main };
	struct gt_sandbox child;
	struct stat st;
	struct job j = { .u = u, .b = b, .st = &st, .out = -1, .err = err, .len = len };
	int ret;

	*u = (struct unpacked){ 0 };
	if (fstat(fd, &st))
		return fail(&j, errno, "cannot be read");
	j.most = (b->size + (uint64_t)st.st_size) * RATIO;
	j.most = j.most < ALWAYS ? ALWAYS : j.most;
	ret = find_room(&j);
	if (ret)
		return ret;
	c.cpu_s = CPU_S + ((uint64_t)st.st_size >> 20);
	c.cpu_s = c.cpu_s < CPU_MOST ? c.cpu_s : CPU_MOST;
	ret = gt_sandbox_start(&child, &c);
	if (ret)
		return fail(&j, -ret, "cannot be unpacked: no process");
	ret = receive(&j, child.fd);
	gt_sandbox_end(&child);
	end_member(&j);
	if (!ret && !u->n)
		ret = u->damage ? fail(&j, EBADMSG, u->damage) : fail(&j, ENODATA, "holds no file");
	if (!ret) {
		b->size += (uint64_t)st.st_size;
		b->done += j.done;
	}
	return ret;
}

static void unpacked_free(struct unpacked *u)
{
	for (unsigned int i = 0; i < u->n; i++) {
		close(u->member[i].fd);
		free(u->member[i].name);
		free(u->member[i].damage);
	}
	free(u->member);
	free(u->damage);
	*u = (struct unpacked){ 0 };
}

/* Who plays what ----------------------------------------------------------------------------- */

typedef bool (*knows_hook)(const char *path, const uint8_t *head, size_t len);

/* NULL without the hook, as in a plugin that was built before the hook existed */
static knows_hook knows_of(const struct gt_be *b)
{
	return b->be && GT_HAS(b->be, probe_recording) ? b->be->probe_recording : NULL;
}

static bool plays(const struct gt_be *b)
{
	return b->be && b->be->flags & GT_BACKEND_RECORDING;
}

/* The backend that knows a recording. With @rest, if none does: the one that plays recordings and may
 * refuse it with a reason */
static struct gt_be *find(struct gt_host_state *h, const char *path, const uint8_t *head, size_t n,
			  bool folder, bool rest)
{
	for (int last = 0; last < 2; last++)
		for (unsigned int i = 0; i < h->n; i++) {
			struct gt_be *b = h->be[i];
			knows_hook knows = knows_of(b);

			if (plays(b) != last || !knows || !(folder || n))
				continue;
			if (knows(path, folder ? NULL : head, n))
				return b;
		}
	for (unsigned int i = 0; i < h->n && rest; i++)
		if (plays(h->be[i]))
			return h->be[i];
	return NULL;
}

/* The backend that takes a file by its name, though none knows its content: it refuses it with a
 * reason */
static struct gt_be *find_named(struct gt_host_state *h, const char *path)
{
	for (unsigned int i = 0; i < h->n; i++) {
		knows_hook knows = knows_of(h->be[i]);

		if (!plays(h->be[i]) && knows && knows(path, NULL, 0))
			return h->be[i];
	}
	return NULL;
}

/* Has @b play @path */
static int give(struct gt_host_state *h, struct gt_be *b, const char *path, char *err, size_t len)
{
	char *escaped = gt_path_escape(path, ':');
	int ret = b && escaped ? gt_options_append(b, escaped) : b ? -ENOMEM : -ENOENT;

	free(escaped);
	if (ret) {
		snprintf(err, len, "%.256s: no backend in %.256s plays recordings", path,
			 h->conf.plugin_dir);
		return ret;
	}
	gt_be_want(b, true);
	h->nrecordings++;
	return 0;
}

unsigned int gt_host_recordings(const struct gt_host_state *h)
{
	return h->nrecordings;
}

/* Windows tools write such text, for instance PowerShell's >; no backend reads it. Without a mark the
 * first eight characters are of ASCII */
static bool is_utf16(const uint8_t *head, size_t n)
{
	unsigned int little = 0, big = 0;

	for (unsigned int i = 0; i < 16 && n >= 16; i += 2) {
		little += head[i] >= ' ' && head[i] < 0x7f && !head[i + 1];
		big += !head[i] && head[i + 1] >= ' ' && head[i + 1] < 0x7f;
	}
	return little == 8 || big == 8 ||
	       (n > 3 && ((head[0] == 0xff && head[1] == 0xfe && !head[3]) ||
			  (head[0] == 0xfe && head[1] == 0xff && !head[2])));
}

static int give_file(struct gt_host_state *h, const char *path, const uint8_t *head, size_t n,
		     char *err, size_t len)
{
	struct gt_be *b;

	if (!is_utf16(head, n)) {
		b = find(h, path, head, n, false, false);
		b = b ? b : find_named(h, path);
		return give(h, b ? b : find(h, path, head, n, false, true), path, err, len);
	}
	snprintf(err, len, "%.256s: is text in UTF-16: make it UTF-8 with iconv -f UTF-16 -t UTF-8",
		 path);
	return -EINVAL;
}

static int keep(struct gt_host_state *h, char *path, struct member *m)
{
	struct gt_host_unpacked *more = reallocarray(h->unpacked, h->nunpacked + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	h->unpacked = more;
	more[h->nunpacked++] = (struct gt_host_unpacked){ path, m->damage, m->fd };
	m->damage = NULL;
	m->fd = -1;
	return 0;
}

/**
 * struct left_out - members of an archive that are not played
 * @n: their number
 * @name, @why: the first that may be a recording, and what is wrong with it
 */
struct left_out {
	unsigned int n;
	const char *name;
	const char *why;
};

/* Why a member that no backend knows may be a recording all the same, or NULL */
static const char *wrong_with(const struct member *m, const uint8_t *head, size_t n)
{
	if (m->damage)
		return m->damage;
	if (is_packed(head, n))
		return "is compressed itself";
	return is_utf16(head, n) ? "is text in UTF-16" : NULL;
}

static void leave_out(struct left_out *o, const struct member *m, const char *why)
{
	o->n++;
	if (!why || o->why)
		return;
	o->name = m->name;
	o->why = why;
}

/* Does a later member have the same name? tar(1) unpacks the last one. */
static bool is_replaced(const struct unpacked *u, unsigned int i)
{
	for (unsigned int k = i + 1; k < u->n; k++)
		if (!strcmp(u->member[k].name, u->member[i].name))
			return true;
	return false;
}

/* Has a member played if it is a recording; others are left out, as in a folder. */
static int give_member(struct gt_host_state *h, const char *path, struct member *m, bool only,
		       uint8_t *head, struct left_out *o, char *err, size_t len)
{
	ssize_t n = gt_pread(m->fd, head, HEAD, 0);
	struct gt_be *b = NULL;
	const char *wrong;
	char *name;
	int ret;

	if (only && n > 0 && is_utf16(head, (size_t)n))
		return give_file(h, path, head, (size_t)n, err, len);
	if (asprintf(&name, "%s%s%s", path, *m->name ? "/" : "", m->name) < 0)
		return -ENOMEM;
	if (n > 0 || only)
		b = find(h, only ? path : name, head, n > 0 ? (size_t)n : 0, false, only);
	wrong = b ? NULL : wrong_with(m, head, n > 0 ? (size_t)n : 0);
	if (!b && !wrong)
		b = find_named(h, name);
	if (!b) {
		leave_out(o, m, wrong);
		free(name);
		return 0;
	}
	ret = keep(h, name, m);
	if (ret)
		free(name);
	return ret ? ret : give(h, b, name, err, len);
}

/* The last member that is played gets the sentence about what is missing. */
static void report_left_out(struct gt_host_state *h, const char *path, const struct unpacked *u,
			    const struct left_out *o)
{
	struct gt_host_unpacked *last = &h->unpacked[h->nunpacked - 1];
	char *text;

	if (o->n)
		gt_host_log(h, NULL, LOG_INFO, "%s: %u of its %u files are left out", path, o->n,
			    u->n);
	if (!o->why || asprintf(&text,
				"%s%sis not all of the archive: %u of its %u files are left out, "
				"and %.128s %s",
				last->damage ? last->damage : "", last->damage ? "; " : "", o->n,
				u->n, o->name, o->why) < 0)
		return;
	free(last->damage);
	last->damage = text;
}

static int nothing_kept(const char *path, const struct unpacked *u, const struct left_out *o,
			char *err, size_t len)
{
	int n = snprintf(err, len,
			 "%.256s: none of its %u files is a recording; the first is %.128s", path,
			 u->n, u->member[0].name);

	if (o->why && (size_t)n < len)
		snprintf(err + n, len - (size_t)n, "; %.128s %.256s", o->name, o->why);
	return -EINVAL;
}

static int give_packed(struct gt_host_state *h, const char *path, int fd, uint8_t *head, char *err,
		       size_t len)
{
	unsigned int before = h->nunpacked;
	struct left_out o = { 0 };
	struct limits bounds = { 0 };
	struct unpacked u;
	char why[512];
	int ret = unpack(fd, &u, &bounds, why, sizeof(why));

	if (ret)
		snprintf(err, len, "%.256s: %s", path, why);
	for (unsigned int i = 0; i < u.n && !ret; i++)
		if (is_replaced(&u, i))
			leave_out(&o, &u.member[i], NULL);
		else
			ret = give_member(h, path, &u.member[i], u.n == 1, head, &o, err, len);
	if (!ret && h->nunpacked == before)
		ret = nothing_kept(path, &u, &o, err, len);
	if (!ret)
		report_left_out(h, path, &u, &o);
	unpacked_free(&u);
	return ret;
}

/** struct folder - a folder of recordings, some of them compressed; @ret: 0 or -ENOMEM */
struct folder {
	struct gt_host_state *h;
	struct limits bounds;
	int ret;
};

/* Why the unpacked file of a folder cannot be played, or NULL: there each file is one recording */
static const char *wrong_in_folder(const struct unpacked *u)
{
	uint8_t head[16];
	ssize_t n = gt_pread(u->member[0].fd, head, sizeof(head), 0);

	if (u->n > 1)
		return "is an archive of several files: name it in replay=";
	return n > 0 && is_packed(head, (size_t)n) ? "is compressed twice: unpack it first" : NULL;
}

/* Of a file that cannot be unpacked only the reason is kept. */
static void unpack_one(void *arg, int fd, const char *path)
{
	struct folder *f = arg;
	struct member none = { .fd = -1 }, *m = &none;
	struct limits before = f->bounds;
	char why[512], *name = strdup(path);
	const char *wrong = why;
	struct unpacked u;

	if (!unpack(fd, &u, &f->bounds, why, sizeof(why)))
		wrong = wrong_in_folder(&u);
	if (wrong) { /* its data is dropped */
		none.damage = strdup(wrong);
		f->bounds.size = before.size;
		f->bounds.done = before.done;
	} else {
		m = &u.member[0];
	}
	if (!name || (wrong && !none.damage) || keep(f->h, name, m)) {
		free(name);
		free(none.damage);
		f->ret = -ENOMEM;
	}
	unpacked_free(&u);
}

static int give_folder(struct gt_host_state *h, const char *path, char *err, size_t len)
{
	struct gt_be *b = find(h, path, NULL, 0, true, true);
	struct folder f = { .h = h };

	if (b && GT_HAS(b->be, packed) && b->be->packed)
		b->be->packed(path, unpack_one, &f);
	return f.ret ? f.ret : give(h, b, path, err, len);
}

/* What cannot be opened, or is neither file nor folder, goes to its player, which reports it. */
static int assign(struct gt_host_state *h, const char *path, uint8_t *head, char *err, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), ret;
	bool is = false, folder = false;
	struct stat st;
	ssize_t n = 0;

	if (fd >= 0 && !fstat(fd, &st)) {
		folder = S_ISDIR(st.st_mode);
		is = S_ISREG(st.st_mode);
	}
	if (is)
		n = gt_pread(fd, head, HEAD, 0);
	if (n > 0 && is_packed(head, (size_t)n))
		ret = give_packed(h, path, fd, head, err, len);
	else if (folder)
		ret = give_folder(h, path, err, len);
	else
		ret = give_file(h, path, head, n > 0 ? (size_t)n : 0, err, len);
	if (fd >= 0)
		close(fd);
	return ret;
}

void gt_host_unpacked_free(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->nunpacked; i++) {
		if (h->unpacked[i].fd >= 0)
			close(h->unpacked[i].fd);
		free(h->unpacked[i].path);
		free(h->unpacked[i].damage);
	}
	free(h->unpacked);
	h->unpacked = NULL;
	h->nunpacked = 0;
}

int gt_host_assign(struct gt_host_state *h, char *err, size_t len)
{
	char *list, *rest;
	uint8_t *head;
	int ret = 0;

	if (!h->conf.replay || !*h->conf.replay)
		return 0;
	list = rest = strdup(h->conf.replay);
	head = malloc(HEAD);
	if (!list || !head)
		ret = -ENOMEM;
	for (char *f = ret ? NULL : gt_path_next(&rest, ':'); f && !ret;
	     f = gt_path_next(&rest, ':'))
		ret = assign(h, f, head, err, len);
	free(head);
	free(list);
	if (ret == -ENOMEM)
		snprintf(err, len, "not enough memory");
	return ret;
}

bool gt_host_replay_failed(struct gt_host_state *h, char *err, size_t len)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; i < h->n; i++) {
		if (!h->be[i]->wanted || !gt_host_info(h, i, &info))
			continue;
		if (info.state == GT_BS_RUNNING || info.state == GT_BS_ENDED ||
		    info.state == GT_BS_PAUSED)
			continue;
		snprintf(err, len, "%s", info.last_error);
		return true;
	}
	return false;
}
