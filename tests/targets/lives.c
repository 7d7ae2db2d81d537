/* SPDX-License-Identifier: MIT */
/*
 * lives N: N threads, one after another, asleep for 60 ms each. Of each a line "life TID NS NS": by
 * the clock on the wall it lived longer than the first, which it measured itself, and shorter than
 * the second, which is from before it was made until it was joined.
 */
#include <pthread.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *live(void *unused)
{
	uint64_t begin = now_ns();

	(void)unused;
	nanosleep(&(struct timespec){0, 60000000}, NULL);
	printf("life %d %llu", gettid(), (unsigned long long)(now_ns() - begin));
	return NULL;
}

int main(int argc, char **argv)
{
	for (unsigned left = argument(argc, argv, 1, 18); left; left--) {
		uint64_t begin = now_ns();
		pthread_t thread;

		if (pthread_create(&thread, NULL, live, NULL) || pthread_join(thread, NULL))
			return 1;
		printf(" %llu\n", (unsigned long long)(now_ns() - begin));
	}
	return 0;
}
