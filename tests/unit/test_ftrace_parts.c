/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of the ftrace backend that need neither root nor tracefs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../../backend/lib/ioctl_names.h"
#include "../../backend/lib/file.h"
#include "../../backend/ftrace/ftrace.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"
#include "../lib/tracefs.h"

static void test_cap(void)
{
	is(ft_buffer_cap(64ll << 30, 4), 64ll << 20, "buffers: 256 MiB over 4 CPUs");
	is(ft_buffer_cap(6400ll << 20, 10), 10ll << 20, "buffers: a 64th of the memory");
	is(ft_buffer_cap(1 << 20, 64), FT_BUFFER_MIN, "buffers: not below the least");
}

/* Lost marks without a count: the CPU's stats file says how many there were. */
static void test_lost_count(void)
{
	char dir[TMP_PATH_MAX], path[TMP_PATH_MAX + 40];
	struct ft_cpu c = { .cpu = 3, .reported = 200, .unknown = true };
	struct ft *ft = calloc(1, sizeof(*ft));

	if (!ft || !tmp_dir(dir, "gt-lost"))
		abort();
	snprintf(ft->dir, sizeof(ft->dir), "%s", dir);
	is(ft_cpu_lost(ft, &c), 1, "lost without a count, and no stats: at least one");
	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu3", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu3/stats", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	tfs_write(dir, "entries: 1\noverrun: 500\ncommit overrun: 9\n", "per_cpu/cpu3/stats");
	is(ft_cpu_dropped(ft, &c), 9, "not in the buffer: what the stats file says");
	is(ft_cpu_dropped(ft, &c), 0, "… once");
	tfs_write(dir, "entries: 1\noverrun: 500\ncommit overrun: 11\ndropped events: 4\n",
		  "per_cpu/cpu3/stats");
	is(ft_cpu_dropped(ft, &c), 6, "… both of its counts");
	c.unknown = true;
	is(ft_cpu_lost(ft, &c), 299, "lost without a count: what stats has more than was reported");
	c.pending = 40;
	is(ft_cpu_lost(ft, &c), 1, "what a later page tells again is not reported twice");
	is(ft_cpu_lost(ft, &c), 0, "nothing lost");
	tfs_write(dir, "entries: 1\noverrun: 30\n", "per_cpu/cpu3/stats");
	is(ft_cpu_dropped(ft, &c), 0, "the kernel began to count anew: nothing, not 2^64 - 15");
	c.unknown = true;
	is(ft_cpu_lost(ft, &c), 1, "the kernel began to count anew: at least one");
	tfs_write(dir, "entries: 1\noverrun: 90\n", "per_cpu/cpu3/stats");
	c.unknown = true;
	is(ft_cpu_lost(ft, &c), 60, "and from then on what it says");
	unlink(path);
	for (char *slash; strcmp(path, dir) && (slash = strrchr(path, '/')); rmdir(path))
		*slash = '\0';
	rmdir(dir);
	free(ft);
}

static struct {
	uint64_t ts, count;
} lost[4];
static size_t nlost;

static void take_lost(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && nlost < 4; i++, nlost++) {
		lost[nlost].ts = r[i].lost.ts;
		lost[nlost].count = r[i].ev.type == GT_LOST ? r[i].lost.count : 0;
	}
}

static uint64_t at_7000(struct gt_plugin *p)
{
	return 7000;
}

static int file_here(struct gt_plugin *p, enum gt_file_op op, const char *path, int flags)
{
	return gt_file_here(op, path, flags);
}

/* Another tracer: the kernel throws away what is in the buffers, which are ordinary files here. */
static void test_tracer(void)
{
	static const char *const files[] = { "current_tracer", "per_cpu/cpu3/trace_pipe_raw",
					     "per_cpu/cpu3/stats" };
	static const struct gt_host host = { .push = take_lost, .now = at_7000, .file = file_here };
	struct gt_plugin p = { .host = &host };
	struct ft_cpu c = { .cpu = 3, .fd = -1, .reported = 1000, .last_ts = 5000 };
	char dir[TMP_PATH_MAX], path[TMP_PATH_MAX + 40];
	struct ft *ft = calloc(1, sizeof(*ft));

	if (!ft || !tmp_dir(dir, "gt-tracer"))
		abort();
	ft->p = &p;
	ft->cpus = &c;
	ft->ncpus = 1;
	ft->merged = 6000;
	snprintf(ft->dir, sizeof(ft->dir), "%s", dir);
	snprintf(path, sizeof(path), "mkdir -p %s/per_cpu/cpu3", dir);
	if (system(path))
		abort();
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	tfs_write(dir, "entries: 17\noverrun: 0\n", "per_cpu/cpu3/stats");
	ok(!ft_cpus_tracer(ft, "function") && c.fd >= 0, "a tracer: set, and the files open again");
	ok(nlost == 1 && lost[0].count == 17 && lost[0].ts == 6000, "what was left is lost");
	is(c.reported, 0, "the kernel's count of losses starts at 0 again");
	snprintf(path, sizeof(path), "%s/current_tracer", dir);
	unlink(path);
	ok(ft_cpus_tracer(ft, "nop") == -ENOENT && nlost == 1, "refused: nothing is lost");
	close(c.fd);
	snprintf(path, sizeof(path), "rm -r %s", dir);
	if (system(path))
		abort();
	free(ft);
}

