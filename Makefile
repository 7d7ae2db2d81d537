# SPDX-License-Identifier: MIT
#
# flamerun: one non-recursive Makefile, everything it makes goes under build/.
# `make help` lists the targets. Sources are found by folder: a new file needs no line here.

VERSION := 0.1.0
ABI     := 1

ARCH ?= $(shell uname -m)
ifneq ($(ARCH),$(shell uname -m))
CROSS_COMPILE ?= $(ARCH)-linux-gnu-
BUILD ?= build/$(ARCH)
# The other CPU's libraries: what `make sysroot` unpacked, else what the cross compiler finds.
SYSROOT ?= $(wildcard build/sysroot-$(ARCH))
emulator = TEST_EMULATED=1 timeout -k 1 300 qemu-$(ARCH) -L $(abspath $(SYSROOT))
endif
BUILD ?= build
emulator ?= timeout -k 1 300

ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR := $(CROSS_COMPILE)ar
endif
ifeq ($(SYSROOT),)
PKG_CONFIG ?= $(CROSS_COMPILE)pkg-config
else
PKG_CONFIG ?= PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
	PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(ARCH)-linux-gnu/pkgconfig:$(abspath $(SYSROOT))/usr/share/pkgconfig pkg-config
endif
INSTALL    ?= install
OBJCOPY    ?= $(CROSS_COMPILE)objcopy
PYTHON     := /usr/bin/python3
PYTEST     := pytest-3

# What a build needs, as Debian package:header that proves it is there. Only `make demo` and
# `make check` install packages; everything else names what is missing.
build_needs    := libc6-dev:stdio.h libcairo2-dev:cairo/cairo.h libdw-dev:elfutils/libdwfl.h \
	libelf-dev:libelf.h libiberty-dev:libiberty/demangle.h zlib1g-dev:zlib.h \
	liblzma-dev:lzma.h libzstd-dev:zstd.h libinih-dev:ini.h libncurses-dev:curses.h libunwind-dev:libunwind.h \
	libcurl4-openssl-dev:curl/curl.h libxxhash-dev:xxhash.h libpcre2-dev:pcre2posix.h
# Bundles and minifies the viewer. What `make dist` packs brings the result along; without that folder
# it is made anew.
viewer_packed := $(wildcard share/viewer/packed)
viewer_tool   := $(if $(viewer_packed),,esbuild)
# Where it is missing zlib inflates, in thrice the time.
faster_needs   := libdeflate-dev
build_packages := gcc pkgconf $(foreach need,$(build_needs),$(firstword $(subst :, ,$(need)))) \
	$(viewer_tool) $(faster_needs)
test_packages  := libcmocka-dev python3 python3-pytest python3-pytest-xdist python3-pytest-rerunfailures python3-greenlet python3-gevent g++ binutils clang llvm dwz \
	libclang-rt-dev clang-tidy cppcheck gcc-aarch64-linux-gnu qemu-user procps libxml2-utils \
	librsvg2-bin poppler-utils chromium chromium-headless-shell chromium-driver nodejs perl php-cli ruby xz-utils bash-completion zsh fish mandoc man-db golang-go musl-tools \
	gdb valgrind linux-perf libc++abi1 liblua5.4-dev lua5.1 lua5.2 lua5.3 lua5.4 lua5.5 redis-tools tmux proot faketime bubblewrap
# A cluster on one machine, and what runs on it.
job_packages := slurmctld slurmd slurm-client libslurm-dev iproute2 openmpi-bin libopenmpi-dev mpich libmpich-dev
# Servers of a fleet's store.
store_packages := clickhouse-server
sysroot_packages := $(foreach need,$(build_needs),$(firstword $(subst :, ,$(need)))) \
	libcmocka-dev liblua5.4-dev $(faster_needs)

prefix      ?= /usr/local
exec_prefix ?= $(prefix)
bindir      ?= $(exec_prefix)/bin
libdir      ?= $(exec_prefix)/lib
includedir  ?= $(prefix)/include
pkgconfigdir ?= $(libdir)/pkgconfig
datarootdir ?= $(prefix)/share
mandir      ?= $(datarootdir)/man
docdir      ?= $(datarootdir)/doc/flamerun
sysconfdir  ?= $(prefix)/etc

Q := $(if $(V),,@)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wpointer-arith -Wwrite-strings $(if $(WERROR),-Werror)
OPTIMIZE := $(if $(DEBUG),-O0,-O2)
sysroot_flags := $(if $(SYSROOT),--sysroot=$(abspath $(SYSROOT)))
base_cflags := $(sysroot_flags) -std=gnu11 -g $(OPTIMIZE) $(WARNINGS) -fno-omit-frame-pointer -fvisibility=hidden \
	-I. -Iarch/$(ARCH) -D_GNU_SOURCE -DFLAMERUN_VERSION='"$(VERSION)"'

# What is preloaded into programs that are not sanitized themselves cannot be, and ThreadSanitizer without
# the library has little to look at.
ifneq ($(findstring thread,$(SAN)),)
$(error SAN=thread would leave libflameprof without ThreadSanitizer: make check-tsan, or for a program \
	that links it make BUILD=build/tsan CFLAGS=-fsanitize=thread build/tsan/libflameprof.a)
endif
# Level and lines are what reports take: it compiles in half the time. Warnings are the plain build's: at
# this level some are wrong.
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -O1 -g1 -w)
# The runtime inside the program: gcc's shared one insists on coming before every LD_PRELOAD.
san_link    := $(if $(findstring clang,$(CC)),,$(if $(findstring address,$(SAN)),-static-libasan) \
	$(if $(findstring undefined,$(SAN)),-static-libubsan))
