/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, threads. */
/*
 * A successful flush returns exactly the samples that were committed before it. A failed flush
 * returns none and loses none.
 */
#include "session-fixture.h"

/*
 * Check that every sample of @profile lies in its time span. A sample of another thread may be
 * older than the span, because it can be committed later than it was taken.
 */
static void assert_in_span(const struct flameprof_profile *profile, int is_only_thread)
{
	struct flameprof_profile_summary info = info_of(profile);
	struct flameprof_sample sample;

	for (uint64_t i = 0; i < info.samples; i++) {
		assert_int_equal(flameprof_profile_sample(profile, i, &sample), 0);
		if (is_only_thread)
			assert_true(sample.time_ns > info.start_ns);
		assert_true(sample.time_ns <= info.end_ns);
	}
}

/*
 * This thread is the only sampled thread, so each expiry that its handler counted before the flush
 * is committed or dropped by then.
 */
static void a_flush_has_what_was_committed_and_no_more(void **state)
{
	uint64_t taken = 0, dropped = 0, end_ns = 0;

	(void)state;
	start_often();
	for (int i = 0; i < 60; i++) {
		struct flameprof_profile *profile = NULL;
		uint64_t before, after;

		/* 3 ms of samples are too few for a batch, so only the flush drains the ring. */
		burn_ms(3);
		before = delivered();
		assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
		if (i)
			assert_int_equal(info_of(profile).start_ns, end_ns);
		end_ns = info_of(profile).end_ns;
		assert_in_span(profile, 1);
		taken += take_weight(profile);
		dropped += dropped_meanwhile();
		after = delivered();
		assert_in_range(taken + dropped, before, after);
	}
	assert_true(taken > 300);
	session_disarm();
	taken += flush_weight();
	dropped += dropped_meanwhile();
	assert_int_equal(taken + dropped, delivered());
	assert_int_equal(stop_weight(), 0);
}

static void totals_over_many_flushes_and_stop_are_what_was_delivered(void **state)
{
	struct flameprof_counters counts;
	struct burner burners[3];
	uint64_t taken = 0, truth;

	(void)state;
	start_often();
	for (int i = 0; i < 3; i++)
		burner_begin(&burners[i]);
	for (int i = 0; i < 100 || (taken <= 100 && i < 100000); i++)
		taken += flush_weight();
	session_disarm();
	while (!sampler_is_quiet())
		pause_ms(1);
	truth = delivered();
	taken += stop_weight();
	for (int i = 0; i < 3; i++)
		burner_end(&burners[i]);
	counts = diagnostics();
	assert_int_equal(counts.recorded_weight, taken);
	assert_int_equal(taken + dropped_weight(&counts), truth);
	assert_true(taken > 100);
}

static uint32_t count_marks(const struct flameprof_profile *profile, const char *name)
{
	struct flameprof_mark mark;
	uint32_t found = 0;

	for (uint32_t i = 0; !flameprof_profile_mark(profile, i, &mark); i++)
		found += !strcmp(mark.name, name);
	return found;
}

static void marks_fall_on_their_side(void **state)
{
	struct flameprof_profile *profile = NULL;
	char name[32];

	(void)state;
	start_often();
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "before %d", i);
		assert_int_equal(flameprof_mark(name), 0);
		assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
		assert_int_equal(count_marks(profile, name), 1);
		assert_int_equal(info_of(profile).marks, 1);
		flameprof_profile_free(profile);
	}
	assert_int_equal(flameprof_stop(NULL, PATIENCE_MS), 0);
}

