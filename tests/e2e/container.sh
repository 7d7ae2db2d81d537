#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run the end-to-end tests once more in the situation of a user in a container: flamerun is copied
# to where another uid can read it, and confined (see confine.c). TEST_BUILD and CC come from the
# Makefile. An argument selects the tests, see tests/setup/pytest.sh.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
uid=65534
place=$(mktemp -d /tmp/flamerun-container.XXXXXX)
trap 'rm -rf "$place"' EXIT INT TERM

mkdir "$place/build" "$place/home" "$place/tests" "$place/tests/setup"
cp -P "$TEST_BUILD/flamerun" "$TEST_BUILD"/libflameprof.* "$place/build/"
cp -R "$root/tests/e2e" "$root/tests/targets" "$place/tests/"
cp "$root/tests/setup/pytest.sh" "$root/tests/setup/first_failures.py" "$place/tests/setup/"
cp -R "$root/share" "$root/arch" "$root/cli" "$root/libprof" "$root/completions" "$root/man" "$root/Makefile" \
	"$root/LICENSE" "$root"/*.md "$place/"
${CC:-gcc} -O2 -D_GNU_SOURCE -o "$place/confine" "$root/tests/e2e/confine.c"
[ "$(id -u)" -ne 0 ] || chown -R "$uid:$uid" "$place"
chmod 755 "$place"

# Prove that the confinement is in effect, because it is what is tested.
"$place/confine" "$uid" sh -c 'grep -q "^Seccomp:.2" /proc/self/status &&
	grep -q "^CapEff:.0000000000000000" /proc/self/status && [ "$(id -u)" -ne 0 ]'

cd "$place"
PATH=/usr/local/bin:/usr/bin:/bin HOME=$place/home TMPDIR=$place/home TEST_BUILD=$place/build TEST_CONFINED=1 \
	./confine "$uid" tests/setup/pytest.sh tests/e2e "$@"