san_objects := $(if $(SAN),$(BUILD)/obj/tests/setup/leaks.o)

# The guest: position independent, no stack protector, no thread-local storage, nothing but libc. gcc
# writes down what each function takes of the stack, for tests/lint/lint_stack.py.
prof_cflags := $(base_cflags) -fPIC -fno-exceptions -fasynchronous-unwind-tables \
	-ffunction-sections $(if $(findstring -flto,$(CFLAGS)),,$(if $(findstring gcc,$(CC)),-fcallgraph-info=su))
# Whatever CFLAGS ask for, as those of distributions do.
prof_last   := -fno-stack-protector
cli_packages := cairo libelf liblzma libzstd inih ncursesw libpcre2-8
# Asked once and only when something is compiled: `make help` works without pkg-config.
faster_package = $(eval faster_package := $$(shell $(PKG_CONFIG) --exists libdeflate && echo libdeflate))$(faster_package)
ask_packages = $(shell $(PKG_CONFIG) $(1) $(cli_packages) $(faster_package))
package_cflags = $(eval package_cflags := $$(call ask_packages,--cflags) $$(if \
	$$(faster_package),-DHAVE_LIBDEFLATE))$(package_cflags)
package_libs   = $(eval package_libs := $$(call ask_packages,--libs))$(package_libs)
# The build folder has what is made for including.
cli_cflags  = $(base_cflags) -I$(BUILD) -fPIE $(SAN_FLAGS) $(package_cflags)
# Where things get installed stands in the few files that name it: another prefix compiles those alone.
path_flags  = -DFLAMERUN_BINDIR='"$(bindir)"' -DFLAMERUN_LIBDIR='"$(libdir)"' \
	-DFLAMERUN_SYSCONFDIR='"$(sysconfdir)"'
# Of libunwind the part that walks other processes.
cli_libs    = $(package_libs) -lunwind-generic -liberty -lz -lm -lpthread

