/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree: which directories and files there are, and what each shows. One const table of files
 * per kind of directory drives lookup, readdir, open, stat, the README and the manual. No FUSE
 * here.
 *
 * tree.c      kinds of directories, lookup        readdir.c   what is in a directory, and where
 * perms.c     who may see, read and write what    settings.c  config/: settings, writes to files
 * root.c      files of the root                   status.c    status, doctor
 * gpu.c       files of GPUs and rings             queue.c, proc.c, kernel.c, userdir.c: of theirs
 * tables.c    tables of the root and of GPUs      stats.c     busy time, counters, depth, rates
 * report.c    report, timeline                    blame.c, held.c: blame
 * control.c   commands written to control
 */
#ifndef GT_TREE_H
#define GT_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "../app.h"
#include "../stream/stream.h"
#include "../text/text.h"

enum gt_dir_kind {
	GT_DIR_ROOT,
	GT_DIR_CONFIG,
	GT_DIR_BACKENDS,
	GT_DIR_BACKEND, /* id: index */
	GT_DIR_GPU,	/* gpu */
	GT_DIR_RING,	/* gpu, ring */
	GT_DIR_BY_NAME, /* gpu */
	GT_DIR_QUEUES,	/* gpu */
	GT_DIR_QUEUE,	/* gpu, id: index in model->queues */
	GT_DIR_PROCS,	/* gpu, or GT_NONE16: the root's */
	GT_DIR_PROC, /* gpu or GT_NONE16; id: slot, start and pid: who it was; or gt_obj_is_own() */
	GT_DIR_PROC_QUEUES, /* the same; links */
	GT_DIR_USERS,
	GT_DIR_USER,	/* id: index in model->groups, start: serial */
	GT_DIR_CGROUP,	/* the same; 0 and 0: the root's `cgroups` */
	GT_DIR_KERNELS, /* gpu */
	GT_DIR_KERNEL,	/* gpu, id: index in model->kernels */
	GT_DIR_MADES,	/* id: index of the backend: where users make directories */
	GT_DIR_MADE,	/* the same; start: serial, pid: the uid of who made it */
	GT_DIR_BY_ID,	/* links to GPUs */
	GT_NDIRS
};

/**
 * struct gt_obj - names a directory; equal objects are equal in every field
 * @life: gt_gpu.life when it was looked up, 0 without a GPU: a GPU that went and came back is
 * another
 */
struct gt_obj {
	uint8_t kind; /* enum gt_dir_kind */
	uint16_t gpu, ring;
	uint32_t life;
	uint32_t id;
	uint32_t pid;
	uint64_t start;
};

/**
 * gt_obj_is_own() - the directory of any process without GPU work: one for all, in which each reader
 *	finds its own process, and no reader another
 */
static inline bool gt_obj_is_own(const struct gt_obj *dir)
{
	return dir->kind == GT_DIR_PROC && dir->id == GT_NONE32;
}

struct gt_show {
	struct gt_app *app;
	struct gt_obj obj;
	struct gt_view view;
	const struct gt_file *file;
};

#define GT_FILE_VIEW   0x01 /* differs by caller: never shared, entry timeout 0 */
#define GT_FILE_LONG   0x02 /* rendered by open, not by lookup: it is long, or takes long */
#define GT_FILE_PIPE   0x04 /* binary pipe */
#define GT_FILE_TPIPE  0x08 /* text pipe */
#define GT_FILE_LINK   0x10 /* symbolic link; show writes the target, no newline */
#define GT_FILE_STATIC 0x20 /* never changes while the daemon runs */
#define GT_FILE_AGAIN                                                                              \
	0x40 /* a LONG one that is rendered anew when it is read from the start again */
#define GT_FILE_LOOKS (GT_FILE_LONG | GT_FILE_AGAIN) /* calls gt_app_look(), which may wait */
#define GT_FILE_KEYED 0x80			     /* keyed lines */
#define GT_FILE_PROSE 0x100			     /* for people, or of a foreign format */