/* This very thread, as the owner of what it does. */
static void test_tasks(void)
{
	struct gt_tasks *t = gt_tasks_new("/nonexistent");
	union gt_record r, process;

	if (!t)
		abort();
	gt_tasks_round(t, 1000000000);
	gt_record_init(&r, 5, GT_COMPLETE);
	r.ev.tid = (uint32_t)gettid();
	ok(!gt_tasks_fill(t, &r, &process), "a completion has no owner");
	ok(r.ev.pid == GT_NONE32 && r.ev.tid == GT_NONE32, "its thread was only interrupted");
	gt_record_init(&r, 6, GT_SUBMIT);
	r.ev.tid = (uint32_t)gettid();
	if (gt_tasks_foreign(t)) {
		ok(!gt_tasks_fill(t, &r, &process) && r.ev.pid == GT_NONE32,
		   "another PID namespace: unknown");
		gt_tasks_free(t);
		return;
	}
	ok(gt_tasks_fill(t, &r, &process), "a submission has, with its process at first sight");
	is(r.ev.pid, getpid(), "process");
	is(r.ev.uid, getuid(), "user");
	is(process.process.type, GT_PROCESS, "a PROCESS record");
	ok(process.process.pid == (uint32_t)getpid() && process.process.start != GT_NONE64 &&
		   process.process.ts == 6,
	   "with start, at the submission's time");
	ok(!strncmp(process.process.comm, program_invocation_short_name, 15), "and name");
	gt_record_init(&r, 7, GT_SUBMIT);
	r.ev.tid = (uint32_t)gettid();
	gt_tasks_round(t, 9000000000ull);
	ok(!gt_tasks_fill(t, &r, &process) && r.ev.pid == (uint32_t)getpid(),
	   "later it is the same, and not reported again");
	gt_record_init(&r, 7, GT_SUBMIT);
	r.ev.pid = (uint32_t)getpid();
	r.ev.uid = 4321;
	ok(!gt_tasks_fill(t, &r, &process) && r.ev.uid == 4321,
	   "a user that the source knows stays");
	gt_record_init(&r, 8, GT_SUBMIT);
	r.ev.tid = 0x7ffffff0;
	ok(!gt_tasks_fill(t, &r, &process) && r.ev.pid == GT_NONE32 && r.ev.tid == 0x7ffffff0,
	   "a thread that nobody knows: unknown");
	gt_tasks_free(t);
}

/* A process that has ended: the kernel's lists of threads have no users. */
static void test_tasks_saved(void)
{
	char dir[TMP_PATH_MAX], cmd[TMP_PATH_MAX + 80];
	union gt_record r, process;
	struct gt_tasks *t;

	if (!tmp_dir(dir, "gt-saved"))
		abort();
	snprintf(cmd, sizeof(cmd), "cd %s && touch saved_tgids saved_cmdlines", dir);
	if (system(cmd))
		abort();
	tfs_write(dir, "2147483632 2147483632\n", "saved_tgids");
	tfs_write(dir, "2147483632 brief\n", "saved_cmdlines");
	t = gt_tasks_new(dir);
	if (!t)
		abort();
	gt_tasks_round(t, 1000000000);
	gt_record_init(&r, 5, GT_SUBMIT);
	r.ev.pid = r.ev.tid = 0x7ffffff0;
	r.ev.uid = 4321;
	if (!gt_tasks_foreign(t)) {
		ok(gt_tasks_fill(t, &r, &process),
		   "a process that has ended, by the kernel's lists");
		ok(!strncmp(process.process.comm, "brief", 16), "with its name");
		is(r.ev.uid, 4321, "the record's user stays");
		is(process.process.uid, 4321, "and is its process's");
		gt_record_init(&r, 6, GT_SUBMIT);
		r.ev.tid = 0x7ffffff0;
		ok(!gt_tasks_fill(t, &r, &process) && r.ev.pid == 0x7ffffff0 &&
			   r.ev.uid == GT_NONE32,
		   "without one its user is not known");
	}
	gt_tasks_free(t);
	/* Where nobody records threads, what the lists have is of another process that had the number */
	t = gt_tasks_new(NULL);
	if (!t)
		abort();
	gt_tasks_round(t, 1000000000);
	gt_record_init(&r, 5, GT_COMPLETE);
	r.ev.pid = 0x7ffffff0;
	ok(!gt_tasks_fill(t, &r, &process) && r.ev.pid == 0x7ffffff0,
	   "without the lists a process that has ended stays what the record says");
	gt_tasks_free(t);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	if (system(cmd))
		abort();
}

