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

/*
 * The clock of a thread is read by a system call, and where others want the CPU the kernel takes it
 * away at the end of one: then turns begin with the kernel's ticks, and what takes longer than a
 * tick is seen too often. So it is read once for many turns, and the work says how the time was
 * shared.
 */
#define TURNS_PER_LOOK 16

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 4000) * 1000000ULL;
	uint64_t start = cpu_ns();
	uint64_t used_ns = 0;

	while (used_ns < limit_ns) {
		for (int turn = 0; turn < TURNS_PER_LOOK; turn++) {
			unsigned units = spin_random(20, 200);

			heavy(units);
			light(units);
		}
		used_ns = cpu_ns() - start;
	}
	tell("heavy", used_ns / 3 * 2);
	tell("light", used_ns / 3);
	return 0;
}
