/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Language frames (runtime/runtime.h) of the thread that is being sampled, by its own handler, and
 * the numbers by which their functions are known.
 */
#ifndef LIBPROF_SAMPLER_LANGUAGE_H
#define LIBPROF_SAMPLER_LANGUAGE_H

#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/* Of one walk. */
struct language {
	struct sampler_thread *thread;
	const struct runtime *runtime; /* NULL: the walk came to none so far */
	uintptr_t pc;		       /* where the thread was */
	int error;		       /* no more runs can be told */
	const uint64_t *unfilled; /* the counted activation that no frame was left for */
	struct runtime_stack stack;
	struct runtime_reader reader;
};

/* @pid: our own, 0 where process_vm_readv(2) is forbidden. */
static inline void language_init(
	struct language *language, struct sampler_thread *thread, uintptr_t pc, int pid)
{
	language->thread = thread;
	language->runtime = NULL;
	language->pc = pc;
	language->error = 0;
	language->unfilled = NULL;
	runtime_reader_init(&language->reader, pid);
}

/* As UNWIND_RUN. */
unsigned language_run(struct language *language, const struct unwind_module *module, uintptr_t pc,
	uintptr_t sp, uintptr_t caller_sp, uint64_t *frames, unsigned room);

/*
 * The walk that ended with @result is over. Where its runs did not all find a place that is
 * counted; of those that are only counted none stays then. Returns how many @frames there are now.
 */
unsigned language_finish(
	const struct language *language, uint64_t *frames, struct unwind_result result);

/*
 * The number, from 1, of the runtime in the module with this dynamic section; 0: it has none.
 * Context: signal-safe; @pid as above.
 */
uint32_t language_find_runtime(uintptr_t dynamic, uintptr_t bias, int pid);

#endif
