/* SPDX-License-Identifier: MIT */
/*
 * How the target programs burn CPU time and print their true distribution: one line "function
 * nanoseconds" of CPU time for each function, on stdout.
 */
#ifndef TARGETS_SPIN_H
#define TARGETS_SPIN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BOX __attribute__((noinline))

/*
 * Put this at the end of a function whose last statement is a call, so that the call does not
 * become a jump.
 */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

/*
 * Do @units of equal work: a chain of multiplications that is limited by latency, so that its time
 * does not depend on alignment. One unit takes some 25 us at 3 GHz.
 */
__attribute__((always_inline)) static inline void spin(unsigned units)
{
	uint64_t x = units;

	for (uint64_t i = 0; i < 20000ULL * units; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
}

/*
 * Return a random number from @lo to @hi. Work of random length keeps a periodic sampler from
 * running in step with a loop.
 */
static inline unsigned spin_random(unsigned lo, unsigned hi)
{
	static __thread uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return lo + (unsigned)(state % (hi - lo + 1));
}

static inline uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Burn until the thread has used @until_ns of CPU time. Reading a thread's CPU time is a system
 * call, at whose end the kernel takes the CPU away if the time slice is used up. On a busy machine,
 * a thread that reads it all the time would lose the CPU before each timer tick and get no samples.
 * So read it at most every 8 ms, which is two ticks at 250 Hz.
 */
__attribute__((always_inline)) static inline void spin_until(uint64_t until_ns)
{
	for (uint64_t now_ns = cpu_ns(); now_ns < until_ns; now_ns = cpu_ns()) {
		uint64_t left_ns = until_ns - now_ns;

		spin(left_ns < 8000000 ? 1 + (unsigned)(left_ns / 25000) : 320);
	}
}

/* Return the number in argv[@i]; if there is none, @otherwise. */
static inline unsigned argument(int argc, char **argv, int i, unsigned otherwise)
{
	return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

static inline void tell(const char *function, uint64_t ns)
{
	printf("%s %llu\n", function, (unsigned long long)ns);
	fflush(stdout);
}

#endif
