/* SPDX-License-Identifier: MIT */
/*
 * phases [MILLISECONDS]: linked with libflameprof. begin() runs before any call of the library,
 * hidden() between pause and resume, and shown() after resume, each for MILLISECONDS, with marks
 * between them. The program prints the result of each library call and the CPU time of each
 * function.
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
