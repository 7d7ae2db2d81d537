/* SPDX-License-Identifier: MIT */
/*
 * phases [MILLISECONDS]: links libflameprof. begin() runs before any request, hidden() between
 * pause and resume, shown() after resume, each for MILLISECONDS, with marks between them. Prints
 * the result of each call and the CPU time of each function.
 */
#include "libprof/flameprof.h"
#include "tests/targets/spin.h"

static unsigned milliseconds;

#define PHASE(name)                                                  \
	BOX static void name(void)                                   \
	{                                                            \
		uint64_t start = cpu_ns();                           \
                                                                     \
		spin_until(start + milliseconds * 1000000ull);       \
		tell(#name, cpu_ns() - start);                       \
	}
PHASE(begin)
PHASE(hidden)
PHASE(shown)

int main(int argc, char **argv)
{
	milliseconds = argument(argc, argv, 1, 500);
	begin();
	printf("pause %d\n", flameprof_pause());
	printf("mark %d\n", flameprof_mark("hidden begins"));
	hidden();
	printf("resume %d\n", flameprof_resume());
	printf("mark %d\n", flameprof_mark("shown begins"));
	shown();
	printf("mark %d\n", flameprof_mark("end; of \"all\""));
	return 0;
}
