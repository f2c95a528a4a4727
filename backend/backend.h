/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A backend plugin's ABI. A plugin is a shared object in the plugin folder that exports one symbol,
 *
 *	GT_EXPORT const struct gt_backend gt_backend = { .abi = GT_BACKEND_ABI, ... };
 *
 * The host calls every hook from one thread, the ingest thread, so a plugin needs no locks. A plugin
 * that fails is quarantined: it is stopped, its last error is shown in `backends/<name>/last_error`
 * and `doctor`, and everything else goes on. tests/plugin/minimal.c is a commented example.
 */
#ifndef GT_BACKEND_H
#define GT_BACKEND_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * What a source reads on demand: sensors of a GPU (gt_host.reading), what a process holds and has used
 * (gt_host.usage), and places of queues on the hardware (gt_host.queues_hw).
 */

/* The file of the GPU that shows it; BUSY: `utilization` */
enum gt_gauge_kind {
	GT_GAUGE_MEMORY,
	GT_GAUGE_CLOCK,
	GT_GAUGE_POWER,
	GT_GAUGE_TEMPERATURE,
	GT_GAUGE_BUSY,
	GT_GAUGE_KINDS
};

#define GT_GAUGES_MAX 96 /* of a GPU */

/** struct gt_gauge - one value; @key: name as shown, with the unit, [a-z0-9_] */
struct gt_gauge {
	char key[38];
	uint16_t kind; /* enum gt_gauge_kind */
	int64_t value;
};

/**
 * struct gt_reading - sensors of one GPU
 * @has: 1 << enum gt_gauge_kind for each kind that the GPU has; a missing value is not known yet
 * @power: word for whether it sleeps, "active", "suspended"; "" unknown
 */
struct gt_reading {
	uint16_t gpu;
	uint16_t has;
	uint64_t at;
	char power[16];
	unsigned int n;
	const struct gt_gauge *gauge;
};

#define GT_USE_NAME    20
#define GT_USE_ENGINES 16 /* of a process on a GPU */
#define GT_USE_REGIONS 16

/** struct gt_use_engine - @ns: time it was busy for the process; @capacity: number of such engines */
struct gt_use_engine {
	char name[GT_USE_NAME];
	uint64_t ns;
	uint32_t capacity;
};

/** struct gt_use_region - memory of a kind, in bytes; UINT64_MAX unknown */
struct gt_use_region {
	char name[GT_USE_NAME];
	uint64_t total, resident, shared, active, purgeable;
};

/** struct gt_use_who - identity of a process of another machine; @start: ns since boot */
struct gt_use_who {
	uint64_t start;
	uint32_t uid;
	const char *comm, *cgroup;
};

/** struct gt_use_kfd - a process by AMD's compute driver; UINT64_MAX unknown */
struct gt_use_kfd {
	uint64_t vram, sdma_us, evicted_ms, cu_occupancy;
};

/**
 * struct gt_usage - use of one GPU by one process
 * @since, @at: interval of the engines' times
 * @memory: the regions are all that it holds now; else they are not reported
 * @who: NULL: a process of this machine
 * @kfd: NULL: not reported
 */
struct gt_usage {
	uint16_t gpu;
	uint32_t pid;
	uint64_t since, at;
	unsigned int nengines, nregions;
	const struct gt_use_engine *engine;
	const struct gt_use_region *region;
	bool memory;
	const struct gt_use_who *who;
	const struct gt_use_kfd *kfd;
};

#define GT_QUEUE_SLOTS 16 /* of the hardware that a queue has: one in each compute part */

/**
 * struct gt_queue_slot - @inst: of the compute part; of SDMA @pipe is the engine
 * @vmid: address space; GT_NONE16 unknown
 */
struct gt_queue_slot {
	uint16_t inst, pipe, queue, vmid;
	uint64_t rptr, wptr;
};

