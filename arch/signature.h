/* SPDX-License-Identifier: MIT */
/*
 * How a CPU's calling convention passes arguments: where the next one goes. Chosen by include path:
 * arch/<cpu>/arch_signature.h supplies what is named below.
 *
 * Where a type leaves open how it is passed, it counts for all that it may be: words on the stack,
 * and registers of both kinds. More registers used and more words never make less of what comes
 * after: what is counted is a bound from above for all words that are passed on the stack.
 */
#ifndef ARCH_SIGNATURE_H
#define ARCH_SIGNATURE_H

#include <stdint.h>

/* As enum flameprof_type_kind. */
enum arch_type_kind {
	ARCH_TYPE_VOID = 0,
	ARCH_TYPE_INTEGER = 1,
	ARCH_TYPE_REAL = 2,
	ARCH_TYPE_LONG_DOUBLE = 3,
	ARCH_TYPE_COMPLEX = 4,
	ARCH_TYPE_COMPLEX_LONG_DOUBLE = 5,
	ARCH_TYPE_AGGREGATE = 6,
	ARCH_TYPE_OBJECT = 7,
};

struct arch_call {
	unsigned integers, vectors; /* registers that are used */
	uint64_t stack_words;
	unsigned integer_words; /* of arguments, wherever they are passed */
	int has_pair;		/* an integer of two words */
	int has_aligned;	/* something on the stack that begins at even words only */
	/* An integer is passed on the stack; and not as the first of all that is. */
	int is_spilled, is_spilled_behind;
};

struct arch_type {
	enum arch_type_kind kind;
	uint64_t bytes;
	unsigned alignment; /* at most 16 */
};

/* As many as fit, of @most registers: for what may be there. */
static inline void arch_call_use_up_to(unsigned *used, unsigned count, unsigned most)
{
	*used = *used + count < most ? *used + count : most;
}

/* All of @count registers or none. Returns whether they were left. */
static inline int arch_call_use_all(unsigned *used, unsigned count, unsigned most)
{
	if (*used + count > most)
		return 0;
	*used += count;
	return 1;
}

static inline void arch_call_push(struct arch_call *call, const struct arch_type *type)
{
	if (type->alignment == 16) {
		call->has_aligned = 1;
		call->stack_words += call->stack_words & 1;
	}
	call->stack_words += (type->bytes + 7) / 8;
}

/* An integer for which there are no registers left. */
static inline void arch_call_spill(struct arch_call *call, const struct arch_type *type)
{
	if (!call->is_spilled && call->stack_words)
		call->is_spilled_behind = 1;
	call->is_spilled = 1;
	arch_call_push(call, type);
}

#include <arch_signature.h>

/*
 * arch_call_result(struct arch_call *, const struct arch_type *)
 *     What the result takes of the arguments' registers. Returns whether it is in memory the caller
 *     points to, for aggregates.
 * arch_call_argument(struct arch_call *, const struct arch_type *)
 *     The next argument, of any kind but void.
 * ARCH_CALL_PAIRS_MOVE
 *     1: a pair of integer registers may begin at any of them
 */
#ifndef ARCH_CALL_PAIRS_MOVE
#error "arch_signature.h lacks a primitive"
#endif

#endif
