/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as a pprof profile, compressed or not. If this succeeds, write the profile and
 * read it again: it must be the same. Names that are not UTF-8 are changed when they are written;
 * then only the weights must be the same, and everything must be the same after writing a second
 * time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/folded.h"
#include "cli/formats/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct input_request request;

static char *fold(const struct calltree *tree)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out || folded_write(tree, NULL, false, out))
		abort();
	fclose(out);
	return text;
}

static bool is_ascii(const char *text)
{
	while (*text > 0)
		text++;
	return !*text;
}

/* Write @tree with @facts, and read it again. */
static struct calltree *there_and_back(
	const struct calltree *tree, const struct input_facts *facts)
{
	const struct picture_options options = {.title = facts->title,
		.count_name = facts->count_name, .period_ns = facts->period_ns,
		.duration_ns = facts->duration_ns, .created_s = facts->created_s,
		.marks = facts->marks, .mark_count = facts->mark_count};
	struct calltree *again = calltree_new();
	struct diag_message message;
	struct input_facts read;
	char *written = NULL;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	if (!again || !out || pprof_write(tree, &options, out))
		abort();
	fclose(out);
	if (pprof_read(again, written, bytes, "again", &request, &read, &message) ||
		calltree_finish(again) || calltree_total(again) != calltree_total(tree))
		abort();
	free(written);
	input_facts_release(&read);
	return again;
}

/* Check that nothing is lost by writing and reading. */
static void check_back(const struct calltree *tree, const struct input_facts *facts)
{
	struct calltree *once = there_and_back(tree, facts), *twice = there_and_back(once, facts);
	char *first = fold(tree), *second = fold(once), *third = fold(twice);

	if ((is_ascii(first) && strcmp(first, second)) || strcmp(second, third))
		abort();
	free(first);
	free(second);
	free(third);
	calltree_free(once);
	calltree_free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calltree *tree = calltree_new();
	struct diag_message message = {0};
	struct input_facts facts = {0};
	void *bytes = NULL;
	size_t count = 0;
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

	if (!tree)
		abort();
	diag_set_level(DIAG_QUIET);
	if (in && !pprof_load(in, "fuzz", &bytes, &count, &message)) {
		pprof_is_profile(bytes, count);
		/*
		 * Leave out larger values, because multiplying them by the period would overflow.
		 */
		if (!pprof_read(tree, bytes, count, "fuzz", &request, &facts, &message) &&
			!calltree_finish(tree) && calltree_total(tree) &&
			calltree_total(tree) < UINT64_C(1) << 40 &&
			facts.period_ns < 1 << 20)
			check_back(tree, &facts);
		else if (!message.text[0] && calltree_error(tree))
			abort();
	}
	if (in)
		fclose(in);
	free(bytes);
	input_facts_release(&facts);
	calltree_free(tree);
	return 0;
}
