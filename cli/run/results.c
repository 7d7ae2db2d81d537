/* SPDX-License-Identifier: MIT */
/*
 * Outputs meet formats.
 */
#include "cli/run/results.h"

#include "cli/diag.h"
#include "cli/formats/format.h"

struct result {
	const struct calltree *tree;
	const struct picture_options *picture;
	const struct format *format;
};

static int write_result(void *context, FILE *file)
{
	const struct result *result = context;

	return result->format->write(result->tree, result->picture, file);
}

unsigned results_write(const struct calltree *tree, const struct picture_options *picture,
	const struct options *options, struct outputs *outputs)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < options->outputs.count; i++) {
		struct diag_message message = {0};
		struct result result = {
			.tree = tree,
			.picture = picture,
			.format = format_of(options->outputs.path[i]),
		};

		if (outputs_write(outputs, i, write_result, &result, &message)) {
			diag_report(&message);
			failed++;
		} else {
			diag_info("wrote '%s'", options->outputs.path[i]);
		}
	}
	return failed;
}
