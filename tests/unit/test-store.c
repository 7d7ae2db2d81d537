/* SPDX-License-Identifier: MIT */
/*
 * Add samples to a profile, read them back, and compare them with a simple count. Also damaged
 * samples.
 */
#include "tests/unit/store-fixture.h"

#include <errno.h>

static void identical_stacks_merge(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_frame frames[3];
	struct batch_maker maker;
	struct store_result result;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 2, FRAMES(3, 2, 1));
	batch_add(&maker, 1, 1, FRAMES(4, 2, 1));
	batch_add(&maker, 1, 5, FRAMES(3, 2, 1));
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	result = batch_store(&maker, p);
	assert_int_equal(result.samples, 4);
	assert_int_equal(result.weight, 9);
	assert_int_equal(result.ends[FLAMEPROF_END_ROOT], 9);
	assert_int_equal(info_of(p).stacks, 3);
	assert_int_equal(info_of(p).samples, 4);
	assert_int_equal(info_of(p).weight, 9);
	assert_int_equal(p->node_count, 4);
	assert_int_equal(stack_at(p, 0).weight, 7);
	assert_int_equal(stack_at(p, 0).samples, 2);
	assert_int_equal(stack_at(p, 0).frames, 3);
	assert_int_equal(flameprof_profile_frames(p, 0, frames, 3), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(frames[i].address, 3 - i);
	assert_int_equal(flameprof_profile_frames(p, 2, frames, 1), 2);
	assert_int_equal(frames[0].address, 2);
	flameprof_profile_free(p);
}

static void how_a_frame_was_found_does_not_matter(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, FRAMES(3, 2, 1));
	batch_add(&maker, 1, 1, FRAMES(3, 2 | WIRE_FRAME_BY_FP, 1));
	batch_add(&maker, 1, 1, FRAMES(5 | WIRE_FRAME_BY_FP, 2, 1));
	batch_add(&maker, 1, 1, FRAMES(5, 2, 1));
	batch_add(&maker, 1, 1, FRAMES(6, 2 | WIRE_FRAME_BY_FP, 1));
	batch_store(&maker, p);
	assert_int_equal(info_of(p).stacks, 3);
	assert_int_equal(p->node_count, 5);
	assert_int_equal(stack_at(p, 0).samples, 2);
	assert_int_equal(stack_at(p, 1).samples, 2);
	flameprof_profile_free(p);
}

/* Find another frame whose hash below a parent with hash 0 equals that of @frame. */
static uint64_t collide(uint64_t frame, uint64_t nth)
{
	const uint64_t multiplier = 0x9e3779b97f4a7c15ULL;
	uint64_t inverse = multiplier, other;

	/* Newton's method doubles the number of correct bits: 3, 6, ... 96. */
	for (unsigned i = 0; i < 5; i++)
		inverse *= 2 - multiplier * inverse;
	assert_int_equal(inverse * multiplier, 1);
	do {
		other = ((frame * multiplier) ^ ++nth) * inverse;
	} while (other & WIRE_FRAME_BY_FP || other == frame);
	assert_int_equal(profile_path_hash(0, other), profile_path_hash(0, frame));
	return other;
}

static void stacks_with_one_hash_stay_apart(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	uint64_t others[3] = {0x1234};
	struct batch_maker maker;

	(void)state;
	for (unsigned i = 1; i < 3; i++)
		others[i] = collide(others[0], 100 * i);
	for (unsigned round = 0; round < 2; round++) {
		batch_begin(&maker, 10, "worker");
		for (unsigned i = 0; i < 3; i++) {
			batch_add(&maker, 1, 1, FRAMES(7, 8, others[i]));
			batch_add(&maker, 1, 1, FRAMES(others[i]));
			batch_add(&maker, 1, 1, FRAMES(9));
		}
		batch_store(&maker, p);
	}
	assert_int_equal(p->stack_count, 7);
	assert_int_equal(p->node_count, 10);
	for (unsigned i = 0; i < 3; i++) {
		const struct profile_stack *stack = profile_stack_at(p, i ? 1 + 2 * i : 0);
		const struct profile_node *node = profile_node_at(p, stack->node);

		assert_int_equal(stack->path_hash, profile_stack_at(p, 0)->path_hash);
		assert_int_equal(stack->samples, 2);
		assert_int_equal(profile_node_frame(node), 7);
		node = profile_node_at(p, profile_node_at(p, node->parent)->parent);
		assert_int_equal(profile_node_frame(node), others[i]);
	}
	flameprof_profile_free(p);
}

