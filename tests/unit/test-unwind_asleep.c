/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * At every instruction of functions with frame pointers and of the C library, compare a walk that
 * knows only pc and sp with a walk that knows all registers. Both must be equal, or the first must
 * report that it is incomplete.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "no-omit-frame-pointer", "no-optimize-sibling-calls")
#endif

#include <alloca.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#define UNWIND_PARTIAL 1
#include "tests/unit/trap-flag.h"
#include "tests/unit/unwind-oracle.h"

#define OPAQUE __attribute__((noinline))

static unsigned long steps, differences, complete, wrong_ends;
static volatile int sink, always = 1;

static struct unwind_result walk_known(
	const struct arch_registers *registers, uint64_t known, uint64_t *frames)
{
	struct unwind_window window;

	unwind_window_init(&window, getpid());
	return unwind_walk_known(registers, known, &oracle_bounds, frames, ORACLE_FRAMES, &window);
}

/*
 * Walk from all registers @all, then from pc and sp only, with wrong values in the other registers.
 * Compare both.
 */
static void compare_walks(const struct arch_registers *all)
{
	static uint64_t whole[ORACLE_FRAMES], partial[ORACLE_FRAMES];
	struct arch_registers few;
	struct unwind_result expected, result;

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		few.r[reg] = all->r[ARCH_DWARF_SP] + 64;
	few.r[ARCH_DWARF_PC] = all->r[ARCH_DWARF_PC];
	few.r[ARCH_DWARF_SP] = all->r[ARCH_DWARF_SP];
	expected = walk_known(all, ~0ULL, whole);
	result = walk_known(&few, 1ULL << ARCH_DWARF_PC | 1ULL << ARCH_DWARF_SP, partial);
	steps++;
	complete += result.frames == expected.frames && result.end == expected.end;
	differences += result.frames > expected.frames ||
		       memcmp(whole, partial, result.frames * sizeof(partial[0]));
	wrong_ends += result.end != expected.end && result.end != WIRE_END_LOST;
	wrong_ends += result.frames < expected.frames && result.end == WIRE_END_ROOT;
}

static int setup(void **state)
{
	(void)state;
	oracle_learn_bounds();
	steps = differences = complete = wrong_ends = 0;
	memset(&unwind_depths, 0, sizeof(unwind_depths));
	return 0;
}

/* Check that @percent of the walks were complete. qsort(3) itself has a frame of variable size. */
static void check_walks(unsigned long at_least, unsigned percent)
{
	if (getenv("TEST_VERBOSE"))
		print_message("%lu walks, %lu complete\n", steps, complete);
	assert_true(steps >= at_least);
	assert_int_equal(differences, 0);
	assert_int_equal(wrong_ends, 0);
	assert_in_range(complete * 100, steps * percent, steps * 100);
}

/* ---- shapes of frames ------------------------------------------------------------------------ */

static OPAQUE int add_up(int a, int b, int c, int d, int e, int f, int g, int h, long i)
{
	return a + b + c + d + e + f + g + h + (int)i;
}

static int ascending(const void *a, const void *b)
{
	return add_up(1, 2, 3, 4, 5, 6, 7, *(const int *)a, -*(const int *)b - 28);
}

static OPAQUE int sorting(int count)
{
	int numbers[64];

	for (int i = 0; i < count; i++)
		numbers[i] = i * 7919 % count;
	qsort(numbers, (size_t)count, sizeof(numbers[0]), ascending);
	return numbers[0];
}

static OPAQUE int switching(int which)
{
	struct pollfd none = {-1, 0, 0};
	const struct timespec no_time = {0, 0};
	volatile char room[3000];

	room[which] = 0;
	switch (which) {
	case 0:
		return poll(&none, 1, 0);
	case 1:
		sink = add_up(1, which, 3, 4, 5, 6, 7, 8, poll(&none, 1, 0));
		return sorting(4);
	case 2:
		return (int)syscall(SYS_ppoll, &none, 1L, &no_time, NULL, 8L, (long)which);
	case 3:
		sink = 5;
		return sorting(2) + room[3];
	case 4:
		if (sink == -1)
			abort();
		return getppid();
	default:
		return add_up(1, 2, 3, 4, 5, 6, sink ? sorting(3) : which, 8, 9);
	}
}

static OPAQUE int aligned(int which)
{
	volatile char area[64] __attribute__((aligned(64)));

	area[which] = 1;
	return switching(which) + area[which];
}

static OPAQUE int dynamic(int which)
{
	volatile char *area = alloca((size_t)which * 8 + 8);

	area[which] = 1;
	return switching(which) + area[which];
}

static OPAQUE int perhaps_dynamic(int which)
{
	volatile char *area = NULL;

	if (!always)
		area = alloca((size_t)which * 8 + 8);
	return switching(which) + (area ? area[which] : 0);
}

static int all_of(int (*shape)(int))
{
	int sum = 0;

	for (int which = 0; which < 7; which++)
		sum += shape(which);
	return sum;
}

/* only on x86 can user code set the trap flag */
#if defined(REG_EFL)

static void on_step(int number, siginfo_t *info, void *context)
{
	struct arch_registers registers;

	(void)number, (void)info;
	arch_registers_from_ucontext(&registers, context);
	compare_walks(&registers);
}

static void step_through(int (*shape)(int), unsigned long at_least, unsigned percent)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	trap_flag_set();
	sink = all_of(shape);
	trap_flag_clear();
	check_walks(at_least, percent);
}

#else

/* Without a trap flag, walk only from the comparison function to its callers. */
static void step_through(int (*shape)(int), unsigned long at_least, unsigned percent)
{
	(void)shape, (void)at_least, (void)percent;
	skip();
}

#endif

static void test_plain_frames(void **state)
{
	(void)state;
	step_through(switching, 1500, 90);
}

static void test_aligned_frames(void **state)
{
	(void)state;
	step_through(aligned, 1500, 85);
}

/* The size of these frames is unknown if the callee has not saved the frame pointer. */
static void test_dynamic_frames(void **state)
{
	(void)state;
	step_through(dynamic, 1500, 80);
}

static void test_frames_that_may_be_dynamic(void **state)
{
	(void)state;
	step_through(perhaps_dynamic, 1500, 80);
}

/* ---- where a system call is ------------------------------------------------------------------ */

static void on_call(int number, siginfo_t *info, void *context)
{
	struct arch_registers registers;

	(void)number, (void)info;
	arch_registers_from_ucontext(&registers, context);
	compare_walks(&registers);
}

static OPAQUE int calling(int which)
{
	volatile char room[500];

	room[which] = 1;
	if (which & 1)
		raise(SIGUSR1);
	else
		syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)SIGUSR1, 0L, 0L, 0L);
	return room[which];
}

static void test_system_calls(void **state)
{
	struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	sink = all_of(calling);
	/* syscall(2) may keep its return address in a register, which is unknown to the walk. */
	check_walks(7, ARCH_DWARF_RA == ARCH_DWARF_PC ? 100 : 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plain_frames, setup),
		cmocka_unit_test_setup(test_aligned_frames, setup),
		cmocka_unit_test_setup(test_dynamic_frames, setup),
		cmocka_unit_test_setup(test_frames_that_may_be_dynamic, setup),
		cmocka_unit_test_setup(test_system_calls, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
