/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: runs in the helper. */
/*
 * One ring's samples into messages for the pipe. A message is built whole, written by one write(2)
 * that takes all of it or nothing, and only then are the ring's bytes given back.
 */
#ifndef LIBPROF_AGGREGATOR_MESSAGE_H
#define LIBPROF_AGGREGATOR_MESSAGE_H

#include <stdint.h>

#include "libprof/aggregator/intern.h"
#include "libprof/wire.h"

#define MESSAGE_NODES_MAX   ((WIRE_MESSAGE_MAX - sizeof(struct wire_message)) / sizeof(struct wire_node))
#define MESSAGE_SAMPLES_MAX \
	((WIRE_MESSAGE_MAX - sizeof(struct wire_message)) / sizeof(struct wire_node_sample))

/*
 * How messages leave: returns 0 when @bytes were taken whole, else a negative errno and nothing was
 * taken. The helper's waits and retries; a test's keeps them.
 */
typedef int message_write_fn(void *context, const void *bytes, uint32_t n);

struct message {
	struct intern *table;
	message_write_fn *write;
	void *context;
	struct wire_message header;
	struct wire_node nodes[MESSAGE_NODES_MAX];
	struct wire_node_sample samples[MESSAGE_SAMPLES_MAX];
	char buffer[WIRE_MESSAGE_MAX];
};

/*
 * Move everything committed in ring number @index of @arena to the pipe and release it. Malformed
 * records end the ring's draining.
 * Returns 0, or what @message->write returned; what was not written stays in the ring.
 */
int message_drain_ring(struct message *message, void *arena, uint32_t index, uint64_t image,
	uint32_t slot);

#endif