/* @text is refused with a sentence that holds @why. */
static void bad(const char *text, const char *why)
{
	char err[300] = "";
	struct ft_filter *f;

	ok(ft_filter_parse(text, &f, err, sizeof(err)) == -EINVAL && !f && strstr(err, why),
	   "functions: %.40s: %s", text, err);
}

static void test_filter_words(void)
{
	char long_name[2 * FT_WORD_NAME], many[2 * FT_WORDS + 3], err[300] = "", text[300];
	struct ft_filter *f = NULL;

	ok(!ft_filter_parse(" ,\t, \n", &f, err, sizeof(err)) && !f, "functions: no words");
	ok(!ft_filter_parse("a_*,!*_irq  :mod:amd-gpu\n!x?:mod:!a*", &f, err, sizeof(err)) &&
		   f->n == 4,
	   "functions: four words");
	if (!f)
		abort();
	ft_filter_print(&f->word[1], text, sizeof(text));
	is_str(text, "!*_irq", "functions: taken away");
	ft_filter_print(&f->word[2], text, sizeof(text));
	is_str(text, ":mod:amd_gpu", "functions: a module by the name that it has in the kernel");
	ft_filter_print(&f->word[3], text, sizeof(text));
	is_str(text, "!x?:mod:!a*", "functions: of all other modules");
	ok(f->word[2].plain && !f->word[3].plain && !f->word[0].plain, "functions: plain modules");
	free(f);
	bad("schedule:traceoff", "command");
	bad("a b:stacktrace:5", "command");
	bad(":snapshot", "command");
	bad(":", "command");
	bad("x:mod:a:b", "behind the module");
	bad("x:mod:", "no module");
	bad("x:mod:!", "no module");
	bad("12", "number");
	bad("!7x a", "number");
	bad("!", "no name");
	bad("a !", "no name");
	bad("!a !b", "takes away");
	bad("a;b", "character");
	bad("a\x80", "character");
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	bad(long_name, "letters");
	for (int i = 0; i <= FT_WORDS; i++)
		memcpy(many + 2 * i, "a ", 3);
	bad(many, "words");
}

static void test_glob(void)
{
	static const struct {
		const char *pattern, *s;
		bool want;
	} t[] = {
		{ "abc", "abc", true },
		{ "abc", "abcd", false },
		{ "*", "", true },
		{ "a*", "abc", true },
		{ "*c", "abc", true },
		{ "*b*", "abc", true },
		{ "a*c*e", "abcde", true },
		{ "a*c*e", "abcd", false },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[]]x", "]x", true },
		{ "[ab", "[ab", true },
		{ "a\\*", "a*", true },
		{ "a\\*", "ab", false },
		{ "", "a", false },
		{ "*a*a*a*b", "aaaaaaa", false },
	};
	char stars[201], as[4001];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ok(ft_glob(t[i].pattern, t[i].s) == t[i].want, "glob: %s %s %s", t[i].pattern,
		   t[i].want ? "is" : "is not", t[i].s);
	for (int i = 0; i < 200; i += 2)
		memcpy(stars + i, "*a", 3);
	stars[199] = 'b';
	memset(as, 'a', 4000);
	as[4000] = '\0';
	ok(!ft_glob(stars, as), "glob: a hundred stars end soon");
}

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81001000 t drm_open\n"
			       "ffffffff81001000 T drm_open_alias\n"
			       "ffffffff81002000 D drm_data\n"
			       "ffffffff81003010 t drm_close\n"
			       "ffffffffc0001000 t drm_open\t[amdgpu]\n"
			       "ffffffffc0002000 t init_mqd\t[amdgpu]\n"
			       "ffffffffc0003000 W other\t[xe]\n"
			       "nonsense\n"
			       "ffffffffc0004000 t\n"
			       "ffffffffc0005000 t last\t[xe]";

static void write_syms(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		abort();
}

static const char *name_at(const struct ft_syms *s, uint64_t ip)
{
	const struct ft_sym *sym = ft_syms_find(s, ip);

	return sym ? ft_sym_name(s, sym) : "-";
}

