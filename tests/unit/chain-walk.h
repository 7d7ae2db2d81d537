/* SPDX-License-Identifier: MIT */
/*
 * For tests of unwinders: what a walk from the end of a chain of stubs saw, and what it has to see.
 */
#ifndef TESTS_UNIT_CHAIN_WALK_H
#define TESTS_UNIT_CHAIN_WALK_H

#include "tests/unit/stub-chain.h"

/* Stubs of the chain, in order from the innermost, and the caller of all. */
struct seen {
	int next;    /* the chain's stub that has to come next */
	int wrong;   /* another one came */
	int callers; /* the caller of call_chain() */
	int frames;  /* from the innermost stub up to call_chain(), both counted */
};

static uintptr_t chain_caller;
static struct seen last;

static __attribute__((noinline)) int call_chain(int (*leaf)(void))
{
	chain_caller = (uintptr_t)__builtin_return_address(0);
	/* Something is left to do, so that the call is no jump. */
	return chain_call(leaf) + 1;
}

/* @is_exact: no call has left @pc; it was interrupted there. */
static inline void look(struct seen *seen, uintptr_t pc, int is_exact)
{
	int index = chain_index(pc + !!is_exact);

	if (index >= 0 && index != seen->next--)
		seen->wrong++;
	seen->callers += pc == chain_caller;
	seen->frames += seen->next < CHAIN - 1 && !seen->callers;
}

/*
 * How many frames there are: each stub's, each target's, and maybe call_chain()'s, as the compiler
 * has it. Learnt from a walk that begins in the last target, where the frame pointers lead.
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
