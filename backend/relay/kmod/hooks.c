// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints: found by name, the kernel's by walking them, modules' by the notifier, which tells
 * of those that are loaded already as well. No symbol of theirs is needed, and no module is held:
 * one that goes is let go of first.
 */
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "internal.h"

static DEFINE_MUTEX(lock); /* inside grt_lock, and inside the notifier's */
static bool wanted;

static int hook_on(struct grt_hook *h)
{
	int r = 0;

	if (h->tp && !h->on) {
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

static void found(struct tracepoint *tp, void *owner)
{
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		struct grt_hook *h = &grt_hooks[i];

		if (h->tp || strcmp(h->name, tp->name))
			continue;
		h->tp = tp;
		h->owner = owner;
		if (wanted && hook_on(h))
			pr_warn("grtrace: tracepoint %s cannot be hooked\n", h->name);
	}
}

static void module_goes(const struct module *mod)
{
	for (unsigned int i = 0; i < grt_hook_count; i++) {
		struct grt_hook *h = &grt_hooks[i];

		if (!h->tp || h->owner != mod)
			continue;
		hook_off(h);
		h->tp = NULL;
		h->owner = NULL;
	}
}

static int module_event(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *mod = ((struct tp_module *)data)->mod;

	mutex_lock(&lock);
	if (state == MODULE_STATE_COMING)
		for (unsigned int i = 0; i < mod->num_tracepoints; i++)
			found(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), mod);
	else if (state == MODULE_STATE_GOING)
		module_goes(mod);
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
	mutex_lock(&lock);
	for (unsigned int i = 0; i < grt_hook_count; i++)
		if (grt_hooks[i].tp)
			seq_printf(m, "tracepoint.%s=%d\n", grt_hooks[i].name, grt_hooks[i].on);
	mutex_unlock(&lock);
}

static void found_in_kernel(struct tracepoint *tp, void *unused)
{
	found(tp, NULL);
}

/** grt_hooks_init() - looks what there is. Return: 0 or -errno */
int grt_hooks_init(void)
{
	mutex_lock(&lock);
	for_each_kernel_tracepoint(found_in_kernel, NULL);
	mutex_unlock(&lock);
	return register_tracepoint_module_notifier(&notifier);
}

/** grt_hooks_exit() - is told of nothing more, and has nothing hooked */
void grt_hooks_exit(void)
{
	unregister_tracepoint_module_notifier(&notifier);
	grt_hooks_off();
}