static void test_syms(void)
{
	char path[TMP_PATH_MAX], err[300];
	int fd = tmp_file(path, "gt-syms");
	struct ft_filter *f;
	struct ft_syms *s;

	if (fd < 0 || ft_filter_parse("drm_* :mod:amdgpu !init_* nosuch", &f, err, sizeof(err)))
		abort();
	close(fd);
	write_syms(path, kallsyms);
	s = ft_syms_read(path, f);
	if (!s)
		abort();
	is(s->n, 3, "symbols: what the filter means, once each");
	is_str(name_at(s, 0xffffffff81001000), "drm_open", "symbols: the first name of an address");
	is_str(name_at(s, 0xffffffff81001004), "drm_open", "symbols: an ip behind its begin");
	is_str(name_at(s, 0xffffffff81001020), "-", "symbols: too far behind");
	is_str(name_at(s, 0xffffffffc0001000), "drm_open", "symbols: of the module");
	is_str(name_at(s, 0xffffffffc0002000), "-", "symbols: taken away");
	is_str(name_at(s, 0xffffffff81002000), "-", "symbols: data");
	is_str(name_at(s, 0), "-", "symbols: none before the first");
	is_str(name_at(NULL, 1), "-", "symbols: no table");
	ok(f->word[1].hit && f->word[2].hit && !f->word[3].hit, "symbols: which words");
	ft_syms_free(s);
	write_syms(path, "0000000000000000 t drm_open\n");
	ok(!ft_syms_read(path, f) && errno == ENODATA, "symbols: hidden by the kernel, no table");
	unlink(path);
	ok(!ft_syms_read(path, f) && errno == ENOENT, "symbols: no file");
	free(f);
}

/* A tracer that cannot be switched off is reported, and its filter is still there. */
static void test_off(void)
{
	static const struct gt_host host = { .file = file_here };
	struct gt_plugin p = { .host = &host };
	struct ft *ft = calloc(1, sizeof(*ft));
	char err[400] = "";

	if (!ft || ft_filter_parse("a", &ft->functions.filter, err, sizeof(err)))
		abort();
	ft->p = &p;
	snprintf(ft->dir, sizeof(ft->dir), "/nonexistent");
	is(ft_functions_set(ft, "", true, err, sizeof(err)), -ENOENT, "off: refused");
	ok(strstr(err, "cannot be switched off") && ft->functions.filter, "off: %s", err);
	ft_functions_stop(ft);
	ok(!ft->functions.filter, "off: all is freed in the end");
	free(ft);
}

static void test_name_ids(void)
{
	uint32_t a = gt_callname_id("gt_a", 4), b = gt_callname_id("gt_b", 4);
	char name[32];

	ok(a != b && gt_callname_id("gt_a", 4) == a && gt_callname_id("gt_b", 4) == b,
	   "ids: stable");
	for (int i = 0; i < GT_MAX_FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "gt_%d", i);
		b = gt_callname_id(name, strlen(name));
	}
	ok(b == GT_NONE32 && gt_callname_id("gt_a", 4) == a, "ids: bounded");
}

static const char *bound(struct ft *ft, const char *name)
{
	struct ft_sym sym = { .id = GT_NONE32 };
	struct ft_syms s = { .sym = &sym, .n = 1, .names = (char *)name };

	ft_calls_bind(ft, &s);
	return sym.tp ? "event" : "call";
}

/* The ioctl that makes a queue knows more of it than the function that does it. */
static void test_queues_reported(void)
{
	static char format[] = "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n";
	struct ft *ft = calloc(1, sizeof(*ft));
	char err[300];

	if (!ft)
		abort();
	ft->functions.format = format;
	ft->functions.format_len = strlen(format);
	ft->map = gt_eventmap_load(&maphost_plugin, source_path("conf/events.d"), err, sizeof(err));
	if (!ft->map)
		abort();
	gt_eventmap_select(ft->map, NULL, NULL, 2);
	is_str(bound(ft, "pqm_create_queue"), "event", "queues: a function is what its map says");
	is_str(bound(ft, "vfs_open"), "call", "queues: others are calls");
	snprintf(ft->queues_by, sizeof(ft->queues_by), "bpf");
	for (int i = 0; i < 3; i++) {
		const char *name[] = { "pqm_create_queue", "pqm_destroy_queue", "update_queue" };

		is_str(bound(ft, name[i]), "call", "queues: reported by another, %s is a call",
		       name[i]);
	}
	is_str(bound(ft, "map_queues_cpsch"), "event", "queues: what no ioctl tells stays");
	gt_eventmap_free(ft->map);
	free(ft);
}

int main(void)
{
	test_cap();
	test_lost_count();
	test_tracer();
	test_tasks();
	test_tasks_saved();
	test_filter_words();
	test_glob();
	test_syms();
	test_off();
	test_queues_reported();
	test_name_ids();
	return done_testing();
}
