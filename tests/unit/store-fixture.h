/* SPDX-License-Identifier: MIT */
/* For tests of profiles: read parts of a profile, and fill it with random stacks. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include "tests/unit/aggregate-fixture.h"

#include "libprof/profile/lookup.h"
#include "libprof/profile/tables.h"

#define MIB (1u << 20)

static inline struct flameprof_stack stack_at(const struct flameprof_profile *p, uint32_t index)
{
	struct flameprof_stack stack;

	assert_int_equal(flameprof_profile_stack(p, index, &stack), 0);
	return stack;
}

static inline struct flameprof_profile_summary info_of(const struct flameprof_profile *p)
{
	struct flameprof_profile_summary info;

	flameprof_profile_info(p, &info);
	return info;
}

/* Add random stacks, some of them long. */
static inline void add_random(struct batch_maker *maker, uint64_t *random, unsigned spread)
{
	uint64_t frames[64];
	unsigned n = 1 + next_random(random) % 63;

	for (unsigned i = 0; i < n; i++)
		frames[i] = WIRE_FRAME(1, (n - i) * 1000 + next_random(random) % spread);
	batch_add(maker, 1 + next_random(random) % 4, 1 + next_random(random) % 3, frames, n);
}

/* Check that the sums of stacks, threads and samples agree with the profile's totals. */
static inline void assert_adds_up(const struct flameprof_profile *p)
{
	uint64_t stacks = 0, threads = 0, samples = 0, counted = 0;
	struct flameprof_sample sample;
	struct flameprof_thread thread;

	for (uint32_t i = 0; i < info_of(p).stacks; i++) {
		assert_in_range(stack_at(p, i).samples, 1, UINT32_MAX);
		assert_in_range(stack_at(p, i).thread, 0, info_of(p).threads - 1);
		stacks += stack_at(p, i).weight;
		counted += stack_at(p, i).samples;
	}
	for (uint32_t i = 0; i < info_of(p).threads; i++) {
		assert_int_equal(flameprof_profile_thread(p, i, &thread), 0);
		assert_true(thread.weight > 0);
		threads += thread.weight;
	}
	for (uint64_t i = 0; i < info_of(p).samples; i++) {
		assert_int_equal(flameprof_profile_sample(p, i, &sample), 0);
		assert_in_range(sample.stack, 0, info_of(p).stacks - 1);
		samples += sample.weight;
	}
	assert_int_equal(stacks, info_of(p).weight);
	assert_int_equal(threads, info_of(p).weight);
	assert_int_equal(samples, info_of(p).weight);
	assert_int_equal(counted, info_of(p).samples);
	/* Each node belongs to a stack. */
	uint8_t *used = calloc(1, p->node_count + 1);
	for (uint32_t i = 0; i < p->stack_count; i++)
		for (uint32_t n = profile_stack_at(p, i)->node; n && !used[n];
			n = profile_node_at(p, n)->parent)
			used[n] = 1;
	for (uint32_t n = 1; n <= p->node_count; n++)
		assert_int_equal(used[n], 1);
	free(used);
}

#endif
