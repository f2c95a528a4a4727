/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The FUSE front end. One session thread answers requests, users in turn; a worker renders long
 * texts, and those that were dropped; the notifier wakes parked reads and pollers and watches
 * signals, the mount, devices and processes; the guard's sleeps until the machine does. Only this
 * folder and main.c include libfuse.
 *
 * Locks, outer first: gt_fs.lock (lists of parked reads, pollers, jobs and handles), gt_handle.lock
 * (its cursor), the model's. gt_fs.node_lock has none in it. No lock is held over a call that waits
 * for an answer of ours.
 */
#ifndef GT_FUSE_H
#define GT_FUSE_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../tree/tree.h"

/* What mountinfo says about a mount point; @fd is an open /proc/self/mountinfo. */

#define GT_DEV_LEN 32

/**
 * gt_mounted() - is there a file system of our type at @dir?
 * @dev: out: its device number as mountinfo writes it ("0:57"); may be NULL
 */
bool gt_mounted(int fd, const char *dir, char *dev);
/** gt_mounted_dev() - is the file system of this device number mounted anywhere? */
bool gt_mounted_dev(int fd, const char *dev);
/**
 * gt_mount_resolve() - the mount point's whole path, where a mount is stale the one that was given
 * @out: PATH_MAX bytes; @err: the sentence; Return: 0 or -errno
 */
int gt_mount_resolve(const char *dir, char *out, char *err, unsigned long len);
/**
 * gt_mount_prepare() - is @dir fit to be mounted on? A stale mount of ours (its daemon was killed) is
 *	taken away; a living one is refused
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mount_prepare(int fd, const char *dir, char *err, unsigned long len);

/*
 * Mounting. Root's daemon calls mount(2) itself and hands libfuse the descriptor: libfuse may run
 * mount(8) to have the mount noted in a table (Debian 13), for which the daemon has no rights left.
 *
 * A process beside the daemon takes the mount away when the daemon has gone, in whatever way it went.
 * Root's mounts, too, in a mount namespace that need not be the daemon's own.
 */

/**
 * struct gt_mounter - who mounts: the daemon, or the process, as the daemon sees it
 * @sock: to the helper process, which lives as long as this is open; -1: the daemon itself mounts
 * @watches: it is an ordinary user's, and only unmounts
 * @mountinfo: of the process's namespace; the session's once it has taken it. -1 without a process
 * @fuse: /dev/fuse, the session's once it is mounted; -errno: it could not be opened
 * @dir: the mount point as it is called there
 * @options: FUSE's and the kernel's, separated by commas, or NULL; the caller's
 */
struct gt_mounter {
	int sock, mountinfo, fuse;
	bool watches;
	char dir[PATH_MAX];
	const char *options;
};

/**
 * gt_mounter_start() - starts it; before rights are given up, and before the first thread
 * @ns: file of a mount namespace ("/proc/1/ns/mnt"), or NULL: the daemon's own
 * @dir: where to mount; looked at there as gt_mount_prepare() does
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mounter_start(struct gt_mounter *m, const char *ns, const char *dir, char *err, size_t len);
/**
 * gt_mounter_watch() - starts one that only unmounts, by fusermount3; before the first thread
 * @dir: the whole path of the mount point; @err: the sentence; Return: 0 or -errno
 */
int gt_mounter_watch(struct gt_mounter *m, const char *dir, char *err, size_t len);
/** gt_mounter_report() - the mount that it watches is there, with this device number in mountinfo */
void gt_mounter_report(struct gt_mounter *m, const char *dev);
/** gt_mounter_open() - opens /dev/fuse, before the daemon gives up opening files for writing */
void gt_mounter_open(struct gt_mounter *m);
/**
 * gt_mounter_mount() - mounts, after gt_mounter_open()
 * @dev: out: the mount's device number in mountinfo, GT_DEV_LEN bytes
 *
 * Return: the session's descriptor, to be handed to libfuse, or -errno
 */
int gt_mounter_mount(struct gt_mounter *m, char *dev);
/**
 * gt_mounter_stop() - has the helper unmount, and waits for it; does nothing without a helper. The
 * session's descriptor is closed by then: nobody would answer what unmounting may ask
 */
void gt_mounter_stop(struct gt_mounter *m);
/** gt_mounter_lost() - says in the log that it has ended before the daemon */
void gt_mounter_lost(const struct gt_mounter *m);
/**
 * gt_mounter_finish() - after gt_mounter_stop(): unmounts what a process that was killed has left,
 * if that is in this mount namespace; needs CAP_SYS_ADMIN
 * @dev: of gt_mounter_mount()
 */
