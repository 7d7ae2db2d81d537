/* SPDX-License-Identifier: MIT */
/*
 * Merge several files of stacks into one: weights of equal stacks are added up.
 *
 * Only weights in the same unit can be added: samples of one period, or counts of one name. Times
 * of one kind with different periods are added in nanoseconds. Different counts, or counts and
 * times, are refused, because their sum would have no unit.
 *
 * Marks and the times of samples are dropped, because each run has its own clock. Threads and
 * source lines are kept. Memory is proportional to the distinct stacks, each with its threads, plus
 * one file at a time.
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

/* The part of a node's self weight that belongs to a thread. */
struct merge_share {
	uint32_t node, thread;
	uint64_t weight;
};

struct merge {
	struct input sum; /* not finished before merge_end() */
	/* noun for one input in the subtitle, such as "run"; NULL: "file" */
	const char *part;
	unsigned files;
	struct texts threads;
	struct merge_share *shares;
	uint32_t share_count, share_room;
	struct pages_account account; /* of the lookup */
	struct lookup share_lookup;   /* indices in @shares + 1 */
	uint64_t marks;		      /* number of marks dropped */
	bool had_times, had_other_titles, had_other_filters;
	/* part of a larger sum: merge_add() returns -EXDEV for files of different units */
	bool is_part;
};

/*
 * Add @input (finished, borrowed for the call). Zero @merge and set @part and @is_part before the
 * first call; merge_release() frees it. If @root is not NULL, it names the outermost frame of the
 * stacks. Returns 0, or with @message filled -EINVAL if @input has another unit, -EOVERFLOW if the
 * sum is too large, or another -errno; after an error nothing more can be added.
 */
int merge_add(struct merge *merge, const struct input *input, const char *root,
	struct diag_message *message);

/*
 * Read @path (borrowed until merge_end()) as input_read() does, and add it. If the format's reader
 * supports this, it adds stacks directly to the sum. With @has_root, the file's name is the
 * outermost frame. Returns 0, or -errno with @message filled; after an error nothing more can be
 * added.
 */
int merge_read(struct merge *merge, const char *path, const struct input_request *request,
	bool has_root, struct diag_message *message);

/*
 * Add the sum in @part to @merge. If parts are joined in the order of their files, the result is
 * that of adding all files one by one. @part can only be released afterwards. Returns as
 * merge_add() does.
 */
int merge_join(struct merge *merge, struct merge *part, struct diag_message *message);

/*
 * Move the result to @out (the caller releases it) and report what was left out. Returns 0, or
 * -errno with @message filled.
 */
int merge_end(struct merge *merge, struct input *out, struct diag_message *message);

void merge_release(struct merge *merge);

#endif
