/* SPDX-License-Identifier: MIT */
/* Argument registers of x86_64. Source: System V AMD64 ABI 3.2.3, "Parameter Passing". */
#ifndef ARCH_X86_64_SIGNATURE_H
#define ARCH_X86_64_SIGNATURE_H

#define ARCH_CALL_PAIRS_MOVE 1
#define ARCH_CALL_INTEGERS   6u
#define ARCH_CALL_VECTORS    8u

#include "arch/signature.h"

/*
 * Return 1 if the result is in memory, to which rdi points. Count rdi as used also for small
 * aggregates, because C++ objects and unaligned aggregates are returned in memory.
 */
static inline int arch_call_result(struct arch_call *call, const struct arch_type *type)
{
	int is_memory = type->kind == ARCH_TYPE_AGGREGATE && type->bytes > 16;

	if (is_memory || type->kind == ARCH_TYPE_AGGREGATE ||
		type->kind == ARCH_TYPE_OBJECT)
		call->integers = 1;
	return is_memory;
}

/*
 * Count all ways in which an aggregate may be passed. Up to 16 bytes: class INTEGER, SSE, both, or
 * MEMORY. Above: MEMORY, or a C++ object's address in an integer register.
 */
static inline void arch_call_aggregate(struct arch_call *call, const struct arch_type *type)
{
	unsigned words = type->bytes > 8 ? 2 : 1;

	arch_call_push(call, type);
	if (type->bytes > 16 && type->kind != ARCH_TYPE_OBJECT)
		return;
	arch_call_use_up_to(&call->integers, words, ARCH_CALL_INTEGERS);
	arch_call_use_up_to(&call->vectors, words, ARCH_CALL_VECTORS);
}

static inline void arch_call_argument(struct arch_call *call, const struct arch_type *type)
{
	unsigned words = type->bytes > 8 ? 2 : 1;

	switch (type->kind) {
	case ARCH_TYPE_INTEGER:
		call->integer_words += words;
		call->has_pair |= words > 1;
		if (!arch_call_use_all(&call->integers, words, ARCH_CALL_INTEGERS))
			arch_call_spill(call, type);
		break;
	case ARCH_TYPE_REAL:
	case ARCH_TYPE_COMPLEX:
		/* A complex float needs one vector register, and so does a real of 16 bytes. */
		if (type->kind == ARCH_TYPE_REAL)
			words = 1;
		if (!arch_call_use_all(&call->vectors, words, ARCH_CALL_VECTORS))
			arch_call_push(call, type);
		break;
	case ARCH_TYPE_AGGREGATE:
	case ARCH_TYPE_OBJECT:
		arch_call_aggregate(call, type);
		break;
	default: /* long double and its complex: MEMORY */
		arch_call_push(call, type);
	}
}

#endif
