/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as a speedscope file. If this succeeds, write the file and read it again: it must
 * have the same total weight.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/formats/speedscope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct calltree *read_file(const struct bytes *file, struct input_facts *facts)
{
	struct calltree *tree = calltree_new();
	struct diag_message message = {0};

	if (!tree)
		abort();
	speedscope_is(file);
	if (speedscope_read(tree, file, "fuzzed", NULL, facts, &message) || calltree_finish(tree)) {
		if (!message.text[0] && !calltree_error(tree))
			abort();
		calltree_free(tree);
		tree = NULL;
	}
	return tree;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes file = {.data = (uint8_t *)(uintptr_t)data, .used = size};
	struct input_facts facts;
	struct calltree *tree, *again;
	char *text = NULL;
	size_t count;
	FILE *out;

	diag_set_level(DIAG_QUIET);
	tree = read_file(&file, &facts);
	if (tree) {
		const struct picture_options options = {.title = facts.title,
			.count_name = facts.count_name, .period_ns = facts.period_ns};

		out = open_memstream(&text, &count);
		if (!out || speedscope_write(tree, &options, out))
			abort();
		fclose(out);
		again = read_file(
			&(struct bytes){.data = (uint8_t *)text, .used = count}, &facts);
		if (!again || calltree_total(again) != calltree_total(tree))
			abort();
		calltree_free(again);
		free(text);
	}
	calltree_free(tree);
	return 0;
}
