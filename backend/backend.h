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
#include "kernel.h"
#include "reading.h"
#include "tally.h"
#include "wanted.h"

#define GT_BACKEND_ABI 2
#define GT_BACKEND_SYMBOL "gt_backend"
#define GT_EXPORT __attribute__((visibility("default")))

struct gt_plugin;

enum gt_option_type { GT_OPT_INT, GT_OPT_BOOL, GT_OPT_STR };

#define GT_OPT_RUNTIME 0x1 /* may be changed while running: the plugin has a set() hook */
#define GT_OPT_HIDDEN 0x2  /* for tests: not shown as a file under backends/<name>/ */

/**
 * struct gt_option - one setting of a backend
 * @name: key in section [backend NAME] of the configuration, and file under backends/<name>/
 * @off: offset in the plugin's own options struct: an int64_t, a bool, or a char * (the host's)
 * @def: default as text; NULL is 0, false or an empty string
 * @min, @max: bounds of a GT_OPT_INT, inclusive
 * @help: one line, no full stop
 *
 * The table ends with an entry whose name is NULL.
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

#define GT_BACKEND_TEXT_MAX 65536 /* bytes of a backend's own text, with its NUL */

/**
 * struct gt_backend_file - a text of a backend's own, a file under backends/<name>/
 * @name: the file's
 * @help: one line, no full stop
 * @show: writes all of it into @buf (at most @len bytes, NUL-terminated). Called while the backend
 *	runs; else the text is empty
 *
 * It may tell of processes: only who may know of all of them can read it. The table ends with an entry
 * whose name is NULL.
 */
struct gt_backend_file {
	const char *name;
	const char *help;
	void (*show)(struct gt_plugin *p, char *buf, size_t len);
};

#define GT_MADE_NAME	 64	    /* bytes of such a directory's name, with its NUL */
#define GT_MADE_TEXT_MAX (1u << 20) /* of a text in one, with its NUL */

/**
 * struct gt_made - a directory that a user made in one of a backend's own
 * @name: [A-Za-z0-9_+-][A-Za-z0-9_.+-]*, each user's own
 * @uid: who made it; @whole: who then saw everything, as everybody has who has changed it since,
 *and who reads the text that is shown
 * @serial: no other has it, or ever had
 * @value: by index of the file: the settings, as text; NULL: no setting
 */
struct gt_made {
	char name[GT_MADE_NAME];
	uint32_t uid;
	bool whole;
	uint64_t serial;
	char **value;
};

#define GT_MADE_STARTS 0x1 /* with this setting the backend may have something to do: it is tried again */

/**
 * struct gt_made_file - a file in such a directory: a setting, or a text
 * @name, @help: as of struct gt_backend_file
 * @flags: GT_MADE_*
 * @def: the setting's value at first; NULL: it is empty
 * @check: may the setting be @value, one line? 0, or -errno with the sentence in @err. NULL: it is a text
 * @show: of a text: writes all of it into @buf; @path: of the directory. Called whether the backend runs
 *	or not
 *
 * The table ends with an entry whose name is NULL.
 */
struct gt_made_file {
	const char *name;
	const char *help;
	unsigned int flags;
	const char *def;
	int (*check)(const char *value, char *err, size_t len);
	void (*show)(struct gt_plugin *p, const struct gt_made *m, const char *path, char *buf,
		     size_t len);
};

/**
 * struct gt_backend_made - a directory under backends/<name>/ in which users make others by mkdir(2)
 * @name: the directory's; @help: one line, no full stop
 * @files: what is in each that they make
 *
 * What a user made is that user's: only who may know of all sees it too. The host keeps it until it is
 * removed by rmdir(2), whatever becomes of the backend, and tells of changes by GT_CTL_MADE.
 */
struct gt_backend_made {
	const char *name;
	const char *help;
	const struct gt_made_file *files;
};

/**
 * struct gt_gpu_desc - how a source names a GPU
 * @driver: "amdgpu"; NULL or "" if the source does not tell
 * @dev: name on its bus, "0000:04:00.0", or what the source calls it; NULL if the source does not
 *	tell, then the GPU is the only one of that driver (live), or "<driver>-any"
 * @minor: number of its /dev/dri/cardN or renderDN where the source tells that instead, else -1
 * @module: only devices whose driver uses this kernel module ("gpu_sched"), where @dev and @minor do
 *	not tell; NULL: any
 * @pid: a thread of the process that gave the GPU its work, where @dev and @minor do not tell; 0: not
 *	known. With it the answer is GT_NONE16 if the GPUs that the process has open do not tell either
 * @kfd_id: what AMD's compute driver calls the device, where @dev and @minor do not tell; 0: it does not
 * @listed: only a GPU that this machine has, by @dev, @minor or @kfd_id: else the answer is GT_NONE16
 */
