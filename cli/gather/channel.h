/* SPDX-License-Identifier: MIT */
/*
 * Create the arena, the shared memory through which the sampled processes send samples, and the
 * environment variable by which they find the arena. collector.h reads the arena.
 */
#ifndef CLI_GATHER_CHANNEL_H
#define CLI_GATHER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct channel {
	/* The arena, wire_arena_bytes(blocks) long. Every sampled program maps it, too. */
	struct wire_arena *arena;
	uint32_t blocks;
	int arena_descriptor;
	char environment[128]; /* "WIRE_ENV=..." for programs */
};

/*
 * Compute the number of the arena's blocks (units of ring space) for @rate_hz on this machine. The
 * arena takes only a share of RLIMIT_AS, because the program inherits this limit and maps the
 * arena. Returns 0 if the limit leaves no room for a usable arena.
 */
uint32_t channel_blocks(uint32_t rate_hz);

struct channel_config {
	uint32_t rate_hz;
	/* Tests only: sample by CLOCK_MONOTONIC at this rate. If 0, by CPU clocks. */
	uint32_t test_clock_hz;
	/* the sampling signal */
	int signal;
	bool has_events;	/* perf events may signal threads */
	/* With perf events, mark the samples whose time was spent in the kernel. */
	bool has_kernel;
};

/* Create the arena. Returns 0, or -errno with @message filled and nothing to release. */
int channel_init(struct channel *channel, const struct channel_config *config,
	struct diag_message *message);
void channel_release(struct channel *channel);

/*
 * Move @fd (takes ownership) above descriptor 2, because the target may use 0 to 2. Returns the new
 * descriptor, or @fd if it is above already; -1 if @fd is negative or cannot be copied.
 */
int channel_above_stdio(int fd);

#endif
