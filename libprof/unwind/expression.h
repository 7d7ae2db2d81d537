/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reads through unwind_load() and cfi_bytes only. */
/*
 * Evaluate the DWARF expressions of call-frame information. An expression is a program for a small
 * stack machine over registers and memory. Only forward jumps are allowed, so an expression's
 * length bounds its run time. Location descriptions, and operations on thread-local storage, calls
 * and types, are not supported, because .eh_frame does not use them.
 * Source: DWARF 5, section 2.5.1 and 6.4.2.
 */
#ifndef LIBPROF_UNWIND_EXPRESSION_H
#define LIBPROF_UNWIND_EXPRESSION_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "libprof/unwind/cfi.h"
#include "libprof/unwind/dwarf.h"
#include "libprof/unwind/load.h"

#define EXPRESSION_DEPTH 16

/* The state that an expression may read. All pointers are borrowed. */
struct expression_input {
	const struct arch_registers *registers;
	/* Bit n is set if register n is valid in this frame. */
	uint64_t known;
	const struct unwind_memory *memory;
};

struct expression {
	const struct expression_input *input;
	struct cfi_bytes bytes;
	unsigned depth;
	uintptr_t stack[EXPRESSION_DEPTH];
};

static inline int expression_push(struct expression *e, uintptr_t value)
{
	if (e->depth == EXPRESSION_DEPTH)
		return -ENOTSUP;
	e->stack[e->depth++] = value;
	return 0;
}

static inline int expression_push_register(struct expression *e, uint64_t reg)
{
	int64_t offset = cfi_sleb(&e->bytes);

	if (reg >= ARCH_DWARF_REGS || !(e->input->known >> reg & 1))
		return -ENOENT;
	return expression_push(e, e->input->registers->r[reg] + (uintptr_t)offset);
}

/* Execute @op if it only pushes a value. Returns 0, -errno, or 1 if @op does something else. */
static inline int expression_constant(struct expression *e, unsigned op)
{
	struct cfi_bytes *in = &e->bytes;

	if (op >= EXPRESSION_LIT0 && op <= EXPRESSION_LIT31)
		return expression_push(e, op - EXPRESSION_LIT0);
	if (op >= EXPRESSION_BREG0 && op <= EXPRESSION_BREG31)
		return expression_push_register(e, op - EXPRESSION_BREG0);
	switch (op) {
	case EXPRESSION_BREGX:
		return expression_push_register(e, cfi_uleb(in));
	case EXPRESSION_CONST1U:
		return expression_push(e, cfi_u8(in));
	case EXPRESSION_CONST1S:
		return expression_push(e, (uintptr_t)(int8_t)cfi_u8(in));
	case EXPRESSION_CONST2U:
		return expression_push(e, cfi_u16(in));
	case EXPRESSION_CONST2S:
		return expression_push(e, (uintptr_t)(int16_t)cfi_u16(in));
	case EXPRESSION_CONST4U:
		return expression_push(e, cfi_u32(in));
	case EXPRESSION_CONST4S:
		return expression_push(e, (uintptr_t)(int32_t)cfi_u32(in));
	case EXPRESSION_ADDR:
	case EXPRESSION_CONST8U:
	case EXPRESSION_CONST8S:
		return expression_push(e, cfi_u64(in));
	case EXPRESSION_CONSTU:
		return expression_push(e, cfi_uleb(in));
	case EXPRESSION_CONSTS:
		return expression_push(e, (uintptr_t)cfi_sleb(in));
	case EXPRESSION_NOP:
		return 0;
	default:
		return 1;
	}
}

static inline int expression_divide(unsigned op, uintptr_t left, uintptr_t right, uintptr_t *value)
{
	if (!right)
		return -EBADMSG;
	if (op == EXPRESSION_MOD)
		*value = left % right;
	else if (right == UINTPTR_MAX) /* INT_MIN / -1 overflows */
		*value = 0 - left;
	else
		*value = (uintptr_t)((intptr_t)left / (intptr_t)right);
	return 0;
}

/* Compute @op if it is binary; @right is the top of the stack. Returns 0, -errno, 1 for others. */
static inline int expression_binary(unsigned op, uintptr_t left, uintptr_t right, uintptr_t *value)
{
	intptr_t a = (intptr_t)left, b = (intptr_t)right;

	switch (op) {
	case EXPRESSION_AND:
		*value = left & right;
		return 0;
	case EXPRESSION_OR:
		*value = left | right;
		return 0;
	case EXPRESSION_XOR:
		*value = left ^ right;
		return 0;
	case EXPRESSION_PLUS:
		*value = left + right;
		return 0;
	case EXPRESSION_MINUS:
		*value = left - right;
		return 0;
	case EXPRESSION_MUL:
		*value = left * right;
		return 0;
	case EXPRESSION_DIV:
	case EXPRESSION_MOD:
		return expression_divide(op, left, right, value);
	case EXPRESSION_SHL:
		*value = right < 64 ? left << right : 0;
		return 0;
	case EXPRESSION_SHR:
		*value = right < 64 ? left >> right : 0;
		return 0;
	case EXPRESSION_SHRA:
		*value = (uintptr_t)(a >> (right < 64 ? right : 63));
		return 0;
	case EXPRESSION_EQ:
	case EXPRESSION_NE:
		*value = (a == b) == (op == EXPRESSION_EQ);
		return 0;
	case EXPRESSION_GE:
	case EXPRESSION_LT:
		*value = (a >= b) == (op == EXPRESSION_GE);
		return 0;
	case EXPRESSION_GT:
	case EXPRESSION_LE:
		*value = (a > b) == (op == EXPRESSION_GT);
		return 0;
	default:
		return 1;
	}
}

