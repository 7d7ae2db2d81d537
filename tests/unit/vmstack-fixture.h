/* SPDX-License-Identifier: MIT */
/* For tests of virtual machines' stacks: ticks of 10 ms, and access to the stacks of a profile. */
#ifndef TESTS_UNIT_VMSTACK_FIXTURE_H
#define TESTS_UNIT_VMSTACK_FIXTURE_H

#include "tests/unit/session-fixture.h"

#include "libprof/flameprof_vm.h"

#define TICK_NS 10000000ULL

static const struct flameprof_options only_vm = {.clock = FLAMEPROF_CLOCK_VM};

static const struct flameprof_vm_frame three[3] = {
	{"string.rep", NULL, 0},
	{"fib", "script.lua", 12},
	{"main chunk", "script.lua", 1},
};

static inline void no_ticks(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
}

/* Enable ticks. The timer stays idle, because no thread is registered. */
static inline int enable_ticks(void **state)
{
	(void)state;
	return flameprof_interrupt_enable(TICK_NS, no_ticks, NULL);
}

static inline struct flameprof_profile *stop_session(void)
{
	struct flameprof_profile *profile = NULL;

	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	return profile;
}

static inline struct flameprof_stack stack_at(const struct flameprof_profile *p, uint32_t index)
{
	struct flameprof_stack stack;

	assert_int_equal(flameprof_profile_stack(p, index, &stack), 0);
	return stack;
}

/* Return the frame at position @at (leaf first) of stack @index. */
static inline struct flameprof_frame frame_at(
	const struct flameprof_profile *p, uint32_t index, uint32_t at)
{
	static struct flameprof_frame frames[WIRE_MAX_DEPTH];
	int count = flameprof_profile_frames(p, index, frames, WIRE_MAX_DEPTH);

	assert_true(count > (int)at);
	return frames[at];
}

static inline void assert_frame(const struct flameprof_profile *p, uint32_t index, uint32_t at,
	const struct flameprof_vm_frame *expected)
{
	struct flameprof_frame frame = frame_at(p, index, at);

	assert_non_null(frame.name);
	assert_string_equal(frame.name, expected->name);
	if (expected->file)
		assert_string_equal(frame.file, expected->file);
	else
		assert_null(frame.file);
	assert_int_equal(frame.line, expected->line);
	assert_int_equal(frame.module, FLAMEPROF_NONE);
}

/* Return the index of the only stack that a virtual machine recorded. */
static inline uint32_t only_vm_stack(const struct flameprof_profile *p)
{
	uint32_t count = info_of(p).stacks, found = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++)
		if (stack_at(p, i).is_vm) {
			assert_int_equal(found, UINT32_MAX);
			found = i;
		}
	assert_int_not_equal(found, UINT32_MAX);
	return found;
}

#endif
