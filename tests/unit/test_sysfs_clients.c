/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: what fdinfo says, how busy that makes an engine, and what a look reads with many
 * clients. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/sysfs/sysfs.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"
#include "../lib/top.h"

/* Text --------------------------------------------------------------------------------------- */

static const char amdgpu[] = "pos:\t0\nflags:\t02100002\npasid:\t32771\ndrm-driver:\tamdgpu\n"
			     "drm-client-id:\t42\ndrm-memory-vram:\t1000 KiB\n"
			     "drm-memory-gtt: \t20 KiB\namd-evicted-vram:\t5 KiB\n"
			     "drm-shared-vram:\t8 KiB\ndrm-engine-gfx:\t123456 ns\n"
			     "drm-engine-dec:\t100 ns\ndrm-engine-dec:\t23 ns\n";

static void test_amdgpu(void)
{
	struct sf_fdinfo f;

	sf_fdinfo_parse(amdgpu, &f);
	ok(f.drm, "amdgpu's is a client's");
	is(f.id, 42, "its number");
	is(f.nengines, 2, "two engines");
	is_str(f.engine[0].name, "gfx", "by name");
	is(f.engine[0].ns, 123456, "how long one was busy");
	is(f.engine[1].ns, 123, "a key that is there twice is added up");
	is(f.nregions, 2, "two kinds of memory, and nothing of amdgpu's own keys");
	is(f.region[0].resident, 1024000, "bytes");
	is(f.region[0].shared, 8192, "shared ones");
	is(f.region[0].total, GT_NONE64, "what is unknown is not 0");
	is(f.region[1].resident, 20480, "a blank before the tab");
}

static void test_newer(void)
{
	static const char text[] =
		"drm-driver:\txe\ndrm-client-id:\t7\ndrm-resident-vram0:\t2 MiB\n"
		"drm-memory-vram0:\t9 MiB\ndrm-total-vram0:\t3 MiB\ndrm-active-vram0:\t0\n"
		"drm-purgeable-vram0:\t12\ndrm-cycles-rcs:\t50\ndrm-total-cycles-rcs:\t1000\n"
		"drm-engine-capacity-vcs:\t2\ndrm-maxfreq-gpu:\t500 MHz\ndrm-cycles-gpu:\t1\n"
		"drm-engine-cut:\t5";
	struct sf_fdinfo f;

	sf_fdinfo_parse(text, &f);
	is(f.region[0].resident, 2 << 20,
	   "the newer key wins over the older, whichever comes first");
	is(f.region[0].total, 3 << 20, "total");
	is(f.region[0].active, 0, "a 0 that is reported is one");
	is(f.region[0].purgeable, 12, "no unit: bytes");
	is(f.nengines, 3, "a line without an end may be cut, and does not count");
	is(f.engine[1].capacity, 2, "how many there are");
	is(f.engine[2].max_hz, 500000000, "MHz");
}

static void test_hostile(void)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		":::::",
		"drm-",
		"drm-:\t1\n",
		"drm-engine-:\t1\n",
		"drm-engine-a/b:\t1\ndrm-engine-..:\t1\ndrm-memory-\x1b[0m:\t1\n",
		"drm-engine-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:\t1\n",
		"drm-engine-x:\t-1 ns\n",
		"drm-memory-x:\t18446744073709551615 KiB\n",
		"drm-total-y:\t9223372036854775807 GiB\n",
		"drm-engine-x:\n1\n",
		"drm-client-id:\t99999999999999999999999\n",
	};
	char many[SF_FDINFO_MAX] = "drm-driver:\tx\n";
	struct sf_fdinfo f;
	size_t n = strlen(many);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sf_fdinfo_parse(texts[i], &f);
		ok(!f.drm && !f.nengines && !f.nregions && f.id == GT_NONE64,
		   "nonsense %zu has no effect", i);
	}
	for (int i = 0; n + 64 < sizeof(many); i++)
		n += (size_t)sprintf(many + n, "drm-engine-e%d:\t1\ndrm-memory-m%d:\t1\n", i, i);
	sf_fdinfo_parse(many, &f);
	is(f.nengines, GT_USE_ENGINES, "no more engines than there is room for");
	is(f.nregions, GT_USE_REGIONS, "nor regions");
	sf_fdinfo_parse("drm-engine-x:\t9223372036854775807\ndrm-engine-x:\t9223372036854775807\n"
			"drm-engine-x:\t9223372036854775807\n",
			&f);
	is(f.engine[0].ns, GT_NONE64 - 1, "a sum that is too large stays below unknown");
}

