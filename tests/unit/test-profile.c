/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test a profile of several processes: to which process's module a frame belongs, which stack is
 * the last one of a thread, and what is kept of samples if the limit on sample times is reached.
 * test-store.c tests profiles of one process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "cli/profile/naming.h"
#include "libprof/profile/profile.h"
#include "libprof/profile/tables.h"

static struct flameprof_profile *new_profile(void)
{
	return profile_new(&(struct profile_config){.period_ns = 5000000});
}

static void add(struct flameprof_profile *p, uint32_t image, struct wire_sample sample,
	const uint64_t *frames, unsigned n)
{
	sample.frames = (uint16_t)n;
	assert_int_equal(profile_add(p, image, &sample, frames), 0);
}

#define FRAMES(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8

static void add_module(struct flameprof_profile *p, uint32_t image, const char *path)
{
	const struct names_module module = {.number = 1, .start = 0x1000, .end = 0x2000};

	assert_int_equal(profile_add_module(p, image, &module, path), 0);
}

static const struct calltree_frame *frame_of(const struct calltree *tree, uint32_t node)
{
	return calltree_frame_at(tree, calltree_node_at(tree, node)->frame);
}

/*
 * Equal encoded frames of two processes are two locations. Each is named from its own process's
 * module.
 */
static void images_keep_their_frames(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t first = profile_image(p, 70), second = profile_image(p, 71);
	const struct naming_request request = {.profile = p};
	struct naming_report report;
	struct calltree *tree;

	(void)state;
	strcpy(profile_image_at(p, first)->exe, "/bin/one");
	strcpy(profile_image_at(p, second)->exe, "/bin/two");
	assert_int_equal(profile_image(p, 71), second);
	add_module(p, first, "/nowhere/a.so");
	add_module(p, second, "/nowhere/b.so");
	for (unsigned round = 0; round < 2; round++) {
		add(p, first, (struct wire_sample){.thread = 1, .weight = 1},
			FRAMES(WIRE_FRAME(1, 0x20), WIRE_FRAME(1, 0x10)));
		add(p, second, (struct wire_sample){.thread = 1, .weight = 2},
			FRAMES(WIRE_FRAME(1, 0x20), WIRE_FRAME(1, 0x10)));
		/*
		 * Add a frame that equals the second image's root frame except for the bit
		 * WIRE_FRAME_BY_FP.
		 */
		add(p, first, (struct wire_sample){.thread = 1, .weight = 4},
			FRAMES(WIRE_FRAME(1, 0x20), WIRE_FRAME_BY_FP | second));
	}
	assert_int_equal(p->stack_count, 3);
	assert_int_equal(p->thread_count, 2);
	assert_int_equal(profile_stack_at(p, 0)->weight, 2);
	assert_int_equal(profile_stack_at(p, 1)->weight, 4);
	assert_int_equal(profile_stack_at(p, 2)->weight, 8);
	assert_int_equal(profile_stack_image(p, profile_stack_at(p, 1)), second);
	assert_int_equal(naming_build(&request, &tree, &report), 0);
	assert_int_equal(report.processes, 2);
	assert_string_equal(frame_of(tree, 1)->name, "one");
	assert_int_equal(calltree_node_at(tree, 1)->total, 10);
	assert_string_equal(frame_of(tree, 2)->name, "two");
	assert_string_equal(frame_of(tree, 4)->name, "[a.so+0x20]");
	assert_int_equal(calltree_node_at(tree, 4)->total, 2);
	assert_string_equal(frame_of(tree, 6)->name, "[b.so+0x20]");
	assert_int_equal(calltree_node_at(tree, 6)->total, 4);
	calltree_free(tree);
	sources_release(&report.sources);
	profile_free(p);
}

