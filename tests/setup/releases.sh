#!/bin/sh
# SPDX-License-Identifier: MIT
#
# releases.sh FOLDER [RELEASE...]: test the committed tree on each release of Debian. Makes a root
# for each release in FOLDER if it is missing, clones the tree into it, runs PARTS there, and prints
# a table with the results and the versions of packages. The roots are kept. Needs root and
# debootstrap. Failures on testing do not change the exit status, because testing changes all the
# time. All roots use the kernel of this machine.
#
# PARTS: targets of the Makefile, as for tests/setup/checks.sh. The first one is the command that
# README.md gives, in a root with only git and make installed.
set -efu

releases="bookworm trixie forky"
testing=forky
parts="demo:120 packages:300 check-deb:300 check-unit:120:1060 check-zoo:200:15 check-truth:300:120"
# Patterns of package names. The table has the first installed package of each.
shown="gcc-[0-9]* clang-[0-9]* libc6 libcairo2 lintian python3.[0-9]* php*-cli ruby[0-9].[0-9] perl-base
	openjdk-*-jre-headless nodejs lua5.[45] libluajit-5.1-2 ocaml-base erlang-base golang-[0-9]*-go rustc"

# Mount in a namespace, so that the mounts disappear in whatever way this script ends.
[ "${IN_NAMESPACE-}" ] || exec env IN_NAMESPACE=1 unshare --mount --propagation private "$0" "$@"

mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || {
	# shellcheck disable=SC2086 # words
	set -- $releases
}
parts=${PARTS:-$parts}
tree=$(cd "$(dirname "$0")/../.." && pwd)

in_root()
{
	# shellcheck disable=SC2086 # none, where no proxy is set
	chroot "$folder/$1" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive ${http_proxy+"http_proxy=$http_proxy"} \
		${https_proxy+"https_proxy=$https_proxy"} sh -ec "cd /srv && $2"
}

# prepare RELEASE: make its root, with the committed tree in /srv/flamerun.
prepare()
{
	root=$folder/$1
	# The root must be a mount point, because deb.sh makes a mount namespace in it.
	"$tree/tests/setup/root.sh" "$1" "$root" &&
		mount --rbind "$root" "$root" &&
		mount -t proc proc "$root/proc" &&
		mount --rbind /sys "$root/sys" &&
		mount --rbind /dev "$root/dev" &&
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
		in_root "$1" 'apt-get -qq update && apt-get -qq install --no-install-recommends git make >/dev/null' &&
		rm -rf "$root/srv/flamerun" &&
		git clone --quiet --depth 1 "file://$tree" "$root/srv/flamerun" &&
		chown -R 0:0 "$root/srv/flamerun"
}

# print_column RELEASE: print a line for each part, from the totals of checks.sh, and for each
# package.
print_column()
{
	printf '%s\n---\n' "$1"
	for part in $parts; do
		part=${part%%[+:]*}
		sed -n "s/^  $part  *\([a-zA-Z]*\)  *[0-9]* s  */\1 /p" \
			"$folder/$1/srv/flamerun/build/check/totals" 2>/dev/null | grep . || echo none
	done
	for pattern in $shown; do
		in_root "$1" "dpkg-query -W -f '\${db:Status-Abbrev}\${Package} \${Version}\n' '$pattern'" 2>/dev/null |
			sed -n 's/^ii *//p' | head -n 1 | grep . || echo none
	done
}

status=0
for release in "$@"; do
	printf '\n==== Debian %s\n' "$release"
	prepare "$release" && in_root "$release" "cd flamerun && MAKE=make YES=1 WERROR=1 ZOO=core JOBS=-j$(nproc) \
		tests/setup/checks.sh $parts" && continue
	printf '==== Debian %s: failed\n' "$release"
	[ "$release" = $testing ] || status=1
done

columns=$(mktemp -d)
trap 'rm -rf "$columns"' EXIT
# shellcheck disable=SC2046,SC2086 # words
printf '%s\n' "" --- $(echo $parts | sed 's/[+:][^ ]*//g') $shown >"$columns/0"
for release in "$@"; do
	print_column "$release" >"$columns/$release"
done
mkdir -p "$tree/build"
echo
(cd "$columns" && paste -d '|' 0 "$@") | sed 's/.*/|&|/' | column -t -s '|' -o ' | ' | tee "$tree/build/releases.md"
exit $status
