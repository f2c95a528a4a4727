/* SPDX-License-Identifier: GPL-2.0 */
/* gputrace.conf: what is taken, and what is refused with which sentence. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../conf/config.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char path[TMP_PATH_MAX];

static void write_file(const void *text, size_t len)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text, 1, len, f) != len)
		printf("# cannot write %s\n", path);
	if (f)
		fclose(f);
}

static int read_text(struct gt_config *c, const char *text, char *err, size_t len)
{
	write_file(text, strlen(text));
	err[0] = 0;
	return gt_config_read(c, path, err, len);
}

static void test_defaults(void)
{
	struct gt_config c;

	is(gt_config_init(&c), 0, "defaults");
	is(c.level, 2, "a choice's default");
	is(c.history_size, 67108864, "a number's");
	is_str(c.group, "gputrace", "a string's");
	is_str(c.backend, "", "an empty string is no NULL");
	gt_config_free(&c);
}

static void test_good(void)
{
	char err[512];
	struct gt_config c;

	gt_config_init(&c);
	is(read_text(
		   &c,
		   "; a comment\n[main]\n  backend = sim:ftrace ; why\n\n[trace]\nlevel=verbose\n"
		   "sampling = 0\r\n[buffers]\nhistory_size = 4294967296\n[access]\nvisibility = "
		   "0\n"
		   "[backend sim]\nrate = 5\nname with blanks = a = b\n[backend ftrace]\nrate = 6",
		   err, sizeof(err)),
	   0, "a good file");
	is_str(err, "", "leaves no sentence");
	is_str(c.backend, "sim:ftrace", "an indented key, an inline comment");
	is(c.level, 3, "a choice by name");
	is(c.visibility, 0, "a choice by number");
	is(c.sampling, 0, "a lower bound, and a carriage return");
	is(c.history_size, 4294967296, "an upper bound beyond 32 bits");
	is_str(gt_config_backend(&c, "sim", "rate"), "5", "a backend's key");
	is_str(gt_config_backend(&c, "sim", "name with blanks"), "a = b", "any key, any value");
	is_str(gt_config_backend(&c, "ftrace", "rate"), "6",
	       "the same of another, on a last line "
	       "without an end");
	ok(!gt_config_backend(&c, "sim", "x"), "a key that is not there");
	is(read_text(&c, "[trace]\nsampling=7\n[backend sim]\nrate = 9\n", err, sizeof(err)), 0,
	   "a second file");
	is(c.sampling, 7, "goes over the first");
	is(c.level, 3, "and leaves what it does not name");
	is_str(gt_config_backend(&c, "sim", "rate"), "9", "backends too");
	gt_config_free(&c);
}

/* With a sentence that begins with the file and this @line, and has these @words */
static void refused(const char *text, int line, const char *words)
{
	char err[512], want[TMP_PATH_MAX + 16];
	struct gt_config c;
	int ret;

	gt_config_init(&c);
	ret = read_text(&c, text, err, sizeof(err));
	snprintf(want, sizeof(want), "%s:%d: ", path, line);
	ok(ret < 0 && !strncmp(err, want, strlen(want)) && strstr(err + strlen(want), words),
	   "line %d is refused, %s: %s", line, words, err);
	gt_config_free(&c);
}

static void test_refused(void)
{
	char line[400];

	refused("[main]\nbackends = sim\n", 2, "no key 'backends'");
	refused("[trace]\nbackend = sim\n", 2, "belongs in main");
	refused("\n\n[nonsense]\n", 3, "no section [nonsense]");
	refused("[backend]\n", 1, "no section [backend]");
	refused("[backend a b]\n", 1, "no section [backend a b]");
	refused("[main] x\n", 1, "[brackets]");
	refused("[main\n", 1, "[brackets]");
	refused("level = 1\n", 1, "before any [section]");
	refused("[trace]\nlevel = loud\n", 2, "'loud' is none of: off stats normal verbose");
	refused("[trace]\nlevel = 4\n", 2, "'4' is none of");
	refused("[trace]\n\nsampling = 101\n", 3, "101 is not within 0 to 100");
	refused("[trace]\nsampling = 10x\n", 2, "'10x' is not a number");
	refused("[trace]\nsampling =\n", 2, "'' is not a number");
	refused("[trace]\nsampling = 99999999999999999999\n", 2, "not within 0 to 100");
	refused("[trace]\nsampling = 1\n[main]\n[trace]\nsampling = 1\n", 5,
		"sampling is set twice");
	refused("[backend a]\nx=1\n[backend b]\nx=1\n[backend a]\nx=2\n", 6, "x is set twice");
	refused("[main]\nbackend = a\njust words\n[oops]\n", 3, "key = value");
	refused("[trace]\nlevel = 1\n  2\n", 3, "key = value");
	memset(line, 'x', sizeof(line));
	memcpy(line, "[main]\n;", 8);
	line[sizeof(line) - 1] = 0;
	refused(line, 2, "198 bytes");
}

