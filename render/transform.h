/* SPDX-License-Identifier: MIT */
/*
 * Make a new call tree from a call tree, before drawing: filter stacks and frames, merge frames,
 * regroup stacks. The source tree is never changed. Samples keep their times and threads. Frames
 * that are in no stack of the new tree are dropped.
 *
 * Functions here set *@out to an owned, finished tree, or to NULL if nothing needs to change. They
 * return 0, or -ENOMEM or the error of the new tree (calltree_error()) with *@out unchanged. Their
 * inputs are borrowed for the call.
 */
#ifndef RENDER_TRANSFORM_H
#define RENDER_TRANSFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "render/calltree.h"

/* Does the filter match @frame? Called once per frame. Returns non-zero for a match. */
typedef int transform_match_fn(const struct calltree_frame *frame, void *context);

struct transform_matcher {
	transform_match_fn *match; /* NULL: no filter */
	void *context;
};

/*
 * Filters, applied in this order: FOCUS and IGNORE match whole stacks, before ROOT and HIDE shorten
 * them.
 */
enum transform_filter {
	/* keep only stacks with a matching frame */
	TRANSFORM_FOCUS,
	TRANSFORM_IGNORE, /* drop stacks with a matching frame */
	/* begin stacks at the outermost matching frame; drop those without one */
	TRANSFORM_ROOT,
	/* drop matching frames; their callees move up to their caller */
	TRANSFORM_HIDE,
	TRANSFORM_FILTERS
};

/*
 * Apply @filters to @tree. Set @left_out[i] to the weight of the stacks that filter i dropped or of
 * which it left no frame. Waiting stacks are not counted in @left_out, because their weight was not
 * sampled. So the new tree's weight without waits plus the sum of @left_out is @tree's weight
 * without waits. CALLTREE_WAIT frames are never hidden, because they say which kind of time a stack
 * has.
 */
int transform_filter(const struct calltree *tree,
	const struct transform_matcher filters[TRANSFORM_FILTERS], struct calltree **out,
	uint64_t left_out[TRANSFORM_FILTERS]);

/* How to change file names, function names and inlined frames, before everything else. */
struct transform_sources {
	/* drop inlined frames; their weight goes to their parent */
	bool no_inline;
	/* Returns the new name of @file, valid until the next call. NULL: keep names. */
	const char *(*map)(const char *file, void *context);
	void *context;
	/* Returns the new name of function @name, valid until the next call. NULL: keep names. */
	const char *(*rename)(const char *name, void *context);
	void *rename_context;
};

/* Apply @sources to @tree. The total weight stays the same. */
int transform_sources(const struct calltree *tree, const struct transform_sources *sources,
	struct calltree **out);

/*
 * Merge the frames of the fine @tree that differ only in start line, mapping and offset. If none of
 * them is known, set *@out to NULL.
 */
int transform_addresses(const struct calltree *tree, struct calltree **out);

/*
 * Make a coarse tree: merge the frames of the fine @tree that differ only in file, line and
 * address, and fill the new tree's table of lines (struct calltree_line). With @by_line, frames of
 * different lines stay separate and are named "function file.c:12". If neither a line nor an
 * address is known, set *@out to NULL.
 */
int transform_lines(const struct calltree *tree, bool by_line, struct calltree **out);

/* Keep the stacks that @times selects, also in reversed trees. *@out is NULL if it keeps all. */
int transform_times(
	const struct calltree *tree, enum calltree_times times, struct calltree **out);

#define IDLE_SHARE_PERCENT 95
#define IDLE_CPU_PERCENT   1
#define IDLE_CPU_SAMPLES   3

/* How the stacks are shown. Zero-initialise for no change. */
struct transform_shape {
	/*
	 * Add a root frame for each process, each thread, or both (threads below processes), using
	 * the threads of the samples. Self weight that is in no sample goes below the root frame of
	 * its node's samples, or below no root frame if these samples have different ones. A
	 * process frame replaces an existing outermost frame of the same name.
	 */
	bool by_process, by_thread;
	/*
	 * Set if the CALLTREE_PROCESS frames at the root stand for input files. @reverse then keeps
	 * these frames at the root.
	 */
	bool by_file;
	/*
	 * Put a CALLTREE_IDLE frame "[idle: N threads]" below the process frame and above the
	 * waiting stacks of idle threads. A thread is idle if it spends at least IDLE_SHARE_PERCENT
	 * of its time in one stack that waits for a known cause, and has little CPU time: at most
	 * IDLE_CPU_PERCENT of its time, or at most IDLE_CPU_SAMPLES samples. If all threads are
	 * idle or by_thread is set, nothing changes.
	 */
	bool fold_idle;
	/*
	 * Keep only the outermost frame of a function in each stack; callees of its inner frames
	 * move below the outermost frame. Functions between the outermost and an inner frame lose
	 * the weight of the moved callees. Every caller that the picture shows is a real caller.
	 */
	bool collapse_recursion;
	/* Replace each frame by its module and merge a module with a parent of the same module. */
	bool by_module;
	/* Merge stacks from the leaf. Process, thread and idle frames stay at the root. */
	bool reverse;
};

/* Apply @shape to @tree. The total weight stays the same. */
int transform_shape(
	const struct calltree *tree, const struct transform_shape *shape, struct calltree **out);

#endif
