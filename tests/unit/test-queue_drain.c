/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Drain rings into batches: nothing is lost, a batch beyond the memory limit is dropped as a whole,
 * damaged records are skipped, and the counters report all of this.
 */
#include "tests/unit/queue-fixture.h"

static void a_batch_is_what_the_ring_held(void **state)
{
	struct fixture *f = *state;
	struct queue_item *item;

	for (unsigned i = 1; i <= 10; i++)
		push(2, i, i);
	assert_int_equal(queue_drain(&f->queue, NEVER), 10 * 24 + 55 * 8);
	assert_int_equal(ring_waiting(f->arena, 2), 0);
	assert_int_equal(*f->doorbell, 1);
	item = take_batch(f);
	assert_int_equal(item->batch->tid, 102);
	assert_int_equal(item->batch->ring, 2);
	assert_int_equal(item->batch->image, AGGREGATE_IMAGE);
	assert_string_equal(item->batch->comm, "thread 2");
	assert_int_equal(count_batch(item->batch, 1), 10);
	assert_true(f->queue.pending_bytes > 0);
	queue_free_batch(&f->queue, item);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_null(queue_pop(&f->queue));
	assert_int_equal(queue_drain(&f->queue, NEVER), 0);
	assert_int_equal(*f->doorbell, 1);
}

/*
 * Write records of all sizes through many blocks, several records at a time, and check each frame.
 */
static void records_survive_the_way_through_many_blocks(void **state)
{
	struct fixture *f = *state;
	uint64_t written = 0, read = 0, random = 5;

	sampler.ring_bytes = UINT32_MAX;
	while (wire_ring(f->arena, 0)->written < 40 * (uint64_t)WIRE_BLOCK_BYTES) {
		for (unsigned i = next_random(&random) % 9; i; i--) {
			unsigned depth = next_random(&random) % 32
						 ? next_random(&random) % 40
						 : next_random(&random) % WIRE_MAX_DEPTH;

			push(0, ++written, depth);
		}
		queue_drain(&f->queue, NEVER);
		for (struct queue_item *item; (item = queue_pop(&f->queue));) {
			for (uint32_t at = 0; at < item->batch->bytes;) {
				const struct wire_sample *s =
					(const struct wire_sample *)(item->batch->records + at);
				const uint64_t *frames = (const uint64_t *)(s + 1);

				assert_int_equal(s->time_ns, ++read);
				for (unsigned i = 0; i < s->frames; i++)
					assert_int_equal(frames[i], read * 10000 + i);
				at += s->bytes;
			}
			queue_free_batch(&f->queue, item);
		}
	}
	assert_int_equal(read, written);
	assert_true(read > 1000);
}

static void a_boundary_is_exact(void **state)
{
	struct fixture *f = *state;
	struct queue_item *item;

	for (unsigned i = 1; i <= 10; i++)
		push(0, i, 3);
	queue_drain(&f->queue, 7);
	item = take_batch(f);
	assert_int_equal(count_batch(item->batch, 1), 7);
	queue_free_batch(&f->queue, item);
	assert_int_equal(ring_waiting(f->arena, 0), 3 * 48);
	queue_drain(&f->queue, 7);
	assert_null(queue_pop(&f->queue));
	queue_drain(&f->queue, NEVER);
	item = take_batch(f);
	assert_int_equal(count_batch(item->batch, 8), 3);
	queue_free_batch(&f->queue, item);
}

static void the_ceiling_drops_the_newest_batch_whole(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	unsigned samples, bytes, kept = 0;
	size_t before;

	limit(f, 256 * 1024);
	for (unsigned turn = 0; turn < 10; turn++) {
		fill_ring(0, &samples, &bytes);
		assert_int_equal(queue_drain(&f->queue, NEVER), bytes);
		assert_int_equal(ring_waiting(f->arena, 0), 0);
		assert_true(f->queue.pending_bytes <= 256 * 1024);
	}
	before = f->queue.pending_bytes;
	queue_counters_reset(&f->queue, &counters);
	assert_true(counters.high_water_bytes > 256 * 1024);
	assert_true(counters.dropped_batches >= 5);
	assert_int_equal(counters.dropped_weight, 3 * counters.dropped_samples);
	assert_int_equal(counters.dropped_bytes, 824 * counters.dropped_samples);
	/*
	 * After a reset the counters start from 0; the maximum starts from the bytes that are
	 * pending.
	 */
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.dropped_batches, 0);
	assert_int_equal(counters.dropped_samples, 0);
	assert_int_equal(counters.high_water_bytes, before);
	/* The oldest batches are kept; the newest is dropped. */
	for (struct queue_item *item; (item = queue_pop(&f->queue));) {
		unsigned n = count_batch(item->batch, kept % samples + 1);

		assert_in_range(item->batch->bytes, 1, f->queue.batch_bytes);
		kept += n;
		queue_free_batch(&f->queue, item);
	}
	assert_true(kept > samples);
	queue_counters_reset(&f->queue, &counters);
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.high_water_bytes, 0);
}

