/* SPDX-License-Identifier: GPL-2.0 */
/* mount.gputrace: arguments, configuration, start and stop of the parts in order, background, messages. */
/* mount.gputrace: arguments, configuration, and start and stop of the parts in order. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <malloc.h>
#include <mntent.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../backend/lib/recording.h"
#include "../conf/profile.h"
#include "access/access.h"
#include "devices.h"
#include "fuse/fuse.h"
#include "mount_options.h"
#include "pipeline.h"
#include "privileges.h"
#include "state_file.h"
#include "tree/tree.h"
#include "writer.h"

#define PLACE "/sys/kernel/tracing"

static int mounted_at(char *out, unsigned long len)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *e;

	*out = 0;
	if (!f)
		return -1;
	while ((e = getmntent(f))) {
		/* the usual place before an automount under debugfs */
		if (strcmp(e->mnt_type, "tracefs") || (*out && strcmp(e->mnt_dir, PLACE)))
			continue;
		snprintf(out, len, "%s", e->mnt_dir);
	}
	endmntent(f);
	return *out ? 0 : -1;
}

/** tracefs_find() - @wanted if given, else where it is mounted; root mounts it if it is nowhere.
 * @out is "" if it is not mounted */
static void tracefs_find(const char *wanted, char *out, unsigned long len)
{
	if (wanted && *wanted) {
		snprintf(out, len, "%s", wanted);
		return;
	}
	if (!mounted_at(out, len))
		return;
	if (!geteuid() &&
	    !mount("tracefs", PLACE, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		snprintf(out, len, PLACE);
}

static int result = -1; /* write end of the pipe to the process that waits */
static int null = -1;	/* /dev/null, from when it may still be opened for writing */

/* What the background process says: an exit code, then the reason. */
struct verdict {
	int code;
	char why[1024];
};

/** daemon_print() - a line on standard error, after the name by which the program was called */
static void __attribute__((format(printf, 1, 2))) daemon_print(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void wait_for_verdict(int fd, pid_t child)
{
	struct verdict v = { 0 };
	size_t got = 0;
	ssize_t n;
	int status;

	while (got < sizeof(v) &&
	       ((n = read(fd, (char *)&v + got, sizeof(v) - got)) > 0 || (n < 0 && errno == EINTR)))
		got += n > 0 ? (size_t)n : 0;
	if (got < sizeof(v)) {
		/* it died without a word */
		waitpid(child, &status, 0);
		daemon_print("the daemon died while it started%s",
			     WIFSIGNALED(status) ? " (by a signal)" : "");
		_exit(32);
	}
	if (v.code)
		daemon_print("%s", v.why);
	_exit(v.code);
}

/**
 * daemon_detach() - returns in the background process; the caller's process waits until
 *	gt_daemon_ready() or gt_daemon_failed() and exits accordingly. Before any thread is made
 * @foreground: stays where it is; a failure is only printed, a start that went well is reported to the
 *	service manager that the environment names as NOTIFY_SOCKET
 */
static int daemon_detach(bool foreground)
{
	int fds[2];
	pid_t pid;

	if (foreground)
		return 0;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(fds[1]);
		wait_for_verdict(fds[0], pid);
	}
	close(fds[0]);
	result = fds[1];
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	setsid();
	return chdir("/") ? -errno : 0;
}

static void say(int code, const char *why)
{
	struct verdict v = { .code = code };

	snprintf(v.why, sizeof(v.why), "%s", why);
	if (write(result, &v, sizeof(v)) < 0)
		return; /* nobody waits any more */
	close(result);
	result = -1;
}

/* sd_notify(3): a datagram to the service manager's socket; an abstract one's name begins with @. */
static void notify(const char *text)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(a.sun_path))
		return;
	strcpy(a.sun_path, path);
	if (*path == '@')
		*a.sun_path = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
		syslog(LOG_WARNING, "NOTIFY_SOCKET=%s: %s", path, strerror(errno));
	close(fd);
}

