/* SPDX-License-Identifier: MIT */
/*
 * Names of outputs with gaps in them, filled when the run knows what goes there; libprof/gaps.h
 * says which there are. %p is the child's pid, %t the start of the run.
 */
#ifndef CLI_RUN_PATTERN_H
#define CLI_RUN_PATTERN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "cli/diag.h"

struct pattern_values {
	pid_t child;      /* 0: not known yet, "%p" is left as it is */
	bool has_child;   /* false: there will never be one, and "%p" is refused */
	time_t started_s; /* seconds since the epoch */
};

/*
 * Fill the gaps of @pattern into @out. A value never leads to another folder: its slashes become
 * '_', and so does a dot it would begin a name with. "%p" stands in the file's name only.
 *
 * Returns 0, or -errno with @message filled: -EINVAL for a gap that is none of the above, -ENOENT
 * for a variable that is not set, -ENAMETOOLONG.
 */
int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message);

/* Does @pattern depend on the child's pid? */
bool pattern_has_child(const char *pattern);

#endif