static void a_taken_batch_counts_until_it_is_done(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	struct queue_item *item;
	unsigned samples, bytes;

	limit(f, 110 * 1024);
	fill_ring(0, &samples, &bytes);
	queue_drain(&f->queue, NEVER);
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.dropped_batches, 0);
	item = take_batch(f);
	fill_ring(0, &samples, &bytes);
	queue_drain(&f->queue, NEVER);
	queue_counters_reset(&f->queue, &counters);
	assert_true(counters.dropped_batches > 0);
	queue_free_batch(&f->queue, item);
}

static void blocks_are_used_again_and_bounded(void **state)
{
	struct fixture *f = *state;
	struct queue_item *items[2], *item;
	unsigned samples, bytes;

	limit(f, 2 * MIB);
	for (unsigned turn = 0; turn < 2; turn++) {
		fill_ring(0, &samples, &bytes);
		queue_drain(&f->queue, NEVER);
		items[turn] = take_batch(f);
		/*
		 * The second batch reuses the first batch's memory but contains only its own
		 * records.
		 */
		assert_int_equal(count_batch(items[turn]->batch, 1), samples);
		queue_free_batch(&f->queue, items[turn]);
	}
	assert_ptr_equal(items[0], items[1]);
	assert_true(f->queue.spare_bytes > 0);
	/* A small batch must not use a large spare block. */
	push(0, 1, 3);
	queue_drain(&f->queue, NEVER);
	item = take_batch(f);
	assert_ptr_not_equal(item, items[0]);
	assert_true(f->queue.pending_bytes < 3 * 65536);
	queue_free_batch(&f->queue, item);
	for (unsigned turn = 0; turn < 10; turn++) {
		fill_ring(0, &samples, &bytes);
		queue_drain(&f->queue, NEVER);
	}
	while ((item = queue_pop(&f->queue)))
		queue_free_batch(&f->queue, item);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_in_range(f->queue.spare_bytes, 1, 2 * MIB / 8);
	assert_int_equal(pages_mapped_bytes, f->queue.spare_bytes);
}

static void without_memory_batches_are_dropped_and_counted(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;

	push(0, 1, 3);
	pages_fail_in = 1;
	assert_int_equal(queue_drain(&f->queue, NEVER), 48);
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.dropped_samples, 1);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_null(queue_pop(&f->queue));
}

static void damage_is_skipped_and_counted(void **state)
{
	struct fixture *f = *state;

	for (unsigned kind = 0; kind < 5; kind++) {
		struct wire_ring *ring = wire_ring(f->arena, 0);
		struct queue_counters counters;
		struct wire_sample *bad;

		push(0, 1, 3);
		bad = (struct wire_sample *)(wire_block_data(
						     f->arena, WIRE_HEAD_BLOCK(ring->head)) +
					     WIRE_HEAD_END(ring->head));
		push(0, 2, 3);
		push(0, 3, 3);
		switch (kind) {
		case 0: bad->bytes = 0; break;
		case 1: bad->bytes = 16; break;
		case 2: bad->frames = 65535; bad->bytes = 24 + 8 * 65535; break;
		case 3: bad->frames = 13; bad->bytes = 24 + 8 * 13; break; /* beyond the head */
		case 4: bad->bytes = 0xffffffff; break;
		}
		assert_int_equal(queue_drain(&f->queue, NEVER), 3 * 48);
		struct queue_item *item = take_batch(f);
		assert_int_equal(count_batch(item->batch, 1), 1);
		queue_free_batch(&f->queue, item);
		queue_counters_reset(&f->queue, &counters);
		assert_int_equal(counters.damaged_samples, 1);
		assert_int_equal(counters.damaged_bytes, 2 * 48);
		/* The ring works afterwards. */
		push(0, 9, 3);
		queue_drain(&f->queue, NEVER);
		item = take_batch(f);
		assert_int_equal(count_batch(item->batch, 9), 1);
		queue_free_batch(&f->queue, item);
	}
}

static void a_wild_head_is_survived(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;

	aggregate_thread(0);
	wire_ring(f->arena, 0)->head = 1ULL << 60;
	queue_drain(&f->queue, NEVER);
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.damaged_samples, 1);
	assert_null(queue_pop(&f->queue));
	push(0, 1, 3);
	assert_int_equal(queue_drain(&f->queue, NEVER), 48);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_batch_is_what_the_ring_held),
		TEST(records_survive_the_way_through_many_blocks),
		TEST(a_boundary_is_exact),
		TEST(the_ceiling_drops_the_newest_batch_whole),
		TEST(a_taken_batch_counts_until_it_is_done),
		TEST(blocks_are_used_again_and_bounded),
		TEST(without_memory_batches_are_dropped_and_counted),
		TEST(damage_is_skipped_and_counted),
		TEST(a_wild_head_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
