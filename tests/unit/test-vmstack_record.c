/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Call flameprof_record_vm_stack() in a process that samples itself: check what each call adds to
 * the profile, and that everything that is left out is counted.
 */
#include "tests/unit/vmstack-fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROOT {"[vm]", NULL, 0}

static const struct flameprof_vm_frame root = ROOT;

/* This must be the first test, because ticks must not be enabled yet. */
static void ticks_have_no_length_before_enable(void **state)
{
	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), -EINVAL);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 0), -EINVAL);
	assert_int_equal(stop_weight(), 0);
	assert_int_equal(enable_ticks(NULL), 0);
}

/* Return the handler that the kernel has for the sampling signal: 0, because there must be none. */
static uint64_t kernel_handler(void)
{
	uint64_t action[4] = {0};

	assert_int_equal(syscall(SYS_rt_sigaction, SIGVTALRM, NULL, action, 8), 0);
	return action[0];
}

static void without_a_clock_there_are_no_signals(void **state)
{
	struct sigevent silent = {.sigev_notify = SIGEV_NONE};
	struct flameprof_profile *profile;
	struct itimerspec left;
	int timer;

	(void)state;
	/* The program's own timers must keep working. The first one has number 0. */
	assert_int_equal(syscall(SYS_timer_create, CLOCK_MONOTONIC, &silent, &timer), 0);
	assert_int_equal(kernel_handler(), 0);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_active(), 1);
	assert_int_equal(kernel_handler(), 0);
	burn_ms(150);
	assert_int_equal(flameprof_status(), FLAMEPROF_RUNNING);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 2), 0);
	profile = stop_session();
	assert_int_equal(kernel_handler(), 0);
	assert_int_equal(syscall(SYS_timer_gettime, timer, &left), 0);
	assert_int_equal(syscall(SYS_timer_delete, timer), 0);
	assert_int_equal(info_of(profile).weight, 2);
	assert_int_equal(info_of(profile).clock, FLAMEPROF_CLOCK_VM);
	flameprof_profile_free(profile);
}

static void a_stack_comes_back_as_it_was(void **state)
{
	struct flameprof_counters counts;
	struct flameprof_profile *profile;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 5), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 0), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	profile = stop_session();
	assert_int_equal(info_of(profile).period_ns, TICK_NS);
	assert_int_equal(info_of(profile).stacks, 1);
	assert_int_equal(info_of(profile).weight, 6);
	assert_int_equal(info_of(profile).vm_weight, 6);
	assert_int_equal(info_of(profile).samples, 2);
	assert_int_equal(stack_at(profile, 0).frames, 4);
	assert_int_equal(stack_at(profile, 0).weight, 6);
	assert_int_equal(stack_at(profile, 0).end, FLAMEPROF_END_ROOT);
	assert_true(stack_at(profile, 0).is_vm);
	for (uint32_t i = 0; i < 3; i++)
		assert_frame(profile, 0, i, &three[i]);
	assert_frame(profile, 0, 3, &root);
	flameprof_profile_free(profile);
	counts = diagnostics();
	assert_int_equal(counts.recorded_weight, 6);
	assert_int_equal(counts.vm_samples, 2);
	assert_int_equal(counts.vm_weight, 6);
	assert_int_equal(dropped_weight(&counts), 0);
}

/* Functions with equal name, file and line are one function, wherever their strings are. */
static void functions_are_what_they_are_called(void **state)
{
	char name[] = "fib", file[] = "script.lua";
	const struct flameprof_vm_frame variants[] = {
		{"fib", "script.lua", 12}, {name, file, 12},	   {"fib", "script.lua", 13},
		{"fib", "script.luas", 12}, {"fibs", "script.lua", 12}, {"fib", NULL, 12},
		{"fib", "", 12},
	};
	struct flameprof_profile *profile;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		assert_int_equal(flameprof_record_vm_stack(&variants[i], 1, 1), 0);
	/* The library has copied the names, so the host may change them. */
	memset(name, 'x', sizeof(name) - 1);
	memset(file, 'x', sizeof(file) - 1);
	profile = stop_session();
	assert_int_equal(info_of(profile).stacks, 5);
	assert_int_equal(stack_at(profile, 0).weight, 2);
	assert_frame(profile, 0, 0, &variants[0]);
	assert_int_equal(stack_at(profile, 4).weight, 2);
	assert_frame(profile, 4, 0, &variants[5]);
	flameprof_profile_free(profile);
}

