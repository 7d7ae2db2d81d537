/* SPDX-License-Identifier: MIT */
/*
 * Write the profile of one rank of a parallel job to its node's file, DIR/NODE.ranks. All ranks of
 * a node write this file under a lock, each its own part. The file is replaced only by a complete
 * new one, so what was committed survives the death of the rank or the node.
 *
 * If files cannot be locked, or the lock is held for too long, a rank writes a file of its own,
 * DIR/NODE.rank-N.ranks, which is read like the others. Context: one thread.
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
 * Make @folder if needed, and record in the node's file that this rank has begun. @job_rank and the
 * strings are borrowed until commit_free(); @title is the command that runs. Returns 0 with an
 * owned object in *@out, or -errno with @message filled.
 */
int commit_open(struct commit **out, const char *folder, const struct job_rank *job_rank,
	const char *title, struct diag_message *message);
void commit_free(struct commit *commit); /* NULL is fine */

/* Set how the rank ended; the default is an exit with status 0. */
void commit_set_end(struct commit *commit, int wait_status);

/*
 * Replace what this rank committed before by @tree (finished, not merged; borrowed), whose weights
 * are periods of @period_ns. @is_end: the last commit. Returns 0, or -errno with @message filled;
 * the earlier commit is then still there.
 */
int commit_put(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	uint64_t duration_ns, bool is_end, struct diag_message *message);

/*
 * After the last commit: was this the last rank of the job, if the job's size is known? Returns
 * true for one rank only, until that rank calls commit_free().
 */
bool commit_is_last(struct commit *commit);

#endif
