/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: works on the bytes it is given. Ruby on x86_64. Stack frame of the code that
 * YJIT of Ruby 3.1 generates:
 *
 *	sp + 24  return address into the interpreter
 *	sp + 16  saved r13, which holds the control frame
 *	sp +  8  saved r12, the execution context
 *	sp       saved rbx, the top of the value stack
 *
 * sp is lower by 16 bytes around some calls, and higher at the code's begin and end. Methods that
 * this code calls get a control frame but no stack frame. The control frame first becomes the
 * innermost and is filled in later:
 *
 *	sub  $0x40,%r13			49 83 ed 40		of a Ruby method
 *	mov  %r13,0x10(%r12)		4d 89 6c 24 10		make it the innermost
 *	…
 *	mov  %rax,0x10(%r13)		49 89 45 10		store its iseq
 *
 *	subq $0x40,0x10(%r12)		49 83 6c 24 10 40	of a C function; the innermost
 *	…
 *	mov  %rax,0x20(%rcx)		48 89 41 20		store its kind
 */
#ifndef ARCH_X86_64_RUBY_H
#define ARCH_X86_64_RUBY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARCH_RUBY_IS_KNOWN   1
#define ARCH_RUBY_LOAD_BYTES 11u
#define ARCH_RUBY_CALL_BYTES 5u
#define ARCH_RUBY_CALL_STEP  1u
#define ARCH_RUBY_HAS_YJIT   1
#define ARCH_RUBY_CODE_BYTES 72u
#define ARCH_RUBY_SLOTS	     24, 40, 16, 8, 0

static inline uintptr_t arch_ruby_loaded(const uint8_t *code, uintptr_t address)
{
	int32_t distance;

	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4)) { /* endbr64 */
		code += 4;
		address += 4;
	}
	if (code[0] == 0x48) { /* 64-bit operand */
		code++;
		address++;
	}
	/* mov or lea with the operand distance(%rip), into one of the first eight registers */
	if ((code[0] != 0x8b && code[0] != 0x8d) || (code[1] & 0xc7) != 0x05)
		return 0;
	memcpy(&distance, code + 2, sizeof(distance));
	return address + 6 + (uintptr_t)(intptr_t)distance;
}

/* call or jmp distance		e8 .. .. .. .., e9 .. .. .. .. */
static inline uintptr_t arch_ruby_target(const uint8_t *code, uintptr_t address)
{
	int32_t distance;

	if (code[0] != 0xe8 && code[0] != 0xe9)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return address + ARCH_RUBY_CALL_BYTES + (uintptr_t)(intptr_t)distance;
}

/*
 * Returns true if the store that fills in a new control frame comes before the instruction that
 * makes the next control frame the innermost.
 */
static inline bool arch_ruby_is_pushing(const uint8_t *code, unsigned bytes)
{
	for (unsigned i = 0; i + 4 <= bytes; i++) {
		if (!memcmp(code + i, "\x49\x89\x45\x10", 4) ||
			!memcmp(code + i, "\x48\x89\x41\x20", 4))
			return true;
		if (i + 5 <= bytes && (!memcmp(code + i, "\x4d\x89\x6c\x24\x10", 5) ||
					      !memcmp(code + i, "\x49\x83\x6c\x24\x10", 5)))
			return false;
	}
	return false;
}

#endif
