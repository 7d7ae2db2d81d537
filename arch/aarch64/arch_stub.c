/* SPDX-License-Identifier: MIT */
/*
 * Stubs of aarch64. Source: AAPCS64 (calling sequence), Arm ARM (encodings).
 *
 * A stub overwrites x16 and x17, which any linker's stub between functions may overwrite, and in a
 * bind stub the argument registers. x8 (address of the result) and all results pass through.
 *
 *	x29 + 32  the caller's stack words
 *	x29 + 16  payload
 *	x29 + 8   return address
 *	x29       the caller's x29
 *	sp        copy of the stack words
 */
#include "arch/stub.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#define STACK_WORDS_MAX   64u
#define INTEGER_REGISTERS 8u

/* Number of instructions after which the frame is pushed, and after which x29 points to it. */
#define PUSHED_AT 2u
#define FRAME_AT  3u

const uint8_t arch_stub_cie[ARCH_STUB_CIE_BYTES] = {
	1, 'z', 'R', 0, /* version, augmentation */
	/* code alignment 4 bytes, data alignment -8, return address in x30 */
	4, 0x78, 30,
	1, 0x1b,	  /* pointers: pcrel | sdata4 */
	0x0c, 31, 0,	  /* DW_CFA_def_cfa: sp + 0 */
	0, 0, 0,	  /* DW_CFA_nop */
};

static void put(struct arch_stub_template *out, uint32_t instruction)
{
	memcpy(out->code + out->code_bytes, &instruction, sizeof(instruction));
	out->code_bytes += (uint32_t)sizeof(instruction);
}

/*
 * Save the frame and the payload:
 *
 *	d503245f	bti	c
 *	a9be7bfd	stp	x29, x30, [sp, #-32]!
 *	910003fd	mov	x29, sp
 *	58....10	ldr	x16, payload
 *	f9000bb0	str	x16, [x29, #16]
 *	d1...3ff	sub	sp, sp, #bytes		(if there are words to copy)
 */
static void put_prologue(struct arch_stub_template *out, unsigned stack_words)
{
	put(out, 0xd503245f);
	put(out, 0xa9be7bfd);
	put(out, 0x910003fd);
	out->payload_at = out->code_bytes;
	put(out, 0x58000010);
	put(out, 0xf9000bb0);
	if (stack_words)
		put(out, 0xd10003ff | ((stack_words + 1) & ~1u) * 8 << 10);
}

/*
 *	f94..bb0	ldr	x16, [x29, #32 + 8 * from]
 *	f90..3f0	str	x16, [sp, #8 * to]
 */
static void put_stack_words(struct arch_stub_template *out, unsigned words, unsigned to)
{
	for (unsigned from = 0; from < words; from++) {
		put(out, 0xf94003b0 | (4 + from) << 10);
		put(out, 0xf90003f0 | (to + from) << 10);
	}
}

/*
 * Move each integer argument to the next register, beginning with the last; then load the payload:
 *	f90003e7	str	x7, [sp]		(if more arguments than registers)
 *	aa0.03e.	mov	x(to), x(to - 1)
 *	f9400ba0	ldr	x0, [x29, #16]
 */
static void put_bind(struct arch_stub_template *out, unsigned integers, int spill)
{
	unsigned last = INTEGER_REGISTERS - 1;

	if (spill)
		put(out, 0xf90003e7);
	if (integers && integers - 1 < last)
		last = integers - 1;
	for (unsigned to = last; to > 0; to--)
		put(out, 0xaa0003e0 | (to - 1) << 16 | to);
	put(out, 0xf9400ba0);
}

/*
 *	58....10	ldr	x16, target
 *	d63f0200	blr	x16
 */
static void put_call(struct arch_stub_template *out)
{
	out->target_at = out->code_bytes;
	put(out, 0x58000010);
	put(out, 0xd63f0200);
}

/*
 * Call the original function, then arch_intercept_slow() if the thread's tick counter is not 0:
 *
 *	f9400bb0	ldr	x16, [x29, #16]		(the payload: the original)
 *	d63f0200	blr	x16
 *	d2800011	mov	x17, #ticks, low half
 *	f2a00011	movk	x17, #ticks, high half
 *	d53bd050	mrs	x16, tpidr_el0
 *	b8716a10	ldr	w16, [x16, x17]
 *	34000070	cbz	w16, 1f
 *	58....10	ldr	x16, target		(arch_intercept_slow())
 *	d63f0200	blr	x16
 *			1:
 */
