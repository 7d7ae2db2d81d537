/* SPDX-License-Identifier: MIT */
/*
 * dlturns LIBRARY FUNCTION LIBRARY FUNCTION [MILLISECONDS]: two libraries take turns at one
 * address. Truth: each FUNCTION takes half of the time, and both were mapped at the same place: the
 * last line of output is "same" or "different".
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
	int same = 1;

	if (argc < 5)
		return 2;
	while (ns[0] + ns[1] < limit_ns) {
		unsigned units = spin_random(100, 800);
		for (int i = 0; i < 2; i++) {
			if (turn(argv[1 + 2 * i], argv[2 + 2 * i], units, &ns[i], &at[i]))
				return 1;
		}
		same &= at[0] == at[1];
	}
	tell(argv[2], ns[0]);
	tell(argv[4], ns[1]);
	puts(same ? "same" : "different");
	return 0;
}
