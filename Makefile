# SPDX-License-Identifier: GPL-2.0
#
#   make              build everything into .output/
#   make demo         install what is needed, build, mount at /gputrace and show it
#   make check        build, run the quick tests, also as an ordinary user; T=WORD: those with WORD in their name
#   make test         install what is needed, build, run what fits into ten minutes; T=WORD as well
#   make test-long    run what takes longer: sanitizers, compilers, a greedy user, every file of the tree; T=WORD
#   make test-vm      run what needs a kernel of its own, in QEMU guests of four kernels; T=WORD, KERNEL=6.12
#   make stress       every tracepoint from all contexts at once in those guests, for STRESS_SECONDS=600 in each
#   make kmod         build grtrace.ko for this kernel, or KDIR=/lib/modules/VERSION/build: another
#   make bench        measure reading and ingesting against floors of the same run
#   make install      PREFIX=/usr/local, DESTDIR=, MOUNTDIR=/sbin, SYSCONFDIR=/etc, USRMERGE=y|n
#   make uninstall    the same; a configuration that was changed stays
#   make deps         packages to build and run; deps-check, deps-test, deps-vm, deps-web: more, of the tests
#   make tools        build the tests and benchmarks too; objects: compile all, and link nothing
#   make man          write the lists of gputrace-files(5) and gputrace-security(7) anew, from tables of the code
#   make clean        remove what was built; help: this
#
# V=1 shows commands, O=DIR builds elsewhere, SAN=all adds address, undefined and leak sanitizers,
# COVERAGE=1 adds gcov's counters, CC=clang uses clang.

VERSION := 0.1.0

ifneq ($(SAN),)
O ?= .output/san
else
O ?= .output
endif
PREFIX ?= /usr/local
# mount(8) looks for helpers in /sbin only
MOUNTDIR ?= /sbin
SYSCONFDIR ?= /etc
# Is /sbin the same folder as /usr/sbin where this will be run? That of DESTDIR says so, if there is one, else
# this machine's
USRMERGE ?= $(shell for d in '$(DESTDIR)' ''; do [ -e "$$d/sbin" ] || continue; \
	[ "$$d/sbin" -ef "$$d/usr/sbin" ] && echo y || echo n; break; done)

ifneq ($(findstring s,$(filter-out --%,$(firstword $(MAKEFLAGS)))),)
Q := @
say := @:
else ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say := @printf '  %-7s %s\n'
endif

PKGS := fuse3 inih libbpf libcap-ng libseccomp libtracecmd libtraceevent libtracefs \
	libarchive sqlite3 yajl zlib
PKG_CONFIG ?= pkg-config
BPF_CLANG ?= clang
BPFTOOL ?= /usr/sbin/bpftool
missing := $(shell for p in $(PKGS); do $(PKG_CONFIG) --exists $$p || echo $$p; done 2>/dev/null; \
	echo '\#include <csv.h>' | $(CC) -E -x c - >/dev/null 2>&1 || echo libcsv; \
	for t in $(BPF_CLANG) $(BPFTOOL); do command -v $$t >/dev/null || echo $$t; done)
missing_tools = $(shell echo '\#include <libdrm/drm.h>' | $(CC) -E -x c - >/dev/null 2>&1 || echo libdrm)

CFLAGS ?= -O2 -g
gt_cflags := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-unused-parameter -D_GNU_SOURCE -DGT_VERSION='"$(VERSION)"' \
	-DGT_SYSCONFDIR='"$(SYSCONFDIR)"' -fPIC -fvisibility=hidden -fno-strict-aliasing
gt_ldflags := -rdynamic -Wl,-z,relro,-z,now
ifneq ($(SAN),)
gt_cflags += -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
gt_ldflags += -fsanitize=address,undefined
endif
# Ingesting is made of small functions in many files: calling them costs a tenth of it (tests/bench).
# Objects stay ordinary as well (fat), so that only the daemon and the benchmark pay for the linking.
ifneq ($(findstring gcc version,$(shell $(CC) -v 2>&1 || :)),)
ifeq ($(SAN)$(COVERAGE),)
hot_cflags := -flto -ffat-lto-objects
hot_ldflags := -flto=auto -Wno-stringop-overread
endif
endif
ifneq ($(COVERAGE),)
gt_cflags += --coverage -DGT_COVERAGE
gt_ldflags += --coverage
endif

