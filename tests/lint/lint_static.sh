#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cppcheck over everything, and clang-tidy with the checks of .clang-tidy over what is installed.
# Suppressed: the linker's begin and end symbols are one object to us; >> of negative numbers is
# arithmetic in every compiler that builds this; null pointers across files are guessed from callers
# that cannot pass them.
cd "$(dirname "$0")/../.." || exit 1
status=0

cppcheck -q --enable=warning,performance,portability --std=c11 -I. -Ilibprof -Iarch/"$(uname -m)" \
	--suppress=missingInclude --suppress=comparePointers --suppress=shiftTooManyBitsSigned \
	--suppress=ctunullpointer \
	--error-exitcode=1 --template='{file}:{line}: {id}: {message}' \
	cli render libprof share/examples tests/targets || status=1

make -s compile_commands.json CC=clang || exit 1
find cli render libprof -name '*.c' -print0 |
	xargs -0 -n 4 -P 2 clang-tidy --quiet -p . 2>/dev/null || status=1
exit $status