static void put_intercept(struct arch_stub_template *out, uint32_t ticks)
{
	put(out, 0xf9400bb0);
	put(out, 0xd63f0200);
	put(out, 0xd2800011 | (ticks & 0xffff) << 5);
	put(out, 0xf2a00011 | (ticks >> 16) << 5);
	put(out, 0xd53bd050);
	put(out, 0xb8716a10);
	put(out, 0x34000070);
	put_call(out);
}

/*
 * Remove the frame and return:
 *
 *	910003bf	mov	sp, x29			(if words were copied)
 *	a8c27bfd	ldp	x29, x30, [sp], #32
 *	d65f03c0	ret
 */
static void put_epilogue(struct arch_stub_template *out, unsigned stack_words)
{
	out->leave_at = out->code_bytes;
	if (stack_words)
		put(out, 0x910003bf);
	put(out, 0xa8c27bfd);
	put(out, 0xd65f03c0);
}

/*
 * Write the call-frame instructions. After these instructions the CFA is:
 *
 *	stp	CFA = sp + 32, x29 at CFA - 32, x30 at CFA - 24
 *	mov	CFA = x29 + 32
 *	ldp	CFA = sp, both restored
 */
static void put_cfi(struct arch_stub_template *out)
{
	uint32_t body = out->code_bytes / 4 - 1 - FRAME_AT;
	const uint8_t program[] = {
		0x40 | PUSHED_AT, 0x0e, 32, 0x9d, 4, 0x9e, 3, /* advance, def_cfa_offset, offset */
		0x40 | (FRAME_AT - PUSHED_AT), 0x0d, 29,      /* advance, def_cfa_register x29 */
		0x03, (uint8_t)body, (uint8_t)(body >> 8),    /* advance_loc2 */
		0x0c, 31, 0, 0xdd, 0xde,		      /* def_cfa sp + 0, restore */
	};

	memcpy(out->cfi, program, sizeof(program));
	out->cfi_bytes = sizeof(program);
}

int arch_stub_prepare(const struct arch_stub_shape *shape, struct arch_stub_template *out)
{
	int spill = shape->bind && shape->integer_arguments > INTEGER_REGISTERS;

	if (shape->stack_words > STACK_WORDS_MAX ||
		(shape->bind && shape->integer_arguments > 1024) || (spill && !shape->stack_words))
		return -EINVAL;
	if (shape->intercept && shape->ticks_at != (uint32_t)shape->ticks_at)
		return -ENOTSUP;
	memset(out, 0, sizeof(*out));
	put_prologue(out, shape->stack_words);
	put_stack_words(out, spill ? shape->stack_words - 1 : shape->stack_words, spill ? 1 : 0);
	if (shape->bind)
		put_bind(out, shape->integer_arguments, spill);
	if (shape->intercept)
		put_intercept(out, (uint32_t)shape->ticks_at);
	else
		put_call(out);
	put_epilogue(out, shape->stack_words);
	put_cfi(out);
	return 0;
}

/*
 * Fill in the distance of the ldr (literal) instruction at offset @at: a number of words, in 19
 * bits from bit 5 on.
 */
static void write_distance(uint8_t *code, uint32_t at, int32_t distance)
{
	uint32_t instruction;

	memcpy(&instruction, code + at, sizeof(instruction));
	instruction |= ((uint32_t)(distance - (int32_t)at) >> 2 & 0x7ffff) << 5;
	memcpy(code + at, &instruction, sizeof(instruction));
}

void arch_stub_write(
	const struct arch_stub_template *stub, uint8_t *code, int32_t payload, int32_t target)
{
	memcpy(code, stub->code, stub->code_bytes);
	write_distance(code, stub->payload_at, payload);
	write_distance(code, stub->target_at, target);
}

/*
 * Not possible on aarch64: an expression can read x30 but not the pc, and they are equal only in a
 * frame that has made a call.
 */
unsigned arch_stub_brief_cfi(const struct arch_stub_template *stub, uintptr_t start,
	uint32_t stride, uint8_t *room)
{
	(void)stub;
	(void)start;
	(void)stride;
	(void)room;
	return 0;
}

/* ---- the slow half of an intercept ----------------------------------------------------------- */

/*
 * Variables that arch_intercept_slow() reads: the function to call, and 1 if it must save the
 * registers of SVE. Write them atomically.
 */
extern void (*arch_intercept_call)(void);
void (*arch_intercept_call)(void);
extern uint32_t arch_intercept_save_sve;
uint32_t arch_intercept_save_sve;

void arch_intercept_prepare(void (*take)(void))
{
	__atomic_store_n(&arch_intercept_call, take, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_sve, (getauxval(AT_HWCAP) & HWCAP_SVE) != 0,
		__ATOMIC_RELAXED);
}
