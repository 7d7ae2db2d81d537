/* SPDX-License-Identifier: MIT */
/*
 * Merge many files with one thread per processor.
 *
 * Context: one thread, which starts others and joins them.
 */
#ifndef CLI_FORMATS_MERGE_FILES_H
#define CLI_FORMATS_MERGE_FILES_H

#include "cli/formats/merge.h"

/*
 * Add all @count files to @merge, in which only @part is set. Sum, messages and errors are those of
 * calling merge_read() for one file after the other. Returns as merge_read() does.
 */
int merge_files(struct merge *merge, const char *const *paths, unsigned count,
	const struct input_request *request, bool has_root, struct diag_message *message);

#endif
