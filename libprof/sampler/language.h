/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Language frames (runtime/runs.h) of the thread that is being sampled, by its own handler, and the
 * numbers by which their functions are known.
 */
#ifndef LIBPROF_SAMPLER_LANGUAGE_H
#define LIBPROF_SAMPLER_LANGUAGE_H

#include <stdint.h>

#include "libprof/runtime/runs.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/*
 * A walk of the calling thread, @thread, begins, at @registers, borrowed until it ends. @bounds:
 * what of its stack is sure to be there. @pid: our own, 0 where process_vm_readv(2) is forbidden.
 */
void language_begin(struct runs *runs, struct sampler_thread *thread,
	const struct arch_registers *registers, const struct unwind_bounds *bounds, int pid);

/* As UNWIND_RUN. */
unsigned language_run(struct runs *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/* The walk ended with @result, which is as runs_finish() leaves it; what is not whole is counted.
 */
void language_finish(struct runs *runs, struct sampler_thread *thread, uint64_t *frames,
	struct unwind_result *result);

/*
 * The number, from 1, of the runtime in @module; 0: it has none.
 * Context: signal-safe; @pid as above.
 */
uint32_t language_find_runtime(const struct runtime_module *module, int pid);

/*
 * There is a module of which that could not be told when it was loaded. Where generated code runs
 * it may be: runs->generator is there then.
 */
int language_is_pending(void);

/* The first runtime that generates code, or NULL. */
const struct runtime *language_generator(void);

void language_find_again(struct runs *runs);

#endif
