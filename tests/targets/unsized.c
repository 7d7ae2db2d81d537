/* SPDX-License-Identifier: MIT */
/*
 * unsized MS: use a third of MS each in `near` (assembly without symbol type and size), in a C
 * function after it, and in an assembly routine far behind it. If the other symbols are stripped,
 * `near` is the last name before all three.
 */
#include "tests/targets/spin.h"

#if defined(__x86_64__)
#define COUNT_DOWN "1: dec %rdi\n\tjnz 1b\n\tret\n"
#else
#define COUNT_DOWN "1: subs x0, x0, #1\n\tb.ne 1b\n\tret\n"
#endif

__asm__(".text\n"
	".globl near\n"
	".balign 16\n"
	"near:\n\t" COUNT_DOWN
	".skip 8192\n"
	".Lfar:\n\t" COUNT_DOWN
	".balign 16\n"
	".data\n"
	".balign 8\n"
	".globl far_routine\n"
	"far_routine: .quad .Lfar\n"
	".text\n");

extern void near(uint64_t count);
extern void (*const volatile far_routine)(uint64_t count) __attribute__((visibility("hidden")));

static BOX void behind(uint64_t count)
{
	spin((unsigned)(count / 20000));
}

static uint64_t time_of(void (*function)(uint64_t), uint64_t ns)
{
	uint64_t begin = cpu_ns();

	while (cpu_ns() - begin < ns)
		function(10000000);
	return cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	uint64_t ns = argument(argc, argv, 1, 3000) * 1000000ULL / 3;

	tell("near", time_of(near, ns));
	tell("behind", time_of(behind, ns));
	tell("far", time_of(far_routine, ns));
	return 0;
}
