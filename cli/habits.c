/* SPDX-License-Identifier: MIT */
/*
 * perf, samply, py-spy, cargo flamegraph, flamegraph.pl and async-profiler, as people type them.
 */
#include "cli/habits.h"

#include <string.h>

static const struct {
	const char *option, *hint;
} habits[] = {
	{"F", "the rate is -r, --rate HZ"},
	{"V", "flamerun --version"},
	{"call-graph", "stacks are always recorded"},
	{"colors", "colours are --palette NAME"},
	{"freq", "the rate is -r, --rate HZ"},
	{"frequency", "the rate is -r, --rate HZ"},
	{"g", "stacks are always recorded"},
	{"inverted", "--icicle lets the boxes hang, --reverse merges from the innermost function"},
	{"minwidth", "the least width of a box is --min-width PX"},
};

const char *habits_hint(const char *word, size_t bytes)
{
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strlen(habits[i].option) == bytes && !memcmp(habits[i].option, word, bytes))
			return habits[i].hint;
	return "flamerun --help lists the options";
}
