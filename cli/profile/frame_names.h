/* SPDX-License-Identifier: MIT */
/*
 * What the frames of a profile are called in its tree. Each address of each module is looked up
 * once: every profile node remembers the tree frame it became.
 */
#ifndef CLI_PROFILE_FRAME_NAMES_H
#define CLI_PROFILE_FRAME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "libprof/profile/profile.h"
#include "cli/symbols/symbols.h"
#include "render/calltree.h"

struct frame_names_image;

/* Zero-initialise. */
struct frame_names {
	struct flameprof_profile *profile;	  /* borrowed */
	struct calltree *tree;		  /* borrowed; frames are added to it */
	struct symbols *symbols;	  /* owned */
	int64_t start_wall_s;		  /* older perf maps are somebody else's */
	bool has_mapped;		  /* is any module WIRE_MODULE_MAPPED? */
	int *handles; /* owned; by module: symbols handle, -1: not asked yet */
	struct frame_names_image *images; /* owned; by profile image */
	uint32_t *frames;		  /* owned; profile node -> tree frame */
};

/*
 * Name frames of @profile, which must not grow meanwhile, in @tree.
 * Returns 0 or -ENOMEM; frame_names_release() in either case.
 */
int frame_names_init(struct frame_names *names, struct flameprof_profile *profile,
	struct calltree *tree, int64_t start_wall_s);
void frame_names_release(struct frame_names *names);

/*
 * The tree frame of profile node @node, below @image's root. Without memory the tree says so when
 * it is finished.
 */
uint32_t frame_names_of(struct frame_names *names, uint32_t image, uint32_t node);

#endif
