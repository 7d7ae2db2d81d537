#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run ClickHouse servers on loopback, each in a folder of its own, without the system's settings.
#   clickhouse.sh start FOLDER NUMBER          start server NUMBER; its port is in FOLDER/NUMBER/port
#   clickhouse.sh kill FOLDER NUMBER           kill it; "start" then uses the same port again
#   clickhouse.sh stop FOLDER                  kill all servers and remove the folder
# USERS: a users.xml to use. The default is a single user without a password.
set -eu

command=$1 folder=$2 number=${3:-}
server=$folder/$number

free_ports() {
	/usr/bin/python3 -c '
import socket
taken = [socket.socket() for _ in range(3)]
for one in taken:
    one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in taken])'
}

write_users() {
	if [ -n "${USERS:-}" ]; then
		cp "$USERS" "$server/users.xml"
		return
	fi
	cat >"$server/users.xml" <<-END
	<yandex>
	  <profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
	  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
	    <profile>default</profile><quota>default</quota></default></users>
	  <quotas><default></default></quotas>
	</yandex>
	END
}

# Log warnings only: at its most verbose level ClickHouse 18.16 fills disks.
write_config() {
	cat >"$server/config.xml" <<-END
	<yandex>
	  <logger><level>warning</level><log>$server/log</log><errorlog>$server/errors</errorlog></logger>
	  <http_port>$1</http_port><tcp_port>$2</tcp_port>
	  <interserver_http_port>$3</interserver_http_port>
	  <listen_host>127.0.0.1</listen_host>
	  <path>$server/data/</path><tmp_path>$server/tmp/</tmp_path>
	  <format_schema_path>$server/formats/</format_schema_path>
	  <mark_cache_size>268435456</mark_cache_size>
	  <users_config>$server/users.xml</users_config>
	  <default_profile>default</default_profile><default_database>default</default_database>
	</yandex>
	END
}

answers() {
	/usr/bin/python3 - "$1" <<-END 2>/dev/null
	import sys, urllib.request
	sys.exit(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/ping", timeout=1).status != 200)
	END
}

case $command in
start)
	command -v clickhouse-server >/dev/null || {
		echo "no clickhouse-server here" >&2
		exit 77
	}
	mkdir -p "$server/data" "$server/tmp" "$server/formats"
	# shellcheck disable=SC2046 # three words
	set -- $(free_ports)
	[ ! -f "$server/port" ] || set -- "$(cat "$server/port")" "$2" "$3"
	write_users
	write_config "$@"
	clickhouse-server --config-file="$server/config.xml" >"$server/out" 2>&1 &
	echo $! >"$server/pid"
	tries=0
	until answers "$1"; do
		tries=$((tries + 1))
		if [ $tries -gt 300 ] || ! kill -0 "$(cat "$server/pid")" 2>/dev/null; then
			echo "the server did not start:" >&2
			tail -5 "$server/out" "$server/errors" >&2 || :
			exit 1
		fi
		sleep 0.1
	done
	echo "$1" >"$server/port"
	;;
kill)
	kill -9 "$(cat "$server/pid")"
	while kill -0 "$(cat "$server/pid")" 2>/dev/null; do sleep 0.05; done
	;;
stop)
	for pid in "$folder"/*/pid; do
		[ ! -f "$pid" ] || kill -9 "$(cat "$pid")" 2>/dev/null || :
	done
	rm -rf "$folder"
	;;
*)
	sed -n 's/^#   //p' "$0" >&2
	exit 2
	;;
esac
