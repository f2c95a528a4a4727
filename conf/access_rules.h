/* SPDX-License-Identifier: GPL-2.0 */
/* Section [access]: lines PATTERN = MODE OWNER:GROUP, who may read and write which settings. */
#ifndef GT_ACCESS_RULES_H
#define GT_ACCESS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GT_CONF_RULES 256

/**
 * struct gt_conf_rule - one such line
 * @pattern: fnmatch(3) with FNM_PATHNAME, of a path below the mount point
 * @where: "FILE:LINE"
 * @mode: of 0666; @uid, @gid: each only if its has_ says so
 * @file: which gt_config_read() made it, for as long as that runs
 */
struct gt_conf_rule {
	struct gt_conf_rule *next;
	char *pattern, *where;
	bool has_mode, has_uid, has_gid;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	const void *file;
};

/** gt_conf_is_pattern() - does a key of [access] look like a setting's path, not like another key?
 */
bool gt_conf_is_pattern(const char *key);

/**
 * gt_conf_rule_add() - one more line at the end of @list; users and groups are looked up here
 * @file: the reader that asks; the same pattern twice of one file is refused
 * @where: "FILE:LINE", taken over also if it fails; NULL is -ENOMEM
 *
 * Return: 0, -EINVAL or -ENOMEM with the sentence in @err.
 */
int gt_conf_rule_add(struct gt_conf_rule **list, const void *file, char *where, const char *pattern,
		     const char *value, char *err, size_t len);
void gt_conf_rules_free(struct gt_conf_rule *list);

#endif
