/* SPDX-License-Identifier: MIT */
/*
 * Trees made from trees, before anything is drawn: stacks and frames left out, other merges, other
 * roots. The source is never changed. Times and threads of the samples are carried over; frames
 * that are in no stack any more are not.
 */
#ifndef RENDER_TRANSFORM_H
#define RENDER_TRANSFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "render/calltree.h"

/* Decides about one frame, and is asked about each once. Returns non-zero for yes. */
typedef int transform_match_fn(const struct calltree_frame *frame, void *context);

struct transform_matcher {
	transform_match_fn *match; /* NULL: not asked for */
	void *context;
};

/* What is left out, in this order: whole stacks are asked for first, their callers too. */
enum transform_filter {
	TRANSFORM_FOCUS,  /* stacks leave in which no frame matches */
	TRANSFORM_IGNORE, /* stacks leave in which one does */
	TRANSFORM_ROOT,	  /* stacks begin at the first (outermost) frame that matches; those without
			     one leave */
	TRANSFORM_HIDE,	  /* matching frames leave; what they called moves up to their caller */
	TRANSFORM_FILTERS
};

/*
 * Leave out of @tree (borrowed for the call, with the matchers' contexts) what @filters say.
 * Returns 0 and in *@out an owned, finished tree, NULL when nothing was asked for; and the weight
 * that each filter left out in @left_out: what the stacks weigh that left, or became empty, but for
 * those that wait, whose weight nobody sampled. That and what the new tree weighs without waits is
 * what @tree does. Otherwise -ENOMEM, or what poisoned the new tree, see calltree_error(); nothing
 * is written then. Frames of CALLTREE_WAIT are never hidden: they say what kind of time it is.
 */
int transform_filter(const struct calltree *tree,
	const struct transform_matcher filters[TRANSFORM_FILTERS], struct calltree **out,
	uint64_t left_out[TRANSFORM_FILTERS]);

/* What is to become of files and inlined functions before anything else. */
struct transform_sources {
	bool no_inline; /* inlined frames leave: their weight is that of what they stand in */
	/* The name that @file is to have, valid until the next call; NULL: the one it has. */
	const char *(*map)(const char *file, void *context);
	void *context;
	/* The name that function @name is to have, likewise; NULL: the one it has. */
	const char *(*rename)(const char *name, void *context);
	void *rename_context;
};

/* Likewise. The new tree's total is @tree's. */
int transform_sources(const struct calltree *tree, const struct transform_sources *sources,
	struct calltree **out);

/*
 * Merge the frames of @tree (fine) that differ in file and line alone, into a coarse tree with a
 * table of what each line weighs; see render/calltree.h. With @by_line they stay apart, named
 * "function file.c:12". Likewise; NULL in *@out also when no line is known.
 */
int transform_lines(const struct calltree *tree, bool by_line, struct calltree **out);

/*
 * Keep the stacks that @times names, in trees turned round as well. Likewise; NULL in *@out when
 * these are all.
 */
int transform_times(
	const struct calltree *tree, enum calltree_times times, struct calltree **out);

#define IDLE_SHARE_PERCENT 95
#define IDLE_CPU_PERCENT   1
#define IDLE_CPU_SAMPLES   3

/* How what is left is shown, in this order. Zero-initialise for "as it is". */
struct transform_shape {
	/*
	 * A root frame for each process, for each thread, or for threads below their process, by
	 * the samples. Weight without a sample's time goes to the one it is known for, else to
	 * none. A process's frame takes the place of one by its name.
	 */
	bool by_process, by_thread;
	/* Frames of CALLTREE_PROCESS at the root stand for files: they are roots in any case. */
	bool by_file;
	/*
	 * A frame "[idle: N threads]" of CALLTREE_IDLE is put above the waiting stacks of threads
	 * that spend IDLE_SHARE_PERCENT of their time in one stack that waits for something known,
	 * and at most IDLE_CPU_PERCENT of it, or IDLE_CPU_SAMPLES, on a CPU; below the frame of
	 * their process. Not where all threads do, nor with by_thread.
	 */
	bool fold_idle;
	/*
	 * A function that is on the stack already is not put on it again: what it calls stands at
	 * its first occurrence. Who stood between the two has less below it, and every caller that
	 * is shown is one.
	 */
	bool collapse_recursion;
	/* Each frame becomes its module, and modules that call themselves merge. */
	bool by_module;
	/* Merged from the leaf: callees become roots, below those of processes, threads, [idle]. */
	bool reverse;
};

/* Likewise. The new tree's total is @tree's. */
int transform_shape(
	const struct calltree *tree, const struct transform_shape *shape, struct calltree **out);

#endif