static void test_access(void)
{
	const struct gt_conf_rule *r;
	struct gt_config c;
	char err[512], want[TMP_PATH_MAX + 8];

	gt_config_init(&c);
	is(read_text(&c,
		     "[access]\ngroup = perf\nconfig/* = 0640 root:12\n"
		     "control = :0\nbackends/sim/rate=600\nconfig/level = 7: ; seven\n",
		     err, sizeof(err)),
	   0, "lines for settings beside keys");
	r = c.rules;
	is_str(r->pattern, "config/*", "in their order");
	snprintf(want, sizeof(want), "%s:3", path);
	is_str(r->where, want, "and where they stand");
	ok(r->has_mode && r->mode == 0640 && r->has_uid && !r->uid && r->has_gid && r->gid == 12,
	   "mode, a user by name, a group by number");
	r = r->next;
	ok(!r->has_mode && !r->has_uid && r->has_gid && !r->gid, "a group alone");
	r = r->next;
	ok(r->mode == 0600 && !r->has_uid && !r->has_gid, "a mode alone");
	ok(!r->next->has_mode && r->next->uid == 7 && !r->next->has_gid, "an owner alone");
	is(read_text(&c, "[access]\nconfig/* = 0600\n", err, sizeof(err)), 0,
	   "a second file may say it again");
	gt_config_free(&c);

	refused("[access]\nvisiblity = all\n", 2, "no key 'visiblity'");
	refused("[trace]\nconfig/level = 0600\n", 2, "no key 'config/level'");
	refused("[access]\ncontrol = 0770\n", 2, "'0770' is no mode");
	refused("[access]\ncontrol = 0668\n", 2, "'0668' is no mode");
	refused("[access]\ncontrol = 00000000000000000600\n", 2, "600' is no mode");
	refused("[access]\ncontrol = 0660 nobody-here\n", 2, "no user 'nobody-here'");
	refused("[access]\n\ncontrol = 0660 root:nobody-here\n", 3, "no group 'nobody-here'");
	refused("[access]\ncontrol = root:4294967295\n", 2, "no group '4294967295'");
	refused("[access]\ncontrol = 0660 :\n", 2, "colon");
	refused("[access]\ncontrol =\n", 2, "MODE OWNER:GROUP");
	refused("[access]\ncontrol = 0660 root:root 7\n", 2, "MODE OWNER:GROUP");
	refused("[access]\ncontrol = 0660\ncontrol = 0600\n", 3, "set twice");
}

static void test_many_rules(void)
{
	char *text = NULL, err[512];
	struct gt_config c;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "[access]\n");
	for (int i = 0; i <= GT_CONF_RULES; i++)
		fprintf(f, "config/x%d = 0600\n", i);
	fclose(f);
	gt_config_init(&c);
	ok(read_text(&c, text, err, sizeof(err)) < 0 && strstr(err, "more than 256 lines"),
	   "the lines for settings are bounded");
	gt_config_free(&c);
	free(text);
}

static void test_files(void)
{
	char err[512];
	struct gt_config c;

	gt_config_init(&c);
	write_file("[main]\nback\0end = x\n", 19);
	ok(gt_config_read(&c, path, err, sizeof(err)) < 0 && strstr(err, ":2: a NUL byte"),
	   "a NUL byte is refused");
	is(gt_config_read(&c, "/nonexistent/x", err, sizeof(err)), -ENOENT,
	   "a file that is not there");
	ok(strstr(err, "/nonexistent/x"), "is named: %s", err);
	is(gt_config_read(&c, "/", err, sizeof(err)), -EISDIR, "a folder");
	is(read_text(&c, "", err, sizeof(err)), 0, "an empty file");
	gt_config_free(&c);
}

