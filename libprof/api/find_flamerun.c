/* SPDX-License-Identifier: MIT */
/* A handful of places, the first that has an executable file of that name. */
#include "libprof/api/find_flamerun.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "/flamerun"

/* Is NAME in the folder that the first @bytes of @folder name? */
static int try_folder(char out[PATH_MAX], const char *folder, size_t bytes)
{
	struct stat status;

	if (!bytes || folder[0] != '/' || bytes > PATH_MAX - sizeof(NAME))
		return -ENOENT;
	memcpy(out, folder, bytes);
	memcpy(out + bytes, NAME, sizeof(NAME));
	return !stat(out, &status) && S_ISREG(status.st_mode) && !access(out, X_OK) ? 0 : -ENOENT;
}

static int try_beside(char out[PATH_MAX])
{
	const char *slash;
	Dl_info info;

	if (!dladdr((const void *)find_flamerun, &info) || !info.dli_fname)
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	return slash ? try_folder(out, info.dli_fname, (size_t)(slash - info.dli_fname)) : -ENOENT;
}

static int try_path(char out[PATH_MAX])
{
	const char *path = getauxval(AT_SECURE) ? NULL : getenv("PATH");

	while (path && *path) {
		size_t bytes = strcspn(path, ":");

		if (!try_folder(out, path, bytes))
			return 0;
		path += bytes + (path[bytes] == ':');
	}
	return -ENOENT;
}

int find_flamerun(char out[PATH_MAX])
{
	int saved = errno;
	int error = try_beside(out);

	if (error)
		error = try_folder(out, FLAMERUN_BINDIR, strlen(FLAMERUN_BINDIR));
	if (error)
		error = try_path(out);
	errno = saved;
	return error;
}
