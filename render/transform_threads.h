/* SPDX-License-Identifier: MIT */
/*
 * The pass that gives every thread a root frame; a part of render/transform.h.
 */
#ifndef RENDER_TRANSFORM_THREADS_H
#define RENDER_TRANSFORM_THREADS_H

#include <stdint.h>

#include "render/calltree.h"

/*
 * Put every stack of @from into @to below a frame of its samples' thread, with weights and samples.
 * Weight that no sample accounts for goes to the thread of the stack's samples if they are all of
 * one, else it stays without a thread. @copied: each frame's number in @to. All are borrowed.
 * Returns 0 or -ENOMEM; what poisons @to shows there.
 */
int transform_threads(const struct calltree *from, const uint32_t *copied, struct calltree *to);

#endif