/**
 * struct gt_file - one file of a directory
 * @show: writes the whole text, of a table its rows. 0, -ENODEV if the object has gone, -ENODATA if it
 *	cannot be known for the moment, or another errno for open. Called by gt_tree_show()
 * @store: one whole value, NUL-terminated, trimmed. 0 or -errno with the sentence in @err
 * @exists: NULL: always
 * @gen: a number that changes whenever the text does; NULL: it may change at any time. Called
 *	without the model's lock; must be cheap (one lock, a few loads)
 * @help: one line: what it shows (README, manual)
 * @fields: with GT_FILE_KEYED its keys, else columns of a table; a blank between two. A key with `*` stands
 *	for all that match. NULL: a value, or GT_FILE_PROSE, or a pipe or link
 */
struct gt_file {
	const char *name;
	mode_t mode;
	unsigned int flags;
	int (*show)(struct gt_text *t, const struct gt_show *s);
	int (*store)(const struct gt_show *s, const char *value, char *err, size_t len);
	bool (*exists)(const struct gt_show *s);
	uint64_t (*gen)(const struct gt_show *s);
	const char *help;
	const char *fields;
};

/** gt_file_format() - one of value, keyed, table, text, binary pipe, text pipe and link */
const char *gt_file_format(const struct gt_file *f);
/** gt_backend_file_format() - likewise of a backend's text: table or text */
static inline const char *gt_backend_file_format(const struct gt_backend_file *f)
{
	return f->columns ? "table" : "text";
}

enum gt_entry_kind { GT_ENTRY_DIR, GT_ENTRY_FILE, GT_ENTRY_LINK };

/**
 * struct gt_entry - what a name stands for
 * @obj: of a directory: itself; of a file or link: the directory that holds it
 * @ino: the same for the same thing as long as the daemon runs, never 0
 * @shared: the same for every caller: may be cached for a second
 */
struct gt_entry {
	enum gt_entry_kind kind;
	struct gt_obj obj;
	const struct gt_file *file;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	ino_t ino;
	bool shared;
	char target[256]; /* of a link */
	/* a file that the tables do not hold (an option of a backend) has its description here */
	struct gt_file dyn;
	char dyn_name[64];
};

/**
 * gt_tree_show() - the whole text of s->file: a value, keyed lines, or a table with columns that line up;
 *	"unavailable" if it cannot be known for the moment
 * Return: 0 or -errno, for open
 */
int gt_tree_show(struct gt_text *t, const struct gt_show *s);

extern const struct gt_obj gt_tree_root;

/** gt_tree_entry() - the entry of a directory itself; -ENODEV/-ENOENT if its object has gone */
int gt_tree_entry(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		  struct gt_entry *out);
/** gt_lookup_depends_on_caller() - true if looking up @name in @dir gives different results to different callers */
bool gt_lookup_depends_on_caller(const struct gt_obj *dir, const char *name);
/** gt_tree_lookup() - @name in @dir as @v sees it: 0, -ENOENT, -ENODEV, -ENAMETOOLONG */
int gt_tree_lookup(struct gt_app *app, const struct gt_obj *dir, const char *name,
		   const struct gt_view *v, struct gt_entry *out);
/**
 * gt_tree_parent() - the directory above; the root's is itself, a cgroup's the first of them
 */
struct gt_obj gt_tree_parent(const struct gt_obj *dir);
/**
 * gt_tree_readdir() - calls @fn for each name from position @pos on (0: the first); @fn gets the
 *	position to go on at, and returns false to stop. "." and ".." are not among them. Positions
 *	stay valid while other objects come and go.
 */
#define GT_POS_INDEX_BITS                                                                          \
	24 /* of a position: an index; above it the kind of things, fewer than 7 */
typedef bool (*gt_tree_fill)(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next);
int gt_tree_readdir(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		    uint64_t pos, gt_tree_fill fn, void *arg);
/** gt_tree_nlink() - 2 + directories in it, as `find` expects (1 if not known: find then copes) */
unsigned int gt_tree_nlink(const struct gt_obj *dir);

/** gt_tree_scope() - which records the pipes of a directory show to @v */
struct gt_scope gt_tree_scope(const struct gt_app *app, const struct gt_obj *dir,
			      const struct gt_view *v);
/** gt_tree_alive() - does the object still exist? Pipes of a gone one end, of a GPU's with ENODEV.
 */
bool gt_tree_alive(struct gt_app *app, const struct gt_obj *obj);

