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
endif
BUILD ?= build

ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR := $(CROSS_COMPILE)ar
endif
PKG_CONFIG ?= $(if $(CROSS_COMPILE),$(CROSS_COMPILE))pkg-config
INSTALL    ?= install
PYTHON     := /usr/bin/python3
PYTEST     := pytest-3

prefix      ?= /usr/local
exec_prefix ?= $(prefix)
bindir      ?= $(exec_prefix)/bin
libdir      ?= $(exec_prefix)/lib
includedir  ?= $(prefix)/include
datarootdir ?= $(prefix)/share
mandir      ?= $(datarootdir)/man
docdir      ?= $(datarootdir)/doc/flamerun
sysconfdir  ?= $(prefix)/etc

Q := $(if $(V),,@)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wpointer-arith -Wwrite-strings $(if $(WERROR),-Werror)
OPTIMIZE := $(if $(DEBUG),-O0,-O2)
base_cflags := -std=gnu11 -g $(OPTIMIZE) $(WARNINGS) -fno-omit-frame-pointer -fvisibility=hidden \
	-I. -Iarch/$(ARCH) -D_GNU_SOURCE -DFLAMERUN_VERSION='"$(VERSION)"'

SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)

# The guest: position independent, no stack protector, no thread-local storage, nothing but libc.
prof_cflags := $(base_cflags) -fPIC -fno-stack-protector -fno-exceptions -fasynchronous-unwind-tables \
	-ffunction-sections $(if $(TEST_CLOCK),-DFLAMEPROF_TEST_CLOCK)
cli_packages := cairo libdw libelf
cli_cflags  = $(base_cflags) -fPIE $(SAN_FLAGS) $(shell $(PKG_CONFIG) --cflags $(cli_packages)) \
	-DFLAMERUN_LIBDIR='"$(libdir)"' -DFLAMERUN_SYSCONFDIR='"$(sysconfdir)"'
cli_libs    = $(shell $(PKG_CONFIG) --libs $(cli_packages)) -liberty -lz -lm -lpthread

prof_sources   := $(wildcard libprof/*.c libprof/*/*.c arch/$(ARCH)/*.c arch/$(ARCH)/*.S)
cli_sources    := $(wildcard cli/*.c cli/*/*.c)
render_sources := $(wildcard render/*.c render/*.S)
viewer_sources := $(wildcard share/viewer/*.js share/viewer/*.css)
unit_sources   := $(wildcard tests/unit/test-*.c)
target_sources := $(wildcard tests/targets/*.c tests/targets/*.cc)

objects = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
prof_objects   := $(call objects,$(prof_sources))
cli_objects    := $(call objects,$(cli_sources))
render_objects := $(call objects,$(render_sources))
main_object    := $(BUILD)/obj/cli/main.o
unit_tests     := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(unit_sources))
LIBRARY        := $(BUILD)/libflameprof.so.$(ABI)
PROGRAM        := $(BUILD)/flamerun

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

.PHONY: all
all: $(PROGRAM) $(LIBRARY) ## build flamerun and libflameprof

# Rewritten only when the flags change, so that objects follow their flags.
flags_text = $(CC) | $(prof_cflags) | $(cli_cflags) | $(CFLAGS) | $(CPPFLAGS) | $(LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags_text))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(flags_text))' > $@
.PHONY: FORCE
FORCE:

$(prof_objects): flags = $(prof_cflags)
$(cli_objects) $(render_objects): flags = $(cli_cflags)

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC      $<")
	$(Q)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.S $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  AS      $<")
	$(Q)$(CC) $(flags) -I$(BUILD) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIBRARY): $(prof_objects) libprof/flameprof.map
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) -shared -o $@ $(prof_objects) -Wl,-soname,$(@F) -Wl,--version-script=libprof/flameprof.map \
		-Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,--no-undefined -Wl,--gc-sections $(LDFLAGS)

$(BUILD)/librender.a: $(render_objects)
$(BUILD)/libcli.a: $(filter-out $(main_object),$(cli_objects))
$(BUILD)/libprof.a: $(prof_objects)
$(BUILD)/%.a:
	@$(if $(V),,echo "  AR      $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(PROGRAM): $(main_object) $(BUILD)/libcli.a $(BUILD)/librender.a
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) -pie $(SAN_FLAGS) -o $@ $^ -Wl,-z,now -Wl,-z,relro $(LDFLAGS) $(cli_libs)

# The viewer's modules joined into one script, in the order of share/viewer/order.
$(BUILD)/viewer.js: $(viewer_sources) share/viewer/order
	@mkdir -p $(@D)
	$(Q)cd share/viewer && sed '/^import /d; s/^export //' $$(cat order) > $(abspath $@)
$(BUILD)/viewer.css: $(wildcard share/viewer/*.css)
	@mkdir -p $(@D)
	$(Q)cat $^ > $@
$(BUILD)/obj/render/viewer.o: $(BUILD)/viewer.js $(BUILD)/viewer.css

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a $(BUILD)/flags
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD      $@")
	$(Q)$(CC) $(cli_cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $< \
		$(BUILD)/libcli.a $(BUILD)/librender.a $(BUILD)/libprof.a $(LDFLAGS) $(cli_libs) -lcmocka -ldl

.PHONY: check-unit
check-unit: $(unit_tests) ## run the unit tests
	@for t in $(unit_tests); do echo "  TEST    $$t"; $$t || exit 1; done

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

-include $(prof_objects:.o=.d) $(cli_objects:.o=.d) $(render_objects:.o=.d) $(unit_tests:=.d)
