/* SPDX-License-Identifier: MIT */
/*
 * A piece of code and what it tells of the way to its caller: what arch/epilogue.h is given and
 * answers.
 */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Six registers popped, vzeroupper, the JVM's check for a safepoint, and the return: 37 on x86. */
#define ARCH_CODE_BYTES 48u

/* What could be read around a pc: bytes[0, end), the pc at `at`, which is below or at `end`. */
struct arch_code {
	uint8_t bytes[ARCH_CODE_BYTES];
	unsigned at;
	unsigned end;
	bool exact; /* the pc is about to run: the function may not have begun, or not called yet */
};

/* See arch_syscall_before(), arch/syscall.h. */
#define ARCH_SYSCALL_NUMBERLESS (-2)
/* So many bytes of code are looked at: what is set further ahead may be another call's number. */
#define ARCH_SYSCALL_CODE 64u

/* Code that may be read piece by piece: addresses [start, end). */
struct arch_text {
	uintptr_t start, end;
	int (*read_word)(const void *context, uintptr_t address, uintptr_t *word); /* 0 or -errno */
	const void *context;
};

/* Read what is there of @room bytes of code at @address. Returns how many. */
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

/* What one instruction does to stack pointer, frame pointer and the way on. */
enum arch_effect {
	ARCH_EFFECT_UNKNOWN, /* of 0 bytes: not known at all; else a stack pointer nobody knows */
	ARCH_EFFECT_NONE,
	ARCH_EFFECT_NOP,
	ARCH_EFFECT_SP,		/* `value` is added to it */
	ARCH_EFFECT_ALIGN,	/* it is rounded down to a multiple of `value` */
	ARCH_EFFECT_SP_FROM_FP, /* it becomes the frame pointer and `value` */
	ARCH_EFFECT_FP_FROM_SP, /* the other way round */
	ARCH_EFFECT_PUSH_FP,
	ARCH_EFFECT_POP_FP,
	ARCH_EFFECT_LOAD_FP,	  /* from `value` above the stack pointer */
	ARCH_EFFECT_SAVE_FP,	  /* to there */
	ARCH_EFFECT_LOSE_FP,	  /* another value is written to it */
	ARCH_EFFECT_LEAVE,	  /* SP_FROM_FP, then POP_FP */
	ARCH_EFFECT_MARK,	  /* the stack pointer and `value` are kept in a scratch register */
	ARCH_EFFECT_MOVE_MARK,	  /* `value` is added to what is there */
	ARCH_EFFECT_COMPARE_MARK, /* the stack pointer is compared with it */
	ARCH_EFFECT_BRANCH,	  /* perhaps; by `value` from the next instruction */
	ARCH_EFFECT_JUMP,	  /* always; as a branch */
	ARCH_EFFECT_JUMP_ANYWHERE, /* to where only a register knows */
	ARCH_EFFECT_CALL,	   /* as a jump */
	ARCH_EFFECT_CALL_ANYWHERE,
	ARCH_EFFECT_RETURN, /* and takes `value` bytes of arguments away */
	ARCH_EFFECT_STOP,   /* nothing comes after it */
};

struct arch_instruction {
	enum arch_effect effect;
	unsigned bytes;
	int32_t value;
};

/* Offsets in bytes. */
struct arch_epilogue {
	uint32_t cfa; /* from the stack pointer to the CFA, the caller's stack pointer */
	uint32_t ra;  /* from the return address to the CFA; 0: it is in its register */
	uint32_t fp;  /* from the caller's frame pointer to the CFA; 0: it is in its register */
	bool others;  /* other registers of the caller are on the stack, too */
};

/* What arch/hotspot.h is given: code around the pc, which is bytes[at]. */
struct arch_hotspot_code {
	const uint8_t *bytes;
	unsigned at, end;
};

/* And answers: where the caller of an activation without a frame is. */
struct arch_hotspot_edge {
	uintptr_t ra, ra_at; /* the return address, or 0 and where it lies */
	uintptr_t sp, sp_at; /* the caller's stack pointer, the same way */
	uintptr_t fp_at;     /* where its frame pointer is saved; 0: it still has it */
	uintptr_t method, method_at; /* what is begun, or is just over; 0: neither is told */
};

#endif