void gt_mounter_finish(const struct gt_mounter *m, const char *dev);

/** struct gt_snap - one rendered text, shared by reference */
struct gt_snap {
	_Atomic unsigned int refs;
	struct gt_app *app;
	uint64_t gen;	      /* gt_poll_gen() before it was rendered */
	struct timespec time; /* when it was rendered: the file's mtime */
	size_t len;
	char data[];
};

#define GT_MIXED_LEN 1 /* the size of a mixed one: with 0, sendfile would not ask for more */

/**
 * struct gt_node - what the kernel holds an id of
 *
 * A directory, link or pipe has one node as long as the kernel remembers it, found by inode number;
 * a text file has a new one for each LOOKUP, with the text it will show (tree.md, Size). That is
 * dropped if the user looks up many more, and then rendered by open, as a long text is.
 *
 * Without a LOOKUP of its own a program comes to a text's node by a file that was bound to another
 * name, or a descriptor of O_PATH: it gets a text of its own. Pages of it that the kernel keeps, for
 * sendfile and mmap, would be everybody's who opens the node: once one did who sees other things
 * than the one who looked it up, the kernel is given none (@mixed). The worker waits for pages that
 * are being read, to have them dropped: what asks for one is never answered by the worker.
 */
struct gt_node {
	uint64_t id;		 /* the kernel's name of it */
	struct gt_node *same_id; /* of the same hash */
	struct gt_entry entry;
	uint64_t nlookup;
	unsigned int holds; /* open descriptors and queued work: the node outlives them */
	struct gt_node *next, **pprev; /* of its hash chain, or of gt_fs.old */
	TAILQ_ENTRY(gt_node) texts;    /* of gt_user.texts, with @snap */
	struct gt_snap *snap;	       /* of a short text: what the first open returns */
	size_t len;		       /* of its text, for stat; 0 not rendered */
	struct timespec time;	       /* when it was rendered */
	struct gt_user *user;	       /* of a text: who looked it up */
	bool old;		       /* of a text: it has been looked up again */
	bool differs;		       /* of a text: it depends on who looks, which was @view */
	_Atomic bool mixed;
	struct gt_view view;
	struct gt_fs *fs;
};

struct gt_handle;

/**
 * struct gt_guarded - a request answered later
 * @slot: its place in the guard and 1; 0 without a guard, GT_NONE32 if the guard is full
 */
struct gt_guarded {
	unsigned int slot;
};

/** struct gt_park - a read that waits for data */
struct gt_park {
	fuse_req_t req;
	struct gt_guarded guarded;
	size_t size;
	struct gt_handle *h;
	struct gt_user *user;
	bool queued;
	unsigned int pass;
	struct gt_park *next, *prev;
};

/** struct gt_handle - an open descriptor */
struct gt_handle {
	struct gt_fs *fs;
	struct gt_node *node;
	struct gt_view view;  /* of the opener, fixed */
	struct gt_user *user; /* the opener */
	/* text */
	struct gt_snap *snap;
	size_t bytes; /* counted for @snap */
	bool read_once;
	uint32_t last_write; /* hash of the last refused write */
	/* pipe */
	bool is_pipe; /* and counted as one */
	pthread_mutex_t lock;
	struct gt_cursor cursor;
	struct gt_text text; /* of a text pipe: lines not read yet */
	size_t text_at;
	struct gt_trace_past *past; /* likewise */
	char *back; /* taken for a read that nobody waited for any more: the next gets it */
	size_t back_len, back_at;
	unsigned int
		users; /* in gt_pipe_wake() and the worker, guarded by gt_fs.lock, with @closed */
	bool closed;   /* the last user frees it */
	/* poll */
	struct fuse_pollhandle *poll;
	_Atomic uint64_t seen_gen;   /* of the text last read; poll compares */
	_Atomic uint64_t poll_after; /* the next notice of a change comes no earlier, ns */
	_Atomic bool unread;	     /* the text has not been read at all */
	struct gt_handle *poll_next, *poll_prev;
	struct gt_handle *next, **pprev; /* gt_fs.handles */
};

#define GT_NODE_BUCKETS 65536
#define GT_CACHE_SLOTS	1024
#define GT_IDS		32 /* getrandom(2) gives 256 bytes whole, whatever signal comes */

