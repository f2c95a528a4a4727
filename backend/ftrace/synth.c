/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dynamic events of the kernel, one at a time: tracefs' dynamic_events, Linux
 * Documentation/trace/kprobetrace.rst and eprobetrace.rst. The file is everyone's: it is opened for
 * appending only, as O_TRUNC removes all events there are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "ftrace.h"

static int command(struct gt_plugin *p, const char *text)
{
	ft_auto_close int fd = ft_open(p, p->tracefs, "dynamic_events", O_APPEND);

	if (fd < 0)
		return fd;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool file_has(const char *dir, const char *file, const char *text)
{
	ft_auto_free char *all = gt_live_read(dir, file, NULL);

	return all && strstr(all, text);
}

/* Is there a line "… NAME	[MODULE]" in /proc/kallsyms? */
static bool function_exists(const struct gt_probe *b)
{
	char want[160], line[600];
	FILE *f = fopen("/proc/kallsyms", "re");
	bool found = false;

	snprintf(want, sizeof(want), b->scope[0] ? " %s\t[%s]\n" : " %s\n%s", b->name, b->scope);
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, ' ');

		at = at ? strchr(at + 1, ' ') : NULL;
		found = at && !strcmp(at, want);
	}
	if (f)
		fclose(f);
	return found;
}

/* Why the kernel refused, with @ret of trying. */
static void explain(const char *tracefs, const struct gt_probe *b, int ret, char *err, size_t len)
{
	char module[100];

	snprintf(module, sizeof(module), "/sys/module/%s", b->scope);
	if (ret == -EPERM && file_has("/sys/kernel/security", "lockdown", "[confidentiality]"))
		snprintf(err, len, "the kernel is locked down (confidentiality)");
	else if (ret == -ENOENT && !file_has(tracefs, "README", "dynamic_events"))
		snprintf(err, len, "the kernel has no dynamic_events (CONFIG_DYNAMIC_EVENTS)");
	else if (!b->function && !file_has(tracefs, "README", "<attached-event>"))
		snprintf(err, len,
			 "the kernel has no event probes (Linux 5.15, CONFIG_PROBE_EVENTS)");
	else if (b->function && !file_has(tracefs, "README", "kprobe_events"))
		snprintf(err, len, "the kernel has no kprobes (CONFIG_KPROBE_EVENTS)");
	else if (b->function && b->scope[0] && access(module, F_OK))
		snprintf(err, len, "module %s is not loaded", b->scope);
	else if (b->function && !function_exists(b))
		snprintf(err, len, "the kernel has no function %s to stop at", b->name);
	else
		snprintf(err, len, "refused (%s), see %s/error_log", strerror(-ret), tracefs);
}

/** ft_dynamic_make() - the event @group/@name; 0 or -errno, with the sentence in @err.
 * @probe: its source; @args: " NAME=FETCHARG…" */
static int ft_dynamic_make(struct gt_plugin *p, const char *group, const char *name,
			   const struct gt_probe *b, const char *args, char *err, size_t len)
{
	char text[4096]; /* the kernel takes no longer one */
	int n, ret;

	n = snprintf(text, sizeof(text), "%c:%s/%s %s%s%s%s\n", b->function ? 'p' : 'e', group,
		     name, b->scope,
		     !b->scope[0]  ? ""
		     : b->function ? ":"
				   : ".",
		     b->name, args);
	ret = n < (int)sizeof(text) ? command(p, text) : -E2BIG;
	if (ret)
		explain(p->tracefs, b, ret, err, len);
	return ret;
}

static int ft_dynamic_remove(struct gt_plugin *p, const char *group, const char *name)
{
	char text[160];

	if (snprintf(text, sizeof(text), "-:%s/%s\n", group, name) >= (int)sizeof(text))
		return -E2BIG;
	return command(p, text);
}

/* "e:GROUP/NAME …", "p:GROUP/NAME …": removed if its group is a dead gputrace's. */
static bool clean_line(struct gt_plugin *p, const char *line)
{
	char group[64], name[64];

	if (sscanf(line, "%*1[pe]:%63[^/ \n]/%63[^ \n]", group, name) != 2)
		return false;
	return ft_is_stale(group, FT_GROUP_PREFIX) && !ft_dynamic_remove(p, group, name);
}

void ft_dynamic_clean(struct gt_plugin *p)
{
	ft_auto_free char *list = gt_live_read(p->tracefs, "dynamic_events", NULL);
	unsigned int n = 0;

	for (char *line = list, *next; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		n += clean_line(p, line);
	}
	if (n)
		p->host->log(p, LOG_NOTICE,
			     "removed %u dynamic events, left by a gputrace that is gone", n);
}

/*
 * Which tracepoints of the event maps are served by events of our own. One that the kernel has itself
 * needs none. Those of a family (gputrace-events.d(5)) are made together or not at all, as a job
 * cannot be submitted in one way and end in another.
 */

