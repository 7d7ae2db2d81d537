/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, emulated. */
/*
 * Drain rings that consist of blocks, with one reader and many writers: which ring owns which
 * block, an empty pool of blocks, a writer that is killed at any step, and an arena with invalid
 * contents.
 */
#include "tests/unit/aggregate-fixture.h"

#include "libprof/wire_drain.h"

struct fixture {
	struct wire_arena *arena;
	struct wire_drain drain;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = aggregate_arena();
	sampler.ring_bytes = UINT32_MAX;
	f->drain.arena = f->arena;
	f->drain.blocks = WIRE_BLOCKS_MIN;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	free(f->arena);
	free(f);
	return 0;
}

static unsigned blocks_taken(const struct fixture *f)
{
	unsigned taken = 0;

	for (uint32_t i = 0; i < WIRE_BLOCKS_MIN; i++)
		taken += wire_block(f->arena, i)->owner != 0;
	return taken;
}

/* Push a sample whose frames encode @number. */
static int push(uint32_t ring, uint64_t number, unsigned depth)
{
	uint64_t frames[WIRE_MAX_DEPTH];

	for (unsigned i = 0; i < depth; i++)
		frames[i] = number * 10000 + i;
	return ring_push_at(ring, number, 1, frames, depth);
}

/*
 * Take at most @most records from @ring and check that they are numbered from @first on. Returns
 * how many were taken.
 */
static unsigned take(struct fixture *f, uint32_t ring, uint64_t first, unsigned most)
{
	struct wire_drain_pass pass;
	struct wire_sample sample;
	unsigned n = 0;

	if (!wire_drain_begin(&f->drain, ring, &pass))
		return 0;
	while (n < most && wire_drain_next(&f->drain, &pass, &sample) == WIRE_DRAIN_RECORD) {
		uint64_t frames[WIRE_MAX_DEPTH];

		assert_int_equal(sample.time_ns, first + n);
		memcpy(frames, wire_drain_frames(&f->drain, &pass), 8u * sample.frames);
		for (unsigned i = 0; i < sample.frames; i++)
			assert_int_equal(frames[i], (first + n) * 10000 + i);
		wire_drain_skip(&f->drain, &pass, sample.bytes);
		n++;
	}
	wire_drain_end(&f->drain, &pass);
	return n;
}

static void an_idle_thread_has_no_block(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(push(0, 1, 5), 0);
	assert_int_equal(push(1, 1, 5), 0);
	assert_int_equal(blocks_taken(f), 2);
	assert_int_equal(take(f, 0, 1, 9), 1);
	assert_int_equal(blocks_taken(f), 1);
	assert_true(ring_is_empty(&sampler_threads[0]));
	assert_int_equal(take(f, 0, 2, 9), 0);
	/* The lowest free block is claimed. */
	assert_int_equal(push(2, 1, 5), 0);
	assert_int_equal(WIRE_HEAD_BLOCK(wire_ring(f->arena, 2)->head), 0);
	assert_int_equal(take(f, 1, 1, 9), 1);
	assert_int_equal(take(f, 2, 1, 9), 1);
	assert_int_equal(blocks_taken(f), 0);
	assert_int_equal(f->arena->blocks_high, 2);
}

static void records_taken_in_part_go_on_where_they_were(void **state)
{
	struct fixture *f = *state;
	uint64_t written = 0, read = 0;

	while (written < 3000) {
		for (unsigned i = 0; i < 40; i++, written++)
			assert_int_equal(push(0, written + 1, (unsigned)(written * 7 % 300)), 0);
		read += take(f, 0, read + 1, 37);
	}
	assert_true(blocks_taken(f) > 3);
	read += take(f, 0, read + 1, UINT32_MAX);
	assert_int_equal(read, written);
	assert_int_equal(blocks_taken(f), 0);
	assert_int_equal(ring_waiting(f->arena, 0), 0);
}

static void one_thread_leaves_half_of_the_pool_to_others(void **state)
{
	struct fixture *f = *state;
	unsigned pushed = 0;

	while (!push(0, 1, 2000))
		pushed++;
	assert_in_range(blocks_taken(f), WIRE_BLOCKS_MIN / 2 - 4, WIRE_BLOCKS_MIN / 2 + 4);
	assert_true(f->arena->doorbell > 0);
	/*
	 * A ring may use at most as many blocks as are free, so each of the next rings still gets a
	 * block.
	 */
	for (uint32_t ring = 1; ring < 32; ring++)
		assert_int_equal(push(ring, 1, 100), 0);
	assert_true(pushed > WIRE_BLOCKS_MIN);
}

