/* SPDX-License-Identifier: MIT */
/*
 * Walking the stack of a stopped thread of another process: the same core as in the handler, with
 * memory and modules read from outside.
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
#include "libprof/runtime/runs.h"
#include "libprof/unwind/unwind.h"

struct stackwalk {
	struct target *target;
	struct target_shared *shared;
	struct memory *memory; /* memory_begin() done */
	bool is_remapped;      /* the mappings were read during this walk */
	uintptr_t last_read;   /* the address that was read last */
	bool is_native;	       /* language frames are not looked for */
	struct runs runs;      /* of language frames; its thread and what is known of it are set */
};

/*
 * @frames  gets WIRE_FRAMEs, innermost first; room for WIRE_MAX_DEPTH
 */
struct unwind_result stackwalk_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

/*
 * As stackwalk_run(), of a thread that sleeps and is not stopped: of its registers only those are
 * known that /proc/PID/task/TID/syscall tells. What hangs on another one is not guessed: the stack
 * ends with WIRE_END_LOST. Whether the thread slept on is for the caller to find out.
 */
struct unwind_result stackwalk_asleep(
	struct stackwalk *walk, uintptr_t pc, uintptr_t sp, uint64_t *frames);

/*
 * As stackwalk_run(). Returns .frames 0 when libunwind is no better off: it does not reach the
 * outermost frame, or passes through what is no code.
 */
struct unwind_result fallback_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

#endif