#define STANDINS_MAX 64
#define ARGS_MAX     2048

/**
 * struct standin - a tracepoint in use that has a probe
 * @own: the kernel has it
 * @made: our event is there; @wanted: and shall be
 * @refused: it could not be made or enabled, as @why says; not tried again before the next rescan
 */
struct standin {
	struct gt_tp *tp;
	bool own, made, wanted, refused;
	char why[300]; /* or which field it does without */
};

struct ft_standins {
	char group[32];
	struct gt_types types; /* while probes are made */
	char module[64];       /* theirs */
	unsigned int n;
	struct standin s[STANDINS_MAX];
};

static struct standin *find(struct ft_standins *d, const struct gt_tp *tp)
{
	for (unsigned int i = 0; d && i < d->n; i++)
		if (d->s[i].tp == tp)
			return &d->s[i];
	return NULL;
}

/* Every tracepoint in use that has a probe has a place, and keeps it. */
static void collect(struct ft *ft, struct ft_standins *d)
{
	struct standin *s;
	struct gt_tp *tp;

	for (unsigned int i = 0; i < d->n; i++)
		d->s[i].wanted = d->s[i].own = false;
	for (unsigned int i = 0; (tp = gt_eventmap_each(ft->map, i)); i++) {
		s = gt_tp_probe(tp) ? find(d, tp) : NULL;
		if (!s && gt_tp_probe(tp) && d->n < STANDINS_MAX) {
			s = &d->s[d->n++];
			s->tp = tp;
		}
		if (!s)
			continue;
		s->own = gt_tracepoint_exists(ft->dir, gt_tp_system(tp), gt_tp_event(tp));
		s->wanted = ft->o->probes && !ft->reported_by[0] && !s->own && !s->refused;
	}
}

/* Of a family with one that cannot be made, or need not, none is wanted. */
static void settle(struct ft_standins *d)
{
	for (unsigned int i = 0; i < d->n; i++) {
		const struct gt_probe *b = gt_tp_probe(d->s[i].tp);

		if (!b || !b->family || d->s[i].wanted)
			continue;
		for (unsigned int k = 0; k < d->n; k++) {
			const struct gt_probe *o = gt_tp_probe(d->s[k].tp);

			if (o && o->family == b->family)
				d->s[k].wanted = false;
		}
	}
}

static void __attribute__((format(printf, 2, 3))) refuse(struct standin *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	s->refused = true;
	s->wanted = false;
}

/* Types are those of one module at a time: nearly always the same one. */
static const struct gt_types *types_of(struct ft_standins *d, const char *module, char *err,
				       size_t len)
{
	if (d->types.kernel && !strcmp(d->module, module))
		return &d->types;
	gt_types_free(&d->types);
	snprintf(d->module, sizeof(d->module), "%s", module);
	return gt_types_load(&d->types, GT_BTF_DIR, module, err, len) ? NULL : &d->types;
}

/* " NAME=FETCHARG…": what there is of it in this kernel. The first field that is not, in s->why.
 * Returns false if the source is another than the map means. */
static bool make_args(struct standin *s, const struct gt_types *t, const char *format,
		      char args[ARGS_MAX])
{
	const struct gt_probe *b = gt_tp_probe(s->tp);
	struct gt_source source =
		b->function ? gt_source_function(t, b->name) : gt_source_record(format);
	char fetch[GT_FETCH], err[240];
	size_t n = 0;
	int ret;

	s->why[0] = args[0] = '\0';
	for (unsigned int i = 0; i < b->n; i++) {
		const struct gt_probe_field *f = &b->field[i];

		ret = gt_fetch(t, &source, f->expr, fetch, err, sizeof(err));
		if (ret == -EPROTOTYPE) {
			refuse(s, "another %s%s%s: %s", b->scope, b->function ? ":" : "/", b->name,
			       err);
			return false;
		}
		if (!ret)
			n += (size_t)snprintf(args + n, ARGS_MAX - n, " %s=%s", f->name, fetch);
		else if (!s->why[0])
			snprintf(s->why, sizeof(s->why), "%s: %s", f->name, err);
	}
	return true;
}

/* Has our event all that the map needs? */
static void check(struct ft *ft, struct ft_standins *d, struct standin *s)
{
	ft_auto_free char *format = NULL;
	char file[PATH_MAX], err[200] = "its format cannot be read";
	size_t len = 0;

	snprintf(file, sizeof(file), "events/%s/%s/format", d->group, gt_tp_event(s->tp));
	format = gt_live_read(ft->p->tracefs, file, &len);
	if (format && !gt_tp_bind(s->tp, format, len, NULL, err, sizeof(err)))
		return;
	if (!s->why[0])
		snprintf(s->why, sizeof(s->why), "%s", err);
	s->refused = true;
	s->wanted = false;
}

