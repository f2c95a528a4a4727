/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program of a tracepoint: loaded, attached, switched on and off.
 *
 * libbpf loads the object of bpf/tracepoint.bpf.c once, as a template. That adapts the instructions
 * to this kernel, which takes long, as all of its types are read for it, and shows whether the kernel
 * takes such programs at all. The program of a tracepoint is a copy of these instructions, with a map
 * of its own for the constant gt_tp.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "tracepoint.h"
#include "bpf/tracepoint.skel.h"

int tp_template_load(struct tp_state *t, char *err, size_t len)
{
	t->template = tracepoint_bpf__open();
	if (!t->template)
		return gb_sentence(err, len, ENOMEM, "no memory");
	return gb_object_load(t->b, t->template->obj, "tracepoints", err, len);
}

void tp_template_free(struct tp_state *t)
{
	tracepoint_bpf__destroy(t->template);
	t->template = NULL;
}

/* The map of constants of @p, as a descriptor */
static int make_constants(const struct tracepoint_bpf *template, const struct tp_program *p)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	struct tracepoint_bpf__rodata value = *template->rodata;
	uint32_t zero = 0;
	int fd, ret;

	value.gt_tp = p->conf;
	value.gt_tp.serial = p->serial;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gt_tp", sizeof(zero), sizeof(value), 1, &opts);
	if (fd < 0)
		return fd;
	ret = bpf_map_update_elem(fd, &zero, &value, BPF_ANY);
	if (!ret)
		ret = bpf_map_freeze(fd); /* else the verifier takes the values for variables */
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* The template's program for this way */
static const struct bpf_program *program_of(const struct tracepoint_bpf *template,
					    const struct tp_slot *s)
{
	if (s->wanted == TP_ARGS || s->wanted == TP_MADE_ARGS)
		return template->progs.gt_args;
	if (s->wanted == TP_MADE && gt_tp_probe(s->tp)->function)
		return template->progs.gt_called;
	return template->progs.gt_record;
}

/* The instructions of @of, with @constants in place of the template's; NULL with errno: no memory, or
 * they do not use these */
static struct bpf_insn *copy_of(const struct tracepoint_bpf *template, const struct bpf_program *of,
				int constants)
{
	int theirs = bpf_map__fd(template->maps.rodata);
	size_t n = bpf_program__insn_cnt(of);
	struct bpf_insn *insn = calloc(n, sizeof(*insn));
	bool used = false;

	for (size_t i = 0; insn && i < n; i++) {
		insn[i] = bpf_program__insns(of)[i];
		if (insn[i].src_reg != BPF_PSEUDO_MAP_VALUE || insn[i].imm != theirs ||
		    insn[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		insn[i].imm = constants;
		used = true;
	}
	if (!insn || used)
		return insn;
	free(insn);
	errno = EINVAL; /* this libbpf refers to a map in another way */
	return NULL;
}

/* Its descriptor, or -errno with what the verifier says in @words */
static int load_copy(const struct bpf_program *of, const struct bpf_insn *insn, char *words,
		     size_t len)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .log_level = 1, .log_size = BPF_LOG_BUF_SIZE);
	int ret = bpf_prog_load(bpf_program__type(of), bpf_program__name(of), "GPL", insn,
				bpf_program__insn_cnt(of), NULL);
	gb_auto_free char *log = NULL;

	if (ret >= 0 || ret == -EPERM || ret == -ENOMEM)
		return ret;
	log = calloc(1, BPF_LOG_BUF_SIZE); /* little of it is written to */
	opts.log_buf = log;
	if (log && bpf_prog_load(bpf_program__type(of), bpf_program__name(of), "GPL", insn,
				 bpf_program__insn_cnt(of), &opts) < 0)
		gb_last_words(log, words, len);
	return ret;
}

/* Loads the program of @s->wanted, as @s->conf says; 0, or -errno with the sentence */
static int load(const struct tp_state *t, const struct tp_slot *s, struct tp_program *p, char *err,
		size_t len)
{
	const struct bpf_program *of = program_of(t->template, s);
	gb_auto_free struct bpf_insn *insn = NULL;
	int constants = make_constants(t->template, p);
	char words[200] = "";

	if (constants < 0)
		return gb_refused(-constants, "its program", "", err, len);
	insn = copy_of(t->template, of, constants);
	p->prog = insn ? load_copy(of, insn, words, sizeof(words)) : -errno;
	close(constants);
	return p->prog < 0 ? gb_refused(-p->prog, "its program", words, err, len) : 0;
}

/* In the module that the map names, as another may have a function of that name; but some kernels
 * find none by both (6.6), and it may be part of the kernel. */
static int link_to_function(int prog, const struct gt_probe *b)
{
	struct perf_event_attr a = { 0 };
	char name[256];
	int type, link = gb_read_number("/sys/bus/event_source/devices/kprobe/type", "%d", &type);

	if (link)
		return link;
	a.type = (uint32_t)type;
	a.config1 = (uintptr_t)name; /* kprobe_func */
	link = -ENOENT;
	snprintf(name, sizeof(name), "%s:%s", b->scope, b->name);
	if (b->scope[0])
		link = gb_perf_link(prog, &a, 0);
	snprintf(name, sizeof(name), "%s", b->name);
	return link < 0 ? gb_perf_link(prog, &a, 0) : link;
}

static int link_to(const struct tp_state *t, const struct tp_slot *s, int prog)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);
	const char *tracefs = t->b->p->tracefs;

	switch (s->wanted) {
	case TP_ARGS:
		return bpf_raw_tracepoint_open(gt_tp_event(s->tp), prog);
	case TP_MADE_ARGS:
		return bpf_raw_tracepoint_open(b->name, prog);
	case TP_RAW:
		return gb_link_to_tracepoint(tracefs, gt_tp_system(s->tp), gt_tp_event(s->tp),
					     prog);
	default:
		return b->function ? link_to_function(prog, b)
				   : gb_link_to_tracepoint(tracefs, b->scope, b->name, prog);
	}
}

int tp_program_make(struct tp_state *t, const struct tp_slot *s, struct tp_program **out, char *err,
		    size_t len)
{
	struct tp_program *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return gb_sentence(err, len, ENOMEM, "no memory");
	if (!++t->serial) /* 0: no program */
		t->serial = 1;
	*p = (struct tp_program){ .prog = -1,
				  .link = -1,
				  .conf = s->conf,
				  .serial = t->serial,
				  .how = s->wanted,
				  .instance = s->instance };
	ret = load(t, s, p, err, len);
	if (!ret) {
		tp_program_on(t, p);
		p->link = link_to(t, s, p->prog);
		if (p->link < 0)
			ret = gb_refused(-p->link, "it cannot be attached to", "", err, len);
	}
	if (!ret) {
		*out = p;
		return 0;
	}
	tp_program_off(t, p);
	tp_program_free(p);
	return ret;
}

void tp_program_on(struct tp_state *t, const struct tp_program *p)
{
	t->template->bss->gt_serving[p->conf.index] = p->serial;
}

void tp_program_off(struct tp_state *t, const struct tp_program *p)
{
	t->template->bss->gt_serving[p->conf.index] = 0;
}

uint64_t tp_program_missed(const struct tp_program *p)
{
	uint64_t n = 0;

	gb_missed_by(p->prog, &n);
	return n;
}

void tp_program_free(void *program)
{
	struct tp_program *p = program;

	if (p->link >= 0)
		close(p->link);
	if (p->prog >= 0)
		close(p->prog);
	free(p);
}
