/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The function tracer of our instance: Linux kernel/trace/ftrace.c, ftrace_regex_open() and below.
 *
 * An empty filter means all functions, and a filter that only waits for a module is empty. So a
 * function that is never called is always in it; then the kernel itself adds a module's functions
 * as it loads, in time for its very init.
 *
 * What is written takes effect when the file is closed, refused words or not.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../internal.h"

#define FILTER "set_ftrace_filter"

/* Each ends this kernel's life, so that nobody sees its call. */
static const char *const never[] = { "kernel_halt", "kernel_power_off", "kernel_restart",
				     "orderly_poweroff" };

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; *p; p += strcspn(p, " \n")) {
		p += strspn(p, " \n");
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ' ' || p[n] == '\n'))
			return true;
	}
	return false;
}

int ft_tracer_usable(const char *dir, char *err, size_t len)
{
	ft_auto_free char *tracers = gt_live_read(dir, "available_tracers", NULL);
	ft_auto_free char *enabled = gt_live_read("/proc/sys/kernel", "ftrace_enabled", NULL);
	ft_auto_close int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" FILTER, dir);
	/* Reading it changes nothing, and is refused where writing is. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT) {
		snprintf(err, len,
			 "functions: this kernel does not let its functions be traced: %s/" FILTER
			 ": %s (a lockdown or another security policy)",
			 dir, strerror(errno));
		return -EOPNOTSUPP;
	}
	if (fd < 0 || !tracers || !has_word(tracers, "function")) {
		snprintf(err, len,
			 "functions: this kernel has no function tracer (it is built without "
			 "CONFIG_FUNCTION_TRACER or CONFIG_DYNAMIC_FTRACE)");
		return -EOPNOTSUPP;
	}
	if (enabled && !atoi(enabled)) {
		snprintf(err, len,
			 "functions: the function tracer is switched off: sysctl "
			 "kernel.ftrace_enabled=1");
		return -EOPNOTSUPP;
	}
	return 0;
}

bool ft_module_loaded(const char *module)
{
	char path[FT_WORD_MODULE + 40];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module);
	return !gt_live_access(path, F_OK);
}

/* One word; the kernel takes one at a time, and tells of this one before the next. */
static int write_word(int fd, const char *word)
{
	char line[FT_WORD_NAME + FT_WORD_MODULE + 16];
	size_t n = (size_t)snprintf(line, sizeof(line), "%s\n", word), at = 0;
	ssize_t done;

	while (at < n) {
		done = write(fd, line + at, n - at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		at += (size_t)done;
	}
	return 0;
}

int ft_tracer_refused(const char *word, int ret, char *err, size_t len)
{
	if (ret == -EINVAL)
		snprintf(
			err, len,
			"functions: '%.80s' means no function that this kernel can trace; tracefs' "
			"available_filter_functions lists them",
			word);
	else
		snprintf(err, len, "functions: the kernel refuses '%.80s': %s", word,
			 strerror(-ret));
	return ret;
}

static int write_words(int fd, const struct ft_filter *f, bool lenient, char *err, size_t len)
{
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];
	int ret = 0;

	for (unsigned int i = 0; i < f->n; i++) {
		ft_filter_print(&f->word[i], word, sizeof(word));
		ret = write_word(fd, word);
		if (ret && !(lenient && ret == -EINVAL))
			return ft_tracer_refused(word, ret, err, len);
	}
	return 0;
}

/* The last word, so that nothing takes it away */
static int write_never(int fd)
{
	int ret = -EINVAL;

	for (size_t i = 0; ret && i < sizeof(never) / sizeof(never[0]); i++)
		ret = write_word(fd, never[i]);
	return ret;
}

static int open_filter(const char *dir, int flags)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/" FILTER, dir);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/*
 * Opening without O_TRUNC takes a copy of the filter at work: while @fd, with words that were
 * refused, is still open that is the old one. Closed later, it wins. Only what waits for modules
 * was dropped at once, and is said again.
 */
static void put_back(const char *dir, int fd, const struct ft_filter *old)
{
	ft_auto_close int keep = open_filter(dir, O_APPEND);
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];

	for (unsigned int i = 0; keep >= 0 && old && i < old->n; i++) {
		if (!ft_functions_pending(&old->word[i]))
			continue;
		ft_filter_print(&old->word[i], word, sizeof(word));
		write_word(keep, word);
	}
	close(fd);
}

int ft_tracer_filter(const char *dir, const struct ft_filter *f, const struct ft_filter *old,
		     bool lenient, char *err, size_t len)
{
	int fd = open_filter(dir, O_TRUNC), ret, never_ret;

	if (fd < 0) {
		snprintf(err, len, "functions: %s/" FILTER ": %s", dir, strerror(-fd));
		return fd;
	}
	ret = write_words(fd, f, lenient, err, len);
	/* Also after a word that was refused: for a moment what there is will be at work. */
	never_ret = write_never(fd);
	if (!ret && never_ret)
		ret = ft_tracer_refused(never[0], never_ret, err, len);
	if (ret) {
		put_back(dir, fd, old);
		return ret;
	}
	close(fd);
	return 0;
}

void ft_tracer_spare(const char *dir)
{
	char path[PATH_MAX], tid[32];
	ft_auto_close int fd = -1;
	struct dirent *d;
	DIR *tasks;

	/* Before the list is filled, so that no thread is made in between that is in neither. */
	ft_write(dir, "trace_options", "function-fork");
	snprintf(path, sizeof(path), "%s/set_ftrace_notrace_pid", dir);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	tasks = fd < 0 ? NULL : opendir("/proc/self/task");
	while (tasks && (d = readdir(tasks))) {
		int n = snprintf(tid, sizeof(tid), "%.20s\n", d->d_name);

		/* One that has just ended is refused: it calls nothing any more. */
		if (*d->d_name != '.' && write(fd, tid, (size_t)n) < 0 && errno == ENOMEM)
			break;
	}
	if (tasks)
		closedir(tasks);
}

void ft_tracer_forget(const char *dir)
{
	int fd = open_filter(dir, O_TRUNC);

	if (fd >= 0)
		close(fd);
}

/* Lines of @n bytes that name a function, not "####" and not what waits for a module. */
static long functions_in(const char *p, size_t n, bool *named)
{
	long found = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '#' || p[i] == ':')
			*named = false;
		if (p[i] != '\n')
			continue;
		found += *named;
		*named = true;
	}
	return found;
}

long ft_tracer_count(const char *dir, const _Atomic bool *cancel)
{
	char path[PATH_MAX], buf[65536];
	ft_auto_close int fd = -1;
	bool named = true;
	long found = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" FILTER, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((n = read(fd, buf, sizeof(buf))) > 0 && !*cancel)
		found += functions_in(buf, (size_t)n, &named);
	/* one of them is never called */
	return n || !found ? -1 : found - 1;
}