/** gt_tree_gone() - did @obj belong to a GPU that has gone since it was looked up? Takes the lock
 */
bool gt_tree_gone(struct gt_app *app, const struct gt_obj *obj);

/** struct gt_trace_past - what a reader of `trace` has seen: the ioctls that threads are inside of,
 *	by thread id, where one may push out another; all 0 at first
 */
struct gt_trace_past {
	struct {
		uint32_t tid;
		const char *command;
	} in[64];
};
/** gt_trace_line() - a record that @v may see as a line of `trace`; names from the model (lock
 *	taken), and from @past (may be NULL)
 */
void gt_trace_line(struct gt_text *t, struct gt_app *app, const struct gt_view *v,
		   const union gt_record *r, struct gt_trace_past *past);

/** The tables, by kind of directory; each ends with a NULL name. */
extern const struct gt_file *const gt_tree_files[GT_NDIRS];

/** struct gt_section - a kind of directory in README and gputrace-files(5); @path: where it is */
struct gt_section {
	enum gt_dir_kind kind;
	const char *path, *what;
};
/** gt_tree_sections - those that have files or links; ends with a NULL path */
extern const struct gt_section gt_tree_sections[];

/** gt_tree_make() - mkdir(2) of @name in @dir: 0, -EPERM, -EEXIST, … as last_cmd_status then says */
int gt_tree_make(struct gt_app *app, const struct gt_obj *dir, const char *name,
		 const struct gt_view *v);
/** gt_tree_unmake() - likewise rmdir(2) */
int gt_tree_unmake(struct gt_app *app, const struct gt_obj *dir, const char *name,
		   const struct gt_view *v);

/**
 * gt_tree_refused() - an open of @name for writing, or making it, failed: no value came, and
 *	last_cmd_status and error_log of @v say so
 * @err: -errno; @why: NULL: what that means
 */
void gt_tree_refused(struct gt_app *app, const struct gt_obj *dir, const char *name,
		     const struct gt_view *v, int err, const char *why);
/**
 * gt_tree_store() - checks the view, trims, stores, and writes last_cmd_status and error_log
 * @data: the value; if @len is more than 4096, which is refused, 4096 bytes of it
 * @writer: who wrote, which need not be who opened the file: what came of it is said to that one
 */
int gt_tree_store(const struct gt_show *s, const struct gt_view *writer, const char *path,
		  const char *data, size_t len, bool repeat);

/* Settings that are not the gate's: gt_file.show and .store */
int gt_store_profile(const struct gt_show *s, const char *value, char *err,
		     size_t len); /* kernel.c */

/** gt_show_control() - start or stop, in a replay play or pause: which it is now */
int gt_show_control(struct gt_text *t, const struct gt_show *s);
/** gt_show_available_control() - what it takes */
int gt_show_available_control(struct gt_text *t, const struct gt_show *s);
/**
 * gt_store_control() - start, stop, clear, rescan; in a replay also play, pause and
 *	seek [+-]N[s|ms|us|ns]
 * Return: -EINVAL for another word, -EOPNOTSUPP where no backend can, -ERANGE
 */
int gt_store_control(const struct gt_show *s, const char *value, char *err, size_t len);
uint64_t gt_gen_control(const struct gt_show *s);

/* Inode numbers and positions in directories as users see them, by a secret of the mount. */

/** struct gt_shown - the secret, which is another for each mount */
struct gt_shown {
	uint64_t key[2];
};

/** gt_shown_init() - a new secret; -EIO: the kernel gives no random numbers */
int gt_shown_init(struct gt_shown *s);
/** gt_shown_ino() - for the tree's @ino, always the same; 63 bits, and the root stays 1 */
ino_t gt_shown_ino(const struct gt_shown *s, ino_t ino);
/**
 * gt_shown_pos() - for position @pos of gt_tree_readdir() in directory @dir; 0 stays 0. At most three
 *	bits more than GT_POS_INDEX_BITS, so that it fits 31
 */
uint64_t gt_shown_pos(const struct gt_shown *s, ino_t dir, uint64_t pos);
/** gt_tree_pos() - the position that is shown so; of a number that never was, any */
uint64_t gt_tree_pos(const struct gt_shown *s, ino_t dir, uint64_t shown);
/** gt_siphash() - SipHash-2-4 of @n words, least significant byte first */
uint64_t gt_siphash(const uint64_t key[2], const uint64_t *word, unsigned int n);