# First what every process runs and writes: the threads' entries, which then begin beside initialised
# data, and what starts and ends with a process, without the handler's 50 KB between its parts. In the
# order of names an exec costs nine page faults more.
at_start       := libprof/sampler/sampler.c $(wildcard libprof/preload/*.c) \
	$(filter-out %/sampler.c %/handler.c,$(wildcard libprof/sampler/*.c))
prof_sources   := $(at_start) $(filter-out $(at_start),$(wildcard libprof/*.c libprof/*/*.c \
	arch/$(ARCH)/*.c arch/$(ARCH)/*.S))
cli_sources    := $(wildcard cli/*.c cli/*/*.c)
render_sources := $(wildcard render/*.c render/*.S)
viewer_sources := $(wildcard share/viewer/*.js share/viewer/*.css)
unit_sources   := $(wildcard tests/unit/test-*.c)
target_sources := $(wildcard tests/targets/*.c tests/targets/*.cc)

objects = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
# Where they are compiled: what is the same for two builds is compiled for one of them.
PROF_BUILD     ?= $(BUILD)
prof_objects   := $(patsubst %,$(PROF_BUILD)/obj/%.o,$(basename $(prof_sources)))
cli_objects    := $(call objects,$(cli_sources))
render_objects := $(call objects,$(render_sources))
# What of the library is flamerun's, too: compiled as flamerun is, file by file, as the guest's archive
# would bring the interposers along.
shared_sources := $(wildcard libprof/pprof/*.c libprof/profile/*.c libprof/runtime/*.c libprof/waits/*.c) libprof/procfs.c libprof/follow_links.c libprof/preload/elf_program.c
shared_objects := $(patsubst %,$(BUILD)/obj/flamerun/%.o,$(basename $(shared_sources)))
main_object    := $(BUILD)/obj/cli/main.o
UNIT           ?= %
unit_tests     := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(filter $(UNIT:%=tests/unit/test-%.c),$(unit_sources)))
LIBRARY        := $(BUILD)/libflameprof.so.$(ABI)
PROGRAM        := $(BUILD)/flamerun
ARCHIVE        := $(BUILD)/libflameprof.a
PKGCONFIG_FILE := $(BUILD)/flameprof.pc
public_headers := $(wildcard libprof/flameprof*.h)
# A host for Debian's Lua where that is: its archive, so that the linker can divert calls inside of it.
lua_archive := $(filter /%,$(shell $(CC) $(sysroot_flags) -print-file-name=liblua5.4.a 2>/dev/null))
lua_headers := $(wildcard $(SYSROOT)/usr/include/lua5.4)
# It knows the inside of some releases; its header refuses the others.
lua_is_known = $(shell $(CC) $(sysroot_flags) -E -isystem $(lua_headers) -include share/examples/lua/internals.h \
	-x c /dev/null >/dev/null 2>&1 && echo yes)
FLAMELUA    := $(if $(and $(lua_archive),$(lua_headers)),$(if $(lua_is_known),$(BUILD)/flamelua))
example_names  := $(filter-out demo%,$(notdir $(basename $(wildcard share/examples/*.c))))
examples       := $(addprefix $(BUILD)/examples/,$(example_names))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

.PHONY: all
all: $(PROGRAM) $(LIBRARY) $(ARCHIVE) $(PKGCONFIG_FILE) $(FLAMELUA) ## build flamerun and libflameprof

# Looked for once per build folder, before anything is compiled.
$(BUILD)/dependencies:
	@mkdir -p $(@D)
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' TOOLS='$(viewer_tool)' CPPFLAGS='$(sysroot_flags) $(CPPFLAGS)' \
		HINT='$(if $(CROSS_COMPILE),make sysroot ARCH=$(ARCH))' \
		tests/setup/probe.sh $(build_needs) && touch $@

# Where it is installed, what was compiled once is not compiled again.
ccache := $(shell command -v ccache)
# It does not keep the call graphs that gcc writes beside the library's objects.
$(prof_objects): ccache :=

# Rewritten only when the flags change, so that objects follow their flags.
quoted = '$(subst ','\'',$(1))'
flags_text = $(CC) | $(prof_cflags) $(prof_last) | $(binding) | $(cli_cflags) | $(CFLAGS) | $(CPPFLAGS) | $(LDFLAGS)
$(BUILD)/flags: text = $(flags_text)
$(BUILD)/paths: text = $(path_flags)
$(BUILD)/flags $(BUILD)/paths: $(BUILD)/dependencies FORCE
	@printf '%s\n' $(call quoted,$(text)) | cmp -s - $@ || printf '%s\n' $(call quoted,$(text)) > $@
.PHONY: FORCE
FORCE:

$(prof_objects): flags = $(prof_cflags)
$(prof_objects): last = $(prof_last)
# What handlers and interposers call of libc is looked up when the library is loaded, never in their
# midst; all else at its first call: most images never come there, and each name costs every exec.
# Not all compilers for aarch64 can tell the two apart.
binding := $(if $(filter x86_64,$(ARCH)),lazy,now)
bound_early := $(filter libprof/preload/%,$(prof_sources)) \
	$(shell grep -l '^/\* ASYNC-SIGNAL-SAFE' $(filter %.c,$(prof_sources)))
$(call objects,$(bound_early)): flags = $(prof_cflags) -fno-plt
$(cli_objects) $(render_objects) $(shared_objects) $(san_objects): flags = $(cli_cflags)
path_objects := $(call objects,$(shell grep -lE 'FLAMERUN_(BIN|LIB|SYSCONF)DIR' $(prof_sources) $(cli_sources)))
$(path_objects): flags += $(path_flags)
$(path_objects): $(BUILD)/paths

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC      $<")
	$(Q)$(ccache) $(CC) $(flags) $(CPPFLAGS) $(CFLAGS) $(last) -MMD -MP -c -o $@ $<

$(BUILD)/obj/flamerun/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC      $< (flamerun)")
	$(Q)$(ccache) $(CC) $(flags) $(CPPFLAGS) $(CFLAGS) $(last) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.S $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  AS      $<")
	$(Q)$(ccache) $(CC) $(flags) -I$(BUILD) $(CPPFLAGS) $(CFLAGS) $(last) -MMD -MP -c -o $@ $<

# One segment for code and constants: every exec'd image maps and touches fewer pages. The compiler's
# start files would take the fork handlers away before other libraries' destructors run, which may
# fork.
$(LIBRARY): $(prof_objects) libprof/flameprof.map libprof/shared_with_host.map
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) -shared -nostartfiles -o $@ $(prof_objects) -Wl,-soname,$(@F) -Wl,--version-script=libprof/flameprof.map \
		-Wl,--dynamic-list=libprof/shared_with_host.map -Wl,-z,$(binding) -Wl,-z,relro -Wl,-z,nodelete -Wl,-z,noseparate-code -Wl,--no-undefined -Wl,--gc-sections $(LDFLAGS)

# What a program links: all but the interposers, as one object, so that hidden names stay inside.
$(BUILD)/flameprof.o: $(filter-out $(PROF_BUILD)/obj/libprof/preload/%,$(prof_objects))
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) $(CFLAGS) -r -nostdlib -o $@ $^ && $(OBJCOPY) --localize-hidden $@
$(ARCHIVE): $(BUILD)/flameprof.o

define pkgconfig_text
prefix=$(prefix)
libdir=$(patsubst $(prefix)/%,$${prefix}/%,$(libdir))
includedir=$(patsubst $(prefix)/%,$${prefix}/%,$(includedir))

Name: flameprof
Description: a program profiles itself and draws flame graphs
Version: $(VERSION)
Libs: -L$${libdir} -lflameprof
Libs.private: -Wl,--eh-frame-hdr -lpthread
Cflags: -I$${includedir}
endef
export pkgconfig_text
$(PKGCONFIG_FILE): FORCE
	@mkdir -p $(@D)
	@printenv pkgconfig_text | cmp -s - $@ || printenv pkgconfig_text > $@

$(BUILD)/librender.a: $(render_objects)
$(BUILD)/libcli.a: $(filter-out $(main_object),$(cli_objects)) $(shared_objects)
# Tests call libc's, which a sanitizer watches.
$(BUILD)/libprof.a: $(filter-out %/mem_calls.o,$(prof_objects))
$(BUILD)/%.a:
	@$(if $(V),,echo "  AR      $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/system_calls.inc: $(BUILD)/flags
	$(Q)echo '#include <sys/syscall.h>' | $(CC) $(sysroot_flags) $(CPPFLAGS) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' > $@
$(BUILD)/obj/cli/symbols/call_number.o: $(BUILD)/system_calls.inc

# The rules of the viewer as strings of C.
$(BUILD)/renumbered.inc: share/viewer/renumbered.js $(BUILD)/flags
	$(Q)sed -n -e 's/[\\"]/\\&/g' -e "s|^\t\[/\(.*\)/g, '\(.*\)'\],$$|{\"\1\", \"\2\"},|p" $< > $@
$(BUILD)/obj/cli/compare/renumbered.o: $(BUILD)/renumbered.inc

$(PROGRAM): $(main_object) $(san_objects) $(BUILD)/libcli.a $(BUILD)/librender.a
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) -pie $(SAN_FLAGS) $(san_link) -o $@ $^ -Wl,-z,now -Wl,-z,relro $(LDFLAGS) $(cli_libs)

# The viewer as it stands in every picture. The loader is text within CDATA, which "]]>" would end:
# lint_viewer allows "]]>" in code only, where "]] >" means the same. The style, a zero byte and the
# script are compressed, and the loader inflates them.
esbuild = esbuild --minify --log-level=warning
bundle  = $(esbuild) --bundle --format=iife --target=es2022
$(BUILD)/viewer.base64 $(BUILD)/loader.js: $(viewer_sources) $(BUILD)/dependencies
	@mkdir -p $(@D)
	@$(if $(V),,echo "  VIEWER  $@")
	$(Q)$(if $(viewer_packed),cp $(viewer_packed)/$(@F) $@,$(make_viewer))
$(BUILD)/loader.js: make_viewer = $(bundle) share/viewer/$(@F) | sed 's/]]>/]] >/g' > $@
$(BUILD)/viewer.base64: make_viewer = { $(esbuild) share/viewer/viewer.css && printf '\000' && \
	$(bundle) share/viewer/main.js --footer:js='//\# sourceURL=flamerun-$(VERSION)/viewer.js'; \
	} > $(BUILD)/viewer.plain && gzip -9n -c $(BUILD)/viewer.plain | base64 -w 720 > $@
$(BUILD)/obj/render/viewer.o: $(BUILD)/viewer.base64 $(BUILD)/loader.js

# cmocka 2 says that assert_in_range() is deprecated; older ones have nothing else.
$(BUILD)/tests/unit/%: tests/unit/%.c $(san_objects) $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a \
		$(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(cli_cflags) -Wno-deprecated-declarations $(path_flags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $< $(san_objects) $(san_link) \
		$(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a $(LDFLAGS) $(cli_libs) -lcmocka -ldw -ldl \
		$(unit_libs)

# libunwind is the oracle of the unwinder's tests and is linked nowhere else.
$(BUILD)/tests/unit/test-unwind_%: unit_libs = -lunwind
$(BUILD)/tests/unit/test-publish_libunwind: unit_libs = -lunwind

# ---- set-up and demo ----------------------------------------------------------------------------
# A second make does the work: what was asked before the packages came would be wrong.
jobs = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: demo
demo: ## install what a build needs, build, profile an example program into demo.svg
	@YES='$(YES)' tests/setup/packages.sh $(build_packages)
	+@$(MAKE) --no-print-directory $(jobs) all $(BUILD)/demo
	$(PROGRAM) -o demo.svg --title 'flamerun demo' -- $(BUILD)/demo
	@echo
	@echo "The picture is demo.svg. Open it in a browser and click into it:"
	@echo "  file://$(abspath demo.svg)"

# As a distribution builds programs: optimised, without frame pointers.
$(BUILD)/demo: $(wildcard share/examples/demo*.c)
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) -std=gnu11 -O2 -fomit-frame-pointer $(WARNINGS) -D_GNU_SOURCE -I. -o $@ \
		$(filter %.c,$^) -lm -lpthread

.PHONY: spank
spank: $(BUILD)/spank_flamerun.so ## build the plugin for srun --flamerun=FILE; wants libslurm-dev
$(BUILD)/spank_flamerun.so: share/slurm/spank_flamerun.c
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(base_cflags) -fvisibility=default -fPIC $(CPPFLAGS) $(CFLAGS) -shared -o $@ $< $(LDFLAGS)

.PHONY: examples
examples: $(examples) $(FLAMELUA) ## build the programs of share/examples that use the library
$(BUILD)/libflameprof.so: $(LIBRARY)
	$(Q)ln -sf $(<F) $@
$(BUILD)/examples/%: share/examples/%.c $(BUILD)/libflameprof.so $(public_headers)
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) -std=gnu11 -O2 -fomit-frame-pointer $(WARNINGS) -Ilibprof -o $@ $< \
		-L$(BUILD) -lflameprof -Wl,-rpath,'$$ORIGIN/..' -lpthread

# -E: modules in C find Lua in the program, as they do in lua5.4.
$(BUILD)/flamelua: $(wildcard share/examples/lua/*) $(ARCHIVE) $(lua_archive) $(public_headers)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(sysroot_flags) -std=gnu11 -g -O2 -fomit-frame-pointer $(WARNINGS) -D_GNU_SOURCE -I. -Ilibprof \
		-isystem $(lua_headers) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c,$^) $(ARCHIVE) \
		@share/examples/lua/wrapped.flags -Wl,-E -Wl,--whole-archive $(lua_archive) -Wl,--no-whole-archive \
		-Wl,--eh-frame-hdr $(LDFLAGS) -lm -ldl -lpthread

.PHONY: sysroot
sysroot: build/sysroot-$(ARCH)/complete ## unpack another CPU's libraries: make sysroot ARCH=aarch64
build/sysroot-$(ARCH)/complete: build/sysroot-$(ARCH).packages
	rm -rf $(@D)
	tests/setup/sysroot.sh $(ARCH) $(@D) $(sysroot_packages)
build/sysroot-$(ARCH).packages: FORCE
	@mkdir -p $(@D)
	@echo '$(sysroot_packages)' | cmp -s - $@ || echo '$(sysroot_packages)' > $@

# ---- checks --------------------------------------------------------------------------------------
# What there is to check, about how many seconds it takes on two processors, and how many tests it has at
# least: four fifths of those that there were. Those with a + run beside the others, see
# tests/setup/checks.sh.
check_parts := check-tsan+:60:92 check-aarch64+:90:180 check-unit:70:1060 lint+:100 check-san:160:930 \
	check-e2e:500:1640 check-zoo:110:15 check-container:45:280 check-browser:120:290
# What a change needs of all there is; ALL=1, which is check-all's, takes the rest as well.
some = $(if $(ALL),,$(1))

.PHONY: packages
packages: ## install what the tests need
	@YES='$(YES)' tests/setup/packages.sh $(build_packages) $(test_packages) \
		$(if $(ALL),$(job_packages) $(store_packages))
	@YES='$(YES)' tests/setup/packages.sh $$(tests/zoo/zoo.py --packages $(zoo_rows))

.PHONY: check
check: packages ## install what the tests need, then run those that every change needs
	+@$(MAKE) --no-print-directory $(jobs) WERROR=1 all examples
	+@MAKE='$(MAKE) WERROR=1 ZOO=$(zoo_rows)' JOBS='$(jobs)' tests/setup/checks.sh $(check_parts)

.PHONY: check-all
check-all: ## all of them in every way: sanitized, confined, emulated, on all releases; hours
	+@$(MAKE) --no-print-directory check ALL=1
	+@$(MAKE) --no-print-directory check-releases

# Each program is run by a target of its own, so that -j runs some side by side; what it said is in a log
# beside it. None stops the others: make's last line counts what failed.
unit_runs := $(unit_tests:=.log)
.PHONY: check-unit $(unit_runs)
check-unit: $(unit_runs) ## run the unit tests; UNIT='stub% elf_file' for some of them
	@tests/setup/verdict.sh $^
$(unit_runs): %.log: %
	@$(emulator) $< >$@ 2>&1 || echo "flamerun: $< ended with status $$?" >>$@

# A unit test says in its second line which checks besides check-unit run it: "sanitized" is check-san,
# "threads" check-tsan, "emulated" check-aarch64. With ALL=1 the first and the last run all of them.
marked = $(patsubst tests/unit/test-%.c,%,$(shell grep -l '^/\* Checked also:.* $(1)[,.]' $(unit_sources)))

# SAN= sanitizes flamerun, and those parts of the library that flamerun is made of.
.PHONY: check-san
check-san: $(prof_objects) ## run the unit tests, and flamerun in the end-to-end tests, under ASan and UBSan
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/san PROF_BUILD=$(PROF_BUILD) SAN=address,undefined \
		UNIT='$(if $(ALL),%,$(call marked,sanitized))' check-unit check-e2e

# Threads against each other: what a program links, without the interposers, and the tests of sessions.
# A handler runs where ThreadSanitizer lets it, at the next call it knows: what a handler does is
# checked against other threads, not what it interrupts.
tsan_flags  = -fsanitize=thread $(if $(findstring clang,$(CC)),,-Wno-tsan) $(CFLAGS)
.PHONY: check-tsan
check-tsan: ## run the tests of sessions under ThreadSanitizer
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CFLAGS='$(tsan_flags)' check-linked
linked_runs := $(patsubst %,$(BUILD)/tests/linked/test-%.log,$(call marked,threads))
.PHONY: check-linked $(linked_runs)
check-linked: $(linked_runs)
	@tests/setup/verdict.sh $^
$(linked_runs): %.log: %
	@timeout -k 1 300 $< >$@ 2>&1 || echo "flamerun: $< ended with status $$?" >>$@

$(BUILD)/liblinked.a: $(filter-out $(PROF_BUILD)/obj/libprof/preload/%,$(prof_objects))
$(BUILD)/tests/linked/%: tests/unit/%.c tests/setup/tsan.c $(BUILD)/liblinked.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(base_cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $< \
		tests/setup/tsan.c $(BUILD)/liblinked.a $(LDFLAGS) -lcmocka -lpthread -ldl

export_build = TEST_BUILD='$(abspath $(BUILD))' $(if $(ALL),TEST_ALL=1)
.PHONY: check-e2e
check-e2e: all examples $(if $(ALL),spank) ## run the end-to-end tests: flamerun over tests/targets
	$(export_build) $(if $(SAN),TEST_SANITIZED=1) tests/setup/pytest.sh tests/e2e $(if $(SAN),$(call some,sanitized))

# The runtimes' own tracebacks are the truth of these.
truths = $(sort $(wildcard tests/e2e/test_*_truth.py) $(shell grep -l '^import told_stacks' tests/e2e/test_*.py))
.PHONY: check-truth
check-truth: all examples ## the end-to-end tests of Python, node, Java, PHP, Ruby, Perl and Lua alone
	$(export_build) tests/setup/pytest.sh tests/e2e '' $(truths)

# Each release in a root of its own, kept there for the next time.
ROOTS ?= $(or $(XDG_CACHE_HOME),/var/tmp)/flamerun-roots
.PHONY: check-releases
check-releases: ## packages, units, zoo and runtimes on each release of Debian; as root: ROOTS= RELEASES= PARTS=
	@YES='$(YES)' tests/setup/packages.sh debootstrap git bsdextrautils
	PARTS='$(PARTS)' tests/setup/releases.sh '$(ROOTS)' $(RELEASES)

# The table of rows says which packages they are of: `make check` installs those of what it runs.
ZOO      ?= zoo
zoo_rows := $(if $(ALL),all,core)
.PHONY: check-zoo
check-zoo: all ## flamerun beside small programs of every language; ZOO=core, ZOO='rust go*' for some
	FLAMERUN='$(or $(FLAMERUN),$(abspath $(PROGRAM)))' tests/zoo/zoo.py $(foreach row,$(ZOO),'$(row)')

.PHONY: check-container
check-container: all ## the end-to-end tests as a user in a container has it
	$(export_build) CC='$(CC)' tests/e2e/container.sh $(call some,confined)

.PHONY: check-browser
check-browser: all ## the picture's viewer in a headless browser: BROWSER=firefox, BROWSER=chromium
	FLAMERUN='$(abspath $(PROGRAM))' $(if $(ALL),BROWSER='$(or $(BROWSER),chromium)') PER_TWO_CPUS=4 tests/setup/pytest.sh tests/browser

# Of the interpreter's tests a few: emulators are slow.
.PHONY: check-lua
check-lua: $(FLAMELUA)
	$(export_build) TEST_EMULATOR='env $(emulator)' $(PYTEST) -q -p no:cacheprovider tests/e2e/test_lua.py \
		-k 'scripts_mean_the_same and all or native_stack'

.PHONY: check-aarch64
check-aarch64: ## build everything for aarch64, run its unit tests in qemu: stacks, rings, stubs
	+@$(MAKE) --no-print-directory sysroot ARCH=aarch64
	+@$(MAKE) --no-print-directory ARCH=aarch64 WERROR=1 UNIT='$(if $(ALL),%,$(call marked,emulated))' \
		all check-unit $(if $(ALL),check-lua)

# Which lines of all this are run: of the library's what its unit programs run, as what is put into other
# people's programs must not write files there. A few tests of sizes and times fail in such programs.
.PHONY: coverage
coverage: ## count the lines that check-unit and check-e2e run, by folder
	-+@$(MAKE) --no-print-directory BUILD=$(BUILD)/cov/unit CFLAGS=--coverage LDFLAGS=--coverage check-unit
	-+@GCOV_ERROR_FILE=/dev/null $(MAKE) --no-print-directory BUILD=$(BUILD)/cov/e2e SAN_FLAGS=--coverage check-e2e
	tests/coverage.py $(BUILD)/cov/unit $(BUILD)/cov/e2e -o $(BUILD)/cov/lines

# An hour and more for 200 of them.
N    ?= 200
SEED ?= 1
.PHONY: mutants
mutants: ## make N=200 small mistakes, chosen by SEED=1: what do the tests notice?
	tests/mutants.py $(N) $(SEED)

# What a fuzzer finds crash-free for a minute each; FUZZ_S= for longer.
FUZZ_S ?= 60
fuzzers := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz-*.c))
.PHONY: fuzz
fuzz: ## feed hostile bytes to what reads files, pipe and memory (clang)
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz-objects CC=clang SAN=address,undefined \
		CFLAGS='-O2 -fsanitize=fuzzer-no-link $(CFLAGS)' \
		$(addprefix $(BUILD)/fuzz-objects/,libcli.a librender.a libprof.a)
	+@$(MAKE) --no-print-directory $(fuzzers)
	@for f in $(fuzzers); do \
		echo "  FUZZ    $$f"; mkdir -p $$f.corpus; ASAN_OPTIONS=leak_check_at_exit=0 \
		$$f -max_total_time=$(FUZZ_S) -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=$(BUILD)/fuzz/ $$f.corpus || exit 1; \
	done

# Files as small as they get, for each version of DWARF.
inline_seeds := $(BUILD)/fuzz/fuzz-inlines.corpus/built
$(BUILD)/fuzz/fuzz-inlines: $(inline_seeds)
$(inline_seeds): tests/fuzz/seed-inlines.c
	@mkdir -p $(@D)
	$(Q)for cc in gcc clang 'gcc -x c++'; do for kind in 2 3 4 5 '4 -gz'; do \
		$$cc -O2 -gdwarf-$$kind -ffreestanding -nostdlib -fPIC -shared -Wl,--build-id=none \
			-Wl,-z,noseparate-code,-z,max-page-size=16 \
			-o "$(@D)/$$cc-$$kind" $< || exit 1; \
	done; done; touch $@

$(BUILD)/fuzz/%: tests/fuzz/%.c FORCE
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)clang $(base_cflags) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(package_cflags) -o $@ $< $(addprefix $(BUILD)/fuzz-objects/,libcli.a librender.a libprof.a) \
		$(cli_libs)

bench_programs := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/bench-*.c))
.PHONY: bench
bench: all $(bench_programs) $(BUILD)/bench/fleet ## measure against alternatives, side by side; asserts nothing
	@for b in $(bench_programs); do echo "  BENCH   $$b"; $$b || exit 1; done
	@for b in $(wildcard tests/bench/bench*.py); do echo "  BENCH   $$b"; BUILD='$(BUILD)' $(PYTHON) $$b || exit 1; done

$(BUILD)/bench/bench-picture: $(BUILD)/librender.a $(BUILD)/libcli.a
$(BUILD)/bench/bench-picture: bench_libs = $(BUILD)/librender.a $(BUILD)/libcli.a $(package_libs) -lz -lm

$(BUILD)/bench/bench-aggregate: tests/bench/recording.h $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a
$(BUILD)/bench/bench-aggregate: bench_libs = $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a $(cli_libs)

# Fills a store with the profiles of many machines: run by hand, against servers.
$(BUILD)/bench/fleet: $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a
$(BUILD)/bench/fleet: bench_libs = $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a $(cli_libs)

$(BUILD)/bench/bench-inlines: $(BUILD)/libcli.a
$(BUILD)/bench/bench-inlines: bench_libs = $(BUILD)/libcli.a $(cli_libs)

$(BUILD)/bench/bench-stub: $(BUILD)/libprof.a
$(BUILD)/bench/bench-stub: bench_libs = -fno-omit-frame-pointer $(BUILD)/libprof.a -lpthread -ldl

$(BUILD)/bench/bench-interrupt: $(BUILD)/libprof.a
$(BUILD)/bench/bench-interrupt: bench_libs = $(BUILD)/libprof.a -lpthread -ldl

$(BUILD)/bench/bench-runtime_walk: $(BUILD)/libcli.a
$(BUILD)/bench/bench-runtime_walk: bench_libs = $(BUILD)/libcli.a -lpthread -ldl

$(BUILD)/bench/bench-vmstack: $(BUILD)/libprof.a
$(BUILD)/bench/bench-vmstack: bench_libs = $(BUILD)/libprof.a -lpthread -ldl

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(base_cflags) -fomit-frame-pointer $(CPPFLAGS) $(CFLAGS) -o $@ $< $(bench_libs) $(LDFLAGS) -lunwind

lints := $(sort $(wildcard tests/lint/lint_*))
lint_runs := $(lints:tests/lint/%=$(BUILD)/lint/%.log)
# What is built here, with warnings as errors, needs no build of its own to be read by that compiler;
# and clang's warnings are among those of clang-tidy, which reads all files in a quarter of the time.
read_here := $(if $(WERROR),$(filter gcc clang,$(CC)))
.PHONY: lint
lint: $(if $(read_here),$(unit_tests)) $(addprefix lint-,$(filter-out $(read_here) $(call some,clang),gcc clang))
lint: $(lint_runs) ## check the rules of the house: layers, sizes, symbols, warnings
	@cat $(lint_runs); ! grep -qs '^failed: ' $(lint_runs)

# Side by side, as unit programs are, and beside what is compiled.
.PHONY: $(lint_runs)
$(lint_runs): $(BUILD)/lint/%.log: all
	@mkdir -p $(@D)
	@echo '  LINT    tests/lint/$*' >$@
	@BUILD='$(BUILD)' CC='$(CC)' LINT_FLAGS='$(subst ','\'',$(cli_cflags))' tests/lint/$* >>$@ 2>&1 || \
		echo 'failed: tests/lint/$*' >>$@

.PHONY: api-surface
api-surface: $(LIBRARY) $(ARCHIVE) ## compare what is exported with the list; REWRITE=1 writes it anew
	BUILD='$(BUILD)' CC='$(CC)' tests/lint/lint_surface.py $(if $(REWRITE),--rewrite)

.PHONY: lint-gcc lint-clang
lint-gcc lint-clang: lint-%:
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/lint-$* CC=$* WERROR=1 all $(unit_tests:$(BUILD)/%=$(BUILD)/lint-$*/%)

