/* SPDX-License-Identifier: MIT */
/*
 * inlined [MILLISECONDS]: one thread runs light() and heavy() in turns. Both are inlined into
 * main(), and spin() of spin.h into both. light() is also called through a pointer.
 * heavy has half of the time, inlined light and called light a quarter each.
 */
#include "tests/targets/spin.h"

#define INLINED __attribute__((always_inline)) static inline

INLINED void light(unsigned units)
{
	spin(units); /* light's call */
}

INLINED void heavy(unsigned units)
{
	spin(2 * units); /* heavy's call */
}

/* Volatile, so that the compiler cannot inline the call through it. */
static void (*volatile called)(unsigned units) = light;

/* Turns between two reads of the clock, so that reading it takes almost no time. */
#define TURNS_PER_LOOK 16

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 4000) * 1000000ULL;
	uint64_t start = cpu_ns();
	uint64_t used_ns = 0;

	while (used_ns < limit_ns) {
		for (int turn = 0; turn < TURNS_PER_LOOK; turn++) {
			unsigned units = spin_random(20, 200);

			heavy(units); /* main's first */
			light(units); /* main's second */
			called(units); /* main's third */
		}
		used_ns = cpu_ns() - start;
	}
	tell("heavy", used_ns / 2);
	tell("light", used_ns / 4);
	tell("called", used_ns / 4);
	return 0;
}
