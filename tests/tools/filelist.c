/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filelist PLUGIN.so...: the section FILES of gputrace-files(5), made of the tables that define the files.
 * filelist conf, filelist keys: the keys of gputrace.conf, and the part KEYS of gputrace.conf(5), by options.def.
 * filelist shares: the rows of the table SHARES of gputrace-security(7), by shares.def.
 * `make man` writes them there; tests/cases/manual.sh compares.
 */
#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/backend.h"
#include "../../conf/config.h"
#include "../../fs/access/access.h"
#include "../../fs/access/quota.h"
#include "../../fs/tree/tree.h"

/* Words as lines of mdoc that begin with @macro: without escapes, as wide as mandoc likes them */
static void put_words(const char *s, const char *macro)
{
	size_t at = (size_t)printf("%s", macro);

	for (; *s; s++) {
		if (*s == ' ' && at + strcspn(s + 1, " ") > 76) {
			at = (size_t)printf("\n%s", macro);
		} else if (*s == '\\') {
			at += (size_t)printf("\\e");
		} else {
			putchar(*s);
			at++;
		}
	}
	putchar('\n');
}

static void put_file(const char *name, const char *format, bool own, bool writable,
		     const char *help, const char *fields)
{
	printf(".It Pa %s Pq %s%s%s\n", name, format, own ? " , by reader" : "",
	       writable ? " , may be written" : "");
	put_words(help ? help : "", "");
	if (!fields)
		return;
	puts(".br");
	put_words(fields, ".Cm ");
}

enum { OWN = GT_FILE_VIEW | GT_FILE_PIPE | GT_FILE_TPIPE };

static void put_section(const struct gt_section *x)
{
	const struct gt_file *f = gt_tree_files[x->kind];

	printf(".Ss %s\n", x->kind == GT_DIR_ROOT ? "The root" : x->path);
	put_words(x->what, "");
	if (!f->name)
		return;
	puts(".Bl -tag -width Ds");
	for (; f->name; f++)
		put_file(f->name, gt_file_format(f), f->flags & OWN, f->store, f->help, f->fields);
	puts(".El");
}

static void put_userdirs(const struct gt_backend_userdirs *u)
{
	char name[160];

	for (const struct gt_userdir_file *f = u->files; f->name; f++) {
		snprintf(name, sizeof(name), "%s/<name>/%s", u->name, f->name);
		put_file(name, f->check ? "value" : "text", true, f->check, f->help, NULL);
	}
}

static int put_backend(const char *path)
{
	void *dl = dlopen(path, RTLD_NOW);
	const struct gt_backend *be = dl ? dlsym(dl, GT_BACKEND_SYMBOL) : NULL;

	if (!be) {
		fprintf(stderr, "filelist: %s\n", dlerror());
		return 1;
	}
	printf(".Ss backends/%s\n", be->name);
	put_words(be->help, "");
	puts(".Bl -tag -width Ds");
	for (const struct gt_option *o = be->options; o && o->name; o++)
		if (!(o->flags & (GT_OPT_HIDDEN | GT_OPT_GONE)))
			put_file(o->name, "value", false, o->flags & GT_OPT_RUNTIME, o->help, NULL);
	for (const struct gt_backend_file *f = be->files; f && f->name; f++)
		put_file(f->name, gt_backend_file_format(f), true, false, f->help, f->columns);
	if (be->userdirs)
		put_userdirs(be->userdirs);
	puts(".El");
	return 0;
}

/* A row: @user of @all; GT_ANY: of any number */
static void put_share(const char *what, uint64_t user, uint64_t all, const char *key)
{
	const char *unit = user % (1 << 20) ? "" : " MiB";

	if (*unit) {
		user >>= 20;
		all >>= 20;
	}
	printf(".It %s Ta %llu", what, (unsigned long long)user);
	if (all != GT_ANY)
		printf(" of %llu", (unsigned long long)all);
	printf("%s Ta Cm %s\n", unit, key);
}

static void put_part(const char *what, const char *part, const char *of, const char *key)
{
	printf(".It %s Ta %s of Cm %s Ta Cm %s\n", what, part, of, key);
}

static void put_quota(const char *what, const struct gt_bounds *b, const char *key)
{
	if (what && b->user)
		put_share(what, b->user, b->ordinary, key);
	else if (what)
		put_part(what, "3/8", "max_pipes", key);
}