struct gt_gpu_desc {
	const char *driver;
	const char *dev;
	int minor;
	const char *module;
	uint32_t pid;
	uint32_t kfd_id;
	bool listed;
};

/* Clocks that a source's times may be of; see gt_host.monotonic. */
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
 * @push: hands @n records over, in the plugin's own order of time; the host copies them. pid is a
 *	thread group or GT_NONE32. Descriptions (PROCESS, NAME, QUEUE, LOST) go the same way.
 * @watermark: every later record of this plugin has ts >= @ts. A live plugin's time in the future
 *	counts as now; its records more than a second ahead are left out as malformed
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
 * @claim: asks to be the only backend that tells of @what ("tracepoints"), as two that see the same
 *	events would count each twice. Of those that ask and run the one of the highest @rank has it:
 *	NULL, it is this one; else the name of the one that has it, and this one tells nothing of @what.
 *	Whoever loses it, or may have it now that another has stopped, is asked to look again
 *	(GT_CTL_RESCAN), and should ask again there. @rank below 0 gives it up. @what is at most 15
 *	characters, and a plugin has at most 4
 * @tally: hands over what it counted itself, as of now or a little earlier; the host copies nothing
 * @reading: hands over what it read off a GPU; the daemon keeps it until the next one
 * @usage: hands over what it read off of a process
 * @counting: it counts something itself (@on): fold() is called before somebody looks. Not (@on
 *	false): there is nothing to hand over until it says so again
 * @wanted: what the settings want in records. A source that leaves out jobs itself asks for it at its
 *	start, and again when GT_CTL_WANTED or GT_CTL_LEVEL says that it has changed
 * @ring_refused: likewise of a ring, for gt_wanted_job.refused; when it is met, and again with the rest
 * @kernel: number of a kernel, for gt_event.ref of its DISPATCH events, and what is told of it; the same
 *	GPU, user and name give the same number. GT_NONE32 if there are too many
 * @counter: a reading of hardware counter @name during one dispatch of @kernel
 * @kernel_text: all of a text of @kernel's, in place of the one before; NULL: there is none any more
 * @monotonic: time @ts of this machine's clock @clock as CLOCK_MONOTONIC, ns, also where it slept or
 *	the clock was set since. @uncertainty: ns, may be NULL. What was before the daemon began is
 *	taken to be as it was then. For a recording, whose machine is another: @ts, of GT_NONE64
 * @clock_lines: writes the lines that doctor() is to tell of a source with that clock, which `clocks`
 *	shows; their length
 * @made: the @i'th directory that users made; NULL after the last
 * @queues_hw: where queues are on the hardware, all that it knows, in place of what it told before; from
 *	the first call on those of its kinds have files for that
 */
