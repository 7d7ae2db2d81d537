/* SPDX-License-Identifier: MIT */
/*
 * short_threads [THREADS [MICROSECONDS]]: run threads, one after the other, that live for
 * MICROSECONDS of CPU time (default: 5 ms). All time is in short_life. The kernel delivers little
 * more than half of the samples that are due in such short threads, so the profiler must add most
 * of the missing weight.
 */
#include <pthread.h>

#include "tests/targets/spin.h"

static uint64_t spent_ns, life_ns = 5000000;

BOX static void short_life(void)
{
	spin_until(cpu_ns() + life_ns);
}

static void *run(void *unused)
{
	(void)unused;
	short_life();
	spent_ns += cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argument(argc, argv, 1, 600);

	life_ns = 1000ULL * argument(argc, argv, 2, 5000);

	for (unsigned i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	tell("short_life", spent_ns);
	return 0;
}