/** daemon_ready() - the start went well: the caller's process, if it waits, exits with 0 */
static void daemon_ready(void)
{
	if (result < 0) {
		notify("READY=1");
		return;
	}
	say(0, "");
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
#ifndef __SANITIZE_ADDRESS__ /* a sanitizer's report must not be lost */
	dup2(null, STDERR_FILENO);
#endif
	if (null > STDERR_FILENO)
		close(null);
	null = -1;
}

/** daemon_failed() - the caller's process prints @why and exits with @code */
static void daemon_failed(const char *why, int code)
{
	if (result >= 0)
		say(code, why);
	else
		daemon_print("%s", why);
}

static void mark_given(const char *key, bool *given)
{
	for (int i = 0; gt_conf_items[i].key; i++)
		given[i] |= !strcmp(gt_conf_items[i].key, key);
}

/**
 * merge_settings() - all settings: the configuration, mount options over it, between them what an
 *	earlier mount kept, and what the profile sets of what none of these named
 * @keep: is made if settings are to be kept, which those of a recording are not; the caller's to
 *	free, also if this fails
 */
static int merge_settings(const struct gt_mountargs *args, struct gt_config *c,
			  struct gt_keep **keep, char *err, size_t len)
{
	const char *path = args->conf ? args->conf : GT_SYSCONFDIR "/gputrace.conf";
	bool given[GT_KEEP_ITEMS] = { 0 }, options[GT_KEEP_ITEMS] = { 0 };
	int ret = gt_config_init(c);

	if (!ret && (args->conf || !access(path, F_OK)))
		ret = gt_config_read_seen(c, path, given, err, len);
	for (struct gt_setting *s = args->settings; s && !ret; s = s->next) {
		ret = gt_config_set(c, s->key, s->value, err, len);
		mark_given(s->key, options);
	}
	if (!ret && *c->keep && !args->replay) {
		*keep = gt_keep_new(c->keep);
		ret = *keep ? 0 : -ENOMEM;
	}
	if (*keep)
		gt_keep_read(*keep, c, options);
	for (int i = 0; gt_conf_items[i].key; i++)
		given[i] |= options[i];
	if (!ret)
		gt_profile_apply(c, given);
	return ret;
}

/** absolute_files() - names of files, separated by colons, as whole paths: relative ones are the
 * caller's, and the daemon stands in "/". @out: to be freed. 0, or -errno with a sentence */
static int absolute_files(const char *list, char **out, char *err, size_t len)
{
	char *copy = strdup(list), *rest = copy, *all = NULL;
	int ret = copy ? 0 : -ENOMEM;

	for (char *f = copy ? gt_path_next(&rest, ':') : NULL; f && !ret;
	     f = gt_path_next(&rest, ':')) {
		char path[PATH_MAX], *escaped = NULL, *more;

		if (!realpath(f, path)) {
			ret = -errno;
			snprintf(err, len, "%s: %s", f, strerror(errno));
		} else if (!(escaped = gt_path_escape(path, ':')) ||
			   asprintf(&more, "%s%s%s", all ? all : "", all ? ":" : "", escaped) < 0) {
			ret = -ENOMEM;
		} else {
			free(all);
			all = more;
		}
		free(escaped);
	}
	free(copy);
	if (!ret && !all) {
		snprintf(err, len, "replay= needs a file");
		ret = -EINVAL;
	}
	if (ret)
		free(all);
	else
		*out = all;
	return ret;
}

#define REPLAY_WAIT_MS 10000 /* a small recording is read when mount returns */
#define NS	       1000000000ULL

