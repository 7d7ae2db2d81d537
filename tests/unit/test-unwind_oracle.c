/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Walk in this process with the unwinding core and with libunwind from the same ucontext, through
 * code that unwinders often get wrong, and compare the walks. Each function ends in here(), which
 * raises a signal.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")
#endif

#include <alloca.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/unwind-oracle.h"

#define OPAQUE __attribute__((noinline))

static struct oracle_stack core, libunwind;
static unsigned walks;

static void on_walk(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	walks++;
	oracle_walk_core(context, &core);
	oracle_walk_libunwind(context, &libunwind);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static OPAQUE void here(void)
{
	raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

/*
 * Check that there was exactly one complete walk since the last check, and that at least @frames
 * frames are equal.
 */
static void check_walk(unsigned frames)
{
	int difference = oracle_difference(&core, &libunwind);

	if (difference >= 0 || core.end != WIRE_END_ROOT || core.frames < frames) {
		oracle_print("core", &core);
		oracle_print("libunwind", &libunwind);
	}
	assert_int_equal(walks, 1);
	walks = 0;
	assert_int_equal(difference, -1);
	assert_int_equal(core.end, WIRE_END_ROOT);
	assert_true(core.frames >= frames);
}

static int setup(void **state)
{
	(void)state;
	walks = 0;
	oracle_learn_bounds();
	handle(SIGUSR1, on_walk, SA_RESTART);
	return 0;
}

static OPAQUE int nested(int depth)
{
	volatile char local[64] = {(char)depth};

	if (depth)
		return nested(depth - 1) + local[0];
	here();
	return local[0];
}

static void test_recursion_without_frame_pointers(void **state)
{
	(void)state;
	nested(40);
	check_walk(43);
}

static int compare(const void *a, const void *b)
{
	if (!walks)
		here();
	return *(const int *)a - *(const int *)b;
}

static void test_callback_of_qsort(void **state)
{
	int numbers[] = {3, 1, 2};

	(void)state;
	qsort(numbers, 3, sizeof(*numbers), compare);
	check_walk(7);
}

static void *thread_main(void *argument)
{
	oracle_learn_bounds();
	nested(3);
	return argument;
}

static void test_thread_ends_at_its_start(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	pthread_join(thread, NULL);
	check_walk(6);
}

static void on_outer(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	nested(2);
}

static uintptr_t trampoline;

static void on_probe(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	trampoline = (uintptr_t)__builtin_return_address(0);
}

/* Under qemu-user, handlers return to code of qemu that is in no module, which no kernel does. */
static void skip_without_trampolines(void)
{
	struct unwind_module module;

	handle(SIGUSR2, on_probe, 0);
	raise(SIGUSR2);
	assert_int_not_equal(trampoline, 0);
	if (unwind_find_object(trampoline, &module, NULL))
		skip();
}

static void test_signal_frame_in_the_middle(void **state)
{
	(void)state;
	skip_without_trampolines();
	handle(SIGUSR2, on_outer, 0);
	raise(SIGUSR2);
	check_walk(8);
}

static void test_alternate_stack_in_the_middle(void **state)
{
	static char stack_bytes[64 << 10];
	stack_t stack = {.ss_sp = stack_bytes, .ss_size = sizeof(stack_bytes)};
	struct unwind_window window;
	uintptr_t word;

	(void)state;
	skip_without_trampolines();
	/*
	 * If no stack bounds are known, each word is read by a system call, which containers may
	 * refuse.
	 */
	unwind_window_init(&window, getpid());
	if (unwind_window_read(&window, (uintptr_t)stack_bytes, &word))
		skip();
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	handle(SIGUSR2, on_outer, SA_ONSTACK);
	raise(SIGUSR2);
	stack.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	check_walk(8);
}

static OPAQUE __attribute__((no_sanitize("address", "undefined"))) int faulting(
	volatile int *address)
{
	return *address + 1;
}

static sigjmp_buf after_fault;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	here();
	siglongjmp(after_fault, 1);
}

static void test_first_instruction_of_a_leaf_interrupted(void **state)
{
	(void)state;
	int *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	skip_without_trampolines();
	assert_ptr_not_equal(page, MAP_FAILED);
	handle(SIGSEGV, on_fault, 0);
	if (!sigsetjmp(after_fault, 1))
		faulting(page);
	signal(SIGSEGV, SIG_DFL);
	munmap(page, 4096);
	check_walk(6);

	/*
	 * Expected frames: here, on_fault, the trampoline, then the exact pc of the first
	 * instruction.
	 */
	bool found = false;

	for (unsigned i = 0; i < core.frames; i++)
		found |= core.pc[i] - (uintptr_t)faulting < 16;
	assert_true(found);
}

static jmp_buf after_noreturn;

static OPAQUE __attribute__((noreturn)) void leave(int value)
{
	here();
	longjmp(after_noreturn, value);
}

/*
 * The call is this function's last instruction, so its return address belongs to the next function.
 */
static OPAQUE __attribute__((noreturn)) void ends_in_a_call(int value)
{
	leave(value + 1);
}

static void test_call_at_the_end_of_a_function(void **state)
{
	(void)state;
	if (!setjmp(after_noreturn))
		ends_in_a_call(1);
	check_walk(5);

	bool found = false;

	for (unsigned i = 0; i < core.frames; i++)
		found |= core.pc[i] >= (uintptr_t)ends_in_a_call &&
			 core.pc[i] < (uintptr_t)ends_in_a_call + 32;
	assert_true(found);
}

static OPAQUE int allocating(size_t bytes)
{
	volatile char *area = alloca(bytes);

	area[0] = 1;
	area[bytes - 1] = 1;
	here();
	return area[0];
}

static void test_alloca(void **state)
{
	(void)state;
	allocating(1000);
	check_walk(4);
}

/* Alignment and a variable size together make gcc keep the CFA in memory. */
static OPAQUE int aligned(size_t bytes, int a, int b, int c, int d, int e, int f, int g)
{
	volatile char area[96] __attribute__((aligned(64)));
	volatile char *more = alloca(bytes);

	area[0] = (char)(a + b + c + d + e + f + g);
	more[0] = area[0];
	assert_int_equal((uintptr_t)area % 64, 0);
	nested(1);
	return area[0] + more[0];
}

static void test_over_aligned_frame(void **state)
{
	(void)state;
	aligned(100, 1, 2, 3, 4, 5, 6, 7);
	check_walk(6);
}

static OPAQUE int aligned_only(int a)
{
	volatile char area[96] __attribute__((aligned(64)));

	area[0] = (char)a;
	nested(1);
	return area[0];
}

static void test_over_aligned_frame_of_fixed_size(void **state)
{
	(void)state;
	aligned_only(1);
	check_walk(6);
}

static OPAQUE int large(int value)
{
	volatile char area[600 << 10];

	area[0] = (char)value;
	area[sizeof(area) - 1] = area[0];
	here();
	return area[0];
}

static void test_large_frame(void **state)
{
	(void)state;
	large(1);
	check_walk(4);
}

static int from_bsearch(const void *key, const void *member)
{
	(void)key;
	(void)member;
	allocating(10);
	return 0;
}

static void *deeper_thread(void *argument)
{
	int one = 1;

	oracle_learn_bounds();
	return bsearch(&one, &one, 1, sizeof(one), from_bsearch) ? argument : NULL;
}

static void test_everything_in_a_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, deeper_thread, NULL), 0);
	pthread_join(thread, NULL);
	check_walk(7);
}

