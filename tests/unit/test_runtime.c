/* SPDX-License-Identifier: GPL-2.0 */
/* The BPF backend's runtime part, as far as no kernel is needed: names, its table, and libraries'
 * files. */
#include <elf.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../backend/bpf/runtime.h"
#include "../lib/tap.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static void parse(const char *list, int ret, unsigned int set)
{
	unsigned int got = 0xff;
	char err[GB_SENTENCE] = "";

	is(rt_parse(list, &got, err, sizeof(err)), ret, "runtimes '%s'", list);
	if (ret)
		ok(got == 0xff && !strncmp(err, "runtimes: ", 10), "… %s", err);
	else
		is(got, set, "… are these");
}

static void test_names(void)
{
	parse("", 0, 0);
	parse("hsa", 0, 1);
	parse("hsa,hip,cuda,cudart", 0, 15);
	parse("cudart,hip", 0, 10);
	parse("cud", -EINVAL, 0);
	parse("cudaa", -EINVAL, 0);
	parse("hip,", -EINVAL, 0);
	parse(",", -EINVAL, 0);
	parse("hip,,hsa", -EINVAL, 0);
	parse("hip hsa", -EINVAL, 0);
	parse("HIP", -EINVAL, 0);
	parse("hip,hip", -EINVAL, 0);
	is(rt_runtime_of("libhsa-runtime64.so.1"), 0, "libhsa-runtime64.so.1");
	is(rt_runtime_of("libamdhip64.so.6.0.60200"), 1, "libamdhip64.so.6.0.60200");
	is(rt_runtime_of("libcuda.so.535.54.03 (deleted)"), 2, "a deleted libcuda.so");
	is(rt_runtime_of("libcudart-e409450e.so.11.0"), 3, "libcudart of a Python wheel");
	is(rt_runtime_of("libcudart.so"), 3, "libcudart.so");
	is(rt_runtime_of("libcudadebugger.so.1"), -1, "libcudadebugger.so.1");
	is(rt_runtime_of("libcuda"), -1, "libcuda");
	is(rt_runtime_of("libcuda.txt"), -1, "libcuda.txt");
	is(rt_runtime_of("xlibcuda.so"), -1, "xlibcuda.so");
}

static void test_table(void)
{
	for (int r = 0; r < RT_RUNTIMES; r++) {
		unsigned int n = 0, twice = 0, odd = 0;

		for (const struct rt_call *c = rt_runtimes[r].calls; c->symbol; c++, n++) {
			for (const struct rt_call *d = rt_runtimes[r].calls; d != c; d++)
				twice += !strcmp(c->symbol, d->symbol);
			odd += c->ctx > 15 || c->bytes > 15 || c->times > 15 || c->how > 15;
			/* what is reported at its end, or has one, must be probed there */
			odd += (c->how & ~GT_RT_RETURN) && !(c->how & GT_RT_RETURN);
			odd += c->type == GT_SYNC_WAIT_ENTER && !(c->how & GT_RT_RETURN);
		}
		ok(n && n <= RT_MAX_CALLS && !twice && !odd, "%s: %u functions, each once",
		   rt_runtimes[r].name, n);
	}
}

/* A library: its head, a segment of code at 0x1000, and symbols. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr seg;
	Elf64_Shdr sec[3];
	Elf64_Sym sym[8];
	char str[256];
	uint8_t code[256];
};

static unsigned int nsym, str;

static void symbol(struct image *i, const char *name, uint64_t addr, int type, int section)
{
	i->sym[nsym++] = (Elf64_Sym){ .st_name = str,
				      .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
				      .st_shndx = (Elf64_Half)section,
				      .st_value = addr };
	strcpy(i->str + str, name);
	str += (unsigned int)strlen(name) + 1;
}

static void make(struct image *i)
{
	memset(i, 0, sizeof(*i));
	nsym = str = 1;
	memcpy(i->head.e_ident, ELFMAG, SELFMAG);
	i->head.e_ident[EI_CLASS] = ELFCLASS64;
	i->head.e_ident[EI_DATA] = ELFDATA2LSB;
	i->head.e_type = ET_DYN;
	i->head.e_machine = MACHINE;
	i->head.e_phoff = offsetof(struct image, seg);
	i->head.e_phnum = 1;
	i->head.e_phentsize = sizeof(Elf64_Phdr);
	i->head.e_shoff = offsetof(struct image, sec);
	i->head.e_shnum = 3;
	i->head.e_shentsize = sizeof(Elf64_Shdr);
	i->seg = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = offsetof(struct image, code),
			       .p_vaddr = 0x1000,
			       .p_filesz = sizeof(i->code) };
	symbol(i, "cuLaunchKernel", 0x1010, STT_FUNC, 1);
	symbol(i, "cuLaunchKernel_ptsz", 0x1010, STT_FUNC, 1); /* another name of it */
	symbol(i, "cuMemcpyAsync", 0x1020, STT_FUNC, 1);
	symbol(i, "cuCtxSynchronize", 0x1030, STT_FUNC, SHN_UNDEF);
	symbol(i, "cuStreamSynchronize", 0x1040, STT_OBJECT, 1);
	symbol(i, "cuEventSynchronize", 0x5000, STT_FUNC, 1); /* no code of the file */
	symbol(i, "cuInit", 0x1050, STT_FUNC, 1);
	i->sec[1] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
				  .sh_offset = offsetof(struct image, sym),
				  .sh_size = sizeof(i->sym),
				  .sh_link = 2,
				  .sh_entsize = sizeof(Elf64_Sym) };
	i->sec[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				  .sh_offset = offsetof(struct image, str),
				  .sh_size = sizeof(i->str) };
}

