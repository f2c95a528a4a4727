/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the part `runtime`: runtime.c (the part, and which functions are what), runtime_library.c
 * (where they are in a file, which files may be touched, probes on one library), runtime_thread.c (which
 * files processes have mapped, and when all this is done).
 *
 * A library is an inode: probes on it are in force in every process that maps it, now or later,
 * under whatever path. A look at all processes and at the folders of libraries finds it at the
 * start; later a program on mmap(2) wakes the thread.
 *
 * A thread of its own does everything but the records: the kernel takes its time to remove probes,
 * and a look at what a process has mapped waits for the memory of that process.
 */
#ifndef GT_BPF_RUNTIME_H
#define GT_BPF_RUNTIME_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf.h"

#define RT_RUNTIMES	    4
#define RT_MAX_CALLS	    64 /* of a library */
#define RT_MAX_LINKS	    (RT_MAX_CALLS * 2)
#define RT_PER_ACCOUNT	    16	 /* libraries that one user's processes may have probed */
#define RT_VAIN		    1024 /* files that are not looked through again */
#define RT_VAIN_PER_ACCOUNT 32	 /* that one user's processes may add in RT_VAIN_NS */
#define RT_VAIN_NS	    60000000000ull
#define RT_INSTALLED	    UINT64_MAX /* account: it is for everybody */
#define RT_PENDING	    256	       /* processes that are to be looked at */
#define RT_DRAIN_MS	    20	       /* between drains of records meanwhile */
#define RT_SET_MS	    500	       /* how long a setting, or the end, waits for the thread */
#define RT_END_TICK_NS	    10000000 /* the end of the daemon looks so often whether threads are left */
#define RT_END_TICKS	    6000     /* and that many times at most */
#define RT_STUCK_NS	    3000000000ull /* after so long the thread waits for somebody */
#define RT_LEFT_STUCK	    4  /* threads that were left behind waiting, before no new one begins */
#define RT_LEFT_MAX	    16 /* … with those that only have much to remove */
#define RT_PAUSE_NS	    20000000ull /* between looks at a process */
#define RT_PAUSE_MAX_NS	    5000000000ull
#define RT_ALL_NS	    1000000000ull  /* between looks at all processes */
#define RT_CHECK_NS	    5000000000ull  /* between looks whether libraries are still mapped */
#define RT_LINGER_NS	    10000000000ull /* how long one that nobody maps is kept */

/**
 * struct rt_call - a function
 * @ctx, @bytes, @times, @how: as in bpf/shared.h
 */
struct rt_call {
	const char *symbol;
	uint8_t type, ctx, bytes, times, how;
};

/** struct rt_runtime - a library: @library is how its files' names begin, @calls end with a NULL */
struct rt_runtime {
	const char *name, *library;
	const struct rt_call *calls;
};
extern const struct rt_runtime rt_runtimes[RT_RUNTIMES];

/** rt_runtime_of() - which one a file of this @name is, -1 none */
int rt_runtime_of(const char *name);
/** rt_parse() - "hsa,cuda" as bits; -EINVAL with a sentence */
int rt_parse(const char *list, unsigned int *set, char *err, size_t len);

/** struct rt_probe - a function of a library: where it is in the file, and the cookie */
struct rt_probe {
	uint64_t offset, cookie;
};

/* runtime_library.c */

/**
 * rt_elf_find() - where the functions of @calls are in the file @fd, whatever is in it
 * @out: @max of them at most, their cookies for slot 0
 * Only what this machine runs is looked at, and never more than some MiB of it. Symbols of one
 * address count once, as the first of them. Return: how many there are, or -errno: -ENOEXEC no such
 * file
 */
int rt_elf_find(int fd, const struct rt_call *calls, struct rt_probe *out, unsigned int max);

/* runtime_thread.c */

/** struct rt_content - what is another as soon as the file has other contents; @ctime: ns */
struct rt_content {
	uint64_t dev, ino, size;
	int64_t ctime;
};

/**
 * struct rt_file - a library as process @pid has mapped it; @pid 0: it is installed
 * @fd: O_PATH
 * @inode: the kernel's number of what is mapped, below any overlay; 0: not known
 * @account: who answers for it, as in struct gt_rt_check; RT_INSTALLED
 */
struct rt_file {
	int fd, runtime;
	uint32_t pid;
	uint64_t inode, account;
	struct rt_content content;
};

/**
 * struct rt_vain - a file that was looked through in vain
 * @at: when; 0: none; @refused: it could not be opened or probed, which may change
 */
struct rt_vain {
	struct rt_content content;
	uint64_t at, account;
	int runtime;
	bool refused;
};

struct rt;
/** enum rt_answer - may a file be touched? RT_LATER: not to be known now */
enum rt_answer { RT_SAFE, RT_UNSAFE, RT_LATER };

/* runtime_library.c: none of these waits for anybody */

/** rt_is_local() - does the kernel alone answer for file systems of this statfs(2) number? */
bool rt_is_local(uint64_t magic);
/** rt_can_look() - does the kernel have what the others need? Before Linux 6.1 not */
bool rt_can_look(struct rt *rt);
/** rt_is_busy() - are mappings of the process being changed, or waited for by who will? */
bool rt_is_busy(struct rt *rt, uint32_t pid);
/** rt_behind_mapping() - @f, which its process has at @addr; sets @f->inode */
enum rt_answer rt_behind_mapping(struct rt *rt, struct rt_file *f, uint64_t addr);
/** rt_behind_file() - @f, which nobody is known to have mapped: may it be opened? */
enum rt_answer rt_behind_file(struct rt *rt, const struct rt_file *f);

