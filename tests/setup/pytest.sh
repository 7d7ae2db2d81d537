#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pytest.sh FOLDER [MARKS [FILE...]]: run the tests of a folder, or only those of the files or those
# that match MARKS (an expression for pytest -m). Tests run in parallel if python3-pytest-xdist is
# installed: PER_TWO_CPUS (default 2) for two processors, because many tests measure time. A run of
# all tests begins with those marked `sleeps`, which use little CPU, so many of them run at once.
#
# With python3-pytest-rerunfailures, a test that fails is run once more, because on a busy machine
# one of some thousand tests exceeds its statistical bound. The first failure is printed at the end
# and counted as a rerun. If a test is rerun often, it has a wrong bound or found a bug.
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
# Use a folder for this run alone. In the default folder, each new run of pytest revokes the access
# of other users, which tests need. The folder is kept if a test failed.
PYTEST_DEBUG_TEMPROOT=$(mktemp -d "${TMPDIR:-/tmp}/flamerun-tests.XXXXXX") || exit 1
export PYTEST_DEBUG_TEMPROOT
chmod 755 "$PYTEST_DEBUG_TEMPROOT"

status=0
# run PER_TWO_CPUS MARKS FILE...: run the tests of the files that match MARKS.
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
# Run the tests marked `sleeps` first only if all tests are run.
sleepers=
[ -n "$marks$*" ] || sleepers=$(grep -l 'mark\.sleeps$' "$folder"/test_*.py)
[ $# -gt 0 ] || set -- "$folder"
# shellcheck disable=SC2086 # names of files without blanks
[ -z "$sleepers" ] || run 8 sleeps $sleepers
run "${PER_TWO_CPUS:-2}" "${marks:-${sleepers:+not sleeps}}" "$@"
[ $status -ne 0 ] || rm -rf "$PYTEST_DEBUG_TEMPROOT"
exit $status
