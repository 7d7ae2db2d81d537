#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run make targets, given as TARGET:SECONDS[:TESTS], one after the other, even if one fails, and
# print the results. SECONDS is the expected duration and is only printed. A target fails if it had
# fewer than TESTS tests (skipped ones count), so that tests which are no longer collected are
# noticed. TARGET+:SECONDS[:TESTS] runs in parallel with the others at low priority, for targets
# that mostly compile. If it is given after the first target without "+", it starts when that target
# has ended, because that target builds files which all need. MAKE and JOBS come from the Makefile;
# the logs stay in build/check/.
set -u

logs=build/check
rm -rf "$logs"
mkdir -p "$logs"
began=$(date +%s)
: >"$logs/totals"
# A shell without job control lets background commands ignore SIGINT and SIGQUIT. Undo this.
beside="env --default-signal=INT,QUIT nice -n 19"

# run PART [COMMAND...]: make the target PART, prefixed by COMMAND; write status and seconds to
# files.
run() {
	part=$1
	shift
	start=$(date +%s)
	# shellcheck disable=SC2086 # MAKE and JOBS are words
	"$@" $MAKE --no-print-directory $JOBS "$part" 2>&1
	echo $? >"$logs/$part.status"
	echo $(($(date +%s) - start)) >"$logs/$part.seconds"
}

# add_up ENTRY: append the line of TARGET:SECONDS[:TESTS] to the totals.
add_up() {
	set -- "${1%%[+:]*}" "${1#*:}"
	least=${2#*:}
	[ "$least" != "$2" ] || least=0
	verdict=passed
	[ "$(cat "$logs/$1.status")" -eq 0 ] || verdict=FAILED
	# pytest: "== 3 failed, 12 passed in 4.2s =="; verdict.sh: "12 passed, ... in 3 programs",
	# perhaps after dots printed by a pytest that runs at the same time
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
