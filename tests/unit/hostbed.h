/* SPDX-License-Identifier: GPL-2.0 */
/* What a test of the host needs: plugins built here, a sink that counts, a configuration. */
#ifndef GT_TESTS_HOSTBED_H
#define GT_TESTS_HOSTBED_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "../../backend/host/internal.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char root[4096]; /* of the sources */
static char dir[TMP_PATH_MAX];

/* The folder that holds backend/backend.h: from here, or from where the test lies, upwards. */
static bool find_source(char *buf, size_t len)
{
	char exe[4096], probe[4200];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *env = getenv("GT_SRC");

	if (env || !access("backend/backend.h", R_OK)) {
		if (!env && !getcwd(exe, sizeof(exe)))
			return false;
		snprintf(buf, len, "%s", env ? env : exe);
		return true;
	}
	for (exe[n > 0 ? n : 0] = 0; strrchr(exe, '/');) {
		*strrchr(exe, '/') = 0;
		snprintf(probe, sizeof(probe), "%s/backend/backend.h", exe);
		if (!access(probe, R_OK)) {
			snprintf(buf, len, "%s", exe);
			return true;
		}
	}
	return false;
}

static bool __attribute__((format(printf, 1, 2))) shell(const char *fmt, ...)
{
	char cmd[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd) == 0;
}

static bool build(const char *folder, const char *file, const char *flags)
{
	return shell("mkdir -p -m 755 %s/%s && cc -std=gnu11 -w -D_GNU_SOURCE -fPIC -shared "
		     "-fvisibility=hidden -I%s/include '-DNAME=\"%s\"' %s -o %s/%s/%s.so "
		     "'%s/tests/plugin/faulty.c' && "
		     "chmod 755 %s/%s/%s.so",
		     dir, folder, dir, file, flags, dir, folder, file, root, dir, folder, file);
}

static bool prepare(void)
{
	umask(022);
	return find_source(root, sizeof(root)) && tmp_dir(dir, "gt-host") &&
	       shell("chmod 755 %s && mkdir %s/include && ln -s '%s/backend' %s/include/gputrace",
		     dir, dir, root, dir);
}

static struct {
	_Atomic unsigned int records, live, lost, back, idles, gpus, warnings, resets;
	_Atomic uint64_t last, mark;
	char log[256];
	unsigned int observing;
	struct {
		bool known, on;
	} ring[8]; /* ring 0 of the first GPUs */
} sink;

static void on_records(void *arg, const union gt_record *r, size_t n, bool live_pids, bool own)
{
	for (size_t i = 0; i < n; i++) {
		sink.back += r[i].ev.ts < sink.last;
		sink.last = r[i].ev.ts;
		sink.lost += r[i].ev.type == GT_LOST && r[i].lost.cause == GT_LOST_SOURCE &&
			     !r[i].lost.count && r[i].lost.gpu == 3;
	}
	sink.records += (unsigned int)n;
	sink.live += live_pids ? (unsigned int)n : 0;
}

static void on_watermark(void *arg, uint64_t ts)
{
	sink.mark = ts;
}

static void on_observing(void *arg, unsigned int what)
{
	sink.observing = what;
}

static void on_ring_observing(void *arg, uint16_t gpu, uint16_t r, bool on)
{
	if (gpu >= sizeof(sink.ring) / sizeof(sink.ring[0]) || r)
		return;
	sink.ring[gpu].known = true;
	sink.ring[gpu].on = on;
}

static int on_reset(void *arg)
{
	sink.resets++;
	return 0;
}

static void on_idle(void *arg)
{
	sink.idles++;
}

static uint16_t on_gpu(void *arg, const struct gt_gpu_desc *d, bool recording)
{
	return (uint16_t)sink.gpus++;
}

static uint16_t on_ring(void *arg, uint16_t gpu, const char *name, enum gt_engine e)
{
	return 0;
}

static void on_log(void *arg, int priority, const char *line)
{
	if (priority != LOG_WARNING)
		return;
	sink.warnings++;
	snprintf(sink.log, sizeof(sink.log), "%s", line);
}

/* The configuration of a test: "backend key value", and so on. */
static const char *settings[8][3];

static const char *on_option(void *arg, const char *backend, const char *key)
{
	for (unsigned int i = 0; settings[i][0]; i++)
		if (!strcmp(settings[i][0], backend) && !strcmp(settings[i][1], key))
			return settings[i][2];
	return NULL;
}

static bool on_each(void *arg, unsigned int i, const char **backend, const char **key)
{
	*backend = settings[i][0];
	*key = settings[i][1];
	return *backend;
}

static struct gt_host_state *make(const char *folder, const char *backends, int level, char *err,
				  size_t len)
{
	static char path[TMP_PATH_MAX + 64];
	static const struct gt_sink to = { .records = on_records,
					   .observing = on_observing,
					   .ring_observing = on_ring_observing,
					   .reset = on_reset,
					   .watermark = on_watermark,
					   .idle = on_idle,
					   .gpu = on_gpu,
					   .ring = on_ring };
	struct gt_host_conf conf = { .plugin_dir = path,
				     .backends = backends,
				     .option = on_option,
				     .option_each = on_each,
				     .log = on_log,
				     .level = level,
				     .may_be_empty = !backends };

	memset(&sink, 0, sizeof(sink));
	snprintf(path, sizeof(path), "%s/%s", dir, folder);
	err[0] = 0;
	return gt_host_new(&conf, &to, err, len);
}

static struct gt_backend_info info(struct gt_host_state *h, const char *name)
{
	struct gt_backend_info i = { .name = "none" };
	int n = gt_host_find(h, name);

	if (n >= 0)
		gt_host_info(h, (unsigned int)n, &i);
	return i;
}

static void state_is(struct gt_host_state *h, const char *name, enum gt_backend_state s,
		     const char *sentence)
{
	struct gt_backend_info i = info(h, name);

	is_str(gt_backend_state_name(i.state), gt_backend_state_name(s), "%s", name);
	if (sentence && !ok(strstr(i.last_error, sentence), "says: %s", sentence))
		printf("# got \"%s\"\n", i.last_error);
}

#endif
