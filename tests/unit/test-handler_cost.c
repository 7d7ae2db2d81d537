/* SPDX-License-Identifier: MIT */
/*
 * The time that the sampling handler reports as its own must exclude time in which other threads
 * had the CPU.
 */
#include "tests/unit/session-fixture.h"

#include <sys/syscall.h>

#include "libprof/sampler/clock.h"

#define CALLS	 2000
#define MEASURED_OF 16
#define JUMP_NS	 5000000
/* ns; a handler call that takes longer counts as interrupted by another thread */
#define LONGEST_NS 250000

/* tid of the thread for which each clock reading jumps by JUMP_NS; 0: none. Atomic */
static uint32_t jumping_tid;

/* Replace libc's clock_gettime() in the whole program. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static uint64_t lost_ns;
	long error = syscall(SYS_clock_gettime, clock, ts);
	uint32_t tid = __atomic_load_n(&jumping_tid, __ATOMIC_ACQUIRE);
	uint64_t ns = (uint64_t)ts->tv_nsec;

	if (error || !tid || tid != (uint32_t)syscall(SYS_gettid))
		return (int)error;
	lost_ns += JUMP_NS;
	ns += lost_ns;
	ts->tv_sec += (time_t)(ns / CLOCK_NS_PER_S);
	ts->tv_nsec = (long)(ns % CLOCK_NS_PER_S);
	return 0;
}

static void await_delivered(uint64_t count)
{
	while (delivered() < count)
		pause_ms(1);
}

static void other_threads_time_is_not_the_handlers(void **state)
{
	uint64_t before_ns, calls;
	struct burner burner;

	(void)state;
	skip_under_tsan();
	start_often();
	/* Make the handler call this clock_gettime() although it is not libc's. */
	__atomic_store_n(&clock_asks_kernel, 0, __ATOMIC_RELAXED);
	burner_begin(&burner);
	__atomic_store_n(&jumping_tid, burner.tid, __ATOMIC_RELEASE);
	before_ns = diagnostics().handler_ns;
	calls = delivered();
	await_delivered(calls + CALLS);
	__atomic_store_n(&jumping_tid, 0, __ATOMIC_RELEASE);
	calls = delivered() - calls + MEASURED_OF;
	assert_in_range(diagnostics().handler_ns - before_ns, 0, calls * LONGEST_NS);
	burner_end(&burner);
	stop_weight();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(other_threads_time_is_not_the_handlers, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
