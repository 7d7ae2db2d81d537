/* SPDX-License-Identifier: MIT */
/*
 * sleeps MS: sleep 30 ms in `short_sleep`, then 300 ms in `long_sleep`, repeatedly for MS. The
 * program prints the elapsed time spent in each.
 */
#include "tests/targets/spin.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static BOX void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
	KEEP_FRAME();
}

static BOX void short_sleep(void)
{
	sleep_ms(30);
	KEEP_FRAME();
}

static BOX void long_sleep(void)
{
	volatile char room[256]; /* moves sleep_ms() on the stack */

	room[0] = 0;
	sleep_ms(300);
	room[1] = room[0];
}

int main(int argc, char **argv)
{
	uint64_t begin = now_ns(), short_ns = 0, long_ns = 0;
	uint64_t ns = argument(argc, argv, 1, 3000) * 1000000ULL;

	while (now_ns() - begin < ns) {
		uint64_t at = now_ns(), middle;

		short_sleep();
		middle = now_ns();
		long_sleep();
		short_ns += middle - at;
		long_ns += now_ns() - middle;
	}
	tell("short_sleep", short_ns);
	tell("long_sleep", long_ns);
	return 0;
}
