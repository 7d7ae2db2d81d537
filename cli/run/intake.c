/* SPDX-License-Identifier: MIT */
/*
 * Our notes on images and rings, and the one place where samples enter the profile.
 */
#include "cli/run/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTIAL_ROOM (2 * 65536)

int intake_init(struct intake *intake, void *arena, struct profile *profile)
{
	memset(intake, 0, sizeof(*intake));
	intake->arena = arena;
	intake->profile = profile;
	intake->partial = malloc(PARTIAL_ROOM);
	return intake->partial ? 0 : -ENOMEM;
}

void intake_release(struct intake *intake)
{
	for (uint32_t i = 0; i < intake->image_room; i++)
		free(intake->images[i].nodes);
	free(intake->images);
	free(intake->partial);
}

struct intake_image *intake_image_at(struct intake *intake, uint32_t image)
{
	if (image >= intake->image_room) {
		uint32_t room = (image + 64) & ~63u;
		struct intake_image *more =
			realloc(intake->images, room * sizeof(*intake->images));

		if (!more)
			return NULL;
		memset(more + intake->image_room, 0,
			(room - intake->image_room) * sizeof(*more));
		intake->images = more;
		intake->image_room = room;
	}
	return &intake->images[image];
}

void intake_add(struct intake *intake, const struct intake_sample *sample)
{
	struct profile *profile = intake->profile;
	struct intake_ring *ring = &intake->rings[sample->ring];
	uint64_t image_id = profile_image_at(profile, sample->image)->id;
	uint32_t root = profile_image_at(profile, sample->image)->root;
	struct profile_stack stack = {
		.node = sample->node,
		.end = sample->end,
		.kind = sample->kind,
	};

	if (sample->kind == WIRE_KIND_CREDIT && sample->node == root && ring->image == image_id &&
		ring->thread_number == sample->thread_number) {
		stack.node = ring->node;
		stack.end = ring->end;
	}
	stack.thread = profile_thread(profile, sample->image, sample->thread_number, 0, NULL);
	profile_add(profile, &stack, sample->time_ns, sample->weight);
	if (sample->kind == WIRE_KIND_CREDIT || sample->kind == WIRE_KIND_VM)
		return;
	ring->image = image_id;
	ring->thread_number = sample->thread_number;
	ring->node = sample->node;
	ring->end = sample->end;
}
