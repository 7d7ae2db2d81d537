/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, threads. */
/* Start sessions: options and their ranges, limits on memory, and allocations that fail. */
#include "session-fixture.h"

#include "libprof/profile/lookup.h"
#include "libprof/session/session.h"

static struct settings settings_of(const struct flameprof_options *options)
{
	struct settings settings;

	assert_int_equal(settings_from_options(&settings, options), 0);
	return settings;
}

static void check_defaults(const struct flameprof_options *options)
{
	struct settings settings = settings_of(options);

	assert_int_equal(settings.rate_hz, 197);
	assert_int_equal(settings.clock, FLAMEPROF_CLOCK_CPU);
	assert_int_equal(settings.depth, 4096);
	assert_int_equal(settings.max_span_ms, 0);
	assert_int_equal(settings.ring_bytes, 90 << 10);
	assert_int_equal(settings.profile_bytes, 256 << 20);
	assert_int_equal(settings.is_paused, 0);
}

static void zeroes_stand_for_the_defaults(void **state)
{
	const struct flameprof_options zero = {0};

	(void)state;
	check_defaults(&zero);
	check_defaults(NULL);
}

static void values_out_of_range_are_clamped(void **state)
{
	const struct flameprof_options high = {.rate = 1u << 31,
		.depth = 1u << 31,
		.ring_bytes = SIZE_MAX,
		.profile_bytes = SIZE_MAX};
	const struct flameprof_options low = {
		.rate = 1, .depth = 1, .ring_bytes = 1, .profile_bytes = 1};
	struct settings settings = settings_of(&high);

	(void)state;
	assert_int_equal(settings.rate_hz, 10000);
	assert_int_equal(settings.depth, 4096);
	assert_int_equal(settings.ring_bytes, 90 << 10);
	assert_int_equal(settings.profile_bytes, 16ULL << 30);
	settings = settings_of(&low);
	assert_int_equal(settings.rate_hz, 1);
	assert_int_equal(settings.depth, 1);
	assert_int_equal(settings.ring_bytes, 4 << 10);
	assert_int_equal(settings.profile_bytes, 64 << 10);
}

static void what_is_unknown_is_refused(void **state)
{
	struct flameprof_options options = {.clock = (enum flameprof_clock)7};

	(void)state;
	assert_int_equal(flameprof_start(&options), -EINVAL);
	options = (struct flameprof_options){.flags = 2};
	assert_int_equal(flameprof_start(&options), -EINVAL);
	options = (struct flameprof_options){.reserved = {0, 0, 1}};
	assert_int_equal(flameprof_start(&options), -EINVAL);
	assert_int_equal(flameprof_status(), FLAMEPROF_STOPPED);
}

/*
 * Call itself @depth times, then use CPU time. The samples taken on the way down may fill the ring,
 * so empty the ring first.
 */
static __attribute__((noinline)) void descend(unsigned depth)
{
	volatile char frame[16] = {0};

	if (depth) {
		descend(depth - 1);
	} else {
		burn_ms(20);
		flush_weight();
		burn_ms(20);
	}
	frame[0]++;
}

/*
 * Return the number of frames of the deepest stack. Check that every stack that was cut has @limit
 * frames.
 */
static unsigned deepest(const struct flameprof_profile *profile, unsigned limit)
{
	struct flameprof_stack stack;
	unsigned most = 0;

	for (uint32_t i = 0; !flameprof_profile_stack(profile, i, &stack); i++) {
		if (stack.frames > most)
			most = stack.frames;
		if (stack.end == FLAMEPROF_END_DEPTH)
			assert_int_equal(stack.frames, limit);
	}
	return most;
}

static unsigned deepest_with(const struct flameprof_options *options, unsigned limit)
{
	struct flameprof_profile *profile = NULL;
	unsigned most;

	assert_int_equal(flameprof_start(options), 0);
	descend(3000);
	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	assert_true(info_of(profile).weight > 0);
	most = deepest(profile, limit);
	flameprof_profile_free(profile);
	return most;
}

