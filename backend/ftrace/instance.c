/* SPDX-License-Identifier: GPL-2.0 */
/* Our own instance of tracefs: instances/gputrace-<pid>. The top-level buffer is never touched. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <syslog.h>
#include <tracefs.h>

#include "../lib/detail.h"
#include "ftrace.h"

/* How large the kernel's buffers are: asked, bounded by the machine's memory, and granted. */

int64_t ft_buffer_cap(int64_t memory, int64_t ncpus)
{
	return MAX(gt_live_buffer_cap(memory, ncpus), FT_BUFFER_MIN);
}

/* KiB in DIR/@file; a buffer not yet in use says "7 (expanded: 1408)". 0 if it does not say. */
static int64_t kib(struct ft *ft, const char *file)
{
	ft_auto_free char *text = gt_live_read(ft->dir, file, NULL);

	return text ? strtoll(text, NULL, 10) : 0;
}

void ft_buffer_ask(struct ft *ft, int64_t bytes)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t want;
	char text[32];

	ft->buffer.asked = bytes;
	ft->buffer.cap = ft_buffer_cap(memory, ncpus);
	/* The kernel may end processes to find memory: what is too much is not even tried. */
	want = MAX(MIN(bytes, ft->buffer.cap), FT_BUFFER_MIN);
	for (; want >= FT_BUFFER_MIN; want /= 2) {
		snprintf(text, sizeof(text), "%lld", (long long)(want / 1024));
		if (!ft_write(ft->p, ft->dir, "buffer_size_kb", text))
			break;
	}
	/* With all refused the buffer keeps the size it has. */
	ft->buffer.granted = kib(ft, "buffer_size_kb") * 1024;
	ft->buffer.total = kib(ft, "buffer_total_size_kb") * 1024;
	if (ft->buffer.granted > 0)
		ft->o->buffer_size = ft->buffer.granted;
	if (ft->buffer.granted < bytes)
		ft->p->host->log(ft->p, LOG_INFO, "buffers of %lld bytes per CPU, %lld were asked",
				 (long long)ft->buffer.granted, (long long)bytes);
}

/* Can the backend work here? If not: what exactly is in the way, and what to do about it. */

static bool locked_down(void)
{
	ft_auto_free char *text = gt_live_read("/sys/kernel/security", "lockdown", NULL);

	return text && strstr(text, "[confidentiality]");
}

/* Why tracefs cannot be used, after @err of trying. */
static int refused(struct gt_plugin *p, int err, const char *path)
{
	if (locked_down())
		return p->host->error(p, EPERM,
				      "the kernel is locked down (confidentiality), which forbids "
				      "tracing; boot with lockdown=integrity, or Secure Boot off");
	if (err == EACCES || err == EPERM)
		return p->host->error(p, err,
				      "%s may not be used by uid %u; mount as root, or with "
				      "CAP_DAC_OVERRIDE",
				      path, (unsigned int)geteuid());
	return p->host->error(p, err, "%s: %s; this kernel may lack CONFIG_TRACING", path,
			      strerror(err));
}

