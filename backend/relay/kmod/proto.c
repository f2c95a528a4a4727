// SPDX-License-Identifier: GPL-2.0
/*
 * Where a tracepoint's types come from: /sys/kernel/btf, as whoever loads a module sees it, and
 * from sysfs only. A module that is just coming has its file there already: the notifier of the
 * kernel's BTF is called before ours. They are read as any program would: what reads files for the
 * kernel's own use (kernel_read_file()) has a list of uses, and security modules warn of others.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>

#include "btf.h"
#include "internal.h"

#define BTF_DIR	     "/sys/kernel/btf/"
#define BTF_SIZE_MAX (64 << 20)

/* struct source - types, and the file they are in */
struct source {
	void *data;
	struct grt_btf *btf;
};

static struct source kernel;		   /* between grt_proto_begin() and grt_proto_end() */
static struct source current_module;	   /* likewise: those of */
static const struct module *current_owner; /* likewise: this one */

static void drop(struct source *s)
{
	grt_btf_free(s->btf);
	vfree(s->data);
	s->btf = NULL;
	s->data = NULL;
}

/* The file whole. Return: its bytes, 0 if it is none of sysfs */
static size_t read_all(struct file *f, void **data)
{
	loff_t size = i_size_read(file_inode(f)), at = 0;
	ssize_t n = 1;

	if (file_inode(f)->i_sb->s_magic != SYSFS_MAGIC || size <= 0 || size > BTF_SIZE_MAX)
		return 0;
	*data = vmalloc(size);
	while (*data && at < size && n > 0)
		n = kernel_read(f, (char *)*data + at, size - at, &at);
	return *data && at == size ? size : 0;
}

static void take(struct source *s, const char *name, const struct grt_btf *base)
{
	char path[sizeof(BTF_DIR) + MODULE_NAME_LEN];
	struct file *f;
	size_t n;

	snprintf(path, sizeof(path), BTF_DIR "%s", name);
	f = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(f))
		return;
	n = read_all(f, &s->data);
	fput(f);
	if (n)
		s->btf = grt_btf_new(s->data, n, base);
	if (!s->btf)
		drop(s);
}

/** grt_proto_begin() - tracepoints will be looked at, one module's after another's */
void grt_proto_begin(void)
{
	current_owner = NULL;
}

/** grt_proto_end() - no more; the kernel's types are not kept, as they take megabytes */
void grt_proto_end(void)
{
	drop(&current_module);
	drop(&kernel);
}

/* Types of that module, or the kernel's. Return: NULL: there are none */
static const struct grt_btf *types_of(const struct module *owner)
{
	if (!kernel.btf)
		take(&kernel, "vmlinux", NULL);
	if (!owner || !kernel.btf)
		return kernel.btf;
	if (current_owner != owner) {
		drop(&current_module);
		take(&current_module, owner->name, kernel.btf);
		current_owner = owner;
	}
	return current_module.btf;
}

/* How many arguments it has, as the module has it for BPF. Return: -1: it is not known */
static int arguments(const struct tracepoint *tp, const struct module *owner)
{
#ifdef CONFIG_BPF_EVENTS
	for (unsigned int i = 0; owner && i < owner->num_bpf_raw_events; i++)
		if (owner->bpf_raw_events[i].tp == tp)
			return owner->bpf_raw_events[i].num_args;
#endif
	return -1;
}

static int count(const char *args)
{
	int n = 1;

	while ((args = strchr(args, ','))) {
		args++;
		n++;
	}
	return n;
}

/**
 * grt_proto_of() - whether a tracepoint passes what a probe takes
 * @h: the hook
 * @tp: where it is to be hooked
 * @owner: the module it is in, NULL: the kernel
 * @why: out: what is in the way, "" if it does
 * @len: bytes of @why
 */
enum grt_proto grt_proto_of(const struct grt_hook *h, const struct tracepoint *tp,
			    const struct module *owner, char *why, size_t len)
{
	int has = arguments(tp, owner), takes = count(h->args);
	const struct grt_btf *types;

	why[0] = '\0';
	if (has >= 0 && has != takes) {
		snprintf(why, len, "it has %d arguments instead of %d", has, takes);
		return GRT_PROTO_OTHER;
	}
	types = types_of(owner);
	if (!types) {
		snprintf(why, len, "no types in " BTF_DIR "%s",
			 owner && kernel.btf ? owner->name : "vmlinux");
		return GRT_PROTO_UNKNOWN;
	}
	switch (grt_btf_check(types, tp->name, h->args, h->members, why, len)) {
	case 0:
		return GRT_PROTO_FITS;
	case -ENOENT:
		return GRT_PROTO_UNKNOWN;
	default:
		return GRT_PROTO_OTHER;
	}
}
