/* SPDX-License-Identifier: MIT */
/*
 * split [MILLISECONDS]: one thread, two functions that take turns.
 * Truth: heavy does twice the work of light: 2/3 and 1/3 of the time, both called by main.
 */
#include "tests/targets/spin.h"

BOX static void light(unsigned units)
{
	spin(units);
}

BOX static void heavy(unsigned units)
{
	spin(2 * units);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 4000) * 1000000ULL;
	uint64_t heavy_ns = 0;
	uint64_t light_ns = 0;

	while (heavy_ns + light_ns < limit_ns) {
		unsigned units = spin_random(20, 200);
		uint64_t start = cpu_ns();
		heavy(units);
		uint64_t middle = cpu_ns();
		light(units);
		light_ns += cpu_ns() - middle;
		heavy_ns += middle - start;
	}
	tell("heavy", heavy_ns);
	tell("light", light_ns);
	return 0;
}
