/* SPDX-License-Identifier: MIT */
/* Test the stacks on which walks run: which call gets one, and their state in a fork child. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/walk_stack.h"

static int calls;
static uintptr_t used_at;

static void note(void *argument)
{
	calls++;
	used_at = (uintptr_t)__builtin_frame_address(0);
	assert_ptr_equal(argument, &calls);
	assert_int_equal(used_at % 16, 0);
}

static void without_stacks_nothing_is_called(void **state)
{
	(void)state;
	calls = 0;
	assert_int_equal(walk_stack_call(note, &calls), -EAGAIN);
	assert_int_equal(calls, 0);
}

static void a_call_is_on_another_stack(void **state)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)state;
	calls = 0;
	walk_stack_provide(1);
	assert_int_equal(walk_stack_call(note, &calls), 0);
	assert_int_equal(calls, 1);
	assert_true(used_at + 65536 < here || used_at > here + 65536);
}

static void call_again(void *argument)
{
	*(int *)argument = walk_stack_call(note, &calls);
}

/* A stack is free again after the call has left it, and not before. */
static void one_stack_is_for_one_call(void **state)
{
	int result = 0;

	(void)state;
	calls = 0;
	assert_int_equal(walk_stack_call(call_again, &result), 0);
	assert_int_equal(result, -EAGAIN);
	assert_int_equal(walk_stack_call(call_again, &result), 0);
	assert_int_equal(calls, 0);
	walk_stack_provide(2);
	assert_int_equal(walk_stack_call(call_again, &result), 0);
	assert_int_equal(result, 0);
	assert_int_equal(calls, 1);
}

static int pipe_in[2], pipe_out[2];

static void stay_inside(void *argument)
{
	char byte = 0;

	(void)argument;
	if (write(pipe_in[1], &byte, 1) == 1 && read(pipe_out[0], &byte, 1) == 1)
		calls++;
}

static void *hold_a_stack(void *argument)
{
	walk_stack_call(stay_inside, argument);
	return argument;
}

/* Stacks that other threads of the parent use are free in the child. */
static void a_fork_child_has_all(void **state)
{
	int status = -1, inner = -1;
	pthread_t threads[2];
	char byte = 0;
	pid_t child;

	(void)state;
	calls = 0;
	assert_int_equal(pipe(pipe_in) | pipe(pipe_out), 0);
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, hold_a_stack, NULL);
		assert_int_equal(read(pipe_in[0], &byte, 1), 1);
	}
	assert_int_equal(walk_stack_call(note, &calls), -EAGAIN);
	child = fork();
	if (!child) {
		walk_stack_reset();
		_exit(walk_stack_call(call_again, &inner) || inner ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(write(pipe_out[1], "..", 2), 2);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(calls, 2);
}

#define THREADS 8
#define ROUNDS	20000

static uint32_t inside, alone; /* atomic */

/*
 * Check that a variable on the stack keeps this thread's value. If two threads used one stack, one
 * would overwrite the other's value.
 */
static void stay(void *argument)
{
	volatile uintptr_t mine[64];

	__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 64; i++)
		mine[i] = (uintptr_t)argument;
	for (int i = 0; i < 64; i++)
		if (mine[i] != (uintptr_t)argument)
			__atomic_fetch_add(&alone, 1, __ATOMIC_RELAXED);
}

static void *call_often(void *argument)
{
	for (int i = 0; i < ROUNDS; i++)
		walk_stack_call(stay, argument);
	return NULL;
}

static void no_two_threads_have_one(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_often, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(inside > ROUNDS);
	assert_int_equal(alone, 0);
}

/* No signal may be delivered on the stack for walks, not even the two signals that libc uses. */
static void the_handler_blocks_all(void **state)
{
	struct kernel_action action = {0};

	(void)state;
	assert_int_equal(own_signal_install(), 0);
	assert_int_equal(syscall(SYS_rt_sigaction, sampler_signal(), NULL, &action, 8), 0);
	assert_int_equal(action.handler, (uintptr_t)sampler_handler);
	assert_true((action.flags & (SA_ONSTACK | SA_SIGINFO)) == (SA_ONSTACK | SA_SIGINFO));
	/* The kernel removes SIGKILL and SIGSTOP from any mask. */
	assert_true(action.mask == (~0ULL & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_stacks_nothing_is_called),
		cmocka_unit_test(a_call_is_on_another_stack),
		cmocka_unit_test(one_stack_is_for_one_call),
		cmocka_unit_test(a_fork_child_has_all),
		cmocka_unit_test(no_two_threads_have_one),
		cmocka_unit_test(the_handler_blocks_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
