/* SPDX-License-Identifier: MIT */
/* Whether arch_intercept_slow() has the vectors of SVE to save. */
#include "arch/intercept.h"

#include <stdint.h>
#include <sys/auxv.h>

/* Read by arch_intercept_slow(); atomic. */
extern uint32_t arch_intercept_save_sve;
uint32_t arch_intercept_save_sve;

void arch_intercept_prepare(void)
{
	__atomic_store_n(&arch_intercept_save_sve, (getauxval(AT_HWCAP) & HWCAP_SVE) != 0,
		__ATOMIC_RELAXED);
}