static void depth_is_what_was_asked_for(void **state)
{
	struct flameprof_options options = often;
	struct flameprof_counters counts;

	(void)state;
	skip_under_tsan();
	/*
	 * Use a low rate. If a walk takes longer than a period, as under qemu-user, the program
	 * does nothing but walk.
	 */
	options.rate = 500;
	options.depth = 10;
	assert_int_equal(deepest_with(&options, 10), 10);
	counts = diagnostics();
	assert_true(counts.ends[FLAMEPROF_END_DEPTH] > 0);
	options.depth = 0;
	assert_true(deepest_with(&options, 4096) > 3000);
	/* A stack that is larger than the ring is cut, not lost. */
	options.ring_bytes = 4096;
	assert_int_equal(deepest_with(&options, 509), 509);
}

/*
 * Keep the worker thread from emptying the ring: the ring must then hold ring_bytes and drop the
 * rest.
 */
static void a_ring_holds_what_it_may(void **state)
{
	struct flameprof_options options = often;
	struct flameprof_counters counts;
	uint64_t truth, recorded;

	(void)state;
	skip_under_tsan();
	options.ring_bytes = 4096;
	assert_int_equal(flameprof_start(&options), 0);
	flush_weight();
	pthread_mutex_lock(&session.counts_lock);
	burn_ms(150);
	session_disarm();
	pthread_mutex_unlock(&session.counts_lock);
	truth = delivered();
	recorded = stop_weight();
	counts = diagnostics();
	assert_true(counts.dropped[FLAMEPROF_DROP_RING].weight > 0);
	assert_true(counts.dropped[FLAMEPROF_DROP_RING].samples > 0);
	assert_true(recorded > 0);
	assert_int_equal(counts.recorded_weight + dropped_weight(&counts), truth);
}

/*
 * Run a session in which allocation number @nth fails. Returns 1 if there was such an allocation.
 */
static int live_with_failure(uint32_t nth)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_counters counts;
	uint64_t taken = 0, truth;
	int error, was_refused;

	__atomic_store_n(&pages_fail_in, nth, __ATOMIC_SEQ_CST);
	error = flameprof_start(&often);
	if (error) {
		assert_int_equal(error, -ENOMEM);
		assert_int_equal(flameprof_status(), FLAMEPROF_STOPPED);
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		burn_ms(4);
		error = flameprof_flush(&profile, PATIENCE_MS);
		if (!error)
			taken += take_weight(profile);
		else if (error == -ENOMEM)
			/*
			 * There was no memory for the next profile or for names; a later flush can
			 * succeed.
			 */
			assert_true(flameprof_status() == FLAMEPROF_NO_MEMORY ||
				    flameprof_status() == FLAMEPROF_RUNNING);
		else
			assert_int_equal(error, -ESRCH);
	}
	session_disarm();
	truth = delivered();
	taken += stop_weight();
	was_refused = !__atomic_exchange_n(&pages_fail_in, 0, __ATOMIC_SEQ_CST);
	counts = diagnostics();
	assert_int_equal(counts.recorded_weight, taken);
	assert_int_equal(taken + dropped_weight(&counts), truth);
	return was_refused;
}

static void every_failing_allocation_is_survived(void **state)
{
	size_t before;
	uint32_t nth = 1;

	(void)state;
	live_with_failure(0);
	before = __atomic_load_n(&pages_mapped_bytes, __ATOMIC_SEQ_CST);
	while (live_with_failure(nth) && nth < 1000)
		nth++;
	assert_in_range(nth, 5, 999);
	assert_int_equal(__atomic_load_n(&pages_mapped_bytes, __ATOMIC_SEQ_CST), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroes_stand_for_the_defaults),
		cmocka_unit_test(values_out_of_range_are_clamped),
		cmocka_unit_test_teardown(what_is_unknown_is_refused, no_session_left),
		cmocka_unit_test_teardown(depth_is_what_was_asked_for, no_session_left),
		cmocka_unit_test_teardown(a_ring_holds_what_it_may, no_session_left),
		cmocka_unit_test_teardown(every_failing_allocation_is_survived, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