/* Faults that need no kernel to be found */
static int check_options(struct gt_plugin *p)
{
	const struct ft_options *o = p->options;
	ft_auto_free struct ft_filter *f = NULL;
	char err[400] = "";
	int ret = o->functions ? ft_filter_parse(o->functions, &f, err, sizeof(err)) : 0;

	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

int ft_probe(struct gt_plugin *p)
{
	static const char *const files[] = { "events/header_page", "trace_clock" };
	char path[PATH_MAX], err[600];
	int ret = check_options(p);

	if (ret)
		return ret;
	if (!p->tracefs)
		return p->host->error(p, ENOENT,
				      "tracefs is not mounted: mount -t tracefs nodev "
				      "/sys/kernel/tracing");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ft_auto_close int fd = -1;

		snprintf(path, sizeof(path), "%s/%s", p->tracefs, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return refused(p, errno, path);
	}
	snprintf(path, sizeof(path), "%s/instances", p->tracefs);
	if (gt_live_access(path, W_OK | X_OK))
		return refused(p, errno, path);
	ret = gt_live_check(p, err, sizeof(err));
	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

int ft_open(struct gt_plugin *p, const char *dir, const char *file, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return p->host->file(p, GT_FILE_OPEN, path, O_WRONLY | flags);
}

int ft_write(struct gt_plugin *p, const char *dir, const char *file, const char *text)
{
	ft_auto_close int fd = ft_open(p, dir, file, O_TRUNC);

	if (fd < 0)
		return fd;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* A process that was killed may stay a zombie: in a container with a first process that does not reap. */
static bool is_alive(pid_t pid)
{
	ft_auto_free char *stat = NULL;
	char dir[32], *state;

	if (kill(pid, 0) && errno == ESRCH)
		return false;
	snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	stat = gt_live_read(dir, "stat", NULL);
	state = stat ? strrchr(stat, ')') : NULL;
	return !state || (strncmp(state, ") Z", 3) && strncmp(state, ") X", 3));
}

bool ft_is_stale(const char *name, const char *prefix)
{
	const char *p = name + strlen(prefix);
	char *end;
	long pid;

	if (strncmp(name, prefix, strlen(prefix)) || !isdigit((unsigned char)*p))
		return false;
	pid = strtol(p, &end, 10);
	if (*end || pid <= 0 || pid > INT_MAX)
		return false;
	return pid == getpid() || !is_alive((pid_t)pid);
}

static void remove_stale(struct gt_plugin *p)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", p->tracefs);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		/* One that is in use cannot be removed anyway: its owner has files of it open. */
		if (!ft_is_stale(d->d_name, FT_INSTANCE_PREFIX))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", p->tracefs, d->d_name);
		if (!p->host->file(p, GT_FILE_RMDIR, path, 0))
			p->host->log(p, LOG_NOTICE, "removed %s, left by a gputrace that is gone",
				     path);
	}
	if (dir)
		closedir(dir);
}

/* Layout of our pages: header_page has the top-level buffer's size, an instance may differ. */
static int read_format(struct ft *ft)
{
	size_t page_len = 0, event_len = 0;
	ft_auto_free char *page = gt_live_read(ft->p->tracefs, "events/header_page", &page_len);
	ft_auto_free char *event = gt_live_read(ft->p->tracefs, "events/header_event", &event_len);
	ft_auto_free char *subbuf =
		tracefs_instance_file_read(ft->instance, "buffer_subbuf_size_kb", NULL);
	long kib = subbuf ? strtol(subbuf, NULL, 10) : 0;
	int ret;

	if (!page)
		return ft->p->host->error(ft->p, EIO, "%s/events/header_page cannot be read",
					  ft->p->tracefs);
	ret = gt_page_format_parse(&ft->format, page, page_len, event, event_len, false);
	if (ret)
		return ft->p->host->error(ft->p, -ret,
					  "this kernel's buffer pages have a layout not known here "
					  "(see %s/events/header_page)",
					  ft->p->tracefs);
	if (kib > 0 && kib <= (long)(GT_PAGE_SIZE_MAX >> 10))
		ft->format.size = (uint32_t)kib << 10;
	return 0;
}

static int set_up(struct ft *ft)
{
	int ret;

	ft_tracing_on(ft, false);
	ret = ft_write(ft->p, ft->dir, "trace_clock", "mono");
	if (ret)
		return ft->p->host->error(ft->p, -ret, "trace_clock cannot be set to mono");
	/* Wishes: an older kernel may lack one, and works without. */
	ft_write(ft->p, ft->dir, "trace_options", "overwrite");
	ft_write(ft->p, ft->dir, "trace_options", "record-cmd");
	ft_write(ft->p, ft->dir, "trace_options", "record-tgid");
	/* Readable from the first event on, not when half full. */
	ft_write(ft->p, ft->dir, "buffer_percent", "0");
	return read_format(ft);
}

void ft_writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg)
{
	static const char *const what[] = { "instances", "dynamic_events" };
	char path[PATH_MAX];

	for (size_t i = 0; p->tracefs && i < sizeof(what) / sizeof(what[0]); i++)
		if (snprintf(path, sizeof(path), "%s/%s", p->tracefs, what[i]) < (int)sizeof(path))
			add(arg, path);
}

int ft_instance_create(struct ft *ft)
{
	struct gt_plugin *p = ft->p;
	char name[32];
	int ret;

	remove_stale(p);
	ft_dynamic_clean(p); /* they cannot go while an instance has them enabled */
	snprintf(name, sizeof(name), FT_INSTANCE_PREFIX "%d", (int)getpid());
	if (snprintf(ft->dir, sizeof(ft->dir), "%s/instances/%s", p->tracefs, name) >=
	    (int)sizeof(ft->dir))
		return p->host->error(p, ENAMETOOLONG, "the path of tracefs is too long");
	ret = p->host->file(p, GT_FILE_MKDIR, ft->dir, 0);
	if (ret)
		return p->host->error(p, -ret, "%s cannot be made (%s)%s", ft->dir, strerror(-ret),
				      ret == -EEXIST ? ": something else uses it" : "");
	/* what is there already: the library makes, removes and writes nothing */
	ft->instance = tracefs_instance_alloc(p->tracefs, name);
	if (!ft->instance) {
		p->host->file(p, GT_FILE_RMDIR, ft->dir, 0);
		return p->host->error(p, ENOMEM, "%s cannot be used", ft->dir);
	}
	return set_up(ft);
}

void ft_instance_destroy(struct ft *ft)
{
	if (!ft->instance)
		return;
	ft_tracing_on(ft, false);
	/* It stays while somebody looks into it; what is made for it shall go all the same. */
	ft_write(ft->p, ft->dir, "events/enable", "0");
	if (ft->p->host->file(ft->p, GT_FILE_RMDIR, ft->dir, 0))
		ft->p->host->log(ft->p, LOG_WARNING, "%s could not be removed", ft->dir);
	tracefs_instance_free(ft->instance);
	ft->instance = NULL;
}

int ft_tracing_on(struct ft *ft, bool on)
{
	int ret = ft_write(ft->p, ft->dir, "tracing_on", on ? "1" : "0");

	return ret ? ft->p->host->error(ft->p, -ret, "%s/tracing_on cannot be written", ft->dir)
		   : 0;
}

