/* SPDX-License-Identifier: GPL-2.0 */
/* backend/amdlog/reader.c: what the process says of lines, when it fails, and what it may do. */
#include <dirent.h>
#include <signal.h>

#include "../lib/amdhost.h"
#include "../lib/tap.h"

static struct gt_amd_reader r = { .child = GT_SANDBOX_NONE };

static const char log_text[] =
	"what a program says\n"
	"\n"
	":3:rocdevice.cpp            :468 : 14902569084 us: [pid:32899 tid:0x71038c239180] "
	"ShaderName : vector_add\n"
	":4:rocvirtual.cpp           :930 : 7270505900d us: [pid:21983 tid: 7f316f4006c0] "
	"HWq=0x7f00, id=1, Dispatch Header = 0xb02 (type=2), rptr=5, wptr=6\n"
	":3:rocdevice.cpp:3045: 175037104827 us: [pid:157801]\n"
	"ShaderName : joined\n"
	":3:rocdevice.cpp            :468 : 9223372036854775807 us: ShaderName : late\n"
	":3:bad\n"
	"Created SWq=nothing\n"
	":3:rocdevice.cpp            :468 : 14902569085 us: Command (CopyHostToDevice) enqueued: "
	"0x55 to queue: 0x66";

static bool same(const struct gt_amd_item *a, const struct gt_amd_item *b)
{
	const struct gt_amd_msg *m = &a->msg, *n = &b->msg;

	if (a->kind != b->kind || a->headed != b->headed || strcmp(a->text, b->text))
		return false;
	return a->kind != GT_AMD_MESSAGE ||
	       (a->line.us == b->line.us && a->line.pid == b->line.pid &&
		a->line.tid == b->line.tid && a->line.level == b->line.level &&
		m->what == n->what && m->hwq == n->hwq && m->rptr == n->rptr &&
		m->wptr == n->wptr && m->number == n->number && m->len == n->len &&
		(!m->len || !memcmp(m->name, n->name, m->len)));
}

/* Begins at any line, as a block may */
static void test_same(void)
{
	unsigned int lines = 0, kinds[GT_AMD_KINDS] = { 0 };
	const char *end = log_text + strlen(log_text);
	struct gt_amd_head head = { .headed = false };
	struct gt_amd_item want, got;

	for (const char *p = log_text, *nl; p < end; p = nl + 1, lines++) {
		struct gt_amd_head before = head;

		nl = memchr(p, '\n', (size_t)(end - p));
		nl = nl ? nl : end;
		gt_amd_item(&head, p, (size_t)(nl - p), &want);
		kinds[want.kind]++;
		if (gt_amd_read(&r, &before, p, (size_t)(end - p), false, true) ||
		    !gt_amd_next(&r, &got) || !same(&want, &got))
			ok(false, "line %u is what it is here", lines);
	}
	is(lines, 10, "lines, each as it is here");
	ok(kinds[GT_AMD_EMPTY] && kinds[GT_AMD_FOREIGN] && kinds[GT_AMD_DAMAGED] &&
		   kinds[GT_AMD_MESSAGE] > 4,
	   "of all kinds");
}

static unsigned int said(bool skip, bool last)
{
	struct gt_amd_head none = { .headed = false };
	struct gt_amd_item item;
	unsigned int n = 0;

	if (gt_amd_read(&r, &none, log_text, strlen(log_text), skip, last))
		return 0;
	while (gt_amd_next(&r, &item))
		n++;
	return n;
}

static void test_parts(void)
{
	struct gt_amd_head none = { .headed = false };
	struct gt_amd_item item;

	is(said(false, true), 10, "all lines");
	is(said(false, false), 9, "without what has no end yet");
	is(said(true, false), 8, "without the first");
	is(gt_amd_read(&r, &none, "no end", 6, false, false), 0, "no line at all");
	ok(!gt_amd_next(&r, &item), "… is none");
}

static void test_process(void)
{
	char path[64], line[256];
	unsigned int fds = 0, good = 0;
	struct dirent *e;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)r.child.pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		good += !strcmp(line, "CapPrm:\t0000000000000000\n") ||
			!strcmp(line, "NoNewPrivs:\t1\n") || !strcmp(line, "Seccomp:\t2\n");
	if (f)
		fclose(f);
	is(good, 3, "it has no rights and few system calls");
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)r.child.pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		fds += *e->d_name != '.';
	if (d)
		closedir(d);
	is(fds, 4, "nothing is open but the socket, and /dev/null three times");
}

static void test_killed(void)
{
	struct gt_amd_head none = { .headed = false };
	pid_t pid = r.child.pid;

	kill(pid, SIGKILL);
	is(gt_amd_read(&r, &none, log_text, strlen(log_text), false, true), -EPROTO,
	   "it is killed");
	is(said(false, true), 10, "another takes its place");
	ok(r.child.pid != pid, "… which is another");
}

/* What it says may be anything: nothing is read past its end, and no message lacks its name */
static void test_lies(void)
{
	struct gt_amd_item item;
	uint64_t seed = 1;
	bool fine = true;

	for (unsigned int round = 0; round < 500; round++) {
		said(false, true);
		r.at = 0;
		r.len = round % 4 ? r.len : seed % (r.len + 1);
		for (unsigned int i = 0; i < 1 + round % 8; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			if (r.len)
				r.said[(seed >> 33) % r.len] = (char)(seed >> 25);
		}
		while (gt_amd_next(&r, &item))
			fine &= r.at <= r.len && item.kind < GT_AMD_KINDS &&
				strlen(item.text) < sizeof(item.text) &&
				(item.kind != GT_AMD_MESSAGE ||
				 (item.msg.name && item.msg.what <= GT_AMD_BAD &&
				  (item.msg.what != GT_AMD_KERNEL || item.msg.len)));
	}
	ok(fine, "what it says is checked");
}

int main(void)
{
	test_same();
	test_parts();
	test_process();
	test_killed();
	test_lies();
	gt_amd_reader_end(&r);
	return done_testing();
}
