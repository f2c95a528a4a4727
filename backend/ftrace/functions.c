/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The function tracer: the setting `functions`, and from a call to a record. A thread applies a new
 * setting; meanwhile events are drained, so that their buffers do not overrun.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#include "../lib/ioctl_names.h"
#include "ftrace.h"

static int ft_calls_format(struct ft *ft);

/* A filter on its way to work: between the ingest thread and the thread that sets it. */
#define FT_KALLSYMS "/proc/kallsyms"

/* NAMED: the table is made, and waits to be taken over before the first call can come. */
enum ft_stage { FT_NAMING, FT_NAMED, FT_TAKEN, FT_DONE };

/**
 * struct ft_change - what the thread has to do, and what it answers
 * @want: to be at work; @old: is, or NULL; both are only read by the thread, but for @want's
 *	ft_word.hit
 * @lenient: as tracer_filter()
 * @matched: where the number of functions goes, once it is known
 * @lock: guards @stage; what a stage is named after is finished then
 * @syms: from FT_NAMED on; who takes them over leaves NULL
 * @ret: 0 or -errno, with @err; from FT_DONE on
 */
struct ft_change {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum ft_stage stage;
	_Atomic bool cancel;
	_Atomic long *matched;
	struct gt_plugin *p;
	const char *dir;
	struct ft_filter *want;
	const struct ft_filter *old;
	struct ft_syms *syms;
	bool lenient;
	int ret;
	char err[400];
};

/*
 * The setting `functions`: the kernel's own syntax (Linux Documentation/trace/ftrace.rst, "Filter
 * commands"), less its commands. Those act on the whole kernel (traceoff, snapshot, dump) or on
 * whatever else somebody traces, so they are no filter.
 */

#define BETWEEN " \t\n,"

/* One of "[a-z]", "[!a-z]"; *@p moves behind it. NULL for a bracket that stands for itself. */
static const char *set_end(const char *p)
{
	p++;
	p += *p == '!';
	if (*p)
		p++; /* a ']' in the first place is a member */
	p = strchr(p, ']');
	return p ? p + 1 : NULL;
}

static bool in_set(const char *p, const char *end, char c)
{
	bool negate = p[1] == '!', found = false;

	for (p += 1 + negate; p < end - 1; p++) {
		char from = *p, to = from;

		if (p[1] == '-' && p + 2 < end - 1) {
			to = p[2];
			p += 2;
		}
		found |= from <= c && c <= to;
	}
	return found != negate;
}

/* Does what stands at @p mean @c? *@next: behind it. */
static bool one(const char *p, char c, const char **next)
{
	const char *end = *p == '[' ? set_end(p) : NULL;

	*next = p + 1;
	if (end) {
		*next = end;
		return in_set(p, end, c);
	}
	if (*p == '?')
		return true;
	if (*p == '\\' && p[1]) {
		p++;
		*next = p + 1;
	}
	return *p == c;
}

