/* SPDX-License-Identifier: MIT */
/*
 * Name frames from symbol tables, debug information, perf maps, jitdumps, and functions that
 * programs reported. naming.c decides which frames the tree has and which of them is whose caller.
 *
 * If debug information shows functions inlined at an address, the address becomes a chain of
 * frames: the function in memory, and as its callees the inlined functions, with their lines. Lines
 * are read for all addresses of a module at once, before the first is named.
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
struct frame_namer_segment;
struct held_files;
struct kernel_symbols;

/* Zero-initialise. */
struct frame_namer {
	struct flameprof_profile *profile; /* borrowed */
	struct calltree *tree;		   /* borrowed; frames are added to it */
	struct symbols *symbols;	   /* owned */
	const struct held_files *held;	   /* borrowed, may be NULL */
	/* CLOCK_REALTIME less CLOCK_MONOTONIC, now */
	int64_t epoch_ns;
	bool has_mapped; /* any module is WIRE_MODULE_MAPPED */
	bool has_failed; /* no memory for chains */
	/* owned; [module] -> its handle in `symbols`; -1: no handle yet */
	int *handles;
	struct frame_namer_segment
		*segments;		  /* owned; [symbols handle]; one per module is enough */
	struct frame_namer_image *images; /* owned; one per profile image */
	/* owned; [profile node] -> index of its chain in `frames` */
	uint32_t *chains;
	/* owned; [profile node] -> system call made just before its address, or -1 */
	int32_t *calls;
	/* owned; [profile node] -> see frame_namer_passes() */
	uint8_t *passes;
	/* Chains: each is a length and that many tree frames, outermost first. */
	uint32_t *frames; /* owned */
	uint32_t frame_count, frame_room;
	/* owned; NULL: not opened yet, or not available */
	struct kernel_symbols *kernel;
	bool has_asked_kernel;
	/* Set by the caller: when the frame was sampled (CLOCK_MONOTONIC), or GENERATED_*. */
	uint64_t time_ns;
	/* Weights of samples by symbols handle (owned), and in functions that programs reported. */
	struct sources_share *shares, reported;
};

/*
 * Prepare to name frames of @request's profile in @tree. Both are borrowed, and the profile must
 * not grow meanwhile. Returns 0 or -ENOMEM; call frame_namer_release() in either case.
 */
int frame_namer_init(
	struct frame_namer *namer, const struct naming_request *request, struct calltree *tree);
void frame_namer_release(struct frame_namer *namer);

/*
 * Fetch missing symbols of the files in the stacks from debuginfod if @request asks for it. Then
 * read the lines of all addresses in these files, unless out of memory. Adds to *@report.
 */
void frame_namer_resolve(struct frame_namer *namer, const struct naming_request *request,
	struct debuginfod_report *report);

/* Does @stack contain generated code at an address that held other code at another time? */
bool frame_namer_moves(struct frame_namer *namer, const struct profile_stack *stack);

/*
 * Add profile node @node, which is below @image's root, as a child of tree node @parent. Returns
 * the new tree node. A failed allocation sets namer->has_failed or calltree_error().
 */
uint32_t frame_namer_child(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent);

/*
 * Returns the tree frames of profile node @node, which is below @image's root, outermost first.
 * *@count is their number, or 0 if the name depends on the time. Valid until the next call.
 */
const uint32_t *frame_namer_chain(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t *count);

/*
 * Add profile node @node, the leaf of a waiting thread, as a child of tree node @parent. @holder is
 * the function that holds the lock that the thread waits for, or NULL. Returns the new tree node.
 */
uint32_t frame_namer_wait(struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent,
	const char *holder);

/*
 * If profile node @node is a leaf in a system call, add a frame for the call below @parent, the
 * tree node of @node. Returns the new tree node, otherwise @parent.
 */
uint32_t frame_namer_in_kernel(struct frame_namer *namer, uint32_t node, uint32_t parent);

/* Does the function of profile node @node only make a system call for its caller? */
static inline bool frame_namer_passes(const struct frame_namer *namer, uint32_t node)
{
	return namer->passes[node];
}

/* Count @weight of samples with leaf @node, which is named. @is_named: by a real name. */
void frame_namer_count(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint64_t weight, bool is_named);

/* Add to @sources where the names of the counted samples come from. Call once. */
void frame_namer_sources(struct frame_namer *namer, struct sources *sources);

#endif