/** struct gt_daemon - everything that is started, in the order of starting */
struct gt_daemon {
	struct gt_mountargs args;
	struct gt_config conf;
	struct gt_devices devices;
	struct gt_gate gate;
	struct gt_app app;
	struct gt_pipeline *pipeline;
	struct gt_fs *fs;
	struct gt_mounter mounter;
	struct gt_writer writer;
	char **argv;
	char dir[PATH_MAX], plugin_dir[PATH_MAX], events_dir[PATH_MAX];
	char tracefs[PATH_MAX];
	char buffer_size[24];
	char *replay; /* recordings, a colon between two */
	bool named;   /* backend= names some */
	char err[1024];
};

/* The program stands in PREFIX/sbin; what it needs is found from there, installed or just built. */
static int beside(char *out, const char *what)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return -errno;
	exe[n] = 0;
	n = snprintf(out, PATH_MAX, "%s/%s", dirname(dirname(exe)), what);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int configure(struct gt_daemon *d)
{
	int err = merge_settings(&d->args, &d->conf, &d->app.keep, d->err, sizeof(d->err));

	if (err)
		return err;
	if (*d->conf.plugin_dir)
		snprintf(d->plugin_dir, PATH_MAX, "%s", d->conf.plugin_dir);
	else
		err = beside(d->plugin_dir, "lib/gputrace");
	if (*d->conf.events_dir)
		snprintf(d->events_dir, PATH_MAX, "%s", d->conf.events_dir);
	else if (!err)
		err = beside(d->events_dir, "share/gputrace/events.d");
	return err;
}

/* Which backend plays which of them is the host's to find. */
static int configure_replay(struct gt_daemon *d)
{
	int err;

	if (d->args.speed && !d->args.replay) {
		snprintf(d->err, sizeof(d->err), "speed= goes with replay=");
		return -EINVAL;
	}
	if (!d->args.replay)
		return 0;
	err = absolute_files(d->args.replay, &d->replay, d->err, sizeof(d->err));
	d->app.replay = !err;
	d->app.paced = d->args.speed && strcmp(d->args.speed, "0");
	return err;
}

/* Whole, as the daemon stands in "/"; then this machine's own sources have nothing to say. */
static int configure_sysroot(struct gt_daemon *d)
{
	char path[PATH_MAX];
	int err = 0;

	d->named = *d->conf.backend;
	if (!*d->conf.sysroot)
		return 0;
	if (!realpath(d->conf.sysroot, path)) {
		err = -errno;
		snprintf(d->err, sizeof(d->err), "sysroot=%s: %s", d->conf.sysroot,
			 strerror(errno));
	}
	if (!err)
		err = gt_config_set(&d->conf, "sysroot", path, d->err, sizeof(d->err));
	if (!err && !d->named)
		err = gt_config_set(&d->conf, "backend", "sysfs", d->err, sizeof(d->err));
	return err;
}

/* A replay's history is the whole recording. Where no file can be made it is what memory has room for. */
static void keep_all(struct gt_app *app)
{
	const char *dirs[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };
	void (*old)(int) = signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes is an error */
	int err = -ENOENT;

	for (size_t i = 0; err && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dirs[i] && *dirs[i] == '/')
			err = gt_log_to_file(app->log, dirs[i]);
	signal(SIGXFSZ, old);
	if (!err)
		return;
	snprintf(app->history, sizeof(app->history),
		 "no file for the history in $TMPDIR, /var/tmp or /tmp (%s): it is what "
		 "history_size "
		 "has room for",
		 strerror(-err));
}

