/* SPDX-License-Identifier: MIT */
/*
 * Sort a tree's samples by time and make the columns in which a picture stores them
 * (render/embed.h). The viewer finds a range of time by bisection.
 */
#ifndef RENDER_SAMPLES_H
#define RENDER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

enum samples_column {
	/* ticks since the previous sample; for the first sample, since the start of the run */
	SAMPLES_TIMES,
	/* zigzag: preorder position of the node minus that of the thread's previous sample */
	SAMPLES_NODES,
	SAMPLES_THREADS, /* thread number, less than samples.threads */
	SAMPLES_WEIGHTS,
	SAMPLES_KINDS, /* enum calltree_sample_kind */
	SAMPLES_COLUMNS
};

/*
 * Times of samples are stored in ticks of 2^n microseconds. n is the smallest number with which all
 * times are at most SAMPLES_TICKS ticks, so times of up to 71 minutes are stored exactly. If a
 * profile has more than SAMPLES_MANY samples, the limit is SAMPLES_MANY_TICKS instead, because the
 * times would otherwise be a third of the file. Times of up to an hour are then still exact to
 * about a millisecond.
 */
#define SAMPLES_TICKS	   (UINT64_C(1) << 32)
#define SAMPLES_MANY	   (1u << 20)
#define SAMPLES_MANY_TICKS (UINT64_C(1) << 22)

struct samples {
	const struct calltree *tree;
	const struct preorder *preorder;
	/* [i] -> the i-th sample by time; owned. NULL if the tree's samples are sorted by time */
	uint32_t *order;
	size_t count; /* 0 if no sample has a time */
	/* highest thread number that has a name or a sample, plus one */
	uint32_t threads;
	uint64_t tick_us;
};

/*
 * Sort the samples of @tree. @tree and @preorder are borrowed until samples_release(). Returns 0,
 * or, with nothing to release, -ENOMEM or (more than 2^32 samples) -E2BIG.
 */
int samples_init(
	struct samples *samples, const struct calltree *tree, const struct preorder *preorder);

/* Write @column of all samples to @values (room for samples->count). Returns 0 or -ENOMEM. */
int samples_fill(const struct samples *samples, enum samples_column column, uint32_t *values);

void samples_release(struct samples *samples);

#endif