fuse_cflags = $(shell $(PKG_CONFIG) --cflags fuse3)
fuse_libs = $(shell $(PKG_CONFIG) --libs fuse3)
inih_libs = $(shell $(PKG_CONFIG) --libs inih)
seccomp_libs = $(shell $(PKG_CONFIG) --libs libseccomp)
privs_libs = $(shell $(PKG_CONFIG) --libs libcap-ng) $(seccomp_libs)
tracefs_cflags = $(shell $(PKG_CONFIG) --cflags libtracefs libtraceevent libbpf)
tracefs_libs = $(shell $(PKG_CONFIG) --libs libtracefs libtraceevent libbpf)
bpf_cflags = $(shell $(PKG_CONFIG) --cflags libbpf) -I$(O)/obj
bpf_libs = $(shell $(PKG_CONFIG) --libs libbpf)
tracecmd_cflags = $(shell $(PKG_CONFIG) --cflags libtracecmd libtraceevent)
tracecmd_libs = $(shell $(PKG_CONFIG) --libs libtracecmd libtraceevent)

# What each part is made of ------------------------------------------------------------------

PLUGINS := bpf ftrace relay replay rocprof sim sysfs
# a thread of it that the kernel keeps may outlive it
plugin_libs_bpf = $(bpf_libs) $(inih_libs) -lpthread -Wl,-z,nodelete
plugin_libs_ftrace = $(tracefs_libs) $(inih_libs)
plugin_libs_replay = $(tracecmd_libs) $(inih_libs) $(seccomp_libs)
rocprof_libs = -lcsv $(shell $(PKG_CONFIG) --libs yajl sqlite3)
archive_libs = $(shell $(PKG_CONFIG) --libs libarchive zlib)
plugin_libs_rocprof = $(rocprof_libs) $(seccomp_libs)
plugin_libs_sysfs = $(seccomp_libs)
plugin_libs_amdlog = $(seccomp_libs)