/**
 * struct gt_queue_hw - a queue's descriptor in memory (MQD), and its slots (HQD); unknown values are all
 * ones
 * @queue: ID below queues/; GT_NONE32: the queue of @pid with packets at @base
 * @address: of the descriptor
 * @base: of the ring
 * @rptr, @wptr: as last saved
 */
struct gt_queue_hw {
	uint16_t gpu;
	uint32_t queue, pid;
	bool sdma, active;
	uint64_t address, doorbell, base, size, rptr, wptr;
	unsigned int nslots;
	struct gt_queue_slot slot[GT_QUEUE_SLOTS];
};

/*
 * Description of a kernel that ran on a GPU, besides its DISPATCH events: owner, whole name, resources,
 * counters, and texts. See gt_host.kernel.
 */

/* Registers are those of a work-item (SGPR: of a wave), LDS and scratch are bytes. */
enum gt_kernel_value {
	GT_KV_VGPR,
	GT_KV_AGPR,
	GT_KV_SGPR,
	GT_KV_LDS,
	GT_KV_SCRATCH,
	GT_KV_GRID_X,
	GT_KV_GRID_Y,
	GT_KV_GRID_Z,
	GT_KV_WORKGROUP_X,
	GT_KV_WORKGROUP_Y,
	GT_KV_WORKGROUP_Z,
	GT_KERNEL_VALUES
};

#define GT_KERNEL_NAME_MAX 65536 /* bytes of a name that are kept */
#define GT_KERNEL_TEXT_MAX 65536 /* bytes of a text, with its NUL */

/**
 * enum gt_kernel_text - texts of a kernel, from a thread trace
 * @GT_KT_HOTSPOTS: rows of a table: latency, stall and idle cycles, hits, issued and stalled samples,
 *	source, instruction; a word each, "-" unknown
 * @GT_KT_HOTSPOTS_STATS: keyed lines
 * @GT_KT_OCCUPANCY: rows of a table: se, cu, waves, peak, avg_waves, cycles
 */
enum gt_kernel_text { GT_KT_HOTSPOTS, GT_KT_HOTSPOTS_STATS, GT_KT_OCCUPANCY, GT_KERNEL_TEXTS };

/**
 * struct gt_kernel_desc - a kernel of a GPU; unknown values are all ones
 * @id: as returned by gt_host.kernel, then @name and @hash are ignored; GT_NONE32: by its name
 * @uid: owner of the file that the kernel is from. Kernels of two users are different
 * @name: @len bytes, anything, of which at most GT_KERNEL_NAME_MAX are kept
 * @hash: of the whole name if @name is only its beginning; 0: @name is complete
 * @value: by enum gt_kernel_value; one that differs from an earlier value widens the range
 * @ts, @queue_ns: a dispatch that ended at @ts had waited so long
 * @calls, @total_ns, @min_ns, @max_ns: of all dispatches, from a file of statistics; used if no single
 *	dispatch is reported
 */
struct gt_kernel_desc {
	uint32_t id;
	uint32_t uid;
	uint16_t gpu;
	const char *name;
	size_t len;
	uint64_t hash;
	uint32_t value[GT_KERNEL_VALUES];
	uint64_t ts, queue_ns;
	uint64_t calls, total_ns, min_ns, max_ns;
};

/** gt_kernel_init() - everything unknown */
static inline void gt_kernel_init(struct gt_kernel_desc *d)
{
	__builtin_memset(d, 0xff, sizeof(*d));
	d->name = NULL;
	d->len = 0;
	d->hash = 0;
}

#define GT_BACKEND_ABI	  6
#define GT_BACKEND_SYMBOL "gt_backend"
#define GT_EXPORT	  __attribute__((visibility("default")))

struct gt_plugin;

enum gt_option_type { GT_OPT_INT, GT_OPT_BOOL, GT_OPT_STR };