static int make_parts(struct gt_daemon *d)
{
	struct gt_config *c = &d->conf;
	struct gt_limits limits = {
		.max_jobs = (unsigned int)c->max_jobs,
		.max_job_age_ns = (uint64_t)c->max_job_age_s * NS,
		.max_procs = (unsigned int)c->max_processes,
		.proc_linger_ns = (uint64_t)c->proc_linger_s * NS,
	};
	struct gt_app *app = &d->app;

	app->conf = c;
	app->gate = &d->gate;
	app->mountpoint = d->dir;
	app->model = gt_model_new(&limits, !app->replay);
	gt_gate_init(&d->gate, app->model);
	gt_gate_configure(&d->gate, c);
	if (app->model)
		app->model->window_ns =
			c->aggregator_enable ? (uint64_t)c->aggregator_window * 1000000 : 0;
	app->log = gt_log_new((uint64_t)c->history_size, !app->replay);
	if (app->log)
		app->log->user_percent = (unsigned int)c->history_user_percent;
	if (app->log && app->replay && c->history_size)
		keep_all(app);
	app->writes = gt_writelog_new();
	gt_access_init(app, d->args.gid);
	if (!app->replay)
		gt_devices_scan(&d->devices, d->conf.sysroot);
	if (app->model && app->log && app->writes)
		d->pipeline = gt_pipeline_new(app, &d->devices);
	if (d->pipeline)
		return 0;
	snprintf(d->err, sizeof(d->err), "not enough memory");
	return -ENOMEM;
}

/* What [buffers] asks of all sources holds for each that has such an option and no word of its own. */
static const char *option_of(void *arg, const char *backend, const char *key)
{
	struct gt_daemon *d = arg;
	const char *value = gt_config_backend(&d->conf, backend, key);

	if (d->replay && d->args.speed && !strcmp(key, "speed"))
		return d->args.speed;
	if (!value && !strcmp(key, "sysroot"))
		return d->conf.sysroot;
	if (value || strcmp(key, "buffer_size"))
		return value;
	snprintf(d->buffer_size, sizeof(d->buffer_size), "%lld", (long long)d->conf.buffer_size);
	return d->buffer_size;
}

static const char *where_option(void *arg, const char *backend, const char *key)
{
	struct gt_daemon *d = arg;

	return gt_config_backend_where(&d->conf, backend, key);
}

static bool each_option(void *arg, unsigned int i, const char **backend, const char **key)
{
	struct gt_daemon *d = arg;

	return gt_config_backend_each(&d->conf, i, backend, key);
}

static int open_file(void *arg, enum gt_file_op op, const char *path, int flags)
{
	struct gt_daemon *d = arg;

	return gt_writer_file(&d->writer, op, path, flags);
}

static int make_host(struct gt_daemon *d)
{
	struct gt_host_conf hc = {
		.plugin_dir = d->plugin_dir,
		.events_dir = d->events_dir,
		.tracefs = *d->tracefs ? d->tracefs : NULL,
		.backends = d->conf.backend,
		.replay = d->replay,
		.option = option_of,
		.option_each = each_option,
		.option_where = where_option,
		.strict = true,
		.may_be_empty = !d->replay && !d->named,
		.option_arg = d,
		.file = open_file,
		.file_arg = d,
		.raise = gt_privs_raise,
		.lower = gt_privs_lower,
		.level = (int)d->conf.level,
		.job_age = (uint64_t)d->conf.max_job_age_s * NS,
	};
	struct gt_sink sink;

	gt_pipeline_sink(d->pipeline, &sink);
	d->app.host = gt_host_new(&hc, &sink, d->err, sizeof(d->err));
	if (!d->app.host) /* a recording is looked at there */
		return d->app.replay ? -ENODATA : -EINVAL;
	d->app.model->several = gt_host_recordings(d->app.host) > 1;
	return 0;
}

static int make_fs(struct gt_daemon *d)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	bool root = !geteuid();
	char opts[256];
	int ret;

	snprintf(opts, sizeof(opts), "-odefault_permissions,fsname=gputrace,subtype=gputrace%s",
		 root ? ",allow_other,nosuid,nodev,noexec" : "");
	if (fuse_opt_add_arg(&args, "gputrace") || fuse_opt_add_arg(&args, opts) ||
	    (d->args.fuse &&
	     (fuse_opt_add_arg(&args, "-o") || fuse_opt_add_arg(&args, d->args.fuse)))) {
		snprintf(d->err, sizeof(d->err), "not enough memory");
		fuse_opt_free_args(&args);
		return -ENOMEM;
	}
	d->fs = gt_fs_new(&d->app, &args, d->mounter.sock < 0 && !root ? NULL : &d->mounter, d->err,
			  sizeof(d->err));
	ret = d->fs ? 0 : -errno;
	fuse_opt_free_args(&args);
	if (ret)
		return ret;
	d->fs->max_read = d->args.max_read;
	return 0;
}

