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
	/* The arena, wire_arena_bytes(blocks) long. All sampled programs map it, too. */
	struct wire_arena *arena;
	uint32_t blocks;
	int arena_descriptor;
	char environment[128]; /* "WIRE_ENV=..." for programs */
};

/*
 * Returns the number of blocks (units of ring space) that the arena needs at @rate_hz on this
 * machine. The arena takes only a part of RLIMIT_AS, because the program inherits this limit and
 * maps the arena, too. Returns 0 if the limit is too low for a usable arena.
 */
uint32_t channel_blocks(uint32_t rate_hz);

struct channel_config {
	uint32_t rate_hz;
	/* For tests: rate of sampling by CLOCK_MONOTONIC. 0: sample by CPU clocks. */
	uint32_t test_clock_hz;
	/* the sampling signal */
	int signal;
	bool has_events;	/* perf events may signal threads */
	/* With perf events: mark the samples that were taken for time in the kernel. */
	bool has_kernel;
};

/* Create the arena. Returns 0, or -errno with @message filled and nothing to release. */
int channel_init(struct channel *channel, const struct channel_config *config,
	struct diag_message *message);
void channel_release(struct channel *channel);

/*
 * Move @fd (takes ownership) above descriptor 2, because a target may use 0 to 2. Returns the new
 * descriptor; @fd if it is above 2 already; or -1 if @fd is negative or cannot be copied.
 */
int channel_above_stdio(int fd);

#endif
