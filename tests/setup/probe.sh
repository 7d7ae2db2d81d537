#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Check that everything that a build needs is installed. The Makefile calls this script before the
# first compilation in a build folder:
#   CC='...' PKG_CONFIG='...' [TOOLS='...'] [HINT='...'] probe.sh PACKAGE:HEADER...
# Prints everything that is missing, with its Debian package. Installs nothing.
set -u

packages=
missing()
{
	printf 'flamerun: missing %s: apt-get install %s\n' "$1" "$2" >&2
	packages="$packages $2"
}

# Print the first word of a command, after assignments of variables.
command_of()
{
	for word in $1; do
		case $word in
		*=*) ;;
		*)
			echo "$word"
			return
			;;
		esac
	done
}

# If there is no compiler, search for headers in the usual folders, so that one run reports
# everything.
have_header()
{
	if [ -n "$compiler" ]; then
		# shellcheck disable=SC2086 # CC may carry words of its own
		printf '#include <stdio.h>\n#include <%s>\n' "$1" |
			$CC ${CPPFLAGS:-} -E -x c - >/dev/null 2>&1
	else
		ls "/usr/include/$1" /usr/include/*-linux-gnu/"$1" 2>/dev/null | grep -q .
	fi
}

compiler=$(command_of "$CC")
if ! command -v "$compiler" >/dev/null 2>&1; then
	case $compiler in
	*-linux-gnu-gcc) missing "the compiler $compiler" "gcc-${compiler%-gcc}" ;;
	clang*) missing "the compiler $compiler" clang ;;
	*) missing "the compiler $compiler" gcc ;;
	esac
	compiler=
fi
tool=$(command_of "$PKG_CONFIG")
command -v "$tool" >/dev/null 2>&1 || missing "$tool" pkg-config

for tool in ${TOOLS:-}; do
	command -v "$tool" >/dev/null 2>&1 || missing "$tool" "$tool"
done

for entry in "$@"; do
	header=${entry#*:}
	name=${header##*/}
	have_header "$header" || missing "${name%.h}" "${entry%%:*}"
done

[ -n "$packages" ] || exit 0
printf 'flamerun: hint: %s\n' "${HINT:-apt-get install$packages}" >&2
exit 1
