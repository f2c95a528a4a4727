/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backend/lib/recording.h"
#include "../conf/config.h"
#include "mount_options.h"

/* What mount(8), fstab and systemd put among the options for themselves. */
static const char *const ignored[] = {
	"auto",	   "noauto",	  "user",	"nouser",   "users",	  "owner",  "group",
	"_netdev", "nofail",	  "defaults",	"rw",	    "async",	  "sync",   "relatime",
	"noatime", "strictatime", "nodiratime", "lazytime", "nolazytime", "silent", "loud",
	"nomand",  "suid",	  "dev",	"exec",	    NULL
};

/* The kernel's and libfuse's own, handed on. */
static const char *const fuses[] = { "allow_other", "allow_root",  "default_permissions",
				     "nosuid",	    "nodev",	   "noexec",
				     "debug",	    "max_read",	   "fsname",
				     "subtype",	    "context",	   "fscontext",
				     "defcontext",  "rootcontext", NULL };

static bool is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static int add_fuse(struct gt_mountargs *a, const char *opt)
{
	char *all;

	if (asprintf(&all, "%s%s%s", a->fuse ? a->fuse : "", a->fuse ? "," : "", opt) < 0)
		return -ENOMEM;
	free(a->fuse);
	a->fuse = all;
	return 0;
}

static int add_setting(struct gt_mountargs *a, const char *key, const char *value)
{
	struct gt_setting **p = &a->settings, *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->key = strdup(key);
	s->value = strdup(value);
	while (*p)
		p = &(*p)->next;
	*p = s;
	return s->key && s->value ? 0 : -ENOMEM;
}

static bool is_setting(const char *key)
{
	for (const struct gt_conf_item *i = gt_conf_items; i->key; i++)
		if (!strcmp(i->key, key))
			return true;
	return false;
}

static int set_string(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int set_gid(struct gt_mountargs *a, const char *value, char *err, size_t len)
{
	char *end;
	unsigned long v = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || v >= UINT32_MAX) {
		snprintf(err, len, "gid=%s: not a group id", value);
		return -EINVAL;
	}
	a->gid = (int64_t)v;
	return 0;
}

/* FUSE's own, but the daemon must know it too */
static int set_max_read(struct gt_mountargs *a, const char *value, const char *opt, char *err,
			size_t len)
{
	char *end;
	unsigned long v = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || v > UINT32_MAX) {
		snprintf(err, len, "max_read=%s: not a number of bytes", value);
		return -EINVAL;
	}
	a->max_read = (unsigned int)v;
	return add_fuse(a, opt);
}

static int with_value(struct gt_mountargs *a, const char *key, const char *value, const char *opt,
		      char *err, size_t len)
{
	if (!strcmp(key, "conf"))
		return set_string(&a->conf, value);
	if (!strcmp(key, "replay"))
		return set_string(&a->replay, value);
	if (!strcmp(key, "speed") && *value)
		return set_string(&a->speed, value);
	if (!strcmp(key, "mountns") && *value)
		return set_string(&a->mountns, value);
	if (!strcmp(key, "gid"))
		return set_gid(a, value, err, len);
	if (!strcmp(key, "comment") || !strncmp(key, "x-", 2) || !strncmp(key, "X-", 2))
		return 0;
	if (is_setting(key))
		return add_setting(a, key, value);
	if (!strcmp(key, "max_read"))
		return set_max_read(a, value, opt, err, len);
	if (is_in(fuses, key))
		return add_fuse(a, opt);
	if (!strcmp(key, "speed") || !strcmp(key, "mountns"))
		snprintf(err, len, "mount option '%s' needs a value", key);
	else
		snprintf(err, len, "mount option '%s' is not known (see --help)", key);
	return a->sloppy ? 0 : -EINVAL;
}

