/* SPDX-License-Identifier: MIT */
/*
 * A SIGTRAP behind every instruction, on x86_64, whose programs can set the flag by themselves.
 * Both spare the red zone below the stack pointer.
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
