/* SPDX-License-Identifier: MIT */
/*
 * Set and clear the trap flag, which makes the CPU raise SIGTRAP after every instruction. Only
 * x86_64 programs can set it themselves. Both macros keep the red zone below the stack pointer
 * intact.
 */
#ifndef TESTS_UNIT_TRAP_FLAG_H
#define TESTS_UNIT_TRAP_FLAG_H

#if defined(__x86_64__)

static inline __attribute__((always_inline)) void trap_flag_set(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static inline __attribute__((always_inline)) void trap_flag_clear(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}

#endif

#endif
