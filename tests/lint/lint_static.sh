#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cppcheck over everything, clang-tidy with the checks of .clang-tidy over what is installed, and
# clang's own warnings, which are among them, over the tests, too. Nothing is left out for not being
# changed: a header's change is felt in files that were not.
# cppcheck is told what is defined: else it reads each file once more for every macro that it finds
# asked for, C++ and sanitizers among them, in two and a half times the time.
# Suppressed: the linker's begin and end symbols are one object to us; >> of negative numbers is
# arithmetic in every compiler that builds this; null pointers across files are guessed from callers
# that cannot pass them. alloca() is what one target is for.
cd "$(dirname "$0")/../.." || exit 1
status=0

cppcheck -q -j "$(nproc)" --enable=warning,performance,portability --std=c11 -I. -Ilibprof -Iarch/"$(uname -m)" \
	-D_GNU_SOURCE -D"__$(uname -m)__" -DHAVE_LIBDEFLATE -DLUA_VERSION_RELEASE_NUM=50404 \
	--suppress=missingInclude --suppress=comparePointers --suppress=shiftTooManyBitsSigned \
	--suppress=ctunullpointer --suppress=allocaCalled:tests/targets/asleep.c \
	--error-exitcode=1 --template='{file}:{line}: {id}: {message}' \
	cli render libprof share/slurm share/examples tests/targets || status=1

# Without the flags of the make that called us: its jobs are its own.
env -u MAKEFLAGS make -s compile_commands.json CC=clang || exit 1
find cli render libprof -name '*.c' -print0 |
	xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet -p . 2>/dev/null || status=1
find tests/unit -name '*.c' -print0 |
	xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet --checks='-*,misc-static-assert,clang-diagnostic-*' -p . 2>/dev/null ||
	status=1
exit $status
