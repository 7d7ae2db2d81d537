/* SPDX-License-Identifier: MIT */
/*
 * left_out: linked with libflameprof and started paused. One thread sleeps all the time, in
 * other(). The main thread sleeps in before(), resumes sampling, sleeps in shown(), pauses
 * sampling, and sleeps in later(). The program prints for how long sampling was on.
 */
#include <pthread.h>
#include <unistd.h>

#include "libprof/flameprof.h"
#include "tests/targets/spin.h"

#define NAP(name, us)              \
	BOX static void name(void) \
	{                          \
		usleep(us);        \
		KEEP_FRAME();      \
	}
NAP(before, 500000)
NAP(shown, 700000)
NAP(later, 300000)
NAP(other_naps, 999999999)

static void *other(void *unused)
{
	other_naps();
	return unused;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void)
{
	pthread_t thread;
	uint64_t start_ns;

	pthread_create(&thread, NULL, other, NULL);
	before();
	start_ns = wall_ns();
	flameprof_resume();
	shown();
	flameprof_pause();
	tell("shown", wall_ns() - start_ns);
	later();
	return 0;
}
