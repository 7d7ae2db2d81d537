/* SPDX-License-Identifier: MIT */
/* Types of arch/epilogue.h: a piece of code, an instruction's effect, the way to the caller. */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* The longest epilogue on x86 has 37: six pops, vzeroupper, the JVM's safepoint check, return. */
#define ARCH_CODE_BYTES 48u

/* The readable code around a pc: bytes[0, end). The pc is bytes[at], and at <= end. */
struct arch_code {
	uint8_t bytes[ARCH_CODE_BYTES];
	unsigned at;
	unsigned end;
	/* the pc executes next; its function may not have begun, or called, yet */
	bool exact;
};

/* Returned by arch_syscall_before(), arch/syscall.h: the number is unknown. */
#define ARCH_SYSCALL_NUMBERLESS (-2)
/* Bytes of code to search for a call's number; one further ahead may belong to another call. */
#define ARCH_SYSCALL_CODE 64u

/* Code that is read word by word: addresses [start, end). */
struct arch_text {
	uintptr_t start, end;
	int (*read_word)(const void *context, uintptr_t address, uintptr_t *word); /* 0 or -errno */
	const void *context;
};

/* Read up to @room bytes of code at @address, as far as they are readable. Returns their number. */
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
 * The effect of an instruction on the stack pointer, the frame pointer and the next pc. "mark" is a
 * scratch register that holds a stack pointer, as loops use that probe the stack.
 */
enum arch_effect {
	/* size 0: not decoded; else it changes sp in an unknown way */
	ARCH_EFFECT_UNKNOWN,
	ARCH_EFFECT_NONE,
	ARCH_EFFECT_NOP,
	ARCH_EFFECT_SP,		/* sp += `value` */
	/* sp is rounded down to a multiple of `value` */
	ARCH_EFFECT_ALIGN,
	ARCH_EFFECT_SP_FROM_FP, /* sp = fp + `value` */
	ARCH_EFFECT_FP_FROM_SP, /* fp = sp + `value` */
	ARCH_EFFECT_PUSH_FP,
	ARCH_EFFECT_POP_FP,
	ARCH_EFFECT_LOAD_FP,	  /* fp = word at sp + `value` */
	ARCH_EFFECT_SAVE_FP,	  /* word at sp + `value` = fp */
	ARCH_EFFECT_CLOBBER_FP,	  /* fp gets another value */
	ARCH_EFFECT_LEAVE,	  /* SP_FROM_FP, then POP_FP */
	ARCH_EFFECT_MARK,	  /* mark = sp + `value` */
	ARCH_EFFECT_MOVE_MARK,	  /* mark += `value` */
	ARCH_EFFECT_COMPARE_MARK, /* sp is compared with mark */
	/* conditional jump to the next instruction + `value` */
	ARCH_EFFECT_BRANCH,
	ARCH_EFFECT_JUMP,	  /* jump to the next instruction + `value` */
	ARCH_EFFECT_JUMP_INDIRECT, /* jump through a register or memory */
	ARCH_EFFECT_CALL,	   /* call of the next instruction + `value` */
	ARCH_EFFECT_CALL_INDIRECT,
	ARCH_EFFECT_RETURN, /* pops `value` bytes of arguments, too */
	/* execution never continues behind it */
	ARCH_EFFECT_STOP,
};

struct arch_instruction {
	enum arch_effect effect;
	unsigned bytes;
	int32_t value;
};

/* The way from a pc to the caller. Offsets in bytes. */
struct arch_epilogue {
	/* from sp up to the CFA, which is the caller's sp */
	uint32_t cfa;
	/* from the return address up to the CFA; 0: still in its register */
	uint32_t ra;
	/* from the saved frame pointer up to the CFA; 0: still in its register */
	uint32_t fp;
	/* other registers of the caller are on the stack, too */
	bool others;
};

/* Input of arch/hotspot.h: code around the pc, which is bytes[at]. */
struct arch_hotspot_code {
	const uint8_t *bytes;
	unsigned at, end;
};

/*
 * Output of arch/hotspot.h: the caller of an activation that has no frame (yet, or any more). A
 * field `x_at` is the address of the value, for a field `x` of 0.
 */
struct arch_hotspot_edge {
	uintptr_t ra, ra_at; /* return address */
	uintptr_t sp, sp_at; /* the caller's stack pointer */
	/* address of the caller's saved frame pointer; 0: in its register */
	uintptr_t fp_at;
	/* the method that begins or ends; both 0: unknown */
	uintptr_t method, method_at;
};

#endif
