/* SPDX-License-Identifier: MIT */
/*
 * Whose a tree's weight is, and when it passed: for formats that have samples of threads.
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

/* What one sample says of a node's own weight, or what none says. */
struct timeline_share {
	uint64_t time_ns; /* since the start of the run; 0: not known */
	uint64_t weight;  /* > 0 */
	uint32_t node;
	uint32_t thread; /* TIMELINE_NO_THREAD: nobody's */
};

/*
 * The shares of @tree (finished), in no order. Those of a node add up to its own weight: samples
 * that say more are cut, what they do not say is nobody's.
 * Returns 0, an owned array in *@shares and its *@count; or -ENOMEM.
 */
int timeline_shares(const struct calltree *tree, struct timeline_share **shares, size_t *count);

struct timeline {
	const struct calltree *tree; /* of the times that are drawn */
	struct calltree *made[2];
	/* [frame]: of whole functions where most of it passed, the tree's; NULL: not known */
	const struct calltree_line **lines;
	/* By thread, nobody's last; of one by time, then depth first. No two are equal in these. */
	struct timeline_share *shares;
	size_t count;
};

/*
 * Put options->fine, or without it @tree (both borrowed until the release), in order of time.
 * @by_line: functions stay a frame for each of their lines, else they are whole.
 * Returns 0, or -ENOMEM with nothing to release.
 */
int timeline_init(struct timeline *timeline, const struct calltree *tree,
	const struct picture_options *options, bool by_line);
void timeline_release(struct timeline *timeline);

/* One past the last share of the thread whose first one is @begin; its weight is in *@weight. */
size_t timeline_thread(const struct timeline *timeline, size_t begin, uint64_t *weight);

/* What the thread of share @begin is called, and its process, "" when it is not known. */
const char *timeline_thread_name(const struct timeline *timeline, size_t begin);
const char *timeline_process_name(const struct timeline *timeline, size_t begin);

#endif
