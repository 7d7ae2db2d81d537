/* SPDX-License-Identifier: MIT */
/*
 * Split a tree's weight by thread and time, for output formats that contain samples of threads.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_TIMELINE_H
#define CLI_FORMATS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"
#include "render/picture.h"

#define TIMELINE_NO_THREAD UINT32_MAX

/* A part of a node's self weight: the part in one sample, or the part that is in no sample. */
struct timeline_share {
	uint64_t time_ns; /* since the start of the run; 0: unknown */
	uint64_t weight;  /* > 0 */
	uint32_t node;
	uint32_t thread; /* TIMELINE_NO_THREAD: unknown */
};

/*
 * List the shares of all nodes of @tree (finished), unsorted. A node's shares add up to its self
 * weight: weight of samples beyond it is dropped, and weight that is in no sample gets no thread.
 * Returns 0 with an owned array in *@shares and its *@count, or -ENOMEM.
 */
int timeline_shares(const struct calltree *tree, struct timeline_share **shares, size_t *count);

struct timeline {
	const struct calltree *tree; /* with the stacks that are drawn */
	struct calltree *made[2];
	/* [frame] -> heaviest line of the function, owned by the tree; NULL: unknown */
	const struct calltree_line **lines;
	/*
	 * Sorted by thread (none: last), time, preorder of nodes. No two are equal in all of these.
	 */
	struct timeline_share *shares;
	size_t count;
};

/*
 * List and sort the shares of options->fine, or of @tree if that is NULL. The tree is borrowed
 * until the release. With @by_line, a function keeps one frame per line; otherwise these are
 * merged. Returns 0, or -ENOMEM with nothing to release.
 */
int timeline_init(struct timeline *timeline, const struct calltree *tree,
	const struct picture_options *options, bool by_line);
void timeline_release(struct timeline *timeline);

/* Returns the end of the thread's shares, which begin at index @begin; *@weight is their sum. */
size_t timeline_thread(const struct timeline *timeline, size_t begin, uint64_t *weight);

/* Return the names of the thread (or "[no thread]") and of the process (or "") of share @begin. */
const char *timeline_thread_name(const struct timeline *timeline, size_t begin);
const char *timeline_process_name(const struct timeline *timeline, size_t begin);

#endif