static void marks_that_found_no_room_are_counted(void **state)
{
	struct flameprof_profile *profile = NULL;
	char name[FLAMEPROF_MARK_BYTES];
	uint64_t taken = 0, refused = 0;

	(void)state;
	memset(name, 'm', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	start_often();
	for (int i = 0; i < 1000000 && refused < 3; i++) {
		int error = flameprof_mark(name);

		assert_true(!error || error == -ENOSPC);
		taken += !error;
		refused += error != 0;
	}
	assert_int_equal(refused, 3);
	assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
	assert_int_equal(count_marks(profile, name), taken);
	assert_int_equal(diagnostics().dropped_marks, refused);
	flameprof_profile_free(profile);
	assert_int_equal(flameprof_stop(NULL, PATIENCE_MS), 0);
}

static void marks_beyond_the_profiles_ceiling_are_counted(void **state)
{
	const struct flameprof_options options = {.profile_bytes = 1};
	struct flameprof_profile *profile = NULL;
	uint64_t taken = 0, refused = 0;

	(void)state;
	assert_int_equal(flameprof_start(&options), 0);
	for (int i = 0; i < 20000; i++) {
		int error = flameprof_mark("mark");

		taken += !error;
		refused += error != 0;
		if (i % 500 == 0)
			pause_ms(1);
	}
	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	assert_true(info_of(profile).marks < taken);
	assert_int_equal(info_of(profile).marks + diagnostics().dropped_marks, taken + refused);
	flameprof_profile_free(profile);
}

struct caller {
	pthread_t id;
	struct flameprof_profile *profile;
	int error;
};

static void *call_flush(void *argument)
{
	struct caller *caller = argument;

	caller->error = flameprof_flush(&caller->profile, PATIENCE_MS);
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	uint64_t left = info_of(((const struct caller *)a)->profile).start_ns;
	uint64_t right = info_of(((const struct caller *)b)->profile).start_ns;

	return left < right ? -1 : left > right;
}

/* The profiles of concurrent callers follow each other without gap and without overlap. */
static void several_callers_share_the_time_between_them(void **state)
{
	enum {
		CALLERS = 12
	};
	struct caller callers[CALLERS] = {0};
	uint64_t taken = 0, truth;

	(void)state;
	start_often();
	burn_ms(20);
	for (int i = 0; i < CALLERS; i++)
		pthread_create(&callers[i].id, NULL, call_flush, &callers[i]);
	burn_ms(20);
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(callers[i].id, NULL);
		assert_int_equal(callers[i].error, 0);
	}
	qsort(callers, CALLERS, sizeof(callers[0]), by_start);
	for (int i = 0; i < CALLERS; i++) {
		struct flameprof_profile_summary info = info_of(callers[i].profile);

		assert_in_span(callers[i].profile, 0);
		if (i)
			assert_int_equal(info.start_ns, info_of(callers[i - 1].profile).end_ns);
		taken += info.weight;
	}
	for (int i = 0; i < CALLERS; i++)
		flameprof_profile_free(callers[i].profile);
	session_disarm();
	truth = delivered();
	taken += stop_weight();
	assert_int_equal(taken + dropped_meanwhile(), truth);
}

static void a_flush_that_times_out_takes_nothing(void **state)
{
	struct flameprof_profile *profile = NULL;
	uint64_t truth;

	(void)state;
	start_often();
	burn_ms(20);
	hold_worker_up();
	assert_int_equal(flameprof_flush(&profile, 20), -ETIMEDOUT);
	assert_int_equal(flameprof_flush(&profile, 0), -ETIMEDOUT);
	assert_null(profile);
	pthread_mutex_unlock(&session.counts_lock);
	session_disarm();
	truth = delivered();
	assert_int_equal(flush_weight(), truth);
	assert_true(truth > 20);
	assert_int_equal(stop_weight(), 0);
}

static void reset_throws_away_what_was(void **state)
{
	uint64_t before, truth;

	(void)state;
	start_often();
	burn_ms(20);
	before = delivered();
	assert_int_equal(flameprof_reset(PATIENCE_MS), 0);
	burn_ms(20);
	session_disarm();
	truth = delivered();
	assert_true(stop_weight() <= truth - before);
	assert_true(before > 20);
}

static void without_a_profiler_there_is_nothing_to_flush(void **state)
{
	struct flameprof_profile *profile = NULL;

	(void)state;
	assert_int_equal(flameprof_flush(&profile, 0), -ESRCH);
	assert_int_equal(flameprof_reset(0), -ESRCH);
	assert_int_equal(flameprof_pause(), -ESRCH);
	assert_int_equal(flameprof_mark("nobody"), -ESRCH);
	assert_null(profile);
}

static void what_happens_in_a_pause_is_counted_and_left_out(void **state)
{
	struct flameprof_options options = often;
	struct flameprof_counters counts;
	uint64_t paused, recorded, truth;

	(void)state;
	options.flags = FLAMEPROF_START_PAUSED;
	assert_int_equal(flameprof_start(&options), 0);
	burn_ms(20);
	assert_int_equal(flush_weight(), 0);
	assert_int_equal(flameprof_resume(), 0);
	burn_ms(20);
	assert_int_equal(flameprof_pause(), 0);
	recorded = flush_weight();
	burn_ms(20);
	assert_int_equal(flush_weight(), 0);
	session_disarm();
	truth = delivered();
	assert_int_equal(stop_weight(), 0);
	counts = diagnostics();
	paused = counts.paused_weight;
	assert_true(recorded > 20);
	assert_true(paused > 40);
	assert_int_equal(paused + recorded + dropped_weight(&counts), truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_flush_has_what_was_committed_and_no_more, no_session_left),
		cmocka_unit_test_teardown(
			totals_over_many_flushes_and_stop_are_what_was_delivered, no_session_left),
		cmocka_unit_test_teardown(marks_fall_on_their_side, no_session_left),
		cmocka_unit_test_teardown(marks_that_found_no_room_are_counted, no_session_left),
		cmocka_unit_test_teardown(
			marks_beyond_the_profiles_ceiling_are_counted, no_session_left),
		cmocka_unit_test_teardown(
			several_callers_share_the_time_between_them, no_session_left),
		cmocka_unit_test_teardown(a_flush_that_times_out_takes_nothing, no_session_left),
		cmocka_unit_test_teardown(reset_throws_away_what_was, no_session_left),
		cmocka_unit_test_teardown(
			without_a_profiler_there_is_nothing_to_flush, no_session_left),
		cmocka_unit_test_teardown(
			what_happens_in_a_pause_is_counted_and_left_out, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
