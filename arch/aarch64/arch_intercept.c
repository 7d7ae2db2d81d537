/* SPDX-License-Identifier: MIT */
/* Whether arch_intercept_slow() has the vectors of SVE to save. */
#include "arch/intercept.h"

#include <stdint.h>
#include <sys/auxv.h>

/* Read by arch_intercept_slow(); atomic. */
extern void (*arch_intercept_take)(void);
void (*arch_intercept_take)(void);
extern uint32_t arch_intercept_save_sve;
uint32_t arch_intercept_save_sve;

void arch_intercept_prepare(void (*take)(void))
{
	__atomic_store_n(&arch_intercept_take, take, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_sve, (getauxval(AT_HWCAP) & HWCAP_SVE) != 0,
		__ATOMIC_RELAXED);
}