#define GT_OPT_RUNTIME 0x1 /* may be changed while running: the plugin has a set() hook */
#define GT_OPT_HIDDEN  0x2 /* for tests: not shown as a file under backends/<name>/ */
/* Of an older version: a configuration that has it gets a warning. It has no value and no file. */
#define GT_OPT_GONE 0x4

/**
 * struct gt_option - one setting of a backend
 * @name: key in section [backend NAME] of the configuration, and file under backends/<name>/
 * @off: offset in the plugin's own options struct: an int64_t, a bool, or a char * (the host's)
 * @def: default as text; NULL is 0, false or an empty string
 * @min, @max: bounds of a GT_OPT_INT, inclusive
 * @help: one line, no full stop
 *
 * The table ends with an entry without a name.
 */
struct gt_option {
	const char *name;
	enum gt_option_type type;
	unsigned int flags;
	size_t off;
	const char *def;
	int64_t min, max;
	const char *help;
};

#define GT_BACKEND_DOCTOR_MAX 65536	 /* bytes of doctor()'s text, with its NUL */
#define GT_BACKEND_TEXT_MAX   (1u << 20) /* of a file of the backend's own */

/**
 * struct gt_backend_file - a text of a backend's own, a file under backends/<name>/
 * @name: the file's
 * @help: one line, no full stop
 * @show: writes all of it into @buf (at most @len bytes, NUL-terminated), of a table its rows; or
 *	"unavailable\n". Called while the backend runs; else the text is empty
 * @columns: names of a table's columns, a blank between two; NULL: the text is no table
 *
 * The text may name any process, so only callers with a full view can read it. The table ends with an
 * entry without a name.
 */
struct gt_backend_file {
	const char *name;
	const char *help;
	void (*show)(struct gt_plugin *p, char *buf, size_t len);
	const char *columns;
};

#define GT_USERDIR_NAME	    64	       /* bytes of a user directory's name, with its NUL */
#define GT_USERDIR_TEXT_MAX (1u << 20) /* bytes of a text in one, with its NUL */

/**
 * struct gt_userdir - a user directory: one that a user made in a backend's directory
 * @name: [A-Za-z0-9_+-][A-Za-z0-9_.+-]*, unique for each user
 * @uid: its owner
 * @whole: everybody who made or changed it had a full view, and so has the reader of its texts
 * @serial: unique for ever
 * @value: the settings as text, by index of the file; NULL for a file that is no setting
 */
struct gt_userdir {
	char name[GT_USERDIR_NAME];
	uint32_t uid;
	bool whole;
	uint64_t serial;
	char **value;
};

#define GT_USERDIR_STARTS                                                                          \
	0x1 /* the backend may have something to do after a change: it is tried again */

/**
 * struct gt_userdir_file - a file in a user directory: a setting, or a text
 * @name, @help: as of struct gt_backend_file
 * @flags: GT_USERDIR_STARTS
 * @def: the setting's default; NULL: empty
 * @check: checks a new value of one line. 0, or -errno with a sentence in @err. NULL: it is a text. Any thread,
 *	and several at once: it depends on nothing but the value
 * @show: writes all of a text into @buf; @path: of the directory. Called whether the backend runs or not
 *
 * The table ends with an entry without a name.
 */
struct gt_userdir_file {
	const char *name;
	const char *help;
	unsigned int flags;
	const char *def;
	int (*check)(const char *value, char *err, size_t len);
	void (*show)(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		     size_t len);
};

/**
 * struct gt_backend_userdirs - a directory under backends/<name>/ in which users make directories by mkdir(2)
 * @name: of the directory
 * @help: one line, no full stop
 * @files: files of each user directory
 *
 * A user directory is visible to its owner and to callers with a full view. The host keeps it until
 * rmdir(2), whatever becomes of the backend, and reports changes by GT_CTL_USERDIR.
 */
struct gt_backend_userdirs {
	const char *name;
	const char *help;
	const struct gt_userdir_file *files;
};