static void put_shares(void)
{
#define GT_SHARE(id, what, key, all, of)                                                           \
	if ((all) > 0)                                                                             \
		put_share(what, (all) / GT_SHARE_PART, all, key);                                  \
	else                                                                                       \
		put_part(what, "1/4", of, key);
#define GT_HOST_BOUND(what, key, all, user) put_share(what, user, all, key);
#define GT_BOUND(id, what, key, all, user)  put_share(what, user, all, key);
#define GT_QUOTA(id, what, held, refused, ...)                                                     \
	put_quota(what, &(struct gt_bounds){ __VA_ARGS__ }, refused);
#include "../../fs/shares.def"
}

/* Comment lines of at most 110 columns */
static void put_comment(const char *text)
{
	size_t at = 0;

	for (const char *p = text; *p; p += strcspn(p, " "), p += *p == ' ') {
		size_t n = strcspn(p, " ");

		if (at && at + 1 + n > 110) {
			putchar('\n');
			at = 0;
		}
		at += (size_t)printf("%s%.*s", at ? " " : "; ", (int)n, p);
	}
	putchar('\n');
}

/* What a key is for, and what it may be; @out: of 1024 bytes */
static void describe(const struct gt_conf_item *it, char *out)
{
	int len = snprintf(out, 1024, "%c%s", toupper(*it->help), it->help + 1);
	char *end = out + len;

	assert(len < 512); /* room for the rest */
	if (it->type == GT_CONF_INT)
		sprintf(end, " (%lld to %lld)", (long long)it->min, (long long)it->max);
	else if (it->type == GT_CONF_BOOL)
		strcpy(end, " (0 or 1)");
	if (it->type != GT_CONF_CHOICE)
		return;
	end += sprintf(end, " (one of ");
	for (const char *n = it->names; *n; n++)
		end += sprintf(end, *n == ' ' ? ", " : "%c", *n);
	strcpy(end, ")");
}

/* Its default, in words; @out: of 64 bytes */
static const char *default_of(const struct gt_conf_item *it, char *out)
{
	const char *n = it->names;

	if (it->type != GT_CONF_CHOICE)
		return it->def;
	for (long i = strtol(it->def, NULL, 10); i; i--)
		n = strchr(n, ' ') + 1;
	snprintf(out, 64, "%.*s", (int)strcspn(n, " "), n);
	return out;
}

/* As gputrace.conf has it */
static void put_key(const struct gt_conf_item *it)
{
	char text[1024], name[64];
	const char *def = default_of(it, name);

	describe(it, text);
	put_comment(text);
	printf(";%s =%s%s\n\n", it->key, *def ? " " : "", def);
}

/* As gputrace.conf(5) has it, a page of man(7) */
static void put_page_key(const struct gt_conf_item *it)
{
	char text[1024], name[64];
	const char *def = default_of(it, name);

	describe(it, text);
	printf(".TP\n.B %s\n", it->key);
	strcat(text, ".");
	put_words(text, "");
	if (*def)
		printf("Default: %s.\n", def);
}

static void put_keys(const char *heading, void (*put)(const struct gt_conf_item *))
{
	const struct gt_conf_item *it = gt_conf_items;

#define GT_SECTION(name, help) printf(heading, #name, help);
#define KEY		       put(it++);
#define GT_INT(...)	       KEY
#define GT_BOOL(...)	       KEY
#define GT_STR(...)	       KEY
#define GT_CHOICE(...)	       KEY
#define GT_LIST(...)	       KEY
#include "../../conf/options.def"
}

int main(int argc, char **argv)
{
	int err = 0;

	if (argc == 2 && !strcmp(argv[1], "shares")) {
		put_shares();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "conf")) {
		put_keys("; %2$s.\n[%1$s]\n\n", put_key);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "keys")) {
		put_keys(".SS [%s]\n%s.\n", put_page_key);
		return 0;
	}
	for (const struct gt_section *x = gt_tree_sections; x->path; x++) {
		put_section(x);
		for (int i = 1; x->kind == GT_DIR_BACKEND && i < argc; i++)
			err |= put_backend(argv[i]);
	}
	return err;
}
