#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Test the Debian packages in folder $1, in a new Debian root: install them by apt, profile a
# program, compile a program that profiles itself, name Python's functions, find the manual, then
# purge the packages and check that no file is left. Needs root and debootstrap.
set -eu

# Mount in a namespace, so that the mounts disappear in whatever way this script ends.
[ "${2-}" = mounts ] || exec unshare --mount --propagation private "$0" "$1" mounts

setup=$(cd "$(dirname "$0")" && pwd)
debs=$(cd "$1" && pwd)
root=$debs/root
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

say()
{
	printf '==== %s\n' "$*"
}

in_root()
{
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive sh -ec "$1"
}

# List the files in the root without those that change by themselves.
list_files()
{
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./srv \
		-o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log \) \
		-prune -o -printf '%p %y %s %l\n' | grep -v ' d ' | sort)
}

"$setup/root.sh" "$release" "$root"
mount -t proc proc "$root/proc"
mkdir -p "$root/srv/debs"
cp "$debs"/flamerun_*.deb "$debs"/flamerun-spank_*.deb "$debs"/libflameprof1_*.deb \
	"$debs"/libflameprof-dev_*.deb "$root/srv/debs"

say "what the packages depend on, and what is compiled with"
in_root 'apt-get -qq update && apt-get -qq install --no-install-recommends gcc libc6-dev pkgconf \
	python3 man-db $(for deb in /srv/debs/*.deb; do dpkg-deb -f "$deb" Depends; done |
	tr "," "\n" | sed "s/^ *//; s/ .*//" | grep -v "flameprof\|flamerun" | sort -u) >/dev/null'
list_files >"$debs/before"

say "install"
in_root 'apt-get -qq install --no-install-recommends /srv/debs/*.deb >/dev/null'

say "profile a program"
in_root 'cd /srv && flamerun --version && flamerun -o run.svg -o run.folded -- \
	gzip -9 -c $(readlink -f /usr/bin/gcc /usr/bin/python3) >/dev/null && grep -q "gzip" run.svg && [ -s run.folded ]'

say "compile what profiles itself"
cat >"$root/srv/own.c" <<'C'
#include <flameprof_scope.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void busy_work(void)
{
	for (unsigned long i = 0; i < 400000000; i++)
		sum += i;
}

int main(void)
{
	FLAMEPROF_SCOPE("own.folded");
	busy_work();
	return 0;
}
C
in_root 'cd /srv && gcc -g -O1 own.c $(pkg-config --cflags --libs flameprof) -o own && ./own && grep busy_work own.folded'

say "name functions of Python"
in_root 'cd /srv && flamerun -o python.folded -- python3 -c "
def hot_python():
    return sum(i * i for i in range(3000000))
hot_python()" && grep -q hot_python python.folded'

say "find the manual"
in_root 'man -w flamerun flamerun.ini flamerun-svg libflameprof FLAMEPROF_SCOPE'

say "the plugin lies where srun looks for it"
in_root 'ls /usr/lib/*/slurm-wlm/spank_flamerun.so'

say "purge"
in_root 'rm -rf /srv/*.svg && apt-get -qq purge flamerun flamerun-spank libflameprof1 libflameprof-dev >/dev/null'
list_files >"$debs/after"
diff "$debs/before" "$debs/after" || { echo "purging leaves something behind" >&2; exit 1; }
say "nothing is left"
