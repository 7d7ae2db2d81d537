/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test to which frame the accounting adds CPU time without samples, and which CPU time is due but
 * not added.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "cli/profile/accounting.h"

#define MS  1000000ull
/* pid of flamerun's own child in all profiles of this file */
#define OWN 100

/*
 * A process image (one exec or fork) that has reported its end. Times are in ms of its process's
 * CPU clock.
 */
struct life {
	uint64_t id, parent; /* image ids */
	uint32_t pid, ppid;
	uint64_t born, start, end;
	/* ms of CPU time of children that the image waited for */
	uint64_t children;
	const char *exe;
};

static struct profile_image *live(struct flameprof_profile *profile, const struct life *life)
{
	struct profile_image *image =
		profile_image_at(profile, profile_image(profile, life->id));

	image->parent = life->parent;
	image->pid = life->pid;
	image->ppid = life->ppid;
	image->start_ns = life->born * MS;
	image->start_cpu_ns = life->start * MS;
	image->end_cpu_ns = life->end * MS;
	image->threads_ns = (life->end - life->start) * MS;
	image->children_ns = life->children * MS;
	image->end_is_reported = 1;
	image->ended = 1;
	snprintf(image->exe, sizeof(image->exe), "%s", life->exe ? life->exe : "/bin/it");
	return image;
}

/*
 * Returns the weight that the accounting added to @frame of image @id. The value 0 of @frame means
 * WIRE_FRAME_UNSAMPLED.
 */
static uint64_t below(struct flameprof_profile *profile, uint64_t id, uint64_t frame)
{
	uint32_t image = profile_image(profile, id);
	uint64_t weight = 0;

	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(profile, i);
		const struct profile_node *node = profile_node_at(profile, stack->node);

		if (profile_stack_image(profile, stack) == image &&
			stack->kind == WIRE_KIND_CREDIT &&
			profile_node_frame(node) == (frame ? frame : WIRE_FRAME_UNSAMPLED))
			weight += stack->weight;
	}
	return weight;
}

static void sample(struct flameprof_profile *profile, uint64_t id, uint64_t weight)
{
	uint32_t image = profile_image(profile, id);
	const uint64_t frame = WIRE_FRAME(WIRE_MODULE_NONE, 4096);

	profile_add(profile, image,
		&(struct wire_sample){.thread = 1,
			.time_ns = 1,
			.weight = (uint32_t)weight,
			.frames = 1,
			.kind = WIRE_KIND_CPU,
			.end = WIRE_END_ROOT},
		&frame);
}

static struct accounting compute(struct flameprof_profile *profile, enum accounting_start start,
	const struct accounting_child *child)
{
	struct accounting books;

	assert_int_equal(accounting_compute(profile, start, child), 0);
	accounting_of(profile, &books);
	return books;
}

/* Returns the kernel's report on flamerun's own child. The parameters are in ms. */
static struct accounting_child child_of(uint64_t cpu, uint64_t children)
{
	return (struct accounting_child){.pid = OWN, .cpu_ns = cpu * MS,
		.children_ns = children * MS, .max_kib = 16384};
}

/*
 * Make a profile with an exec'd image and its fork child, which used 100 ms and 10 ms before they
 * were sampled.
 */
static struct flameprof_profile *make(void)
{
	struct flameprof_profile *profile = profile_new(&(struct profile_config){.period_ns = MS});

	live(profile, &(struct life){.id = 1, .pid = OWN, .born = 1, .start = 100, .end = 390});
	live(profile, &(struct life){
		.id = 2, .parent = 1, .pid = 11, .ppid = OWN, .born = 2, .start = 10, .end = 110});
	return profile;
}

static void test_a_start_is_credited(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 110);
	struct accounting books = compute(profile, ACCOUNTING_START_CREDITED, &child);

	(void)state;
	assert_int_equal(books.due, 500);
	assert_int_equal(books.exec, 100);
	assert_int_equal(below(profile, 1, WIRE_FRAME_EXEC), 100);
	/* CPU time before a forked image's first sample is not counted as exec. */
	assert_int_equal(books.credited, 10);
	assert_int_equal(below(profile, 2, 0), 10);
	assert_int_equal(books.exit, 0);
	assert_int_equal(accounting_total(&books), 110);
	profile_free(profile);
}

