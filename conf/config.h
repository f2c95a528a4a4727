/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration: struct, defaults, bounds, parser and documentation from one table, options.def. */
#ifndef GT_CONFIG_H
#define GT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access_rules.h"

enum gt_conf_type { GT_CONF_INT, GT_CONF_BOOL, GT_CONF_STR, GT_CONF_CHOICE, GT_CONF_LIST };

#define GT_CONF_PATHLEN 4096

/**
 * struct gt_config - values; one member per line of options.def, named after the key
 *
 * GT_INT and GT_CHOICE are int64_t, GT_BOOL bool, GT_STR and GT_LIST char *.
 */
struct gt_config {
#define GT_INT(section, key, def, min, max, unit, help) int64_t key;
#define GT_BOOL(section, key, def, help)		bool key;
#define GT_STR(section, key, def, help)			char *key;
#define GT_CHOICE(section, key, def, names, help)	int64_t key;
#define GT_LIST(section, key, kind, help)		char *key;
#include "options.def"
	struct gt_conf_extra *extra; /* [backend NAME] key = value, as read */
	struct gt_conf_rule *rules;  /* [access] PATTERN = MODE OWNER:GROUP, as read */
};

/** enum gt_unit - what a number counts; NONE: nothing that takes a unit */
enum gt_unit { GT_UNIT_NONE, GT_UNIT_NS, GT_UNIT_US, GT_UNIT_MS, GT_UNIT_S, GT_UNIT_BYTES };

/** struct gt_conf_item - one line of the table, for documentation and tests */
struct gt_conf_item {
	const char *section, *key;
	enum gt_conf_type type;
	const char *def;
	int64_t min, max;
	enum gt_unit unit;
	const char *names;				    /* of a choice, separated by spaces */
	int (*check)(const char *s, char *err, size_t len); /* of a list, see list.h */
	const char *help;
	size_t off;
};
/* How many there are */
enum {
	GT_CONF_NITEMS = 0
#define GT_INT(section, key, def, min, max, unit, help) +1
#define GT_BOOL(section, key, def, help)		+1
#define GT_STR(section, key, def, help)			+1
#define GT_CHOICE(section, key, def, names, help)	+1
#define GT_LIST(section, key, kind, help)		+1
#include "options.def"
};
extern const struct gt_conf_item gt_conf_items[]; /* ends with a NULL key */

/** gt_config_init() - defaults */
int gt_config_init(struct gt_config *c);
void gt_config_free(struct gt_config *c);
/**
 * gt_config_read() - a file over what is set. Unknown sections and keys, bad values, twice the same
 *	key: refused with "FILE:LINE: sentence" in @err. Sections [backend NAME] take any key; the host
 *	checks them against the plugin's table.
 */
int gt_config_read(struct gt_config *c, const char *path, char *err, size_t len);
/** struct gt_conf_value - one value: @n a number, yes-or-no or choice, else @s */
struct gt_conf_value {
	int64_t n;
	char *s;
};
/** gt_conf_item() - NULL: there is no such key */
const struct gt_conf_item *gt_conf_item(const char *key);
/**
 * gt_conf_parse() - the one parser of values, whoever they come from
 * @v: to be given to gt_conf_swap() or gt_conf_drop()
 * Return: 0, -EINVAL, -ERANGE, -E2BIG with a sentence that does not name the key; gt_parse_at has the place
 */
int gt_conf_parse(const struct gt_conf_item *it, const char *s, struct gt_conf_value *v, char *err,
		  size_t len);
/** gt_conf_swap() - sets it; @v is what it was before */
void gt_conf_swap(struct gt_config *c, const struct gt_conf_item *it, struct gt_conf_value *v);
void gt_conf_drop(struct gt_conf_value *v);
/** gt_config_read_values() - the same of a file that has values only, no settings of backends and no
 * lines about who may write them. @seen: by number in gt_conf_items: the file has it; may be NULL */
int gt_config_read_values(struct gt_config *c, const char *path, bool *seen, char *err, size_t len);
/** gt_config_read_seen() - gt_config_read() that fills in @seen */
int gt_config_read_seen(struct gt_config *c, const char *path, bool *seen, char *err, size_t len);
/** gt_config_set() - one key (mount option or setting): same rules, @err without a line */
int gt_config_set(struct gt_config *c, const char *key, const char *value, char *err, size_t len);
/** gt_config_backend() - value in [backend NAME], or NULL; gt_host_conf.option */
const char *gt_config_backend(void *c, const char *backend, const char *key);
/** gt_config_backend_each() - the @i'th key of all [backend NAME] sections, in order; false after the
 * last; gt_host_conf.option_each */
bool gt_config_backend_each(void *c, unsigned int i, const char **backend, const char **key);
/** gt_config_backend_where() - "FILE:LINE" where a key was set, or NULL if by no file;
 * gt_host_conf.option_where */
const char *gt_config_backend_where(void *c, const char *backend, const char *key);
/** gt_config_backend_set() - -EINVAL: a name is empty or longer than 31; -ENOMEM, also for a key more
 * than 1024 */
int gt_config_backend_set(struct gt_config *c, const char *backend, const char *key,
			  const char *value);

#endif
