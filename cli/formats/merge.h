/* SPDX-License-Identifier: MIT */
/*
 * Several files of stacks as one: equal stacks of equal functions are one, and their weights add
 * up.
 *
 * What counts the same is added: samples of one period, or counts of one name. Times of one kind
 * that were sampled at several periods are added in nanoseconds. Counts of things that differ, and
 * counts to times, are not: the sum would have no unit.
 *
 * Each run has a clock of its own, so that moments of samples and marks mean nothing beside those
 * of another: they are left out. Threads and lines stay. What is kept in memory is in proportion to
 * distinct stacks, each with the threads that have it, and to one file at a time.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_MERGE_H
#define CLI_FORMATS_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/formats/input.h"
#include "libprof/pprof/writer.h"

/* What a thread has of a node's own weight. */
struct merge_share {
	uint32_t node, thread;
	uint64_t weight;
};

struct merge {
	struct input sum; /* not finished before merge_end() */
	const char *part; /* what a file is of it, for the subtitle; NULL: "file" */
	unsigned files;
	struct texts threads;
	struct merge_share *shares;
	uint32_t share_count, share_room;
	struct pages_account account; /* of the lookup */
	struct lookup share_lookup;   /* by their numbers + 1 */
	uint64_t marks; /* left out */
	bool had_times, had_other_titles, had_other_filters;
	bool is_part; /* files of several units are refused with -EXDEV */
};

/* Begin with all zero but ->part and ->is_part, end with merge_release(). */

/*
 * Add @input (finished, borrowed for the call). @root: a frame to stand below its stacks, NULL:
 * none. Returns 0, or with @message filled -EINVAL where it counts something else, -EOVERFLOW for a
 * sum that is too large, or another -errno; nothing can be added then.
 */
int merge_add(struct merge *merge, const struct input *input, const char *root,
	struct diag_message *message);

/*
 * Read @path (borrowed until merge_end()) as input_read() does, and add it. Where its format allows
 * it there is no tree of the file's own. @has_root: its name stands below its stacks. Returns 0, or
 * -errno with @message filled; nothing can be added then.
 */
int merge_read(struct merge *merge, const char *path, const struct input_request *request,
	bool has_root, struct diag_message *message);

/*
 * Add what @part has come to: the sum is that of all files in a row. @part is to be released, and
 * no more. Returns as merge_add() does.
 */
int merge_join(struct merge *merge, struct merge *part, struct diag_message *message);

/*
 * Give the whole to @out, the caller's to release, as input_read() does, and say what was left out.
 * Returns 0, or -errno with @message filled.
 */
int merge_end(struct merge *merge, struct input *out, struct diag_message *message);

void merge_release(struct merge *merge);

#endif
