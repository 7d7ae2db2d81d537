# SPDX-License-Identifier: MIT
# A server of nginx and eight clients of ab: says how many requests they had.
set -e
port=$((20000 + $$ % 10000))
cat >nginx.conf <<END
worker_processes 2; daemon off; pid $PWD/pid; error_log $PWD/error.log; events {}
http { access_log $PWD/access.log; gzip on; gzip_types *;
server { listen 127.0.0.1:$port; root $1; } }
END
nginx -c "$PWD/nginx.conf" -e "$PWD/error.log" &
until [ -s pid ]; do sleep 0.1; done
ab -q -n 8000 -c 8 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/Makefile" | grep -E '^(Complete|Failed) requests'
kill -QUIT $!
wait
