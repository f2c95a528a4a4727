/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs that come and go: what the kernel's messages say, and what a scan makes of a sysfs made
 * here. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fs/gpu_names.h"
#include "../../fs/devices.h"
#include "../lib/tap.h"
#include "../lib/top.h"

static char sys[sizeof(top) + 4];
static struct gt_config conf;
static struct gt_app app;
static struct gt_devices devices;
static struct gt_naming *nm;

/* Messages ------------------------------------------------------------------------------------ */

#define ABOUT(text) gt_uevent_about(text, sizeof(text))

static void test_messages(void)
{
	static const char drm[] = "add@/devices/x/drm/card0\0ACTION=add\0SUBSYSTEM=drm\0SEQNUM=1";
	static const char no_end[] = { 'a', '@', 'b' };

	is(ABOUT("add@/devices/x/drm/card0\0ACTION=add\0SUBSYSTEM=drm"), GT_UEVENT_DEVICE, "drm");
	is(ABOUT("remove@/module/x\0ACTION=remove\0SUBSYSTEM=module"), GT_UEVENT_MODULE, "module");
	is(ABOUT("unbind@/devices/p\0ACTION=unbind\0SUBSYSTEM=pci"), GT_UEVENT_DEVICE,
	   "a driver leaves a PCI device");
	is(ABOUT("change@/devices/p\0ACTION=change\0SUBSYSTEM=pci"), 0, "another word of it");
	is(ABOUT("add@/devices/u\0ACTION=add\0SUBSYSTEM=usb"), 0, "another subsystem");
	is(ABOUT("add@/x\0SUBSYSTEM=drmx"), 0, "a longer name");
	is(ABOUT("libudev\0SUBSYSTEM=drm"), 0, "udev's own message");
	is(gt_uevent_about("", 0), 0, "nothing");
	is(gt_uevent_about(no_end, sizeof(no_end)), 0, "without an end");
	for (size_t n = 0; n < sizeof(drm) - 1; n++)
		if (gt_uevent_about(drm, n) & ~GT_UEVENT_DEVICE)
			ok(false, "cut at %zu", n);
}

/* Scans --------------------------------------------------------------------------------------- */

static void run(const char *fmt, ...)
{
	char cmd[1024];
	size_t n = (size_t)snprintf(cmd, sizeof(cmd), "cd %s/sys && ", top);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - n, fmt, ap);
	va_end(ap);
	if (system(cmd))
		ok(false, "%s", cmd);
}

/* The new folder is made before the old one goes: its inode is another */
static void add(const char *dev, const char *driver, int card)
{
	run("mkdir -p devices/%1$s new/card%2$d new/renderD%3$d class/drm && rm -rf old && "
	    "if [ -e devices/%1$s/drm ]; then mv devices/%1$s/drm old; fi && mv new "
	    "devices/%1$s/drm && "
	    "ln -sfn x/%4$s devices/%1$s/driver && ln -sfn ../.. devices/%1$s/drm/card%2$d/device "
	    "&& "
	    "ln -sfn ../../devices/%1$s/drm/card%2$d class/drm/card%2$d",
	    dev, card, 128 + card, driver);
}

static void del(int card)
{
	run("rm class/drm/card%d", card);
}

/* "amdgpu0 -amdgpu1": by number, a gone one behind a dash */
static const char *names(void)
{
	static char s[512];
	size_t n = 0;

	s[0] = '\0';
	for (unsigned int i = 0; i < app.model->ngpus; i++)
		n += (size_t)snprintf(s + n, sizeof(s) - n, "%s%s%s", i ? " " : "",
				      app.model->gpus[i]->gone ? "-" : "",
				      app.model->gpus[i]->name);
	return s;
}

static int scan(void)
{
	return gt_naming_scan(nm);
}

static unsigned int asked(const char *driver, const char *dev, int minor)
{
	const struct gt_gpu_desc d = { .driver = driver, .dev = dev, .minor = minor };

	return gt_naming_gpu(nm, &d, false);
}

static unsigned int listed(int minor, uint32_t kfd_id)
{
	const struct gt_gpu_desc d = { .minor = minor, .kfd_id = kfd_id, .listed = true };

	return gt_naming_gpu(nm, &d, false);
}

static void test_numbers(void)
{
	unsigned int n = app.model->ngpus;

	is(listed(0, 0), 0, "a card's number");
	is(listed(129, 0), 1, "a render node's");
	is(listed(130, 0), GT_NONE16, "one that there is not");
	is(listed(64, 0), GT_NONE16, "nor that");
	is(asked(NULL, NULL, 129), 1, "a render node's, of a source that need not be right");
	devices.dev[1].kfd_id = 4711;
	is(listed(-1, 4711), 1, "KFD's number");
	is(listed(-1, 4712), GT_NONE16, "one that it does not have");
	is(app.model->ngpus, n, "none of them made a GPU");
	devices.dev[1].kfd_id = 0;
}

