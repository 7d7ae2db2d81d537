/* SPDX-License-Identifier: MIT */
/*
 * Argument registers of aarch64. Source: AAPCS64 6.8.2, "Parameter passing rules", whose stages are
 * cited as C.10 and so on.
 */
#ifndef ARCH_AARCH64_SIGNATURE_H
#define ARCH_AARCH64_SIGNATURE_H

#define ARCH_CALL_PAIRS_MOVE 0
#define ARCH_CALL_INTEGERS   8u
#define ARCH_CALL_VECTORS    8u

#include "arch/signature.h"

/* Return 1 if the result is in memory. x8 points to it, and x8 never holds an argument. */
static inline int arch_call_result(struct arch_call *call, const struct arch_type *type)
{
	(void)call;
	return type->kind == ARCH_TYPE_AGGREGATE && type->bytes > 16;
}

static inline void arch_call_integer(struct arch_call *call, const struct arch_type *type)
{
	unsigned words = type->bytes > 8 ? 2 : 1;

	call->integer_words += words;
	call->has_pair |= words > 1;
	if (type->alignment == 16) /* C.10 */
		arch_call_use_up_to(&call->integers, call->integers & 1, ARCH_CALL_INTEGERS);
	if (arch_call_use_all(&call->integers, words, ARCH_CALL_INTEGERS))
		return;
	call->integers = ARCH_CALL_INTEGERS; /* C.13 */
	arch_call_spill(call, type);
}

/*
 * An aggregate's members decide how it is passed, and they are unknown. So count all possibilities:
 * up to four vector registers (C.2), one or two integer registers (C.12), or the address of a copy
 * (B.4). Above 64 bytes only the address is possible, because four vector registers hold no more.
 */
static inline void arch_call_aggregate(struct arch_call *call, const struct arch_type *type)
{
	const struct arch_type address = {ARCH_TYPE_INTEGER, 8, 8};

	if (type->bytes > 64) {
		arch_call_integer(call, &address);
		return;
	}
	arch_call_push(call, type);
	if (type->alignment == 16)
		arch_call_use_up_to(&call->integers, call->integers & 1, ARCH_CALL_INTEGERS);
	arch_call_use_up_to(&call->integers, 2, ARCH_CALL_INTEGERS);
	arch_call_use_up_to(&call->vectors, 4, ARCH_CALL_VECTORS);
}

static inline void arch_call_argument(struct arch_call *call, const struct arch_type *type)
{
	unsigned count = 1;

	switch (type->kind) {
	case ARCH_TYPE_INTEGER:
		arch_call_integer(call, type);
		break;
	case ARCH_TYPE_AGGREGATE:
	case ARCH_TYPE_OBJECT:
		arch_call_aggregate(call, type);
		break;
	case ARCH_TYPE_COMPLEX:
	case ARCH_TYPE_COMPLEX_LONG_DOUBLE:
		count = 2; /* C.2 */
		/* fall through */
	default:
		if (arch_call_use_all(&call->vectors, count, ARCH_CALL_VECTORS))
			break;
		call->vectors = ARCH_CALL_VECTORS; /* C.3 */
		arch_call_push(call, type);
	}
}

#endif
