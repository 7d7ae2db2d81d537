#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run cppcheck over the product and the test targets, clang-tidy with the checks of .clang-tidy over
# the product, and clang's warnings over the unit tests. Unchanged files are also checked, because
# the change of a header affects files that include it.
#
# cppcheck gets definitions of macros, because otherwise it checks each file once for every macro
# that the file tests, which takes two and a half times as long.
#
# Suppressed are: comparisons of the linker's begin and end symbols, which are one object to us; >>
# of negative numbers, which is arithmetic in every compiler that builds this; null pointers across
# files, which are guessed from callers that cannot pass them; and alloca() in the one target that
# tests it.
cd "$(dirname "$0")/../.." || exit 1
status=0

cppcheck -q -j "$(nproc)" --enable=warning,performance,portability --std=c11 -I. -Ilibprof -Iarch/"$(uname -m)" \
	-D_GNU_SOURCE -D"__$(uname -m)__" -DHAVE_LIBDEFLATE -DLUA_VERSION_RELEASE_NUM=50404 \
	--suppress=missingInclude --suppress=comparePointers --suppress=shiftTooManyBitsSigned \
	--suppress=ctunullpointer --suppress=allocaCalled:tests/targets/asleep.c \
	--error-exitcode=1 --template='{file}:{line}: {id}: {message}' \
	cli render libprof share/slurm share/examples tests/targets || status=1

# Unset the calling make's flags, because they name its job server.
env -u MAKEFLAGS make -s compile_commands.json CC=clang || exit 1
find cli render libprof -name '*.c' -print0 |
	xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet -p . 2>/dev/null || status=1
find tests/unit -name '*.c' -print0 |
	xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet --checks='-*,misc-static-assert,clang-diagnostic-*' -p . 2>/dev/null ||
	status=1
exit $status
