/* SPDX-License-Identifier: GPL-2.0 */
/* Why the kernel refuses BPF: each reason has its sentence, with what to do about it. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "../../backend/bpf/bpf.h"
#include "../lib/tap.h"

#define BPF	(1ull << CAP_BPF)
#define PERFMON (1ull << CAP_PERFMON)

static const struct gb_facts good = { .caps = BPF | PERFMON,
				      .first_userns = true,
				      .release = "6.1.0" };

static void why(const struct gb_facts *f, int e, const char *words, const char *wanted)
{
	char err[GB_SENTENCE] = "";
	int ret = gb_why(f, e, "tracepoints", words, err, sizeof(err));

	ok(ret == -e && strstr(err, wanted), "%s: %s", strerror(e), err);
}

static void refusals(void)
{
	struct gb_facts f = good;

	f.locked = true;
	why(&f, EINVAL, "unknown func bpf_probe_read_kernel#113", "locked down (confidentiality)");
	why(&f, EPERM, "", "locked down (confidentiality)");
	f = good;
	f.caps = PERFMON;
	why(&f, EPERM, "", "CAP_BPF is missing");
	f.caps = BPF;
	why(&f, EPERM, "", "CAP_PERFMON is missing");
	f.caps = 0;
	why(&f, EACCES, "", "CAP_BPF and CAP_PERFMON are missing");
	f.caps = 1ull << CAP_SYS_ADMIN;
	why(&f, EPERM, "", "security module");
	f = good;
	f.first_userns = false;
	why(&f, EPERM, "", "user namespace");
	f = good;
	f.paranoid = 3;
	why(&f, EACCES, "", "perf_event_paranoid is 3");
	f.caps |= 1ull << CAP_SYS_ADMIN;
	why(&f, EACCES, "", "seccomp filter");
	why(&good, EPERM, "", "seccomp filter");
	why(&good, ENOSYS, "", "CONFIG_BPF_SYSCALL");
	why(&good, ENOMEM, "", "memory.max");
	why(&good, EINVAL, "", "tracepoints: Invalid argument");
}

static void kernels(void)
{
	struct gb_facts f = good;

	snprintf(f.release, sizeof(f.release), "5.4.0-99-generic");
	why(&f, EINVAL, "", "ring buffer, which 5.8 brought");
	snprintf(f.release, sizeof(f.release), "5.10.0-21-amd64");
	why(&f, EOPNOTSUPP, "", "5.15 does");
	why(&f, EINVAL, "unknown func 174", "5.15 does");
	snprintf(f.release, sizeof(f.release), "6.12.1");
	why(&f, EINVAL, "", "Invalid argument");
}

static void verifier(void)
{
	char words[200] = "";

	gb_last_words("libbpf: some other fault\n", words, sizeof(words));
	is_str(words, "", "no verifier's log: nothing");
	gb_last_words("libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n0: (b7) r0 = 1\nR2 min value "
		      "is negative\n"
		      "processed 450 insns (limit 1000000)\n-- END PROG LOAD LOG --\n",
		      words, sizeof(words));
	is_str(words, "R2 min value is negative", "its last words");
	gb_last_words("libbpf: prog 'x': -- BEGIN PROG LOAD LOG --", words, sizeof(words));
	is_str(words, "R2 min value is negative", "an empty log has none");
	gb_last_words(
		"0: (b7) r0 = 1\ninvalid bpf_context access off=40 size=8\nprocessed 1 insns\n",
		words, sizeof(words));
	is_str(words, "invalid bpf_context access off=40 size=8", "the kernel's log alone");
	gb_last_words("libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\nR2 min value is negative\n",
		      words, sizeof(words));
	why(&good, EACCES, words, "the kernel refuses the program: R2 min value is negative");
}

static void types(void)
{
	char none[] = "/nonexistent", err[GB_SENTENCE] = "", path[GB_PATH];
	struct gb_options o = { .btf = none };
	struct gb b = { .o = &o };

	is(gb_btf(&b, path, err, sizeof(err)), -ENOENT, "no types");
	ok(strstr(err, "/nonexistent/vmlinux") && strstr(err, "CONFIG_DEBUG_INFO_BTF"), "%s", err);
}

int main(void)
{
	struct gb_facts f;

	gb_facts(&f);
	ok(strchr(f.release, '.'), "this kernel: %s", f.release);
	refusals();
	kernels();
	verifier();
	types();
	return done_testing();
}