static void threads_stay_apart(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_thread thread;
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "first");
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	batch_store(&maker, p);
	batch_begin(&maker, 11, "second");
	batch_add(&maker, 2, 1, FRAMES(2, 1));
	/* A third thread has the tid of the first thread, which has ended. */
	maker.batch->tid = 10;
	batch_add(&maker, 3, 4, FRAMES(2, 1));
	batch_store(&maker, p);
	assert_int_equal(info_of(p).threads, 3);
	assert_int_equal(info_of(p).stacks, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(stack_at(p, i).thread, i);
	assert_int_equal(flameprof_profile_thread(p, 0, &thread), 0);
	assert_string_equal(thread.name, "first");
	assert_int_equal(thread.tid, 10);
	assert_int_equal(flameprof_profile_thread(p, 2, &thread), 0);
	assert_int_equal(thread.tid, 10);
	assert_int_equal(thread.weight, 4);
	assert_int_equal(flameprof_profile_thread(p, 3, &thread), -ERANGE);
	flameprof_profile_free(p);
}

static void a_renamed_thread_has_its_last_name(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_thread thread;
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "before");
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	batch_store(&maker, p);
	batch_begin(&maker, 10, "a name of fifteen and more");
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	batch_store(&maker, p);
	assert_int_equal(info_of(p).threads, 1);
	assert_int_equal(flameprof_profile_thread(p, 0, &thread), 0);
	assert_string_equal(thread.name, "a name of fifte");
	flameprof_profile_free(p);
}

static void credit_goes_on_the_last_stack_or_on_the_thread(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_frame frames[2];
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 3, NULL, 0)->kind = WIRE_KIND_CREDIT;
	batch_add(&maker, 1, 1, FRAMES(2, 1))->end = WIRE_END_LOST;
	batch_add(&maker, 1, 4, NULL, 0)->kind = WIRE_KIND_CREDIT;
	/*
	 * Credit (CPU time found at a thread's end) of another thread must not go to this thread's
	 * last stack.
	 */
	batch_add(&maker, 2, 8, NULL, 0)->kind = WIRE_KIND_CREDIT;
	batch_store(&maker, p);
	assert_int_equal(info_of(p).stacks, 4);
	assert_int_equal(stack_at(p, 0).is_credit, 1);
	assert_int_equal(stack_at(p, 0).frames, 0);
	assert_int_equal(stack_at(p, 1).is_credit, 0);
	assert_int_equal(stack_at(p, 2).is_credit, 1);
	assert_int_equal(stack_at(p, 2).weight, 4);
	assert_int_equal(stack_at(p, 2).end, FLAMEPROF_END_LOST);
	assert_int_equal(flameprof_profile_frames(p, 2, frames, 2), 2);
	assert_int_equal(frames[0].address, 2);
	assert_int_equal(stack_at(p, 3).thread, 1);
	assert_int_equal(stack_at(p, 3).frames, 0);
	/*
	 * The stack of credit (CPU time without a sample) does not become the thread's last stack.
	 * More credit goes to the stack before it.
	 */
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, NULL, 0)->kind = WIRE_KIND_CREDIT;
	batch_store(&maker, p);
	assert_int_equal(stack_at(p, 2).weight, 5);
	flameprof_profile_free(p);
}

static void samples_keep_their_times(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_sample sample;
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	for (unsigned i = 0; i < 100; i++)
		batch_add(&maker, 1, 1 + i, FRAMES(1 + i % 3));
	batch_store(&maker, p);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(flameprof_profile_sample(p, i, &sample), 0);
		assert_int_equal(sample.time_ns, 1000 + i);
		assert_int_equal(sample.weight, 1 + i);
		assert_int_equal(sample.stack, i % 3);
	}
	assert_int_equal(flameprof_profile_sample(p, 100, &sample), -ERANGE);
	flameprof_profile_free(p);
}