struct gt_job_open {
	fuse_req_t req;
	struct gt_guarded guarded;
	struct fuse_file_info fi;
	struct gt_node *node;
	struct gt_user *user;
	struct gt_view view;
	bool foreign;		 /* not what the node's finder sees */
	struct gt_handle *again; /* NULL: an open. Else a read of @size bytes from its start */
	size_t size;
	struct gt_job_open *next;
};

/** struct gt_turn - one user's requests that wait, @n of them; @uid: that user, while there are any */
struct gt_turn {
	STAILQ_HEAD(, gt_message) messages;
	unsigned int n;
	uint32_t uid;
	TAILQ_ENTRY(gt_turn) next;
};

#define GT_TURNS 256

/** struct gt_turns - requests that were taken from the kernel and wait, @n of them, by user; the user
 * at the head of @waiting is served next */
struct gt_turns {
	struct gt_turn user[GT_TURNS];
	TAILQ_HEAD(, gt_turn) waiting;
	unsigned int n;
};

struct gt_readbuf {
	char *buf;
	size_t size;
};

struct gt_fs {
	struct gt_app *app;
	struct gt_shown shown;
	struct gt_readbuf session_buf, notifier_buf; /* one a thread */
	struct fuse_session *se;
	struct fuse_buf buf;		 /* what the session thread read last */
	struct gt_turns turns;		 /* the session thread's, as the next two */
	uint64_t serving;		 /* the request that is being answered */
	struct gt_guarded *serving_kept; /* NULL: it did not wait for its turn */
	struct gt_guard *guard;		 /* NULL: none to be had */
	struct gt_node root;
	struct gt_node
		*buckets[GT_NODE_BUCKETS];	/* guarded by node_lock, with every node's counts */
	struct gt_node *by_id[GT_NODE_BUCKETS]; /* all but the root; the same lock */
	uint64_t ids[GT_IDS]; /* for new nodes, @ids_left of them; the same lock */
	unsigned int ids_left;
	struct gt_node *old; /* of texts that were looked up again; the same lock */
	pthread_mutex_t node_lock;
	struct {
		ino_t ino;
		struct gt_snap *snap;
	} cache[GT_CACHE_SLOTS];

	pthread_mutex_t lock;
	struct gt_park *parked;
	struct gt_handle *polls;
	struct gt_handle *handles; /* all, to be freed at the end */
	int wake;		   /* eventfd: something new for the notifier */
	_Atomic bool waiting;	   /* somebody is parked or polls */
	_Atomic bool answered; /* by the guard: all that are parked; they are in the list still */
	_Atomic bool ending;
	_Atomic uint64_t end_head; /* when ending: readers get what was in the log by then */
	_Atomic bool ended;	   /* the session loop has left */
	pthread_t loop, notifier, worker;
	struct timespec started; /* CLOCK_REALTIME */
	int signals;		 /* signalfd */
	int mountinfo;
	unsigned int max_read;	    /* as the mount options have it, 0: not there */
	struct gt_mounter *mounter; /* NULL: libfuse mounts */
	char dev[32];		    /* the mount's device number in mountinfo; "" not known */
	int processes;		    /* epoll of gt_procwatch */
	int uevents;		    /* of gt_uevent_open() */
	struct {
		bool devices, backends;		  /* to be looked at */
		uint64_t devices_at, backends_at; /* no earlier, CLOCK_MONOTONIC */
	} hotplug;				  /* the notifier's */

	pthread_cond_t work;
	struct gt_job_open *jobs, **jobs_tail;
	_Atomic bool worker_stop, worker_left;
};

/* file.c */
/** gt_snap_get() - the text now; from the cache if it cannot have changed. Session thread only. */
struct gt_snap *gt_snap_get(struct gt_fs *fs, const struct gt_entry *e, const struct gt_view *v,
			    int *err);
struct gt_snap *gt_snap_ref(struct gt_snap *s);
void gt_snap_put(struct gt_snap *s);
void gt_snap_flush(struct gt_fs *fs);
/** gt_poll_gen() - the same for every file: the model's where it has none of its own */
uint64_t gt_poll_gen(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v);

/* node.c */
void gt_node_hold(struct gt_node *n);
/** gt_node_take_text() - the text to open, which the next open does not get; NULL if the node has no text */
struct gt_snap *gt_node_take_text(struct gt_node *n);
/** gt_node_measure() - @s is the text that stat measures, unless @n is mixed */
void gt_node_measure(struct gt_node *n, const struct gt_snap *s);
/** gt_node_mix() - @n is mixed from now on: there is no one text to measure */
void gt_node_mix(struct gt_node *n);
void gt_node_release(struct gt_node *n);
void gt_node_free_all(struct gt_fs *fs);
/** gt_req_node() - the node of a request; NULL if it does not exist, and then the request was answered */
struct gt_node *gt_req_node(fuse_req_t req, fuse_ino_t ino);
fuse_ino_t gt_node_id(const struct gt_node *n);

