/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every file's format goes through here: a growing buffer, emitters for keyed lines and tables, and
 * strict parsers for settings. Nothing here knows what it prints.
 */
#ifndef GT_TEXT_H
#define GT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct gt_text - @failed: memory ran out or @limit was passed; what is there is then not whole */
struct gt_text {
	char *buf;
	size_t len, cap, limit;
	bool failed;
};

void gt_text_init(struct gt_text *t, size_t limit); /* limit 0: 64 MiB */
void gt_text_free(struct gt_text *t);

void gt_text_str(struct gt_text *t, const char *s);
void gt_text_mem(struct gt_text *t, const char *s, size_t n);
void gt_text_ch(struct gt_text *t, char c);
void gt_text_u64(struct gt_text *t, uint64_t v);
void gt_text_i64(struct gt_text *t, int64_t v);
void gt_text_hex(struct gt_text *t, uint64_t v); /* 0x… */
void gt_text_milli(struct gt_text *t, uint64_t thousandths, int decimals); /* 12345,2: "12.34" */
void gt_text_printf(struct gt_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** gt_text_kv() - "key value\n"; gt_text_gkv() - " key=value" */
void gt_text_kv(struct gt_text *t, const char *key, uint64_t v);
void gt_text_kvs(struct gt_text *t, const char *key, const char *v);
void gt_text_gkv(struct gt_text *t, const char *key, uint64_t v);

/**
 * gt_text_word() - a word that came from outside (comm, ring, device): spaces, control characters,
 *	`#` at the start and bytes that are not UTF-8 become `\xNN`, so that no name can make a column or a
 *	line of its own; "" becomes "-"
 */
void gt_text_word(struct gt_text *t, const char *s, size_t max);
/** gt_text_dash() - a column whose value is not known */
void gt_text_dash(struct gt_text *t);

/* Strict parsers: the whole string, no sign, no space within; 0, -EINVAL or -ERANGE. */

/**
 * gt_parse_at - where in its string the last parser of this thread that failed found the fault; a
 *	store() that parses by hand sets it too. The error log puts its caret there.
 */
extern _Thread_local const char *gt_parse_at;
int gt_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);
int gt_parse_bool(const char *s, bool *out); /* 0 or 1 */
/** gt_parse_choice() - index of @s in NULL-terminated @names, or its number; -EINVAL */
int gt_parse_choice(const char *s, const char *const *names, unsigned int *out);
/** gt_text_choice() - "[selected] other" */
void gt_text_choice(struct gt_text *t, const char *const *names, unsigned int selected);
/** gt_parse_trim() - strips one trailing newline and outer blanks in place; -EINVAL for NUL bytes
 * within @len */
int gt_parse_trim(char *s, size_t len);

#endif
