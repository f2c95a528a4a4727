/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of a recording: by name and number, their devices, and which of them are used. */
#include <errno.h>
#include <unistd.h>

#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define JOB "event = SUBMIT\nring = {ring}\nctx = ctx\nseqno = seqno\n"

static const char *const maps[][2] = {
	{ "a.ini", "[map]\ndriver = alpha\n"
		   "[sys/job]\n" JOB "dev = {dev}\n"
		   "[sys/slots]\n" JOB "dev = {dev} {slot}\n"
		   "[sys/two]\n" JOB "dev = {dev}\nrequires = absent\n"
		   "[sys/three]\nevent = IRQ\n"
		   "[sys/unless]\n" JOB "dev = {dev}\nunless = job other/done\n" },
	{ "b.ini", "[map]\ndriver = beta\n"
		   "[sys/again]\n" JOB "dev = {dev}\n"
		   "[sys/two]\n" JOB "dev = {dev}\n"
		   "[sys/three]\n" JOB "dev = {dev}\n" },
	{ "c.ini", "[sys/nobody]\n" JOB "dev = {dev}\n" },
};

static char dir[TMP_PATH_MAX];
static struct rh *h;
static struct gt_source *s;
static struct gt_events *e;

static void write_maps(bool there)
{
	char path[TMP_PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, maps[i][0]);
		f = there ? fopen(path, "w") : NULL;
		if (f) {
			fputs(maps[i][1], f);
			fclose(f);
		} else if (there || unlink(path)) {
			ok(false, "a map");
		}
	}
}

static void begin(void)
{
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");

	if (fd < 0 || write(fd, "# tracer: nop\n", 14) != 14)
		ok(false, "temporary file");
	close(fd);
	h = rh_new(path, dir, true);
	is(gt_replay_start(&h->p), 0, "a recording");
	unlink(path);
	s = gt_replay_source(h->p.priv, 0);
	e = gt_events_new(s);
}

static void end(void)
{
	gt_events_free(e);
	rh_free(h);
}

static int named(const char *system, const char *name)
{
	return gt_events_by_name(e, system, system ? strlen(system) : 0, name, strlen(name));
}

static void names(void)
{
	char word[65];
	int job, i;

	begin();
	job = named("sys", "job");
	ok(job >= 0 && named("sys", "job") == job, "a name is the same tracepoint each time");
	i = named(NULL, "job");
	ok(i >= 0 && i != job && named(NULL, "job") == i, "without a system it is another");
	i = named("other", "job");
	ok(i >= 0 && i != job && named("other", "job") == i, "of another system, too");
	ok(named("sys", "jo") != job && named("sys", "jobs") != job && named("sy", "job") != job,
	   "and what only begins alike");
	ok(gt_events_wanted(e, job) && gt_events_wanted(e, named(NULL, "job")),
	   "a map has use for it");
	ok(!gt_events_wanted(e, named("sys", "none")) && !gt_events_wanted(e, -1),
	   "for others none has");
	ok(gt_events_known(e, "sys", "job") && !gt_events_known(e, "sys", "none"), "it is known");
	memset(word, 'w', sizeof(word));
	word[64] = '\0';
	ok(named("sys", word) < 0 && named(word, "job") < 0, "names of 64 letters are none");
	word[63] = '\0';
	ok(named("sys", word) >= 0 && named(word, "job") >= 0, "of 63 they are");
	end();
}

/* As many as there is room for */
static void many(void)
{
	char word[16];
	int first, last = 0, n = 0;

	begin();
	first = named("sys", "job");
	for (; n < 10000 && last >= 0; n++) {
		snprintf(word, sizeof(word), "e%d", n);
		last = named("sys", word);
	}
	is(n, 8192, "there is an end to tracepoints");
	is(gt_events_add(e, "sys", "more", 1, "", 0), -ENOSPC, "it is said");
	ok(named("sys", "job") == first && named("sys", "e8190") == 8191, "those before are found");
	is(gt_events_by_id(e, 1), -1, "and the next is none");
	end();
}

static const char format[] =
	"name: job\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:u64 ctx;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 seqno;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char ring[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:char dev[8];\toffset:32;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";

static int added(const char *name, int id)
{
	return gt_events_add(e, "sys", name, id, format, sizeof(format) - 1);
}

