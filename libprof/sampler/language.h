/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Insert language frames (runtime/runtime_walk.h) into the walk of the sampled thread, in its own
 * handler. Assign numbers to their functions.
 */
#ifndef LIBPROF_SAMPLER_LANGUAGE_H
#define LIBPROF_SAMPLER_LANGUAGE_H

#include <stdint.h>

#include "libprof/runtime/runtime_walk.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/*
 * Start the walk of @thread, the calling thread, at @registers, borrowed until the walk ends. The
 * stack in @bounds is mapped. @pid: our own process, or 0 if process_vm_readv(2) is forbidden.
 */
void language_begin(struct runtime_walk *runs, struct sampler_thread *thread,
	const struct arch_registers *registers, const struct unwind_bounds *bounds, int pid);

/* Write the language frames that @frame runs, as UNWIND_RUN (unwind/unwind_core.h) does. */
unsigned language_run(struct runtime_walk *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/* End the walk with runtime_walk_end(). If language frames are missing, count the sample in
 * kept_native. */
void language_finish(struct runtime_walk *runs, struct sampler_thread *thread, uint64_t *frames,
	struct unwind_result *result);

/*
 * Returns the number, from 1, of the runtime in @module; 0: none, or no runtime with an evaluator.
 * Context: signal-safe; @pid as for language_begin().
 */
uint32_t language_find_runtime(const struct runtime_module *module, int pid);

/*
 * Is there a module that could not be recognised completely when it was loaded? It may be a runtime
 * that generates code, so call language_find_again() when code of no module runs.
 */
int language_is_pending(void);

/* Returns the first runtime that generates code, or NULL. */
const struct runtime *language_generator(void);

void language_find_again(struct runtime_walk *runs);

#endif
