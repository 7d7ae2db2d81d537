#!/bin/sh
# SPDX-License-Identifier: MIT
# Run a Slurm cluster of four nodes on one machine: slurmctld and four slurmd, with a folder and a
# network namespace of their own that has only the loopback interface.
#
#   slurm.sh up FOLDER         start it; needs root, and slurmctld, slurmd, slurm-client, iproute2
#   slurm.sh run FOLDER CMD... run a command in the cluster's network
#   slurm.sh down FOLDER       end it; the folder with the logs is kept
set -eu

usage() {
	echo "usage: slurm.sh up|down FOLDER, slurm.sh run FOLDER COMMAND..." >&2
	exit 2
}

[ $# -ge 2 ] || usage
what=$1
folder=$(realpath -m "$2")
shift 2
nodes="1 2 3 4"

write_config() {
	cat <<END
ClusterName=scratch
SlurmctldHost=localhost
SlurmctldPort=6817
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
InactiveLimit=0
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
TmpFS=$folder/tmp-%n
PlugStackConfig=$folder/plugstack.conf
END
	for n in $nodes; do
		echo "NodeName=n$n NodeHostname=localhost NodeAddr=127.0.0.1" \
			"Port=$((6820 + n)) CPUs=64 State=UNKNOWN"
	done
	echo "PartitionName=all Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP"
}

inside() {
	SLURM_CONF=$folder/slurm.conf nsenter -t "$(cat "$folder/namespace.pid")" --net --uts -- "$@"
}

up() {
	mkdir -p "$folder/state"
	for n in $nodes; do
		mkdir -p "$folder/spool-n$n" "$folder/tmp-n$n"
	done
	write_config > "$folder/slurm.conf"
	[ -e "$folder/plugstack.conf" ] || : > "$folder/plugstack.conf"
	# getaddrinfo() finds no address if 127.0.0.1 is the only one, so add another.
	unshare --net --uts sh -c 'hostname localhost; ip link set lo up
		ip address add 10.0.0.1/32 dev lo; exec sleep infinity' < /dev/null > /dev/null 2>&1 &
	echo $! > "$folder/namespace.pid"
	i=0
	until inside ip -br address show lo 2>/dev/null | grep -q 10.0.0.1; do
		i=$((i + 1))
		[ $i -lt 100 ] || { echo "slurm.sh: no network namespace" >&2; down; exit 1; }
		sleep 0.1
	done
	inside slurmctld -c > /dev/null 2>&1 < /dev/null
	for n in $nodes; do
		inside slurmd -N "n$n" > /dev/null 2>&1 < /dev/null
	done
	i=0
	until [ "$(inside timeout 5 sinfo -h -t idle -o %D 2>/dev/null)" = 4 ]; do
		i=$((i + 1))
		[ $i -lt 60 ] || { echo "slurm.sh: the nodes do not come up" >&2; down; exit 1; }
		sleep 0.5
	done
}

# Print the processes in the network namespace $1: the cluster with all its steps and tasks.
list_pids() {
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/net" 2>/dev/null)" != "$1" ] || echo "${process#/proc/}"
	done
}

down() {
	[ -s "$folder/namespace.pid" ] || return 0
	network=$(readlink "/proc/$(cat "$folder/namespace.pid")/ns/net" || :)
	[ "$network" != "$(readlink /proc/self/ns/net)" ] || network=
	for signal in TERM KILL; do
		[ -n "$network" ] || break
		list_pids "$network" | xargs -r kill -s $signal 2>/dev/null || :
		i=0
		while [ -n "$(list_pids "$network")" ] && [ $i -lt 30 ]; do
			i=$((i + 1))
			sleep 0.1
		done
	done
	rm -f "$folder"/*.pid
}

case $what in
up) up ;;
run) inside "$@" ;;
down) down ;;
*) usage ;;
esac