static int look(int fd, const void *data, size_t n, struct rt_probe *out)
{
	if (ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n)
		return -EIO;
	return rt_elf_find(fd, rt_runtimes[2].calls, out, RT_MAX_CALLS);
}

static void test_found(int fd)
{
	struct rt_probe p[RT_MAX_CALLS];
	struct image i;

	make(&i);
	is(look(fd, &i, sizeof(i), p), 2, "two functions are in the file");
	is(p[0].offset, offsetof(struct image, code) + 0x10, "a launch, where its code is");
	is(GT_RT_TYPE(p[0].cookie), GT_LAUNCH, "… as what it is");
	is(GT_RT_CTX(p[0].cookie), 9, "… with its stream");
	is(p[1].offset, offsetof(struct image, code) + 0x20, "a copy");
	is(GT_RT_BYTES(p[1].cookie), 3, "… with its bytes");
	is(rt_elf_find(fd, rt_runtimes[2].calls, p, 1), 1, "no more than there is room for");
	i.head.e_machine = EM_386;
	is(look(fd, &i, sizeof(i), p), -ENOEXEC, "another machine's");
	is(look(fd, &i, 0, p), -ENOEXEC, "an empty file");
	make(&i);
	i.sec[2].sh_size = 1ull << 40;
	is(look(fd, &i, sizeof(i), p), -ENOEXEC, "names without end");
	make(&i);
	i.sec[1].sh_size = 1ull << 40;
	is(look(fd, &i, sizeof(i), p), -ENOEXEC, "symbols without end");
	make(&i);
	i.sec[1].sh_offset = UINT64_MAX - 4;
	is(look(fd, &i, sizeof(i), p), -ENOEXEC, "symbols beyond everything");
	make(&i);
	i.seg.p_offset = INT64_MAX - 8;
	is(look(fd, &i, sizeof(i), p), 0, "code beyond everything");
}

/* Each function of each runtime is found by its name, in a file that has no other. */
static void test_each(int fd)
{
	struct rt_probe p[RT_MAX_CALLS];
	unsigned int n = 0, right = 0;
	struct image i;

	for (int r = 0; r < RT_RUNTIMES; r++)
		for (const struct rt_call *c = rt_runtimes[r].calls; c->symbol; c++, n++) {
			make(&i);
			memset(i.sym, 0, sizeof(i.sym));
			nsym = str = 1;
			symbol(&i, c->symbol, 0x1010, STT_FUNC, 1);
			if (pwrite(fd, &i, sizeof(i), 0) != sizeof(i))
				break;
			right += rt_elf_find(fd, rt_runtimes[r].calls, p, RT_MAX_CALLS) == 1 &&
				 GT_RT_TYPE(p[0].cookie) == c->type &&
				 GT_RT_CTX(p[0].cookie) == c->ctx;
		}
	ok(n > 100 && right == n, "each of %u functions is found by its name", n);
}

static void test_local(void)
{
	ok(rt_is_local(EXT4_SUPER_MAGIC) && rt_is_local(TMPFS_MAGIC), "ext4 and tmpfs are local");
	ok(!rt_is_local(FUSE_SUPER_MAGIC) && !rt_is_local(OVERLAYFS_SUPER_MAGIC) &&
		   !rt_is_local(NFS_SUPER_MAGIC) && !rt_is_local(SMB2_SUPER_MAGIC) &&
		   !rt_is_local(0),
	   "FUSE, overlays, NFS, SMB and what is not known are not");
}

/* Cut short anywhere, and with any byte another one: what is found is in bounds. */
static void test_hostile(int fd)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct rt_probe p[RT_MAX_CALLS];
	unsigned int wrong = 0;
	struct image i;

	make(&i);
	for (size_t n = 0; n < sizeof(i); n++)
		wrong += look(fd, &i, n, p) > 2;
	for (size_t at = 0; at < offsetof(struct image, code); at++)
		for (size_t v = 0; v < sizeof(values); v++) {
			int n;

			make(&i);
			((uint8_t *)&i)[at] = values[v];
			n = look(fd, &i, sizeof(i), p);
			wrong += n > RT_MAX_CALLS;
			for (int k = 0; k < n; k++)
				wrong += p[k].offset > INT64_MAX || GT_RT_SLOT(p[k].cookie);
		}
	is(wrong, 0, "cut short, or with any byte changed: nothing out of bounds");
}

int main(void)
{
	int fd = memfd_create("library", MFD_CLOEXEC);

	test_names();
	test_table();
	test_found(fd);
	test_each(fd);
	test_local();
	test_hostile(fd);
	return done_testing();
}