static void wake(void *fs)
{
	gt_notify_wake(fs);
}

static void find_simulated(struct gt_app *app)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; gt_host_info(app->host, i, &info); i++)
		if (info.state == GT_BS_RUNNING && (info.flags & GT_BACKEND_SIMULATED))
			app->simulated = true;
}

struct writes {
	char *path[GT_WRITER_PLACES];
	unsigned int n;
};

static void add_path(void *arg, const char *path)
{
	struct writes *w = arg;

	if (w->n < GT_WRITER_PLACES)
		w->path[w->n] = strdup(path);
	w->n += w->n < GT_WRITER_PLACES && w->path[w->n];
}

/* What is written from now on is opened by a process that can open nothing else. */
static int start_writer(struct gt_daemon *d)
{
	struct gt_writer_conf c = { .argv = d->argv, .dir = d->dir };
	struct writes w = { .n = 0 };
	int err;

	gt_host_writes(d->app.host, add_path, &w);
	c.path = (const char *const *)w.path;
	c.n = w.n;
	c.kept = gt_keep_file(d->app.keep, &c.folder);
	err = gt_writer_start(&d->writer, &c, d->err, sizeof(d->err));
	if (d->writer.sock >= 0)
		d->app.writer = &d->writer;
	while (w.n)
		free(w.path[--w.n]);
	return err;
}

/*
 * From before the first thread: views need to look at others' namespaces all the time; looking at what
 * a process has open, and mount(2) and umount(2), are put in force for the moment.
 */
static int drop_rights(struct gt_daemon *d)
{
	uint64_t raised = 1ULL << CAP_SYS_ADMIN | gt_host_caps(d->app.host, true);
	char calls[512];
	int err;

	if (!d->app.replay)
		raised |= 1ULL << CAP_DAC_READ_SEARCH;
	err = start_writer(d);
	if (err)
		return err;
	err = gt_privs_drop(1ULL << CAP_SYS_PTRACE | gt_host_caps(d->app.host, false), raised,
			    d->err, sizeof(d->err));
	if (err)
		return err;
	gt_host_syscalls(d->app.host, calls, sizeof(calls));
	err = gt_seccomp_drop(calls, d->err, sizeof(d->err));
	if (err != -EOPNOTSUPP)
		return err;
	syslog(LOG_WARNING, "%s: this kernel has no filters of system calls (seccomp): none is set",
	       d->dir);
	d->app.unfiltered = true;
	return 0;
}