/* Who may read and write which setting: the defaults, and section [access] of the configuration. */

/** struct gt_perms - as of a file; only bits of 0666 */
struct gt_perms {
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/**
 * gt_perms_init() - checks that each line of [access] means a setting of this tree, and has their
 *	groups that are tracked. After gt_access_init(), and when the host knows its backends
 *
 * In a mount by an ordinary user everything belongs to that user, whatever the lines say.
 *
 * Return: 0, or -EINVAL with "FILE:LINE: sentence" in @err
 */
int gt_perms_init(struct gt_app *app, char *err, size_t len);

/** gt_perms_of() - of file @f in @dir: each line that matches, in order, so that the last one wins
 */
struct gt_perms gt_perms_of(const struct gt_app *app, const struct gt_obj *dir,
			    const struct gt_file *f);

/**
 * gt_perms_may() - may @v do that? As the kernel decides it, but that capabilities count for
 * nothing with other users than root
 * @want: 4 read, 2 write
 */
bool gt_perms_may(const struct gt_perms *p, const struct gt_view *v, unsigned int want);

/** gt_perms_say() - "0660 root:perf", with numbers for what has no name */
void gt_perms_say(const struct gt_perms *p, char *out, size_t len);

/** gt_tree_path() - a file that can be written, from the root: config/level, backends/ftrace/cpu */
void gt_tree_path(const struct gt_app *app, const struct gt_obj *dir, const char *name, char *out,
		  size_t len);

/*
 * What became of writes: the last one of each user and session (last_cmd_status) and the last
 * refused ones (error_log). Both are bounded, and nobody pushes others out of them; any thread.
 */

/*
 * How many entries there are, and how many of these one user may have: one more pushes out the
 * oldest own one. Where there is no room otherwise, who has most loses the oldest; root's stay. All
 * who have one uid in other PID namespaces are one user.
 */
#define GT_WRITELOG_ERRORS    64
#define GT_WRITELOG_ERRORS_1  8
#define GT_WRITELOG_CALLERS   256 /* users and sessions */
#define GT_WRITELOG_CALLERS_1 32
#define GT_WRITELOG_VALUE     64 /* bytes of a refused value that are kept */
#define GT_WRITELOG_SENTENCE  256
#define GT_WRITELOG_PATH      128
#define GT_WRITELOG_STATUS    (GT_WRITELOG_PATH + GT_WRITELOG_SENTENCE + 3) /* "path: sentence" */

/**
 * struct gt_refused - one refused write
 * @realtime: CLOCK_REALTIME, seconds
 * @len: of the value as it was written; more than GT_WRITELOG_VALUE of it is cut
 * @at: offset of the fault in the value, or GT_NONE32
 */
struct gt_refused {
	int64_t realtime;
	uint32_t pid, own_pid, uid; /* pid as the daemon and as the writer know it */
	uint64_t ns;		    /* the writer's PID namespace */
	int err;		    /* errno, positive */
	char path[GT_WRITELOG_PATH];
	char value[GT_WRITELOG_VALUE];
	size_t len;
	uint32_t at;
	char sentence[GT_WRITELOG_SENTENCE];
};

/** gt_writelog_new() - NULL if there is no memory */
struct gt_writelog *gt_writelog_new(void);
void gt_writelog_free(struct gt_writelog *w);

/** gt_writelog_session() - session id of @pid by /proc; 0 if it is not there */
uint32_t gt_writelog_session(uint32_t pid);

/** gt_writelog_status() - @sentence is what last_cmd_status says to @uid of PID namespace @ns in
 * @session from now on */
void gt_writelog_status(struct gt_writelog *w, uint32_t uid, uint64_t ns, uint32_t session,
			const char *sentence);

/** gt_writelog_show_status() - the sentence, or "ok" to who has written nothing */
void gt_writelog_show_status(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v);
/** gt_writelog_show_errors() - the viewer's own entries, oldest first; all of them to root, and
 * those of a PID namespace to its root */
void gt_writelog_show_errors(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v);
/** gt_writelog_gen() - changes with every write */
uint64_t gt_writelog_gen(struct gt_writelog *w);

#endif