static void make(struct ft *ft, struct ft_standins *d, struct standin *s)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);
	ft_auto_free char *format = NULL;
	char args[ARGS_MAX], file[PATH_MAX], err[300];
	const struct gt_types *types;

	snprintf(file, sizeof(file), "events/%s/%s/format", b->scope, b->name);
	if (!b->function && !(format = gt_live_read(ft->p->tracefs, file, NULL))) {
		refuse(s, "the kernel has no %s/%s", b->scope, b->name);
		return;
	}
	types = types_of(d, b->function ? b->scope : b->module, err, sizeof(err));
	if (!types) {
		refuse(s, "%s", err);
		return;
	}
	if (!make_args(s, types, format, args))
		return;
	if (ft_dynamic_make(ft->p, d->group, gt_tp_event(s->tp), b, args, err, sizeof(err))) {
		refuse(s, "%s", err);
		return;
	}
	s->made = true;
	check(ft, d, s);
}

void ft_standins_retry(struct ft *ft)
{
	for (unsigned int i = 0; ft->standins && i < ft->standins->n; i++)
		ft->standins->s[i].refused = false;
}

int ft_standins_update(struct ft *ft)
{
	struct ft_standins *d = ft->standins;
	unsigned int i;

	if (!d) {
		d = ft->standins = calloc(1, sizeof(*d));
		if (!d)
			return -ENOMEM;
		snprintf(d->group, sizeof(d->group), FT_GROUP_PREFIX "%d", (int)getpid());
	}
	collect(ft, d);
	do {
		settle(d);
		for (i = 0; i < d->n && (!d->s[i].wanted || d->s[i].made); i++)
			;
		if (i < d->n)
			make(ft, d, &d->s[i]);
	} while (i < d->n);
	gt_types_free(&d->types);
	for (i = 0; i < d->n; i++)
		gt_tp_set_synth(d->s[i].tp, d->s[i].wanted);
	return 0;
}

const char *ft_standins_group(const struct ft *ft, const struct gt_tp *tp)
{
	const struct standin *s = find(ft->standins, tp);

	return s && s->wanted ? ft->standins->group : NULL;
}

bool ft_standins_refuse(struct ft *ft, const struct gt_tp *tp, const char *why)
{
	struct standin *s = find(ft->standins, tp);

	if (!s || !s->wanted)
		return false;
	refuse(s, "%s", why);
	return true;
}

void ft_standins_trim(struct ft *ft, bool all)
{
	struct ft_standins *d = ft->standins;
	bool any = false;

	for (unsigned int i = 0; d && i < d->n; i++) {
		struct standin *s = &d->s[i];
		int ret;

		if (!s->made || (s->wanted && !all))
			continue;
		/* With an event that was in use the kernel empties the buffers
		 * (dyn_event_release()). */
		if (!any)
			ft_drain_all(ft);
		any = true;
		ret = ft_dynamic_remove(ft->p, d->group, gt_tp_event(s->tp));
		s->made = ret != 0;
		if (ret)
			ft->p->host->log(ft->p, LOG_WARNING, "%s/%s could not be removed: %s",
					 d->group, gt_tp_event(s->tp), strerror(-ret));
	}
	if (any)
		ft_cpus_anew(ft);
}

void ft_standins_free(struct ft *ft)
{
	ft_standins_trim(ft, true);
	free(ft->standins);
	ft->standins = NULL;
}

/* Why its own fault is none: another of its family, or the setting. */
static const char *reason(const struct ft *ft, const struct standin *s)
{
	const struct ft_standins *d = ft->standins;
	const struct gt_probe *b = gt_tp_probe(s->tp);

	if (!ft->o->probes)
		return "the setting probes is 0";
	if (ft->reported_by[0])
		return "another backend reads the tracepoints";
	for (unsigned int i = 0; !s->refused && b && i < d->n; i++) {
		const struct gt_probe *o = gt_tp_probe(d->s[i].tp);

		if (o && o->family == b->family && (d->s[i].own || d->s[i].refused))
			return d->s[i].own ? "the kernel has others of its kind" : d->s[i].why;
	}
	return s->why[0] ? s->why : "no section of the event maps in use needs it";
}

bool ft_standins_emit(const struct ft *ft, unsigned int i, char *buf, size_t len)
{
	const struct ft_standins *d = ft->standins;
	const struct standin *s = d && i < d->n ? &d->s[i] : NULL;

	if (!s)
		return false;
	if (s->own)
		snprintf(buf, len, "probe %s/%s not needed: the kernel has it", gt_tp_system(s->tp),
			 gt_tp_event(s->tp));
	else if (!s->wanted)
		snprintf(buf, len, "probe_missing %s/%s: %s", gt_tp_system(s->tp),
			 gt_tp_event(s->tp), reason(ft, s));
	else
		snprintf(buf, len, "probe %s/%s made as %s/%s%s%s", gt_tp_system(s->tp),
			 gt_tp_event(s->tp), d->group, gt_tp_event(s->tp),
			 s->why[0] ? ", without " : "", s->why);
	return true;
}
