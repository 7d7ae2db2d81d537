/* SPDX-License-Identifier: MIT */
/* idle: sleeps for 300 ms. Truth: almost no CPU time; exit status 7. */
#include <time.h>

int main(void)
{
	struct timespec rest = {0, 300000000};

	nanosleep(&rest, NULL);
	return 7;
}