/*
 * If sampling starts paused, CPU time before the start is counted as paused time. Only exec'd
 * images start paused; a forked child keeps its parent's state.
 */
static void test_a_paused_start_is_left_out(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 110);
	struct accounting books;

	(void)state;
	profile_totals(profile)->counts.paused = 7;
	books = compute(profile, ACCOUNTING_START_PAUSED, &child);
	assert_int_equal(books.credited, 10);
	assert_int_equal(books.paused, 107);
	assert_int_equal(accounting_total(&books), 117);
	profile_free(profile);
}

/*
 * If sampling was paused when an image ended, no samples are added for the CPU time of the image's
 * exit.
 */
static void test_a_paused_end_is_left_out(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 110);
	struct accounting books;

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->left_paused = 1;
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.exit, 0);
	assert_int_equal(books.paused, 50);
	profile_free(profile);
}

static void test_no_start_by_another_clock(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 120);
	struct accounting books = compute(profile, ACCOUNTING_START_IGNORED, &child);

	(void)state;
	assert_int_equal(accounting_total(&books), 0);
	profile_free(profile);
}

/*
 * A traced program may have run before the tracer attached, so its CPU time before that is not
 * counted as exec.
 */
static void test_what_ran_before_the_tracer_came_is_no_exec(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 110);
	struct accounting books;

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->from_outside = 1;
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.exec, 0);
	assert_int_equal(below(profile, 1, 0), 100);
	profile_free(profile);
}

/* Added CPU time is rounded to whole samples: half a period or more becomes one sample. */
static void test_credit_is_rounded(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 110);

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->start_cpu_ns = 6 * MS / 10;
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).exec, 1);
	profile_free(profile);
}

/* After an exec, CPU time that the previous image used is not counted as exec of the new image. */
static void test_an_exec_is_followed(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 110);
	struct accounting books;

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->left_by_exec = 1;
	live(profile, &(struct life){.id = 3, .pid = OWN, .born = 5, .start = 410, .end = 430});
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(below(profile, 1, WIRE_FRAME_EXEC), 100);
	assert_int_equal(below(profile, 3, WIRE_FRAME_EXEC), 20);
	assert_int_equal(below(profile, 3, WIRE_FRAME_EXIT), 10);
	assert_int_equal(books.due, 550);
	profile_free(profile);
}

/*
 * If an image ended by exec and its successor is unknown, CPU time used later is not counted as
 * exit of the image.
 */
static void test_who_went_on_did_not_exit(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(391, 110);
	struct accounting books;

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->left_by_exec = 1;
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.exit, 0);
	profile_free(profile);
}

/*
 * The exit of a child is the CPU time that its parent was charged for, minus the CPU time that the
 * child had reported.
 */
static void test_an_exit_is_the_only_childs(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 111);
	struct accounting books;

	(void)state;
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.exit, 1);
	assert_int_equal(below(profile, 2, WIRE_FRAME_EXIT), 1);
	assert_int_equal(below(profile, 1, WIRE_FRAME_EXIT), 0);
	profile_free(profile);
}

/*
 * For each image of a process, compare its children's CPU time with the time that the process was
 * charged for until that image ended.
 */
static void test_families_of_an_exec_chain(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 110 + 2 + 20 + 4);

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->left_by_exec = 1;
	profile_image_at(profile, profile_image(profile, 1))->children_ns = 112 * MS;
	profile_image_at(profile, profile_image(profile, 1))->children_kib = child.max_kib;
	live(profile, &(struct life){.id = 3, .pid = OWN, .born = 5, .start = 390, .end = 440});
	live(profile, &(struct life){.id = 4, .pid = 12, .ppid = OWN, .born = 6, .end = 20,
		.exe = "/bin/other"});
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).exit, 6);
	assert_int_equal(below(profile, 2, WIRE_FRAME_EXIT), 2);
	assert_int_equal(below(profile, 4, WIRE_FRAME_EXIT), 4);
	profile_free(profile);
}

