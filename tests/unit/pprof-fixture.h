/* SPDX-License-Identifier: MIT */
/* Read a profile in a test. */
#ifndef TESTS_UNIT_PPROF_FIXTURE_H
#define TESTS_UNIT_PPROF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/pprof.h"
#include "tests/unit/folded-text.h"

/* Results of the last read. */
static struct input_facts facts;
static struct diag_message message;

static int tear_down(void **state)
{
	(void)state;
	input_facts_release(&facts);
	return 0;
}

/*
 * Read a profile from @bytes and check that the reader returns @wanted. Returns the finished tree,
 * or NULL after an error.
 */
static struct calltree *read_bytes(const void *bytes, size_t count, const char *type, int wanted)
{
	const struct input_request request = {.sample_type = type};
	struct calltree *tree = calltree_new();

	message = (struct diag_message){0};
	input_facts_release(&facts);
	assert_int_equal(
		pprof_read(tree, bytes, count, "x.pb", &request, &facts, &message), wanted);
	if (!wanted) {
		assert_int_equal(calltree_finish(tree), 0);
		return tree;
	}
	assert_non_null(strstr(message.text, "x.pb"));
	calltree_free(tree);
	return NULL;
}

static const struct calltree_frame *frame_called(const struct calltree *tree, const char *name)
{
	for (uint32_t i = 0; i < calltree_frames(tree); i++)
		if (!strcmp(calltree_frame_at(tree, i)->name, name))
			return calltree_frame_at(tree, i);
	fail_msg("no frame %s", name);
	return NULL;
}

static inline int load(const void *data, size_t bytes, void **out, size_t *count)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, bytes, "r");
	int error;

	message = (struct diag_message){0};
	error = pprof_load(in, "x.pb.gz", out, count, &message);
	fclose(in);
	return error;
}

#endif
