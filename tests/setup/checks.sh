#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run the make targets of the arguments, TARGET:SECONDS[:TESTS], one after the other, all of them
# whatever happens, then say how each went. The seconds are what to expect, and are only told. A target
# fails if it had fewer than TESTS tests, skipped ones included, so that tests that are not collected
# any more are noticed. TARGET+:SECONDS[:TESTS] runs beside the others, and gets the processors when
# nobody else wants them: what compiles for most of its time, for which it does not matter when it
# runs. Of these, what stands behind the first of the others waits for it, as it builds what all need.
# MAKE and JOBS come from the Makefile; the logs stay in build/check/.
set -u

logs=build/check
rm -rf "$logs"
mkdir -p "$logs"
began=$(date +%s)
: >"$logs/totals"
# Signals that a shell has its background ignore are not to be ignored by what it runs.
beside="env --default-signal=INT,QUIT nice -n 19"

# run PART [COMMAND...]: make it, by the command; its output goes on, and its status and time into files.
run() {
	part=$1
	shift
	start=$(date +%s)
	# shellcheck disable=SC2086 # MAKE and JOBS are words
	"$@" $MAKE --no-print-directory $JOBS "$part" 2>&1
	echo $? >"$logs/$part.status"
	echo $(($(date +%s) - start)) >"$logs/$part.seconds"
}

# add_up ENTRY: a line of the totals, for TARGET:SECONDS[:TESTS].
add_up() {
	set -- "${1%%[+:]*}" "${1#*:}"
	least=${2#*:}
	[ "$least" != "$2" ] || least=0
	verdict=passed
	[ "$(cat "$logs/$1.status")" -eq 0 ] || verdict=FAILED
	# pytest: "== 3 failed, 12 passed in 4.2s =="; verdict.sh: "12 passed, ... in 3 programs", which may
	# stand behind dots of a pytest that runs beside it
	counts=$(sed -n '/^[= .sxFER]*[0-9][^:]* in [0-9]/{s/^[= .sxFER]*//;s/ in [0-9].*//;s/[^0-9a-z ]//g;p;}' "$logs/$1.log" |
		awk '{ for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+$/) sum[$(i + 1)] += $i }
			END { if (NR) printf "%d tests passed, %d failed, %d skipped", sum["passed"],
				sum["failed"] + sum["errors"] + sum["error"], sum["skipped"]
				if (sum["rerun"]) printf ", %d run twice", sum["rerun"] }')
	ran=$(echo "$counts" | awk '{ print $1 + $4 + $6 }')
	[ "$ran" -ge "$least" ] || {
		verdict=FAILED
		counts="${counts:-no tests}: fewer than $least"
	}
	printf '  %-16s %-7s %5d s   %s\n' "$1" $verdict "$(cat "$logs/$1.seconds")" "$counts" >>"$logs/totals"
}

all_beside=
for entry in "$@"; do
	case $entry in *+:*) all_beside="$all_beside ${entry%%+:*}" ;; esac
done
run_beside() {
	first=
	for entry in "$@"; do
		name=${entry%%:*}
		# shellcheck disable=SC2086 # words
		case $entry in
		*+:*) run "${name%+}" $beside >"$logs/${name%+}.log" ;;
		*) first=${first:-$name} && until [ -e "$logs/$first.seconds" ]; do sleep 1; done ;;
		esac
	done
}
[ -z "$all_beside" ] || printf '\n==== beside what follows:%s\n' "$all_beside"
run_beside "$@" &

at=0
for entry in "$@"; do
	case $entry in *+:*) continue ;; esac
	name=${entry%%:*}
	at=$((at + 1))
	seconds=${entry#*:}
	printf '\n==== %s, %d of %d: about %d s\n' "$name" $at $# "${seconds%%:*}"
	run "$name" | tee "$logs/$name.log"
	add_up "$entry"
done
wait
for entry in "$@"; do
	case $entry in *+:*) ;; *) continue ;; esac
	name=${entry%%+:*}
	at=$((at + 1))
	printf '\n==== %s, %d of %d, ran beside the others\n' "$name" $at $#
	cat "$logs/$name.log"
	add_up "$entry"
done

printf '\n==== totals\n'
cat "$logs/totals"
verdict=passed
! grep -q FAILED "$logs/totals" || verdict=FAILED
printf '  %-16s %-7s %5d s\n' all $verdict $(($(date +%s) - began))
[ $verdict = passed ]