/*
 * An image waits for a child that the previous image of its process had forked. The child's CPU
 * time must count once.
 */
static void test_a_child_across_an_exec(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 112);
	struct accounting books;

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->left_by_exec = 1;
	live(profile, &(struct life){.id = 3, .pid = OWN, .born = 5, .start = 390, .end = 440});
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.due, 552);
	assert_int_equal(books.exit, 0);
	profile_free(profile);
}

/*
 * If children run different programs, the CPU time of their exits is shown as a whole, below their
 * parent.
 */
static void test_exits_of_several_names_are_the_parents(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 133);

	(void)state;
	live(profile, &(struct life){.id = 3, .pid = 12, .ppid = OWN, .born = 3, .start = 1,
		.end = 21, .exe = "/bin/other"});
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).exit, 2);
	assert_int_equal(below(profile, 1, WIRE_FRAME_EXIT_OF_CHILDREN), 2);
	assert_int_equal(below(profile, 1, WIRE_FRAME_EXIT), 0);
	assert_int_equal(below(profile, 2, WIRE_FRAME_EXIT), 0);
	assert_int_equal(below(profile, 3, WIRE_FRAME_EXIT), 0);
	profile_free(profile);
}

/*
 * The CPU time of 2000 processes, each too short for a sample, is summed before it is converted to
 * samples.
 */
static void test_short_lives_add_up(void **state)
{
	struct flameprof_profile *profile = profile_new(&(struct profile_config){.period_ns = MS});
	struct accounting_child child = child_of(0, 0);
	struct accounting books;

	(void)state;
	live(profile, &(struct life){.id = 1, .pid = OWN, .born = 1, .end = 50});
	for (uint32_t i = 0; i < 2000; i++) {
		struct profile_image *image = live(profile, &(struct life){
			.id = 2 + i, .pid = 1000 + i, .ppid = OWN, .born = 2 + i});

		image->start_cpu_ns = MS / 4;
		image->end_cpu_ns = MS / 2;
		image->threads_ns = MS / 5;
	}
	child.cpu_ns = 50 * MS;
	child.children_ns = 2000 * (MS / 2 + MS / 10);
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.due, 1250);
	assert_int_equal(books.exec, 500);
	assert_int_equal(books.exit, 200);
	/*
	 * CPU time that no clock of the process's threads covers is counted neither as exec nor as
	 * exit.
	 */
	assert_int_equal(books.credited, 100);
	profile_free(profile);
}

/*
 * The kernel's I/O workers get a frame. Its weight is limited to the CPU time that the threads did
 * not use.
 */
static void test_io_workers_have_a_box(void **state)
{
	for (uint64_t claimed = 70; claimed <= 700; claimed *= 10) {
		struct flameprof_profile *profile =
			profile_new(&(struct profile_config){.period_ns = MS});
		struct accounting_child child = child_of(100, 0);
		struct profile_image *image =
			live(profile, &(struct life){.id = 1, .pid = OWN, .born = 1, .end = 100});
		uint64_t found = claimed == 70 ? 70 : 80;

		(void)state;
		image->threads_ns = 20 * MS;
		image->unsampled_ns[WIRE_UNSAMPLED_IO_WORKER] = claimed * MS;
		compute(profile, ACCOUNTING_START_CREDITED, &child);
		assert_int_equal(below(profile, 1, WIRE_FRAME_IO_WORKER), found);
		assert_int_equal(below(profile, 1, WIRE_FRAME_UNSAMPLED), 80 - found);
		profile_free(profile);
	}
}

/*
 * killed_by must be set only if the sampling signal killed the child before its image had reported
 * its end.
 */