static void test_scans(void)
{
	struct gt_stale s;

	is_str(names(), "amdgpu0 amdgpu1", "to begin with");
	is(scan(), 0, "nothing has changed");
	is(gt_naming_stale(nm, &s), false, "and nothing is to be forgotten");
	del(0);
	is(scan(), 1, "one has gone");
	is_str(names(), "-amdgpu0 amdgpu1", "the first");
	is(app.model->gpus[0]->life, 1, "its life is over");
	is(gt_naming_stale(nm, &s), true, "its directory is to be forgotten");
	is_str(s.name, "amdgpu0", "by its name");
	gt_naming_forgotten(nm, &s);
	is(gt_naming_stale(nm, &s), false, "once");
	is(asked(NULL, "0000:03:00.0", -1), 0, "a late event by device is its own");
	is(asked("amdgpu", NULL, 0), 0, "by card number too");
	add("0000:01:00.0", "amdgpu", 0);
	is(scan(), 1, "another has come");
	is_str(names(), "-amdgpu0 amdgpu1 amdgpu2",
	       "under the next number, though it is the first");
	is(asked("amdgpu", NULL, 0), 2, "the card number is its own now");
	add("0000:03:00.0", "amdgpu", 4);
	is(scan(), 1, "the first is back");
	is_str(names(), "amdgpu0 amdgpu1 amdgpu2", "as before");
	is_str(app.model->gpus[0]->card, "card4", "with another card");
	is(asked("amdgpu", NULL, 4), 0, "which events may name");
	add("0000:03:00.0", "amdgpu", 4);
	is(scan(), 1, "bound anew between two scans");
	is(app.model->gpus[0]->gone, false, "it is there");
	is(app.model->gpus[0]->life, 2, "in another life");
	add("0000:04:00.0", "vfio", 1);
	is(scan(), 2, "another driver takes a device");
	is_str(names(), "amdgpu0 -amdgpu1 amdgpu2 vfio0", "that is another GPU");
	is(asked(NULL, "0000:04:00.0", -1), 3, "whose events are its own");
}

static unsigned int claimed(uint32_t uid, const char *dev)
{
	const struct gt_gpu_desc d = {
		.driver = "amdgpu", .dev = dev, .minor = -1, .listed = true, .uid = uid
	};

	return gt_naming_gpu(nm, &d, false);
}

/* A user's file says which GPU it was: that is so if the user may use it */
static void test_claims(void)
{
	char node[sizeof(top) + 64];
	unsigned int n = app.model->ngpus, gpu;

	snprintf(node, sizeof(node), "%s/dev", top);
	mkdir(node, 0755);
	strcat(node, "/dri");
	mkdir(node, 0755);
	strcat(node, "/renderD132"); /* 0000:03:00.0's */
	close(open(node, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	is(claimed(0, "0000:03:00.0"), 0, "root is believed");
	is(claimed(7, "0000:99:00.0"), GT_NONE16, "a GPU that is not here is none");
	chmod(node, 0666);
	is(claimed(4321, "0000:03:00.0"), 0, "so is who may open its render node");
	chmod(node, 0660);
	gpu = claimed(4322, "0000:03:00.0");
	ok(gpu == n && app.model->gpus[n]->claimed, "another's is a GPU of its own");
	is_str(app.model->gpus[n]->name, "amdgpu-claimed", "by its name, too");
	is(claimed(4323, "0000:01:00.0"), gpu, "all that users may not use are one");
	is(asked(NULL, "0000:03:00.0", -1), 0, "which changes nothing for other sources");
}

static void test_long_name(void)
{
	static const char name[] = "a-name-of-a-device-longer-than-any-on-a-bus";
	unsigned int gpu = asked("x", name, -1);

	is(asked("x", name, -1), gpu, "a long name is of one GPU");
}

static void test_broken(void)
{
	unsigned int n = app.model->ngpus;

	run("mv class/drm class/away && ln -s drm class/drm");
	is(scan(), -ELOOP, "a sysfs that cannot be read");
	ok(!app.model->gpus[0]->gone && app.model->ngpus == n, "says nothing of what there is");
	run("rm class/drm && mv class/away class/drm");
	is(scan(), 0, "readable again: the same");
}

static void test_lives(void)
{
	unsigned int n = app.model->ngpus;
	char there[512], away[512];

	snprintf(there, sizeof(there), "%s/class/drm/card4", sys);
	snprintf(away, sizeof(away), "%s/away", sys);
	for (int i = 0; i < 1000; i++) {
		if (rename(there, away) || scan() != 1)
			ok(false, "round %d", i);
		if (rename(away, there) || scan() != 1)
			ok(false, "round %d, back", i);
	}
	is(app.model->gpus[0]->life, 1002, "a thousand lives");
	is(app.model->ngpus, n, "of one GPU");
}

static void test_many(void)
{
	char dev[32];

	for (int i = 0; i < GT_MAX_GPUS + 4; i++) {
		snprintf(dev, sizeof(dev), "0001:%02x:00.0", i);
		add(dev, "xe", 10 + i);
	}
	ok(scan() > 0, "more than there is room for");
	is(app.model->ngpus, GT_MAX_GPUS, "as many as there is room for");
	is(asked(NULL, dev, -1), GT_NONE16, "the last has no number");
	is(scan(), 0, "nor later");
}

int main(void)
{
	const struct gt_limits limits = { .max_jobs = 64, .max_procs = 16 };

	if (!top_make())
		return 1;
	snprintf(sys, sizeof(sys), "%s/sys", top);
	mkdir(sys, 0755);
	conf.sysroot = top;
	app.conf = &conf;
	add("0000:03:00.0", "amdgpu", 0);
	add("0000:04:00.0", "amdgpu", 1);
	app.model = gt_model_new(&limits, true);
	app.log = gt_log_new(65536, true);
	gt_devices_scan(&devices, top);
	nm = gt_naming_new(&app, &devices);
	test_messages();
	test_numbers();
	test_scans();
	test_claims();
	test_long_name();
	test_broken();
	test_lives();
	test_many();
	gt_naming_free(nm);
	gt_devices_free(&devices);
	gt_log_free(app.log);
	gt_model_free(app.model);
	top_drop();
	return done_testing();
}
