/* SPDX-License-Identifier: GPL-2.0 */
/* The metadata, held against the real babeltrace2: it must print what we wrote, and warn of
 * nothing. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../backend/backend.h"
#include "../../fs/stream/stream.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define T0 1000000000ULL

static const char *const type_names[] = GT_TYPE_NAMES;
static char dir[TMP_PATH_MAX];

static void write_file(const char *name, const char *mode, const void *data, size_t len)
{
	char path[TMP_PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace/%s", dir, name);
	f = fopen(path, mode);
	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		ok(false, "cannot write %s", path);
}

/* What is in a file under the test's folder; the caller frees it. */
static char *slurp(const char *name)
{
	char path[TMP_PATH_MAX + 64], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, (1 << 20) - 1, f)] = 0;
		fclose(f);
	}
	return text;
}

/* Runs babeltrace2; out and err are then in the folder. Return: its exit status. */
static int babeltrace(const char *args)
{
	char cmd[4 * TMP_PATH_MAX];

	snprintf(cmd, sizeof(cmd), "babeltrace2 %s %s/trace >%s/out 2>%s/err", args, dir, dir, dir);
	return system(cmd);
}

static unsigned int lines(const char *s)
{
	unsigned int n = 0;

	while ((s = strchr(s, '\n'))) {
		s++;
		n++;
	}
	return n;
}

/* What babeltrace2 printed, without the packet context, which is in each line */
static char *printed(void)
{
	static const char context[] = "{ header = \"@\" }, ";
	char *out = slurp("out"), *at;

	while ((at = strstr(out, context)))
		memmove(at, at + strlen(context), strlen(at + strlen(context)) + 1);
	return out;
}

static void write_metadata(const char (*custom)[32], int64_t offset)
{
	static const char names[8][GT_FUNCTION_NAME] = { "f", [7] = "amdgpu_x.isra.0\"; };" };
	const struct gt_ctf_functions functions = { 8, names };
	struct gt_text t;

	gt_text_init(&t, 0);
	gt_ctf_metadata(&t, custom, &functions, offset, UINT64_MAX);
	ok(!t.failed, "metadata of %zu bytes", t.len);
	write_file("metadata", "w", t.buf, t.len);
	gt_text_free(&t);
}

static union gt_record header(uint64_t ts)
{
	union gt_record r;

	memset(&r, 0, sizeof(r));
	r.header.ts = ts;
	r.header.type = GT_HEADER;
	r.header.cpu = GT_NONE16;
	r.header.version = GT_RECORD_VERSION;
	r.header.record_size = GT_RECORD_SIZE;
	memcpy(r.header.magic, GT_RECORD_MAGIC, sizeof(GT_RECORD_MAGIC));
	r.header.realtime_offset = -5;
	r.header.session = 0xabc;
	return r;
}

/* Every event type, each known field another number. */
static size_t all_events(union gt_record *r, uint64_t ts)
{
	for (unsigned int i = 0; i < GT_NTYPES; i++) {
		gt_record_init(&r[i], ts + i, (enum gt_type)i);
		r[i].ev.cpu = 3;
		r[i].ev.gpu = 1;
		r[i].ev.ring = 2;
		r[i].ev.ctx = 0x1234;
		r[i].ev.seqno = 100 + i;
		r[i].ev.value = 7;
		r[i].ev.ref = 8;
	}
	r[GT_SUBMIT].ev.flags = GT_F_LATE;
	r[GT_SUBMIT].ev.pid = 4321;
	r[GT_SUBMIT].ev.tid = 4322;
	r[GT_SUBMIT].ev.uid = 1000;
	r[GT_SUBMIT].ev.queue = 6;
	r[GT_ERROR].ev.value = GT_ERR_RESET;
	r[GT_IOCTL_EXIT].ev.value = (uint64_t)-22;
	return GT_NTYPES;
}

static size_t all_descriptions(union gt_record *r, uint64_t ts)
{
	gt_record_init(&r[0], ts, GT_GPU_NAME);
	strcpy(r[0].gpu_name.name, "amdgpu0");
	strcpy(r[0].gpu_name.dev, "0000:04:00.0");
	gt_record_init(&r[1], ts, GT_RING_NAME);
	r[1].ring_name.engine = GT_ENGINE_VIDEO_ENCODE;
	strcpy(r[1].ring_name.name, "vcn_enc_0");
	gt_record_init(&r[2], ts, GT_PROCESS);
	r[2].process.pid = 4321;
	strcpy(r[2].process.comm, "glx\"\xff\n gears");
	gt_record_init(&r[3], ts, GT_NAME);
	r[3].name.kind = GT_NAME_COUNTER;
	memcpy(r[3].name.text, "a_name_of_thirty_two_characters!", 32);
	gt_record_init(&r[4], ts, GT_QUEUE);
	r[4].queue.kind = GT_QUEUE_TSG;
	r[4].queue.engine = GT_ENGINE_COPY;
	r[4].queue.timeslice_us = 1500;
	gt_record_init(&r[5], ts, GT_LOST);
	r[5].lost.count = 17;
	r[5].lost.cause = GT_LOST_READER;
	gt_record_init(&r[6], ts, GT_LOST); /* everything unknown, the enumeration too */
	gt_record_init(&r[7], ts, GT_MACHINE);
	strcpy(r[7].machine.name, "node7");
	gt_record_init(&r[8], ts, GT_CLOCK_SNAPSHOT);
	r[8].clock_snapshot.realtime_offset = -9;
	return 9;
}

static size_t whole_stream(union gt_record *r, uint64_t ts)
{
	size_t n = 0;

	r[n++] = header(ts);
	n += all_descriptions(r + n, ts);
	return n + all_events(r + n, ts);
}

