/* SPDX-License-Identifier: MIT */
/*
 * Replace a file only by complete content: write a temporary file beside it, then rename it. A
 * device or pipe is written directly.
 */
#ifndef LIBPROF_AGGREGATOR_REPLACE_FILE_H
#define LIBPROF_AGGREGATOR_REPLACE_FILE_H

/* Write the content to @descriptor (borrowed). Returns 0 or -errno. */
typedef int replace_file_fn(void *context, int descriptor);

/*
 * Call @write to make the content of @path, whose symbolic links are followed by follow_links(). A
 * write error is returned and does not send SIGXFSZ or SIGPIPE to the host.
 * Returns 0, or -errno with the old content unchanged and no temporary file left. -EACCES also if
 * another user may have put the file or a link there.
 * Context: any thread, not a handler.
 */
int replace_file(const char *path, replace_file_fn *write, void *context);

#endif
