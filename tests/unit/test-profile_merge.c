/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Merge profiles: equal stacks become one stack, and a merge that fails changes nothing. */
#include "tests/unit/aggregate-fixture.h"

#include <errno.h>

#include "libprof/profile/lookup.h"
#include "libprof/profile/profile.h"

#define MIB (1u << 20)

static void add_module(struct flameprof_profile *p, uint32_t number, uint64_t start, int id,
	const char *path)
{
	struct names_module module = {.number = number, .start = start, .end = start + 4096,
		.bias = start, .build_id_bytes = 20};

	memset(module.build_id, id, 20);
	p->account.limit_bytes = p->limit_bytes;
	assert_int_equal(names_add_module(&p->names, &p->account, &module, path), 0);
}

static void add(struct flameprof_profile *p, uint64_t image, uint32_t thread, uint32_t weight,
	const uint64_t *frames, unsigned n)
{
	struct batch_maker maker;

	batch_begin(&maker, 10, "worker");
	maker.batch->image = image;
	batch_add(&maker, thread, weight, frames, n);
	assert_int_equal(batch_store(&maker, p).samples, 1);
}

/* Return as text everything that can be read of a profile. */
static char *text_of(const struct flameprof_profile *p)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct flameprof_profile_summary info;
	struct flameprof_frame frames[64];
	struct flameprof_thread thread;
	struct flameprof_module module;
	struct flameprof_sample sample;
	struct flameprof_stack stack;
	struct flameprof_mark mark;

	flameprof_profile_info(p, &info);
	fprintf(out, "%s %lu..%lu %ld weight %lu\n", info.title, info.start_ns, info.end_ns,
		info.start_wall_s, info.weight);
	for (uint32_t i = 0; !flameprof_profile_thread(p, i, &thread); i++)
		fprintf(out, "thread %u %s %lu\n", thread.tid, thread.name, thread.weight);
	for (uint32_t i = 0; !flameprof_profile_module(p, i, &module); i++)
		fprintf(out, "module %s %lx %d\n", module.path, module.start, module.build_id[0]);
	for (uint32_t i = 0; !flameprof_profile_stack(p, i, &stack); i++) {
		fprintf(out, "stack %u %lu %lu %d %d:", stack.thread, stack.weight, stack.samples,
			stack.end, stack.is_credit);
		flameprof_profile_frames(p, i, frames, 64);
		for (uint32_t f = 0; f < stack.frames; f++)
			fprintf(out, " %lx/%d/%s", frames[f].address, (int)frames[f].module,
				frames[f].name ? frames[f].name : "");
		fprintf(out, "\n");
	}
	for (uint64_t i = 0; !flameprof_profile_sample(p, i, &sample); i++)
		fprintf(out, "sample %lu %u %u\n", sample.time_ns, sample.stack, sample.weight);
	for (uint32_t i = 0; !flameprof_profile_mark(p, i, &mark); i++)
		fprintf(out, "mark %lu %u %s\n", mark.time_ns, mark.tid, mark.name);
	fclose(out);
	return text;
}

static void assert_text(const struct flameprof_profile *p, const char *expected)
{
	char *text = text_of(p);

	assert_string_equal(text, expected);
	free(text);
}

