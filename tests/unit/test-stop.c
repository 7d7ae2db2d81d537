/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, threads. */
/*
 * End sessions: by flameprof_stop(), at the time limit, and while flushes wait. Then start again.
 */
#include "session-fixture.h"

#include <signal.h>
#include <sys/time.h>

#include "arch/syscall.h"

struct flusher {
	pthread_t id;
	struct flameprof_profile *profile;
	int error;
	uint32_t done; /* atomic */
};

static void *flush_without_limit(void *argument)
{
	struct flusher *flusher = argument;

	flusher->error = flameprof_flush(&flusher->profile, -1);
	__atomic_store_n(&flusher->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The worker thread is kept busy and completes no flush, so only flameprof_stop() can wake the
 * flush.
 */
static void a_stop_wakes_pending_flushes_at_once(void **state)
{
	struct flameprof_profile *profile = NULL;
	struct flusher flusher = {0};
	uint64_t truth, weight;

	(void)state;
	start_often();
	burn_ms(20);
	hold_worker_up();
	pthread_create(&flusher.id, NULL, flush_without_limit, &flusher);
	while (!__atomic_load_n(&session.users, __ATOMIC_ACQUIRE) &&
		!__atomic_load_n(&flusher.done, __ATOMIC_ACQUIRE))
		pause_ms(1);
	pause_ms(20);
	assert_int_equal(__atomic_load_n(&flusher.done, __ATOMIC_ACQUIRE), 0);
	assert_int_equal(flameprof_stop(&profile, 50), -ETIMEDOUT);
	assert_null(profile);
	pthread_join(flusher.id, NULL);
	assert_int_equal(flusher.error, -ECANCELED);
	assert_null(flusher.profile);
	truth = delivered();
	assert_int_equal(flameprof_status(), FLAMEPROF_STOPPING);
	assert_int_equal(flameprof_start(&often), -EBUSY);
	assert_int_equal(flameprof_flush(&profile, 0), -ESRCH);
	pthread_mutex_unlock(&session.counts_lock);
	/* The call of flameprof_stop() that timed out must not have taken samples. */
	weight = stop_weight();
	assert_int_equal(weight + dropped_meanwhile(), truth);
	assert_true(weight > 20);
}

static void *stop_without_limit(void *argument)
{
	struct flusher *stopper = argument;

	stopper->error = flameprof_stop(&stopper->profile, -1);
	return NULL;
}

static void one_thread_stops(void **state)
{
	struct flusher stopper = {0};

	(void)state;
	start_often();
	burn_ms(10);
	hold_worker_up();
	pthread_create(&stopper.id, NULL, stop_without_limit, &stopper);
	await_status(FLAMEPROF_STOPPING);
	assert_int_equal(flameprof_stop(NULL, -1), -EBUSY);
	pthread_mutex_unlock(&session.counts_lock);
	pthread_join(stopper.id, NULL);
	assert_int_equal(stopper.error, 0);
	assert_true(take_weight(stopper.profile) > 0);
	assert_int_equal(flameprof_stop(NULL, -1), -ESRCH);
	assert_int_equal(flameprof_status(), FLAMEPROF_STOPPED);
	assert_int_equal(flameprof_active(), 0);
}

/* The worker thread must not stop the session, because it would wait for itself. */
static void the_worker_can_not_stop(void **state)
{
	int32_t worker;

	(void)state;
	start_often();
	worker = __atomic_exchange_n(&session.worker_tid, gettid(), __ATOMIC_SEQ_CST);
	assert_int_equal(flameprof_stop(NULL, -1), -EDEADLK);
	assert_int_equal(flameprof_reset(-1), -EDEADLK);
	__atomic_store_n(&session.worker_tid, worker, __ATOMIC_SEQ_CST);
	assert_int_equal(flameprof_status(), FLAMEPROF_RUNNING);
	stop_weight();
}

static void a_forgotten_profiler_ends(void **state)
{
	struct flameprof_options options = often;
	struct flameprof_profile *profile = NULL;
	uint64_t begin_ns, truth, weight;

	(void)state;
	/* A thread that runs for a twentieth of this time has a hundred timer expiries. */
	options.max_span_ms = 400;
	begin_ns = now_ns();
	assert_int_equal(flameprof_start(&options), 0);
	while (flameprof_status() == FLAMEPROF_RUNNING)
		assert_true(now_ns() - begin_ns < PATIENCE_MS * 1000000ULL);
	assert_int_equal(flameprof_status(), FLAMEPROF_TIMEOUT);
	assert_true(now_ns() - begin_ns >= 400000000);
	assert_int_equal(flameprof_flush(&profile, 0), -ESRCH);
	assert_int_equal(flameprof_start(&options), -EBUSY);
	while (flameprof_active())
		pause_ms(1);
	truth = delivered();
	burn_ms(20);
	assert_int_equal(delivered(), truth);
	weight = stop_weight();
	assert_int_equal(weight + dropped_meanwhile(), truth);
	assert_true(weight > 100);
}

static void starts_again_a_hundred_times(void **state)
{
	struct flameprof_counters counts;
	struct burner burner;
	uint64_t truth;

	(void)state;
	burner_begin(&burner);
	for (int i = 0; i < 100; i++) {
		struct flameprof_profile *profile = NULL;

		start_often();
		assert_int_equal(flameprof_start(&often), -EBUSY);
		burn_ms(4);
		session_disarm();
		while (!sampler_is_quiet())
			pause_ms(1);
		truth = delivered();
		assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
		/*
		 * The profile may contain no samples of an earlier session. Samples dropped because
		 * rings were full are counted as dropped.
		 */
		counts = diagnostics();
		assert_int_equal(info_of(profile).weight, counts.recorded_weight);
		assert_int_equal(counts.recorded_weight + dropped_weight(&counts), truth);
		flameprof_profile_free(profile);
	}
	burner_end(&burner);
}

/*
 * The kernel checks CPU timers only at its timer tick, so all CPU time of a shorter session is
 * added to the profile at the session's end.
 */
static void what_is_due_at_the_end_is_credited(void **state)
{
	const struct flameprof_options by_cpu = {.rate = 10000};
	uint64_t due = 0, weight = 0;

	(void)state;
	sampler.is_elapsed = 0;
	for (int i = 0; i < 20; i++) {
		uint64_t from_ns, until_ns;

		assert_int_equal(flameprof_start(&by_cpu), 0);
		from_ns = own_cpu_ns();
		do {
			until_ns = own_cpu_ns();
		} while (until_ns - from_ns < 2500000);
		weight += stop_weight();
		due += (until_ns - from_ns) / 100000;
	}
	assert_true(weight >= due - 20);
	sampler.is_elapsed = 1;
}

/* ---- SIGVTALRM ------------------------------------------------------------------------------ */

static uint32_t host_calls; /* atomic */

static void host_handler(int number)
{
	(void)number;
	__atomic_fetch_add(&host_calls, 1, __ATOMIC_RELAXED);
}

/*
 * Send a timer expiry to this thread as the kernel does. @generation counts the claims of the
 * thread's table entry.
 */
static void send_expiry(const struct sampler_thread *thread, uint32_t generation)
{
	siginfo_t info = {.si_signo = SIGVTALRM, .si_code = SI_TIMER};

	info.si_value.sival_ptr =
		(void *)((uintptr_t)thread | (uintptr_t)generation << SAMPLER_COOKIE_BITS);
	assert_int_equal(
		arch_syscall4(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGVTALRM, &info), 0);
}

/*
 * The sampling signal may be blocked for longer than a session and arrive when the thread's table
 * entry was claimed again. It must not be recorded.
 */
static void an_expiry_of_an_earlier_claim_is_not_recorded(void **state)
{
	const struct flameprof_options seldom = {.rate = 1};
	const struct itimerspec never = {{0, 0}, {0, 0}};
	const struct sampler_thread *thread;
	uint64_t before;

	(void)state;
	skip_under_tsan();
	assert_int_equal(flameprof_start(&seldom), 0);
	thread = sampler_thread_self();
	assert_non_null(thread);
	/* Stop the thread's own timer during the test. */
	assert_int_equal(arch_syscall4(SYS_timer_settime, thread->timer, 0, &never, NULL), 0);
	before = delivered();
	send_expiry(thread, thread->generation - 1);
	assert_int_equal(delivered(), before);
	send_expiry(thread, thread->generation);
	assert_int_equal(delivered(), before + 1);
	stop_weight();
	/*
	 * There is no session and no other handler. If the library's handler were gone too, the
	 * signal would kill the program.
	 */
	send_expiry(thread, thread->generation);
}

static void the_programs_own_signal_comes_through(void **state)
{
	struct sigaction before, action = {.sa_handler = host_handler, .sa_flags = SA_RESTART};

	(void)state;
	skip_under_tsan();
	assert_int_equal(sigaction(SIGVTALRM, &action, &before), 0);
	start_often();
	for (int i = 0; i < 20; i++) {
		raise(SIGVTALRM);
		burn_ms(1);
	}
	stop_weight();
	/* The kernel keeps at most one pending SIGVTALRM per kind, so some of the signals merge. */
	assert_in_range(__atomic_load_n(&host_calls, __ATOMIC_RELAXED), 10, 20);
	host_calls = 0;
	raise(SIGVTALRM);
	assert_int_equal(host_calls, 1);
	assert_int_equal(sigaction(SIGVTALRM, &before, NULL), 0);
}

static void another_profiler_is_left_alone(void **state)
{
	const struct itimerval often_enough = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
	struct sigaction before, action = {.sa_handler = host_handler, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM};
	timer_t timer;

	(void)state;
	skip_under_tsan();
	sigaction(SIGVTALRM, &action, &before);
	assert_int_equal(setitimer(ITIMER_VIRTUAL, &often_enough, NULL), 0);
	assert_int_equal(flameprof_start(NULL), -EPERM);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(flameprof_start(NULL), -EPERM);
	timer_delete(timer);
	assert_int_equal(flameprof_start(NULL), 0);
	stop_weight();
	sigaction(SIGVTALRM, &before, NULL);
}

/*
 * Change the handler by a direct system call, as a program does that avoids the library's
 * interposers.
 */
static void a_signal_taken_away_ends_the_session(void **state)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} ignore = {SIG_IGN, 0, NULL, 0}, ours;

	(void)state;
	skip_under_tsan();
	start_often();
	burn_ms(10);
	assert_int_equal(arch_syscall4(SYS_rt_sigaction, SIGVTALRM, &ignore, &ours, 8), 0);
	await_status(FLAMEPROF_SIGNAL_LOST);
	while (flameprof_active())
		pause_ms(1);
	assert_true(stop_weight() > 10);
	assert_int_equal(arch_syscall4(SYS_rt_sigaction, SIGVTALRM, &ours, NULL, 8), 0);
	start_often();
	burn_ms(10);
	assert_true(stop_weight() > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_stop_wakes_pending_flushes_at_once, no_session_left),
		cmocka_unit_test_teardown(one_thread_stops, no_session_left),
		cmocka_unit_test_teardown(the_worker_can_not_stop, no_session_left),
		cmocka_unit_test_teardown(a_forgotten_profiler_ends, no_session_left),
		cmocka_unit_test_teardown(what_is_due_at_the_end_is_credited, no_session_left),
		cmocka_unit_test_teardown(starts_again_a_hundred_times, no_session_left),
		cmocka_unit_test_teardown(
			an_expiry_of_an_earlier_claim_is_not_recorded, no_session_left),
		cmocka_unit_test_teardown(the_programs_own_signal_comes_through, no_session_left),
		cmocka_unit_test_teardown(another_profiler_is_left_alone, no_session_left),
		cmocka_unit_test_teardown(a_signal_taken_away_ends_the_session, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