static void test_who_is_killed_by_being_sampled(void **state)
{
	static const struct {
		uint32_t of_child, of_image, end_is_reported, killed_by;
	} cases[] = {{27, 27, 0, 27}, {9, 27, 0, 0}, {27, 0, 0, 0}, {27, 27, 1, 0}, {0, 0, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flameprof_profile *profile =
			profile_new(&(struct profile_config){.period_ns = MS});
		struct accounting_child child = child_of(10, 0);
		struct profile_image *image =
			live(profile, &(struct life){.id = 1, .pid = OWN, .born = 1, .end = 10});

		child.signal = cases[i].of_child;
		image->signal = cases[i].of_image;
		image->end_is_reported = cases[i].end_is_reported != 0;
		compute(profile, ACCOUNTING_START_CREDITED, &child);
		assert_int_equal(profile_totals(profile)->killed_by, cases[i].killed_by);
		profile_free(profile);
	}
}

/*
 * 500 ms are too long for an exit, so a process must have run without samples. The time counts as
 * due, but no samples are added for it.
 */
static void test_a_stranger_is_no_exit(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 610);
	struct accounting books = compute(profile, ACCOUNTING_START_CREDITED, &child);

	(void)state;
	assert_int_equal(books.due, 1000);
	assert_int_equal(books.exit, 0);
	profile_free(profile);
}

/* If a child is known to have continued without the library, not even 1 ms is counted as exit. */
static void test_a_known_stranger_is_no_exit(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 111);

	(void)state;
	profile_image_at(profile, profile_image(profile, 2))->went_on = 1;
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).exit, 0);
	profile_free(profile);
}

/* Returns half a kernel timer tick in ms, rounded as the accounting rounds it. */
static uint64_t half_a_tick(void)
{
	struct timespec tick;

	assert_int_equal(clock_getres(CLOCK_MONOTONIC_COARSE, &tick), 0);
	return (uint64_t)(tick.tv_nsec / 2 + 500000) / MS;
}

/*
 * A killed process reported no CPU time. The accounting uses the weight of its samples and the time
 * that its parent was charged for.
 */
static void test_who_was_killed(void **state)
{
	struct flameprof_profile *profile = make();
	struct profile_image *killed = profile_image_at(profile, profile_image(profile, 2));
	struct accounting_child child = child_of(390, 118);
	struct accounting books;

	(void)state;
	killed->end_is_reported = 0;
	killed->end_cpu_ns = 118 * MS; /* read while the process exited */
	killed->unrecorded = 40;
	sample(profile, 2, 60);
	profile_totals(profile)->counts.dropped = 40;
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	/*
	 * 118 - (10 + 40 + 60) = 8 ms. Half a timer tick of these was used before the kernel
	 * checked a timer.
	 */
	assert_int_equal(books.exit + below(profile, 2, 0), 8 + 10);
	assert_int_equal(books.exit, 8 - half_a_tick());
	assert_int_equal(books.due, 508);
	profile_free(profile);
}

/*
 * Several threads of a killed process used CPU time without samples. Only the usual CPU time of an
 * exit is then counted as exit.
 */
static void test_a_killed_one_with_threads(void **state)
{
	struct flameprof_profile *profile = make();
	struct profile_image *killed = profile_image_at(profile, profile_image(profile, 2));
	struct accounting_child child = child_of(390, 10 + 60 + 34);
	struct accounting books;

	(void)state;
	killed->end_is_reported = 0;
	killed->live_threads = 8;
	sample(profile, 2, 60);
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	/* Of 16 MiB: 0.45 ms. */
	assert_in_range(books.exit, 0, 1);
	assert_int_equal(books.exit + below(profile, 2, 0), 34 + 10);
	profile_free(profile);
}

/* A killed process that blocked the signal has no samples, so its CPU clock counts. */
static void test_a_killed_one_without_samples(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 138);

	(void)state;
	profile_image_at(profile, profile_image(profile, 2))->end_is_reported = 0;
	live(profile,
		&(struct life){.id = 3, .pid = 12, .ppid = OWN, .born = 3, .start = 10, .end = 20});
	assert_int_equal(
		compute(profile, ACCOUNTING_START_CREDITED, &child).exit, 8 - half_a_tick());
	profile_free(profile);
}

/* Samples taken after the image reported its end do not count as exit. */
static void test_samples_after_leaving(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(440, 110);

	(void)state;
	profile_image_at(profile, profile_image(profile, 1))->after_leave = 20;
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).exit, 30);
	profile_free(profile);
}

