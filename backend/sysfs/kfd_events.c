/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../lib/detail.h"
#include "../lib/file.h"
#include "sysfs.h"

#define READS	   64	/* of a descriptor at once */
#define KEPT	   1024 /* size of the driver's buffer: a read of it ends with an event */
#define NAME_MOST  15	/* of a process */
#define LINE	   256	/* the driver's lines have up to 96 bytes */
#define MIGRATIONS 64	/* in flight */
#define PAGE	   4096
#define BIT_OF(id) (1ull << ((id)-1))
#define WANTED                                                                                     \
	(BIT_OF(SF_SMI_VMFAULT) | BIT_OF(SF_SMI_THROTTLE) | BIT_OF(SF_SMI_PRE_RESET) |             \
	 BIT_OF(SF_SMI_MIGRATE_START) | BIT_OF(SF_SMI_MIGRATE_END) | BIT_OF(SF_SMI_EVICTION) |     \
	 BIT_OF(SF_SMI_RESTORE))
#define THROTTLE   (GT_CUSTOM0 + 3) /* 4 to 6 are of events.d/amdkfd.ini */
#define OF_PROCESS 3		    /* QUEUE_MAP, QUEUE_UNMAP: value, as there */

/* linux/kfd_ioctl.h */
struct smi_args {
	uint32_t gpuid, anon_fd;
};
#define SMI_EVENTS _IOWR('K', 0x1f, struct smi_args)

/**
 * struct source - a descriptor of a GPU
 * @name_left: bytes that may still belong to the name of a process, which may hold a newline
 * @skip: the current line is too long
 */
struct source {
	int fd;
	uint16_t gpu;
	char line[LINE];
	size_t len, name_left;
	bool skip;
};

/* A migration that began; @ts 0: free */
struct migration {
	uint64_t ts, addr;
	uint32_t pid;
};

struct sf_smi {
	struct source source[SF_DEVICES];
	unsigned int n, next;
	struct migration begun[MIGRATIONS];
	bool named, all;
	uint64_t lines, bad, doubtful, ended;
};

/* Descriptors ---------------------------------------------------------------------------------- */

/* Opens the events of GPU @kfd_id; -errno. With CAP_SYS_ADMIN now it gets those of other processes as
 * well. */
static int open_events(int kfd, uint32_t kfd_id, bool all)
{
	struct smi_args args = { .gpuid = kfd_id };
	uint64_t mask = WANTED | (all ? BIT_OF(SF_SMI_ALL_PROCESS) : 0);

	if (ioctl(kfd, SMI_EVENTS, &args))
		return -errno;
	fcntl((int)args.anon_fd, F_SETFD, FD_CLOEXEC);
	fcntl((int)args.anon_fd, F_SETFL, O_NONBLOCK);
	if (write((int)args.anon_fd, &mask, sizeof(mask)) == sizeof(mask))
		return (int)args.anon_fd;
	close((int)args.anon_fd);
	return -EIO;
}

/* Read access to the device is enough; only the process that opened it may use it. */
int sf_smi_start(struct sf *sf)
{
	const uint64_t admin = 1ull << CAP_SYS_ADMIN;
	uint64_t raised = gt_caps_set(admin, 0);
	int kfd = open("/dev/kfd", O_RDONLY | O_CLOEXEC), err = kfd < 0 ? -errno : 0;

	sf_smi_stop(sf);
	for (unsigned int i = 0; kfd >= 0 && i < sf->n; i++) {
		int fd = sf->dev[i].kfd_id ? open_events(kfd, sf->dev[i].kfd_id, raised & admin)
					   : -ENODEV;

		if (fd >= 0)
			fd = sf_smi_add(sf, fd, sf->dev[i].gpu);
		err = fd < 0 && fd != -ENODEV ? fd : err;
	}
	gt_caps_set(0, raised);
	if (kfd >= 0)
		close(kfd);
	if (sf->smi) {
		sf->smi->all = raised & admin;
		return 0;
	}
	err = err ? err : -ENODEV;
	return sf->p->host->error(sf->p, -err, "events of /dev/kfd: %s", strerror(-err));
}

/* Lines ---------------------------------------------------------------------------------------- */