static int without_value(struct gt_mountargs *a, const char *key, char *err, size_t len)
{
	if (!strcmp(key, "remount")) {
		snprintf(err, len,
			 "remount is not supported: change files under config/, or unmount");
		return -EINVAL;
	}
	if (!strcmp(key, "foreground")) {
		a->foreground = true;
		return 0;
	}
	if (!strcmp(key, "ro")) {
		a->read_only = true;
		return add_fuse(a, "ro");
	}
	if (!strcmp(key, "auto_unmount")) {
		a->auto_unmount = true;
		return 0;
	}
	if (is_in(ignored, key) || !strncmp(key, "x-", 2) || !strncmp(key, "X-", 2))
		return 0;
	if (is_in(fuses, key))
		return add_fuse(a, key);
	if (is_setting(key) || !strcmp(key, "conf") || !strcmp(key, "replay") ||
	    !strcmp(key, "gid") || !strcmp(key, "mountns"))
		snprintf(err, len, "mount option '%s' needs a value", key);
	else
		snprintf(err, len, "mount option '%s' is not known (see --help)", key);
	return a->sloppy ? 0 : -EINVAL;
}

static int one_option(struct gt_mountargs *a, char *opt, char *err, size_t len)
{
	char *eq = strchr(opt, '='), key[64];

	if (!*opt)
		return 0;
	if (!eq)
		return without_value(a, opt, err, len);
	snprintf(key, sizeof(key), "%.*s", (int)(eq - opt), opt);
	return with_value(a, key, eq + 1, opt, err, len);
}

/* Options are separated by commas; "\," is a comma within one. */
static int options(struct gt_mountargs *a, const char *list, char *err, size_t len)
{
	char *copy = strdup(list), *out = copy, *opt = copy;
	int ret = copy ? 0 : -ENOMEM;

	for (const char *p = list; copy && !ret; p++) {
		if (*p == '\\' && p[1] == ',') {
			*out++ = *++p;
			continue;
		}
		if (*p && *p != ',') {
			*out++ = *p;
			continue;
		}
		*out++ = 0;
		ret = one_option(a, opt, err, len);
		opt = out;
		if (!*p)
			break;
	}
	free(copy);
	return ret;
}

/* The words that fstab has before the directory for this machine. mount(8) makes a path of one that is a
 * file's name where it runs: at boot of /gputrace itself */
static bool is_name(const char *source)
{
	const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;

	return !*source || !strcmp(name, "gputrace") || !strcmp(name, "none");
}

static int take_recording(struct gt_mountargs *a, const char *source, char *err, size_t len)
{
	if (a->replay) {
		snprintf(err, len, "%.200s and replay=: give recordings one way or the other",
			 source);
		return -EINVAL;
	}
	a->replay = gt_path_escape(source, ':');
	return a->replay ? 0 : -ENOMEM;
}

static int operands(struct gt_mountargs *a, int n, char **v, char *err, size_t len)
{
	if (n < 1 || n > 2) {
		snprintf(err, len, n ? "too many arguments" : "which directory?");
		return -EINVAL;
	}
	if (set_string(&a->dir, v[n - 1]))
		return -ENOMEM;
	return n == 2 && !is_name(v[0]) ? take_recording(a, v[0], err, len) : 0;
}

/* What getopt_long() refused; @arg: the argument, if it is a long one: then optopt is 0 or its letter */
static void name_flag(const char *arg, char *err, size_t len)
{
	if (!optopt)
		snprintf(err, len, "option %.100s is not known (see --help)", arg);
	else if (strchr("hV", optopt))
		snprintf(err, len, "option %.100s takes no value", arg);
	else if (strchr("oNt", optopt))
		snprintf(err, len, "option -%c needs a value", optopt);
	else
		snprintf(err, len, "option -%c is not known (see --help)", optopt);
}

