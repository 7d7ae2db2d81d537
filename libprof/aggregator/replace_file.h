/* SPDX-License-Identifier: MIT */
/*
 * A file is replaced when its new content is complete, or stays as it was: written beside it, then
 * renamed over it. Where there is a device or a pipe instead of a file, that is written to.
 */
#ifndef LIBPROF_AGGREGATOR_REPLACE_FILE_H
#define LIBPROF_AGGREGATOR_REPLACE_FILE_H

/* Writes the content to @descriptor. Returns 0 or -errno. */
typedef int replace_file_fn(void *context, int descriptor);

/*
 * Have @write make what @path names, symbolic links followed as libprof/follow_links.h has it. The
 * host is not signalled when a file grows beyond its limit or a pipe's reader is gone: that is an
 * error as any other.
 * Returns 0, or -errno: what was there is untouched, and nothing else is left behind. -EACCES also
 * for what another user may have laid there.
 * Context: any thread, not a handler.
 */
int replace_file(const char *path, replace_file_fn *write, void *context);

#endif
