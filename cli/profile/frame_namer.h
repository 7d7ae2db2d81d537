/* SPDX-License-Identifier: MIT */
/*
 * What frames are called: out of symbol tables, debug information, perf maps, jitdumps, and what
 * programs said of their own code. Which stand above each other is naming.c's business.
 *
 * An address is a chain of frames where debug information tells what was inlined there: that of the
 * function in memory, and above it one for each that was inlined, all at their lines. It is read
 * for all addresses of a module at once, before the first is named.
 *
 * Context: one thread.
 */
#ifndef CLI_PROFILE_FRAME_NAMER_H
#define CLI_PROFILE_FRAME_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/profile/naming.h"
#include "cli/profile/sources.h"
#include "libprof/profile/profile.h"
#include "render/calltree.h"

struct frame_namer_image;
struct held_files;
struct kernel_symbols;

/* Zero-initialise. */
struct frame_namer {
	struct flameprof_profile *profile; /* borrowed */
	struct calltree *tree;		   /* borrowed; frames are added to it */
	struct symbols *symbols;	   /* owned */
	const struct held_files *held;	   /* borrowed; NULL: none are */
	int64_t epoch_ns;		   /* CLOCK_REALTIME less CLOCK_MONOTONIC, now */
	bool has_mapped;		   /* is any module WIRE_MODULE_MAPPED? */
	bool has_failed;		   /* there was no memory for chains */
	int *handles;			   /* owned; by module: symbols handle, -1: not asked yet */
	struct frame_namer_image *images;  /* owned; by profile image */
	uint32_t *chains;		   /* owned; profile node -> where its chain begins */
	int32_t *calls; /* owned; profile node -> system call just before its address, or -1 */
	uint8_t *passes; /* owned; profile node -> see frame_namer_passes() */
	/* Chains, each its length and so many tree frames, the one in memory first. */
	uint32_t *frames; /* owned */
	uint32_t frame_count, frame_room;
	struct kernel_symbols *kernel; /* owned; NULL: not asked yet, or not told */
	bool has_asked_kernel;
	/* For the caller to set: when what is named was sampled, or GENERATED_*. */
	uint64_t time_ns;
	/* What samples are in; by symbols handle, owned, and what programs told of. */
	struct sources_share *shares, told;
};

/*
 * Name frames of @request's profile, which must not grow meanwhile, in @tree; borrows all that.
 * Returns 0 or -ENOMEM; frame_namer_release() in either case.
 */
int frame_namer_init(struct frame_namer *namer, const struct naming_request *request,
	struct calltree *tree);
void frame_namer_release(struct frame_namer *namer);

/*
 * Fetch what files that stacks are in lack, if @request says so, and read lines for all their
 * addresses at once. Without memory there are none. Adds to *@report.
 */
void frame_namer_resolve(struct frame_namer *namer, const struct naming_request *request,
	struct debuginfod_report *report);

/* Has @stack code whose place was another one's at another time? */
bool frame_namer_moves(struct frame_namer *namer, const struct profile_stack *stack);

/*
 * The tree node of profile node @node, which is below @image's root, as a child of @parent. Without
 * memory namer->has_failed tells, or the tree when it is finished.
 */
uint32_t frame_namer_child(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent);

/*
 * The tree's frames of profile node @node, below @image's root, the one in memory first, and how
 * many, 0: not known without a time. Valid until the next call.
 */
const uint32_t *frame_namer_chain(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t *count);

/*
 * The tree node of profile node @node, the leaf of a thread that waits, likewise; @holder, if not
 * NULL, is a function that has what it waits for.
 */
uint32_t frame_namer_wait(struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent,
	const char *holder);

/*
 * The tree node of what stands above @parent, which profile node @node became, when @node is a leaf
 * in a system call; else @parent.
 */
uint32_t frame_namer_in_kernel(struct frame_namer *namer, uint32_t node, uint32_t parent);

/* Does the frame of profile node @node only make a system call for the function that called it? */
static inline bool frame_namer_passes(const struct frame_namer *namer, uint32_t node)
{
	return namer->passes[node];
}

/* Count @weight of samples in profile node @node, which has been named. */
void frame_namer_count(struct frame_namer *namer, uint32_t image, uint32_t node, uint64_t weight,
	bool is_named);

/* Tell where the names of what was counted come from. To be called once. */
void frame_namer_sources(struct frame_namer *namer, struct sources *sources);

#endif
