/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Compare the unwinding core with libunwind at every instruction of calls into the C library,
 * including prologues, epilogues, PLT stubs, the lazy binder and the vDSO. The trap flag makes the
 * CPU raise SIGTRAP after each instruction; in the handler the kernel clears the flag.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/trap-flag.h"
#include "tests/unit/unwind-oracle.h"

/* only on x86 can user code set the trap flag */
#if defined(REG_EFL)

#define TRAP_FLAG 0x100

static unsigned long steps, limit, differences, incomplete, fp_frames, given_up;
static struct oracle_stack before; /* the core's stack at the step before */

/* A type of libgcc that no header declares. */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/*
 * Returns whether the pc is in padding that no FDE covers. Since 2.41 glibc executes padding
 * between a check and the code behind it. libunwind guesses in padding, so compare the callers with
 * those found one instruction earlier.
 */
static bool is_in_padding(const struct oracle_stack *core)
{
	struct dwarf_eh_bases bases;

	return !_Unwind_Find_FDE((void *)core->pc[0], &bases) && core->frames == before.frames &&
	       !memcmp(core->pc + 1, before.pc + 1, (core->frames - 1) * sizeof(*core->pc));
}

static void on_step(int number, siginfo_t *info, void *argument)
{
	struct oracle_stack core, libunwind = {0};
	ucontext_t *context = argument;

	(void)number;
	(void)info;
	if (++steps >= limit)
		context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	oracle_walk_core(context, &core);
	oracle_walk_libunwind(context, &libunwind);
	if (core.end != WIRE_END_ROOT && incomplete++ < 3)
		oracle_print("incomplete", &core);
	for (unsigned i = 0; i < core.frames; i++)
		fp_frames += core.by_fp[i];

	int difference = oracle_difference(&core, &libunwind);
	bool is_the_same = difference < 0 || (difference == 1 && is_in_padding(&core));

	before = core;
	if (is_the_same)
		return;
	if (core.end == WIRE_END_ROOT && difference == (int)libunwind.frames) {
		given_up++;
		return;
	}
	if (differences++ < 3) {
		oracle_print("core", &core);
		oracle_print("libunwind", &libunwind);
	}
}

static int setup(void **state)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	(void)state;
	oracle_learn_bounds();
	steps = differences = incomplete = fp_frames = given_up = 0;
	limit = 200000;
	return sigaction(SIGTRAP, &action, NULL);
}

/*
 * Check the results of single-stepping. @explained is the number of steps at which libunwind's walk
 * may be incomplete although the core's walk is complete.
 */
static void check_steps_but(unsigned long at_least, unsigned long explained)
{
	assert_in_range(steps, at_least, limit - 1);
	assert_int_equal(differences, 0);
	assert_int_equal(incomplete, 0);
	assert_int_equal(fp_frames, 0);
	assert_in_range(given_up, 0, explained);
}

static void check_steps(unsigned long at_least)
{
	check_steps_but(at_least, 0);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void test_qsort(void **state)
{
	int numbers[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		numbers[i] = i * 7919 % 32;
	trap_flag_set();
	qsort(numbers, 32, sizeof(*numbers), compare);
	trap_flag_clear();
	check_steps(1000);
}

static void test_number_formatting_and_parsing(void **state)
{
	char text[64];
	double value;

	(void)state;
	trap_flag_set();
	snprintf(text, sizeof(text), "%s %.12g %d", "pi", 3.14159265358979, 42);
	value = strtod(text + 3, NULL);
	trap_flag_clear();
	assert_true(value > 3.14 && value < 3.15);
	check_steps(2000);
}

static void test_copying_and_allocating(void **state)
{
	static char from[4096], to[4096];
	char *volatile block;

	(void)state;
	trap_flag_set();
	memcpy(to, from, sizeof(to));
	block = malloc(100);
	memset(block, 1, 100);
	free(block);
	trap_flag_clear();
	check_steps(50);
}

/* The first call of a function goes through its PLT stub into the dynamic linker. */
static void test_lazy_binding(void **state)
{
	(void)state;
	trap_flag_set();
	(void)lrand48();
	trap_flag_clear();
	check_steps(20);
}

static void test_vdso(void **state)
{
	struct timespec now;

	(void)state;
	trap_flag_set();
	clock_gettime(CLOCK_MONOTONIC, &now);
	trap_flag_clear();
	check_steps(20);
}

static jmp_buf escape;
static volatile int stay;

static __attribute__((noinline)) int jump(int depth)
{
	if (depth)
		return jump(depth - 1) + 1;
	if (!stay)
		longjmp(escape, 1);
	return 0;
}

static void test_longjmp(void **state)
{
	(void)state;
	trap_flag_set();
	if (!setjmp(escape))
		jump(3);
	trap_flag_clear();
	check_steps(40);
}

/* The caller's CFA depends on r10 for the first instructions, then on memory. */
static __attribute__((noinline)) int aligned(int count, int a, int b, int c, int d, int e, int f)
{
	volatile char area[64] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca((size_t)count);

	area[0] = (char)(a + b + c + d + e + f);
	more[0] = area[0];
	return area[0] + more[0];
}

static void test_over_aligned_frame(void **state)
{
	(void)state;
	trap_flag_set();
	(void)aligned(100, 1, 2, 3, 4, 5, 6);
	trap_flag_clear();
	/*
	 * gcc's call-frame information is wrong after the leave instruction: it says that rbp is
	 * saved where rbp points.
	 */
	check_steps_but(10, 2);
}

static void on_signal(int number)
{
	(void)number;
}

static void test_signal_delivery_and_return(void **state)
{
	(void)state;
	signal(SIGUSR2, on_signal);
	trap_flag_set();
	raise(SIGUSR2);
	trap_flag_clear();
	check_steps(20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lazy_binding, setup),
		cmocka_unit_test_setup(test_qsort, setup),
		cmocka_unit_test_setup(test_number_formatting_and_parsing, setup),
		cmocka_unit_test_setup(test_copying_and_allocating, setup),
		cmocka_unit_test_setup(test_vdso, setup),
		cmocka_unit_test_setup(test_longjmp, setup),
		cmocka_unit_test_setup(test_over_aligned_frame, setup),
		cmocka_unit_test_setup(test_signal_delivery_and_return, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
