/* SPDX-License-Identifier: MIT */
/*
 * Stacks from a ring through the helper's messages into a profile, against the same stacks counted
 * directly; what is recovered from the ring beside it is counted once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/run/intake.h"
#include "libprof/aggregator/message.h"
#include "libprof/sampler/ring.h"

#define RING  5
#define IMAGE 7ULL

struct fixture {
	void *arena;
	struct profile *profile;
	struct intake intake;
	struct message *message;
	struct intern *table;
	int pipe[2];
	uint64_t written; /* weight pushed into the ring */
	uint64_t random;
};

static int write_to_pipe(void *context, const void *bytes, uint32_t n)
{
	struct fixture *fixture = context;

	assert_in_range(n, 1, WIRE_MESSAGE_MAX);
	return write(fixture->pipe[1], bytes, n) == (ssize_t)n ? 0 : -EAGAIN;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->arena = calloc(1, WIRE_ARENA_BYTES);
	((struct wire_arena *)fixture->arena)->rings_high = RING + 1;
	wire_ring(fixture->arena, RING)->owner = IMAGE << 2 | WIRE_RING_OWNED;
	wire_ring(fixture->arena, RING)->thread = 1;
	fixture->profile = profile_new(197);
	assert_int_equal(intake_init(&fixture->intake, fixture->arena, fixture->profile), 0);
	fixture->table = calloc(1, sizeof(*fixture->table));
	fixture->message = calloc(1, sizeof(*fixture->message));
	fixture->message->table = fixture->table;
	fixture->message->write = write_to_pipe;
	fixture->message->context = fixture;
	fixture->random = 1234567;
	assert_int_equal(pipe2(fixture->pipe, O_NONBLOCK), 0);
	assert_true(fcntl(fixture->pipe[1], F_SETPIPE_SZ, 1 << 20) > 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->pipe[0]);
	close(fixture->pipe[1]);
	intake_release(&fixture->intake);
	profile_free(fixture->profile);
	free(fixture->message);
	free(fixture->table);
	free(fixture->arena);
	free(fixture);
	return 0;
}

static uint64_t next_random(struct fixture *fixture)
{
	fixture->random ^= fixture->random << 13;
	fixture->random ^= fixture->random >> 7;
	fixture->random ^= fixture->random << 17;
	return fixture->random;
}

/* Push one stack of @depth frames, distinct below @spread. Returns 0 or -1 when the ring is full. */
static int push(struct fixture *fixture, unsigned depth, unsigned spread, uint32_t weight)
{
	struct wire_ring *ring = wire_ring(fixture->arena, RING);
	uint32_t bytes = (uint32_t)sizeof(struct wire_sample) + 8 * depth;
	struct wire_sample *sample =
		ring_begin(ring, wire_ring_data(fixture->arena, RING), bytes);
	uint64_t *frames = (uint64_t *)(sample + 1);

	if (!sample)
		return -1;
	*sample = (struct wire_sample){
		.bytes = bytes,
		.thread = 1,
		.time_ns = ++fixture->written,
		.weight = weight,
		.frames = (uint16_t)depth,
	};
	fixture->written += weight - 1;
	for (unsigned i = 0; i < depth; i++)
		frames[i] = WIRE_FRAME(1 + i % 7, depth * 16 + next_random(fixture) % spread);
	ring_commit(ring, bytes);
	return 0;
}

static void drain(struct fixture *fixture)
{
	assert_int_equal(
		message_drain_ring(fixture->message, fixture->arena, RING, IMAGE, 0), 0);
	assert_int_equal(message_read_all(&fixture->intake, fixture->pipe[0]), 0);
}

static uint64_t total_weight(struct fixture *fixture)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_stacks(fixture->profile); i++)
		sum += profile_stack_at(fixture->profile, i)->weight;
	return sum;
}

static void recover(struct fixture *fixture)
{
	ring_recover_image(&fixture->intake, profile_image(fixture->profile, IMAGE), 0);
}

/* Depth of a stack's node. */
static unsigned depth_of(struct fixture *fixture, uint32_t node)
{
	unsigned depth = 0;

	while (profile_node_at(fixture->profile, node)->parent != UINT32_MAX) {
		node = profile_node_at(fixture->profile, node)->parent;
		depth++;
	}
	return depth;
}

static void stacks_survive_the_journey(void **state)
{
	struct fixture *fixture = *state;
	uint64_t pushed[64] = {0}, arrived[64] = {0};

	for (int round = 0; round < 3000; round++) {
		unsigned depth = 1 + (unsigned)(next_random(fixture) % 63);

		while (push(fixture, depth, 3, 1 + depth % 3))
			drain(fixture);
		pushed[depth] += 1 + depth % 3;
	}
	drain(fixture);
	assert_int_equal(total_weight(fixture), fixture->written);
	for (uint32_t i = 0; i < profile_stacks(fixture->profile); i++) {
		const struct profile_stack *stack = profile_stack_at(fixture->profile, i);

		arrived[depth_of(fixture, stack->node)] += stack->weight;
	}
	assert_memory_equal(pushed, arrived, sizeof(pushed));
	assert_int_equal(profile_totals(fixture->profile)->losses.malformed, 0);
}

