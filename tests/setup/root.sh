#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Make a Debian root by debootstrap, as root: root.sh RELEASE FOLDER. A finished one is left as it is.
# The mirror is the one that apt has on this machine, and apt asks it in the same way: by which proxy,
# and whether lists may be old.
set -eu

release=$1 root=$2

# Written behind a root's last file: a root without it was broken off.
[ ! -e "$root.made" ] || exit 0

# shellcheck source=/dev/null
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt-get expands it
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $here" | head -n 1)
[ -n "$mirror" ] || {
	echo "flamerun: apt has no lists of packages here: apt-get update" >&2
	exit 1
}
# A debootstrap older than the release does not know its name: it is made as sid is.
scripts=/usr/share/debootstrap/scripts
script=
[ -e "$scripts/$release" ] || script=$scripts/sid

rm -rf "$root"
mkdir -p "$root"
# shellcheck disable=SC2086 # no word without a script
debootstrap --variant=minbase "$release" "$root" "$mirror" $script >"$root.log" || {
	tail -n 20 "$root.log" >&2
	exit 1
}
apt-config dump | grep -E '^Acquire::(Check-Valid-Until|https?::)' >"$root/etc/apt/apt.conf.d/90machine" || :
date >"$root.made"
