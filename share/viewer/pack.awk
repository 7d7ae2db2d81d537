# SPDX-License-Identifier: MIT
# From the words in words.txt, the script and the style to what is packed, which unfold() of unpack.js
# reads: deflate does better where frequent words are one byte each, from 160 up, which a script of
# ASCII has not, and where what is quoted is by itself. Parts are behind each other with a byte 1
# between: words, a line each; the script with a byte 2 for each quoted text; those texts, a line each;
# the style.

function shorten(text, i)
{
	for (i = 1; i <= count; i++)
		gsub(pattern[i], sprintf("%c", 159 + i), text)
	return text
}

BEGIN {
	RS = "\001"  # files are one record each
}

{
	sub(/\n$/, "")
	file[++files] = $0
}

END {
	if (files != 3 || file[2] file[3] ~ /[\001\002\200-\377]/) {
		print "share/viewer: neither three files nor ASCII" > "/dev/stderr"
		exit 1
	}
	count = split(file[1], pattern, "\n")
	for (i = 1; i <= count; i++)
		gsub(/[^A-Za-z0-9]/, "[&]", pattern[i])
	while (match(file[2], /"([^"\\\n]|\\.)*"/)) {
		script = script substr(file[2], 1, RSTART - 1) "\002"
		texts = texts substr(file[2], RSTART + 1, RLENGTH - 2) "\n"
		file[2] = substr(file[2], RSTART + RLENGTH)
	}
	printf "%s\001%s\001%s\001%s", file[1], shorten(script file[2]), shorten(texts), shorten(file[3])
}
