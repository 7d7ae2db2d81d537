/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: runs in the helper. */
/*
 * Building messages. Nodes are defined before the first sample that uses them, in the same message
 * or an earlier one; a deep new stack takes several messages of nodes alone.
 */
#include "libprof/aggregator/message.h"

#include <errno.h>
#include <stddef.h>

#include "libprof/aggregator/plain_memory.h"

static uint32_t message_bytes(const struct message *m, uint32_t more_nodes, uint32_t more_samples)
{
	return (uint32_t)(sizeof(m->header) + (m->header.nodes + more_nodes) * sizeof(m->nodes[0]) +
		(m->header.samples + more_samples) * sizeof(m->samples[0]));
}

/* Write what was collected; it covers the ring up to @to. */
static int flush(struct message *m, uint64_t to)
{
	uint32_t nodes_bytes = (uint32_t)(m->header.nodes * sizeof(m->nodes[0]));
	uint32_t samples_bytes = (uint32_t)(m->header.samples * sizeof(m->samples[0]));
	char *out = m->buffer;
	int error;

	if (!m->header.nodes && !m->header.samples && m->header.from == to)
		return 0;
	m->header.bytes = message_bytes(m, 0, 0);
	m->header.to = to;
	plain_copy(out, &m->header, sizeof(m->header));
	plain_copy(out + sizeof(m->header), m->nodes, nodes_bytes);
	plain_copy(out + sizeof(m->header) + nodes_bytes, m->samples, samples_bytes);
	error = m->write(m->context, m->buffer, m->header.bytes);
	if (error)
		return error;
	m->header.from = to;
	m->header.nodes = 0;
	m->header.samples = 0;
	m->header.epoch = m->table->epoch;
	m->header.first_node = m->table->nodes + 1;
	return 0;
}

/* Intern the stack of @sample, which lies at @position; full messages of nodes go out on the way. */
static int add_stack(
	struct message *m, const struct wire_sample *sample, uint64_t position, uint32_t *node)
{
	const uint64_t *frames = (const uint64_t *)(sample + 1);
	uint32_t at = 0;
	int error, is_new;

	if (!intern_has_room(m->table, sample->frames)) {
		error = flush(m, position);
		if (error)
			return error;
		intern_new_epoch(m->table);
		m->header.epoch = m->table->epoch;
		m->header.first_node = 1;
	}
	for (uint32_t i = sample->frames; i-- > 0;) {
		if (message_bytes(m, 1, 0) > WIRE_MESSAGE_MAX) {
			error = flush(m, position);
			if (error)
				return error;
		}
		uint32_t parent = at;
		at = intern_child(m->table, parent, frames[i], &is_new);
		if (is_new)
			m->nodes[m->header.nodes++] =
				(struct wire_node){.frame = frames[i], .parent = parent};
	}
	*node = at;
	return 0;
}

static int add_sample(struct message *m, const struct wire_sample *sample, uint64_t position)
{
	uint32_t node;
	int error;

	/* Samples before this one go out first when it might need many new nodes. */
	if (m->header.samples &&
		message_bytes(m, sample->frames, 1) > WIRE_MESSAGE_MAX) {
		error = flush(m, position);
		if (error)
			return error;
	}
	error = add_stack(m, sample, position, &node);
	if (!error && message_bytes(m, 0, 1) > WIRE_MESSAGE_MAX)
		error = flush(m, position);
	if (error)
		return error;
	m->samples[m->header.samples++] = (struct wire_node_sample){
		.time_ns = sample->time_ns,
		.node = node,
		.weight = sample->weight,
		.thread = sample->thread,
		.kind = sample->kind,
		.end = sample->end,
	};
	return 0;
}

int message_drain_ring(
	struct message *m, void *arena, uint32_t index, uint64_t image, uint32_t slot)
{
	struct wire_ring *ring = wire_ring(arena, index);
	const char *data = wire_ring_data(arena, index);
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint64_t at = tail;
	int error = 0;

	if (head == tail)
		return 0;
	m->header = (struct wire_message){
		.magic = WIRE_MESSAGE_MAGIC,
		.image = image,
		.slot = slot,
		.ring = index,
		.from = tail,
		.epoch = m->table->epoch,
		.first_node = m->table->nodes + 1,
		.tid = ring->tid,
	};
	plain_copy(m->header.comm, ring->comm, sizeof(m->header.comm));
	while (at != head) {
		const struct wire_sample *sample =
			(const struct wire_sample *)(data + at % WIRE_RING_SPAN);

		if (sample->bytes != sizeof(*sample) + 8u * sample->frames ||
			sample->bytes > head - at || sample->frames > WIRE_MAX_DEPTH)
			break;
		error = add_sample(m, sample, at);
		if (error)
			break;
		at += sample->bytes;
		if (m->header.from > tail) {
			tail = m->header.from;
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
		}
	}
	if (!error)
		error = flush(m, at);
	if (m->header.from > tail)
		__atomic_store_n(&ring->tail, m->header.from, __ATOMIC_RELEASE);
	return error;
}
