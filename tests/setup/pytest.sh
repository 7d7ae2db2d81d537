#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests of a folder, side by side where Debian's python3-pytest-xdist is. pytest.sh FOLDER [MARKS]:
# only the tests that MARKS, an expression of pytest's, takes. Two processors have PER_TWO_CPUS of
# them, 2 where that is not set: many tests are of times.
set -u

if /usr/bin/python3 -c 'import xdist' 2>/dev/null; then
	side_by_side="-n $((($(nproc) * ${PER_TWO_CPUS:-2} + 1) / 2))"
else
	side_by_side=
	echo "no python3-pytest-xdist here: one test after the other"
fi
# A folder of this run alone: pytest closes the one for all of a user's runs whenever another begins,
# and tests have programs of other users look into theirs. It stays where something failed.
PYTEST_DEBUG_TEMPROOT=$(mktemp -d "${TMPDIR:-/tmp}/flamerun-tests.XXXXXX") || exit 1
export PYTEST_DEBUG_TEMPROOT
chmod 755 "$PYTEST_DEBUG_TEMPROOT"
# shellcheck disable=SC2086 # words
pytest-3 -p no:cacheprovider $side_by_side ${2:+-m "$2"} "$1"
status=$?
[ $status -ne 0 ] || rm -rf "$PYTEST_DEBUG_TEMPROOT"
exit $status
