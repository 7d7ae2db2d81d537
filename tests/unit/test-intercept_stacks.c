/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Walk the stack out of a chain of intercept stubs, in the original function and in the innermost
 * stub's tick check: by frame pointers, by flameprof_backtrace() from the caller and from an
 * interrupted pc, and by the unwinding core as the sampling handler uses it.
 * test-publish_unwinders.c and test-publish_libunwind.c use other unwinders.
 */
#include <pthread.h>
#include <signal.h>

#include "tests/unit/stub-chain.h"

#include "tests/unit/own-core.h"

#define ROOM 200

/* The frames of one walk as addresses for flameprof_lookup(), innermost first. */
static uintptr_t pcs[ROOM];
static unsigned count;
/* return address into the caller of call_chain() */
static uintptr_t caller;
static int reached_root;

static __attribute__((noinline)) int call_chain(int (*leaf)(void))
{
	caller = (uintptr_t)__builtin_return_address(0);
	/* Add 1, so that the call is no tail call. */
	return chain_call(leaf) + 1;
}

static int by_frame_pointers(void)
{
	uintptr_t *frame = __builtin_frame_address(0);

	for (count = 0; count < ROOM; frame = (uintptr_t *)frame[0]) {
		pcs[count++] = frame[1] - 1;
		if (frame[1] == caller)
			break;
	}
	return 0;
}

static void take_backtrace(const void *ucontext)
{
	static struct flameprof_backtrace_frame frames[ROOM];

	count = flameprof_backtrace(ucontext, frames, ROOM);
	for (unsigned i = 0; i < count; i++)
		pcs[i] = frames[i].pc;
}

static int by_backtrace(void)
{
	take_backtrace(NULL);
	return 0;
}

static void (*in_handler)(const void *ucontext);

/* Return the stack's bounds, which the sampler knows for each of its threads. */
static struct unwind_bounds own_stack(void)
{
	pthread_attr_t attributes;
	void *start = NULL;
	size_t bytes = 0;

	if (!pthread_getattr_np(pthread_self(), &attributes)) {
		pthread_attr_getstack(&attributes, &start, &bytes);
		pthread_attr_destroy(&attributes);
	}
	return (struct unwind_bounds){(uintptr_t)start, (uintptr_t)start + bytes};
}

static void walk_core(const void *ucontext)
{
	struct unwind_bounds bounds = own_stack();
	struct arch_registers registers;
	struct unwind_window window;
	uint64_t frames[ROOM];

	arch_registers_from_ucontext(&registers, ucontext);
	unwind_window_init(&window, getpid());

	struct unwind_result result = unwind_walk(&registers, &bounds, frames, ROOM, &window);

	count = result.frames;
	reached_root = result.end == WIRE_END_ROOT;
	for (unsigned i = 0; i < count; i++) {
		pcs[i] = WIRE_FRAME_ADDRESS(frames[i]);
		/*
		 * Call-frame information must lead to every frame; none may be found by frame
		 * pointer.
		 */
		reached_root &= !(frames[i] & WIRE_FRAME_BY_FP);
	}
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
	(void)number;
	(void)info;
	in_handler(ucontext);
}

static int by_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, before;

	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	return 0;
}

/*
 * Check that the walk found all stubs in order, each followed by a frame of chain_step(), and then
 * the caller.
 */
static void check(void)
{
	int next = CHAIN - 1;
	unsigned at, callers = 0;

	for (at = 0; at < count; at++) {
		int index = chain_index(pcs[at] + 1);

		callers += pcs[at] == caller - 1;
		if (index < 0)
			continue;
		assert_int_equal(index, next--);
		assert_true(at + 1 < count);
		assert_true(pcs[at + 1] - (uintptr_t)chain_step < 256);
	}
	assert_int_equal(next, -1);
	assert_int_equal(callers, 1);
	count = 0;
}

static void walk_all(void)
{
	call_chain(by_frame_pointers);
	check();
	call_chain(by_backtrace);
	check();
	in_handler = take_backtrace;
	call_chain(by_signal);
	check();
	in_handler = walk_core;
	call_chain(by_signal);
	check();
	assert_true(reached_root);
}

static void test_in_the_original(void **state)
{
	(void)state;
	chain_make_intercepts();
	walk_all();
}

static void test_in_the_check(void **state)
{
	(void)state;
	chain_make_intercepts();
	chain_in_check = by_backtrace;
	walk_all();
	chain_in_check = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_original),
		cmocka_unit_test(test_in_the_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