/* Time that virtual machines report and time of the sampling clock are stored in two trees. */
static void times_of_two_kinds_are_two_trees(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 70);

	(void)state;
	strcpy(profile_image_at(p, image)->exe, "/bin/one");
	add_module(p, image, "/nowhere/a.so");
	add(p, image, (struct wire_sample){.thread = 1, .weight = 3},
		FRAMES(WIRE_FRAME(1, 0x20)));
	add(p, image, (struct wire_sample){.thread = 1, .weight = 40, .kind = WIRE_KIND_VM},
		FRAMES(WIRE_FRAME(1, 0x30)));
	/* Stacks of the two kinds of time may consist of equal frames. */
	add(p, image, (struct wire_sample){.thread = 1, .weight = 500, .kind = WIRE_KIND_VM},
		FRAMES(WIRE_FRAME(1, 0x20)));
	assert_int_equal(p->weight, 3);
	assert_int_equal(p->vm_weight, 540);
	assert_int_equal(profile_thread_at(p, 0)->weight, 3);
	for (int is_machine = 0; is_machine < 2; is_machine++) {
		const struct naming_request request = {.profile = p, .is_machine = is_machine};
		struct naming_report report;
		struct calltree *tree;
		uint64_t sampled = 0;

		assert_int_equal(naming_build(&request, &tree, &report), 0);
		assert_int_equal(calltree_total(tree), is_machine ? 540 : 3);
		for (size_t i = 0; i < calltree_samples(tree); i++)
			sampled += calltree_sample_at(tree, i)->weight;
		assert_int_equal(sampled, is_machine ? 540 : 3);
		calltree_free(tree);
		sources_release(&report.sources);
	}
	profile_free(p);
}

static void many_images_are_found_again(void **state)
{
	struct flameprof_profile *p = new_profile();

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t id = 1; id <= 5000; id++) {
			uint32_t image = profile_image(p, id << 20);

			assert_int_equal(image, id - 1);
			add(p, image, (struct wire_sample){.thread = 1, .weight = 1},
				FRAMES(3, 2, 1));
		}
	}
	assert_int_equal(p->stack_count, 5000);
	assert_int_equal(p->thread_count, 5000);
	assert_int_equal(p->sample_count, 10000);
	/*
	 * The first image's root is node 0. Each other image (process image, one exec) has its own
	 * root node.
	 */
	assert_int_equal(p->node_count, 4 * 5000 - 1);
	assert_int_equal(profile_error(p), 0);
	profile_free(p);
}

static void a_thread_is_its_number_whatever_it_is_called(void **state)
{
	struct flameprof_profile *p = new_profile();
	const char first[WIRE_COMM_BYTES] = "first";
	char unended[WIRE_COMM_BYTES];
	uint32_t image = profile_image(p, 1);

	(void)state;
	memcpy(unended, "sixteen letters.", sizeof(unended));
	add(p, image, (struct wire_sample){.thread = 9, .weight = 1}, FRAMES(1));
	profile_name_thread(p, image, 9, 77, first);
	profile_name_thread(p, image, 9, 0, NULL);
	assert_string_equal(profile_thread_at(p, 0)->name, "first");
	profile_name_thread(p, image, 9, 0, unended);
	assert_string_equal(profile_thread_at(p, 0)->name, "sixteen letters");
	assert_int_equal(profile_thread_at(p, 0)->tid, 77);
	assert_int_equal(p->thread_count, 1);
	profile_free(p);
}

/*
 * CPU time without a stack, and credit (CPU time found at a thread's end), go to the thread's last
 * stack, even if its weight is 0.
 */