static inline int expression_load(struct expression *e, uintptr_t *top, unsigned size)
{
	uintptr_t value;

	if (size == 0 || size > 8)
		return -EBADMSG;

	int error = unwind_load(e->input->memory, *top, &value);

	if (!error)
		*top = size == 8 ? value : value & ((1ULL << 8 * size) - 1);
	return error;
}

/* Execute @op if it changes only @top, the top of the stack. Returns 0, -errno, or 1 for others. */
static inline int expression_unary(struct expression *e, unsigned op, uintptr_t *top)
{
	switch (op) {
	case EXPRESSION_DEREF:
		return expression_load(e, top, 8);
	case EXPRESSION_DEREF_SIZE:
		return expression_load(e, top, cfi_u8(&e->bytes));
	case EXPRESSION_PLUS_UCONST:
		*top += cfi_uleb(&e->bytes);
		return 0;
	case EXPRESSION_ABS:
		*top = (intptr_t)*top < 0 ? 0 - *top : *top;
		return 0;
	case EXPRESSION_NEG:
		*top = 0 - *top;
		return 0;
	case EXPRESSION_NOT:
		*top = ~*top;
		return 0;
	case EXPRESSION_DUP:
		return expression_push(e, *top);
	case EXPRESSION_DROP:
		e->depth--;
		return 0;
	default:
		return 1;
	}
}

/*
 * Execute @op if it reorders the stack or is a jump. Returns 0, -errno, or 1 for other operations.
 */
static inline int expression_move(struct expression *e, unsigned op)
{
	uintptr_t *top = &e->stack[e->depth]; /* after the top value */
	uintptr_t third;
	unsigned index;
	int16_t distance;

	switch (op) {
	case EXPRESSION_OVER:
	case EXPRESSION_PICK:
		index = op == EXPRESSION_OVER ? 1 : cfi_u8(&e->bytes);
		return index < e->depth ? expression_push(e, top[-1 - (int)index]) : -EBADMSG;
	case EXPRESSION_SWAP:
		if (e->depth < 2)
			return -EBADMSG;
		third = top[-2];
		top[-2] = top[-1];
		top[-1] = third;
		return 0;
	case EXPRESSION_ROT:
		if (e->depth < 3)
			return -EBADMSG;
		third = top[-1];
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = third;
		return 0;
	case EXPRESSION_SKIP:
	case EXPRESSION_BRA:
		distance = (int16_t)cfi_u16(&e->bytes);
		if (op == EXPRESSION_BRA && !e->depth)
			return -EBADMSG;
		if (op == EXPRESSION_BRA && !e->stack[--e->depth])
			return 0;
		if (distance < 0)
			return -ENOTSUP;
		cfi_skip(&e->bytes, (uint64_t)distance);
		return 0;
	default:
		return 1;
	}
}

static inline int expression_step(struct expression *e, unsigned op)
{
	int error = expression_constant(e, op);

	if (error == 1)
		error = expression_move(e, op);
	if (error == 1 && e->depth >= 1)
		error = expression_unary(e, op, &e->stack[e->depth - 1]);
	if (error == 1 && e->depth >= 2) {
		uintptr_t *left = &e->stack[e->depth - 2];

		error = expression_binary(op, left[0], left[1], left);
		e->depth -= error == 0;
	}
	return error == 1 ? -ENOTSUP : error;
}

/*
 * Evaluate one expression.
 *
 * @bytes   the expression, without its length
 * @cfa     the value to push first, which expressions for registers expect; NULL: none
 * @result  gets the top of the stack on success
 *
 * Returns 0; -EBADMSG if the expression is invalid; -ENOTSUP if an operation is unknown; -ENOENT if
 * it needs a register that is not known; or the error of a memory read.
 * Context: signal-safe if UNWIND_READ is.
 */
static inline int expression_run(struct cfi_bytes bytes, const struct expression_input *input,
	const uintptr_t *cfa, uintptr_t *result)
{
	/* `stack` stays uninitialised, because only pushed values are read. */
	struct expression e;
	int error = 0;

	e.input = input;
	e.bytes = bytes;
	e.depth = 0;
	if (cfa)
		error = expression_push(&e, *cfa);
	while (!error && e.bytes.at < e.bytes.end) {
		unsigned op = cfi_u8(&e.bytes);

		error = expression_step(&e, op);
		if (!error)
			error = e.bytes.error;
	}
	if (!error && !e.depth)
		error = -EBADMSG;
	if (!error)
		*result = e.stack[e.depth - 1];
	return error;
}

#endif
