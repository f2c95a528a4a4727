// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints: found by name, the kernel's by walking them, modules' by the notifier, which reports
 * of those that are loaded already as well. No symbol of theirs is needed, and no module is held:
 * one that goes is let go of first.
 *
 * A name says nothing of what a tracepoint passes. One with other arguments than its probe takes,
 * or with others of the structures that the probe reads, is never hooked; one of which that cannot
 * be known is hooked only if somebody wants it so.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/tracepoint.h>

#include "internal.h"

static DEFINE_MUTEX(lock); /* inside grt_lock, and inside the notifier's */
static bool wanted, starting;
static bool hook_unverified;
module_param(hook_unverified, bool, 0600);
MODULE_PARM_DESC(
	hook_unverified,
	"hook tracepoints with arguments that cannot be checked, from the next start on: a "
	"kernel or driver that has others will crash (default: 0)");

static bool may_hook(const struct grt_hook *h)
{
	return h->proto == GRT_PROTO_FITS ||
	       (h->proto == GRT_PROTO_UNKNOWN && READ_ONCE(hook_unverified));
}

static int hook_on(struct grt_hook *h)
{
	int r = 0;

	if (h->tp && !h->on && may_hook(h)) {
		r = tracepoint_probe_register(h->tp, h->probe, h);
		h->on = !r;
	}
	return r;
}

static void hook_off(struct grt_hook *h)
{
	if (h->on)
		tracepoint_probe_unregister(h->tp, h->probe, h);
	h->on = false;
}

static void leave(struct grt_hook *h)
{
	hook_off(h);
	h->tp = NULL;
	h->owner = NULL;
}

static struct grt_hook *held(const char *name)
{
	for (unsigned int i = 0; i < grt_hook_count; i++)
		if (grt_hooks[i].tp && !strcmp(grt_hooks[i].name, name))
			return &grt_hooks[i];
	return NULL;
}

/* Several hooks may have one name, for tracepoints that have changed: what fits is taken, else what
 * cannot be known, else the first says what is in the way. Two modules may have one of that name,
 * too: the better one stays. */
static void found(struct tracepoint *tp, struct module *owner)
{
	enum grt_proto best_proto = GRT_PROTO_OTHER, proto;
	struct grt_hook *best = NULL, *was = held(tp->name);
	char why[sizeof(best->why)], best_why[sizeof(best->why)];

	if (was && was->proto == GRT_PROTO_FITS)
		return;
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		if (strcmp(grt_hooks[i].name, tp->name))
			continue;
		proto = grt_proto_of(&grt_hooks[i], tp, owner, why, sizeof(why));
		if (best && proto >= best_proto)
			continue;
		best = &grt_hooks[i];
		best_proto = proto;
		memcpy(best_why, why, sizeof(why));
	}
	if (!best)
		return;
	if (best_proto != GRT_PROTO_FITS)
		pr_warn("grtrace: tracepoint %s of %s is %s: %s\n", tp->name,
			owner ? owner->name : "the kernel",
			best_proto == GRT_PROTO_OTHER ? "not hooked"
						      : "hooked only with hook_unverified=1",
			best_why);
	if (was && was->proto <= best_proto)
		return;
	if (was)
		leave(was);
	best->tp = tp;
	best->owner = owner;
	best->proto = best_proto;
	memcpy(best->why, best_why, sizeof(best_why));
	if (wanted && hook_on(best))
		pr_warn("grtrace: tracepoint %s cannot be hooked\n", best->name);
}

static void module_goes(const struct module *mod)
{
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		struct grt_hook *h = &grt_hooks[i];

		if (h->tp && h->owner == mod)
			leave(h);
	}
}

static int module_event(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *mod = ((struct tp_module *)data)->mod;

	mutex_lock(&lock);
	grt_proto_begin();
	if (state == MODULE_STATE_COMING)
		for (unsigned int i = 0; i < mod->num_tracepoints; i++)
			found(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), mod);
	else if (state == MODULE_STATE_GOING)
		module_goes(mod);
	if (!starting)
		grt_proto_end();
	mutex_unlock(&lock);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = module_event };

/** grt_hooks_on() - hooks what there is, and from now on what comes. Return: how many there are */
int grt_hooks_on(void)
{
	int n = 0;

	mutex_lock(&lock);
	wanted = true;
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		if (hook_on(&grt_hooks[i]))
			pr_warn("grtrace: tracepoint %s cannot be hooked\n", grt_hooks[i].name);
		n += grt_hooks[i].on;
	}
	mutex_unlock(&lock);
	return n;
}

/** grt_hooks_off() - lets go of all; returns when no probe runs any more */
void grt_hooks_off(void)
{
	mutex_lock(&lock);
	wanted = false;
	for (unsigned int i = 0; i < grt_hook_count; i++)
		hook_off(&grt_hooks[i]);
	mutex_unlock(&lock);
	tracepoint_synchronize_unregister();
}

/** grt_hooks_show() - a line for each tracepoint there is: whether it is hooked */
void grt_hooks_show(struct seq_file *m)
{
	unsigned int n[] = { 0, 0, 0 };

	mutex_lock(&lock);
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		if (!grt_hooks[i].tp)
			continue;
		seq_printf(m, "tracepoint.%s=%d\n", grt_hooks[i].name, grt_hooks[i].on);
		n[grt_hooks[i].proto]++;
	}
	mutex_unlock(&lock);
	seq_printf(m, "tracepoints_refused=%u\ntracepoints_unverified=%u\n", n[GRT_PROTO_OTHER],
		   n[GRT_PROTO_UNKNOWN]);
}

/** grt_hooks_list() - each tracepoint there is, with what is in the way of hooking it */
void grt_hooks_list(struct seq_file *m)
{
	static const char *const states[] = { "fits", "unverified", "refused" };

	seq_puts(m, "# tracepoint module hooked arguments reason\n");
	mutex_lock(&lock);
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		const struct grt_hook *h = &grt_hooks[i];

		if (h->tp)
			seq_printf(m, "%s %s %d %s %s\n", h->name,
				   h->owner ? h->owner->name : "vmlinux", h->on, states[h->proto],
				   h->why[0] ? h->why : "-");
	}
	mutex_unlock(&lock);
}

static void found_in_kernel(struct tracepoint *tp, void *unused)
{
	found(tp, NULL);
}

/** grt_hooks_init() - looks what there is. Return: 0 or -errno */
int grt_hooks_init(void)
{
	int r;

	mutex_lock(&lock);
	starting = true;
	grt_proto_begin();
	for_each_kernel_tracepoint(found_in_kernel, NULL);
	mutex_unlock(&lock);
	r = register_tracepoint_module_notifier(&notifier);
	mutex_lock(&lock);
	starting = false;
	grt_proto_end();
	mutex_unlock(&lock);
	return r;
}

/** grt_hooks_exit() - hears of nothing more, and has nothing hooked */
void grt_hooks_exit(void)
{
	unregister_tracepoint_module_notifier(&notifier);
	grt_hooks_off();
}