PLUGINS += amdlog

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
# Event maps and files: in every plugin
src_eventmap := $(wildcard backend/eventmap/*.c) $(addprefix backend/lib/,file.c ring_pages.c)
src_host := $(wildcard backend/host/*.c) $(addprefix backend/lib/,clock.c file.c sandbox.c)
src_core := $(wildcard fs/model/*.c fs/gate/*.c fs/stream/*.c fs/tree/*.c fs/text/*.c fs/access/*.c \
	fs/export/*.c) $(filter-out fs/main.c,$(wildcard fs/*.c)) $(wildcard conf/*.c) $(src_host) \
	$(addprefix backend/lib/,ioctl_names.c rate.c)
src_fuse := $(wildcard fs/fuse/*.c)
src_live := $(addprefix backend/lib/,kernel_types.c threads.c)
# What plugins share, with each other or with the host
plugin_more_bpf := $(src_live) backend/lib/ioctl_names.c
plugin_more_ftrace := $(src_live) backend/lib/ioctl_names.c
plugin_more_relay := backend/lib/threads.c
plugin_more_replay := backend/lib/sandbox.c backend/relay/decode.c backend/lib/ioctl_names.c
plugin_more_amdlog := $(addprefix backend/lib/,sandbox.c rate.c)
plugin_more_rocprof := $(addprefix backend/lib/,sandbox.c rate.c)
plugin_more_sysfs := backend/lib/sandbox.c
# backend/relay/kmod is a kernel module
src_plugin = $(filter-out backend/relay/kmod/%,$(wildcard backend/$(1)/*.c backend/$(1)/*/*.c)) $(plugin_more_$(1))
# A plugin's vtable is in backend/NAME/NAME.c: everything else of it can be linked into a test
src_parts := $(foreach p,$(PLUGINS),$(filter-out backend/$(p)/$(p).c,$(call src_plugin,$(p))))
src_bpf := $(wildcard bpf/*.bpf.c)
src_unit := $(wildcard tests/unit/test_*.c)
src_tool := $(wildcard tests/bench/*.c tests/fuzz/*.c tests/tools/*.c)

daemon := $(O)/sbin/mount.gputrace
plugins := $(PLUGINS:%=$(O)/lib/gputrace/%.so)
maps := $(patsubst conf/%,$(O)/share/gputrace/%,$(wildcard conf/events.d/*.ini))
units := $(patsubst tests/unit/%.c,$(O)/tests/%,$(src_unit))
tools := $(patsubst tests/%.c,$(O)/tests/%,$(src_tool))
lib := $(O)/obj/libgputrace.a
man := $(wildcard fs/*.[578] backend/*.[57] backend/*/*.[57] conf/*.[57])

.PHONY: all tools objects kmod demo man check test test-long test-vm stress bench install uninstall clean deps deps-check deps-test \
	deps-vm deps-web help
all: need-pkgs $(daemon) $(plugins) $(maps)
tools: need-tools all $(units) $(tools)
objects: need-tools $(call obj,fs/main.c $(src_core) $(src_fuse) $(src_eventmap) $(src_parts) $(src_unit) $(src_tool)) \
	$(call obj,$(foreach p,$(PLUGINS),backend/$(p)/$(p).c) $(wildcard tests/lib/*.c))

.PHONY: need-pkgs need-tools
need-tools: need-pkgs
	@[ -z "$(missing_tools)" ] || { \
		echo "gputrace: not installed: $(missing_tools): run 'make deps-check' (as root) first" >&2; exit 1; }
need-pkgs:
ifneq ($(missing),)
	@echo "gputrace: not installed: $(missing): run 'make deps' (as root) first" >&2; exit 1
endif

$(O)/obj/fs/fuse/%.o $(O)/obj/fs/main.o: extra = $(fuse_cflags)
$(O)/obj/fs/model/%.o $(O)/obj/fs/gate/%.o $(O)/obj/fs/stream/%.o: extra = -fstrict-aliasing $(hot_cflags)
$(O)/obj/fs/pipeline.o: extra = $(hot_cflags)
$(O)/obj/backend/ftrace/%.o $(O)/obj/backend/lib/threads.o $(O)/obj/backend/lib/kernel_types.o: extra = $(tracefs_cflags)
$(O)/obj/backend/bpf/%.o: extra = $(bpf_cflags)
$(O)/obj/backend/replay/%.o: extra = $(tracecmd_cflags)
$(O)/obj/tests/%.o: extra = $(fuse_cflags) $(tracecmd_cflags)
$(O)/obj/tests/bench/ingest.o $(O)/obj/tests/bench/gate.o: extra = $(hot_cflags)
$(O)/tests/bench/ingest $(O)/tests/bench/gate: gt_ldflags += $(hot_ldflags)

$(O)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(gt_cflags) $(extra) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(daemon): $(call obj,fs/main.c $(src_core) $(src_fuse))
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(gt_ldflags) $(hot_ldflags) $(LDFLAGS) $(CFLAGS) -o $@ $^ $(fuse_libs) $(inih_libs) $(privs_libs) $(archive_libs) \
		-ldl -lpthread

# The kernel module: by the kernel's own Makefiles, which understand O= and our flags otherwise
KDIR ?= /lib/modules/$(shell uname -r)/build
kmod:
	@[ -e $(KDIR)/Makefile ] || { echo "gputrace: no kernel headers in $(KDIR): see KDIR=" >&2; exit 1; }
	@mkdir -p $(O)/kmod
	@cp -u backend/relay/kmod/* $(O)/kmod/
	$(say) KMOD $(O)/kmod/grtrace.ko
	$(Q)env -u MAKEFLAGS -u MAKELEVEL -u O -u CC $(MAKE) -s -C $(KDIR) M=$(abspath $(O))/kmod modules

# Programs for the kernel: compiled by clang, whatever CC is, and wrapped into a header of the plugin
# as bpf/bpf_tracing.h names it
bpf_arch = $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
bpf_cflags_kernel = -std=gnu11 -g -O2 -target bpf -Wall -Wextra -Wno-unused-parameter \
	-D__$(shell uname -m)__ -D__TARGET_ARCH_$(bpf_arch) -I/usr/include/$(shell $(CC) -print-multiarch) -D_ASSERT_H \
	-D__ASSERT_FUNCTION -Dstatic_assert=_Static_assert \
	-mcpu=v3 # compare and exchange, and exchange: since Linux 5.12
$(O)/obj/bpf/%.bpf.o: bpf/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(BPF_CLANG) $(bpf_cflags_kernel) -MMD -MP -c -o $@ $<
$(O)/obj/bpf/%.skel.h: $(O)/obj/bpf/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.new && mv $@.new $@
$(call obj,$(call src_plugin,bpf)): | $(src_bpf:%.bpf.c=$(O)/obj/%.skel.h)

define plugin_rule
$(O)/lib/gputrace/$(1).so: $(call obj,$(call src_plugin,$(1)) $(src_eventmap))
	@mkdir -p $$(@D)
	$$(say) SO $$@
	$$(Q)$$(CC) -shared $$(filter -fsanitize% --coverage,$$(gt_ldflags)) $$(LDFLAGS) $$(CFLAGS) -o $$@ $$^ \
		$$(plugin_libs_$(1)) $$(inih_libs)
endef
$(foreach p,$(PLUGINS),$(eval $(call plugin_rule,$(p))))

$(O)/share/gputrace/events.d/%.ini: conf/events.d/%.ini
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(lib): $(call obj,$(src_core) $(src_eventmap) $(src_parts) $(wildcard tests/lib/*.c))
	$(say) AR $@
	$(Q)rm -f $@; $(AR) rcs $@ $^

test_libs = $(rocprof_libs) $(archive_libs) $(fuse_libs) $(privs_libs) $(tracecmd_libs) $(tracefs_libs) $(inih_libs) -ldl -lpthread -lm
define link_test
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(or $(filter -flto%,$(gt_ldflags)),-fno-lto) $(gt_ldflags) $(LDFLAGS) $(CFLAGS) -o $@ \
		$(filter %.o %.a,$^) $(test_libs)
endef
$(units) $(tools): | need-tools
$(units): $(O)/tests/%: $(O)/obj/tests/unit/%.o $(lib)
	$(link_test)
$(tools): $(O)/tests/%: $(O)/obj/tests/%.o $(lib)
	$(link_test)

.SECONDARY:
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

clean:
	rm -rf .output $(filter-out / . ./ ..,$(O))

# Packages -----------------------------------------------------------------------------------
#
# Each list names what its part calls itself, not what happens to come along.

DEPS := gcc libc6-dev make pkg-config fuse3 libfuse3-dev libinih-dev libcap-ng-dev libseccomp-dev \
	libtracefs-dev libtraceevent-dev libtracecmd-dev libcsv-dev libsqlite3-dev libyajl-dev libarchive-dev \
	zlib1g-dev \
	libbpf-dev clang bpftool mount less procps
# tests and benchmarks are built with the first one
DEPS_CHECK := libdrm-dev util-linux bsdextrautils coreutils findutils busybox-static babeltrace2 python3
DEPS_TEST := $(DEPS_CHECK) clang clang-format libclang-rt-dev trace-cmd mandoc rsync tar strace systemd python3-yaml \
	bzip2 xz-utils zstd
DEPS_VM := qemu-system-x86 busybox-static cpio kmod pahole xz-utils zstd
DEPS_WEB := chromium chromium-driver

deps:
	@tests/lib/apt.sh $(DEPS)
deps-check:
	@tests/lib/apt.sh $(DEPS_CHECK)
deps-test:
	@tests/lib/apt.sh $(DEPS_TEST)
deps-vm:
	@tests/lib/apt.sh $(DEPS_VM)
deps-web:
	@tests/lib/apt.sh $(DEPS_WEB)

# Running ------------------------------------------------------------------------------------

# What builds before it runs uses all CPUs, but where make got a -j
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# A package that was missing when make started changes what it found: start again after deps
demo: deps
	@$(MAKE) $(parallel) --no-print-directory all
	@O=$(O) tests/lib/demo.sh

# An ordinary user's make installs nothing: what is missing is said, or skipped
check:
	@OPTIONAL=1 tests/lib/apt.sh $(DEPS) $(DEPS_CHECK)
	@$(MAKE) $(parallel) --no-print-directory tools
	@O=$(O) CC=$(CC) tests/run.sh --check $(T)

test: deps deps-test
	@began=$$(date +%s) && $(MAKE) $(parallel) --no-print-directory tools && \
		BEGAN=$$began O=$(O) CC=$(CC) tests/run.sh $(T)

test-long: deps deps-test deps-vm
	@$(MAKE) $(parallel) --no-print-directory tools
	@O=$(O) CC=$(CC) tests/run.sh --long $(T)

test-vm: deps deps-test deps-vm
	@$(MAKE) $(parallel) --no-print-directory tools
	@O=$(O) tests/run.sh --guests $(T)

STRESS_SECONDS ?= 600
stress: deps deps-test deps-vm
	@$(MAKE) $(parallel) --no-print-directory tools
	@O=$(O) STRESS_SECONDS=$(STRESS_SECONDS) TIME_LIMIT=5400 GT_GUEST_LIMIT=6000 tests/run.sh --guests stress

# $(call write_part,PAGE,NAME,COMMAND): what COMMAND prints goes between the lines BEGIN NAME and END NAME of PAGE
define write_part
	$(say) MAN $(1)
	$(Q)$(3) >$(O)/part.mdoc
	$(Q)awk '/^.." END $(2)/ { skip = 0 } !skip; \
		/^.." BEGIN $(2)/ { while ((getline row <"$(O)/part.mdoc") > 0) print row; skip = 1 }' \
		$(1) >$(O)/page.mdoc
	$(Q)cp $(O)/page.mdoc $(1)
endef

# tests/cases/manual.sh has the same lists made and compares
man: tools
	$(call write_part,fs/gputrace-files.5,FILES,$(O)/tests/tools/filelist $(sort $(plugins)))
	$(call write_part,conf/gputrace-security.7,SHARES,$(O)/tests/tools/filelist shares)
	$(call write_part,conf/gputrace.conf.5,KEYS,$(O)/tests/tools/filelist keys)
	$(say) MAN conf/gputrace.conf
	$(Q){ sed '/^; What runs/,$$d' conf/gputrace.conf; $(O)/tests/tools/filelist conf; \
		sed -n '/^; Who may read/,$$p' conf/gputrace.conf; } >$(O)/page.conf
	$(Q)cp $(O)/page.conf conf/gputrace.conf

bench: deps deps-check
	@$(MAKE) $(parallel) --no-print-directory tools
	@O=$(O) tests/bench/run.sh
	@O=$(O) tests/bench/runtimes.sh
	@O=$(O) tests/bench/rocprof.sh
	@O=$(O) tests/bench/adaptive.sh
	@O=$(O) tests/bench/fairness.sh

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

# Installing ---------------------------------------------------------------------------------

D := $(DESTDIR)$(PREFIX)
INSTALL ?= install

# Where folders are in the end, a merged /usr's by the names that they have there: a link from /sbin would take the
# place of the program that it leads to
place = $(if $(filter y,$(USRMERGE)),$(patsubst /sbin,/usr/sbin,$(abspath $(1))),$(abspath $(1)))
sbin := $(call place,$(PREFIX)/sbin)
mountdir := $(call place,$(MOUNTDIR))

# A folder of DESTDIR may be a link with a whole path, which leads to this machine's
install: all
	@for d in $(sbin) $(mountdir) $(PREFIX) $(SYSCONFDIR); do \
		[ -z "$(DESTDIR)" ] || case $$(realpath -m "$(DESTDIR)$$d") in \
		"$$(realpath -m "$(DESTDIR)")"/*) ;; \
		*) echo "gputrace: $(DESTDIR)$$d leads out of $(DESTDIR)" >&2; exit 1 ;; \
		esac || exit; \
	done
	$(INSTALL) -d $(DESTDIR)$(sbin) $(D)/lib/gputrace $(D)/share/gputrace/events.d $(D)/include/gputrace \
		$(D)/share/man/man5 $(D)/share/man/man7 $(D)/share/man/man8 $(D)/bin $(DESTDIR)$(mountdir) $(DESTDIR)$(SYSCONFDIR)
	$(INSTALL) -m 755 $(daemon) $(DESTDIR)$(sbin)/mount.gputrace
	$(INSTALL) -m 644 $(plugins) $(D)/lib/gputrace/
	$(INSTALL) -m 644 $(maps) $(D)/share/gputrace/events.d/
	$(INSTALL) -m 644 backend/backend.h backend/event.h $(D)/include/gputrace/
	$(INSTALL) -m 644 $(filter %.5,$(man)) $(D)/share/man/man5/
	$(INSTALL) -m 644 $(filter %.7,$(man)) $(D)/share/man/man7/
	$(INSTALL) -m 644 $(filter %.8,$(man)) $(D)/share/man/man8/
	ln -sf mount.gputrace.8 $(D)/share/man/man8/gputrace.8
	$(INSTALL) -d $(D)/lib/systemd/system $(D)/lib/sysusers.d $(D)/lib/tmpfiles.d
	sed 's|@PREFIX@|$(PREFIX)|' conf/gputrace.service >$(D)/lib/systemd/system/gputrace.service
	$(INSTALL) -m 644 conf/sysusers.conf $(D)/lib/sysusers.d/gputrace.conf
	$(INSTALL) -m 644 conf/tmpfiles.conf $(D)/lib/tmpfiles.d/gputrace.conf
	[ -e $(DESTDIR)$(SYSCONFDIR)/gputrace.conf ] || \
		$(INSTALL) -m 644 conf/gputrace.conf $(DESTDIR)$(SYSCONFDIR)/gputrace.conf
	ln -sf $(sbin)/mount.gputrace $(D)/bin/gputrace
	[ $(DESTDIR)$(mountdir) -ef $(DESTDIR)$(sbin) ] || \
		ln -sf $(sbin)/mount.gputrace $(DESTDIR)$(mountdir)/mount.gputrace
	ln -sf $(sbin)/mount.gputrace $(DESTDIR)$(mountdir)/mount.fuse.gputrace

uninstall:
	rm -f $(DESTDIR)$(sbin)/mount.gputrace $(D)/bin/gputrace $(DESTDIR)$(mountdir)/mount.gputrace \
		$(DESTDIR)$(mountdir)/mount.fuse.gputrace
	rm -f $(patsubst %.5,$(D)/share/man/man5/%.5,$(notdir $(filter %.5,$(man)))) \
		$(patsubst %.7,$(D)/share/man/man7/%.7,$(notdir $(filter %.7,$(man)))) \
		$(patsubst %.8,$(D)/share/man/man8/%.8,$(notdir $(filter %.8,$(man)))) $(D)/share/man/man8/gputrace.8
	rm -f $(D)/lib/systemd/system/gputrace.service $(D)/lib/sysusers.d/gputrace.conf \
		$(D)/lib/tmpfiles.d/gputrace.conf
	! cmp -s conf/gputrace.conf $(DESTDIR)$(SYSCONFDIR)/gputrace.conf || \
		rm -f $(DESTDIR)$(SYSCONFDIR)/gputrace.conf
	rm -rf $(D)/lib/gputrace $(D)/share/gputrace $(D)/include/gputrace
	for d in share/man/man5 share/man/man7 share/man/man8 lib/systemd/system lib/systemd lib/sysusers.d lib/tmpfiles.d; do \
		[ ! -d $(D)/$$d ] || rmdir --ignore-fail-on-non-empty $(D)/$$d || exit; \
	done
