/* SPDX-License-Identifier: MIT */
/*
 * For tests of intercept stubs: an interrupt function of the host, which counts its calls and runs
 * a test's code; and raise_ticks(), by which a test raises ticks itself.
 */
#ifndef TESTS_UNIT_INTERCEPT_FIXTURE_H
#define TESTS_UNIT_INTERCEPT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/flameprof_vm.h"

static unsigned checks;		  /* calls of the host's function */
static uint32_t checked_ticks;	  /* the sum of their ticks */
/* code that on_interrupt() runs; NULL for none */
static void (*in_check)(void);

static void on_interrupt(void *context, uint32_t ticks)
{
	assert_ptr_equal(context, &checks);
	checks++;
	checked_ticks += ticks;
	if (in_check)
		in_check();
}

/*
 * Raise ticks as the timer thread does. The timer itself raises none, because no thread is
 * registered.
 */
static inline void raise_ticks(uint32_t ticks)
{
	flameprof_interrupt_ticks += ticks;
}

static inline void fixture_begin(void (*function)(void))
{
	static int enabled;

	if (!enabled++)
		assert_int_equal(flameprof_interrupt_enable(10000000000, on_interrupt, &checks), 0);
	in_check = function;
	checks = checked_ticks = 0;
	flameprof_interrupt_ticks = 0;
}

/* Return the intercept stub of @original. Skips the test if this system allows no stubs. */
static inline flameprof_function *fixture_stub(
	flameprof_function *original, const char *name, unsigned stack_words)
{
	struct flameprof_signature signature = {.stack_words = stack_words};
	flameprof_function *stub = flameprof_intercept(original, name, &signature);

	if (flameprof_intercept_status() == FLAMEPROF_STUBS_DENIED)
		skip();
	assert_int_equal(flameprof_intercept_status(), FLAMEPROF_STUBS_WORK);
	assert_ptr_not_equal(stub, original);
	return stub;
}

#endif
