/* SPDX-License-Identifier: MIT */
/*
 * Write the profile of one rank of a parallel job to the file DIR/NODE.ranks of its node. All ranks
 * of a node write to this file under a lock, and each replaces only its own part. A complete new
 * file replaces the old one, so a profile that was committed survives the death of the rank or the
 * node.
 *
 * If files cannot be locked, or the lock is held for too long, a rank writes the separate file
 * DIR/NODE.rank-N.ranks. Readers read these files, too. Context: one thread.
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
 * strings are borrowed until commit_free(). @title is the command that the rank runs. Returns 0
 * with an owned object in *@out, or -errno with @message filled.
 */
int commit_open(struct commit **out, const char *folder, const struct job_rank *job_rank,
	const char *title, struct diag_message *message);
void commit_free(struct commit *commit); /* NULL is fine */

/* Set how the rank ended. If this is not called, the rank has exited with status 0. */
void commit_set_end(struct commit *commit, int wait_status);

/*
 * Replace this rank's previous commit by @tree (finished, not merged; borrowed). A weight of 1 in
 * @tree stands for @period_ns ns. @is_end: this is the rank's last commit. Returns 0, or -errno
 * with @message filled; after an error the previous commit is still in the file.
 */
int commit_put(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	uint64_t duration_ns, bool is_end, struct diag_message *message);

/*
 * After the last commit: have all ranks of the job ended? false if the job's size is unknown.
 * Returns true in one rank only, until that rank calls commit_free().
 */
bool commit_is_last(struct commit *commit);

#endif