static void the_last_stack_may_be_without_weight(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);
	struct wire_sample off = {.thread = 1, .weight = 3, .kind = WIRE_KIND_CPU};
	struct wire_sample credit = {.thread = 1, .weight = 4, .kind = WIRE_KIND_CREDIT};

	(void)state;
	add(p, image, off, NULL, 0);
	add(p, image, (struct wire_sample){.thread = 1, .end = WIRE_END_LOST}, FRAMES(2, 1));
	assert_int_equal(p->stack_count, 1);
	assert_int_equal(p->sample_count, 1);
	add(p, image, off, NULL, 0);
	add(p, image, credit, NULL, 0);
	/*
	 * The stack of credit (CPU time without a sample) must not become the thread's last stack.
	 */
	add(p, image, credit, FRAMES(WIRE_FRAME_UNSAMPLED));
	add(p, image, credit, NULL, 0);
	assert_int_equal(p->stack_count, 4);
	assert_int_equal(profile_stack_at(p, 0)->frames, 0);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(profile_stack_at(p, i)->frames, 2);
		assert_int_equal(profile_stack_at(p, i)->end, WIRE_END_LOST);
		assert_int_equal(profile_stack_at(p, i)->node, 2);
	}
	assert_int_equal(profile_stack_at(p, 2)->weight, 8);
	assert_int_equal(profile_totals(p)->counts.credited, 12);
	assert_int_equal(profile_totals(p)->counts.ends[WIRE_END_LOST], 3);
	profile_free(p);
}

/*
 * A thread used CPU time after its last sample. This time, found at the thread's end (credit), gets
 * the time of the last sample.
 */
static void credit_has_the_last_stacks_time(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);
	struct wire_sample sample = {.thread = 1, .time_ns = 30, .weight = 1};
	struct wire_sample credit = {.time_ns = 90, .weight = 4, .kind = WIRE_KIND_CREDIT};

	(void)state;
	add(p, image, sample, FRAMES(2, 1));
	credit.thread = 1;
	add(p, image, credit, NULL, 0);
	/* Thread 2 has no samples, so its credit keeps its own time. */
	credit.thread = 2;
	add(p, image, credit, NULL, 0);
	assert_int_equal(p->sample_count, 3);
	assert_int_equal(profile_sample_at(p, 1)->time_ns, 30);
	assert_int_equal(profile_sample_at(p, 1)->weight, 4);
	assert_int_equal(profile_sample_at(p, 2)->time_ns, 90);
	profile_free(p);
}

/*
 * A thread's CPU time for which no sample was taken is added as a credit. If the credit is longer
 * than two timer ticks of the kernel, it cannot all belong to the thread's last stack.
 */
static void much_credit_has_no_stack(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);
	struct wire_sample credit = {.thread = 1, .weight = 5, .kind = WIRE_KIND_CREDIT};

	(void)state;
	add(p, image, (struct wire_sample){.thread = 1, .weight = 1}, FRAMES(2, 1));
	add(p, image, credit, NULL, 0);
	assert_int_equal(p->stack_count, 2);
	assert_int_equal(profile_stack_at(p, 1)->frames, 0);
	assert_int_equal(profile_stack_at(p, 1)->weight, 5);
	profile_free(p);
}

/*
 * No two samples have the same stack, so none can be merged. Samples beyond times_max keep their
 * weight but not their time.
 */
static void later_samples_count_without_their_times(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);

	(void)state;
	p->times_max = 100;
	for (uint64_t i = 0; i < 250; i++)
		add(p, image, (struct wire_sample){.thread = 1, .time_ns = 900 - i, .weight = 2},
			FRAMES(i));
	for (uint64_t i = 0; i < 250; i++)
		add(p, image, (struct wire_sample){.thread = 1, .time_ns = 2, .weight = 1},
			FRAMES(i));
	assert_int_equal(p->sample_count, 100);
	assert_int_equal(p->weight, 750);
	assert_int_equal(profile_stack_at(p, 1)->weight, 3);
	assert_int_equal(profile_stack_at(p, 1)->samples, 2);
	assert_int_equal(profile_totals(p)->counts.untimed, 400);
	assert_int_equal(profile_first_ns(p), 801);
	profile_free(p);
}

#define MS UINT64_C(1000000)

/*
 * Check that each stack has its samples' weight, and that each sample's time is right to within
 * stretch_ns.
 */
