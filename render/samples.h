/* SPDX-License-Identifier: MIT */
/*
 * The table of samples that a picture holds, column by column: in order of time, so that whoever
 * reads it finds a range by bisection, and with times as fine as their number allows.
 */
#ifndef RENDER_SAMPLES_H
#define RENDER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

enum samples_column {
	SAMPLES_TIMES,	 /* ticks since the one before; of the first since the start of the run */
	SAMPLES_NODES,	 /* zigzag: place of the node in preorder, minus that of the sample before
			  * of the same thread, 0 for its first */
	SAMPLES_THREADS, /* below samples.threads */
	SAMPLES_WEIGHTS,
	SAMPLES_KINDS, /* enum calltree_sample_kind */
	SAMPLES_COLUMNS
};

/*
 * A tick is the least power of two of microseconds of which a run has no more than these: with 32
 * bits a microsecond for 71 minutes. Of many samples the times would be a third of a picture, and
 * an hour in 2^22 parts is still told to a millisecond.
 */
#define SAMPLES_TICKS	   (UINT64_C(1) << 32)
#define SAMPLES_MANY	   (1u << 20)
#define SAMPLES_MANY_TICKS (UINT64_C(1) << 22)

struct samples {
	const struct calltree *tree;
	const struct preorder *preorder;
	uint32_t *order;  /* owned; NULL: the tree's is that of time */
	size_t count;	  /* 0 where no sample has a time */
	uint32_t threads; /* one past the highest number, named or with samples */
	uint64_t tick_us;
};

/*
 * Sort the samples of @tree, which with @preorder is borrowed until samples_release().
 * Returns 0, or with nothing to release -ENOMEM, or -E2BIG for more than 2^32 of them.
 */
int samples_init(
	struct samples *samples, const struct calltree *tree, const struct preorder *preorder);

/*
 * Write the numbers of @column to @values, which has room for samples->count. Returns 0 or -ENOMEM.
 */
int samples_fill(const struct samples *samples, enum samples_column column, uint32_t *values);

void samples_release(struct samples *samples);

#endif
