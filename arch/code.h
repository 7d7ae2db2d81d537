/* SPDX-License-Identifier: MIT */
/*
 * Types for decoding machine code: a range of code, the effect of an instruction, and where the
 * registers of the caller are.
 */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes of code around a pc. The longest epilogue on x86 has 37: six pops, vzeroupper, the JVM's
 * safepoint check, return.
 */
#define ARCH_CODE_BYTES 48u

/* The readable code around a pc: bytes[0, end). bytes[at] is the byte at the pc. */
struct arch_code {
	uint8_t bytes[ARCH_CODE_BYTES];
	unsigned at;
	unsigned end;
	/* true: bytes[at] executes next, maybe as a function's first; false: it follows a call */
	bool exact;
};

/* Result of arch_syscall_before(): there is a system call, but its number is unknown. */
#define ARCH_SYSCALL_NUMBERLESS (-2)
/* Search this many bytes for a call's number; one farther away may belong to another call. */
#define ARCH_SYSCALL_CODE 64u

/* Code at the addresses [start, end), which is read word by word. */
struct arch_text {
	uintptr_t start, end;
	/* reads one word; returns 0 or -errno */
	int (*read_word)(const void *context, uintptr_t address, uintptr_t *word);
	const void *context;
};

/*
 * Copy up to @room bytes of code from @address, ending before the first unreadable word. Return the
 * number of bytes.
 */
static inline unsigned arch_text_read(
	const struct arch_text *source, uintptr_t address, uint8_t *bytes, unsigned room)
{
	uintptr_t word;
	unsigned count = 0;

	while (count < room && address >= source->start && address < source->end) {
		unsigned skip = (unsigned)(address & (sizeof(word) - 1));

		if (source->read_word(source->context, address - skip, &word))
			break;
		for (; skip < sizeof(word) && count < room && address < source->end;
			skip++, address++)
			bytes[count++] = (uint8_t)(word >> 8 * skip);
	}
	return count;
}

/*
 * The effect of an instruction on the stack pointer (sp), the frame pointer (fp) and the next pc.
 * "mark" is a scratch register that holds a stack pointer; loops that probe the stack use one.
 */
enum arch_effect {
	/* instruction size 0: not decoded; other sizes: it changes sp in an unknown way */
	ARCH_EFFECT_UNKNOWN,
	ARCH_EFFECT_NONE,
	ARCH_EFFECT_NOP,
	ARCH_EFFECT_SP, /* sp += `value` */
	/* sp is rounded down to a multiple of `value` */
	ARCH_EFFECT_ALIGN,
	ARCH_EFFECT_SP_FROM_FP, /* sp = fp + `value` */
	ARCH_EFFECT_FP_FROM_SP, /* fp = sp + `value` */
	ARCH_EFFECT_PUSH_FP,
	ARCH_EFFECT_POP_FP,
	ARCH_EFFECT_LOAD_FP,	  /* fp = word at sp + `value` */
	ARCH_EFFECT_SAVE_FP,	  /* word at sp + `value` = fp */
	ARCH_EFFECT_CLOBBER_FP,	  /* fp gets an unknown value */
	ARCH_EFFECT_LEAVE,	  /* SP_FROM_FP followed by POP_FP */
	ARCH_EFFECT_MARK,	  /* mark = sp + `value` */
	ARCH_EFFECT_MOVE_MARK,	  /* mark += `value` */
	ARCH_EFFECT_COMPARE_MARK, /* sp is compared with mark */
	/* conditional jump to `value` bytes after the next instruction */
	ARCH_EFFECT_BRANCH,
	ARCH_EFFECT_JUMP,	   /* jump to `value` bytes after the next instruction */
	ARCH_EFFECT_JUMP_INDIRECT, /* jump through a register or memory */
	ARCH_EFFECT_CALL,	   /* call of the code `value` bytes after the next instruction */
	ARCH_EFFECT_CALL_INDIRECT,
	ARCH_EFFECT_RETURN, /* return that also pops `value` bytes of arguments */
	/* execution never continues after the instruction */
	ARCH_EFFECT_STOP,
};

struct arch_instruction {
	enum arch_effect effect;
	unsigned bytes;
	int32_t value;
};

/*
 * Where the caller's registers are, seen from a pc. The CFA is the caller's stack pointer. All
 * distances in bytes.
 */
struct arch_epilogue {
	/* distance from sp up to the CFA */
	uint32_t cfa;
	/* distance from the return address up to the CFA; 0: it is still in its register */
	uint32_t ra;
	/* distance from the saved frame pointer up to the CFA; 0: it is still in its register */
	uint32_t fp;
	/* the code also restores other registers of the caller from the stack */
	bool others;
};

/* Input of the functions of arch/hotspot.h: bytes[0, end), with the pc at bytes[at]. */
struct arch_hotspot_code {
	const uint8_t *bytes;
	unsigned at, end;
};

/*
 * Output of the functions of arch/hotspot.h: the caller of a method that has not pushed its stack
 * frame yet, or has popped it. If a field `x` is 0, its value must be read from the address `x_at`.
 */
struct arch_hotspot_edge {
	uintptr_t ra, ra_at; /* return address */
	uintptr_t sp, sp_at; /* the caller's stack pointer */
	/* address of the caller's saved frame pointer; 0: it is still in its register */
	uintptr_t fp_at;
	/* the method that is entered or left; unknown if both are 0 */
	uintptr_t method, method_at;
};

#endif