static void check_thinned(const struct flameprof_profile *p, uint64_t from_ns)
{
	uint64_t weights[3] = {0}, last_ns[3] = {0};

	for (uint64_t i = 0; i < p->sample_count; i++) {
		const struct flameprof_sample *sample = profile_sample_at(p, i);

		assert_true(sample->time_ns > last_ns[sample->stack]);
		last_ns[sample->stack] = sample->time_ns;
		weights[sample->stack] += sample->weight;
	}
	for (uint32_t stack = 0; stack < 3; stack++) {
		uint64_t sampled_ns = 0;

		assert_int_equal(weights[stack], profile_stack_at(p, stack)->weight);
		for (uint64_t i = 0; i < p->sample_count; i++) {
			const struct flameprof_sample *sample = profile_sample_at(p, i);

			if (sample->stack != stack)
				continue;
			/* This stack has one sample of weight 1 every 3 ms. */
			sampled_ns += sample->weight * 3 * MS;
			assert_in_range(sample->time_ns - from_ns, sampled_ns - 3 * MS,
				sampled_ns + p->stretch_ns + 3 * MS);
		}
	}
}

static void many_times_are_known_less_exactly(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);

	(void)state;
	p->times_max = 1000;
	for (uint64_t i = 0; i < 20000; i++) {
		add(p, image,
			(struct wire_sample){.thread = 1, .time_ns = (i + 5) * MS, .weight = 1},
			FRAMES(i % 3));
		assert_true(p->sample_count <= p->times_max);
		if (i < 1000)
			assert_int_equal(p->stretch_ns, 0);
	}
	assert_int_equal(profile_totals(p)->counts.untimed, 0);
	assert_true(p->sample_count >= 300);
	assert_in_range(p->stretch_ns, 64 * MS, 256 * MS);
	check_thinned(p, 5 * MS);
	profile_free(p);
}

/*
 * Two samples are not merged if their sum does not fit a weight or if only one of them has a time.
 */
static void some_samples_are_not_made_one(void **state)
{
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);

	(void)state;
	p->times_max = 6;
	for (unsigned i = 0; i < 6; i++)
		add(p, image,
			(struct wire_sample){.thread = 1,
				.time_ns = i < 4 ? 1 + i : 0,
				.weight = i < 4 ? 3u << 29 : 1},
			FRAMES(1));
	profile_thin(p);
	assert_int_equal(p->sample_count, 3);
	assert_int_equal(profile_sample_at(p, 0)->weight, 3u << 30);
	assert_int_equal(profile_sample_at(p, 0)->time_ns, 2);
	assert_int_equal(profile_sample_at(p, 1)->weight, 3u << 30);
	assert_int_equal(profile_sample_at(p, 2)->weight, 2);
	assert_int_equal(profile_sample_at(p, 2)->time_ns, 0);
	profile_free(p);
}

/*
 * A thread gets an entry in the profile when it has a sample with weight. Until then its name is
 * kept in memory of fixed size.
 */
static void threads_without_samples_are_no_entries(void **state)
{
	static const unsigned marks[] = {20000, 200000};
	const char name[WIRE_COMM_BYTES] = "late";
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);
	size_t used[2];
	unsigned number = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (; number < marks[i]; number++) {
			profile_name_thread(p, image, number + 1, 1000 + number, name);
			add(p, image, (struct wire_sample){.thread = number + 1}, FRAMES(2, 1));
		}
		used[i] = p->account.used_bytes;
	}
	assert_int_equal(p->thread_count, 0);
	assert_int_equal(used[0], used[1]);
	add(p, image, (struct wire_sample){.thread = number, .weight = 3, .kind = WIRE_KIND_CPU},
		NULL, 0);
	assert_int_equal(p->thread_count, 1);
	assert_string_equal(profile_thread_at(p, 0)->name, "late");
	assert_int_equal(profile_thread_at(p, 0)->tid, 999 + number);
	assert_int_equal(profile_stack_at(p, 0)->frames, 2);
	assert_int_equal(profile_stack_at(p, 0)->weight, 3);
	assert_int_equal(profile_error(p), 0);
	profile_free(p);
}

