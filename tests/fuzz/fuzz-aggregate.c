/* SPDX-License-Identifier: MIT */
/*
 * Feed the aggregator with everything that a program can write into the arena: a ring with any
 * content, head and tail, and control records of any kind. The profile must stay valid, so that it
 * can be read, merged and written.
 *
 * Input: 16 bytes of ring positions, 2 bytes length of the control records, the control records,
 * the bytes of two blocks.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprof/aggregator/pprof.h"
#include "libprof/aggregator/store.h"

#define SLOT	    1
#define RING	    2
#define LIMIT_BYTES (4u << 20)
#define BLOCKS	    3
#define IMAGE	    7ULL

static void *arena;

static struct flameprof_profile *new_profile(void)
{
	struct profile_config config = {
		.period_ns = 1, .limit_bytes = LIMIT_BYTES, .title = "\xff fuzz"};

	return profile_new(&config);
}

static void ring_drain(struct flameprof_profile *profile)
{
	struct store_result result = {0};
	struct flameprof_profile_summary info;
	static struct wire_drain drain;

	drain = (struct wire_drain){.arena = arena, .blocks = BLOCKS};
	store_drain(profile, &drain, IMAGE, UINT64_MAX, &result);
	flameprof_profile_info(profile, &info);
	if (info.samples != result.samples || info.weight != result.weight)
		abort();
}

static void read_all(const struct flameprof_profile *profile)
{
	struct flameprof_frame frames[64];
	struct flameprof_stack stack;

	for (uint32_t i = 0; !flameprof_profile_stack(profile, i, &stack); i++)
		if (flameprof_profile_frames(profile, i, frames, 64) != (int)stack.frames)
			abort();
}

/*
 * Set the beginning and the end of the ring. Odd positions give arbitrary values, also
 * invalid ones. For even positions the ring begins at block 1 and ends after @size bytes.
 */
static void set_ring(const uint64_t positions[2], uint32_t size)
{
	struct wire_ring *ring = wire_ring(arena, RING);
	uint32_t last = size > WIRE_BLOCK_BYTES, end = size - last * WIRE_BLOCK_BYTES;

	((struct wire_arena *)arena)->rings_high = WIRE_RINGS;
	((struct wire_arena *)arena)->blocks_high = BLOCKS;
	for (uint32_t i = 0; i < BLOCKS; i++)
		*wire_block(arena, i) = (struct wire_block){WIRE_BLOCK_OWNER(IMAGE, RING),
			(uint32_t)(positions[0] >> 8 * i & 3), WIRE_BLOCK_BYTES};
	if (!(positions[0] & 1))
		wire_block(arena, 0)->next = 2;
	ring->owner = IMAGE << 2 | WIRE_RING_OWNED;
	ring->first = positions[0] & 1 ? (uint32_t)positions[0] >> 2 : 1;
	ring->head = positions[1] & 1 ? positions[1] : WIRE_HEAD(last, end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_catalogue *catalogue = store_catalogue_new();
	struct flameprof_profile *profile = new_profile(), *sum = new_profile();
	uint64_t positions[2];
	uint16_t control_bytes;

	if (!arena)
		arena = calloc(1, wire_arena_bytes(BLOCKS));
	if (size >= sizeof(positions) + sizeof(control_bytes)) {
		memcpy(positions, data, sizeof(positions));
		memcpy(&control_bytes, data + sizeof(positions), sizeof(control_bytes));
		data += sizeof(positions) + sizeof(control_bytes);
		size -= sizeof(positions) + sizeof(control_bytes);
		control_bytes = (uint16_t)(control_bytes % (size + 1) % WIRE_CONTROL_BYTES);
		memset(wire_control_data(arena, SLOT), 0, WIRE_CONTROL_BYTES);
		memcpy(wire_control_data(arena, SLOT), data, control_bytes);
		wire_slot(arena, SLOT)->control_tail = 0;
		data += control_bytes;
		size -= control_bytes;
		size = size > 2 * WIRE_BLOCK_BYTES ? 2 * WIRE_BLOCK_BYTES : size;
		memcpy(wire_block_data(arena, 0), data, size);
		set_ring(positions, (uint32_t)size);
	}
	store_read_control(catalogue, arena, SLOT, profile);
	ring_drain(profile);
	store_resolve(profile, catalogue);
	read_all(profile);
	if (!flameprof_profile_merge(sum, profile))
		read_all(sum);
	profile_write_pb(sum, "/dev/null");
	flameprof_profile_free(profile);
	flameprof_profile_free(sum);
	store_catalogue_free(catalogue);
	return 0;
}
