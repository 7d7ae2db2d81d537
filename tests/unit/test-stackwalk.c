/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, emulated. */
/*
 * Walk the stack of a stopped child from outside, at a known depth. Our core and libunwind must
 * find equal frames, and as many as the child made.
 */
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/ptrace.h"
#include "cli/outside/stackwalk.h"

#define DEPTH 30u

static __attribute__((noinline)) unsigned descend(unsigned depth)
{
	unsigned result;

	if (!depth) {
		kill(getpid(), SIGSTOP);
		return 1;
	}
	result = descend(depth - 1);
	__asm__ volatile("" ::: "memory");
	return result + 1;
}

struct fixture {
	pid_t child;
	struct target *target;
	struct target_shared shared;
	struct pipe_writer pipe_writer;
	struct memory memory;
	struct arch_registers registers;
	uint64_t ours[WIRE_MAX_DEPTH], theirs[WIRE_MAX_DEPTH];
};

/* Start a child and stop it. Returns -1 if the child cannot be traced, as under qemu-user. */
static int stop_child(struct fixture *fixture)
{
	uint64_t regset[ARCH_REGSET_BYTES / 8];
	struct iovec iov = {.iov_base = regset, .iov_len = sizeof(regset)};
	int status;

	fixture->child = fork();
	if (!fixture->child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		_exit(descend(DEPTH) != DEPTH + 1);
	}
	if (waitpid(fixture->child, &status, 0) != fixture->child || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_GETREGSET, fixture->child, (void *)NT_PRSTATUS, &iov))
		return -1;
	assert_int_equal(iov.iov_len, ARCH_REGSET_BYTES);
	arch_registers_from_regset(&fixture->registers, regset);
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (stop_child(fixture)) {
		fixture->child = 0;
		return 0;
	}
	fixture->pipe_writer.descriptor = -1;
	fixture->shared.pipe_writer = &fixture->pipe_writer;
	fixture->target = target_new(fixture->child);
	target_announce(fixture->target, &fixture->shared, 0, 0);
	target_remap(fixture->target, &fixture->shared);
	memory_begin(&fixture->memory, fixture->child);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->child) {
		kill(fixture->child, SIGKILL);
		waitpid(fixture->child, NULL, 0);
	}
	target_free(fixture->target);
	objects_release(&fixture->shared.objects);
	pipe_writer_release(&fixture->pipe_writer);
	free(fixture);
	return 0;
}

static struct stackwalk walk_of(struct fixture *fixture)
{
	return (struct stackwalk){.target = fixture->target,
		.shared = &fixture->shared,
		.memory = &fixture->memory};
}

/* Return the number of frames that are in descend(). */
static unsigned count_descends(struct fixture *fixture, const uint64_t *frames, unsigned count)
{
	struct unwind_module module;
	uintptr_t begin = (uintptr_t)descend, end = begin + 256;
	unsigned found = 0;

	assert_int_equal(
		target_find(fixture->target, &fixture->shared, begin, &module, NULL), 0);
	for (unsigned i = 0; i < count; i++) {
		uintptr_t address = WIRE_FRAME_ADDRESS(frames[i]) + module.bias;

		if (WIRE_FRAME_MODULE(frames[i]) == module.number && address >= begin &&
			address < end && address < (uintptr_t)stop_child)
			found++;
	}
	return found;
}

static void test_the_stack_that_was_made(void **state)
{
	struct fixture *fixture = *state;
	struct stackwalk walk = walk_of(fixture);
	struct unwind_result result;

	if (!fixture->child)
		skip();
	result = stackwalk_run(&walk, &fixture->registers, fixture->ours);
	assert_int_equal(result.end, WIRE_END_ROOT);
	assert_int_equal(count_descends(fixture, fixture->ours, result.frames), DEPTH + 1);
}

static void test_libunwind_agrees(void **state)
{
	struct fixture *fixture = *state;
	struct stackwalk walk = walk_of(fixture);
	struct unwind_result ours, theirs;

	if (!fixture->child)
		skip();
	ours = stackwalk_run(&walk, &fixture->registers, fixture->ours);
	theirs = fallback_run(&walk, &fixture->registers, fixture->theirs);
	assert_int_equal(theirs.end, WIRE_END_ROOT);
	assert_int_equal(ours.frames, theirs.frames);
	for (unsigned i = 0; i < ours.frames; i++)
		assert_int_equal(fixture->ours[i], fixture->theirs[i]);
}

/* If the stack pointer leads nowhere, the walk ends without a fault. */
static void test_registers_that_lie(void **state)
{
	struct fixture *fixture = *state;
	struct stackwalk walk = walk_of(fixture);
	struct unwind_result result;

	if (!fixture->child)
		skip();
	fixture->registers.r[ARCH_DWARF_SP] = 64;
	result = stackwalk_run(&walk, &fixture->registers, fixture->ours);
	assert_int_equal(result.frames, 1);
	assert_int_not_equal(result.end, WIRE_END_ROOT);
	result = fallback_run(&walk, &fixture->registers, fixture->theirs);
	assert_int_equal(result.frames, 0);
	fixture->registers.r[ARCH_DWARF_PC] = 12345;
	result = stackwalk_run(&walk, &fixture->registers, fixture->ours);
	assert_int_equal(result.frames, 1);
	assert_int_equal(WIRE_FRAME_MODULE(fixture->ours[0]), WIRE_MODULE_NONE);
	assert_int_equal(
		fallback_run(&walk, &fixture->registers, fixture->theirs).frames, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_stack_that_was_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_libunwind_agrees, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_registers_that_lie, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
