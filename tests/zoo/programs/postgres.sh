# SPDX-License-Identifier: MIT
# A server of PostgreSQL and four clients of pgbench: says how many transactions they had.
set -e
[ "$(id -u)" -ne 0 ] || exec setpriv --reuid=postgres --regid=postgres --clear-groups sh "$0"
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
cd "$(mktemp -d)"
initdb -D data >/dev/null
postgres -D data -k "$PWD" -c listen_addresses= -F 2>log &
until pg_isready -q -h "$PWD"; do sleep 0.1; done
pgbench -h "$PWD" -i -q -s 2 postgres 2>>log >&2
pgbench -h "$PWD" -c 4 -t 1000 postgres 2>>log | grep processed
kill -INT $!
wait
rm -rf "$PWD"