static void equal_stacks_become_one(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);

	(void)state;
	/*
	 * The two profiles number the first two modules in opposite order. The number of the third
	 * module is free in the first profile.
	 */
	add_module(a, 1, 0x10000, 1, "/bin/a");
	add_module(a, 2, 0x20000, 2, "/lib/b");
	add_module(b, 2, 0x10000, 1, "/bin/a");
	add_module(b, 1, 0x20000, 2, "/lib/b");
	add_module(b, 3, 0x30000, 3, "/lib/c");
	add_module(b, 4, 0x20000, 9, "/lib/b"); /* rebuilt */
	add(a, 7, 1, 1, FRAMES(WIRE_FRAME(2, 5), WIRE_FRAME(1, 1)));
	add(a, 7, 1, 2, FRAMES(WIRE_FRAME(1, 1)));
	add(b, 7, 1, 4, FRAMES(WIRE_FRAME(2, 1)));
	add(b, 7, 1, 8, FRAMES(WIRE_FRAME(1, 5), WIRE_FRAME(2, 1)));
	add(b, 7, 2, 16, FRAMES(WIRE_FRAME(1, 5), WIRE_FRAME(2, 1)));
	add(b, 7, 1, 32, FRAMES(WIRE_FRAME(3, 7), WIRE_FRAME(4, 5), WIRE_FRAME(2, 1)));
	add(b, 7, 1, 64, FRAMES(WIRE_FRAME(9, 7)));
	a->dropped_weight = 3;
	b->dropped_weight = 4;
	b->start_ns = 1000000500;
	b->end_ns = 2000000500;
	profile_add_mark(a, 20, 1, "a");
	profile_add_mark(b, 10, 1, "b");
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	assert_int_equal(a->dropped_weight, 7);
	assert_text(a, "a title 500..2000000500 1700000000 weight 127\n"
		"thread 10 worker 111\n"
		"thread 10 worker 16\n"
		"module /bin/a 10000 1\n"
		"module /lib/b 20000 2\n"
		"module /lib/c 30000 3\n"
		"module /lib/b 20000 9\n"
		"stack 0 9 2 0 0: 20005/1/ 10001/0/\n"
		"stack 0 6 2 0 0: 10001/0/\n"
		"stack 1 16 1 0 0: 20005/1/ 10001/0/\n"
		"stack 0 32 1 0 0: 30007/2/ 20005/3/ 10001/0/\n"
		"stack 0 64 1 0 0: 0/-1/\n"
		"sample 1000 0 1\nsample 1000 1 2\nsample 1000 1 4\nsample 1000 0 8\n"
		"sample 1000 2 16\nsample 1000 3 32\nsample 1000 4 64\n"
		"mark 10 1 b\nmark 20 1 a\n");
	flameprof_profile_free(a);
	/* The merge has copied from b. */
	assert_int_equal(b->weight, 124);
	flameprof_profile_free(b);
}

static void a_number_that_is_taken_is_changed(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);
	struct flameprof_frame frame;

	(void)state;
	add_module(a, 1, 0x10000, 1, "/bin/a");
	add_module(b, 1, 0x20000, 2, "/lib/b");
	add(a, 7, 1, 1, FRAMES(WIRE_FRAME(1, 1)));
	add(b, 7, 1, 1, FRAMES(WIRE_FRAME(1, 1)));
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	assert_int_equal(a->stack_count, 2);
	assert_int_equal(flameprof_profile_frames(a, 1, &frame, 1), 1);
	assert_int_equal(frame.address, 0x20001);
	assert_int_equal(frame.module, 1);
	flameprof_profile_free(a);
	flameprof_profile_free(b);
}

static void generated_code_keeps_its_name(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);
	const struct names_code one = {.space = 100, .bytes = 10, .start = 0x1000};
	const struct names_code two = {.space = 50, .bytes = 10, .start = 0x2000};
	struct flameprof_frame frames[2];

	(void)state;
	names_add_code(&a->names, &a->account, &one, "one");
	names_add_code(&b->names, &b->account, &one, "one");
	names_add_code(&b->names, &b->account, &two, "two");
	add(a, 7, 1, 1, FRAMES(WIRE_FRAME(WIRE_MODULE_CODE, 105)));
	add(b, 7, 1, 1,
		FRAMES(WIRE_FRAME(WIRE_MODULE_CODE, 55), WIRE_FRAME(WIRE_MODULE_CODE, 105)));
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	assert_int_equal(flameprof_profile_frames(a, 1, frames, 2), 2);
	assert_string_equal(frames[0].name, "two");
	assert_string_equal(frames[1].name, "one");
	assert_int_equal(a->node_count, 2);
	flameprof_profile_free(a);
	flameprof_profile_free(b);
}

static void threads_of_two_runs_are_told_by_tid_and_name(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);
	struct batch_maker maker;

	(void)state;
	add(a, 7, 1, 1, FRAMES(1));
	add(b, 8, 5, 1, FRAMES(1));
	batch_begin(&maker, 10, "other name");
	maker.batch->image = 8;
	batch_add(&maker, 1, 1, FRAMES(1));
	batch_store(&maker, b);
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	assert_int_equal(a->thread_count, 2);
	assert_int_equal(a->stack_count, 2);
	assert_int_equal(profile_stack_at(a, 0)->weight, 2);
	flameprof_profile_free(a);
	flameprof_profile_free(b);
}

static void earlier_samples_come_first(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);
	struct flameprof_sample sample;

	(void)state;
	add(a, 7, 1, 1, FRAMES(1));
	add(a, 7, 1, 2, FRAMES(2));
	add(b, 7, 1, 4, FRAMES(2));
	b->start_ns = 100;
	b->start_wall_s = 1600000000;
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	for (unsigned i = 0; i < 3; i++) {
		flameprof_profile_sample(a, i, &sample);
		assert_int_equal(sample.weight, i ? i : 4);
		assert_int_equal(sample.stack, i == 1 ? 0 : 1);
	}
	assert_int_equal(a->start_ns, 100);
	assert_int_equal(a->start_wall_s, 1600000000);
	flameprof_profile_free(a);
	flameprof_profile_free(b);
}

