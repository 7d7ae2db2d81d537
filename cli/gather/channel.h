/* SPDX-License-Identifier: MIT */
/*
 * Create the arena, the shared memory through which the processes of a run send samples, and the
 * environment variable by which they find it. collector.h reads the arena.
 */
#ifndef CLI_GATHER_CHANNEL_H
#define CLI_GATHER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct channel {
	struct wire_arena *arena; /* wire_arena_bytes(blocks), mapped by every target */
	uint32_t blocks;
	int arena_descriptor;
	char environment[128]; /* "WIRE_ENV=...", for the target */
};

/*
 * Compute the number of blocks of an arena for @rate_hz on this machine. The arena stays within a
 * share of RLIMIT_AS, because the program inherits the limit and maps the arena. Returns 0 if the
 * limit leaves no room for a usable arena.
 */
uint32_t channel_blocks(uint32_t rate_hz);

struct channel_config {
	uint32_t rate_hz;
	uint32_t test_clock_hz; /* tests only: CLOCK_MONOTONIC at this rate; 0: CPU clocks */
	int signal;		/* number of the signal that samples threads */
	bool has_events;	/* perf events may signal threads */
	bool has_kernel;	/* with events: mark samples of time in the kernel */
};

/* Create the arena. Returns 0, or -errno with @message filled and nothing to release. */
int channel_init(struct channel *channel, const struct channel_config *config,
	struct diag_message *message);
void channel_release(struct channel *channel);

/*
 * Move @fd (taken) above descriptor 2, because the target may use 0 to 2. Returns the descriptor,
 * which is @fd if above already; -1 if @fd is negative or cannot be copied.
 */
int channel_above_stdio(int fd);

#endif
