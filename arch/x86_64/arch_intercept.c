/* SPDX-License-Identifier: MIT */
/*
 * How arch_intercept_slow() saves vector registers: in what way, which, and how many bytes that
 * takes. Source: Intel SDM 1, 13.2 and 13.4.3; SDM 2, CPUID leaf 0dh.
 */
#include "arch/intercept.h"

#include <cpuid.h>
#include <stdint.h>

#define ECX_OSXSAVE	 (1u << 27)
#define EAX_XSAVEC	 (1u << 1)
#define ECX_ALIGNED	 (1u << 1)
#define FXSAVE_BYTES	 512u
#define HEADER_BYTES	 64u

/*
 * x87, SSE, AVX, and three of AVX-512: what the C library's dynamic linker saves. Tiles of AMX,
 * which would be 8 KiB, are no results and belong to who called.
 */
#define STATES		 0xe7u
#define STATES_LAST	 7u

/* Read by arch_intercept_slow(); atomic. */
extern void (*arch_intercept_take)(void);
void (*arch_intercept_take)(void);
extern uint32_t arch_intercept_save_way, arch_intercept_save_mask, arch_intercept_save_bytes;
uint32_t arch_intercept_save_way;		     /* 0 fxsave, 1 xsave, 2 xsavec */
uint32_t arch_intercept_save_mask;
uint32_t arch_intercept_save_bytes = FXSAVE_BYTES;

static uint32_t enabled_states(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low & STATES;
}

/* Bytes of the area for @states: each where the CPU has it, or one behind the other. */
static uint32_t area_bytes(uint32_t states, int compact)
{
	uint32_t bytes = FXSAVE_BYTES + HEADER_BYTES;

	for (uint32_t state = 2; state <= STATES_LAST; state++) {
		uint32_t size, offset, flags, unused;

		if (!(states & 1u << state))
			continue;
		__cpuid_count(0xd, state, size, offset, flags, unused);
		if (!compact)
			bytes = offset + size > bytes ? offset + size : bytes;
		else if (flags & ECX_ALIGNED)
			bytes = ((bytes + 63) & ~63u) + size;
		else
			bytes += size;
	}
	return bytes;
}

void arch_intercept_prepare(void (*take)(void))
{
	uint32_t eax, ebx, ecx, edx;
	uint32_t way = 0, mask = 0, bytes = FXSAVE_BYTES;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & ECX_OSXSAVE &&
		__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx)) {
		way = eax & EAX_XSAVEC ? 2 : 1;
		mask = enabled_states();
		bytes = area_bytes(mask, way == 2);
	}
	__atomic_store_n(&arch_intercept_take, take, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_mask, mask, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_way, way, __ATOMIC_RELAXED);
}
