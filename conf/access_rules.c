/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_rules.h"

static void freep(char **p)
{
	free(*p);
}

bool gt_conf_is_pattern(const char *key)
{
	return strpbrk(key, "/*?[") || !strcmp(key, "control");
}

/* A whole decimal number below 2^32 - 1, which chown(2) takes for "leave it". */
static bool number(const char *s, unsigned int *out)
{
	unsigned long long v;

	if (!*s || strlen(s) > 10 || s[strspn(s, "0123456789")])
		return false;
	v = strtoull(s, NULL, 10);
	*out = (unsigned int)v;
	return v < (unsigned int)-1;
}

static int set_owner(struct gt_conf_rule *r, const char *s, char *err, size_t len)
{
	const struct passwd *p = getpwnam(s);

	r->has_uid = true;
	if (p)
		r->uid = p->pw_uid;
	else if (!number(s, &r->uid)) {
		snprintf(err, len, "there is no user '%.64s'", s);
		return -EINVAL;
	}
	return 0;
}

static int set_group(struct gt_conf_rule *r, const char *s, char *err, size_t len)
{
	const struct group *g = getgrnam(s);

	r->has_gid = true;
	if (g)
		r->gid = g->gr_gid;
	else if (!number(s, &r->gid)) {
		snprintf(err, len, "there is no group '%.64s'", s);
		return -EINVAL;
	}
	return 0;
}

static int set_mode(struct gt_conf_rule *r, const char *s, char *err, size_t len)
{
	size_t n = strlen(s);
	unsigned long v = strtoul(s, NULL, 8);

	if (n < 3 || n > 4 || s[strspn(s, "01234567")] || (v & ~0666UL)) {
		snprintf(err, len, "'%.64s' is no mode of a setting: octal digits, 0000 to 0666",
			 s);
		return -EINVAL;
	}
	r->mode = (mode_t)v;
	r->has_mode = true;
	return 0;
}

static int set_who(struct gt_conf_rule *r, char *s, char *err, size_t len)
{
	char *group = strchr(s, ':');
	int ret = 0;

	if (group)
		*group++ = '\0';
	if (!*s && !(group && *group)) {
		snprintf(err, len, "neither an owner nor a group beside the colon");
		return -EINVAL;
	}
	if (*s)
		ret = set_owner(r, s, err, len);
	if (!ret && group && *group)
		ret = set_group(r, group, err, len);
	return ret;
}

/* "MODE", "OWNER:GROUP", each half of it, or both. */
static int parse(struct gt_conf_rule *r, char *value, char *err, size_t len)
{
	char *save = NULL, *word = strtok_r(value, " \t", &save);
	int ret = 0;

	if (word && word[0] >= '0' && word[0] <= '9' && !strchr(word, ':')) {
		ret = set_mode(r, word, err, len);
		word = strtok_r(NULL, " \t", &save);
	}
	if (!ret && word) {
		ret = set_who(r, word, err, len);
		word = strtok_r(NULL, " \t", &save);
	}
	if (ret)
		return ret;
	if (!word && (r->has_mode || r->has_uid || r->has_gid))
		return 0;
	snprintf(err, len, "what may be done is said as MODE OWNER:GROUP, as in 0660 root:perf");
	return -EINVAL;
}

static void rule_free(struct gt_conf_rule *r)
{
	free(r->pattern);
	free(r->where);
	free(r);
}

static int no_memory(char *err, size_t len)
{
	snprintf(err, len, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

static int append(struct gt_conf_rule **at, struct gt_conf_rule *r, char *err, size_t len)
{
	unsigned int n = 0;

	for (; *at; at = &(*at)->next, n++) {
		if ((*at)->file == r->file && !strcmp((*at)->pattern, r->pattern)) {
			snprintf(err, len, "is set twice");
			return -EINVAL;
		}
	}
	if (n >= GT_CONF_RULES) {
		snprintf(err, len, "more than %d lines for settings", GT_CONF_RULES);
		return -EINVAL;
	}
	*at = r;
	return 0;
}

int gt_conf_rule_add(struct gt_conf_rule **list, const void *file, char *where, const char *pattern,
		     const char *value, char *err, size_t len)
{
	__attribute__((cleanup(freep))) char *copy = strdup(value);
	struct gt_conf_rule *r = calloc(1, sizeof(*r));
	int ret;

	if (!r) {
		free(where);
		return no_memory(err, len);
	}
	r->where = where;
	r->file = file;
	r->pattern = strdup(pattern);
	ret = copy && where && r->pattern ? parse(r, copy, err, len) : no_memory(err, len);
	if (!ret)
		ret = append(list, r, err, len);
	if (ret)
		rule_free(r);
	return ret;
}

void gt_conf_rules_free(struct gt_conf_rule *list)
{
	while (list) {
		struct gt_conf_rule *next = list->next;

		rule_free(list);
		list = next;
	}
}
