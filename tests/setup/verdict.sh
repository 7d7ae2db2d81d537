#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Summarise the given logs of cmocka programs: print a line for each failed test and each program
# that failed, then the total. The exit status is 1 if there was any.
set -u

awk '
	FNR == 1 { programs++; stopped = 0 }
	# cmocka from 1.1.7 on has "tests: 3 test(s)" in some of these lines
	{ sub(/\] tests: /, "] ") }
	/^\[  PASSED  \] [0-9]+ test/ { passed += $4 }
	/^\[  SKIPPED \] [0-9]+ test.*listed/ { skipped += $4 }
	/^\[  FAILED  \] [0-9]+ test.*listed/ { failed += $4 }
	/^\[ +(ERROR|LINE) +\]/ { print FILENAME ": " $0 }
	/^\[  FAILED  \] / && !/listed/ && !seen[FILENAME, $4]++ { print FILENAME ": failed: " $4 }
	/^flamerun: .* ended with status/ { ended++; print FILENAME ": " $0 }
	END {
		printf "%d passed, %d failed, %d skipped in %d programs\n", passed, failed, skipped, programs
		exit failed || ended ? 1 : 0
	}' "$@"