bool ft_glob(const char *pattern, const char *s)
{
	const char *p = pattern, *star = NULL, *from = NULL, *next;

	while (*s) {
		if (*p == '*') {
			star = ++p;
			from = s;
		} else if (*p && one(p, *s, &next)) {
			p = next;
			s++;
		} else if (star) { /* the last star takes one more */
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

/* Return: 0, or -EINVAL with a sentence about word @text, of @n bytes */
static int __attribute__((format(printf, 5, 6)))
refuse(const char *text, size_t n, char *err, size_t len, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(err, len, "functions: '%.*s' %s", (int)(n < 80 ? n : 80), text, why);
	return -EINVAL;
}

static bool good(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.$*?[]!^-\\", c));
}

/* ":mod:MODULE" or nothing, at @p within the word @text */
static int take_module(struct ft_word *w, const char *text, size_t n, const char *p, char *err,
		       size_t len)
{
	size_t left = n - (size_t)(p - text);

	if (left < 5 || strncmp(p, ":mod:", 5))
		return refuse(text, n, err, len,
			      "is a command: here only names, patterns and :mod:MODULE are taken");
	p += 5;
	left -= 5;
	w->others = left && *p == '!';
	p += w->others;
	left -= w->others;
	if (!left || left >= sizeof(w->module))
		return refuse(text, n, err, len, "names no module of at most %zu letters",
			      sizeof(w->module) - 1);
	w->plain = !w->others;
	for (size_t i = 0; i < left; i++) {
		if (!good(p[i]))
			return refuse(text, n, err, len, "has more behind the module's name");
		w->plain &= !strchr("*?[\\", p[i]);
		w->module[i] = p[i];
	}
	/* a module's file may have dashes, its name never has */
	for (char *d = w->module; w->plain && (d = strchr(d, '-'));)
		*d = '_';
	return 0;
}

static int take_word(struct ft_word *w, const char *text, size_t n, char *err, size_t len)
{
	const char *p = text, *end = text + n;
	size_t name;

	w->away = *p == '!';
	p += w->away;
	for (name = 0; p + name < end && p[name] != ':'; name++)
		if (!good(p[name]))
			return refuse(text, n, err, len, "has a character that no function has");
	if (name >= sizeof(w->name))
		return refuse(text, n, err, len, "has more than %zu letters", sizeof(w->name) - 1);
	/* the kernel takes it for the place of a function in its list */
	if (name && isdigit((unsigned char)*p))
		return refuse(text, n, err, len, "is a number, not the name of a function");
	memcpy(w->name, p, name);
	if (p + name < end)
		return take_module(w, text, n, p + name, err, len);
	return name ? 0 : refuse(text, n, err, len, "has no name");
}

static size_t next_word(const char **text)
{
	*text += strspn(*text, BETWEEN);
	return strcspn(*text, BETWEEN);
}

int ft_filter_parse(const char *text, struct ft_filter **out, char *err, size_t len)
{
	struct ft_filter *f;
	const char *p = text;
	unsigned int n = 0;
	bool any = false;
	int ret = 0;

	*out = NULL;
	for (size_t k; (k = next_word(&p)); p += k)
		n++;
	if (!n)
		return 0;
	if (n > FT_WORDS)
		return refuse(text, strlen(text), err, len, "has more than %d words", FT_WORDS);
	f = calloc(1, sizeof(*f) + n * sizeof(*f->word));
	if (!f) {
		snprintf(err, len, "functions: no memory");
		return -ENOMEM;
	}
	p = text;
	for (size_t k; !ret && (k = next_word(&p)); p += k) {
		ret = take_word(&f->word[f->n], p, k, err, len);
		any |= !f->word[f->n++].away;
	}
	if (!ret && !any)
		ret = refuse(text, strlen(text), err, len, "only takes away: nothing is left");
	if (ret)
		free(f);
	else
		*out = f;
	return ret;
}

void ft_filter_print(const struct ft_word *w, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s%s", w->away ? "!" : "", w->name, *w->module ? ":mod:" : "",
		 w->others ? "!" : "", w->module);
}

static bool means(const struct ft_word *w, const char *name, const char *module)
{
	if (*w->module && (module && ft_glob(w->module, module)) == w->others)
		return false;
	return !*w->name || ft_glob(w->name, name);
}

/** ft_filter_takes() - is this function meant? Notes which words meant it. @module NULL: none */
static bool ft_filter_takes(struct ft_filter *f, const char *name, const char *module)
{
	bool taken = false;

	for (unsigned int i = 0; i < f->n; i++) {
		struct ft_word *w = &f->word[i];

		if (!means(w, name, module))
			continue;
		w->hit = true;
		taken = !w->away;
	}
	return taken;
}

/*
 * The function tracer of our instance: Linux kernel/trace/ftrace.c, ftrace_regex_open() and below.
 *
 * An empty filter means all functions, and a filter that only waits for a module is empty. So a
 * function that is never called is always in it; then the kernel itself adds a module's functions
 * as it loads, in time for its very init.
 *
 * What is written takes effect when the file is closed, refused words or not.
 */

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

/** ft_tracer_usable() - 0, or -EOPNOTSUPP with a sentence */
static int ft_tracer_usable(const char *dir, char *err, size_t len)
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

/** ft_module_loaded() - not one that is built in: its functions have no module */
static bool ft_module_loaded(const char *module)
{
	char path[FT_WORD_MODULE + 40];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module);
	return !gt_live_access(path, F_OK);
}

/* One word; the kernel takes one at a time, and answers this one before the next. */
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

/** ft_tracer_refused() - the sentence why @word cannot be used, for @ret; Return: @ret */
static int ft_tracer_refused(const char *word, int ret, char *err, size_t len)
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

/*
 * Opening without O_TRUNC takes a copy of the filter at work: while @fd, with words that were
 * refused, is still open that is the old one. Closed later, it wins. Only what waits for modules
 * was dropped at once, and is said again.
 */
static void put_back(struct gt_plugin *p, const char *dir, int fd, const struct ft_filter *old)
{
	ft_auto_close int keep = ft_open(p, dir, FILTER, O_APPEND);
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];

	for (unsigned int i = 0; keep >= 0 && old && i < old->n; i++) {
		if (!ft_functions_pending(&old->word[i]))
			continue;
		ft_filter_print(&old->word[i], word, sizeof(word));
		write_word(keep, word);
	}
	close(fd);
}

