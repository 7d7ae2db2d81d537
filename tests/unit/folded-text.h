/* SPDX-License-Identifier: MIT */
/* Compare a call tree with expected folded stacks. */
#ifndef TESTS_UNIT_FOLDED_TEXT_H
#define TESTS_UNIT_FOLDED_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/formats/folded.h"

/* Check that the finished tree @tree is written as the folded stacks @wanted. */
static inline void check_tree(const struct calltree *tree, const char *wanted)
{
	char *written = NULL;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	assert_int_equal(folded_write(tree, NULL, false, out), 0);
	fclose(out);
	assert_string_equal(written, wanted);
	free(written);
}

#endif
