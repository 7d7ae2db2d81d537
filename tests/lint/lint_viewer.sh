#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The viewer's files say that their types are checked, nothing in them but code could end the CDATA
# around what is made of them, and no export is for nobody. Types are checked where TypeScript is
# installed: on PATH, or by `npm install --prefix build typescript`.
cd "$(dirname "$0")/../../share/viewer" || exit 1
status=0

complain()
{
	echo "share/viewer: $*"
	status=1
}

grep -ln '\]\]>' *.js *.css && complain 'ends the CDATA section it is put into'
for name in *.js; do
	[ "$(sed -n 2p "$name")" = '// @ts-check' ] || complain "$name: no // @ts-check"
done
for name in $(sed -nE 's/^export (async )?(function|class|const) ([A-Za-z_]+).*/\3/p' *.js); do
	grep -lw "$name" *.js ../../tests/browser/*.mjs | sed -n 2p | grep -q . ||
		complain "$name is exported for nobody"
done

tsc=$(command -v tsc || ls ../../build/node_modules/.bin/tsc 2>/dev/null)
if [ -n "$tsc" ]; then
	"$tsc" --noEmit --checkJs --allowJs --strict --strictPropertyInitialization false --target es2021 --module es2022 \
		--moduleResolution bundler --lib es2022,dom,dom.iterable *.js || status=1
else
	echo '  (no tsc: the types of the viewer are not checked)'
fi
exit $status
