/* SPDX-License-Identifier: GPL-2.0 */
/* Types of the running kernel and of its modules, as /sys/kernel/btf has them: Linux
 * Documentation/bpf/btf.rst. Only what a check of a tracepoint's prototype asks. */
#ifndef GRT_BTF_H
#define GRT_BTF_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif

/**
 * struct grt_member - a member that a probe reads, where it lay when this module was built
 * @type: the struct it is in: one that an argument points to, or that an earlier row leads to
 * @name: its name; NULL: whatever the struct begins with
 * @off: its offset in bytes
 * @size: its size in bytes
 * @to: the struct it is, or points to; NULL: none that is looked into
 */
struct grt_member {
	const char *type, *name;
	u32 off, size;
	const char *to;
};

#define GRT_MEMBER_SIZE(s, m) sizeof(((struct s *)0)->m)
#define GRT_MEMBER(s, m)                                                                           \
	{                                                                                          \
#s, #m, offsetof(struct s, m), GRT_MEMBER_SIZE(s, m), NULL                         \
	}
#define GRT_MEMBER_TO(s, m, to)                                                                    \
	{                                                                                          \
#s, #m, offsetof(struct s, m), GRT_MEMBER_SIZE(s, m), #to                          \
	}
#define GRT_BEGINS_WITH(s, t)                                                                      \
	{                                                                                          \
#s, NULL, 0, sizeof(struct t), #t                                                  \
	}

struct grt_btf;

struct grt_btf *grt_btf_new(const void *data, size_t len, const struct grt_btf *base);
void grt_btf_free(struct grt_btf *b);
int grt_btf_check(const struct grt_btf *b, const char *tracepoint, const char *args,
		  const struct grt_member *members, char *why, size_t len);

#endif
