/* SPDX-License-Identifier: MIT */
/*
 * The pipe's reader. Messages arrive whole and one after the other; anybody in the target could
 * write to the pipe, so each is checked in full before any of it counts, and bytes that are no
 * message are passed over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/intake.h"

#define READ_BYTES 65536
/* A helper's table holds this many; more are a lie. */
#define NODES_MAX  (1u << 17)

/* Is @header that of a message that @bytes could hold the start of? */
static int plausible(const struct wire_message *header)
{
	uint64_t bytes = sizeof(*header) + (uint64_t)header->nodes * sizeof(struct wire_node) +
		(uint64_t)header->samples * sizeof(struct wire_node_sample);

	return header->magic == WIRE_MESSAGE_MAGIC && header->bytes == bytes &&
		bytes <= WIRE_MESSAGE_MAX && header->slot < WIRE_SLOTS &&
		header->ring < WIRE_RINGS && header->from <= header->to && header->image;
}

static int define_node(struct intake *intake, struct intake_image *image, uint32_t number,
	const struct wire_node *node)
{
	if (number != image->count || number >= NODES_MAX || node->parent >= number)
		return -EPROTO;
	if (number >= image->room) {
		uint32_t room = image->room ? image->room * 2 : 256;
		uint32_t *more = realloc(image->nodes, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		image->nodes = more;
		image->room = room;
	}
	image->nodes[number] =
		profile_node(intake->profile, image->nodes[node->parent], node->frame);
	image->count++;
	return 0;
}

static int begin_epoch(struct intake *intake, struct intake_image *image, uint32_t index,
	uint32_t epoch)
{
	if (image->count && image->epoch == epoch)
		return 0;
	if (!image->nodes) {
		image->nodes = malloc(256 * sizeof(*image->nodes));
		if (!image->nodes)
			return -ENOMEM;
		image->room = 256;
	}
	image->epoch = epoch;
	image->nodes[0] = profile_image_at(intake->profile, index)->root;
	image->count = 1;
	return 0;
}

static void take_samples(struct intake *intake, const struct wire_message *header,
	const struct intake_image *image, uint32_t index, const char *at)
{
	struct wire_node_sample sample;

	for (uint32_t i = 0; i < header->samples; i++, at += sizeof(sample)) {
		memcpy(&sample, at, sizeof(sample));
		/* A ring is drained before another thread gets it: all samples are of one. */
		if (!i)
			profile_thread(
				intake->profile, index, sample.thread, header->tid, header->comm);
		if (sample.node >= image->count || sample.kind >= WIRE_KIND_COUNT ||
			sample.end >= WIRE_END_COUNT) {
			profile_totals(intake->profile)->losses.malformed += sample.weight;
			continue;
		}
		intake_add(intake,
			&(struct intake_sample){
				.ring = header->ring,
				.image = index,
				.thread_number = sample.thread,
				.node = image->nodes[sample.node],
				.time_ns = sample.time_ns,
				.weight = sample.weight,
				.kind = sample.kind,
				.end = sample.end,
			});
	}
}

static int take_message(struct intake *intake, const char *bytes)
{
	struct wire_message header;
	struct wire_node node;
	struct intake_image *image;
	uint32_t index;
	int error;

	memcpy(&header, bytes, sizeof(header));
	index = profile_image(intake->profile, header.image);
	image = intake_image_at(intake, index);
	if (!image || profile_error(intake->profile))
		return -ENOMEM;
	error = begin_epoch(intake, image, index, header.epoch);
	bytes += sizeof(header);
	for (uint32_t i = 0; i < header.nodes && !error; i++, bytes += sizeof(node)) {
		memcpy(&node, bytes, sizeof(node));
		error = define_node(intake, image, header.first_node + i, &node);
	}
	if (error)
		return error;
	/* Counted already, from the ring itself. */
	if (header.to <= intake->rings[header.ring].to)
		return 0;
	take_samples(intake, &header, image, index, bytes);
	intake->rings[header.ring].to = header.to;
	return 0;
}

/* Parse what is in the buffer. Returns 0 or -ENOMEM. */
static int parse(struct intake *intake)
{
	uint32_t at = 0;

	while (intake->partial_bytes - at >= sizeof(struct wire_message)) {
		struct wire_message header;
		int error;

		memcpy(&header, intake->partial + at, sizeof(header));
		if (!plausible(&header)) {
			profile_totals(intake->profile)->losses.malformed++;
			at += 8;
			continue;
		}
		if (header.bytes > intake->partial_bytes - at)
			break;
		error = take_message(intake, intake->partial + at);
		if (error == -ENOMEM)
			return error;
		if (error)
			profile_totals(intake->profile)->losses.malformed += header.samples + 1u;
		at += header.bytes;
	}
	if (at > intake->partial_bytes)
		at = intake->partial_bytes;
	memmove(intake->partial, intake->partial + at, intake->partial_bytes - at);
	intake->partial_bytes -= at;
	return 0;
}

int message_read_all(struct intake *intake, int pipe)
{
	for (;;) {
		ssize_t n = read(pipe, intake->partial + intake->partial_bytes, READ_BYTES);
		int error;

		if (n == 0)
			return 1;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		intake->partial_bytes += (uint32_t)n;
		error = parse(intake);
		if (error)
			return error;
	}
}
