/* SPDX-License-Identifier: MIT */
/*
 * Read language frames (libprof/runtime/runtime_walk.h) of a target's threads, which are stopped or
 * asleep. Assign numbers to functions for the records in the pipe.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_TARGET_LANGUAGE_H
#define CLI_OUTSIDE_TARGET_LANGUAGE_H

#include <stdint.h>

#include "cli/outside/target.h"
#include "libprof/runtime/runtime_walk.h"

/*
 * Find the runtime in @target's @module, and set target->language if there is one. Returns the
 * runtime's number, from 1; 0 if the module has no frames that can be read; or -EAGAIN if this is
 * not known yet.
 */
int target_language_find(struct target *target, const struct runtime_module *module);

/*
 * Begin a walk at @pc, after setting runs->thread and ->known. @runs borrows @target until its end.
 */
void target_language_begin(struct runtime_walk *runs, struct target *target, uintptr_t pc);

/* Did this walk find the runtime that generates code? If so, repeat it. True once per process. */
bool target_language_appeared(const struct runtime_walk *runs, const struct target *target);

/* Implement UNWIND_RUN (libprof/unwind/unwind_core.h) for this walk. */
unsigned target_language_run(struct runtime_walk *runs, struct target_shared *shared,
	const struct unwind_module *module, const struct unwind_frame *frame, uint64_t *frames,
	unsigned room);

/* Forget the last walk's functions: the thread ran during it, so names may be misread. */
void target_language_withdraw(struct target *target);

void target_language_free(struct target_language *language); /* NULL is fine */

#endif
