/* SPDX-License-Identifier: MIT */
/* Compare the frames that a walk out of a chain of stubs found with the frames of the chain. */
#ifndef TESTS_UNIT_CHAIN_WALK_H
#define TESTS_UNIT_CHAIN_WALK_H

#include "tests/unit/stub-chain.h"

/* The result of a walk out of the chain, from the innermost stub to call_chain(). */
struct seen {
	int next;    /* index of the stub that must follow */
	int wrong;   /* a stub was out of order */
	int callers; /* frames of call_chain() */
	/* frames from the innermost stub to call_chain(), inclusive */
	int frames;
};

static uintptr_t chain_caller;
static struct seen last;

static __attribute__((noinline)) int call_chain(int (*leaf)(void))
{
	chain_caller = (uintptr_t)__builtin_return_address(0);
	/* Add 1, so that the call is no tail call. */
	return chain_call(leaf) + 1;
}

/* Count the frame at @pc. @is_exact is set if @pc is the interrupted pc, not a return address. */
static inline void look(struct seen *seen, uintptr_t pc, int is_exact)
{
	int index = chain_index(pc + !!is_exact);

	if (index >= 0 && index != seen->next--)
		seen->wrong++;
	seen->callers += pc == chain_caller;
	seen->frames += seen->next < CHAIN - 1 && !seen->callers;
}

/*
 * The number of frames of the chain: stubs, their targets, and call_chain() if the compiler gave it
 * a frame. learn_frames() counts the frames by following the frame pointers from the last target.
 */
static int chain_frames;

static int learn_frames(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	int counting = 0;

	for (chain_frames = 0; frame[1] != chain_caller; frame = (uintptr_t *)frame[0]) {
		counting |= chain_index(frame[1]) >= 0;
		chain_frames += counting;
	}
	return 0;
}

static inline int is_complete(const struct seen *seen)
{
	return !seen->wrong && seen->next == -1 && seen->callers == 1 &&
		seen->frames == chain_frames;
}

#endif