static bool take(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

static bool number(const char **p, int base, uint64_t *out)
{
	char *end;

	/* no blanks, no signs */
	if (!strchr(base == 16 ? "0123456789abcdefABCDEF" : "0123456789", **p) || !**p)
		return false;
	errno = 0;
	*out = strtoull(*p, &end, base);
	*p = end;
	return !errno;
}

static bool number32(const char **p, int base, uint32_t *out)
{
	uint64_t v;

	if (!number(p, base, &v) || v >= GT_NONE32)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* "123456789 -4321 ": the sign is the format's */
static bool stamp(const char **p, struct sf_smi_event *e)
{
	return number(p, 10, &e->ts) && take(p, " -") && number32(p, 10, &e->pid) && take(p, " ");
}

/* "@7f123(10) 1a2b->0 …" */
static bool range(const char **p, struct sf_smi_event *e)
{
	return take(p, "@") && number(p, 16, &e->addr) && take(p, "(") && number(p, 16, &e->size) &&
	       take(p, ")") && e->size < GT_NONE64 / PAGE;
}

bool sf_smi_parse(const char *line, struct sf_smi_event *e)
{
	const char *p = line;
	uint32_t node;

	memset(e, 0xff, sizeof(*e));
	e->again = false;
	if (!number32(&p, 16, &e->id) || !take(&p, " "))
		return false;
	switch (e->id) {
	case SF_SMI_VMFAULT: /* pid 0 for no process */
		return number32(&p, 16, &e->pid) && take(&p, ":");
	case SF_SMI_THROTTLE:
		return number(&p, 16, &e->mask) && take(&p, ":") && number(&p, 16, &e->value);
	case SF_SMI_PRE_RESET:
		return number(&p, 16, &e->value);
	case SF_SMI_MIGRATE_START:
	case SF_SMI_MIGRATE_END:
		return stamp(&p, e) && range(&p, e);
	case SF_SMI_EVICTION:
		return stamp(&p, e) && number32(&p, 16, &node) && take(&p, " ") &&
		       number32(&p, 10, &e->trigger);
	case SF_SMI_RESTORE:
		if (!stamp(&p, e) || !number32(&p, 16, &node))
			return false;
		e->again = take(&p, " R");
		return true;
	default:
		return false;
	}
}

/* Records -------------------------------------------------------------------------------------- */

/* With time 0 it goes ahead of records that wait */
static void emit_throttle_name(struct sf *sf)
{
	static const char name[] = "thermal_throttle";
	union gt_record r;

	if (sf->smi->named)
		return;
	sf->smi->named = true;
	gt_record_init(&r, 0, GT_NAME);
	r.name.id = THROTTLE;
	r.name.kind = GT_NAME_CUSTOM;
	r.name.part = 0;
	memset(r.name.text, 0, sizeof(r.name.text));
	memcpy(r.name.text, name, sizeof(name));
	sf->p->host->push(sf->p, &r, 1);
}

static void emit_migration(struct sf *sf, const struct source *s, const struct sf_smi_event *e,
			   uint64_t ts)
{
	struct sf_smi *smi = sf->smi;
	struct migration *m = smi->begun;
	union gt_record *r;

	if (e->id == SF_SMI_MIGRATE_START) { /* replaces one that never ended */
		smi->begun[smi->next++ % MIGRATIONS] = (struct migration){ ts, e->addr, e->pid };
		return;
	}
	while (m < smi->begun + MIGRATIONS && !(m->ts && m->addr == e->addr && m->pid == e->pid))
		m++;
	r = sf_kfd_record(sf, s->gpu, GT_COPY, ts);
	r->ev.pid = e->pid;
	r->ev.value = e->size * PAGE;
	if (m == smi->begun + MIGRATIONS)
		return;
	r->ev.ref = ts > m->ts ? ts - m->ts : 0;
	m->ts = 0;
}

/* One event of each queue of the process that this backend reports, else one for all */
static void emit_for_queues(struct sf *sf, const struct source *s, enum gt_type type,
			    const struct sf_smi_event *e, uint64_t ts)
{
	union gt_record *r;

	if (sf_kfd_queues_event(sf, e->pid, s->gpu, type, ts))
		return;
	r = sf_kfd_record(sf, s->gpu, type, ts);
	r->ev.pid = e->pid;
	r->ev.value = OF_PROCESS;
}

static void emit_event(struct sf *sf, const struct source *s, const struct sf_smi_event *e)
{
	const struct gt_host *host = sf->p->host;
	uint64_t ts = e->ts == GT_NONE64
			      ? host->now(sf->p)
			      : host->monotonic(sf->p, GT_CLOCK_ID_BOOTTIME, e->ts, NULL);
	union gt_record *r;

	switch (e->id) {
	case SF_SMI_VMFAULT:
	case SF_SMI_PRE_RESET:
		r = sf_kfd_record(sf, s->gpu, GT_ERROR, ts);
		r->ev.value = e->id == SF_SMI_VMFAULT ? GT_ERR_FAULT : GT_ERR_RESET;
		r->ev.pid = e->pid ? e->pid : GT_NONE32;
		break;
	case SF_SMI_THROTTLE:
		emit_throttle_name(sf);
		r = sf_kfd_record(sf, s->gpu, THROTTLE, ts);
		r->ev.value = e->value;
		r->ev.ref = e->mask;
		break;
	case SF_SMI_EVICTION:
		emit_for_queues(sf, s, GT_QUEUE_UNMAP, e, ts);
		break;
	case SF_SMI_RESTORE:
		if (!e->again)
			emit_for_queues(sf, s, GT_QUEUE_MAP, e, ts);
		break;
	default:
		emit_migration(sf, s, e, ts);
	}
}

/* A fault's line ends with the name of the process. With a newline in it, the rest looks like another
 * event, so a line that is short enough to be the rest of a name is ignored. */
static bool in_name(struct source *s)
{
	bool in = s->len < s->name_left;

	s->name_left = in ? s->name_left - s->len - 1 : 0;
	return in;
}

/* After a fault: the bytes by which the name may go on */
static void expect_name(struct source *s)
{
	size_t name = s->len - strcspn(s->line, ":") - 1;

	s->name_left = name < NAME_MOST ? NAME_MOST - name : 0;
}

static void take_line(struct sf *sf, struct source *s)
{
	struct sf_smi_event e;

	s->line[s->len] = '\0';
	sf->smi->lines++;
	if (in_name(s)) {
		sf->smi->doubtful++;
	} else if (!s->skip && sf_smi_parse(s->line, &e)) {
		emit_event(sf, s, &e);
		if (e.id == SF_SMI_VMFAULT)
			expect_name(s);
	} else {
		sf->smi->bad++;
	}
	s->len = 0;
	s->skip = false;
}

static void take_text(struct sf *sf, struct source *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\n')
			take_line(sf, s);
		else if (s->len < LINE - 1)
			s->line[s->len++] = text[i];
		else
			s->skip = true;
	}
}

static void close_source(struct sf *sf, struct source *s)
{
	sf->p->host->watch(sf->p, s->fd, false);
	close(s->fd);
	s->fd = -1;
}

void sf_smi_read(struct sf *sf)
{
	char text[KEPT];
	ssize_t n;

	for (unsigned int i = 0; sf->smi && i < sf->smi->n; i++) {
		struct source *s = &sf->smi->source[i];

		for (int k = 0; s->fd >= 0 && k < READS; k++) {
			n = read(s->fd, text, sizeof(text));
			if (n > 0) {
				take_text(sf, s, text, (size_t)n);
				s->name_left = 0;
				continue;
			}
			if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
				sf->smi->ended++;
				close_source(sf, s);
			}
			break;
		}
	}
	sf_kfd_flush(sf);
}

