/* SPDX-License-Identifier: MIT */
/*
 * Walk the stack of a thread of another process, by the unwinding core that the signal handler uses
 * (libprof/unwind/unwind_core.h), on memory and modules of the other process.
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
	struct memory *memory; /* after memory_begin() */
	/* The mappings were read again during this walk. */
	bool is_remapped;
	/* The address from which the walk last read. */
	uintptr_t last_read;
	bool is_native; /* read no language frames */
	/* State for language frames. The caller sets runs.thread and runs.known. */
	struct runtime_walk runs;
};

/*
 * Walk from @registers. @frames has room for WIRE_MAX_DEPTH and gets WIRE_FRAMEs, innermost first.
 */
struct unwind_result stackwalk_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

/*
 * Walk a thread that sleeps but is not stopped. @pc and @sp are from /proc/PID/task/TID/syscall;
 * other registers are unknown. If a frame needs another register, the stack ends with
 * WIRE_END_LOST. The caller must check afterwards that the thread did not run during the walk.
 */
struct unwind_result stackwalk_asleep(
	struct stackwalk *walk, uintptr_t pc, uintptr_t sp, uint64_t *frames);

/*
 * Walk from @registers by libunwind; the parameters are as for stackwalk_run(). Returns a result
 * with 0 frames if the walk does not reach the outermost frame, or if a frame is in no module.
 */
struct unwind_result fallback_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

#endif
