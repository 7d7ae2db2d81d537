#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install those of the given Debian packages that are missing. Prints the exact apt-get command, and
# asks first if stdin and stderr are a terminal and YES is not set. Packages that this release of
# Debian does not have are named and left out: tests that need them are skipped.
# Called only by `make demo` and `make check`, with the lists of packages in the Makefile.
set -u

say()
{
	printf 'flamerun: %s\n' "$*" >&2
}

missing=
for package in "$@"; do
	case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
	ii*) ;;
	*) missing="$missing $package" ;;
	esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	say "no apt-get here to install what may be missing:$missing"
	say "going on with what there is"
	exit 0
fi

have_lists()
{
	ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1
}

# Remove packages that apt does not know from $missing.
leave_out_unknown()
{
	# shellcheck disable=SC2086 # a list of words
	offered=$(apt-cache policy $missing 2>/dev/null | awk '
		/^[^ ]/ { name = $1; sub(/:$/, "", name) }
		$1 == "Candidate:" && $2 != "(none)" { printf " %s ", name }')
	wanted=$missing
	missing=
	unknown=
	for package in $wanted; do
		case $offered in
		*" $package "*) missing="$missing $package" ;;
		*) unknown="$unknown $package" ;;
		esac
	done
	[ -z "$unknown" ] || say "going on without what this release of Debian does not have:$unknown"
	[ -n "$missing" ] || exit 0
}

! have_lists || leave_out_unknown

sudo=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		say "missing packages, and neither root nor sudo to install them. As root:"
		printf '\n  apt-get install --no-install-recommends%s\n\n' "$missing" >&2
		exit 1
	fi
	sudo="sudo "
fi

say "these Debian packages are missing and get installed with:"
printf '\n  %sapt-get install --no-install-recommends%s\n\n' "$sudo" "$missing" >&2
if [ -z "${YES:-}" ] && [ -t 0 ] && [ -t 2 ]; then
	printf 'flamerun: go ahead? [Y/n] ' >&2
	read -r answer || answer=n
	case $answer in
	'' | [Yy]*) ;;
	*)
		say "nothing installed"
		exit 1
		;;
	esac
fi

apt_get()
{
	${sudo}env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

# Images of containers have no package lists, and old lists name files that are no longer served.
if have_lists; then
	# shellcheck disable=SC2086 # a list of words
	apt_get install -y --no-install-recommends $missing && exit 0
	say "that failed; once more with fresh package lists"
fi
apt_get update && leave_out_unknown
# shellcheck disable=SC2086
apt_get install -y --no-install-recommends $missing && exit 0
say "the packages could not be installed:$missing"
exit 1
