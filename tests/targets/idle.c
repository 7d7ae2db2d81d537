/* SPDX-License-Identifier: MIT */
/* idle: sleep for 300 ms and exit with status 7. The program uses almost no CPU time. */
#include <time.h>

int main(void)
{
	struct timespec rest = {0, 300000000};

	nanosleep(&rest, NULL);
	return 7;
}
