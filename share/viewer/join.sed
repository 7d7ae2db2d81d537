# SPDX-License-Identifier: MIT
# From modules and style sheets to what is put into every picture: without what only their readers
# need. Comments are looked for where these files have them: in lines of their own, in /** */
# without a star inside, and behind code that ends in a comma or semicolon.
/^import /d
s/^export //
\|^[[:space:]]*/\*.*\*/$|d
s|/\*\*[^*]*\*/ *||g
\|^[[:space:]]*/\*|,\|\*/|d
s|^[[:space:]]*// .*||
s|\([,;]\)  *// [^'"]*$|\1|
s/^[[:space:]]*//
/^$/d
