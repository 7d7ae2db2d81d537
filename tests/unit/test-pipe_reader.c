/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Send records through the pipes: from two sources at once, with a late reader, cut at any byte,
 * and damaged by another process. Check what each record changes in the profile.
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

#include "cli/gather/pipe_reader.h"
#include "cli/gather/pipe_record.h"

#define RECORDS 20000u

struct fixture {
	struct pipe_reader *pipe_reader;
	struct pipe_writer boxes[RECORD_SOURCES];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(pipe_reader_open(&f->pipe_reader, 197), 0);
	for (unsigned i = 0; i < RECORD_SOURCES; i++)
		f->boxes[i].descriptor = pipe_reader_writer(f->pipe_reader, (enum record_source)i);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < RECORD_SOURCES; i++)
		pipe_writer_release(&f->boxes[i]);
	pipe_reader_free(f->pipe_reader);
	free(f);
	return 0;
}

static void put_image(struct pipe_writer *box, uint64_t id, uint32_t pid)
{
	struct record_image image = {.id = id, .pid = pid, .comm = "seven"};

	assert_int_equal(pipe_writer_put(box, RECORD_IMAGE, &image, sizeof(image), NULL, 0), 0);
}

static void put_sample(
	struct pipe_writer *box, uint64_t image, uint32_t thread, uint32_t weight, uint32_t frames)
{
	uint64_t frame[WIRE_MAX_DEPTH];
	struct record_sample record = {.image = image,
		.thread = thread,
		.weight = weight,
		.frames = frames,
		.kind = frames ? WIRE_KIND_CPU : WIRE_KIND_CREDIT,
		.end = WIRE_END_ROOT};

	for (uint32_t i = 0; i < frames; i++)
		frame[i] = WIRE_FRAME(1, 0x10 * (frames - i));
	assert_int_equal(pipe_writer_put(box, RECORD_SAMPLE, &record, sizeof(record), frame,
				 frames * sizeof(frame[0])),
		0);
}

static uint64_t total_weight(struct flameprof_profile *profile)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; i < profile->stack_count; i++)
		weight += profile_stack_at(profile, i)->weight;
	return weight;
}

static uint64_t damaged(const struct fixture *f)
{
	return profile_totals(pipe_reader_profile(f->pipe_reader))->counts.damaged_streams;
}

static uint64_t malformed(const struct fixture *f)
{
	return profile_totals(pipe_reader_profile(f->pipe_reader))->counts.malformed;
}

/* Both sources fill their pipes at once, so that full pipes cut records into parts. */
static void two_sources_and_a_late_reader_lose_nothing(void **state)
{
	struct fixture *f = *state;
	struct flameprof_profile *profile = pipe_reader_profile(f->pipe_reader);
	long left = 1;

	put_image(&f->boxes[0], 1, 7);
	put_image(&f->boxes[1], RECORD_TRACER_IMAGES + 1, 8);
	for (uint32_t i = 0; i < RECORDS; i++) {
		put_sample(&f->boxes[0], 1, 7, 1, 1 + i % 30);
		put_sample(
			&f->boxes[1], RECORD_TRACER_IMAGES + 1, 8, 2, i % 100 ? 3 : WIRE_MAX_DEPTH);
		if (i % 10 == 0)
			assert_true(pipe_writer_flush(&f->boxes[i % 20 / 10]) >= 0);
	}
	assert_true(pipe_writer_flush(&f->boxes[0]) > 0);
	for (int i = 0; left && i < 1000000; i++) {
		assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
		left = pipe_writer_flush(&f->boxes[0]) + pipe_writer_flush(&f->boxes[1]);
	}
	assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	assert_int_equal(total_weight(profile), 3 * RECORDS);
	assert_int_equal(profile->sample_count, 2 * RECORDS);
	assert_int_equal(malformed(f), 0);
	assert_int_equal(damaged(f), 0);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->live, 2);
}

/*
 * Another process has written garbage into one stream. This stream ends but is still drained; the
 * other stream continues.
 */
static void a_damaged_stream_ends_and_is_emptied(void **state)
{
	struct fixture *f = *state;
	char garbage[77];
	long left = 1;

	memset(garbage, 0xa5, sizeof(garbage));
	put_image(&f->boxes[0], 1, 7);
	put_sample(&f->boxes[0], 1, 7, 1, 3);
	assert_int_equal(pipe_writer_flush(&f->boxes[0]), 0);
	assert_int_equal(write(f->boxes[0].descriptor, garbage, sizeof(garbage)), sizeof(garbage));
	for (uint32_t i = 0; i < RECORDS / 10; i++)
		put_sample(&f->boxes[0], 1, 7, 1, WIRE_MAX_DEPTH);
	for (int i = 0; left && i < 1000000; i++) {
		assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
		left = pipe_writer_flush(&f->boxes[0]);
	}
	assert_int_equal(left, 0);
	assert_int_equal(total_weight(pipe_reader_profile(f->pipe_reader)), 1);
	assert_int_equal(damaged(f), 1);
	assert_true(pipe_reader_state(f->pipe_reader)->round == UINT64_MAX);
	put_image(&f->boxes[1], RECORD_TRACER_IMAGES + 1, 8);
	put_sample(&f->boxes[1], RECORD_TRACER_IMAGES + 1, 8, 1, 3);
	assert_int_equal(pipe_writer_flush(&f->boxes[1]), 0);
	assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	assert_int_equal(total_weight(pipe_reader_profile(f->pipe_reader)), 2);
	assert_int_equal(damaged(f), 1);
}