static void without_a_block_nothing_is_begun(void **state)
{
	struct fixture *f = *state;
	uint32_t ring = 0;

	while (ring < WIRE_RINGS - 1 && !push(ring, 1, 5))
		ring++;
	assert_int_equal(ring, WIRE_BLOCKS_MIN);
	assert_int_equal(push(ring, 1, 5), -1);
	assert_int_equal(wire_ring(f->arena, ring)->head, 0);
	assert_int_equal(take(f, 17, 1, 9), 1);
	assert_int_equal(push(ring, 1, 5), 0);
	assert_int_equal(take(f, ring, 1, 9), 1);
}

/*
 * A writer is killed while it writes a record and claims another block. Its earlier records wait in
 * the ring.
 */
static void what_a_dead_writer_held_is_free_again(void **state)
{
	struct fixture *f = *state;
	struct wire_drain_pass pass;
	uint32_t room;

	assert_int_equal(push(0, 1, 5), 0);
	assert_non_null(ring_begin(aggregate_thread(0), 100, &room));
	wire_block(f->arena, 9)->owner = WIRE_BLOCK_OWNER(AGGREGATE_IMAGE, 0);
	f->arena->blocks_high = 10;
	assert_int_equal(push(1, 1, 5), 0);
	assert_int_equal(take(f, 0, 1, 9), 1);
	/* Draining must not free a block in which a record is being written. */
	assert_int_equal(blocks_taken(f), 3);
	assert_true(wire_drain_begin(&f->drain, 0, &pass));
	assert_int_equal(wire_drain_release(&f->drain, 0, pass.owner), 1);
	assert_int_equal(blocks_taken(f), 1);
	assert_int_equal(wire_ring(f->arena, 0)->owner, WIRE_RING_FREE);
	/* Blocks of other rings keep their records, and the released ring can be used again. */
	assert_int_equal(take(f, 1, 1, 9), 1);
	assert_int_equal(push(0, 5, 5), 0);
	assert_int_equal(take(f, 0, 5, 9), 1);
}

static void a_ring_whose_thread_ended_is_free_once_it_is_drained(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(push(3, 1, 5), 0);
	wire_ring(f->arena, 3)->owner = AGGREGATE_IMAGE << 2 | WIRE_RING_ENDED;
	f->arena->rings_hint = 9;
	assert_int_equal(take(f, 3, 1, 0), 0);
	assert_int_equal(wire_ring(f->arena, 3)->owner & 3, WIRE_RING_ENDED);
	assert_int_equal(take(f, 3, 1, 9), 1);
	assert_int_equal(wire_ring(f->arena, 3)->owner, WIRE_RING_FREE);
	assert_int_equal(f->arena->rings_hint, 3);
}

/*
 * Another process can write anything into the arena. Draining must still end, and must work again
 * afterwards.
 */
static void lies_are_survived(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 88172645463325252ULL;
	unsigned damaged = 0;

	for (unsigned round = 0; round < 20000; round++) {
		struct wire_ring *ring = wire_ring(f->arena, 0);
		struct wire_drain_pass pass;
		struct wire_sample sample;
		enum wire_drain_step step;

		for (unsigned i = next_random(&random) % 30; i; i--)
			push(0, 1, (unsigned)(next_random(&random) % 600));
		switch (next_random(&random) % 6) {
		case 0: ring->head = next_random(&random); break;
		case 1: ring->first = (uint32_t)next_random(&random) % 600; break;
		case 2: wire_block(f->arena, 0)->next = (uint32_t)next_random(&random) % 4; break;
		case 3: wire_block(f->arena, 0)->end = (uint32_t)next_random(&random); break;
		case 4: wire_block(f->arena, 0)->owner = next_random(&random); break;
		case 5: wire_block_data(f->arena, 0)[next_random(&random) % 65536] ^= 1; break;
		}
		ring->owner = AGGREGATE_IMAGE << 2 | WIRE_RING_OWNED;
		assert_true(wire_drain_begin(&f->drain, 0, &pass));
		while ((step = wire_drain_next(&f->drain, &pass, &sample)) == WIRE_DRAIN_RECORD)
			wire_drain_skip(&f->drain, &pass, sample.bytes);
		damaged += step == WIRE_DRAIN_DAMAGED;
		wire_drain_end(&f->drain, &pass);
		/* The loop cannot repair one thing, the invalid owner of block 0: restore it. */
		wire_block(f->arena, 0)->owner = 0;
	}
	assert_true(damaged > 100);
	wire_drain_release(&f->drain, 0, AGGREGATE_IMAGE << 2 | WIRE_RING_OWNED);
	assert_int_equal(blocks_taken(f), 0);
	assert_int_equal(push(0, 5, 5), 0);
	assert_int_equal(take(f, 0, 5, 9), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_idle_thread_has_no_block),
		TEST(records_taken_in_part_go_on_where_they_were),
		TEST(one_thread_leaves_half_of_the_pool_to_others),
		TEST(without_a_block_nothing_is_begun),
		TEST(what_a_dead_writer_held_is_free_again),
		TEST(a_ring_whose_thread_ended_is_free_once_it_is_drained),
		TEST(lies_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
