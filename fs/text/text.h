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
void gt_text_hex(struct gt_text *t, uint64_t v);			   /* 0x… */
void gt_text_milli(struct gt_text *t, uint64_t thousandths, int decimals); /* 12345,2: "12.34" */
void gt_text_decimal(struct gt_text *t, int64_t v, unsigned int digits);   /* -12345,3: "-12.345" */
void gt_text_printf(struct gt_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** gt_text_kv() - "key value\n"; gt_text_gkv() - " key=value" */
void gt_text_kv(struct gt_text *t, const char *key, uint64_t v);
void gt_text_kvs(struct gt_text *t, const char *key, const char *v);
void gt_text_gkv(struct gt_text *t, const char *key, uint64_t v);

/**
 * gt_table_begin() - the first line of a table
 * @columns: their names, a blank between two
 *
 * Rows follow as lines with a blank between two cells.
 * Return: where the table begins, for gt_table_end()
 */
size_t gt_table_begin(struct gt_text *t, const char *columns);
/**
 * gt_table_end() - pads the cells of the table at @begin, so that its columns line up
 *
 * Columns of numbers are aligned to the right, others to the left. A text that has no room for the
 * blanks stays as it is.
 */
void gt_table_end(struct gt_text *t, size_t begin);

/**
 * gt_text_word() - a word that came from outside (comm, ring, device): a blank, a backslash, a control
 *	character and each byte that is not ASCII become `\NNN`, octal as in /proc/mounts, so that no name
 *	can make a column or a line of its own; "" becomes "-", and "-" becomes "\\055"
 */
void gt_text_word(struct gt_text *t, const char *s, size_t max);
/** gt_text_line() - a value that came from outside: likewise, but blanks are kept, and "-" and "" */
void gt_text_line(struct gt_text *t, const char *s, size_t max);
/** gt_text_dash() - a column with an unknown value */
void gt_text_dash(struct gt_text *t);

/* Strict parsers: the whole string, no sign, no space within; 0, -EINVAL or -ERANGE. */

/**
 * gt_parse_at - where in its string the last parser of this thread that failed found the fault; a
 *	store() that parses by hand sets it too. The error log puts its caret there.
 */
extern _Thread_local const char *gt_parse_at;
int gt_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);
int gt_parse_bool(const char *s, bool *out); /* 0 or 1 */
/** gt_parse_trim() - strips one trailing newline and outer blanks in place; -EINVAL for NUL bytes
 * within @len */
int gt_parse_trim(char *s, size_t len);

#endif
