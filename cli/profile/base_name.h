/* SPDX-License-Identifier: MIT */
/* What a file is called in pictures. */
#ifndef CLI_PROFILE_BASE_NAME_H
#define CLI_PROFILE_BASE_NAME_H

#include <string.h>

/* @path without its folders; whole when it ends in a slash. Points into it. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