/*
 * Sets the filter @f
 * @old: at work now, or NULL; it still is when this fails
 * @lenient: a word that means nothing (any more) is no error
 */
static int tracer_filter(struct gt_plugin *p, const char *dir, const struct ft_filter *f,
			 const struct ft_filter *old, bool lenient, char *err, size_t len)
{
	int fd = ft_open(p, dir, FILTER, O_TRUNC), ret, never_ret;

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
		put_back(p, dir, fd, old);
		return ret;
	}
	close(fd);
	return 0;
}

/**
 * ft_tracer_spare() - leaves out what this process's own threads call, and those they make later
 *
 * Reading what is traced calls much of what a wide filter means, and each of these calls would have
 * to be read in turn: without end, at a CPU's full speed. Not for a tracefs of another PID
 * namespace, with other thread ids; a kernel before 5.8 cannot do it.
 */
static void ft_tracer_spare(struct gt_plugin *p, const char *dir)
{
	ft_auto_close int fd = -1;
	char tid[32];
	struct dirent *d;
	DIR *tasks;

	/* Before the list is filled, so that no thread is made in between that is in neither. */
	ft_write(p, dir, "trace_options", "function-fork");
	fd = ft_open(p, dir, "set_ftrace_notrace_pid", O_TRUNC);
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

/** ft_tracer_forget() - the filter is empty; only with the tracer off, or all would be traced */
static void ft_tracer_forget(struct gt_plugin *p, const char *dir)
{
	int fd = ft_open(p, dir, FILTER, O_TRUNC);

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

/** ft_tracer_count() - functions that the kernel traces, or -1 if @cancel comes first */
static long ft_tracer_count(const char *dir, const _Atomic bool *cancel)
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

/*
 * Naming and choosing the functions of a large driver takes the kernel seconds on a slow machine,
 * so a thread of its own does it. How many functions were chosen takes as long again to find out, and
 * is known later.
 */

/** ft_change_move() - the stage is @to; the waiter is woken */
static void ft_change_move(struct ft_change *c, enum ft_stage to)
{
	pthread_mutex_lock(&c->lock);
	c->stage = to;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

/* The table, and whether each word can mean something; -errno with a sentence */
static int name_them(struct ft_change *c)
{
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];

	c->syms = ft_syms_read(FT_KALLSYMS, c->want);
	if (!c->syms && errno != ENODATA) {
		int err = errno;

		snprintf(c->err, sizeof(c->err), "functions: " FT_KALLSYMS ": %s", strerror(err));
		return -err;
	}
	if (!c->syms) {
		snprintf(c->err, sizeof(c->err),
			 "functions: the kernel hides where its functions are, so that no call "
			 "could be named: sysctl kernel.kptr_restrict=1");
		return -EPERM;
	}
	for (unsigned int i = 0; !c->lenient && i < c->want->n; i++) {
		const struct ft_word *w = &c->want->word[i];

		/* What has a module the kernel would take for a word that waits. */
		if (w->hit || (*w->module && (!w->plain || !ft_module_loaded(w->module))))
			continue;
		ft_filter_print(w, word, sizeof(word));
		return ft_tracer_refused(word, -EINVAL, c->err, sizeof(c->err));
	}
	return 0;
}

static void *change_thread(void *arg)
{
	struct ft_change *c = arg;

	c->ret = name_them(c);
	if (!c->ret) {
		ft_change_move(c, FT_NAMED);
		pthread_mutex_lock(&c->lock);
		while (c->stage == FT_NAMED)
			pthread_cond_wait(&c->moved, &c->lock);
		pthread_mutex_unlock(&c->lock);
		c->ret = tracer_filter(c->p, c->dir, c->want, c->old, c->lenient, c->err,
				       sizeof(c->err));
	}
	ft_change_move(c, FT_DONE);
	if (!c->ret)
		*c->matched = ft_tracer_count(c->dir, &c->cancel);
	return NULL;
}

static enum ft_stage change_stage(struct ft_change *c)
{
	enum ft_stage now;

	pthread_mutex_lock(&c->lock);
	now = c->stage;
	pthread_mutex_unlock(&c->lock);
	return now;
}

/* Signals are for the daemon's main thread. */
static int ft_change_begin(struct ft_change *c)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int ret;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->moved, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&c->thread, NULL, change_thread, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret) {
		pthread_cond_destroy(&c->moved);
		pthread_mutex_destroy(&c->lock);
	}
	return -ret;
}