static void deepest_stacks_and_zero_addresses_are_stacks(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	uint64_t *deep = calloc(WIRE_MAX_DEPTH, 8);
	struct flameprof_frame *frames = calloc(WIRE_MAX_DEPTH, sizeof(*frames));
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	for (unsigned i = 0; i < WIRE_MAX_DEPTH; i++)
		deep[i] = i / 2;
	batch_add(&maker, 1, 1, deep, WIRE_MAX_DEPTH)->end = WIRE_END_DEPTH;
	batch_add(&maker, 1, 1, FRAMES(0, 0, 0));
	batch_add(&maker, 1, 1, deep, WIRE_MAX_DEPTH)->end = WIRE_END_DEPTH;
	assert_int_equal(batch_store(&maker, p).samples, 3);
	assert_int_equal(stack_at(p, 0).samples, 2);
	assert_int_equal(stack_at(p, 0).end, FLAMEPROF_END_DEPTH);
	assert_int_equal(flameprof_profile_frames(p, 0, frames, WIRE_MAX_DEPTH), WIRE_MAX_DEPTH);
	for (unsigned i = 0; i < WIRE_MAX_DEPTH; i++)
		assert_int_equal(frames[i].address, deep[i]);
	assert_int_equal(stack_at(p, 1).frames, 3);
	assert_int_equal(flameprof_profile_frames(p, 1, frames, 3), 3);
	assert_int_equal(frames[2].address, 0);
	free(frames);
	free(deep);
	flameprof_profile_free(p);
}

/* Records later than the boundary time and records of another process image stay in the ring. */
static void a_boundary_is_exact(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct wire_drain *drain = calloc(1, sizeof(*drain));
	struct store_result result = {0};

	(void)state;
	drain->arena = aggregate_arena();
	drain->blocks = WIRE_BLOCKS_MIN;
	for (unsigned i = 1; i <= 10; i++)
		assert_int_equal(ring_push_at(0, i, 1, FRAMES(3, 2, 1)), 0);
	store_drain(p, drain, AGGREGATE_IMAGE, 7, &result);
	assert_int_equal(result.samples, 7);
	assert_int_equal(ring_waiting(drain->arena, 0), 3 * 48);
	store_drain(p, drain, AGGREGATE_IMAGE, 7, &result);
	store_drain(p, drain, AGGREGATE_IMAGE + 1, UINT64_MAX, &result);
	assert_int_equal(result.samples, 7);
	store_drain(p, drain, AGGREGATE_IMAGE, UINT64_MAX, &result);
	assert_int_equal(result.samples, 10);
	assert_int_equal(ring_waiting(drain->arena, 0), 0);
	free(drain->arena);
	free(drain);
	flameprof_profile_free(p);
}

static void damage_ends_a_ring_and_is_counted(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);

	(void)state;
	for (unsigned kind = 0; kind < 7; kind++) {
		struct wire_sample *bad;
		struct store_result result;
		struct batch_maker maker;

		batch_begin(&maker, 10, "worker");
		batch_add(&maker, 1, 1, FRAMES(2, 1));
		bad = batch_add(&maker, 1, 1, FRAMES(2, 1));
		batch_add(&maker, 1, 1, FRAMES(2, 1));
		switch (kind) {
		case 0: bad->bytes = 0; break;
		case 1: bad->bytes = UINT32_MAX; break;
		case 2: bad->frames = UINT16_MAX; break;
		case 3: bad->frames = 3; break;
		case 4: bad->kind = WIRE_KIND_COUNT; break;
		case 5: bad->end = 255; break;
		case 6: maker.batch->bytes -= 50; break; /* ends inside the second */
		}
		result = batch_store(&maker, p);
		assert_int_equal(result.samples, 1);
		assert_int_equal(result.damaged_samples, 1);
		assert_int_equal(result.damaged_bytes, kind == 6 ? 30 : 80);
	}
	assert_int_equal(stack_at(p, 0).samples, 7);
	flameprof_profile_free(p);
}

/* Check that each stack and each node exists only once and is found by its hash. */
static void assert_found_again(const struct flameprof_profile *p)
{
	uint32_t *hashes = calloc(p->node_count + 1, sizeof(*hashes));

	for (uint32_t i = 0; i < p->stack_count; i++)
		assert_int_equal(profile_find_stack(p, profile_stack_at(p, i)), i + 1);
	for (uint32_t i = 1; i <= p->node_count; i++) {
		const struct profile_node *node = profile_node_at(p, i);
		uint64_t frame = profile_node_frame(node);

		hashes[i] = profile_path_hash(hashes[node->parent], frame);
		assert_int_equal(profile_find_node(p, node->parent, frame, hashes[i]), i);
	}
	for (uint32_t i = 0; i < p->stack_count; i++)
		assert_int_equal(
			profile_stack_at(p, i)->path_hash, hashes[profile_stack_at(p, i)->node]);
	free(hashes);
}

