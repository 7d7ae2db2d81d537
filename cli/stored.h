/* SPDX-License-Identifier: MIT */
/*
 * Stacks that were written earlier: what render, merge and top have in common. From words on the
 * command line to trees and what is to be said of them; no program is run.
 *
 * Context: one thread.
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

/* The files of a command; the list is owned, the strings are argv's. */
struct stored_files {
	const char **paths;
	int count;
	bool are_runs;	     /* of one program */
	bool can_be_several; /* the command takes more than one */
};

/*
 * Read options and files from argv[*] from @index on, in any order. To be freed in any case.
 * Returns 0; or -errno with @message filled: no file or too many, options of other commands.
 */
int stored_parse(struct options *options, enum stored_command command, int argc, char **argv,
	int index, struct stored_files *files, struct diag_message *message);

/* Everything borrows from what stands above it, and from the options. */
struct stored {
	struct options options; /* with what the file says of how it was drawn */
	struct input input;
	struct picture_trees trees, other; /* of time of another kind; all zero without */
	char subtitle[PICTURE_SUBTITLE_BYTES], filters[PICTURE_FILTERS_BYTES];
	struct picture_options picture;
};

/*
 * Read @files, together if they are several, and make of them what @options (finished, borrowed)
 * want shown. @is_turned: --reverse is obeyed.
 * Returns 0, or -errno with @message filled. To be released in any case.
 */
int stored_read(struct stored *stored, const struct options *options,
	const struct stored_files *files, bool is_turned, struct diag_message *message);
void stored_release(struct stored *stored);

#endif