/* CPU time of children that no process waited for is charged to no parent, but it counts as due. */
static void test_nobody_waited(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 0);

	(void)state;
	live(profile, &(struct life){
		.id = 3, .pid = 12, .ppid = 7, .born = 3, .start = 10, .end = 60});
	profile_image_at(profile, profile_image(profile, 3))->children_ns = 40 * MS;
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).due, 600);
	profile_free(profile);
}

/*
 * The parent's report may contain CPU time of children that no image explains. The CPU time of a
 * process with an unknown parent may be a part of this time, so count it only once.
 */
static void test_a_grandchild_of_a_stranger(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 200);

	(void)state;
	live(profile, &(struct life){.id = 3, .pid = 12, .ppid = 7, .born = 3, .end = 80});
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).due, 590);
	profile_free(profile);
	/* Only the part of the CPU time that exceeds the unexplained time is added. */
	profile = make();
	live(profile, &(struct life){.id = 3, .pid = 12, .ppid = 7, .born = 3, .end = 100});
	assert_int_equal(compute(profile, ACCOUNTING_START_CREDITED, &child).due, 600);
	profile_free(profile);
}

/*
 * While flamerun's child still runs, the kernel has not reported its CPU time. The accounting uses
 * the CPU clocks, as last read.
 */
static void test_it_still_runs(void **state)
{
	struct flameprof_profile *profile = make();
	struct profile_image *image = profile_image_at(profile, profile_image(profile, 1));
	struct accounting books;

	(void)state;
	image->end_is_reported = 0;
	image->still_runs = 1;
	sample(profile, 1, 300); /* more than its clock says, by chance */
	books = compute(profile, ACCOUNTING_START_CREDITED, NULL);
	assert_int_equal(books.due, 500);
	assert_int_equal(books.exit, 0);
	profile_free(profile);
}

/* A pid is used twice. Pid and start time together identify a process, also as a parent. */
static void test_a_pid_is_used_again(void **state)
{
	struct flameprof_profile *profile = make();
	struct accounting_child child = child_of(390, 112);
	struct accounting books;

	(void)state;
	live(profile, &(struct life){.id = 3, .pid = OWN, .ppid = 1, .born = 9, .end = 30});
	live(profile, &(struct life){.id = 4, .pid = 13, .ppid = OWN, .born = 10, .end = 5});
	books = compute(profile, ACCOUNTING_START_CREDITED, &child);
	assert_int_equal(books.due, 537);
	assert_int_equal(below(profile, 2, WIRE_FRAME_EXIT), 2);
	assert_int_equal(below(profile, 4, WIRE_FRAME_EXIT), 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_start_is_credited),
		cmocka_unit_test(test_a_paused_start_is_left_out),
		cmocka_unit_test(test_a_paused_end_is_left_out),
		cmocka_unit_test(test_no_start_by_another_clock),
		cmocka_unit_test(test_what_ran_before_the_tracer_came_is_no_exec),
		cmocka_unit_test(test_credit_is_rounded),
		cmocka_unit_test(test_an_exec_is_followed),
		cmocka_unit_test(test_who_went_on_did_not_exit),
		cmocka_unit_test(test_an_exit_is_the_only_childs),
		cmocka_unit_test(test_families_of_an_exec_chain),
		cmocka_unit_test(test_a_child_across_an_exec),
		cmocka_unit_test(test_exits_of_several_names_are_the_parents),
		cmocka_unit_test(test_short_lives_add_up),
		cmocka_unit_test(test_io_workers_have_a_box),
		cmocka_unit_test(test_who_is_killed_by_being_sampled),
		cmocka_unit_test(test_a_stranger_is_no_exit),
		cmocka_unit_test(test_a_known_stranger_is_no_exit),
		cmocka_unit_test(test_who_was_killed),
		cmocka_unit_test(test_a_killed_one_with_threads),
		cmocka_unit_test(test_a_killed_one_without_samples),
		cmocka_unit_test(test_samples_after_leaving),
		cmocka_unit_test(test_nobody_waited),
		cmocka_unit_test(test_a_grandchild_of_a_stranger),
		cmocka_unit_test(test_it_still_runs),
		cmocka_unit_test(test_a_pid_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