static void test_busy(void)
{
	struct sf_engine a = {
		.ns = 100, .cycles = GT_NONE64, .total_cycles = GT_NONE64, .max_hz = GT_NONE64
	};
	struct sf_engine b = a;

	b.ns = 350;
	is(sf_engine_busy(&a, &b, 1000), 250, "time: what it grew by");
	is(sf_engine_busy(NULL, &b, 1000), 350, "of a new client all of it");
	is(sf_engine_busy(&b, &a, 1000), 0, "that it went back is no time");
	a.ns = b.ns = GT_NONE64;
	is(sf_engine_busy(&a, &b, 1000), 0, "nothing is known");
	a.cycles = 100, b.cycles = 600, a.total_cycles = 0, b.total_cycles = 1000;
	is(sf_engine_busy(&a, &b, 2000), 1000, "cycles: half of the time");
	b.cycles = 5000;
	is(sf_engine_busy(&a, &b, 2000), 2000, "no more than there was");
	is(sf_engine_busy(NULL, &b, 2000), 0, "since when total cycles count is not known");
	b.total_cycles = 0;
	is(sf_engine_busy(&a, &b, 2000), 0, "no cycles at all");
	a.total_cycles = b.total_cycles = GT_NONE64;
	b.max_hz = 1000000000;
	is(sf_engine_busy(&a, &b, 10000), 4900, "by the greatest clock");
}

/* Many clients --------------------------------------------------------------------------------- */

static uint64_t usages;

static uint64_t host_now(struct gt_plugin *p)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static uint16_t host_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	return 0;
}
static void host_usage(struct gt_plugin *p, const struct gt_usage *u)
{
	usages++;
}
static const struct gt_host host = { .now = host_now, .gpu = host_gpu, .usage = host_usage };

#define PROCESSES 500
#define CLIENTS	  3 /* of each; each of two descriptors */

static void shell(const char *cmd)
{
	if (system(cmd))
		ok(false, "%s", cmd);
}