static int flag(struct gt_mountargs *a, int c, const char *arg, char *err, size_t len)
{
	switch (c) {
	case 's':
		a->sloppy = true;
		return 0;
	case 'f':
		a->fake = true;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	case 'n': /* no /etc/mtab: there is none */
	case 't':
	case 'N':
		return 0;
	case 'r':
		return without_value(a, (char[]){ "ro" }, err, len);
	case 'o':
		return options(a, optarg, err, len);
	case 'h':
		a->help = true;
		return 0;
	case 'V':
		a->version = true;
		return 0;
	default:
		name_flag(arg, err, len);
		return -EINVAL;
	}
}

int gt_mountargs_parse(struct gt_mountargs *a, int argc, char **argv, char *err, size_t len)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { NULL, 0, NULL, 0 } };
	int c, ret = 0;

	*a = (struct gt_mountargs){ .gid = -1 };
	*err = 0;
	opterr = 0;
	/* -s first: it says how strict the options are */
	for (int i = 1; i < argc; i++)
		a->sloppy |= !strcmp(argv[i], "-s");
	while (!ret && (c = getopt_long(argc, argv, "sfnvrt:N:o:hV", longs, NULL)) != -1)
		ret = flag(a, c, argv[optind - 1], err, len);
	if (ret || a->help || a->version)
		return ret;
	return operands(a, argc - optind, argv + optind, err, len);
}

void gt_mountargs_free(struct gt_mountargs *a)
{
	while (a->settings) {
		struct gt_setting *s = a->settings;

		a->settings = s->next;
		free(s->key);
		free(s->value);
		free(s);
	}
	free(a->dir);
	free(a->conf);
	free(a->replay);
	free(a->speed);
	free(a->mountns);
	free(a->fuse);
}

/* The default as one would write it: of a choice the table has the number. */
static void print_default(const struct gt_conf_item *i)
{
	const char *name = i->def;
	int len = (int)strlen(name);

	if (i->type == GT_CONF_CHOICE) {
		name = i->names;
		for (int n = atoi(i->def); n > 0 && strchr(name, ' '); n--)
			name = strchr(name, ' ') + 1;
		len = (int)strcspn(name, " ");
	}
	printf("%.*s)\n", len ? len : 5, len ? name : "empty");
}

void gt_mountargs_help(const char *program)
{
	printf("Usage: %s [RECORDING] DIR [-s] [-f] [-n] [-v] [-o OPTIONS]\n"
	       "\n"
	       "Mounts a tree at DIR that shows what the GPUs of this machine, or of a recording "
	       "(a "
	       "file,\n"
	       "or a folder of them), are doing. Read DIR/README; unmount with `umount DIR`, or\n"
	       "`fusermount3 -u DIR` if you are not root.\n"
	       "\n"
	       "  -f          only check: mount nothing\n"
	       "  -s          ignore mount options that are not known\n"
	       "  -v          say what is done\n"
	       "  -n, -t TYPE accepted for mount(8), without effect\n"
	       "  -r          the same as -o ro\n"
	       "  --help, --version\n"
	       "\n"
	       "Mount options:\n"
	       "  conf=FILE           configuration (default: " GT_SYSCONFDIR
	       "/gputrace.conf, if there)\n"
	       "  replay=FILE[:FILE]  recordings, likewise; a colon in a name is \\:\n"
	       "  speed=N             of the replay, in times of real time; 0: as fast as it "
	       "reads (default: 0)\n"
	       "  gid=N               group that may write settings and sees everything\n"
	       "  ro                  settings cannot be written\n"
	       "  foreground          do not go to the background\n"
	       "  mountns=FILE        mount in this mount namespace (/proc/1/ns/mnt); root only\n"
	       "  auto_unmount        unmount also when the daemon is killed\n"
	       "  allow_other, max_read=N, …   FUSE's own\n"
	       "and each key of gputrace.conf(5):\n",
	       program);
	for (const struct gt_conf_item *i = gt_conf_items; i->key; i++) {
		printf("  %-19s %s (default: ", i->key, i->help);
		print_default(i);
	}
}