static void what_cannot_be_added_is_refused(void **state)
{
	struct flameprof_profile *a = aggregate_profile(MIB), *b = aggregate_profile(MIB);

	(void)state;
	assert_int_equal(flameprof_profile_merge(a, a), -EINVAL);
	b->period_ns++;
	assert_int_equal(flameprof_profile_merge(a, b), -EINVAL);
	b->period_ns--;
	b->clock = FLAMEPROF_CLOCK_ELAPSED;
	assert_int_equal(flameprof_profile_merge(a, b), -EINVAL);
	b->clock = a->clock;
	assert_int_equal(flameprof_profile_merge(a, b), 0);
	flameprof_profile_free(a);
	flameprof_profile_free(b);
	flameprof_profile_free(NULL);
}

static void fill(struct flameprof_profile *p, uint64_t random, unsigned batches)
{
	for (unsigned b = 0; b < batches; b++) {
		struct batch_maker maker;

		batch_begin(&maker, 10 + b % 3, "worker");
		for (unsigned i = 0; i < 200; i++) {
			uint64_t frames[30];
			unsigned n = 1 + next_random(&random) % 30;

			for (unsigned f = 0; f < n; f++)
				frames[f] = WIRE_FRAME(1 + next_random(&random) % 3,
					(n - f) * 100 + next_random(&random) % 4);
			batch_add(&maker, 1 + b % 3, 1, frames, n);
		}
		batch_store(&maker, p);
	}
	for (unsigned i = 1; i <= 3; i++)
		add_module(p, i, random % 1000 * 0x1000 + i * 0x10000, (int)i, "/lib/x");
	profile_add_mark(p, random % 1000, 1, "m");
}

/* Let each allocation during a merge fail in turn. */
static void a_failed_merge_leaves_no_trace(void **state)
{
	unsigned failed = 0, succeeded = 0;
	struct flameprof_profile *b = aggregate_profile(8 * MIB);

	(void)state;
	fill(b, 77, 10);
	for (uint32_t n = 1; n <= 200; n++) {
		struct flameprof_profile *a = aggregate_profile(8 * MIB);
		char *before;
		int error;

		fill(a, 55, 3);
		before = text_of(a);
		pages_fail_in = n;
		error = flameprof_profile_merge(a, b);
		pages_fail_in = 0;
		if (error) {
			assert_int_equal(error, -ENOMEM);
			assert_text(a, before);
			/* After the failure the same merge succeeds. */
			assert_int_equal(flameprof_profile_merge(a, b), 0);
			failed++;
		} else {
			succeeded++;
		}
		assert_int_equal(a->weight, 13 * 200);
		free(before);
		flameprof_profile_free(a);
	}
	assert_true(failed > 10);
	assert_true(succeeded > 10);
	flameprof_profile_free(b);
	assert_int_equal(pages_mapped_bytes, 0);
}

static void a_merge_beyond_the_ceiling_leaves_no_trace(void **state)
{
	struct flameprof_profile *b = aggregate_profile(8 * MIB);
	unsigned failed = 0;

	(void)state;
	fill(b, 77, 10);
	for (size_t limit = 128 * 1024; limit < MIB; limit += 16 * 1024) {
		struct flameprof_profile *a = aggregate_profile(limit);
		char *before;

		fill(a, 55, 1);
		before = text_of(a);
		if (flameprof_profile_merge(a, b)) {
			assert_text(a, before);
			assert_true(a->account.used_bytes <= limit);
			failed++;
		}
		free(before);
		flameprof_profile_free(a);
	}
	assert_in_range(failed, 3, 50);
	flameprof_profile_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_become_one),
		cmocka_unit_test(a_number_that_is_taken_is_changed),
		cmocka_unit_test(generated_code_keeps_its_name),
		cmocka_unit_test(threads_of_two_runs_are_told_by_tid_and_name),
		cmocka_unit_test(earlier_samples_come_first),
		cmocka_unit_test(what_cannot_be_added_is_refused),
		cmocka_unit_test(a_failed_merge_leaves_no_trace),
		cmocka_unit_test(a_merge_beyond_the_ceiling_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
