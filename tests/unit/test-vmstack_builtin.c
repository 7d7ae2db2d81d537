/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Test ticks, an intercept stub and recorded stacks together: a builtin that runs longer than a
 * tick gives one sample with the weight of all its ticks. Code that runs after the builtin gets
 * none of them.
 */
#include "tests/unit/vmstack-fixture.h"

#define BUILTIN_MS 55
#define TICK_MS	   (TICK_NS / 1000000)

/* the function that the virtual machine is running, as its own stack would say */
static const char *volatile running;
static uint64_t enabled_ns, ticks_told;

static void record(void *context, uint32_t ticks)
{
	struct flameprof_vm_frame frames[] = {{running, NULL, 0}, {"main chunk", "script.lua", 1}};

	(void)context;
	ticks_told += ticks;
	flameprof_record_vm_stack(frames, 2, ticks);
}

/*
 * Store the number of pending ticks. Callers wait for all ticks, because the timer may be late on a
 * busy machine.
 */
static uint32_t ticks_inside;

/* Wait for the ticks, because the timer may be late on a busy machine. */
static int has_ticked(void)
{
	ticks_inside = __atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_RELAXED);
	return ticks_inside >= BUILTIN_MS / TICK_MS;
}

static uint64_t sleep_builtin(uint64_t argument)
{
	pause_ms(BUILTIN_MS);
	while (!has_ticked())
		pause_ms(1);
	return argument + 1;
}

static uint64_t burn_builtin(uint64_t argument)
{
	burn_ms(BUILTIN_MS);
	while (!has_ticked())
		burn_ms(1);
	return argument + 2;
}

typedef uint64_t builtin(uint64_t argument);

/*
 * Return the weight of the stack of @name in the profile, which has @samples samples; 0 if there is
 * no such stack.
 */
static uint64_t weight_on(
	const struct flameprof_profile *profile, const char *name, uint64_t samples)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; i < info_of(profile).stacks; i++)
		if (!strcmp(frame_at(profile, i, 0).name, name)) {
			assert_int_equal(weight, 0);
			assert_int_equal(stack_at(profile, i).samples, samples);
			weight = stack_at(profile, i).weight;
		}
	return weight;
}

static void check_builtin(builtin *original, uint64_t added)
{
	flameprof_function *plain = (flameprof_function *)original;
	builtin *stub = (builtin *)flameprof_intercept(plain, "slow", NULL);
	struct flameprof_profile *profile;
	uint64_t slow, after;

	assert_ptr_not_equal(stub, original);
	assert_int_equal(flameprof_start(&only_vm), 0);
	running = "before";
	flameprof_interrupt_check();
	running = "slow";
	assert_int_equal(stub(40), 40 + added);
	running = "after";
	flameprof_interrupt_check();
	profile = stop_session();
	slow = weight_on(profile, "slow", 1);
	after = weight_on(profile, "after", 1);
	assert_true(slow >= ticks_inside);
	assert_true(slow + after <= ticks_told);
	/* No tick was reported twice. */
	assert_true(ticks_told <= (now_ns() - enabled_ns) / TICK_NS + 1);
	flameprof_profile_free(profile);
}

static void a_sleeping_builtin_is_one_sample(void **state)
{
	(void)state;
	check_builtin(sleep_builtin, 1);
}

static void a_busy_builtin_is_one_sample(void **state)
{
	(void)state;
	check_builtin(burn_builtin, 2);
}

static int begin_ticks(void **state)
{
	(void)state;
	enabled_ns = now_ns();
	if (flameprof_interrupt_enable(TICK_NS, record, NULL))
		return -1;
	return flameprof_interrupt_register(NULL);
}

static int end_ticks(void **state)
{
	(void)state;
	return flameprof_interrupt_unregister();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_sleeping_builtin_is_one_sample, no_session_left),
		cmocka_unit_test_teardown(a_busy_builtin_is_one_sample, no_session_left),
	};

	return cmocka_run_group_tests(tests, begin_ticks, end_ticks);
}
