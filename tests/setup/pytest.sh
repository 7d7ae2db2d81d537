#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests of a folder, side by side where Debian's python3-pytest-xdist is. pytest.sh FOLDER [MARKS
# [FILE...]]: only the tests that MARKS, an expression of pytest's, takes, or only those of the files. Of
# all of them those that are marked `sleeps` come first, many at once: amidst the others each leaves a
# processor without work. Else two processors have PER_TWO_CPUS of them, 2 where that is not set: many
# tests are of times.
#
# What fails is run once more where Debian's python3-pytest-rerunfailures is: a share of time is beyond its bound
# once in some thousand tests on a machine that others use, too. The first failure is told at the end, and
# counted as a rerun: a test that is among them again and again has a bound, or a bug, to be looked at.
set -u

has_xdist=yes
/usr/bin/python3 -c 'import xdist' 2>/dev/null || {
	echo "no python3-pytest-xdist here: one test after the other"
	has_xdist=
}
reruns="--reruns 1 -p first_failures"
/usr/bin/python3 -c 'import pytest_rerunfailures' 2>/dev/null || reruns=
PYTHONPATH=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH
# A folder of this run alone: pytest closes the one for all of a user's runs whenever another begins,
# and tests have programs of other users look into theirs. It stays where something failed.
PYTEST_DEBUG_TEMPROOT=$(mktemp -d "${TMPDIR:-/tmp}/flamerun-tests.XXXXXX") || exit 1
export PYTEST_DEBUG_TEMPROOT
chmod 755 "$PYTEST_DEBUG_TEMPROOT"

status=0
# run PER_TWO_CPUS MARKS FILE...: the tests of these files that MARKS takes.
run() {
	at_once=$((($(nproc) * $1 + 1) / 2))
	taken=$2
	shift 2
	# shellcheck disable=SC2086 # words
	pytest-3 -p no:cacheprovider ${has_xdist:+-n $at_once} $reruns -m "$taken" "$@" || status=$?
}

folder=$1
marks=${2:-}
shift $(($# < 2 ? $# : 2))
# Of a few there are hardly any that sleep.
sleepers=
[ -n "$marks$*" ] || sleepers=$(grep -l 'mark\.sleeps$' "$folder"/test_*.py)
[ $# -gt 0 ] || set -- "$folder"
# shellcheck disable=SC2086 # names of files without blanks
[ -z "$sleepers" ] || run 8 sleeps $sleepers
run "${PER_TWO_CPUS:-2}" "${marks:-${sleepers:+not sleeps}}" "$@"
[ $status -ne 0 ] || rm -rf "$PYTEST_DEBUG_TEMPROOT"
exit $status
