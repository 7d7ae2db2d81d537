/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: works on the bytes it is given. Frames of HotSpot's interpreter on x86_64:
 *
 *	fp + 8	return address			fp - 24	Method
 *	fp	the caller's frame pointer	…	mirror, profile, cache, locals
 *	fp - 8	the caller's stack pointer	fp - 64	bytecode pointer, if not in r13
 *	fp - 16	its own, at a call		fp - 72	bottom of the expression stack
 *
 * Entry of a method (rbx: Method, r13: the caller's stack pointer):
 *
 *	begin	48 8b 53 08	mov  8(%rbx),%rdx	ConstMethod
 *		0f b7 4a xx	movzwl x(%rdx),%ecx
 *		…					stack overflow check
 *	popped	58		pop  %rax		return address
 *		4c 8d 74 cc f8	lea  -8(%rsp,%rcx,8),%r14
 *		…					locals
 *	linked	50		push %rax
 *		55		push %rbp
 *		48 8b ec	mov  %rsp,%rbp
 *		41 55		push %r13
 *		…
 *	stored	53		push %rbx
 *
 * Exit of a method; other registers may be used instead of r13, and r11 instead of rbx:
 *
 *		c9		leave
 *		41 5d		pop  %r13		return address
 *		48 8b e3	mov  %rbx,%rsp
 *		41 ff e5	jmp  *%r13
 *
 * An adapter from the interpreter to compiled code (left) holds the return address in rax while it
 * aligns the stack. An adapter from compiled code to the interpreter (right) pops the return
 * address first and keeps the stack pointer in r13:
 *
 *		50		push %rax		58		pop  %rax
 *		49 8b c3	mov  %r11,%rax		4c 8b ec	mov  %rsp,%r13
 */
#ifndef ARCH_X86_64_HOTSPOT_H
#define ARCH_X86_64_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/registers.h"

#define ARCH_HOTSPOT_IS_KNOWN  1
#define ARCH_HOTSPOT_SENDER_SP (-1)
#define ARCH_HOTSPOT_METHOD    (-3)
#define ARCH_HOTSPOT_CACHE     (-6)
#define ARCH_HOTSPOT_BCP       (-8)
/* DWARF register numbers. */
#define ARCH_HOTSPOT_BCP_REG 13u
#define ARCH_HOTSPOT_RAX     0u
#define ARCH_HOTSPOT_RBX     3u
#define ARCH_HOTSPOT_R11     11u
#define ARCH_HOTSPOT_R13     13u

#define ARCH_HOTSPOT_NEAR	192u
#define ARCH_HOTSPOT_ENTRY	160u /* most bytes from `begin` to `stored` */
#define ARCH_HOTSPOT_CALL_BYTES 5u

/* Are the @count bytes at offset @at equal to @wanted? */
static inline bool arch_hotspot_is(
	const struct arch_hotspot_code *code, unsigned at, const uint8_t *wanted, unsigned count)
{
	if (at > code->end || code->end - at < count)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (code->bytes[at + i] != wanted[i])
			return false;
	return true;
}

/* Return the first offset in [@from, @to) of the @count bytes @wanted; @to if there is none. */
static inline unsigned arch_hotspot_seek(const struct arch_hotspot_code *code, unsigned from,
	unsigned to, const uint8_t *wanted, unsigned count)
{
	while (from < to && !arch_hotspot_is(code, from, wanted, count))
		from++;
	return from;
}

/* Offsets of the labels begin, popped, linked and stored of the comment above. */
struct arch_hotspot_entry {
	unsigned begin, popped, linked, stored;
};

static inline bool arch_hotspot_find_entry(
	const struct arch_hotspot_code *code, struct arch_hotspot_entry *out)
{
	static const uint8_t begin[] = {0x48, 0x8b, 0x53, 0x08, 0x0f, 0xb7, 0x4a};
	static const uint8_t popped[] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8};
	static const uint8_t linked[] = {0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55};
	static const uint8_t stored[] = {0x53, 0x48, 0x8b, 0x53, 0x08};
	unsigned from = code->at > ARCH_HOTSPOT_ENTRY ? code->at - ARCH_HOTSPOT_ENTRY : 0;
	unsigned found;

	/* Find the last entry sequence (label `begin`) at or before the pc. */
	out->begin = code->end;
	while ((found = arch_hotspot_seek(code, from, code->at + 1, begin, sizeof(begin))) <=
		code->at) {
		out->begin = found;
		from = found + 1;
	}
	if (out->begin == code->end)
		return false;
	out->popped = arch_hotspot_seek(code, out->begin, code->end, popped, sizeof(popped));
	out->linked = arch_hotspot_seek(code, out->popped, code->end, linked, sizeof(linked));
	out->stored = arch_hotspot_seek(code, out->linked, code->end, stored, sizeof(stored));
	return out->stored < code->end && out->stored - out->begin < ARCH_HOTSPOT_ENTRY &&
	       code->at <= out->stored;
}

