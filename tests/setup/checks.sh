#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run the make targets of the arguments, TARGET:SECONDS, one after the other, all of them whatever
# happens, then say how each went. The seconds are what to expect, and are only told. MAKE and JOBS
# come from the Makefile; the logs stay in build/check/.
set -u

logs=build/check
rm -rf "$logs"
mkdir -p "$logs"
failed=
began=$(date +%s)
: >"$logs/totals"

at=0
for entry in "$@"; do
	part=${entry%%:*}
	at=$((at + 1))
	printf '\n==== %s, %d of %d: about %d s\n' "$part" $at $# "${entry##*:}"
	start=$(date +%s)
	# shellcheck disable=SC2086 # JOBS is a word or nothing
	{
		$MAKE --no-print-directory $JOBS "$part" 2>&1
		echo $? >"$logs/$part.status"
	} | tee "$logs/$part.log"
	status=$(cat "$logs/$part.status")
	verdict=passed
	if [ "$status" -ne 0 ]; then
		verdict=FAILED
		failed="$failed $part"
	fi
	# pytest: "== 3 failed, 12 passed in 4.2s =="; verdict.sh: "12 passed, ... in 3 programs"
	counts=$(sed -n '/^[= ]*[0-9][^:]* in [0-9]/{s/ in [0-9].*//;s/[^0-9a-z ]//g;p;}' "$logs/$part.log" |
		awk '{ for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+$/) sum[$(i + 1)] += $i }
			END { if (NR) printf "%d tests passed, %d failed, %d skipped", sum["passed"],
				sum["failed"] + sum["errors"] + sum["error"], sum["skipped"] }')
	printf '  %-16s %-7s %5d s   %s\n' "$part" "$verdict" $(($(date +%s) - start)) "$counts" \
		>>"$logs/totals"
done

printf '\n==== totals\n'
cat "$logs/totals"
printf '  %-16s %-7s %5d s\n' all "$([ -z "$failed" ] && echo passed || echo FAILED)" \
	$(($(date +%s) - began))
[ -z "$failed" ]
