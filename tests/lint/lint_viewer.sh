#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Check the viewer's files: each enables type checking, the loader contains no "]]>", which would
# end the CDATA section around it, and every export is used. Types are checked if TypeScript 5.5 or
# later (which has @import) is installed by `npm install --prefix build typescript`, or is in PATH.
cd "$(dirname "$0")/../../share/viewer" || exit 1
status=0

complain()
{
	echo "share/viewer: $*"
	status=1
}

grep -ln '\]\]>' loader.js inflate.js && complain 'ends the CDATA section it is put into'
for name in *.js; do
	[ "$(sed -n 2p "$name")" = '// @ts-check' ] || complain "$name: no // @ts-check"
done
for name in $(sed -nE 's/^export (async )?(function|class|const) ([A-Za-z_]+).*/\3/p' *.js); do
	grep -lw "$name" *.js ../../tests/browser/*.mjs | sed -n 2p | grep -q . ||
		complain "$name is exported for nobody"
done

for tsc in ../../build/node_modules/.bin/tsc tsc ''; do
	"$tsc" --version 2>/dev/null | grep -qE '^Version (5\.([5-9]|[1-9][0-9])|([6-9]|[1-9][0-9])\.)' && break
done
if [ -n "$tsc" ]; then
	"$tsc" -p . || status=1
else
	echo '  (no tsc of 5.5 or later: the types of the viewer are not checked)'
fi
exit $status
