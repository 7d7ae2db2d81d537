/* SPDX-License-Identifier: MIT */
/*
 * turns [MILLISECONDS]: two threads, if possible on different CPUs, pass a token to each other. The
 * thread with the token works for some 2 ms in first(), middle() and last(). A sampler that moves
 * to a thread's CPU after it has seen the thread run finds only the end of the thread's turn.
 * The program prints the CPU time of each function, summed over both threads: a third each.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "tests/targets/spin.h"

#define UNITS_MIN 10u
#define UNITS_MAX 40u

static sem_t turn[2];
static uint64_t spent_ns[3], limit_ns; /* protected by the token */

#define PART(name)                                                                                 \
	BOX static void name(unsigned units)                                                       \
	{                                                                                          \
		spin(units);                                                                       \
		KEEP_FRAME();                                                                      \
	}
PART(first)
PART(middle)
PART(last)

static void (*volatile part[])(unsigned units) = {first, middle, last};

static void account_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *run(void *number)
{
	unsigned me = (unsigned)(uintptr_t)number, go_on = 1;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && found++ == me)
			account_on(cpu);
	while (go_on) {
		uint64_t start;

		while (sem_wait(&turn[me]))
			;
		start = cpu_ns();
		for (unsigned i = 0; i < 3; i++) {
			uint64_t end;

			part[i](spin_random(UNITS_MIN, UNITS_MAX));
			end = cpu_ns();
			spent_ns[i] += end - start;
			start = end;
		}
		go_on = spent_ns[0] + spent_ns[1] + spent_ns[2] < limit_ns;
		sem_post(&turn[!me]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	limit_ns = argument(argc, argv, 1, 6000) * 1000000ULL;
	for (unsigned i = 0; i < 2; i++)
		sem_init(&turn[i], 0, !i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	tell("first", spent_ns[0]);
	tell("middle", spent_ns[1]);
	tell("last", spent_ns[2]);
	return 0;
}
