/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a run whose picture could not be written.
 */
#include "cli/run/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/formats/folded.h"
#include "cli/run/replace.h"

#define SUFFIX ".folded"

static int write_stacks(void *context, FILE *file)
{
	return folded_write(context, file);
}

static int write_in(const char *folder, const struct calltree *tree, char path[PATH_MAX])
{
	int bytes = snprintf(path, PATH_MAX, "%s/flamerun-XXXXXX" SUFFIX, folder);
	int descriptor, error;

	if (bytes >= PATH_MAX)
		return -ENAMETOOLONG;
	descriptor = mkostemps(path, (int)strlen(SUFFIX), O_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	error = replace_fill(descriptor, write_stacks, (void *)tree);
	if (error)
		unlink(path);
	close(descriptor);
	return error;
}

int rescue_stacks(const struct calltree *tree, char path[PATH_MAX], struct diag_message *message)
{
	const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
	char written[PATH_MAX] = "";
	int error = -ENOENT;

	for (size_t i = 0; error && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (folders[i] && *folders[i])
			error = write_in(folders[i], tree, written);
	if (error)
		return diag_fail(message, error,
			"cannot save the stacks either, not even in '%s': %s",
			folders[sizeof(folders) / sizeof(folders[0]) - 1], strerror(-error));
	strcpy(path, written);
	return 0;
}