# Run after options.def or a list of names changed; tests/lint/lint_settings.py tells.
.PHONY: completions
completions: $(PROGRAM) ## write completions/ anew from the table of options
	@mkdir -p completions
	$(PROGRAM) --completions bash > completions/flamerun.bash
	$(PROGRAM) --completions zsh > completions/_flamerun
	$(PROGRAM) --completions fish > completions/flamerun.fish

# ---- installing ----------------------------------------------------------------------------------
# Where bash-completion, zsh and fish look below a prefix.
bashcompdir ?= $(datarootdir)/bash-completion/completions
zshcompdir  ?= $(datarootdir)/zsh/site-functions
fishcompdir ?= $(datarootdir)/fish/vendor_completions.d
systemddir  ?= $(prefix)/lib/systemd/system
manuals := $(wildcard man/*.[1-9])
# Each function and macro has a page, which is the library's.
man_links = $(shell sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.F[no] \([A-Za-z_]*\).*/\1.3/p' man/libflameprof.3)
# What `man -k` searches, where man looks at all; a package's is made where that gets installed.
index_manuals = @$(if $(DESTDIR),,case ":$$(manpath -q 2>/dev/null):" in (*:$(mandir):*) mandb -q $(mandir) ;; esac || :)
.PHONY: install
install: all $(PKGCONFIG_FILE) ## install under DESTDIR, prefix
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir) $(DESTDIR)$(docdir)
	$(INSTALL) -m 755 $(PROGRAM) $(DESTDIR)$(bindir)/flamerun
	$(INSTALL) -m 644 $(LIBRARY) $(DESTDIR)$(libdir)/libflameprof.so.$(ABI)
	ln -sf libflameprof.so.$(ABI) $(DESTDIR)$(libdir)/libflameprof.so
	$(INSTALL) -m 644 $(ARCHIVE) $(DESTDIR)$(libdir)/libflameprof.a
	$(INSTALL) -D -m 644 $(PKGCONFIG_FILE) $(DESTDIR)$(pkgconfigdir)/flameprof.pc
	$(foreach header,$(public_headers),$(INSTALL) -D -m 644 $(header) \
		$(DESTDIR)$(includedir)/$(notdir $(header));)
	$(INSTALL) -m 644 README.md LICENSE CHANGELOG.md share/recipes.md \
		share/flamerun.ini $(DESTDIR)$(docdir)
	$(INSTALL) -D -m 644 completions/flamerun.bash $(DESTDIR)$(bashcompdir)/flamerun
	$(INSTALL) -D -m 644 completions/_flamerun $(DESTDIR)$(zshcompdir)/_flamerun
	$(INSTALL) -D -m 644 completions/flamerun.fish $(DESTDIR)$(fishcompdir)/flamerun.fish
	$(INSTALL) -d $(DESTDIR)$(systemddir)
	sed 's,exec flamerun ,exec $(bindir)/flamerun ,' 'share/systemd/flamerun@.service' > '$(DESTDIR)$(systemddir)/flamerun@.service'
	$(INSTALL) -m 644 'share/systemd/flamerun@.timer' $(DESTDIR)$(systemddir)
	chmod 644 '$(DESTDIR)$(systemddir)/flamerun@.service'
	$(foreach page,$(manuals),$(INSTALL) -D -m 644 $(page) \
		$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page));)
	@for page in $(man_links); do ln -sf libflameprof.3 $(DESTDIR)$(mandir)/man3/$$page || exit 1; done
	$(index_manuals)

