/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as the output of `perf script`. If this succeeds, write the tree as folded stacks,
 * which must have the same total weight.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/perf_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Add up the weights of all folded lines of the tree. */
static uint64_t folded_total(const struct calltree *tree)
{
	uint64_t total = 0;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out || folded_write(tree, NULL, false, out))
		abort();
	fclose(out);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		total += strtoull(strrchr(line, ' '), NULL, 10);
	}
	free(text);
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calltree *tree = calltree_new();
	struct diag_message message = {0};
	struct input_facts facts = {0};
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct lines lines = {.in = in};
	const char *text;
	size_t bytes;

	if (!tree)
		abort();
	diag_set_level(DIAG_QUIET);
	if (in && !lines_peek(&lines, &text, &bytes)) {
		perf_script_is(text, bytes);
		if (!perf_script_read(&tree, &lines, "fuzzed", NULL, &facts, &message)) {
			if (!calltree_finish(tree) && calltree_total(tree) &&
				calltree_total(tree) != folded_total(tree))
				abort();
		} else if (!message.text[0]) {
			abort();
		}
	}
	lines_release(&lines);
	if (in)
		fclose(in);
	calltree_free(tree);
	return 0;
}