static void any_bytes_are_a_name(void **state)
{
	char *long_name = malloc(100001);
	const struct flameprof_vm_frame frames[] = {{NULL, NULL, 0}, {"", NULL, 0},
		{"\xff\xfe;\n(", "\x80", 1}, {long_name, long_name, 2}};
	const struct flameprof_vm_frame anonymous = {"[anonymous]", NULL, 0};
	struct flameprof_profile *profile;

	(void)state;
	memset(long_name, 'n', 100000);
	long_name[100000] = '\0';
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(frames, 4, 1), 0);
	profile = stop_session();
	assert_frame(profile, 0, 0, &anonymous);
	assert_frame(profile, 0, 1, &anonymous);
	assert_frame(profile, 0, 2, &frames[2]);
	assert_int_equal(strlen(frame_at(profile, 0, 3).name), FLAMEPROF_NAME_BYTES);
	assert_int_equal(strlen(frame_at(profile, 0, 3).file), FLAMEPROF_NAME_BYTES);
	flameprof_profile_free(profile);
	free(long_name);
}

static void too_deep_a_stack_keeps_its_inner_frames(void **state)
{
	static const unsigned depths[] = {4094, 4095, 4096, 4097, 100000};
	struct flameprof_vm_frame *frames = calloc(100000, sizeof(*frames));
	struct flameprof_counters counts;
	struct flameprof_profile *profile;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		frames[i] = (struct flameprof_vm_frame){"deep", "deep.lua", 1 + i % 5000};
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		unsigned kept = depths[i] < 4095 ? depths[i] : 4095;
		int is_disarmed = depths[i] > kept;

		assert_int_equal(flameprof_start(&only_vm), 0);
		assert_int_equal(flameprof_record_vm_stack(frames, depths[i], 3), 0);
		profile = stop_session();
		assert_int_equal(stack_at(profile, 0).frames, kept + 1);
		assert_int_equal(stack_at(profile, 0).end,
			is_disarmed ? FLAMEPROF_END_DEPTH : FLAMEPROF_END_ROOT);
		assert_frame(profile, 0, 0, &frames[0]);
		assert_frame(profile, 0, kept - 1, &frames[kept - 1]);
		assert_frame(profile, 0, kept, &root);
		flameprof_profile_free(profile);
		counts = diagnostics();
		assert_int_equal(counts.ends[FLAMEPROF_END_DEPTH], is_disarmed ? 3 : 0);
	}
	free(frames);
}

static void the_depth_asked_for_holds(void **state)
{
	struct flameprof_options options = only_vm;
	struct flameprof_profile *profile;

	(void)state;
	for (unsigned depth = 1; depth <= 4; depth++) {
		unsigned kept = depth > 1 ? depth - 1 : 1;

		options.depth = depth;
		assert_int_equal(flameprof_start(&options), 0);
		assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
		profile = stop_session();
		assert_int_equal(stack_at(profile, 0).frames, kept + 1);
		assert_frame(profile, 0, 0, &three[0]);
		assert_frame(profile, 0, kept, &root);
		flameprof_profile_free(profile);
	}
}

static void a_stack_without_frames_is_the_machines(void **state)
{
	struct flameprof_profile *profile;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(NULL, 0, 1), 0);
	assert_int_equal(flameprof_record_vm_stack(NULL, 1, 1), -EINVAL);
	profile = stop_session();
	assert_int_equal(info_of(profile).weight, 1);
	assert_int_equal(stack_at(profile, 0).frames, 1);
	assert_frame(profile, 0, 0, &root);
	flameprof_profile_free(profile);
}

