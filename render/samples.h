/* SPDX-License-Identifier: MIT */
/*
 * Sort a tree's samples by time and write them in columns, as a picture's data holds them. The
 * viewer finds a range of time by bisection.
 */
#ifndef RENDER_SAMPLES_H
#define RENDER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

enum samples_column {
	/* ticks since the previous sample; at first since the start of the run */
	SAMPLES_TIMES,
	/* zigzag: preorder position of the node minus that of the thread's last sample or 0 */
	SAMPLES_NODES,
	SAMPLES_THREADS, /* below samples.threads */
	SAMPLES_WEIGHTS,
	SAMPLES_KINDS, /* enum calltree_sample_kind */
	SAMPLES_COLUMNS
};

/*
 * Times are in ticks of 2^n microseconds. n is the smallest for which a run has at most this many
 * ticks. 2^32 ticks are exact microseconds for 71 minutes. Runs with more than SAMPLES_MANY samples
 * have coarser ticks, because times would otherwise be a third of the file; an hour in 2^22 ticks
 * is still exact to a millisecond.
 */
#define SAMPLES_TICKS	   (UINT64_C(1) << 32)
#define SAMPLES_MANY	   (1u << 20)
#define SAMPLES_MANY_TICKS (UINT64_C(1) << 22)

struct samples {
	const struct calltree *tree;
	const struct preorder *preorder;
	/* [i] -> index of the i-th sample by time; owned; NULL: the tree's order is sorted */
	uint32_t *order;
	size_t count;	  /* 0 if no sample has a time */
	/* highest number with a name or sample, plus one */
	uint32_t threads;
	uint64_t tick_us;
};

/*
 * Sort the samples of @tree. @tree and @preorder are borrowed until samples_release(). Returns 0,
 * or with nothing to release -ENOMEM, or -E2BIG for more than 2^32 samples.
 */
int samples_init(
	struct samples *samples, const struct calltree *tree, const struct preorder *preorder);

/* Write @column of all samples to @values (room for samples->count). Returns 0 or -ENOMEM. */
int samples_fill(const struct samples *samples, enum samples_column column, uint32_t *values);

void samples_release(struct samples *samples);

#endif