/* Waits FT_DRAIN_NS at most for the stage to leave @from; the stage then */
static enum ft_stage change_wait(struct ft_change *c, enum ft_stage from)
{
	struct timespec until;
	enum ft_stage now;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)FT_DRAIN_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&c->lock);
	while (c->stage == from && !pthread_cond_timedwait(&c->moved, &c->lock, &until))
		;
	now = c->stage;
	pthread_mutex_unlock(&c->lock);
	return now;
}

/** ft_change_end() - ends what still counts, and frees @c, which may be NULL */
static void ft_change_end(struct ft_change *c)
{
	if (!c)
		return;
	c->cancel = true;
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->lock);
	ft_syms_free(c->syms);
	free(c);
}

#define LOOK_NS 50000000ull /* between looks for a function that no table has */

bool ft_functions_pending(const struct ft_word *w)
{
	return w->plain && !w->away && *w->module && !ft_module_loaded(w->module);
}

/* Can the coming or going of the module at @name, of @n letters, change what @f means? */
static bool concerns(const struct ft_filter *f, const char *name, size_t n)
{
	for (unsigned int i = 0; i < f->n; i++) {
		const struct ft_word *w = &f->word[i];

		if (!w->plain || (!strncmp(w->module, name, n) && !w->module[n]))
			return true;
	}
	return false;
}

/* FNV-1a of a line "name size users by, state address", less what changes with each user */
static uint64_t hash_line(uint64_t h, const char *p)
{
	unsigned int column = 0;

	for (; *p && *p != '\n'; p++) {
		column += *p == ' ';
		if (column < 2 || column == 5)
			h = (h ^ (uint8_t)*p) * 1099511628211ull;
	}
	return h;
}