/* runtime_library.c */

/** struct rt_ways - how this kernel takes probes: all of a library at once (Linux 6.6), or one by
 * one */
struct rt_ways {
	bool multi;
	int type, retprobe; /* of perf events: from sysfs */
};

/** rt_ways_find() - all but @multi; 0, or -errno with a sentence */
int rt_ways_find(struct rt_ways *w, char *err, size_t len);
/** rt_multi_type() - has @prog loaded for the first way; rt_knows_multi() - whether it can be taken
 */
void rt_multi_type(struct bpf_program *prog);
bool rt_knows_multi(int prog);

enum rt_state { RT_FREE, RT_ON, RT_OUT };

/**
 * struct rt_library - an inode with probes; its number is its slot in the programs' map
 * @state: RT_OUT: its links are to be closed
 * @account: who answers for the process that mapped it first; RT_INSTALLED
 * @inode: the kernel's number, which is its as long as there are probes on it
 * @holder: a process that had it mapped at @seen; 0: none is known
 */
struct rt_library {
	enum rt_state state;
	int runtime;
	uint64_t inode, seen, account;
	uint32_t holder;
	unsigned int nprobes, nlinks;
	int links[RT_MAX_LINKS];
};

/**
 * struct rt_stats - for doctor, which another thread asks for
 * @libraries, @probes: in force; @closing: libraries on their way out
 * @looks: processes looked at; @found: mappings of libraries in them
 * @put_off: looks at a process that were due later: it had been looked at just before, or its
 *	mappings were being changed; @full_looks: looks at all processes
 * @no_functions: files that have none of the functions, or are none for this machine
 * @unsafe: files that were not touched, as somebody's program might have to answer
 * @cut: processes that had more mapped than is read; @full: libraries for which there was no slot
 * @refused: libraries that the kernel takes no probes for
 * @at: the process that is being looked at, 0: probes are being changed; @since: when that began,
 *	0: nothing is being done
 */
struct rt_stats {
	_Atomic uint64_t libraries, probes, closing, looks, found, put_off, full_looks,
		no_functions, unsafe, cut, full, refused, at, since;
};

/**
 * struct rt_turn - a process that mapped something
 * @wanted: it is to be looked at, not before @due; @pause: between looks that saw nothing
 */
struct rt_turn {
	uint32_t pid;
	bool wanted;
	uint64_t due, pause;
};

/**
 * struct rt - the part while it runs; the thread may outlive it if it hangs, and needs nothing else
 * @lock: guards what follows up to @left; the rest is the thread's but @stats
 * @want: bits of the runtimes that are to be on, as asked for the @asked'th time, at @asked_at
 * @taken, @done: so many of those are being done, or in force; @cond: it grew, or @ended
 * @look: all processes are to be looked at; what nobody maps goes at once
 * @quit: the thread is to end; @left: nobody waits for that, it frees everything
 * @tracefs: where it is mounted
 * @wake: an eventfd
 * @set: bits of the runtimes that are on
 * @vain: of @nvain files so far the last
 * @no_room: a library was left out for that
 * @look_at_all: there were more processes than @turn holds, or than could be reported
 * @all_due, @check_due: when that, and the check, may be done again
 */
struct rt {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int want;
	uint64_t asked, asked_at, taken, done;
	bool look, quit, ended, left;

	const char *tracefs;
	struct runtime_bpf *skel;
	struct rt_ways ways;
	pthread_t thread;
	int wake;
	struct ring_buffer *mapped;
	int trigger[2];
	unsigned int set;
	struct rt_library lib[GT_RT_SLOTS];
	struct rt_vain vain[RT_VAIN];
	unsigned int nvain;
	struct rt_turn turn[RT_PENDING];
	bool look_at_all, no_room;
	uint64_t unreported, all_due, check_due;
	struct rt_stats stats;
};

/** rt_step() - what is done now may wait for process @pid, 0: for any; rt_step_end() - it did not
 */
static inline void rt_step(struct rt *rt, uint32_t pid)
{
	rt->stats.at = pid;
	rt->stats.since = gb_now();
}

static inline void rt_step_end(struct rt *rt)
{
	rt->stats.since = 0;
}

/* runtime.c */

/** rt_free() - all of it; the thread has ended, or is the one that calls */
void rt_free(struct rt *rt);

/* runtime_library.c */

/** rt_library_found() - a library that may be opened: puts probes on it if there are none yet */
enum rt_answer rt_library_found(struct rt *rt, const struct rt_file *f);
/** rt_library_drop() - its probes report no more; rt_libraries_close() closes them */
void rt_library_drop(struct rt *rt, struct rt_library *l);
/** rt_libraries_close() - closes what was dropped: tenths of a second for each */
void rt_libraries_close(struct rt *rt);

/* runtime_thread.c */

/** rt_on_mapped() - of the programs' ring of mappings; ctx: the struct rt */
int rt_on_mapped(void *ctx, void *data, size_t size);
/** rt_thread() - the thread; @rt is a struct rt */
void *rt_thread(void *rt);

#endif
