/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The least that an event in a ring buffer can cost: a BPF program at a tracepoint that reserves 64
 * bytes and submits them. The buffer is emptied without a look at it.
 *
 *	bare ID COMMAND...	runs the command while tracepoint ID (events/.../id) has that program;
 *				exits as it does
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (16u << 20)

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define SET(r, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, r, 0, 0, i)
#define CALL(f)	  INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)

static int load(int ring)
{
	const struct bpf_insn insn[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, ring),
		INSN(0, 0, 0, 0, 0), /* the upper half */
		SET(2, 64),
		SET(3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 0, 0),
		SET(2, BPF_RB_NO_WAKEUP),
		CALL(BPF_FUNC_ringbuf_submit),
		SET(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "bare", "GPL", insn,
			     sizeof(insn) / sizeof(*insn), NULL);
}

static int attach(int prog, unsigned int id)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT,
				     .size = sizeof(a),
				     .config = id };
	int event = (int)syscall(SYS_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return event < 0 ? -1 : bpf_link_create(prog, event, BPF_PERF_EVENT, NULL);
}

/* Until @child ends; its status */
static int empty(int ring, pid_t child)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_Atomic unsigned long *consumer =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	_Atomic unsigned long *producer =
		mmap(NULL, page, PROT_READ, MAP_SHARED, ring, (off_t)page);
	int status;

	if (consumer == MAP_FAILED || producer == MAP_FAILED)
		return -1;
	while (!waitpid(child, &status, WNOHANG)) {
		atomic_store(consumer, atomic_load(producer));
		usleep(1000);
	}
	return status;
}

int main(int argc, char **argv)
{
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bare", 0, 0, SIZE, NULL);
	int prog = ring < 0 ? -1 : load(ring), status;
	pid_t child;

	if (argc < 3) {
		fprintf(stderr, "usage: bare ID COMMAND...\n");
		return 2;
	}
	if (prog < 0 || attach(prog, (unsigned int)atoi(argv[1])) < 0) {
		perror("bare");
		return 1;
	}
	child = fork();
	if (!child) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	status = child < 0 ? -1 : empty(ring, child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
