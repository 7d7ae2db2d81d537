/* SPDX-License-Identifier: MIT */
/*
 * odd_registers [MILLISECONDS]: main -> odd_outer -> odd_inner -> odd_work. odd_registers.S
 * contains odd_outer and odd_inner. All time is in odd_work, except for a little in main.
 */
#include "tests/targets/spin.h"

void odd_outer(void);
void odd_work(void);

BOX void odd_work(void)
{
	spin(200);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;

	while (cpu_ns() < limit_ns)
		odd_outer();
	return 0;
}
