/* SPDX-License-Identifier: MIT */
/* The sampler of a fork child starts without unfinished work of the parent's threads. */
#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/aggregate-fixture.h"

#include "libprof/sampler/confined.h"
#include "libprof/sampler/sampler.h"

static int set_up(void **state)
{
	memset(&sampler, 0, sizeof(sampler));
	memset(sampler_threads, 0, sizeof(sampler_threads));
	sampler.period_ns = 5000000;
	*state = aggregate_arena();
	assert_int_equal(sampler_start(*state, 0, "a program"), 0);
	return 0;
}

static int tear_down(void **state)
{
	memset(&sampler, 0, sizeof(sampler));
	free(*state);
	return 0;
}

/*
 * While a thread begins or ends, it uses a table entry that is in no list. This thread does not
 * exist in a fork child, so the child must release the entry itself.
 */
static void entries_are_nobodys(void **state)
{
	struct sampler_thread *beginning = sampler_thread_try_claim();
	struct sampler_thread *ending = sampler_thread_try_claim();
	struct sampler_thread *sampled = sampler_thread_try_claim();
	const struct wire_ring *rings[] = {beginning->ring, sampled->ring};

	thread_ref(beginning);
	thread_ref(ending);
	sampler_thread_release(ending);
	thread_ref(sampled);
	sampled->active = 1;
	thread_mark_ring(thread_index(sampled), 1);
	assert_int_equal(sampler_is_quiet(), 0);
	sampler_reset_in_child();
	assert_int_equal(sampler_is_quiet(), 1);
	assert_int_equal(sampled->active, 0);
	assert_null(sampler_thread_find(sampled->tid));
	assert_int_equal(sampler_start(*state, sampler.image, NULL), 0);
	assert_int_equal(sampler.period_ns, 5000000);
	/* The parent still uses its rings in the arena, so the child must claim other rings. */
	for (int i = 0; i < 8; i++) {
		struct sampler_thread *claimed = sampler_thread_try_claim();

		assert_non_null(claimed);
		assert_ptr_not_equal(claimed->ring, rings[0]);
		assert_ptr_not_equal(claimed->ring, rings[1]);
	}
}

/*
 * The first threads use the first entries of the table, because each process writes to these pages
 * anyway.
 */
static void first_threads_have_the_first_entries(void **state)
{
	struct wire_arena *arena = *state;

	arena->rings_hint = WIRE_RINGS - 1;
	sampler_reset_in_child();
	assert_int_equal(sampler_start(arena, sampler.image, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct sampler_thread *thread = sampler_thread_try_claim();
		unsigned ring = (WIRE_RINGS - 1 + i) % WIRE_RINGS;

		assert_ptr_equal(thread, &sampler_threads[i]);
		assert_ptr_equal(thread->ring, wire_ring(arena, ring));
		assert_int_equal(thread_index(thread), ring);
		assert_ptr_equal(sampler_thread_at(ring), thread);
	}
}

/* Deliver 64 sampling signals, so that checks that are made only every few samples are made too. */
static void samples(const struct sampler_thread *thread)
{
	uintptr_t cookie = (uintptr_t)thread | (uintptr_t)thread->generation << SAMPLER_COOKIE_BITS;
	siginfo_t info = {.si_code = SI_TIMER};
	ucontext_t context;

	info.si_value.sival_ptr = (void *)cookie;
	assert_int_equal(getcontext(&context), 0);
	for (int i = 0; i < 64; i++)
		sampler_handler(sampler_signal(), &info, &context);
}

/*
 * A sampling signal that arrives while sampling ends must not mark the process as forbidding
 * sampling.
 */
static void ends_are_not_forbidden_by_samples(void **state)
{
	struct sampler_thread *thread = sampler_thread_try_claim();

	(void)state;
	thread->tid = (int32_t)syscall(SYS_gettid);
	thread->active = 1;
	sampler.quit = 1;
	samples(thread);
	assert_true(thread->delivered >= 64);
	assert_int_equal(sampler.forbidden, 0);
	sampler.slot->has_unseen = 1;
	samples(thread);
	assert_int_equal(sampler.forbidden, CONFINED_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_are_nobodys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			first_threads_have_the_first_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			ends_are_not_forbidden_by_samples, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
