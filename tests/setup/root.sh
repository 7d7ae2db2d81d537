#!/bin/sh
# SPDX-License-Identifier: MIT
#
# root.sh RELEASE FOLDER: make a Debian root by debootstrap, as root. A finished root is not
# changed. The root gets apt's mirror on this machine and the settings with which apt uses it, such
# as a proxy.
set -eu

release=$1 root=$2

# This file is written last, so a root without it is incomplete.
[ ! -e "$root.made" ] || exit 0

# shellcheck source=/dev/null
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt-get expands it
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $here" | head -n 1)
[ -n "$mirror" ] || {
	echo "flamerun: apt has no lists of packages here: apt-get update" >&2
	exit 1
}
# If debootstrap is older than the release and does not know its name, use the script of sid.
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
