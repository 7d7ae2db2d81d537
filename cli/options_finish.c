/* SPDX-License-Identifier: MIT */
/*
 * What can only be checked or filled in when every setting is known.
 */
#include "cli/options.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/formats/format.h"

static bool is_folder(const char *path)
{
	struct stat status;

	return path[strlen(path) - 1] == '/' || (!stat(path, &status) && S_ISDIR(status.st_mode));
}

static int refuse_folder(const char *path, struct diag_message *message)
{
	bool is_open = path[strlen(path) - 1] == '/';

	diag_fail(message, -EISDIR, "cannot write '%s': it is a folder", path);
	diag_fail_hint(message, "name a file in it: -o '%s%sflame.svg'", path, is_open ? "" : "/");
	return -EINVAL;
}

int options_finish(struct options *options, struct diag_message *message)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].kind == OPTIONS_KIND_OUTPUT && !options->outputs.count)
			options->outputs.item[options->outputs.count++] = options_rows[i].fallback;
	/* Whether "-" can be written at all comes before its format: results_open() tells. */
	for (unsigned i = 0; i < options->outputs.count; i++) {
		const char *path = options->outputs.item[i];

		if (strcmp(path, "-") && !format_of(path, options->format))
			return is_folder(path) ? refuse_folder(path, message)
					       : format_unknown(path, message);
	}
	return 0;
}
