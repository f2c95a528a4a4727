/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filelist PLUGIN.so...: the section FILES of gputrace-files(5), made of the tables that define the files.
 * `make man` writes it into the page; tests/cases/manual.sh compares.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../backend/backend.h"
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

int main(int argc, char **argv)
{
	int err = 0;

	for (const struct gt_section *x = gt_tree_sections; x->path; x++) {
		put_section(x);
		for (int i = 1; x->kind == GT_DIR_BACKEND && i < argc; i++)
			err |= put_backend(argv[i]);
	}
	return err;
}
