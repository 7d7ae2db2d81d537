/* SPDX-License-Identifier: MIT */
/*
 * Many files as one, read by as many threads as there are processors.
 *
 * Context: one thread; others are started and joined.
 */
#ifndef CLI_FORMATS_MERGE_FILES_H
#define CLI_FORMATS_MERGE_FILES_H

#include "cli/formats/merge.h"

/*
 * Add all @count files of @paths to @merge, of which only ->part is set, as merge_read() does one
 * after the other: the sum, lines and errors do not depend on how many threads there are.
 * Returns as merge_read() does.
 */
int merge_files(struct merge *merge, const char *const *paths, unsigned count,
	const struct input_request *request, bool has_root, struct diag_message *message);

#endif
