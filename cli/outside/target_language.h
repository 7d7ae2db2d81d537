/* SPDX-License-Identifier: MIT */
/*
 * Language frames (runtime/runs.h) of a target's threads that are stopped or asleep, and by which
 * numbers their functions are known to the pipe.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_TARGET_LANGUAGE_H
#define CLI_OUTSIDE_TARGET_LANGUAGE_H

#include <stdint.h>

#include "cli/outside/target.h"
#include "libprof/runtime/runs.h"

/*
 * The number, from 1, of the runtime in @target's @module; 0: it has none, or none that can be
 * read; -EAGAIN: that can't be told yet. target->language is there where it is not 0.
 */
int target_language_find(struct target *target, const struct runtime_module *module);

/*
 * A walk of a thread of @target begins, at @pc. @runs, of which the thread and what is known of it
 * are filled in, borrows @target until it is over.
 */
void target_language_begin(struct runs *runs, struct target *target, uintptr_t pc);

/* Was a runtime found in that walk that tells frames of code in no module? Once in a process. */
bool target_language_has_come(const struct runs *runs, const struct target *target);

/* As UNWIND_RUN, in that walk. */
unsigned target_language_run(struct runs *runs, struct target_shared *shared,
	const struct unwind_module *module, const struct unwind_frame *frame, uint64_t *frames,
	unsigned room);

/*
 * During the last walk the thread did not keep still: what functions are called may have been
 * misread, and is found out again.
 */
void target_language_withdraw(struct target *target);

void target_language_free(struct target_language *language); /* NULL is fine */

#endif