/**
 * struct gt_gpu_desc - how a source names a GPU
 * @driver: "amdgpu"; NULL or "" if unknown
 * @dev: name on its bus, "0000:04:00.0", or the source's own name. NULL if unknown: then the GPU is the
 *	only one of that driver, or "<driver>-any"
 * @minor: number of its /dev/dri/cardN or renderDN, for a source that has only that; else -1
 *
 * If neither @dev nor @minor identifies the GPU:
 * @module: only devices with a driver that uses this kernel module ("gpu_sched"); NULL: any
 * @pid: a thread of the process that gave the GPU its work; 0: unknown. With it the answer is GT_NONE16
 *	if the GPUs that the process has open do not identify it either
 * @kfd_id: GPU ID of AMD's compute driver; 0: unknown
 *
 * @listed: only a GPU of this machine, by @dev, @minor or @kfd_id: else the answer is GT_NONE16
 * @uid: the user who claims it, 0 for the kernel or root. A live GPU that this user may not use is then
 *	not taken for this machine's, but for "<driver>-claimed"
 */
struct gt_gpu_desc {
	const char *driver;
	const char *dev;
	int minor;
	const char *module;
	uint32_t pid;
	uint32_t kfd_id;
	bool listed;
	uint32_t uid;
};

/* Operations of gt_host.file. OPEN: with flags of open(2), for writing only; only the daemon has access to
 * a new file. MKDIR, RMDIR: flags are 0 */
enum gt_file_op { GT_FILE_OPEN, GT_FILE_MKDIR, GT_FILE_RMDIR, GT_FILE_OPS };

/* Clocks of a source's times; see gt_host.monotonic. */
enum gt_clock_id {
	GT_CLOCK_ID_MONOTONIC,
	GT_CLOCK_ID_BOOTTIME,
	GT_CLOCK_ID_MONOTONIC_RAW,
	GT_CLOCK_ID_REALTIME,
	GT_CLOCK_IDS
};

/**
 * struct gt_host - what the host does for a plugin; every call is from within a hook
 *
 * @push: delivers @n records, in the plugin's own order of time; the host copies them. pid is a
 *	thread group or GT_NONE32. Descriptions (PROCESS, NAME, QUEUE, LOST) go the same way.
 * @watermark: every later record of this plugin has ts >= @ts. For a live plugin a time in the future
 *	counts as now, and records more than a second ahead are dropped as malformed
 * @gpu: number of a GPU for gt_event.gpu; the same description gives the same number.
 *	GT_NONE16 if there are too many
 * @ring: number of a ring of @gpu for gt_event.ring, by name; engine GT_ENGINE_UNKNOWN lets the
 *	host guess from the name. GT_NONE16 if there are too many
 * @watch: drain() is called when @fd is readable (@on false: no longer). The host does not close it
 * @timer: drain() is called once after @ns; 0 cancels. A plugin with nothing to do sets none
 * @error: sets the sentence shown as last_error and in doctor: what is wrong, and the remedy.
 *	Returns -@err, so that `return host->error(p, EPERM, "…")` reads well
 * @log: a line to the log, at a syslog priority
 * @now: CLOCK_MONOTONIC, ns
 * @claim: asks for an exclusive claim on @what ("tracepoints"), since two backends that see the same
 *	events would count each twice. Of the running backends that ask, the one with the highest @rank
 *	has it. Return: NULL if this one has it; else the name of the one that has, and this one must not
 *	record @what. When that may have changed, the host asks with GT_CTL_RESCAN, and the plugin asks
 *	again there. @rank below 0 gives the claim up. @what is at most 15 characters, and a plugin has
 *	at most 4 claims
 * @reading: hands over sensors of a GPU; the daemon keeps them until the next call
 * @usage: hands over what a process uses
 * @kernel: number of a kernel, for gt_event.ref of its DISPATCH events, and its description; the same
 *	GPU, user and name give the same number. GT_NONE32 if there are too many
 * @counter: value of hardware counter @name during one dispatch of @kernel
 * @kernel_text: replaces a text of @kernel; NULL: there is none any more
 * @monotonic: time @ts of this machine's clock @clock as CLOCK_MONOTONIC, ns, even if the machine slept
 *	or the clock was set since. @uncertainty: ns, may be NULL. Before the daemon's start the offset is
 *	taken to have been as it was then. For a recording, from another machine: @ts, GT_NONE64
 * @clock_lines: writes the lines about a source's clock for doctor(), which `clocks` shows; their length
 * @userdir: the @i'th user directory; NULL after the last
 * @queues_hw: places of queues on the hardware: all that is known, in place of the last call. From the
 *	first call on, queues of these kinds have files for that
 * @unpacked: a descriptor, the caller's, of the unpacked data of recording @path, a path of the option
 *	`files` or of packed(); its offset is shared. @damage: why part of it is missing, or NULL.
 *	-ENOENT: @path is a file itself; -EBADMSG: it could not be unpacked, see @damage.
 *	gt_recording_open() of lib/recording.h does the rest
 * @file: opens, makes or removes @path, which gt_backend.writes named, or which is in a folder that it
 *	named: a daemon of root may not write itself. Any thread of the plugin. Return: a descriptor, 0, or
 *	-errno
 * @over_share: number of records from @uid's own files (GT_BACKEND_USERS) that the history dropped because
 *	they exceeded that user's share
 */
