/* SPDX-License-Identifier: MIT */
/*
 * Beginnings of files that people give to a program that wants folded stacks.
 */
#include "cli/formats/folded_doubt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define EXPECTED "\"outer;inner weight\""

#define PICTURE_HINT "write stacks beside a picture: flamerun -o run.svg -o run.folded -- program"
#define PACKED_HINT  "unpack it first"
#define PERF_HINT    "perf script | stackcollapse-perf.pl makes folded stacks of perf's recordings"

static const struct {
	const char *bytes;
	const char *what;
	const char *hint; /* NULL: none */
} beginnings[] = {
	{"<?xml", "an SVG picture or other XML", PICTURE_HINT},
	{"<svg ", "an SVG picture", PICTURE_HINT},
	{"<!--", "XML or HTML", PICTURE_HINT},
	{"<!DOCTYPE", "XML or HTML", PICTURE_HINT},
	{"<html", "HTML", PICTURE_HINT},
	{"\x89PNG", "a PNG picture", PICTURE_HINT},
	{"%PDF-", "a PDF document", PICTURE_HINT},
	{"\x1f\x8b", "gzip data", PACKED_HINT},
	{"BZh", "bzip2 data", PACKED_HINT},
	{"\3757zXZ", "xz data", PACKED_HINT},
	{"\x28\xb5\x2f\xfd", "zstd data", PACKED_HINT},
	{"PK\x03\x04", "a zip archive", PACKED_HINT},
	{"PERFILE2", "a recording of perf", PERF_HINT},
	{"\177ELF", "a program or library", "to run and draw it: flamerun -- ./program"},
	{"{\"", "JSON", NULL},
	{"{ \"", "JSON", NULL},
	{"[{", "JSON", NULL},
};

static int refuse(const char *what, uint64_t number, const char *name, struct diag_message *message)
{
	return diag_fail(message, -ENODATA, "%s:%" PRIu64 ": %s, where " EXPECTED " was expected",
		name, number, what);
}

int folded_doubt_line(const char *line, size_t bytes, uint64_t number, const char *name,
	struct diag_message *message)
{
	for (size_t i = 0; number == 1 && i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t length = strlen(beginnings[i].bytes);

		if (bytes < length || memcmp(line, beginnings[i].bytes, length))
			continue;
		refuse(beginnings[i].what, number, name, message);
		if (beginnings[i].hint)
			diag_fail_hint(message, "%s", beginnings[i].hint);
		return -ENODATA;
	}
	return memchr(line, '\0', bytes) ? refuse("a NUL byte", number, name, message) : 0;
}

int folded_doubt_all(
	uint64_t count, uint64_t number, const char *name, struct diag_message *message)
{
	if (count == 1)
		diag_fail(message, -ENODATA, "%s:%" PRIu64 ": not " EXPECTED, name, number);
	else
		diag_fail(message, -ENODATA,
			"%s:%" PRIu64 ": not " EXPECTED ", nor is any other of its first %" PRIu64
			" lines",
			name, number, count);
	diag_fail_hint(message, "flamerun -o run.folded writes such lines, and perf script | "
				"stackcollapse-perf.pl");
	return -ENODATA;
}

int folded_doubt_doubles(const char *name, struct diag_message *message)
{
	diag_fail(message, -ENODATA,
		"%s: two counts in every line, as difffolded.pl writes to compare two runs", name);
	diag_fail_hint(message, "sed -E 's/ [0-9.]+$//' FILE | flamerun render - draws the first");
	return -ENODATA;
}