static void info(int pid, int fd, int client, int ns)
{
	char path[TMP_PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%d/fdinfo/%d", top, pid, fd);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "drm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-engine-gfx:\t%d ns\n", client, ns);
	fclose(f);
}

/* What the first client of a process did: each of its descriptors says so, whichever is read */
static void client_of(int pid, int ns)
{
	info(pid, 0, pid * CLIENTS, ns);
	info(pid, 1, pid * CLIENTS, ns);
}

static void make_tree(void)
{
	char cmd[4 * TMP_PATH_MAX], path[TMP_PATH_MAX + 64];

	snprintf(
		cmd, sizeof(cmd),
		"cd %s && mkdir -p sys/devices/d/drm/card0 sys/devices/d/drm/renderD128 "
		"sys/class/drm && "
		"ln -s ../../devices/d/drm/card0 sys/class/drm/card0 && "
		"ln -s ../.. sys/devices/d/drm/card0/device && ln -s x/amdgpu sys/devices/d/driver",
		top);
	shell(cmd);
	for (int p = 1; p <= PROCESSES; p++) {
		snprintf(path, sizeof(path), "%s/proc/%d", top, p);
		snprintf(cmd, sizeof(cmd), "mkdir -p %s/fd %s/fdinfo", path, path);
		shell(cmd);
		for (int fd = 0; fd < 2 * CLIENTS; fd++) {
			snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", top, p, fd);
			if (symlink("/dev/dri/renderD128", path))
				perror(path);
			info(p, fd, p * CLIENTS + fd / 2, 1000);
		}
	}
}

/* One user's many descriptors and clients do not hide another's. */
static void test_shares(void)
{
	struct gt_plugin p = { .host = &host };
	struct sf sf = { .p = &p };
	struct sf_user *u;
	char path[TMP_PATH_MAX + 64];

	for (int i = 1; i <= PROCESSES; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/proc/%d/status", top, i);
		f = fopen(path, "w");
		fprintf(f, "Name:\tx\nUid:\t%d\n", i < PROCESSES - 1 ? 1000 : 1001);
		fclose(f);
	}
	sf.clients = sf_clients_new();
	gt_root_open(&sf.root, top);
	sf_devices_scan(&sf);
	u = sf_user(sf.clients, 1000);
	sf_scan_begin(&sf);
	u->fds = 16384 - 10;
	sf_scan_continue(&sf, UINT64_MAX);
	is(u->fds, 16384, "no more descriptors of a user are looked at than their share");
	is(sf_user(sf.clients, 1001)->clients, 2 * CLIENTS, "another's are");
	is(sf.clients->stats.over + 2 + 2, PROCESSES, "and what is left out is counted");
	is(sf.clients->stats.cut, 1, "also of the process that was looked at in part");
	sf_clients_forget(&sf);
	u->clients = SF_CLIENTS / SF_SHARE - 4;
	sf_scan_begin(&sf);
	sf_scan_continue(&sf, UINT64_MAX);
	is(sf.clients->count, 4 + 2 * CLIENTS, "nor more clients of theirs known");
	u->clients = 4;
	sf_clients_free(sf.clients);
	sf_devices_free(&sf);
	gt_root_close(&sf.root);
}

/* Of more users than there are places each has its own in turn. */
static void test_users(void)
{
	struct sf_clients *cs = sf_clients_new();
	struct sf_user *u;

	for (uint32_t uid = 0; uid < SF_USERS - 1; uid++)
		sf_user(cs, uid)->queues = 1;
	u = sf_user(cs, 5000);
	u->clients = 3;
	ok(u == sf_user(cs, 5001) && u->uid == GT_NONE32, "users without a place are one");
	sf_user(cs, 7)->queues = 0;
	u = sf_user(cs, 5002);
	ok(u->uid == 5002 && !u->clients, "who has nothing left makes room for another");
	u->processes = 1;
	ok(sf_user(cs, 7)->uid == GT_NONE32, "and is one of those without, when it comes again");
	is(sf_user(cs, 6)->queues, 1, "others keep what they had");
	sf_clients_free(cs);
}

/* A program that is set to act as root is its user's */
static void test_acts_as(void)
{
	struct gt_plugin p = { .host = &host };
	struct sf sf = { .p = &p };
	int ready[2];
	char c;
	pid_t pid;

	if (geteuid() || pipe(ready)) {
		ok(true, "# SKIP needs root");
		return;
	}
	sf.clients = sf_clients_new();
	gt_root_open(&sf.root, "");
	pid = fork();
	if (!pid) {
		if (setresuid(1234, 0, 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	is(read(ready[0], &c, 1), 1, "a process");
	is(sf_user_of(&sf, (uint32_t)pid)->uid, 1234, "counts as its real user's");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	sf_clients_free(sf.clients);
	gt_root_close(&sf.root);
}

static void test_many(void)
{
	struct gt_plugin p = { .host = &host };
	struct sf sf = { .p = &p };
	uint64_t reads, most = 0, slices = 0;

	make_tree();
	sf.clients = sf_clients_new();
	is(gt_root_open(&sf.root, top), 0, "a tree of 500 processes with 3000 descriptors");
	ok(sf_devices_scan(&sf), "which has a GPU");
	sf_scan_begin(&sf);
	while (!sf_scan_continue(&sf, 0))
		slices++;
	ok(slices > PROCESSES / 16, "all processes are looked at, a few at a time");
	is(sf.clients->count, PROCESSES * CLIENTS, "each client once");
	is(sf.clients->stats.descriptors, PROCESSES * CLIENTS * 2,
	   "all descriptors were looked at");
	for (int i = 0; i < 200; i++) /* until all are known to be idle */
		sf_clients_read(&sf);
	usages = 0;
	for (int i = 0; i < 100; i++) {
		reads = sf.clients->stats.reads;
		sf_clients_read(&sf);
		reads = sf.clients->stats.reads - reads;
		most = reads > most ? reads : most;
	}
	ok(most <= SF_IDLE, "a look reads a few of those that are idle: %" PRIu64, most);
	is(usages, 0, "and emits nothing");
	is(sf.clients->stats.scans, 1, "no process was looked at again");
	client_of(77, 5000);
	for (int i = 0; !usages && i < PROCESSES * CLIENTS / SF_IDLE + 1; i++)
		sf_clients_read(&sf);
	is(usages, 1, "but what begins to work is found in its turn");
	reads = sf.clients->stats.reads;
	client_of(77, 6000);
	sf_clients_read(&sf);
	is(usages, 2, "and then read by each look");
	sf_clients_free(sf.clients);
	sf_devices_free(&sf);
	gt_root_close(&sf.root);
}

int main(void)
{
	if (!top_make())
		return 1;
	test_amdgpu();
	test_newer();
	test_hostile();
	test_busy();
	test_users();
	test_acts_as();
	test_many();
	test_shares();
	top_drop();
	return done_testing();
}
