/* SPDX-License-Identifier: MIT */
/*
 * split [MILLISECONDS]: one thread runs light() and heavy() in turns, both called by main(). heavy
 * does twice the work of light, so they have 2/3 and 1/3 of the time.
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
 * Turns between two reads of the clock. Reading a thread's CPU time is a system call, at whose end
 * the kernel may take the CPU away on a busy machine. Turns would then begin at the kernel's timer
 * ticks, and functions that run for longer than a tick would have too many samples. So read the
 * clock once for many turns, and compute the shares from the work.
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
