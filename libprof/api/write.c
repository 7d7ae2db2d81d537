/* SPDX-License-Identifier: MIT */
/* Writing a profile: by the library itself, or by flamerun from what the library wrote. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "arch/syscall.h"
#include "libprof/aggregator/pprof.h"
#include "libprof/api/draw.h"
#include "libprof/flameprof_profile.h"

#define ENDING_PB ".pb"

static int ends_with(const char *text, const char *end)
{
	size_t text_bytes = strlen(text), end_bytes = strlen(end);

	return text_bytes > end_bytes && !strcmp(text + text_bytes - end_bytes, end);
}

static int is_known(const char *path)
{
	static const char *const endings[] = {".svg", ".png", ".pdf", ".folded", ".pb.gz"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_with(path, endings[i]))
			return 1;
	return 0;
}

int flameprof_profile_write(const struct flameprof_profile *profile, const char *path)
{
	size_t bytes = strlen(path);
	char unnamed[PATH_MAX];
	int error;

	if (ends_with(path, ENDING_PB))
		return profile_write_pb(profile, path);
	if (!is_known(path))
		return -EINVAL;
	if (bytes > sizeof(unnamed) - sizeof(ENDING_PB))
		return -ENAMETOOLONG;
	memcpy(unnamed, path, bytes + 1);
	memcpy(unnamed + bytes, ENDING_PB, sizeof(ENDING_PB));
	error = profile_write_pb(profile, unnamed);
	if (!error)
		error = draw(unnamed, path);
	if (!error)
		arch_syscall3(SYS_unlinkat, AT_FDCWD, unnamed, 0);
	return error;
}
