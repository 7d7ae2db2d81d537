/* SPDX-License-Identifier: MIT */
/*
 * Files of nodes as one job: one tree, and how its ranks differ. Several threads read files; what
 * is kept is in proportion to distinct stacks, and a few words for each rank. Where there are more
 * ranks than JOB_ROOTS_MAX, those stay apart in the tree that differ most; the rest is one.
 */
#ifndef CLI_FORMATS_JOB_H
#define CLI_FORMATS_JOB_H

#include <stdbool.h>

#include "cli/diag.h"
#include "cli/formats/input.h"
#include "render/calltree.h"

#define JOB_ROOTS_MAX 256

/* Is @path a folder, or named as a file of a node is? */
bool job_is(const char *path);

/*
 * Read @path, all files of nodes in a folder or one such file, into @out as input_read() does.
 * Ranks are what threads are elsewhere, and nodes what processes are. @times: what of ranks is
 * compared. A file that is damaged, or of another job than the newest, is left out and said.
 *
 * Returns 0, or -errno with @message filled: -ENOENT where there is no file. To be released in any
 * case.
 */
int job_read(struct input *out, const char *path, enum calltree_times times,
	struct diag_message *message);

#endif