static void ids(void)
{
	int job;

	begin();
	job = added("job", 0);
	ok(job >= 0 && gt_events_by_id(e, 0) == job, "a number is a tracepoint's");
	is(named("sys", "job"), job, "the same by its name");
	ok(gt_events_wanted(e, job), "it has the fields that the map wants");
	is(added("none", 0), -EEXIST, "it is no other's");
	is(gt_events_by_id(e, 0), job, "and stays");
	is(added("none", -1), -EEXIST, "no number is less than 0");
	is(added("none", 65536), -EEXIST, "none has more than 16 bits");
	is(added("job", 65535), job, "the last is one");
	ok(gt_events_by_id(e, 65535) == job && gt_events_by_id(e, 65534) == -1, "and no other");
	is(gt_events_by_id(e, 65536), -1, "behind it is none");
	is(h->errors, 0, "nobody complained");
	job = gt_events_add(e, "sys", "again", 9, "name: again\nID: 9\n", 18);
	ok(job >= 0 && !gt_events_wanted(e, job), "without its fields it is of no use");
	ok(h->errors == 1 && strstr(h->error, "tracepoint again"), "which is said: %s", h->error);
	gt_events_select(e, 3);
	ok(!gt_events_wanted(e, job) && gt_events_wanted(e, 0), "and stays so");
	end();
}

static void seen(const char *name, const char *dev)
{
	char line[128];

	snprintf(line, sizeof(line), "dev=%s slot=1 ring=r ctx=1 seqno=2", dev);
	gt_events_seen(e, named("sys", name), line, strlen(line), false);
}

/* "name:driver name:driver" */
static const char *devices(void)
{
	static char out[8192];
	const char(*dev)[GT_REPLAY_DEV];
	unsigned int n;

	*out = '\0';
	dev = gt_events_devs(e, &n);
	for (unsigned int i = 0; i < n; i++) {
		const char *driver = gt_events_driver(e, i);

		sprintf(out + strlen(out), "%s%s:%s", i ? " " : "", dev[i], driver ? driver : "-");
	}
	return out;
}

static void devs(void)
{
	begin();
	is_str(devices(), "", "no device before the first event");
	seen("job", "m");
	seen("again", "z");
	seen("job", "a");
	seen("nobody", "n");
	is_str(devices(), "a:alpha m:alpha n:- z:beta", "devices in order of their names");
	seen("again", "a");
	seen("again", "n");
	seen("job", "n");
	is_str(devices(), "a:alpha m:alpha n:beta z:beta", "the first driver to name one has it");
	seen("other", "b");
	seen("three", "t");
	seen("two", "u");
	is_str(devices(), "a:alpha m:alpha n:beta t:beta u:beta z:beta",
	       "of two maps that which names a device, and is used");
	end();
	begin();
	seen("job", ".a.b/c");
	seen("job", "x\x7fy\xc3");
	seen("job", "~!");
	seen("slots", "s");
	is_str(devices(), "_a.b_c:alpha s_1:alpha x_y_:alpha ~!:alpha", "names are made clean");
	end();
}

static void many_devs(void)
{
	char name[8], want[1024] = "";

	for (int down = 0; down < 2; down++) {
		begin();
		*want = '\0';
		for (int i = 10; i < 80; i++) {
			snprintf(name, sizeof(name), "d%d", down ? 89 - i : i);
			seen("job", name);
		}
		for (int i = 0; i < 64; i++)
			sprintf(want + strlen(want), "%sd%d:alpha", i ? " " : "",
				i + 10 + 6 * down);
		is_str(devices(), want, "there is an end to devices");
		end();
	}
}

static void used(void)
{
	int unless;

	begin();
	unless = named("sys", "unless");
	(void)named("sys", "job");
	(void)named("sys", "done");
	seen("unless", "d");
	seen("done", "d");
	gt_events_select(e, 3);
	ok(gt_events_wanted(e, unless), "what does not occur is no reason to leave one out");
	(void)named("other", "done");
	gt_events_seen(e, named("other", "done"), "", 0, false);
	gt_events_select(e, 3);
	ok(!gt_events_wanted(e, unless), "what occurs is");
	end();
	begin();
	unless = named("sys", "unless");
	seen("unless", "d");
	seen("job", "d");
	gt_events_select(e, 0);
	ok(!gt_events_wanted(e, unless) && gt_events_wanted(e, named("sys", "job")),
	   "of any system where none is given, at any level");
	end();
}

int main(void)
{
	if (!tmp_dir(dir, "gt-events"))
		return !ok(false, "a folder");
	write_maps(true);
	names();
	many();
	ids();
	devs();
	many_devs();
	used();
	write_maps(false);
	rmdir(dir);
	return done_testing();
}
