/* SPDX-License-Identifier: MIT */
/*
 * Read stored stacks for the commands render, merge and top: parse the words of the command line,
 * read the files, and make trees and picture options. Context: one thread.
 */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include <stdbool.h>

#include "cli/formats/input.h"
#include "cli/options.h"
#include "cli/picture_settings.h"
#include "render/picture.h"

enum stored_command {
	STORED_RENDER,
	STORED_MERGE,
	STORED_TOP
};

struct stored_files {
	const char **paths; /* owned list of borrowed strings */
	int count;
	bool are_runs;	     /* files are runs of one program */
	bool can_be_several; /* several files are allowed */
};

/*
 * Parse options and files from argv[@index] on, which may be mixed. The caller must free
 * files->paths, after errors as well. Returns 0, or -errno with @message filled.
 */
int stored_parse(struct options *options, enum stored_command command, int argc, char **argv,
	int index, struct stored_files *files, struct diag_message *message);

/*
 * stored_read() fills this struct. A member borrows from the caller's options and from the members
 * above it.
 */
struct stored {
	struct options options; /* completed from the file */
	struct input input;
	struct picture_trees trees, other;	    /* @other: of input.other; all zero: none */
	struct picture_trees kept[INPUT_TYPES_MAX]; /* of input.kept */
	struct picture_values values[INPUT_TYPES_MAX];
	char subtitle[PICTURE_SUBTITLE_BYTES], filters[PICTURE_FILTERS_BYTES];
	struct picture_options picture;
};

/*
 * Read @files, merge them if there are several, and make the trees for @options (finished,
 * borrowed). If @is_turned, apply --reverse. The caller must release @stored, after errors as well.
 * Returns 0, or -errno with @message filled.
 */
int stored_read(struct stored *stored, const struct options *options,
	const struct stored_files *files, bool is_turned, struct diag_message *message);
void stored_release(struct stored *stored);

#endif