# Where Debian's Slurm looks for plugins.
slurmdir ?= $(libdir)/slurm-wlm
.PHONY: install-spank
install-spank: spank
	$(INSTALL) -D -m 644 $(BUILD)/spank_flamerun.so $(DESTDIR)$(slurmdir)/spank_flamerun.so

.PHONY: uninstall
uninstall: ## remove what install put there; give the same DESTDIR and prefix
	rm -f $(DESTDIR)$(bindir)/flamerun $(DESTDIR)$(libdir)/libflameprof.so \
		$(DESTDIR)$(libdir)/libflameprof.so.$(ABI) $(DESTDIR)$(libdir)/libflameprof.a \
		$(DESTDIR)$(pkgconfigdir)/flameprof.pc $(DESTDIR)$(slurmdir)/spank_flamerun.so \
		$(addprefix $(DESTDIR)$(includedir)/,$(notdir $(public_headers))) \
		$(DESTDIR)$(bashcompdir)/flamerun $(DESTDIR)$(zshcompdir)/_flamerun \
		$(DESTDIR)$(fishcompdir)/flamerun.fish \
		$(addprefix $(DESTDIR)$(systemddir)/,flamerun@.service flamerun@.timer) \
		$(foreach page,$(manuals),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
		$(addprefix $(DESTDIR)$(mandir)/man3/,$(man_links))
	rm -rf $(DESTDIR)$(docdir)
	$(index_manuals)

dist_name := flamerun-$(VERSION)
.PHONY: dist
dist: $(BUILD)/viewer.base64 $(BUILD)/loader.js ## pack the committed tree into build/flamerun-VERSION.tar.gz
	@git diff --quiet HEAD -- share/viewer || { echo 'flamerun: share/viewer is not as committed' >&2; exit 1; }
	git archive --output=$(BUILD)/$(dist_name).tar.gz --prefix=$(dist_name)/share/viewer/packed/ \
		$(^:%=--add-file=%) --prefix=$(dist_name)/ HEAD

# Who made them: DEBFULLNAME and DEBEMAIL, as for dch(1), else who made the last commit.
DEBFULLNAME ?= $(shell git log -1 --format=%an)
DEBEMAIL    ?= $(shell git log -1 --format=%ae)
maker  = $(DEBFULLNAME) <$(DEBEMAIL)>
deb   := $(BUILD)/deb/$(dist_name)
.PHONY: deb
deb: ## make Debian packages of the committed tree in build/deb; wants debhelper and lintian
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb
	git archive --prefix=$(dist_name)/ --output=$(BUILD)/deb/flamerun_$(VERSION).orig.tar.gz HEAD
	tar xf $(BUILD)/deb/flamerun_$(VERSION).orig.tar.gz -C $(BUILD)/deb
	cp -r $(deb)/share/debian $(deb)
	sed -i 's/@MAINTAINER@/$(maker)/' $(deb)/debian/control
	printf 'flamerun (%s-1) unstable; urgency=medium\n\n  * What is new: CHANGELOG.md.\n\n -- %s  %s\n' $(VERSION) '$(maker)' \
		"$$(git log -1 --format=%cD)" > $(deb)/debian/changelog
	cd $(deb) && dpkg-buildpackage -us -uc
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs $(BUILD)/deb/*.changes

deb_needs = build-essential lintian $(shell sed -n '/^Build-Depends:/,/^Standards/s/^ \([a-z][a-z0-9.+-]*\),*$$/\1/p' share/debian/control)
.PHONY: check-deb
check-deb: ## build the packages, install, use and purge them in a Debian root of their own; as root
	@YES='$(YES)' tests/setup/packages.sh $(deb_needs) debhelper debootstrap
	+@$(MAKE) --no-print-directory deb
	tests/setup/deb.sh $(BUILD)/deb

# $(call compile_command,source,flags): one entry of the database, in JSON's quoting.
json = $(subst ",\",$(subst \,\\,$(1)))
define compile_command
{"directory": "$(CURDIR)", "file": "$(1)", "command": "$(call json,$(CC) $(2) $(path_flags) $(CPPFLAGS) $(CFLAGS) -c $(1))"}
endef
comma := ,
# Written by make itself: as one command it would be longer than a shell takes.
.PHONY: compile_commands.json
compile_commands.json: $(BUILD)/dependencies ## write the compilation database that editors and clang-tidy read
	$(file >$@.part,[)
	$(foreach source,$(filter %.c,$(prof_sources)),$(file >>$@.part,$(call compile_command,$(source),$(prof_cflags))$(comma)))
	$(foreach source,$(filter %.c,$(cli_sources) $(render_sources)) $(unit_sources),$(file >>$@.part,$(call compile_command,$(source),$(cli_cflags))$(comma)))
	$(Q)sed '$$s/,$$//' $@.part > $@ && echo ']' >> $@ && rm $@.part

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z0-9_.-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r target text; do printf '  make %-22s %s\n' "$$target" "$$text"; done
	@echo "settings: V=1 DEBUG=1 WERROR=1 SAN=address,undefined ARCH=aarch64 CC= CFLAGS= prefix= DESTDIR= YES=1"

-include $(prof_objects:.o=.d) $(shared_objects:.o=.d) $(cli_objects:.o=.d) $(render_objects:.o=.d) $(unit_tests:=.d)
