/* SPDX-License-Identifier: MIT */
/*
 * lives N: run N threads, one after the other, that sleep for 60 ms each. The program prints "life
 * TID LEAST MOST" for each, in ns of elapsed time. LEAST was measured by the thread itself; MOST is
 * the time from before its creation until it was joined.
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
