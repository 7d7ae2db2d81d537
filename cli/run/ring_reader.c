/* SPDX-License-Identifier: MIT */
/*
 * Samples that no helper took: of short-lived processes, of killed ones, and of those where no
 * helper could run. What the pipe already accounted for is left out by its position.
 */
#include <errno.h>
#include <string.h>

#include "cli/run/intake.h"

struct record {
	struct wire_sample header;
	uint64_t frames[WIRE_MAX_DEPTH];
};

/* Copy the record at @at out of the ring and check the copy. Returns its size, or 0. */
static uint32_t copy_record(const char *data, uint64_t at, uint64_t head, struct record *out)
{
	const char *from = data + at % WIRE_RING_SPAN;

	memcpy(&out->header, from, sizeof(out->header));
	if (out->header.frames > WIRE_MAX_DEPTH ||
		out->header.bytes != sizeof(out->header) + 8u * out->header.frames ||
		out->header.bytes > head - at || out->header.kind >= WIRE_KIND_COUNT ||
		out->header.end >= WIRE_END_COUNT)
		return 0;
	memcpy(out->frames, from + sizeof(out->header), 8u * out->header.frames);
	return out->header.bytes;
}

static void take_record(
	struct intake *intake, uint32_t ring, uint32_t image, const struct record *record)
{
	uint32_t node = profile_image_at(intake->profile, image)->root;

	for (uint32_t i = record->header.frames; i-- > 0;)
		node = profile_node(intake->profile, node, record->frames[i]);
	intake_add(intake,
		&(struct intake_sample){
			.ring = ring,
			.image = image,
			.thread_number = record->header.thread,
			.node = node,
			.time_ns = record->header.time_ns,
			.weight = record->header.weight,
			.kind = record->header.kind,
			.end = record->header.end,
		});
}

/* The credit noted in the ring when the process began to leave, on the thread's last stack. */
static void take_exit_credit(struct intake *intake, uint32_t ring_index, uint32_t image)
{
	struct wire_ring *ring = wire_ring(intake->arena, ring_index);
	uint64_t owed = __atomic_load_n(&ring->exit_credit, __ATOMIC_ACQUIRE);

	if (!owed || owed > UINT32_MAX)
		return;
	intake_add(intake,
		&(struct intake_sample){
			.ring = ring_index,
			.image = image,
			.thread_number = ring->thread,
			.node = profile_image_at(intake->profile, image)->root,
			.weight = (uint32_t)owed,
			.kind = WIRE_KIND_CREDIT,
			.end = WIRE_END_ROOT,
		});
}

/* Take every record that is committed. Returns 0, or -EPROTO when the ring makes no sense. */
static int take_records(struct intake *intake, uint32_t index, uint32_t image)
{
	struct wire_ring *ring = wire_ring(intake->arena, index);
	const char *data = wire_ring_data(intake->arena, index);
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	struct record record;

	if (at < intake->rings[index].to)
		at = intake->rings[index].to;
	if (head - at > WIRE_RING_SPAN) {
		profile_totals(intake->profile)->losses.malformed++;
		return -EPROTO;
	}
	profile_thread(intake->profile, image, ring->thread, ring->tid, ring->comm);
	while (at != head) {
		uint32_t bytes = copy_record(data, at, head, &record);

		if (!bytes) {
			profile_totals(intake->profile)->losses.malformed++;
			break;
		}
		take_record(intake, index, image, &record);
		at += bytes;
	}
	intake->rings[index].to = head;
	return 0;
}

static void recover_ring(struct intake *intake, uint32_t index, uint32_t image)
{
	const struct wire_ring *ring = wire_ring(intake->arena, index);

	if (take_records(intake, index, image))
		return;
	if (__atomic_load_n(&ring->writing, __ATOMIC_ACQUIRE))
		profile_totals(intake->profile)->losses.torn++;
	take_exit_credit(intake, index, image);
}

static void give_back(struct intake *intake, uint32_t index)
{
	struct wire_arena *arena = intake->arena;
	struct wire_ring *ring = wire_ring(arena, index);

	__atomic_store_n(&ring->exit_credit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tail, intake->rings[index].to, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->owner, WIRE_RING_FREE, __ATOMIC_RELEASE);
	__atomic_store_n(&arena->rings_hint, index, __ATOMIC_RELAXED);
}

void ring_serve_image(struct intake *intake, uint32_t image)
{
	struct wire_arena *arena = intake->arena;
	uint64_t id = profile_image_at(intake->profile, image)->id & (~0ULL >> 2);
	uint32_t high = __atomic_load_n(&arena->rings_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high && i < WIRE_RINGS; i++) {
		struct wire_ring *ring = wire_ring(arena, i);
		uint64_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);

		if (!(owner & 3) || owner >> 2 != id ||
			__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) ==
				__atomic_load_n(&ring->tail, __ATOMIC_RELAXED))
			continue;
		if (take_records(intake, i, image))
			continue;
		if ((owner & 3) == WIRE_RING_RETIRED)
			give_back(intake, i);
		else
			__atomic_store_n(&ring->tail, intake->rings[i].to, __ATOMIC_RELEASE);
	}
}

void ring_recover_image(struct intake *intake, uint32_t image, int release)
{
	struct wire_arena *arena = intake->arena;
	uint64_t id = profile_image_at(intake->profile, image)->id & (~0ULL >> 2);
	uint32_t high = __atomic_load_n(&arena->rings_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high && i < WIRE_RINGS; i++) {
		struct wire_ring *ring = wire_ring(intake->arena, i);
		uint64_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);

		if (!(owner & 3) || owner >> 2 != id)
			continue;
		recover_ring(intake, i, image);
		if (release)
			give_back(intake, i);
	}
}
