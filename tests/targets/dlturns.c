/* SPDX-License-Identifier: MIT */
/*
 * dlturns LIBRARY FUNCTION LIBRARY FUNCTION [MILLISECONDS]: load two libraries in turns, so that
 * both get the same address. Each FUNCTION takes half of the time. The last line of output, "same N
 * of M", means that in N of M turns both were mapped at the same address. N is nearly M, because
 * another mapping may take the address between two turns.
 */
#include <dlfcn.h>

#include "tests/targets/spin.h"

static int turn(const char *path, const char *function, unsigned units, uint64_t *ns, void **at)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*work)(unsigned);

	if (!library || !(work = (void (*)(unsigned))dlsym(library, function))) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	uint64_t start = cpu_ns();
	work(units);
	*ns += cpu_ns() - start;
	*at = (void *)work;
	return dlclose(library) || dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 5, 2000) * 1000000ULL;
	uint64_t ns[2] = {0, 0};
	void *at[2];
	unsigned same = 0, turns = 0;

	if (argc < 5)
		return 2;
	while (ns[0] + ns[1] < limit_ns) {
		unsigned units = spin_random(100, 800);
		for (int i = 0; i < 2; i++) {
			if (turn(argv[1 + 2 * i], argv[2 + 2 * i], units, &ns[i], &at[i]))
				return 1;
		}
		same += at[0] == at[1];
		turns++;
	}
	tell(argv[2], ns[0]);
	tell(argv[4], ns[1]);
	printf("same %u of %u\n", same, turns);
	return 0;
}