/* A number that is another when modules that concern @f came, went, or came again. */
static uint64_t modules_sign(const struct ft_filter *f)
{
	ft_auto_free char *text = gt_live_read("/proc", "modules", NULL);
	uint64_t h = 14695981039346656037ull;

	for (const char *p = text; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (concerns(f, p, strcspn(p, " \n")))
			h = hash_line(h, p);
	return h;
}

/* The new table is in use before the first call, and the old one as long as calls may be left. */
static void take_over(struct ft *ft, struct ft_change *c)
{
	struct ft_functions *fn = &ft->functions;

	ft_calls_bind(ft, c->syms);
	ft_syms_free(fn->before);
	fn->before = fn->syms;
	fn->syms = c->syms;
	c->syms = NULL;
}

static void take_back(struct ft_functions *fn)
{
	ft_syms_free(fn->syms);
	fn->syms = fn->before;
	fn->before = NULL;
}

static int tracer_off(struct ft *ft, char *err, size_t len)
{
	int ret = ft_cpus_tracer(ft, "nop");

	if (ret)
		snprintf(err, len, "functions: the function tracer cannot be switched off: %s",
			 strerror(-ret));
	else
		ft_tracer_forget(ft->p, ft->dir);
	return ret;
}

static int tracer_on(struct ft *ft, char *err, size_t len)
{
	int ret;

	/* elsewhere our thread ids are those of others */
	if (!gt_tasks_foreign(ft->tasks))
		ft_tracer_spare(ft->p, ft->dir);
	ret = ft_cpus_tracer(ft, FT_FUNCTION_NAME);
	if (!ret)
		return 0;
	tracer_off(ft, err, len);
	snprintf(err, len, "functions: the function tracer cannot be switched on: %s",
		 strerror(-ret));
	return ret;
}

/* Waits until @c is done, its table in use in time. @live: draining. Is the table in use? */
static bool see_through(struct ft *ft, struct ft_change *c, bool live)
{
	enum ft_stage stage = FT_NAMING;
	bool taken = false;

	while (stage != FT_DONE) {
		stage = change_wait(c, taken ? FT_TAKEN : FT_NAMING);
		if (stage == FT_NAMED) {
			take_over(ft, c);
			taken = true;
			ft_change_move(c, FT_TAKEN);
		}
		if (live && stage != FT_DONE) /* else it is not clear yet which table it is */
			ft_drain(ft->p);
	}
	return taken;
}

/* Puts @want to work; on success it is the filter's, else still the caller's. */
static int change(struct ft *ft, struct ft_filter *want, bool lenient, bool live, char *err,
		  size_t len)
{
	struct ft_functions *fn = &ft->functions;
	uint64_t modules = modules_sign(want);
	struct ft_change *c = calloc(1, sizeof(*c));
	bool taken;
	int ret;

	ft_change_end(fn->change);
	fn->change = NULL;
	fn->matched = -1;
	if (!c) {
		snprintf(err, len, "functions: no memory");
		return -ENOMEM;
	}
	c->p = ft->p;
	c->dir = ft->dir;
	c->want = want;
	c->old = fn->filter;
	c->lenient = lenient;
	c->matched = &fn->matched;
	ret = ft_change_begin(c);
	if (ret) {
		snprintf(err, len, "functions: no thread: %s", strerror(-ret));
		free(c);
		return ret;
	}
	fn->change = c;
	taken = see_through(ft, c, live);
	ret = c->ret;
	if (ret)
		snprintf(err, len, "%s", c->err);
	else if (!fn->filter)
		ret = tracer_on(ft, err, len);
	if (ret) {
		if (taken)
			take_back(fn);
		ft_change_end(fn->change);
		fn->change = NULL;
		return ret;
	}
	if (fn->filter != want)
		free(fn->filter);
	fn->filter = want;
	fn->modules = modules;
	return 0;
}

static int turn_off(struct ft *ft, char *err, size_t len)
{
	struct ft_functions *fn = &ft->functions;
	int ret;

	ft_change_end(fn->change);
	fn->change = NULL;
	ret = fn->filter ? tracer_off(ft, err, len) : 0;
	if (ret)
		return ret;
	free(fn->filter);
	fn->filter = NULL;
	fn->matched = -1;
	return 0;
}

int ft_functions_set(struct ft *ft, const char *text, bool live, char *err, size_t len)
{
	struct ft_filter *want;
	int ret = ft_filter_parse(text ? text : "", &want, err, len);

	if (ret)
		return ret;
	if (!want)
		return turn_off(ft, err, len);
	ret = ft_tracer_usable(ft->dir, err, len);
	if (!ret && ft->functions.id < 0 && ft_calls_format(ft) < 0) {
		snprintf(err, len, "functions: this kernel's function event is not understood");
		ret = -EOPNOTSUPP;
	}
	if (!ret)
		ret = change(ft, want, false, live, err, len);
	if (ret)
		free(want);
	return ret;
}

void ft_functions_rescan(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	char err[400] = "";

	if (!fn->filter || fn->modules == modules_sign(fn->filter))
		return;
	if (change(ft, fn->filter, true, true, err, sizeof(err)))
		ft->p->host->log(ft->p, LOG_WARNING, "%s", err);
}

/** ft_functions_missed() - an @ip that no table has: true if they are new now */
static bool ft_functions_missed(struct ft *ft, uint64_t now)
{
	struct ft_functions *fn = &ft->functions;
	struct ft_syms *s;

	/* Only a module that has come since can be the reason. */
	if (!fn->filter || (fn->looked && now - fn->looked < LOOK_NS))
		return false;
	if (fn->change && change_stage(fn->change) != FT_DONE)
		return false;
	fn->looked = now;
	if (fn->modules == modules_sign(fn->filter))
		return false;
	s = ft_syms_read(FT_KALLSYMS, fn->filter);
	if (!s)
		return false;
	ft_calls_bind(ft, s);
	ft_syms_free(fn->before);
	fn->before = fn->syms;
	fn->syms = s;
	return true;
}

void ft_functions_stop(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	char err[400];

	if (turn_off(ft, err, sizeof(err)))
		free(fn->filter); /* the tracer goes with the instance */
	fn->filter = NULL;
	ft_syms_free(fn->syms);
	ft_syms_free(fn->before);
	free(fn->format);
	fn->syms = fn->before = NULL;
	fn->format = NULL;
}

/*
 * From a call to a record: a FUNCTION with a small number for the function, with a name that goes before
 * its first; or what an event map says of that function, in a section [function/NAME].
 */

/*
 * Which address is which function: /proc/kallsyms, of which only what the filter means is kept. It
 * is ten megabytes with a GPU driver loaded, so it is read in pieces and never held as a whole.
 */

#define LINE_MAX_LEN 1024 /* a longer line is none of the kernel's: KSYM_NAME_LEN is 512 */

struct reading {
	struct ft_syms *s;
	struct ft_filter *f;
	uint64_t any; /* all addresses, or-ed */
	bool failed;
};

void ft_syms_free(struct ft_syms *s)
{
	if (!s)
		return;
	free(s->sym);
	free(s->names);
	free(s);
}

/* Room for one more of @n elements; false: no memory */
static bool grow(void **p, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? *cap * 2 : 1024;
	void *q;

	if (n < *cap)
		return true;
	while (more <= n)
		more *= 2;
	q = reallocarray(*p, more, size);
	if (!q)
		return false;
	*p = q;
	*cap = more;
	return true;
}

static bool add(struct ft_syms *s, uint64_t addr, const char *name)
{
	size_t n = strnlen(name, GT_FUNCTION_NAME - 1);

	if (s->n == FT_SYMS) {
		s->cut = true;
		return true;
	}
	if (!grow((void **)&s->sym, &s->cap, s->n, sizeof(*s->sym)) ||
	    !grow((void **)&s->names, &s->room, s->len + n, 1))
		return false;
	s->sym[s->n++] = (struct ft_sym){ .addr = addr, .name = (uint32_t)s->len, .id = GT_NONE32 };
	memcpy(s->names + s->len, name, n);
	s->names[s->len + n] = '\0';
	s->len += n + 1;
	return true;
}

/* "ffffffffc0343760 t name	[module]"; types of text are t, T, w and W */
static void line(struct reading *r, char *text)
{
	char *end, *name, *module;
	uint64_t addr = strtoull(text, &end, 16);

	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	r->any |= addr;
	if (!strchr("tTwW", end[1]))
		return;
	name = end + 3;
	module = name + strcspn(name, " \t");
	if (*module)
		*module++ = '\0';
	module += strspn(module, " \t[");
	module[strcspn(module, "]")] = '\0';
	/* An empty name would come before each that is meant by the module alone. */
	if (*name && ft_filter_takes(r->f, name, *module ? module : NULL) && !add(r->s, addr, name))
		r->failed = true;
}

/* Lines out of @fd; what is longer than LINE_MAX_LEN is passed over. */
static int read_lines(int fd, struct reading *r)
{
	char buf[65536 + LINE_MAX_LEN];
	size_t have = 0;
	ssize_t got;

	while ((got = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0 ||
	       (got < 0 && errno == EINTR)) {
		char *p = buf, *nl;

		have += got > 0 ? (size_t)got : 0;
		buf[have] = '\0';
		for (; (nl = memchr(p, '\n', have - (size_t)(p - buf))); p = nl + 1) {
			*nl = '\0';
			line(r, p);
		}
		have -= (size_t)(p - buf);
		if (have > LINE_MAX_LEN)
			have = 0;
		memmove(buf, p, have);
		if (r->failed)
			return ENOMEM;
	}
	return got < 0 ? errno : 0;
}

/* Of several names of one address the kernel's own first one comes first. */
static int by_addr(const void *a, const void *b)
{
	const struct ft_sym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct ft_syms *s)
{
	size_t n = 0;

	qsort(s->sym, s->n, sizeof(*s->sym), by_addr);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->sym[n - 1].addr != s->sym[i].addr)
			s->sym[n++] = s->sym[i];
	s->n = n;
}

struct ft_syms *ft_syms_read(const char *path, struct ft_filter *f)
{
	ft_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reading r = { .f = f };
	int err;

	if (fd < 0)
		return NULL;
	r.s = calloc(1, sizeof(*r.s));
	err = r.s ? read_lines(fd, &r) : ENOMEM;
	if (!err && !r.any)
		err = ENODATA;
	if (err) {
		ft_syms_free(r.s);
		errno = err;
		return NULL;
	}
	if (r.s->n)
		sort(r.s);
	return r.s;
}

struct ft_sym *ft_syms_find(const struct ft_syms *s, uint64_t ip)
{
	size_t lo = 0, hi = s ? s->n : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->sym[mid].addr <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && ip - s->sym[lo - 1].addr <= FT_SYM_DISTANCE ? &s->sym[lo - 1] : NULL;
}

#define IN_INTERRUPT 0x18 /* common_flags: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ */
#define FLAGS_OFF    2	  /* of common_flags, a byte behind common_type */

/* By number of the function: its name is in the stream. Numbers are the same in all instances. */
static bool reported[GT_MAX_FUNCTIONS];

/** ft_calls_format() - takes the layout of a function event; its id, or -1 */
static int ft_calls_format(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	const char *ip;
	unsigned int id, off;

	free(fn->format);
	fn->id = -1;
	/* an instance has no folder of these */
	fn->format = gt_live_read(ft->p->tracefs, "events/ftrace/function/format", &fn->format_len);
	ip = fn->format ? strstr(fn->format, " ip;") : NULL;
	ip = ip ? strstr(ip, "offset:") : NULL;
	if (!ip || sscanf(ip, "offset:%u; size:8;", &off) != 1 || off > 64 ||
	    !(ip = strstr(fn->format, "ID: ")) || sscanf(ip, "ID: %u", &id) != 1 || id >= FT_MAX_ID)
		return -1;
	fn->ip = off;
	fn->id = (int)id;
	return fn->id;
}

static struct gt_tp *section_of(struct ft *ft, const char *name)
{
	struct gt_tp *tp = gt_eventmap_find(ft->map, FT_FUNCTION_NAME, name);
	size_t len = strlen(name), n = gt_callname_base(name, len);
	char base[GT_FUNCTION_NAME];

	if (tp || n == len)
		return tp;
	snprintf(base, sizeof(base), "%.*s", (int)n, name);
	return gt_eventmap_find(ft->map, FT_FUNCTION_NAME, base);
}

/* Is it something that a program does to a queue, which another backend reports, with the queue's
 * number? Then the call is shown as what it is, a call, and no event is counted twice. */
static bool is_reported(const struct ft *ft, const struct gt_tp *tp)
{
	const uint32_t acts =
		1u << GT_QUEUE_CREATE | 1u << GT_QUEUE_DESTROY | 1u << GT_QUEUE_SCHEDULE;

	return ft->queues_by[0] && !(gt_tp_types(tp) & ~acts) && gt_tp_of(tp, "amdgpu");
}

void ft_calls_bind(struct ft *ft, struct ft_syms *s)
{
	struct ft_functions *fn = &ft->functions;
	char err[200];

	for (size_t i = 0; s && i < s->n; i++) {
		struct ft_sym *sym = &s->sym[i];

		sym->tp = section_of(ft, ft_sym_name(s, sym));
		if (sym->tp && is_reported(ft, sym->tp))
			sym->tp = NULL;
		if (sym->tp &&
		    gt_tp_bind(sym->tp, fn->format, fn->format_len, NULL, err, sizeof(err))) {
			snprintf(ft->bind_error, sizeof(ft->bind_error), "%.250s", err);
			sym->tp = NULL;
		}
	}
}

static void emit_name(struct ft *ft, uint64_t ts, uint32_t id)
{
	union gt_record r[GT_CALLNAME_RECORDS];
	unsigned int n = gt_callname_records(id, ts, r);

	for (unsigned int i = 0; i < n; i++)
		ft_out(ft, &r[i]);
	reported[id] = true;
}

/* The number of a function that is called, with its name emitted. */
static uint64_t number(struct ft *ft, uint64_t ts, const struct ft_syms *s, struct ft_sym *sym)
{
	if (!sym) {
		ft->functions.unknown++;
		return GT_NONE64;
	}
	if (sym->id == GT_NONE32)
		sym->id = gt_callname_id(ft_sym_name(s, sym), strlen(ft_sym_name(s, sym)));
	if (sym->id == GT_NONE32) {
		ft->functions.unnamed++;
		return GT_NONE64;
	}
	if (!reported[sym->id])
		emit_name(ft, ts, sym->id);
	return sym->id;
}

static struct ft_sym *find(struct ft *ft, uint64_t ip, const struct ft_syms **in)
{
	struct ft_functions *fn = &ft->functions;
	struct ft_sym *sym;

	*in = fn->syms;
	sym = ft_syms_find(fn->syms, ip);
	if (sym || !fn->before)
		return sym;
	*in = fn->before;
	return ft_syms_find(fn->before, ip);
}

static void out(struct ft *ft, union gt_record *r, bool interrupt)
{
	union gt_record process;

	if (interrupt)
		r->ev.tid = GT_NONE32;
	else if (gt_tasks_own(ft->tasks, r, &process))
		ft_out(ft, &process);
	ft_out(ft, r);
}

void ft_call(struct ft *ft, const struct gt_evctx *c, const uint8_t *data, uint32_t len)
{
	bool interrupt = data[FLAGS_OFF] & IN_INTERRUPT;
	union gt_record r[GT_TP_MAX_RECORDS];
	const struct ft_syms *in;
	struct ft_sym *sym;
	uint64_t ip;
	int n = 1;

	if (len < ft->functions.ip + sizeof(ip)) {
		ft->stats.unknown++;
		return;
	}
	memcpy(&ip, data + ft->functions.ip, sizeof(ip));
	ft->functions.calls++;
	sym = find(ft, ip, &in);
	if (!sym && ft_functions_missed(ft, c->ts))
		sym = find(ft, ip, &in);
	if (sym && sym->tp) {
		n = gt_tp_raw(sym->tp, c, data, len, r, GT_TP_MAX_RECORDS);
	} else {
		gt_record_init(&r[0], c->ts, (enum gt_type)GT_FUNCTION);
		r[0].ev.cpu = c->cpu;
		r[0].ev.tid = c->tid;
		r[0].ev.value = number(ft, c->ts, in, sym);
	}
	for (int i = 0; i < n; i++)
		out(ft, &r[i], interrupt);
}