static void nobody_samples(void **state)
{
	struct flameprof_counters counts;

	(void)state;
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), -ESRCH);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_pause(), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 7), -ESRCH);
	assert_int_equal(flameprof_resume(), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	assert_int_equal(stop_weight(), 1);
	counts = diagnostics();
	assert_int_equal(counts.paused_weight, 7);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), -ESRCH);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(stop_weight(), 0);
}

static void the_most_ticks_there_are(void **state)
{
	const struct flameprof_options finest = {.rate = 10000, .flags = FLAMEPROF_START_PAUSED};
	struct flameprof_counters counts;
	struct flameprof_profile *profile;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, UINT32_MAX), 0);
	assert_int_equal(stop_weight(), UINT32_MAX);
	/* A tick has a hundred periods, so the weight does not fit into one record. */
	assert_int_equal(flameprof_start(&finest), 0);
	flameprof_resume();
	assert_int_equal(flameprof_record_vm_stack(three, 3, UINT32_MAX), 0);
	flameprof_pause();
	profile = stop_session();
	assert_int_equal(info_of(profile).vm_weight, UINT32_MAX);
	flameprof_profile_free(profile);
	counts = diagnostics();
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_RING].weight, 99ULL * UINT32_MAX);
}

/*
 * 2,000 ticks of 10 ms with a period of 1/7 s: each tick is less than a period, but the parts add
 * up.
 */
static void parts_of_periods_add_up(void **state)
{
	const struct flameprof_options slow = {.rate = 7};
	struct flameprof_profile *profile;
	uint64_t weight;

	(void)state;
	assert_int_equal(flameprof_start(&slow), 0);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	profile = stop_session();
	weight = info_of(profile).vm_weight;
	assert_in_range(weight, 139, 141);
	assert_int_equal(stack_at(profile, only_vm_stack(profile)).weight, weight);
	flameprof_profile_free(profile);
}

static void *record_one(void *argument)
{
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	return argument;
}

/* Each thread records a fifth of a period, so on average one in five threads records a sample. */
static void short_threads_are_counted_in_expectation(void **state)
{
	const struct flameprof_options slow = {.rate = 20}; /* a period is 5 ticks */
	struct flameprof_profile *profile;
	uint64_t weight;
	pthread_t id;

	(void)state;
	assert_int_equal(flameprof_start(&slow), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(pthread_create(&id, NULL, record_one, NULL), 0);
		pthread_join(id, NULL);
	}
	profile = stop_session();
	weight = info_of(profile).vm_weight;
	/* The mean is 200 and sigma 12.6; the bounds are five sigma. */
	assert_in_range(weight, 137, 263);
	flameprof_profile_free(profile);
}

static void a_full_ring_is_counted(void **state)
{
	struct flameprof_options tight = only_vm;
	struct flameprof_vm_frame frames[200];
	struct flameprof_counters counts;
	uint64_t told = 0, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		frames[i] = (struct flameprof_vm_frame){"f", "full.lua", i};
	tight.ring_bytes = 4096;
	assert_int_equal(flameprof_start(&tight), 0);
	for (uint32_t i = 0; i < 10000000 && refused < 10; i++) {
		int error = flameprof_record_vm_stack(frames, 200, 3);

		told += 3;
		refused += error != 0;
		assert_true(!error || error == -ENOSPC);
	}
	assert_int_equal(refused, 10);
	assert_int_equal(stop_weight(), told - 30);
	counts = diagnostics();
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_RING].weight, 30);
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_RING].samples, 10);
}

static void *record_without_ring(void *argument)
{
	assert_int_equal(flameprof_record_vm_stack(three, 3, 4), -ENOSPC);
	return argument;
}

static void a_thread_without_ring_is_counted(void **state)
{
	static struct sampler_thread *claimed[WIRE_RINGS];
	struct flameprof_counters counts;
	unsigned count = 0;
	pthread_t id;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	while ((claimed[count] = sampler_thread_try_claim()))
		count++;
	assert_int_equal(pthread_create(&id, NULL, record_without_ring, NULL), 0);
	pthread_join(id, NULL);
	while (count)
		sampler_thread_release(claimed[--count]);
	assert_int_equal(stop_weight(), 0);
	counts = diagnostics();
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_RING].weight, 4);
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_RING].samples, 1);
}