/* Add random stacks and compare the profile with the records from which it was made. */
static void many_random_stacks_come_back(void **state)
{
	struct flameprof_profile *p = aggregate_profile(64 * MIB);
	struct flameprof_frame got[64];
	uint64_t random = 42;
	struct batch_maker maker;
	uint64_t at = 0;

	(void)state;
	for (unsigned b = 0; b < 30; b++) {
		batch_begin(&maker, 10, "worker");
		for (unsigned i = 0; i < 1000; i++)
			add_random(&maker, &random, 1 + b % 4);
		struct batch *copy = malloc(sizeof(*copy) + maker.batch->bytes);
		memcpy(copy, maker.batch, sizeof(*copy) + maker.batch->bytes);
		assert_int_equal(batch_store(&maker, p).samples, 1000);
		for (uint32_t o = 0; o < copy->bytes; at++) {
			struct wire_sample *s = (struct wire_sample *)(copy->records + o);
			const uint64_t *frames = (const uint64_t *)(s + 1);
			struct flameprof_sample sample;

			assert_int_equal(flameprof_profile_sample(p, at, &sample), 0);
			assert_int_equal(sample.weight, s->weight);
			assert_int_equal(
				profile_thread_at(p, stack_at(p, sample.stack).thread)->key.number,
				s->thread);
			assert_int_equal(
				flameprof_profile_frames(p, sample.stack, got, 64), s->frames);
			uint32_t node = profile_stack_at(p, sample.stack)->node;
			for (unsigned i = 0; i < s->frames;
				i++, node = profile_node_at(p, node)->parent)
				assert_int_equal(
					profile_node_frame(profile_node_at(p, node)), frames[i]);
			assert_int_equal(node, 0);
			o += s->bytes;
		}
		free(copy);
	}
	assert_adds_up(p);
	assert_found_again(p);
	flameprof_profile_free(p);
}

static void order_is_that_of_appearance(void **state)
{
	struct flameprof_profile *p[2];
	struct flameprof_frame a[64], b[64];

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		uint64_t random = 99;
		struct batch_maker maker;

		p[k] = aggregate_profile(MIB);
		batch_begin(&maker, 10, "worker");
		for (unsigned i = 0; i < 500; i++)
			add_random(&maker, &random, 2);
		batch_store(&maker, p[k]);
	}
	assert_int_equal(info_of(p[0]).stacks, info_of(p[1]).stacks);
	for (uint32_t i = 0, seen = 0; i < info_of(p[0]).samples; i++) {
		struct flameprof_sample sample;

		flameprof_profile_sample(p[0], i, &sample);
		assert_true(sample.stack <= seen);
		seen += sample.stack == seen;
	}
	for (uint32_t i = 0; i < info_of(p[0]).stacks; i++) {
		int n = flameprof_profile_frames(p[0], i, a, 64);

		assert_int_equal(flameprof_profile_frames(p[1], i, b, 64), n);
		assert_memory_equal(a, b, (size_t)n * sizeof(a[0]));
	}
	flameprof_profile_free(p[0]);
	flameprof_profile_free(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identical_stacks_merge),
		cmocka_unit_test(how_a_frame_was_found_does_not_matter),
		cmocka_unit_test(stacks_with_one_hash_stay_apart),
		cmocka_unit_test(threads_stay_apart),
		cmocka_unit_test(a_renamed_thread_has_its_last_name),
		cmocka_unit_test(credit_goes_on_the_last_stack_or_on_the_thread),
		cmocka_unit_test(samples_keep_their_times),
		cmocka_unit_test(deepest_stacks_and_zero_addresses_are_stacks),
		cmocka_unit_test(a_boundary_is_exact),
		cmocka_unit_test(damage_ends_a_ring_and_is_counted),
		cmocka_unit_test(many_random_stacks_come_back),
		cmocka_unit_test(order_is_that_of_appearance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
