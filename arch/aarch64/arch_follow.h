/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: does nothing. */
/*
 * Hand-written code on aarch64 keeps frame pointers or leaves its return address in its register,
 * where arch_epilogue.h finds it at the end: the rest is left to who follows frame pointers.
 */
#ifndef ARCH_AARCH64_FOLLOW_H
#define ARCH_AARCH64_FOLLOW_H

#include <errno.h>
#include <stdint.h>

#include "arch/code.h"

static inline int arch_follow_code(
	const struct arch_text *source, uintptr_t pc, struct arch_epilogue *epilogue)
{
	(void)source, (void)pc, (void)epilogue;
	return -ENOENT;
}

#endif