/* What doctor and backends/ftrace/stats say. */

static void buffers(struct gt_details *t, const struct ft *ft)
{
	gt_detail(t, "buffer_asked %" PRId64 "\n", ft->buffer.asked);
	gt_detail(t, "buffer_cap %" PRId64 "\n", ft->buffer.cap);
	gt_detail(t, "buffer_granted %" PRId64 "\n", ft->buffer.granted);
	gt_detail(t, "buffer_total %" PRId64 "\n", ft->buffer.total);
	gt_detail(t, "subbuffer_size %u\n", ft->format.size);
}

static void counters(struct gt_details *t, const struct ft *ft)
{
	const struct gt_eventmap_stats *m = gt_eventmap_stats(ft->map);

	gt_detail(t, "events %" PRIu64 "\n", ft->stats.events);
	gt_detail(t, "records %" PRIu64 "\n", ft->stats.records);
	/* Losses without room for their number in the page are taken from per_cpu/cpuN/stats. */
	gt_detail(t, "lost %" PRIu64 "\n", ft->stats.lost);
	gt_detail(t, "lost_not_in_buffer %" PRIu64 "\n", ft->stats.dropped);
	gt_detail(t, "lost_marks_without_count %" PRIu64 "\n", ft->stats.guessed);
	gt_detail(t, "records_out_of_order %" PRIu64 "\n", ft->stats.late);
	gt_detail(t, "events_unknown %" PRIu64 "\n", ft->stats.unknown);
	gt_detail(t, "pages_malformed %" PRIu64 "\n", ft->stats.malformed);
	gt_detail(t, "pages_time_corrected %" PRIu64 "\n", ft->stats.restamped);
	gt_detail(t, "drains %" PRIu64 "\n", ft->stats.drains);
	gt_detail(t, "drains_full %" PRIu64 "\n", ft->stats.full);
	gt_detail(t, "ignored %" PRIu64 "\n", m->ignored);
	gt_detail(t, "unmatched %" PRIu64 "\n", m->unmatched);
	gt_detail(t, "malformed %" PRIu64 "\n", m->malformed);
	gt_detail(t, "jobs_forgotten %" PRIu64 "\n", m->forgotten);
}

static void functions(struct gt_details *t, const struct ft *ft)
{
	const struct ft_functions *fn = &ft->functions;
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];
	long matched = fn->matched;

	if (fn->calls) {
		gt_detail(t, "function_calls %" PRIu64 "\n", fn->calls);
		gt_detail(t, "function_calls_unknown %" PRIu64 "\n", fn->unknown);
		gt_detail(t, "function_calls_unnamed %" PRIu64 "\n", fn->unnamed);
	}
	if (!fn->filter)
		return;
	gt_detail(t, "functions_filter %.400s\n", ft->o->functions);
	if (matched >= 0)
		gt_detail(t, "functions_traced %ld\n", matched);
	if (fn->syms && fn->syms->cut)
		gt_detail(t, "functions_named %zu, the others' calls are unknown\n", fn->syms->n);
	for (unsigned int i = 0; i < fn->filter->n; i++) {
		if (!ft_functions_pending(&fn->filter->word[i]))
			continue;
		ft_filter_print(&fn->filter->word[i], word, sizeof(word));
		gt_detail(t, "functions_pending %s: module %s is not loaded\n", word,
			  fn->filter->word[i].module);
	}
}

void ft_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct ft *ft = p->priv;
	char reported[500];

	if (!len)
		return;
	*buf = '\0';
	if (!ft)
		return;
	ft_functions_rescan(ft);
	gt_detail(&t,
		  "instance %s\nclock mono\nclock_offset_ns 0\nclock_uncertainty_ns 0\n"
		  "clock_measured trace_clock\ncpus %u\n",
		  ft->dir, ft->ncpus);
	buffers(&t, ft);
	counters(&t, ft);
	functions(&t, ft);
	gt_detail(&t, "tracepoints %u\n", ft->nenabled);
	if (ft->reported_by[0])
		gt_detail(&t, "tracepoints_reported_by %s, which is better at it here\n",
			  ft->reported_by);
	if (ft->queues_by[0])
		gt_detail(&t,
			  "kfd_queues_reported_by %s, as programs ask for them: the functions are "
			  "calls\n",
			  ft->queues_by);
	if (gt_tasks_foreign(ft->tasks))
		gt_detail(&t, "pids unknown: the trace has pids of the first PID namespace, and "
			      "this is another\n");
	if (ft->map_error[0])
		gt_detail(&t, "event_map_error %s\n", ft->map_error);
	if (ft->bind_error[0])
		gt_detail(&t, "tracepoint_error %s\n", ft->bind_error);
	for (unsigned int i = 0; ft_standins_emit(ft, i, reported, sizeof(reported)); i++)
		gt_detail(&t, "%s\n", reported);
	for (unsigned int i = 0; i < ft->nenabled; i++)
		gt_detail(&t, "tracepoint %s\n", ft->enabled[i]);
}
