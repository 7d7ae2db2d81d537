/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Insert language frames (runtime/runtime_walk.h) into the walk of the sampled thread, in the
 * thread's own handler, and assign numbers to their functions.
 */
#ifndef LIBPROF_SAMPLER_LANGUAGE_H
#define LIBPROF_SAMPLER_LANGUAGE_H

#include <stdint.h>

#include "libprof/runtime/runtime_walk.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/*
 * Start the walk of @thread, the calling thread, at @registers, borrowed until the walk ends. The
 * stack within @bounds must be mapped. @pid is this process, or 0 if process_vm_readv(2) is
 * forbidden.
 */
void language_begin(struct runtime_walk *runs, struct sampler_thread *thread,
	const struct arch_registers *registers, const struct unwind_bounds *bounds, int pid);

/* Write the language frames that @frame executes. Implements UNWIND_RUN (unwind/unwind_core.h). */
unsigned language_run(struct runtime_walk *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/*
 * End the walk with runtime_walk_end(). If language frames are missing, count the sample in
 * slot->kept_native.
 */
void language_finish(struct runtime_walk *runs, struct sampler_thread *thread, uint64_t *frames,
	struct unwind_result *result);

/*
 * Returns the number, from 1, of the runtime in @module; 0: there is none, or it has no evaluator.
 * Context: signal-safe; @pid as for language_begin().
 */
uint32_t language_find_runtime(const struct runtime_module *module, int pid);

/*
 * Returns 1 if there is a module that was not fully loaded when it was checked. It may be a runtime
 * that generates code, so call language_find_again() when a walk enters code in no module.
 */
int language_is_pending(void);

/* Returns the first runtime that generates code, or NULL. */
const struct runtime *language_generator(void);

void language_find_again(struct runtime_walk *runs);

#endif
