/* SPDX-License-Identifier: MIT */
/*
 * own_clock: stands before libc's clock, as sanitizers and libraries that fake the time do, while
 * some 300 ms are burned. Built with -rdynamic. Truth: nobody but the program asks it.
 */
#include "tests/targets/spin.h"

static volatile unsigned asked;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	asked++;
	*out = (struct timespec){.tv_sec = clock};
	return 0;
}

int main(void)
{
	spin(12000);
	printf("asked %u times\n", asked);
	return 0;
}