static void has(const char *text, const char *want)
{
	ok(strstr(text, want), "it prints %s", want);
}

static void check_output(const char *out)
{
	char name[64];
	bool types = true;

	has(out, " SUBMIT: { flags = 1, cpu = 3 }, { gpu = 1, ring = 2, ctx = 0x1234, seqno = 100, "
		 "pid = 4321, tid = 4322, uid = 1000, queue = 6, value = 7, ref = 8 }");
	has(out, " GPU_NAME: { flags = 0, cpu = 65535 }, { gpu = 65535, ring = 65535, "
		 "name = \"amdgpu0\", dev = \"0000:04:00.0\" }");
	has(out, "engine = ( \"VIDEO_ENCODE\" : container = 5 ), reserved = 4294967295, "
		 "name = \"vcn_enc_0\" }");
	has(out, "pid = 4321, uid = 4294967295, comm = \"glx\\\"");
	has(out, "kind = ( \"COUNTER\" : container = 2 ), part = 4294967295, "
		 "text = \"a_name_of_thirty_two_characters!\" }");
	has(out, "timeslice_us = 1500, channels = 4294967295, kind = ( \"TSG\" : container = 2 ), "
		 "engine = ( \"COPY\" : container = 3 ), interleave = 65535, priority = 65535, ");
	has(out, "count = 17, since = 18446744073709551615, "
		 "cause = ( \"READER\" : container = 1 ), reserved = 4294967295, "
		 "until = 18446744073709551615, reserved2 = [ [0] = 4294967295,");
	has(out, "[15] = 255 ], name = \"node7\" }");
	has(out, "realtime_offset = -9, boottime_offset = -1, reserved = [ [0] = ");
	has(out, "cause = ( <unknown> : container = 4294967295 )");
	has(out, "value = ( \"RESET\" : container = 2 )");
	has(out, "value = -22, ref = 8 }");
	has(out, "value = ( \"amdgpu_x.isra.0_____\" : container = 7 )");
	for (int i = 0; i < GT_CUSTOM0; i++) {
		snprintf(name, sizeof(name), " %s: {", type_names[i]);
		types &= strstr(out, name) != NULL;
	}
	ok(types, "and every type by name");
}

static void test_all_types(void)
{
	static const char custom[7][32] = { "dpm change\"; };", "", "a\\b",
					    "12345678901234567890123456789012" };
	union gt_record r[64];
	size_t n = whole_stream(r, T0);
	char *out, *err;

	write_metadata(custom, 1763000000123456789LL);
	write_file("events", "w", r, n * sizeof(*r));
	is(babeltrace("--clock-seconds"), 0, "babeltrace2 reads a stream of all types");
	out = printed();
	err = slurp("err");
	is(lines(out), n - 1, "it prints each record but the first, which is the packet's");
	is_str(err, "", "and warns of nothing");
	ok(!strncmp(out, "[1763000001.123456789]", 22), "in real time");
	check_output(out);
	has(out, " dpm_change_____: {");
	has(out, " CUSTOM1: {");
	has(out, " a_b: {");
	has(out, " 12345678901234567890123456789012: {");
	free(out);
	free(err);
}

static void test_appended_and_cut(void)
{
	static const char custom[7][32];
	union gt_record r[128];
	size_t n = whole_stream(r, T0), all = n + whole_stream(r + n, T0 + 1000);
	char *out, *err;

	write_metadata(custom, 0);
	write_file("events", "w", r, n * sizeof(*r));
	write_file("events", "a", r + n, (all - n) * sizeof(*r));
	is(babeltrace("--clock-seconds"), 0, "a stream appended to another");
	out = printed();
	err = slurp("err");
	is(lines(out), all - 1, "each record of both but the first");
	has(out, " HEADER: { flags = 0, cpu = 65535 }, { version = 2, record_size = 64, "
		 "magic = \"gputrace-stream\", realtime_offset = -5, ");
	is_str(err, "", "no warning");
	ok(!strncmp(out, "[1.000000000]", 13), "a recording's own time");
	free(out);
	free(err);
	for (size_t cut = 1; cut < 64; cut += 31) {
		write_file("events", "w", r, (n - 1) * sizeof(*r) + cut);
		ok(babeltrace("--clock-seconds"), "%zu bytes into a record: it fails", cut);
		out = printed();
		is(lines(out), n - 2, "but prints each whole record before");
		free(out);
	}
}

static void test_offset(int64_t offset, const char *want)
{
	static const char custom[7][32];
	union gt_record r[2] = { header(T0) };
	char *out, *err;

	gt_record_init(&r[1], T0, GT_SUBMIT);
	write_metadata(custom, offset);
	write_file("events", "w", r, sizeof(r));
	is(babeltrace("--clock-seconds"), 0, "offset %" PRId64, offset);
	out = printed();
	err = slurp("err");
	ok(!strncmp(out, want, strlen(want)), "it is %s: %.24s", want, out);
	is_str(err, "", "no warning");
	free(out);
	free(err);
}

int main(void)
{
	char path[TMP_PATH_MAX + 64];

	if (system("babeltrace2 --version >/dev/null 2>&1")) {
		printf("1..0 # SKIP babeltrace2 is not installed\n");
		return 77;
	}
	if (!tmp_dir(dir, "gt-ctf"))
		return 1;
	snprintf(path, sizeof(path), "%s/trace", dir);
	mkdir(path, 0700);
	test_all_types();
	test_appended_and_cut();
	test_offset(500000001, "[1.500000001]");
	test_offset(-1, "[0.999999999]");
	test_offset(-1000000000, "[0.000000000]");
	test_offset(-2500000000, "[-1.500000000]");
	snprintf(path, sizeof(path), "rm -r %s", dir);
	if (system(path))
		return 1;
	return done_testing();
}