struct gt_host {
	void (*push)(struct gt_plugin *p, const union gt_record *r, size_t n);
	void (*watermark)(struct gt_plugin *p, uint64_t ts);
	uint16_t (*gpu)(struct gt_plugin *p, const struct gt_gpu_desc *desc);
	uint16_t (*ring)(struct gt_plugin *p, uint16_t gpu, const char *name,
			 enum gt_engine engine);
	int (*watch)(struct gt_plugin *p, int fd, bool on);
	void (*timer)(struct gt_plugin *p, uint64_t ns);
	int (*error)(struct gt_plugin *p, int err, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	void (*log)(struct gt_plugin *p, int priority, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	uint64_t (*now)(struct gt_plugin *p);
	const char *(*claim)(struct gt_plugin *p, const char *what, int rank);
	void (*reading)(struct gt_plugin *p, const struct gt_reading *r);
	void (*usage)(struct gt_plugin *p, const struct gt_usage *u);
	uint32_t (*kernel)(struct gt_plugin *p, const struct gt_kernel_desc *d);
	void (*counter)(struct gt_plugin *p, uint32_t kernel, const char *name, double value);
	void (*kernel_text)(struct gt_plugin *p, uint32_t kernel, enum gt_kernel_text which,
			    const char *text);
	uint64_t (*monotonic)(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
			      uint64_t *uncertainty);
	size_t (*clock_lines)(struct gt_plugin *p, enum gt_clock_id clock, char *buf, size_t len);
	const struct gt_userdir *(*userdir)(struct gt_plugin *p, unsigned int i);
	void (*queues_hw)(struct gt_plugin *p, const struct gt_queue_hw *q, size_t n);
	int (*unpacked)(struct gt_plugin *p, const char *path, const char **damage);
	int (*file)(struct gt_plugin *p, enum gt_file_op op, const char *path, int flags);
	uint64_t (*over_share)(struct gt_plugin *p, uint32_t uid);
};

/**
 * struct gt_plugin - a plugin that is loaded
 * @host: the host's calls
 * @options: the plugin's options struct, allocated and filled by the host
 * @priv: the plugin's own
 * @recording: a replay: times and pids are those of another time or machine
 * @events_dir: folder of the event maps
 * @tracefs: mount point of tracefs, or NULL
 * @job_age: ns after which a job that has not ended is given up
 *
 * The host's own data follows in a larger struct.
 */
struct gt_plugin {
	const struct gt_host *host;
	void *options;
	void *priv;
	bool recording;
	const char *events_dir;
	const char *tracefs;
	uint64_t job_age;
};

/* Requests of gt_backend.control(); a plugin refuses others with -EOPNOTSUPP. */
enum gt_control {
	GT_CTL_PAUSE,	/* control "stop" (live: stop tracing) or "pause" (replay) */
	GT_CTL_RESUME,	/* control "start" or "play" */
	GT_CTL_RESCAN,	/* look again for tracepoints, devices, files; arg: a user asked for a full
			* rescan, which counts as a pause */
	GT_CTL_SEEK,	/* replay, just begun: play up to time arg, ns, as fast as it reads */
	GT_CTL_LEVEL,	/* arg: enum gt_level, 1 nobody records, 2 normal, 3 verbose */
	GT_CTL_USERDIR, /* user directories have changed, see gt_host.userdir() */
};

/* See gt_host.claim. KFD_QUEUES: queues of AMD's compute driver */
#define GT_CLAIM_TRACEPOINTS "tracepoints"
#define GT_CLAIM_KFD_QUEUES  "kfd queues"

#define GT_BACKEND_LIVE_PIDS 0x1 /* pids are of this machine, now: the host asks /proc about them */
#define GT_BACKEND_RECORDING 0x2 /* plays a recording: pids and times are not this machine's */
#define GT_BACKEND_SIMULATED 0x4 /* its GPUs are not real: runs only when named in backend= */
#define GT_BACKEND_DEMAND    0x8 /* runs only when named in backend= or by replay= */
/* The end of its source does not stop it: its texts can still be read. It reports itself if there is
 * nothing to show */
#define GT_BACKEND_STAYS 0x10
/* A setting can start it: a mount that names it succeeds without it */
#define GT_BACKEND_LATER 0x20
/* It delivers what users wrote into files of theirs, each with gt_event.uid: these records have a share of
 * the history */
#define GT_BACKEND_USERS 0x40

#define GT_REFRESH_GPUS	 0x1 /* gt_backend.refresh_sensors: the state of GPUs */
#define GT_REFRESH_PROCS 0x2 /* what processes use */
#define GT_REFRESH_SLOTS 0x4 /* places of queues on the hardware */

/**
 * struct gt_backend - a plugin's vtable
 * @abi: GT_BACKEND_ABI; another is refused
 * @size: sizeof(struct gt_backend), so that later hooks can be appended
 * @name: [a-z0-9_]+, names the folder under backends/ and the configuration's section
 * @version: the plugin's own
 * @flags: GT_BACKEND_*
 * @options, @options_size: the table and the size of the struct it describes; may be NULL and 0
 * @probe: can this backend work here? 0; 1: it can, but that is no sign of a GPU; or a negative errno
 *	after host->error() with the exact blocker and the remedy. Changes nothing. Mandatory
 * @start: starts it; after an error stop() is not called. Mandatory
 * @drain: decodes and pushes what has come. Returns the number of records pushed, 0 for nothing (with
 *	many of these in a row it is called less often), -ENODATA when the source has ended for good
 *	(stop() follows; with GT_BACKEND_STAYS only at the end of all), or another negative errno:
 *	quarantine. Mandatory
 * @stop: stops it and frees everything of start(). Mandatory
 * @set: option @o was changed; -errno refuses and the old value comes back. Needed for
 *	GT_OPT_RUNTIME
 * @control: see enum gt_control. 0 or -errno; for GT_CTL_PAUSE also 1: ends of jobs in flight are still
 *	reported. Optional
 * @doctor: writes lines "key value" of detail into @buf (at most @len bytes, NUL-terminated), for
 *	doctor and backends/<name>/stats. Optional
 * @caps: capabilities (1ULL << CAP_*) that its hooks need; the daemon keeps no others. What root may do
 *	as the owner of a file needs none
 * @start_caps: likewise, of those that only start() and a look for new things (GT_CTL_RESCAN,
 *	GT_CTL_LEVEL, GT_CTL_RESUME) need: they are effective only there. A thread that start() creates has
 *	them, too, and must lower them except while it needs them
 * @syscalls: names of system calls that its hooks need besides those of the daemon itself
 *	(fs/privileges.c), separated by blanks: "perf_event_open bpf". After the start, any other call fails
 *	with EPERM; programs cannot be executed, no code can be loaded, and no file opened for writing
 *	except by gt_host.file. "mkstemp" is no call: it stands for making new files, and removing files
 * @files: texts of its own; may be NULL
 * @probe_recording: is this a recording of its kind? @path: its path, which does not exist for one of several
 *	files in an archive. @head: its first @len bytes (64 KiB at most). NULL: @path is a folder, or a file
 *	that no plugin knows by its bytes: then its name decides, and the plugin that takes it refuses it with a
 *	reason. A recording that no plugin knows goes to the GT_BACKEND_RECORDING one without this hook, or
 *	the only one. The plugin that takes a recording gets its path in the option `files`, with a colon
 *	between two and \\: for a colon in a name, and plays it (gt_plugin.recording) whatever else it can
 *	do. Optional
 * @refresh_sensors: a user is about to read what this backend reads on demand (GT_REFRESH_*): hands that over by
 *	host->reading(), usage() and queues_hw(), unless that was a moment ago. Readers wait for it, 50 ms
 *	at most; those of places of queues, 5 s. Optional
 * @process_seen: some backend reported the first event of a process of this machine. The daemon is in the middle of
 *	that: only host->timer() may be called. Optional
 * @userdirs: a directory in which users make directories; may be NULL
 * @packed: of a folder that is to be played: hands over each compressed file that it would read there,
 *	with a descriptor that stays the hook's. start() gets the unpacked data by host->unpacked(). Optional
 * @writes: hands over each file or folder that it writes by host->file(); a folder means all that is in
 *	it. They need not exist yet. Called once, before start() and with the options as configured.
 *	Optional
 * @detaching: how many programs and the like are switched off and still attached, which ends behind
 *	the scenes. In any thread, also after stop(). Optional
 */
struct gt_backend {
	uint32_t abi;
	uint32_t size;
	const char *name;
	const char *version;
	const char *help;
	uint32_t flags;
	const struct gt_option *options;
	size_t options_size;
	int (*probe)(struct gt_plugin *p);
	int (*start)(struct gt_plugin *p);
	int (*drain)(struct gt_plugin *p);
	void (*stop)(struct gt_plugin *p);
	int (*set)(struct gt_plugin *p, const struct gt_option *o);
	int (*control)(struct gt_plugin *p, enum gt_control what, int64_t arg);
	void (*doctor)(struct gt_plugin *p, char *buf, size_t len);
	uint64_t caps;
	uint64_t start_caps;
	const char *syscalls;
	const struct gt_backend_file *files;
	bool (*probe_recording)(const char *path, const uint8_t *head, size_t len);
	void (*refresh_sensors)(struct gt_plugin *p, unsigned int what);
	void (*process_seen)(struct gt_plugin *p, uint32_t pid);
	const struct gt_backend_userdirs *userdirs;
	void (*packed)(const char *path, void (*found)(void *arg, int fd, const char *path),
		       void *arg);
	void (*writes)(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg);
	unsigned int (*detaching)(void);
};

/** gt_record_init() - an event with everything unknown but its time and type */
static inline void gt_record_init(union gt_record *r, uint64_t ts, enum gt_type type)
{
	__builtin_memset(r, 0xff, sizeof(*r));
	r->ev.ts = ts;
	r->ev.type = (uint8_t)type;
	r->ev.flags = 0;
}

#endif