static inline bool arch_hotspot_at_entry(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	uintptr_t sp = registers->r[ARCH_DWARF_SP], fp = registers->r[ARCH_DWARF_FP];
	struct arch_hotspot_entry entry;

	if (!arch_hotspot_find_entry(code, &entry))
		return false;
	*out = (struct arch_hotspot_edge){
		.sp = registers->r[ARCH_HOTSPOT_R13], .method = registers->r[ARCH_HOTSPOT_RBX]};
	if (code->at <= entry.popped || code->at == entry.linked + 1) {
		out->ra_at = sp;
	} else if (code->at <= entry.linked) {
		out->ra = registers->r[ARCH_HOTSPOT_RAX];
	} else if (code->at == entry.linked + 2) {
		out->ra_at = sp + 8;
		out->fp_at = sp;
	} else {
		out->ra_at = fp + 8;
		out->fp_at = fp;
		if (code->at >= entry.linked + 7) {
			out->sp = 0;
			out->sp_at = fp + ARCH_HOTSPOT_SENDER_SP * (intptr_t)sizeof(fp);
		}
	}
	return true;
}

/* Return a register by its number in instructions, which differs from DWARF's. */
static inline uintptr_t arch_hotspot_register(const struct arch_registers *registers, unsigned reg)
{
	static const uint8_t dwarf[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return registers->r[reg < 8 ? dwarf[reg] : reg];
}

/* Is the pc in the exit sequence `pop x`, `mov y,%rsp`, `jmp *x`? Then set @out to the caller. */
static inline bool arch_hotspot_at_exit(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	static const uint8_t from_rbx[] = {0x48, 0x8b, 0xe3}, from_r11[] = {0x49, 0x8b, 0xe3};
	const uint8_t *bytes = code->bytes;
	uintptr_t sp = registers->r[ARCH_DWARF_SP];
	unsigned at = code->at, popped = 16, rex;
	bool is_moved = at >= 3 && (arch_hotspot_is(code, at - 3, from_rbx, 3) ||
					   arch_hotspot_is(code, at - 3, from_r11, 3));

	if (code->end - at < 12)
		return false;
	rex = bytes[at] == 0x41;
	if (!is_moved && (bytes[at + rex] & 0xf8) == 0x58) {
		popped = (bytes[at + rex] & 7) + 8 * rex;
		at += rex + 1;
	}
	*out = (struct arch_hotspot_edge){.sp = sp};
	if (!is_moved) {
		if (arch_hotspot_is(code, at, from_rbx, 3))
			out->sp = registers->r[ARCH_HOTSPOT_RBX];
		else if (arch_hotspot_is(code, at, from_r11, 3))
			out->sp = registers->r[ARCH_HOTSPOT_R11];
		else
			return false;
		at += 3;
	}
	rex = bytes[at] == 0x41;
	if (bytes[at + rex] != 0xff || (bytes[at + rex + 1] & 0xf8) != 0xe0)
		return false;
	rex = (bytes[at + rex + 1] & 7) + 8 * rex;
	/* The popped frame's words below sp are still intact, because they are in the red zone. */
	if (popped < 16) {
		out->ra_at = sp;
		out->method_at = sp + (ARCH_HOTSPOT_METHOD - 1) * (intptr_t)sizeof(sp);
	} else {
		out->ra = arch_hotspot_register(registers, rex);
		if (!is_moved)
			out->method_at = sp + (ARCH_HOTSPOT_METHOD - 2) * (intptr_t)sizeof(sp);
	}
	return popped == 16 || popped == rex;
}

static inline bool arch_hotspot_interpreter_edge(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	return arch_hotspot_at_exit(code, registers, out) ||
	       arch_hotspot_at_entry(code, registers, out);
}

static inline bool arch_hotspot_adapter_edge(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	static const uint8_t loads[] = {0x48, 0x8b, 0x04, 0x24}; /* mov (%rsp),%rax */
	static const uint8_t pushes[] = {0x50, 0x49, 0x8b, 0xc3};
	static const uint8_t pops[] = {0x58, 0x4c, 0x8b, 0xec};
	unsigned near = code->at + 24 < code->end ? code->at + 24 : code->end;
	unsigned popped = arch_hotspot_seek(code, 0, code->at, pops, sizeof(pops));

	*out = (struct arch_hotspot_edge){.sp = registers->r[ARCH_DWARF_SP]};
	if (popped < code->at) {
		out->ra = registers->r[ARCH_HOTSPOT_RAX];
		if (code->at > popped + 1)
			out->sp = registers->r[ARCH_HOTSPOT_R13];
	} else if (!arch_hotspot_is(code, code->at, loads, sizeof(loads)) &&
		   arch_hotspot_seek(code, code->at, near, pushes, sizeof(pushes)) < near) {
		out->ra = registers->r[ARCH_HOTSPOT_RAX];
	} else {
		out->ra_at = out->sp;
		out->sp += sizeof(uintptr_t);
	}
	return true;
}

static inline bool arch_hotspot_call(
	const uint8_t before[ARCH_HOTSPOT_CALL_BYTES], uintptr_t pc, uintptr_t *target)
{
	uint32_t relative = before[1] | (uint32_t)before[2] << 8 | (uint32_t)before[3] << 16 |
			    (uint32_t)before[4] << 24;

	*target = 0;
	if (before[3] == 0xff && (before[4] & 0xf8) == 0xd0) /* call through a register */
		return true;
	*target = pc + (uintptr_t)(intptr_t)(int32_t)relative;
	return before[0] == 0xe8;
}

#endif
