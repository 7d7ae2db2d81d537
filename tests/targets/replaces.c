/* SPDX-License-Identifier: MIT */
/*
 * replaces LIBRARY FILE [NEW]: call turn() of LIBRARY for a while, rename NEW to FILE (without NEW,
 * delete FILE), and call turn() for as long again. All time is spent in LIBRARY.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define HALF_NS 200000000ULL

static void spend(void (*turn)(unsigned))
{
	uint64_t start = cpu_ns();

	while (cpu_ns() - start < HALF_NS)
		turn(400);
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*turn)(unsigned) = library ? (void (*)(unsigned))dlsym(library, "turn") : NULL;

	if (!turn)
		return 2;
	spend(turn);
	if (argc > 3 ? rename(argv[3], argv[2]) : unlink(argv[2]))
		return 3;
	spend(turn);
	return 0;
}