/*
 * Only samples with times refer to their thread, so all threads beyond the limit share one entry.
 */
static void later_threads_are_no_entries_either(void **state)
{
	static const unsigned marks[] = {20000, 200000};
	const char name[WIRE_COMM_BYTES] = "a name";
	struct flameprof_profile *p = new_profile();
	uint32_t image = profile_image(p, 1);
	uint64_t on_stack = 0;
	size_t used[2];
	unsigned number = 0;

	(void)state;
	p->times_max = 100;
	for (unsigned i = 0; i < 2; i++) {
		for (; number < marks[i]; number++) {
			struct wire_sample sample = {.thread = number + 1, .weight = 1};

			profile_name_thread(p, image, number + 1, 1000 + number, name);
			add(p, image, sample, FRAMES(number % 7, 1));
			sample.kind = WIRE_KIND_CREDIT;
			add(p, image, sample, NULL, 0);
		}
		used[i] = p->account.used_bytes;
	}
	assert_int_equal(used[0], used[1]);
	assert_int_equal(p->sample_count, 100);
	assert_int_equal(p->thread_count, 51);
	assert_int_equal(p->stack_count, 100 + 14);
	for (uint32_t i = 0; i < p->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(p, i);

		assert_int_equal(stack->frames, 2);
		on_stack += stack->weight;
	}
	assert_int_equal(on_stack, 2 * number);
	assert_int_equal(p->weight, 2 * number);
	assert_int_equal(profile_error(p), 0);
	profile_free(p);
}

static void profiles_of_several_processes_are_not_merged(void **state)
{
	struct flameprof_profile *one = new_profile(), *two = new_profile();

	(void)state;
	profile_image(one, 1);
	profile_image(two, 1);
	assert_int_equal(flameprof_profile_merge(one, two), 0);
	profile_image(two, 2);
	assert_int_equal(flameprof_profile_merge(one, two), -EINVAL);
	assert_int_equal(flameprof_profile_merge(two, one), -EINVAL);
	profile_free(one);
	profile_free(two);
}

static void without_memory_it_says_so(void **state)
{
	const struct names_module module = {.number = 1};
	unsigned failed = 0;

	(void)state;
	for (uint32_t n = 1; n < 40; n++) {
		struct flameprof_profile *p = new_profile();

		pages_fail_in = n;
		for (uint64_t id = 1; id < 400 && !profile_error(p); id++) {
			uint32_t image = profile_image(p, id);
			struct wire_sample sample = {.thread = 1, .weight = 1, .frames = 1};

			if (!profile_error(p))
				profile_add(p, image, &sample, &(const uint64_t){id});
			if (!profile_error(p))
				profile_add_module(p, image, &module, "/some/where");
		}
		failed += profile_error(p) == -ENOMEM;
		assert_int_equal(profile_error(p) ? pages_fail_in : 0, 0);
		pages_fail_in = 0;
		profile_free(p);
		assert_int_equal(pages_mapped_bytes, 0);
	}
	assert_true(failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_keep_their_frames),
		cmocka_unit_test(times_of_two_kinds_are_two_trees),
		cmocka_unit_test(many_images_are_found_again),
		cmocka_unit_test(a_thread_is_its_number_whatever_it_is_called),
		cmocka_unit_test(the_last_stack_may_be_without_weight),
		cmocka_unit_test(credit_has_the_last_stacks_time),
		cmocka_unit_test(much_credit_has_no_stack),
		cmocka_unit_test(later_samples_count_without_their_times),
		cmocka_unit_test(many_times_are_known_less_exactly),
		cmocka_unit_test(some_samples_are_not_made_one),
		cmocka_unit_test(threads_without_samples_are_no_entries),
		cmocka_unit_test(later_threads_are_no_entries_either),
		cmocka_unit_test(profiles_of_several_processes_are_not_merged),
		cmocka_unit_test(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
