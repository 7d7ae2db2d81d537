/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* A builtin runs for 55 ms while ticks have a period of 10 ms. One check must get all its ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "libprof/flameprof_vm.h"

#define PERIOD_NS  10000000ull
#define BUILTIN_NS 55000000ull
#define TICKS	   5u
#define ROOM	   100

static unsigned checks;
static uint32_t ticks_last;
static uint64_t ticks_all;
static unsigned char flag;
static char builtin_name[32]; /* name of the innermost stub on the check's stack */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void on_interrupt(void *context, uint32_t ticks)
{
	struct flameprof_backtrace_frame frames[ROOM];
	unsigned count = flameprof_backtrace(NULL, frames, ROOM);

	(void)context;
	checks++;
	ticks_last = ticks;
	ticks_all += ticks;
	flag = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!frames[i].is_code)
			continue;
		strncpy(builtin_name, frames[i].code.name, sizeof(builtin_name) - 1);
		break;
	}
}

static __attribute__((noinline)) uint64_t sort(uint64_t a)
{
	uint64_t end = now_ns() + BUILTIN_NS;

	/* Wait for the ticks, because the timer may be late on a busy machine. */
	while (now_ns() < end || flameprof_interrupt_ticks < TICKS)
		;
	return a + 1;
}

static void test_a_long_builtin_is_one_check(void **state)
{
	uint64_t (*stub)(uint64_t) = (__typeof__(stub))flameprof_intercept(
		(flameprof_function *)sort, "table.sort", NULL);
	uint64_t start = now_ns();

	(void)state;
	if (flameprof_intercept_status() == FLAMEPROF_STUBS_DENIED)
		skip();
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, on_interrupt, NULL), 0);
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	for (unsigned i = 1; i <= 10; i++) {
		/* Drop ticks that occurred before this builtin. */
		flameprof_interrupt_check();
		checks = 0;
		assert_int_equal(stub(i), i + 1);
		assert_int_equal(checks, 1);
		assert_true(ticks_last >= TICKS);
		assert_string_equal(builtin_name, "table.sort");
	}
	/* No period is counted twice. */
	assert_in_range(ticks_all, 10 * TICKS, (now_ns() - start) / PERIOD_NS + 1);
	flameprof_interrupt_unregister();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_long_builtin_is_one_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