int sf_smi_add(struct sf *sf, int fd, uint16_t gpu)
{
	struct sf_smi *smi = sf->smi ? sf->smi : calloc(1, sizeof(*smi));
	int err = smi ? 0 : -ENOMEM;

	sf->smi = smi;
	if (smi && smi->n == SF_DEVICES)
		err = -ENOSPC;
	if (!err)
		err = sf->p->host->watch(sf->p, fd, true);
	if (err) {
		close(fd);
		return err;
	}
	smi->source[smi->n++] = (struct source){ .fd = fd, .gpu = gpu };
	return 0;
}

void sf_smi_stop(struct sf *sf)
{
	for (unsigned int i = 0; sf->smi && i < sf->smi->n; i++)
		if (sf->smi->source[i].fd >= 0)
			close_source(sf, &sf->smi->source[i]);
	free(sf->smi);
	sf->smi = NULL;
}

unsigned int sf_smi_fds(const struct sf *sf)
{
	unsigned int n = 0;

	for (unsigned int i = 0; sf->smi && i < sf->smi->n; i++)
		n += sf->smi->source[i].fd >= 0;
	return n;
}

void sf_smi_doctor(const struct sf *sf, struct gt_details *t)
{
	if (!sf->smi)
		return;
	gt_detail(t, "kfd_events_gpus %u\nkfd_events_of_all %d\n", sf_smi_fds(sf), sf->smi->all);
	gt_detail(t, "kfd_events %" PRIu64 "\nkfd_events_bad %" PRIu64 "\n", sf->smi->lines,
		  sf->smi->bad);
	gt_detail(t, "kfd_events_doubtful %" PRIu64 "\nkfd_events_ended %" PRIu64 "\n",
		  sf->smi->doubtful, sf->smi->ended);
}