/* More names at once than the control ring can hold. None may be lost. */
static void many_new_functions_at_once_have_names(void **state)
{
	static char names[4000][24];
	static struct flameprof_vm_frame frames[4000];
	struct flameprof_profile *profile;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		snprintf(names[i], sizeof(names[i]), "new function %u", i);
		frames[i] = (struct flameprof_vm_frame){names[i], "a/longer/file/name.lua", i};
	}
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(frames, 4000, 1), 0);
	assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
	for (uint32_t i = 0; i < 4000; i++)
		assert_frame(profile, 0, i, &frames[i]);
	flameprof_profile_free(profile);
	/* All names that had to wait were sent in the end. */
	assert_int_equal(sampler.slot->control_dropped, 0);
	assert_int_equal(stop_weight(), 0);
}

static void a_fork_child_begins_anew(void **state)
{
	struct flameprof_profile *profile;
	int status;
	pid_t pid;

	(void)state;
	/*
	 * Under ThreadSanitizer and qemu-user, a child of a process with threads cannot make
	 * threads.
	 */
	skip_under_tsan();
	if (is_emulated())
		skip();
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	pid = fork();
	if (!pid) {
		if (flameprof_record_vm_stack(three, 3, 1) != -ESRCH)
			_exit(1);
		if (flameprof_start(&only_vm) || flameprof_record_vm_stack(three, 3, 2) ||
			flameprof_stop(&profile, PATIENCE_MS))
			_exit(2);
		/* In the child, names that were already sent for the parent must be sent again. */
		_exit(info_of(profile).weight == 2 && frame_at(profile, 0, 1).name &&
				      !strcmp(frame_at(profile, 0, 1).name, "fib")
			? 0
			: 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(stop_weight(), 1);
}

/* All functions for profiles work in a session without a sampling clock. */
static void flushes_marks_and_merges(void **state)
{
	struct flameprof_profile *first = NULL, *second = NULL;
	struct flameprof_mark mark;

	(void)state;
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1), 0);
	assert_int_equal(flameprof_mark("here"), 0);
	assert_int_equal(flameprof_flush(&first, PATIENCE_MS), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 2, 10), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 100), 0);
	assert_int_equal(flameprof_flush(&second, PATIENCE_MS), 0);
	assert_int_equal(flameprof_record_vm_stack(three, 3, 1000), 0);
	assert_int_equal(flameprof_reset(PATIENCE_MS), 0);
	assert_int_equal(stop_weight(), 0);
	assert_int_equal(info_of(first).weight, 1);
	assert_int_equal(info_of(second).weight, 110);
	assert_int_equal(flameprof_profile_mark(first, 0, &mark), 0);
	assert_string_equal(mark.name, "here");
	assert_int_equal(flameprof_profile_merge(second, first), 0);
	assert_int_equal(info_of(second).vm_weight, 111);
	assert_int_equal(info_of(second).stacks, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_frame(second, 1, i, &three[i]);
	assert_int_equal(stack_at(second, 1).weight, 101);
	flameprof_profile_free(first);
	flameprof_profile_free(second);
}

#define TEST(name) cmocka_unit_test_teardown(name, no_session_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ticks_have_no_length_before_enable),
		TEST(without_a_clock_there_are_no_signals),
		TEST(a_stack_comes_back_as_it_was),
		TEST(functions_are_what_they_are_called),
		TEST(any_bytes_are_a_name),
		TEST(too_deep_a_stack_keeps_its_inner_frames),
		TEST(the_depth_asked_for_holds),
		TEST(a_stack_without_frames_is_the_machines),
		TEST(nobody_samples),
		TEST(the_most_ticks_there_are),
		TEST(parts_of_periods_add_up),
		TEST(short_threads_are_counted_in_expectation),
		TEST(a_full_ring_is_counted),
		TEST(a_thread_without_ring_is_counted),
		TEST(many_new_functions_at_once_have_names),
		TEST(a_fork_child_begins_anew),
		TEST(flushes_marks_and_merges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