static void the_deepest_stack_takes_many_messages(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(push(fixture, 2, 100000, 1), 0);
	assert_int_equal(push(fixture, WIRE_MAX_DEPTH, 100000, 5), 0);
	assert_int_equal(push(fixture, 2, 100000, 1), 0);
	drain(fixture);
	assert_int_equal(total_weight(fixture), 7);
	assert_int_equal(profile_stacks(fixture->profile), 3);
	assert_int_equal(depth_of(fixture, profile_stack_at(fixture->profile, 1)->node),
		WIRE_MAX_DEPTH);
}

static void a_full_table_begins_a_new_epoch(void **state)
{
	struct fixture *fixture = *state;

	while (fixture->table->epoch < 3) {
		while (push(fixture, 500, 1u << 30, 1))
			drain(fixture);
	}
	drain(fixture);
	assert_int_equal(total_weight(fixture), fixture->written);
	assert_int_equal(profile_totals(fixture->profile)->losses.malformed, 0);
}

static void recovery_counts_only_what_the_pipe_did_not(void **state)
{
	struct fixture *fixture = *state;
	uint64_t tail;

	push(fixture, 10, 4, 1);
	tail = wire_ring(fixture->arena, RING)->tail;
	drain(fixture);
	/* Killed between the write and the tail's advance. */
	wire_ring(fixture->arena, RING)->tail = tail;
	push(fixture, 11, 4, 1);
	push(fixture, 12, 4, 1);
	wire_ring(fixture->arena, RING)->writing = 1;
	recover(fixture);
	assert_int_equal(total_weight(fixture), 3);
	assert_int_equal(profile_totals(fixture->profile)->losses.torn, 1);
	recover(fixture);
	assert_int_equal(total_weight(fixture), 3);
}

static void credit_goes_on_the_last_stack(void **state)
{
	struct fixture *fixture = *state;
	struct wire_ring *ring = wire_ring(fixture->arena, RING);
	struct wire_sample *sample;
	const struct profile_stack *stack;

	push(fixture, 9, 4, 2);
	sample = ring_begin(ring, wire_ring_data(fixture->arena, RING), sizeof(*sample));
	*sample = (struct wire_sample){
		.bytes = sizeof(*sample), .thread = 1, .weight = 4, .kind = WIRE_KIND_CREDIT};
	ring_commit(ring, sizeof(*sample));
	drain(fixture);
	ring->exit_credit = 8;
	recover(fixture);
	assert_int_equal(profile_stacks(fixture->profile), 2);
	stack = profile_stack_at(fixture->profile, 1);
	assert_int_equal(stack->kind, WIRE_KIND_CREDIT);
	assert_int_equal(stack->weight, 12);
	assert_int_equal(stack->node, profile_stack_at(fixture->profile, 0)->node);
	assert_int_equal(profile_totals(fixture->profile)->credited, 12);
}

static void a_writer_that_fails_releases_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct wire_ring *ring = wire_ring(fixture->arena, RING);
	char page[4096] = {0};
	ssize_t n;

	while ((n = write(fixture->pipe[1], page, sizeof(page))) > 0)
		;
	push(fixture, 5, 4, 1);
	assert_int_equal(
		message_drain_ring(fixture->message, fixture->arena, RING, IMAGE, 0), -EAGAIN);
	assert_int_equal(ring->tail, 0);
	assert_true(ring_fill(ring) > 0);
}

static void garbage_in_the_pipe_is_passed_over(void **state)
{
	struct fixture *fixture = *state;
	uint64_t junk[64];

	for (int round = 0; round < 500; round++) {
		for (int i = 0; i < 64; i++)
			junk[i] = next_random(fixture);
		if (round % 2) {
			struct wire_message *header = (struct wire_message *)junk;

			header->magic = WIRE_MESSAGE_MAGIC;
			header->slot %= WIRE_SLOTS;
			header->ring %= WIRE_RINGS;
			header->image = 1 + header->image % 5;
			header->from = header->to;
			header->nodes = (uint16_t)(header->nodes % 20);
			header->samples = 1;
			header->bytes = (uint32_t)(sizeof(*header) + header->nodes * 16u + 24);
		}
		assert_int_equal(write(fixture->pipe[1], junk, sizeof(junk)), sizeof(junk));
		assert_int_equal(message_read_all(&fixture->intake, fixture->pipe[0]), 0);
	}
	assert_true(profile_totals(fixture->profile)->losses.malformed > 0);
	assert_int_equal(profile_error(fixture->profile), 0);
}

static void a_hostile_ring_is_not_believed(void **state)
{
	struct fixture *fixture = *state;
	struct wire_ring *ring = wire_ring(fixture->arena, RING);
	uint64_t *words = (uint64_t *)wire_ring_data(fixture->arena, RING);

	for (int round = 0; round < 500; round++) {
		for (unsigned i = 0; i < 512; i++)
			words[next_random(fixture) % (WIRE_DATA_STRIDE / 8)] =
				next_random(fixture) % 5000;
		ring->head = next_random(fixture) & ~7ULL;
		ring->tail = round % 2 ? ring->head - next_random(fixture) % WIRE_RING_SPAN
				       : next_random(fixture);
		recover(fixture);
	}
	assert_true(profile_totals(fixture->profile)->losses.malformed > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_survive_the_journey),
		TEST(the_deepest_stack_takes_many_messages),
		TEST(a_full_table_begins_a_new_epoch),
		TEST(recovery_counts_only_what_the_pipe_did_not),
		TEST(credit_goes_on_the_last_stack),
		TEST(a_writer_that_fails_releases_nothing),
		TEST(garbage_in_the_pipe_is_passed_over),
		TEST(a_hostile_ring_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