static void what_is_no_record_is_counted(void **state)
{
	struct fixture *f = *state;
	struct record_sample sample = {.image = 1, .thread = 1, .weight = 1, .frames = 5};
	struct record_module module = {.image = 1, .number = 1};
	struct record_mark mark = {.image = 1};
	struct pipe_writer *box = &f->boxes[0];

	/*
	 * Three damaged records: fewer frames than the record's count, a module path without an
	 * end, and an unknown type.
	 */
	assert_int_equal(pipe_writer_put(box, RECORD_SAMPLE, &sample, sizeof(sample), NULL, 0), 0);
	assert_int_equal(
		pipe_writer_put(box, RECORD_MODULE, &module, sizeof(module), "12345678", 8), 0);
	assert_int_equal(
		pipe_writer_put(box, (enum record_type)77, &mark, sizeof(mark), NULL, 0), 0);
	sample.frames = 0;
	sample.kind = WIRE_KIND_COUNT;
	assert_int_equal(pipe_writer_put(box, RECORD_SAMPLE, &sample, sizeof(sample), NULL, 0), 0);
	assert_int_equal(pipe_writer_flush(box), 0);
	assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	assert_int_equal(malformed(f), 4);
	assert_int_equal(pipe_reader_profile(f->pipe_reader)->image_count, 0);
	/* One record has a wrong length, so the next record cannot be found. */
	put_image(box, 1, 7);
	put_image(box, 2, 8);
	((struct record *)(box->bytes + box->from))->bytes = 12;
	assert_int_equal(pipe_writer_flush(box), 0);
	assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	assert_int_equal(damaged(f), 1);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->images_seen, 0);
}

/*
 * A sample of weight 0 adds no weight but sets the thread's last stack. Credit (CPU time without a
 * sample) goes to the thread's last stack, or, if it has none, to the root of its process image.
 */
static void credit_goes_on_the_last_stack_of_its_thread(void **state)
{
	struct fixture *f = *state;
	struct flameprof_profile *profile = pipe_reader_profile(f->pipe_reader);
	const struct profile_stack *stack;

	put_image(&f->boxes[0], 1, 7);
	put_sample(&f->boxes[0], 1, 7, 0, 3);
	pipe_writer_flush(&f->boxes[0]);
	pipe_reader_read(f->pipe_reader);
	assert_int_equal(profile->stack_count, 0);
	put_sample(&f->boxes[0], 1, 7, 2, 0);
	put_sample(&f->boxes[0], 1, 8, 2, 0);
	pipe_writer_flush(&f->boxes[0]);
	pipe_reader_read(f->pipe_reader);
	assert_int_equal(profile->stack_count, 2);
	stack = profile_stack_at(profile, 0);
	assert_int_equal(stack->weight, 2);
	assert_int_equal(profile_node_frame(profile_node_at(profile, stack->node)),
		WIRE_FRAME(1, 0x30));
	stack = profile_stack_at(profile, 1);
	assert_int_equal(stack->weight, 2);
	assert_int_equal(stack->frames, 0);
}

static void what_waits_has_a_ceiling(void **state)
{
	struct fixture *f = *state;
	struct record_totals record = {0};
	char *tail = calloc(1, PIPE_WRITER_BYTES_MAX / 4);
	unsigned taken = 0;

	while (taken < 8 && !pipe_writer_put(&f->boxes[0], RECORD_TOTALS, &record, sizeof(record),
				    tail, PIPE_WRITER_BYTES_MAX / 4))
		taken++;
	assert_in_range(taken, 1, 3);
	free(tail);
}

static void a_pipe_that_nobody_reads_is_an_error(void **state)
{
	struct fixture *f = *state;
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	signal(SIGPIPE, SIG_IGN); /* the tracer has it blocked */
	close(ends[0]);
	f->boxes[0].descriptor = ends[1];
	put_image(&f->boxes[0], 1, 7);
	assert_true(pipe_writer_flush(&f->boxes[0]) < 0);
	assert_true(pipe_writer_finish(&f->boxes[0]) < 0);
	close(ends[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(two_sources_and_a_late_reader_lose_nothing),
		TEST(a_damaged_stream_ends_and_is_emptied),
		TEST(what_is_no_record_is_counted),
		TEST(credit_goes_on_the_last_stack_of_its_thread),
		TEST(what_waits_has_a_ceiling),
		TEST(a_pipe_that_nobody_reads_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