static void test_trust(void)
{
	char err[512], fifo[TMP_PATH_MAX + 8];
	struct gt_config c;

	gt_config_init(&c);
	write_file("", 0);
	chmod(path, 0602);
	is(gt_config_read(&c, path, err, sizeof(err)), -EPERM, "a file that others can write");
	ok(strstr(err, "can be written by others: chmod go-w it"), "is reported: %s", err);
	chmod(path, 0600);
	if (!geteuid() && !chown(path, 12345, 12345)) {
		is(gt_config_read(&c, path, err, sizeof(err)), -EPERM, "a file of somebody else's");
		ok(strstr(err, "belongs to uid 12345: chown it to root"), "is reported: %s", err);
		chown(path, 0, 0);
	}
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	is(mkfifo(fifo, 0600), 0, "a FIFO");
	is(gt_config_read(&c, fifo, err, sizeof(err)), -EINVAL, "does not keep it waiting");
	ok(strstr(err, "is not a regular file"), "and is reported: %s", err);
	unlink(fifo);
	gt_config_free(&c);
}

/* In a process that has root's rights, and was called by uid 12345: what a bad file makes it say */
static int reported_caller(mode_t mode)
{
	char err[512] = "";
	struct gt_config c;
	int status = -1;
	pid_t pid;

	chmod(path, mode);
	pid = fork();
	if (!pid) {
		gt_config_init(&c);
		if (setresuid(12345, 0, 0))
			_exit(3);
		gt_config_read(&c, path, err, sizeof(err));
		_exit(strstr(err, "secret") ? 1 : strstr(err, "Permission denied") ? 2 : 3);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void test_caller(void)
{
	if (geteuid() && ok(true, "who called may not read it # skip it takes root"))
		return;
	write_file("secret = 1\n", 11);
	is(reported_caller(0600), 2,
	   "nothing of a file is reported to a caller who may not read it");
	is(reported_caller(0644), 1, "but to one who may");
	chmod(path, 0600);
}

static void test_set(void)
{
	char err[512], key[40];
	const char *b, *k;
	struct gt_config c;
	unsigned int n = 0;

	gt_config_init(&c);
	is(gt_config_set(&c, "visibility", "owner", err, sizeof(err)), 0, "one key");
	is(c.visibility, 2, "is set");
	is(gt_config_set(&c, "sampling", "-1", err, sizeof(err)), -ERANGE, "out of bounds");
	is(c.sampling, 100, "the old value stays");
	is(gt_config_set(&c, "nothing", "1", err, sizeof(err)), -ENOENT, "no such key");
	ok(strstr(err, "'nothing'"), "is named: %s", err);
	is(gt_config_backend_set(&c, "replay", "file", "a"), 0, "a backend's key");
	is(gt_config_backend_set(&c, "replay", "file", "b"), 0, "once more");
	is_str(gt_config_backend(&c, "replay", "file"), "b", "the last one counts");
	is(gt_config_backend_set(&c, "", "file", "b"), -EINVAL, "no name");
	memset(key, 'k', sizeof(key));
	key[39] = 0;
	is(gt_config_backend_set(&c, "x", key, "b"), -EINVAL, "too long a key");
	is(gt_config_backend_set(&c, "sim", "seed", "b"), 0, "another");
	while (gt_config_backend_each(&c, n, &b, &k))
		n++;
	ok(n == 2 && !strcmp(b, "sim") && !strcmp(k, "seed"), "they are listed in order");
	gt_config_free(&c);
}

/* Whatever the bytes are: a sentence or none, and nothing that the sanitizers mind. */
static void test_random(void)
{
	static const char alphabet[] = "[]=;#\n\n \tmaintracelevel0123backend sim\0\r";
	char err[512], text[600];
	unsigned int bad = 0;

	srand(7);
	for (unsigned int i = 0; i < 2000; i++) {
		size_t n = (size_t)rand() % sizeof(text);
		struct gt_config c;
		int ret;

		for (size_t k = 0; k < n; k++)
			text[k] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		write_file(text, n);
		gt_config_init(&c);
		err[0] = 0;
		ret = gt_config_read(&c, path, err, sizeof(err));
		bad += (ret < 0) != (err[0] != 0);
		gt_config_free(&c);
	}
	is(bad, 0, "2000 random files: refused with a sentence, or taken without");
}

int main(void)
{
	int fd = tmp_file(path, "gt-config"), ret;

	if (fd >= 0)
		close(fd);
	test_defaults();
	test_good();
	test_refused();
	test_access();
	test_many_rules();
	test_files();
	test_trust();
	test_caller();
	test_set();
	test_random();
	ret = done_testing();
	unlink(path);
	return ret;
}
