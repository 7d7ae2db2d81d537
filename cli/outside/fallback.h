/* SPDX-License-Identifier: MIT */
/*
 * Walks by nongnu libunwind, for stacks on which our own core found no way on: it runs every kind
 * of call-frame instruction and remembers nothing, so it is slower. Its accessors are ours: memory
 * through the cache, call-frame information from the copies.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_FALLBACK_H
#define CLI_OUTSIDE_FALLBACK_H

#include "arch/registers.h"
#include "cli/outside/stackwalk.h"

/*
 * As stackwalk_run(). Returns .frames 0 when libunwind is no better off: it does not reach the
 * outermost frame, or passes through what is no code.
 */
struct unwind_result fallback_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames);

#endif
