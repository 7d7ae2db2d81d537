/* SPDX-License-Identifier: MIT */
/*
 * Count the stack words and registers that the arguments of a call need, by the CPU's calling
 * convention. Selected by include path: arch/<cpu>/arch_signature.h defines the names at this
 * file's end.
 *
 * If a type can be passed in several ways, count all of them: stack words and registers of both
 * kinds. Counting too much never reduces the count of later arguments, so the result is an
 * upper bound of the words passed on the stack.
 */
#ifndef ARCH_SIGNATURE_H
#define ARCH_SIGNATURE_H

#include <stdint.h>

/* The values are those of enum flameprof_type_kind. */
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
	unsigned integers, vectors; /* number of registers used so far */
	uint64_t stack_words;
	/* words of integer arguments, in registers or on the stack */
	unsigned integer_words;
	int has_pair; /* an integer argument has two words */
	/* an argument on the stack must begin at an even word */
	int has_aligned;
	/*
	 * @is_spilled is set if an integer argument is on the stack, @is_spilled_behind if another
	 * argument precedes it on the stack.
	 */
	int is_spilled, is_spilled_behind;
};

struct arch_type {
	enum arch_type_kind kind;
	uint64_t bytes;
	unsigned alignment; /* at most 16 */
};

/* Use up to @count registers of @most, for an argument that may be passed in registers. */
static inline void arch_call_use_up_to(unsigned *used, unsigned count, unsigned most)
{
	*used = *used + count < most ? *used + count : most;
}

/* Use @count registers of @most. If fewer are left, use none. Returns 1 if they were used. */
static inline int arch_call_use_all(unsigned *used, unsigned count, unsigned most)
{
	if (*used + count > most)
		return 0;
	*used += count;
	return 1;
}

/* Pass an argument on the stack. */
static inline void arch_call_push(struct arch_call *call, const struct arch_type *type)
{
	if (type->alignment == 16) {
		call->has_aligned = 1;
		call->stack_words += call->stack_words & 1;
	}
	call->stack_words += (type->bytes + 7) / 8;
}

/* Pass an integer on the stack, because too few integer registers are left. */
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
 *     Count the registers that the result needs. Returns 1 for an aggregate that is returned in
 *     memory to which the caller passes a pointer.
 * arch_call_argument(struct arch_call *, const struct arch_type *)
 *     Count the next argument. Its kind must not be void.
 * ARCH_CALL_PAIRS_MOVE
 *     1: a pair of integer registers may begin at any register; 0: only at an even one
 */
#ifndef ARCH_CALL_PAIRS_MOVE
#error "arch_signature.h lacks a primitive"
#endif

#endif
