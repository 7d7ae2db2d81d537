/* SPDX-License-Identifier: MIT */
/*
 * Walk the stack of a thread of another process, by the unwinding core of the handler
 * (libprof/unwind/unwind_core.h) with memory and modules read from outside.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_STACKWALK_H
#define CLI_OUTSIDE_STACKWALK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "cli/outside/object.h"
#include "cli/outside/target.h"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/unwind/unwind.h"

struct stackwalk {
	struct target *target;
	struct target_shared *shared;
	struct memory *memory;	  /* memory_begin() done */
	/* the mappings were read during this walk */
	bool is_remapped;
	/* address of the last read of the stack */
	uintptr_t last_read;
	bool is_native;		  /* do not read language frames */
	/* of language frames; the caller sets ->thread and ->known */
	struct runtime_walk runs;
};

/* Walk from @registers. @frames gets WIRE_FRAMEs, innermost first; room for WIRE_MAX_DEPTH. */
struct unwind_result stackwalk_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

/*
 * Walk a thread that sleeps and is not stopped. Only @pc and @sp are known, from
 * /proc/PID/task/TID/syscall. If a frame needs another register, the stack ends with WIRE_END_LOST.
 * The caller must check afterwards that the thread has not run meanwhile.
 */
struct unwind_result stackwalk_asleep(
	struct stackwalk *walk, uintptr_t pc, uintptr_t sp, uint64_t *frames);

/*
 * Walk from @registers by libunwind. Returns .frames 0 if the walk does not reach the outermost
 * frame, or has a frame in no module. Parameters as of stackwalk_run().
 */
struct unwind_result fallback_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

#endif
