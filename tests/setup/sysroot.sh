#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sysroot.sh ARCH FOLDER PACKAGE...: unpack Debian packages of another CPU and their dependencies
# into a folder for --sysroot of compilers and emulators. apt uses lists and a cache of its own, so
# this needs no root and does not change the architectures and packages of this machine.
set -eu

case $1 in
aarch64) debian=arm64 ;;
x86_64) debian=amd64 ;;
*)
	echo "flamerun: no Debian name known for $1" >&2
	exit 1
	;;
esac
mkdir -p "$2"
root=$(cd "$2" && pwd)
shift 2
command -v apt-get >/dev/null 2>&1 || {
	echo "flamerun: no apt-get here to fetch $debian packages with" >&2
	exit 1
}

state=$root/apt
mkdir -p "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
apt()
{
	command=$1
	shift
	"$command" -o APT::Architecture="$debian" -o APT::Architectures="$debian" \
		-o Dir::State="$state" -o Dir::State::status="$state/status" \
		-o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives" \
		-o APT::Sandbox::User=root -o Debug::NoLocking=true -qq "$@"
}

apt apt-get update
# Unpack libraries and headers only, because no program of the other CPU runs from here.
apt apt-get install --print-uris --no-install-recommends "$@" libgcc-s1 |
	sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p" | sed 's/_.*//' |
	grep -E '^(lib|linux-libc-dev|zlib|x11proto|uuid-dev)' | grep -v -e '-bin$' |
	sort >"$state/packages"
# shellcheck disable=SC2046 # a list of words
(cd "$state/archives" && apt apt-get download $(cat "$state/packages"))

# /lib is a link to usr/lib, as in Debian.
mkdir -p "$root/usr/lib"
ln -sfn usr/lib "$root/lib"
for package in "$state"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink \
		--exclude=./usr/share/doc --exclude=./usr/share/man
done
# Absolute links would lead out of the tree.
find "$root/usr/lib" -type l -lname '/*' | while read -r link; do
	ln -sf "$root$(readlink "$link")" "$link"
done
rm -rf "$state"
touch "$root/complete"
