/* SPDX-License-Identifier: MIT */
/*
 * The arena, as flamerun makes it, and how targets find it. Reading it is collector.h.
 */
#ifndef CLI_GATHER_CHANNEL_H
#define CLI_GATHER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct channel {
	struct wire_arena *arena; /* wire_arena_bytes(blocks), shared with every target */
	uint32_t blocks;
	int arena_descriptor;
	char environment[128]; /* WIRE_ENV=... */
};

/*
 * How many blocks an arena for @rate_hz has on this machine, under the limit on the address space
 * that the program inherits from us. 0: that leaves no room for one.
 */
uint32_t channel_blocks(uint32_t rate_hz);

struct channel_config {
	uint32_t rate_hz;
	uint32_t test_clock_hz; /* 0: threads are sampled by their CPU clocks */
	int signal;		/* that samples threads */
	bool has_events;	/* perf events may signal threads */
	bool has_kernel;	/* with those: samples of time in the kernel say so */
};

/* Make the arena. Returns 0, or -errno with @message filled and nothing to release. */
int channel_init(struct channel *channel, const struct channel_config *config,
	struct diag_message *message);
void channel_release(struct channel *channel);

/* @fd, or a copy in its place: the lowest descriptors are the target's business. -1 as is. */
int channel_above_stdio(int fd);

#endif
