/* SPDX-License-Identifier: MIT */
/*
 * Names that keep their place when the program changes its folder, as daemons do.
 */
#ifndef LIBPROF_API_ABSOLUTE_H
#define LIBPROF_API_ABSOLUTE_H

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/*
 * @path as seen from the current folder into @out. Returns 0, -ENAMETOOLONG, or -errno of getcwd().
 * Context: any thread, not a handler.
 */
static inline int absolute_path(char out[PATH_MAX], const char *path)
{
	size_t bytes = strlen(path) + 1, folder_bytes = 0;

	if (*path != '/') {
		if (!getcwd(out, PATH_MAX))
			return -errno;
		folder_bytes = strlen(out);
		if (folder_bytes + 1 < PATH_MAX && folder_bytes > 1)
			out[folder_bytes++] = '/';
	}
	if (bytes > PATH_MAX - folder_bytes)
		return -ENAMETOOLONG;
	memcpy(out + folder_bytes, path, bytes);
	return 0;
}

#endif
