/* SPDX-License-Identifier: MIT */
/*
 * Read the files of a parallel job, one per compute node, as one profile: a tree of all ranks (MPI
 * processes), and how the ranks differ. Several threads read files. Memory is proportional to the
 * distinct stacks, plus a few words per rank. If there are more than JOB_ROOTS_MAX ranks, those
 * whose work differs most from the mean keep threads of their own in the tree, and all other ranks
 * share one thread.
 */
#ifndef CLI_FORMATS_JOB_H
#define CLI_FORMATS_JOB_H

#include <stdbool.h>

#include "cli/diag.h"
#include "cli/formats/input.h"
#include "render/calltree.h"

#define JOB_ROOTS_MAX 256

/* Is @path a folder, or does it have the name of a node's file? */
bool job_is(const char *path);

/*
 * Read @path, a folder of node files or a single one, into @out, as input_read() does. Ranks become
 * threads and nodes become processes. @times selects the stacks by which ranks are compared. Files
 * that are damaged, or that belong to an older job, are skipped and reported. Returns 0, or -errno
 * with @message filled; -ENOENT if there is no file. The caller must release @out in both cases.
 */
int job_read(struct input *out, const char *path, enum calltree_times times,
	struct diag_message *message);

#endif