/* All that may be refused before anything is started. */
static int build(struct gt_daemon *d)
{
	struct timespec ts;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	d->app.started = (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
	if (d->app.keep)
		gt_keep_by(d->app.keep, &d->writer);
	err = make_parts(d);
	if (!err)
		err = make_host(d);
	if (!err)
		err = gt_perms_init(&d->app, d->err, sizeof(d->err));
	return err ? err : make_fs(d);
}

static int start_host(struct gt_daemon *d)
{
	int err = gt_host_start(d->app.host, d->err, sizeof(d->err));

	if (!err && d->app.replay && gt_host_replay_failed(d->app.host, d->err, sizeof(d->err)))
		err = -EINVAL; /* there is nothing else to show */
	return err;
}

/* What a recording lacks, said where it is mounted: few look into doctor when there is something to see */
static void warn_of_recordings(const struct gt_daemon *d)
{
	struct gt_backend_info info;

	if (*d->app.history)
		daemon_print("warning: %s", d->app.history);
	if (d->app.log->full)
		daemon_print(
			"warning: the history is full, later events are not in it: %s; TMPDIR=DIR "
			"names a folder with more room",
			strerror(d->app.log->full));
	for (unsigned int i = 0; d->app.replay && gt_host_info(d->app.host, i, &info); i++)
		if (*info.last_error && info.state != GT_BS_REFUSED && info.state != GT_BS_OFF)
			daemon_print("warning: backend %s: %s", info.name, info.last_error);
}

/* An empty tree says nothing: the mount's output says where to look */
static void warn_of_no_gpu(const struct gt_daemon *d)
{
	struct gt_model *m = d->app.model;
	unsigned int n;
	{
		GT_MODEL_LOCK(m);
		n = m->ngpus;
	}
	if (!d->app.replay && !n)
		daemon_print(
			"no GPU was found: %s/doctor explains why; -o backend=sim simulates one",
			d->dir);
}

/* A small recording is read now: only that shows whether it is one */
static int read_recordings(struct gt_daemon *d)
{
	if (!d->app.replay)
		return 0;
	if (!d->app.paced)
		gt_host_drained(d->app.host, REPLAY_WAIT_MS);
	return gt_host_replay_failed(d->app.host, d->err, sizeof(d->err)) ? -ENODATA : 0;
}

static int start(struct gt_daemon *d)
{
	int err;

	d->fs->processes = gt_pipeline_processes(d->pipeline);
	if (!d->app.replay)
		d->fs->uevents = gt_uevent_open();
	gt_pipeline_notify(d->pipeline, wake, d->fs, &d->fs->waiting);
	err = drop_rights(d);
	if (!err)
		err = start_host(d);
	if (err)
		return err;
	if (d->app.keep && gt_keep_refused(d->app.keep))
		syslog(LOG_WARNING, "%s: %s", d->dir, gt_keep_refused(d->app.keep));
	find_simulated(&d->app);
	err = read_recordings(d);
	if (err)
		return err;
	if (d->app.replay)
		gt_pipeline_settle(d->pipeline);
	return gt_fs_mount(d->fs, d->dir, d->err, sizeof(d->err));
}

static void stop(struct gt_daemon *d)
{
	if (d->app.host) {
		if (!gt_host_stop(d->app.host)) {
			syslog(LOG_CRIT, "%s: a backend hangs: not waited for", d->dir);
			_exit(GT_EXIT_SYSTEM);
		}
		gt_host_free(d->app.host);
	}
	if (d->fs)
		gt_fs_free(d->fs);
	gt_writer_stop(&d->writer);
	gt_mounter_stop(&d->mounter);
	gt_pipeline_free(d->pipeline);
	gt_writelog_free(d->app.writes);
	gt_log_free(d->app.log);
	gt_gate_destroy(&d->gate);
	if (d->app.model)
		gt_model_free(d->app.model);
	gt_devices_free(&d->devices);
	gt_keep_free(d->app.keep);
	gt_config_free(&d->conf);
	gt_mountargs_free(&d->args);
	free(d->replay);
}

/*
 * Long texts come and go. Left alone, malloc takes the first one freed as a sign to keep all later ones
 * on its heap, which never shrinks again.
 */
#define BIG_TEXT (256 << 10)

static void set_limits(void)
{
	struct rlimit r;

	mallopt(M_MMAP_THRESHOLD, BIG_TEXT);
	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max < 65536 ? r.rlim_max : 65536;
	setrlimit(RLIMIT_NOFILE, &r);
}

static int start_mounter(struct gt_daemon *d)
{
	const char *ns = d->args.mountns;
	int err;

	if (geteuid() || (ns && *d->args.dir != '/')) {
		snprintf(d->err, sizeof(d->err), "mountns= %s",
			 geteuid() ? "is for root" : "needs the whole path of the directory");
		return -EINVAL;
	}
	d->mounter.options = d->args.fuse;
	err = gt_mounter_start(&d->mounter, ns, d->args.dir, d->err, sizeof(d->err));
	if (!err)
		snprintf(d->dir, sizeof(d->dir), "%s", d->mounter.dir);
	return err;
}

static int prepare_dir(struct gt_daemon *d)
{
	int err, fd;

	if (d->args.mountns || (d->args.auto_unmount && !geteuid()))
		return start_mounter(d);
	err = gt_mount_resolve(d->args.dir, d->dir, d->err, sizeof(d->err));
	if (err)
		return err;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	/* -f may check what is to be mounted there next */
	err = d->args.fake && gt_mounted(fd, d->dir, NULL)
		      ? 0
		      : gt_mount_prepare(fd, d->dir, d->err, sizeof(d->err));
	if (fd >= 0)
		close(fd);
	d->mounter.options = d->args.fuse;
	snprintf(d->mounter.dir, sizeof(d->mounter.dir), "%s", d->dir);
	if (!err && d->args.auto_unmount)
		err = gt_mounter_watch(&d->mounter, d->dir, d->err, sizeof(d->err));
	return err;
}

static int prepare(struct gt_daemon *d)
{
	int err;

	err = prepare_dir(d);
	if (!err)
		err = configure(d);
	if (!err)
		err = configure_replay(d);
	if (!err)
		err = configure_sysroot(d);
	if (!err && !d->app.replay)
		tracefs_find(d->conf.tracefs, d->tracefs, sizeof(d->tracefs));
	return err;
}

static int code_of(int err)
{
	return err == -EINVAL || err == -ERANGE ? GT_EXIT_USAGE : GT_EXIT_MOUNT;
}

/* -f: a recording is read, as only that shows whether it is one; nothing else is started */
static int check(struct gt_daemon *d)
{
	if (!d->app.replay)
		return 0;
	return drop_rights(d) || start_host(d) || read_recordings(d) ? GT_EXIT_MOUNT : 0;
}

static int fail(struct gt_daemon *d, int code)
{
	daemon_failed(d->err, code);
	stop(d);
	return code;
}

int main(int argc, char **argv)
{
	static struct gt_daemon d = { .mounter = { .sock = -1, .mountinfo = -1 },
				      .writer = GT_WRITER_NONE };
	int err;

	d.argv = argv;
	openlog("gputrace", LOG_PID, LOG_DAEMON);
	if (getuid() != geteuid() || getgid() != getegid()) {
		snprintf(d.err, sizeof(d.err),
			 "is set-uid or set-gid, which it must not be: it would read what the "
			 "caller "
			 "may not, and show the caller everybody's work");
		return fail(&d, GT_EXIT_USAGE);
	}
	if (gt_mountargs_parse(&d.args, argc, argv, d.err, sizeof(d.err)))
		return fail(&d, GT_EXIT_USAGE);
	if (d.args.help || d.args.version) {
		if (d.args.help)
			gt_mountargs_help(argv[0]);
		else
			puts("gputrace " GT_VERSION);
		stop(&d);
		return 0;
	}
	err = prepare(&d);
	if (err)
		return fail(&d, code_of(err));
	set_limits();
	err = d.args.fake ? 0 : daemon_detach(d.args.foreground);
	if (err) {
		snprintf(d.err, sizeof(d.err), "cannot go to the background: %s", strerror(-err));
		return fail(&d, GT_EXIT_SYSTEM);
	}
	err = build(&d);
	if (err)
		return fail(&d, code_of(err));
	if (d.args.fake) {
		err = check(&d);
		if (err)
			return fail(&d, err);
		stop(&d);
		return 0;
	}
	if (start(&d))
		return fail(&d, GT_EXIT_MOUNT);
	warn_of_recordings(&d);
	warn_of_no_gpu(&d);
	daemon_ready();
	err = gt_fs_run(d.fs);
	if (err)
		syslog(LOG_ERR, "%s: ended: %s", d.dir, strerror(-err));
	stop(&d);
	return err ? GT_EXIT_SYSTEM : 0;
}
