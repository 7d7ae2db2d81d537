/* SPDX-License-Identifier: MIT */
/*
 * Records through a pipe that is read by nobody for a while, and into a profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/outside/intake.h"
#include "cli/gather/outbox.h"

#define RECORDS 20000u

static void put_sample(struct outbox *outbox, uint32_t tid, uint32_t weight, uint32_t frames)
{
	static const uint64_t frame[] = {
		WIRE_FRAME(1, 0x30), WIRE_FRAME(1, 0x20), WIRE_FRAME(1, 0x10)};
	struct record_sample record = {
		.image = 1, .tid = tid, .weight = weight, .frames = frames, .end = WIRE_END_ROOT};

	assert_int_equal(outbox_put(outbox, RECORD_SAMPLE, &record, sizeof(record), frame,
				 frames * sizeof(frame[0])), 0);
}

static void test_a_full_pipe_loses_nothing(void **state)
{
	struct outbox outbox = {0};
	size_t bytes = 0, expected = RECORDS * (sizeof(struct record_sample) + 24);
	char buffer[65536];
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	outbox.descriptor = ends[1];
	for (uint32_t i = 0; i < RECORDS; i++) {
		put_sample(&outbox, i, 1, 3);
		if (i % 100 == 0)
			assert_true(outbox_flush(&outbox) >= 0);
	}
	while (bytes < expected) {
		ssize_t got = read(ends[0], buffer, sizeof(buffer));

		assert_true(got > 0);
		bytes += (size_t)got;
		assert_true(outbox_flush(&outbox) >= 0);
	}
	assert_int_equal(bytes, expected);
	assert_int_equal(outbox_flush(&outbox), 0);
	assert_true(read(ends[0], buffer, 1) < 0);
	signal(SIGPIPE, SIG_IGN); /* the tracer has it blocked */
	close(ends[0]);
	put_sample(&outbox, 1, 1, 3);
	assert_true(outbox_flush(&outbox) < 0);
	close(ends[1]);
	outbox_release(&outbox);
}

static void test_its_ceiling(void **state)
{
	struct outbox outbox = {.descriptor = -1};
	struct record_totals record = {0};
	char *tail = calloc(1, OUTBOX_BYTES_MAX / 4);
	unsigned taken = 0;

	(void)state;
	while (taken < 8 && !outbox_put(&outbox, RECORD_TOTALS, &record, sizeof(record), tail,
				    OUTBOX_BYTES_MAX / 4))
		taken++;
	assert_in_range(taken, 1, 3);
	free(tail);
	outbox_release(&outbox);
}

static void take_all(struct outside_intake *intake, const struct outbox *outbox)
{
	for (size_t at = outbox->from; at < outbox->to;) {
		struct record record;

		memcpy(&record, outbox->bytes + at, sizeof(record));
		outside_intake_take(intake, outbox->bytes + at);
		at += record.bytes;
	}
}

/* A stack of weight 0 is none yet; credit goes on it, and without one on the image. */
static void test_credit_goes_on_the_last_stack(void **state)
{
	struct outside_intake intake = {.profile = profile_new(49)};
	struct outbox outbox = {.descriptor = -1};
	struct record_image image = {.id = 1, .pid = 7, .comm = "seven"};
	const struct profile_stack *stack;

	(void)state;
	outbox_put(&outbox, RECORD_IMAGE, &image, sizeof(image), NULL, 0);
	put_sample(&outbox, 7, 0, 3);
	take_all(&intake, &outbox);
	assert_int_equal(profile_stacks(intake.profile), 0);
	outbox.from = outbox.to;
	put_sample(&outbox, 7, 5, 0);
	put_sample(&outbox, 8, 2, 0);
	take_all(&intake, &outbox);
	assert_int_equal(profile_stacks(intake.profile), 2);
	stack = profile_stack_at(intake.profile, 0);
	assert_int_equal(stack->weight, 5);
	assert_int_equal(
		profile_node_at(intake.profile, stack->node)->frame, WIRE_FRAME(1, 0x30));
	stack = profile_stack_at(intake.profile, 1);
	assert_int_equal(stack->weight, 2);
	assert_int_equal(profile_node_at(intake.profile, stack->node)->parent, UINT32_MAX);
	assert_int_equal(intake.live, 1);
	outside_intake_release(&intake);
	profile_free(intake.profile);
	outbox_release(&outbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_pipe_loses_nothing),
		cmocka_unit_test(test_its_ceiling),
		cmocka_unit_test(test_credit_goes_on_the_last_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
