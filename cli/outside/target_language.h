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
 * Begin a walk at @pc. The caller has set runs->thread and runs->known. @runs borrows @target until
 * the walk ends.
 */
void target_language_begin(struct runtime_walk *runs, struct target *target, uintptr_t pc);

/*
 * Did this walk find the process's first runtime that generates code? If so, walk again, because
 * its frames were skipped. True once per process.
 */
bool target_language_appeared(const struct runtime_walk *runs, const struct target *target);

/* Write the language frames of @frame: UNWIND_RUN of libprof/unwind/unwind_core.h. */
unsigned target_language_run(struct runtime_walk *runs, struct target_shared *shared,
	const struct unwind_module *module, const struct unwind_frame *frame, uint64_t *frames,
	unsigned room);

/* Remove the last walk's functions: the thread ran meanwhile, so names may be misread. */
void target_language_withdraw(struct target *target);

void target_language_free(struct target_language *language); /* NULL is fine */

#endif
