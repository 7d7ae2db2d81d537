/* SPDX-License-Identifier: MIT */
/*
 * The arena and the pipe, as flamerun makes them. What is in them is read by control_reader.h,
 * message_reader.h and ring_reader.h.
 */
#ifndef CLI_RUN_CHANNEL_H
#define CLI_RUN_CHANNEL_H

#include <stdint.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct channel {
	void *arena; /* WIRE_ARENA_BYTES, shared with every target */
	int arena_descriptor;
	int pipe_read; /* non-blocking */
	int pipe_write; /* held open so that the pipe has no end before we say so; -1 afterwards */
	char environment[128]; /* WIRE_ENV=... */
};

/*
 * Make both. @clock_hz: 0, or the rate of the test-only clock.
 * Returns 0, or -errno with @message filled and nothing to release.
 */
int channel_init(struct channel *channel, uint32_t rate_hz, uint32_t clock_hz,
	struct diag_message *message);
void channel_release(struct channel *channel);

/* Give up our own writing end: the pipe ends when the last helper does. */
void channel_close_writer(struct channel *channel);

#endif
