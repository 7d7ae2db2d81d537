#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The viewer's files become one script: each is in the order once, no two declare the same name,
# imports are single lines and from files that exist, nothing ends the CDATA around it. Types are
# checked where TypeScript is installed: on PATH, or by `npm install --prefix build typescript`.
cd "$(dirname "$0")/../../share/viewer" || exit 1
status=0

complain()
{
	echo "share/viewer: $*"
	status=1
}

[ "$(sort order)" = "$(printf '%s\n' *.js | sort)" ] || complain 'order and *.js differ'

twice=$(sed -nE 's/^(export )?(async )?(function|class|const|let) ([A-Za-z_]+).*/\4/p' *.js |
	sort | uniq -d)
[ -z "$twice" ] || complain "declared twice:" $twice

grep -n '^import' *.js | grep -vE "^[a-z]+\.js:[0-9]+:import \{[^}]*\} from '\./[a-z]+\.js';$" &&
	complain 'imports that the Makefile would not join'
for name in $(sed -nE "s/^import .* from '\.\/([a-z]+\.js)';/\1/p" *.js | sort -u); do
	[ -f "$name" ] || complain "no such file: $name"
done
grep -ln '\]\]>' *.js *.css && complain 'ends the CDATA section it is put into'
for name in *.js; do
	[ "$(sed -n 2p "$name")" = '// @ts-check' ] || complain "$name: no // @ts-check"
done

tsc=$(command -v tsc || ls ../../build/node_modules/.bin/tsc 2>/dev/null)
if [ -n "$tsc" ]; then
	"$tsc" --noEmit --checkJs --allowJs --strict --target es2021 --module es2022 \
		--moduleResolution bundler --lib es2022,dom,dom.iterable *.js || status=1
else
	echo '  (no tsc: the types of the viewer are not checked)'
fi
exit $status