static void test_same_answer_from_the_cache(void **state)
{
	struct oracle_stack cold;

	(void)state;
	memset(&unwind_rowcache, 0, sizeof(unwind_rowcache));
	aligned(100, 1, 2, 3, 4, 5, 6, 7);
	check_walk(6);
	cold = core;
	aligned(100, 1, 2, 3, 4, 5, 6, 7);
	check_walk(6);
	/*
	 * The first six frames are equal: raise (two), here, nested (two), aligned. The next frame
	 * is this function, at two different calls.
	 */
	assert_memory_equal(cold.pc, core.pc, 6 * sizeof(*core.pc));
	assert_int_equal(cold.frames, core.frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_recursion_without_frame_pointers, setup),
		cmocka_unit_test_setup(test_callback_of_qsort, setup),
		cmocka_unit_test_setup(test_thread_ends_at_its_start, setup),
		cmocka_unit_test_setup(test_signal_frame_in_the_middle, setup),
		cmocka_unit_test_setup(test_alternate_stack_in_the_middle, setup),
		cmocka_unit_test_setup(test_first_instruction_of_a_leaf_interrupted, setup),
		cmocka_unit_test_setup(test_call_at_the_end_of_a_function, setup),
		cmocka_unit_test_setup(test_alloca, setup),
		cmocka_unit_test_setup(test_over_aligned_frame, setup),
		cmocka_unit_test_setup(test_over_aligned_frame_of_fixed_size, setup),
		cmocka_unit_test_setup(test_large_frame, setup),
		cmocka_unit_test_setup(test_everything_in_a_thread, setup),
		cmocka_unit_test_setup(test_same_answer_from_the_cache, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