/* node.c, file.c, pipe.c */
extern const struct fuse_lowlevel_ops gt_fuse_ops;
void gt_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void gt_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi);
void gt_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void gt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void gt_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void gt_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		 struct fuse_file_info *fi);
void gt_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void gt_op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		struct fuse_pollhandle *ph);
/** gt_is_late() - is the text of @n rendered by open? Session thread only */
bool gt_is_late(const struct gt_node *n);
struct gt_view gt_req_view(struct gt_fs *fs, fuse_req_t req);
/** gt_req_user() - the account that @req counts in; @v: what the caller sees, if that is known */
struct gt_user *gt_req_user(struct gt_fs *fs, fuse_req_t req, const struct gt_view *v);
void gt_handle_free(struct gt_handle *h);

bool gt_is_pipe(const struct gt_entry *e);
int gt_pipe_open(struct gt_handle *h);
void gt_pipe_close(struct gt_handle *h);
/** gt_handle_closing() - ends parked reads of @h; false: it is in use, and freed by who uses it */
bool gt_handle_closing(struct gt_handle *h);
/** gt_handle_hold() - for a read that another thread answers; any thread, as gt_handle_put() */
void gt_handle_hold(struct gt_handle *h);
void gt_handle_put(struct gt_handle *h);
void gt_pipe_read(fuse_req_t req, struct gt_handle *h, size_t size, bool nonblock);
bool gt_pipe_ready(struct gt_handle *h);
/** gt_pipe_wake() - answers parked reads that have data; with @end all of them, with end of file */
void gt_pipe_wake(struct gt_fs *fs, bool end);
/** gt_pipe_interrupt() - answers all parked reads with EINTR */
void gt_pipe_interrupt(struct gt_fs *fs);

/* guard.c */
int gt_guard_start(struct gt_fs *fs);
void gt_guard_stop(struct gt_fs *fs);
void gt_guard_free(struct gt_fs *fs);
void gt_guard_keep(struct gt_fs *fs, struct gt_guarded *r, uint64_t unique);
void gt_guard_add(struct gt_fs *fs, struct gt_guarded *r);
void gt_guard_del(struct gt_fs *fs, struct gt_guarded *r);
void gt_guard_catch_up(struct gt_fs *fs);
bool gt_guard_fired(struct gt_fs *fs);

/* turns.c */
/** gt_turns_serve() - answers one request, and waits for it; as fuse_session_receive_buf() returns */
int gt_turns_serve(struct gt_fs *fs);
/**
 * gt_turns_check() - answers what waits for its turn with EINTR, if the guard has answered requests
 *
 * Before the session thread does what releases a descriptor or a node: its last user may be a
 * request that the kernel holds for answered, while the message still waits here.
 */
void gt_turns_check(struct gt_fs *fs);
/** gt_turns_free() - at the end: the kernel answers what is left */
void gt_turns_free(struct gt_fs *fs);

/* file.c */
void *gt_worker_main(void *fs);

/* notify.c */
void *gt_notifier_main(void *fs);
/**
 * gt_poll_text() - has the text changed since it was read, and may the poller be notified now?
 *	Then it counts as notified
 */
bool gt_poll_text(struct gt_handle *h);
void gt_notify_wake(struct gt_fs *fs);
int gt_poll_add(struct gt_handle *h, struct fuse_pollhandle *ph);
void gt_poll_remove(struct gt_handle *h);

/** gt_fs_now() - CLOCK_MONOTONIC, ns */
uint64_t gt_fs_now(void);

/** gt_gone_error() - the errno for a name or folder of @obj on a GPU that has gone; @err in general */
int gt_gone_error(struct gt_fs *fs, const struct gt_obj *obj, int err);

/* session.c */
/** gt_fs_new() - NULL: errno and the sentence in @err */
struct gt_fs *gt_fs_new(struct gt_app *app, struct fuse_args *args, struct gt_mounter *mounter,
			char *err, size_t len);
int gt_fs_mount(struct gt_fs *fs, const char *dir, char *err, size_t len);
/** gt_fs_run() - answers until unmounted, or a signal; then ends readers and unmounts */
int gt_fs_run(struct gt_fs *fs);
void gt_fs_free(struct gt_fs *fs);

#endif
