/* SPDX-License-Identifier: MIT */
/*
 * A rank's way into the file of its node: DIR/NODE.ranks, which all ranks of a node write under a
 * lock, each its own part. What was committed once stays, whatever becomes of the rank or the node:
 * a file is replaced when the next one is complete.
 *
 * Where files cannot be locked, or somebody keeps the lock for long, a rank has a file of its own,
 * DIR/NODE.rank-N.ranks, which is read like the others.
 *
 * Context: one thread.
 */
#ifndef CLI_RUN_COMMIT_H
#define CLI_RUN_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/run/job_rank.h"
#include "cli/formats/ranks_file.h"

struct commit;

/*
 * Begin: make @folder if it is not there, and put into the node's file that this rank has begun.
 * @job_rank and the strings are borrowed for as long as the object; @title: what runs.
 * Returns 0 and an owned object in *@out, or -errno with @message filled.
 */
int commit_open(struct commit **out, const char *folder, const struct job_rank *job_rank,
	const char *title, struct diag_message *message);
void commit_free(struct commit *commit); /* NULL is fine */

/* How the rank ended; the default is an exit with status 0. */
void commit_set_end(struct commit *commit, int wait_status);

/*
 * Put @tree (fine, finished, borrowed), of weights of @period_ns, in the place of what was
 * committed before. @is_end: nothing will follow.
 * Returns 0, or -errno with @message filled; what was there before is there still.
 */
int commit_put(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	uint64_t duration_ns, bool is_end, struct diag_message *message);

/*
 * After the end: was this the last rank of the job, as far as its size is known? Then nobody else
 * is told so until commit_free().
 */
bool commit_is_last(struct commit *commit);

#endif