struct gt_host {
	void (*push)(struct gt_plugin *p, const union gt_record *r, size_t n);
	void (*watermark)(struct gt_plugin *p, uint64_t ts);
	uint16_t (*gpu)(struct gt_plugin *p, const struct gt_gpu_desc *desc);
	uint16_t (*ring)(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine engine);
	int (*watch)(struct gt_plugin *p, int fd, bool on);
	void (*timer)(struct gt_plugin *p, uint64_t ns);
	int (*error)(struct gt_plugin *p, int err, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	void (*log)(struct gt_plugin *p, int priority, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	uint64_t (*now)(struct gt_plugin *p);
	const char *(*claim)(struct gt_plugin *p, const char *what, int rank);
	void (*tally)(struct gt_plugin *p, const struct gt_tally *t);
	void (*reading)(struct gt_plugin *p, const struct gt_reading *r);
	void (*usage)(struct gt_plugin *p, const struct gt_usage *u);
	void (*counting)(struct gt_plugin *p, bool on);
	void (*wanted)(struct gt_plugin *p, struct gt_wanted *out);
	uint32_t (*ring_refused)(struct gt_plugin *p, uint16_t gpu, uint16_t ring);
	uint32_t (*kernel)(struct gt_plugin *p, const struct gt_kernel_desc *d);
	void (*counter)(struct gt_plugin *p, uint32_t kernel, const char *name, double value);
	void (*kernel_text)(struct gt_plugin *p, uint32_t kernel, enum gt_kernel_text which,
			    const char *text);
	uint64_t (*monotonic)(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
			      uint64_t *uncertainty);
	size_t (*clock_lines)(struct gt_plugin *p, enum gt_clock_id clock, char *buf, size_t len);
	const struct gt_made *(*made)(struct gt_plugin *p, unsigned int i);
	void (*queues_hw)(struct gt_plugin *p, const struct gt_queue_hw *q, size_t n);
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

/* What gt_backend.control() may be asked; a plugin refuses what it cannot with -EOPNOTSUPP. */
enum gt_control {
	GT_CTL_PAUSE,  /* control "stop" (live: stop tracing) or "pause" (replay) */
	GT_CTL_RESUME, /* control "start" or "play" */
	GT_CTL_RESCAN, /* look again for tracepoints, devices, files */
	GT_CTL_SEEK,   /* replay: arg is ns relative to where it plays */
	GT_CTL_LEVEL,  /* arg: enum gt_level, 1 nobody records, 2 normal, 3 verbose */
	GT_CTL_WANTED, /* what gt_host.wanted() and .ring_refused() say has changed */
	GT_CTL_MADE,   /* what gt_host.made() tells has changed */
};

/* See gt_host.claim. KFD_QUEUES: what programs do to the queues of AMD's compute driver */
#define GT_CLAIM_TRACEPOINTS "tracepoints"
#define GT_CLAIM_KFD_QUEUES "kfd queues"

#define GT_BACKEND_LIVE_PIDS 0x1 /* pids are of this machine, now: the host asks /proc about them */
#define GT_BACKEND_RECORDING 0x2 /* plays a recording: pids and times are not this machine's */
#define GT_BACKEND_FALLBACK 0x4	 /* runs only where no other backend has a GPU to show */
#define GT_BACKEND_STAYS 0x10	 /* its source's end does not stop it: what it shows stays to be read */
#define GT_BACKEND_DEMAND 0x8	 /* runs only when named in backend= or by replay= */

#define GT_LOOK_GPUS  0x1 /* gt_backend.look: the state of GPUs */
#define GT_LOOK_PROCS 0x2 /* what processes use */
#define GT_LOOK_SLOTS 0x4 /* where queues are on the hardware */

/**
 * struct gt_backend - a plugin's vtable
 * @abi: GT_BACKEND_ABI; another is refused
 * @size: sizeof(struct gt_backend), so that later hooks can be appended
 * @name: [a-z0-9_]+, names the folder under backends/ and the configuration's section
 * @version: the plugin's own
 * @flags: GT_BACKEND_*
 * @options, @options_size: the table and the size of the struct it describes; may be NULL and 0
 * @probe: can this backend work here? 0; 1: it can, but that is no sign of a GPU (GT_BACKEND_FALLBACK
 *	backends run too); or a negative errno after host->error() told the exact blocker and the
 *	remedy. Changes nothing. Mandatory
 * @start: begins; after an error stop() is not called. Mandatory
 * @drain: decodes and pushes what has come. Returns the number of records pushed, 0 if there was
 *	nothing (one that is called over and over for nothing is called more seldom), -ENODATA when
 *	the source has ended for good (stop() follows; with GT_BACKEND_STAYS only when all ends), or another negative errno: quarantine.
 *	Mandatory
 * @stop: ends and frees everything of start(). Mandatory
 * @set: option @o was changed; -errno refuses and the old value comes back. Needed for
 *	GT_OPT_RUNTIME
 * @control: see enum gt_control. Optional
 * @doctor: writes lines "key value" of detail into @buf (at most @len bytes, NUL-terminated), for
 *	doctor and backends/<name>/stats. Optional
 * @caps: capabilities (1ULL << CAP_*) that its hooks need; the daemon keeps no others. What root may do
 *	as the owner of a file needs none
 * @start_caps: likewise, that only start() and a look for what is new (GT_CTL_RESCAN, GT_CTL_LEVEL,
 *	GT_CTL_RESUME) need: they are in force only there; a thread that start() begins has them, too, and is
 *	to put them out of force but for the moments when it needs them
 * @syscalls: names of system calls that its hooks make beside those that the daemon itself makes
 *	(fs/seccomp.c), separated by blanks: "perf_event_open bpf". Any other call that the daemon does not
 *	make fails with EPERM after the start; programs cannot be executed, and no code loaded
 * @files: texts of its own; may be NULL
 * @fold: hands over what it has counted itself up to now, by host->tally(). Optional
 * @knows: is this a recording of its kind? @path: where it is; @head: its first @len bytes (64 KiB at
 *	most), NULL: it is a folder. What no plugin knows is for the GT_BACKEND_RECORDING one without
 *	this hook. Whose it is gets its path in the option `files`, a colon between two, and plays it
 *	(gt_plugin.recording) whatever else it can do. Optional
 * @look: somebody is about to look at what this backend reads off (GT_LOOK_*): hands it over, by
 *	host->reading(), usage() and queues_hw(), unless that was done a moment ago. Readers wait for it, 50 ms
 *	at most; those of where queues are, 5 s.
 *	Optional
 * @met: a process of this machine was met by what any backend told. The daemon is at work with it: only
 *	host->timer() may be called. Optional
 * @made: a directory in which users make others; may be NULL
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
	void (*fold)(struct gt_plugin *p);
	bool (*knows)(const char *path, const uint8_t *head, size_t len);
	void (*look)(struct gt_plugin *p, unsigned int what);
	void (*met)(struct gt_plugin *p, uint32_t pid);
	const struct gt_backend_made *made;
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
