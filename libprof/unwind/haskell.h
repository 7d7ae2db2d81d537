/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: as walk.h. */
/*
 * Read frames on the stacks of GHC, the Haskell compiler. GHC's code has no call-frame information
 * and uses the machine's stack only to call C. A Haskell thread has its own stack in the heap; one
 * register holds its stack pointer (rbp on x86_64). Each frame begins with a return address. A
 * table before the code to which the frame returns has the frame's size:
 *
 *	sp + 0    return address ─▶ code    -16  bitmap with the size in 6 bits, or its offset
 *	sp + 8    payload                    -8  type, 4 bytes
 *	sp + 8n   the caller's frame         -4  (not used)
 *
 * Source: rts/include/rts/storage/InfoTables.h, ClosureTypes.h and Closures.h of GHC 9.0 to 9.6.
 */
#ifndef LIBPROF_UNWIND_HASKELL_H
#define LIBPROF_UNWIND_HASKELL_H

#include <errno.h>
#include <stdint.h>

#include "libprof/unwind/load.h"

enum haskell_type {
	/* A frame of GHC's byte code. It cannot be read, because its size is in the byte code. */
	HASKELL_RET_BCO = 29,
	HASKELL_RET_SMALL,
	HASKELL_RET_BIG,
	HASKELL_RET_FUN,
	HASKELL_UPDATE,
	HASKELL_CATCH,
	/* The stack continues in another chunk. */
	HASKELL_UNDERFLOW,
	HASKELL_STOP,	   /* the outermost frame */
};

#define HASKELL_SIZE_MAX  (1u << 16) /* words of one frame */
/* Offset of the stack pointer in StgStack, which is a chunk of a stack. */
#define HASKELL_CHUNK_SP  16u
#define HASKELL_OUTERMOST 1

/*
 * Read the frame at @sp.
 *
 * @pc         gets the return address
 * @caller_sp  gets the address of the caller's frame
 *
 * Returns 0; HASKELL_OUTERMOST if there is no caller; -ENOENT if there is no valid frame. Unless
 * the result is 0, nothing is written.
 * Context: signal-safe.
 */
static inline int haskell_read_frame(
	const struct unwind_memory *memory, uintptr_t sp, uintptr_t *pc, uintptr_t *caller_sp)
{
	uintptr_t code, layout, word, size;

	if (sp % sizeof(word) || unwind_load(memory, sp, &code) || code % sizeof(word) ||
		unwind_load(memory, code - 2 * sizeof(word), &layout) ||
		unwind_load(memory, code - sizeof(word), &word))
		return -ENOENT;
	switch ((uint32_t)word) {
	case HASKELL_STOP:
		return layout ? -ENOENT : HASKELL_OUTERMOST;
	case HASKELL_RET_SMALL:
	case HASKELL_UPDATE:
	case HASKELL_CATCH:
		size = 1 + layout % 64;
		break;
	case HASKELL_RET_BIG:
		if (unwind_load(memory, code + (uintptr_t)(intptr_t)(int32_t)layout, &size))
			return -ENOENT;
		size++;
		break;
	case HASKELL_RET_FUN:
		if (unwind_load(memory, sp + sizeof(word), &size))
			return -ENOENT;
		size += 3;
		break;
	case HASKELL_UNDERFLOW:
		*pc = code;
		return unwind_load(memory, sp + sizeof(word), &word) ||
				       unwind_load(memory, word + HASKELL_CHUNK_SP, caller_sp)
			       ? -ENOENT
			       : 0;
	default:
		return -ENOENT;
	}
	if (size - 1 >= HASKELL_SIZE_MAX)
		return -ENOENT;
	*pc = code;
	*caller_sp = sp + size * sizeof(word);
	return 0;
}

#endif
