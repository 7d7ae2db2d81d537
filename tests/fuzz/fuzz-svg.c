/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as the text of a picture, and as the packed columns of a picture. If this
 * succeeds, draw the picture: the drawing must have the same weight and threads, and no more nodes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/formats/svg.h"
#include "tests/setup/packed_picture.h"

#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct calltree *read_picture(const struct bytes *file)
{
	struct calltree *tree = calltree_new();
	struct diag_message message;
	struct input_facts facts;

	if (!tree)
		abort();
	if (svg_read(tree, file, "fuzzed", &facts, &message) || calltree_finish(tree)) {
		calltree_free(tree);
		tree = NULL;
	}
	input_facts_release(&facts);
	return tree;
}

static void check_again(const struct calltree *tree)
{
	const struct picture_options options = {0};
	char *text = NULL;
	size_t count;
	FILE *out = open_memstream(&text, &count);
	struct calltree *again;

	if (!out || picture_write_svg(tree, &options, out))
		abort();
	fclose(out);
	again = read_picture(&(struct bytes){.data = (uint8_t *)text, .used = count});
	if (!again || calltree_total(again) != calltree_total(tree) ||
		calltree_nodes(again) > calltree_nodes(tree) ||
		calltree_threads(again) != calltree_threads(tree))
		abort();
	calltree_free(again);
	free(text);
}

static void check(const struct bytes *file)
{
	struct calltree *tree = read_picture(file);

	if (tree)
		check_again(tree);
	calltree_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = {PACKED_PICTURE, PACKED_OLD_PICTURE};
	struct bytes file;

	if (size > INPUT_MAX)
		return 0;
	check(&(struct bytes){.data = (uint8_t *)(uintptr_t)data, .used = size});
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		file = packed_picture(versions[i], data, size);
		check(&file);
		bytes_release(&file);
	}
	return 0;
}
