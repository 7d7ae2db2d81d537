/* SPDX-License-Identifier: MIT */
/*
 * Compare the cost of walking a 36-frame stack in a signal handler, from the ucontext, with
 * libunwind's in the same process: with warm caches, and with empty caches of the unwinder (the
 * tables are still in the CPU's caches). Then walk 500 frames. Prints medians and ratios; asserts
 * nothing.
 *
 *	cc -O2 -std=gnu11 -D_GNU_SOURCE -I. -Iarch/$(uname -m) -fomit-frame-pointer \
 *		-o bench-unwind tests/bench/bench-unwind.c -lunwind && ./bench-unwind
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/unwind-oracle.h"

/* frames of main, its three callers, the measuring function, and two in raise() */
#define OTHERS 7
#define FRAMES 512
#define ROUNDS 2000

enum method { CORE_WARM, CORE_COLD, STEP_WARM, STEP_COLD, BACKTRACE_WARM, METHODS };

static const char *const names[METHODS] = {
	"core, warm", "core, cold", "unw_step, warm", "unw_step, cold", "unw_backtrace, warm"};
static double samples_ns[METHODS][ROUNDS];
static unsigned counts[METHODS], rounds;
static volatile int sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void core(ucontext_t *context, bool cold, double *took_ns, unsigned *count)
{
	static uint64_t frames[FRAMES];
	struct arch_registers registers;
	struct unwind_window window;

	if (cold)
		memset(&unwind_rowcache, 0, sizeof(unwind_rowcache));

	double start_ns = now_ns();

	arch_registers_from_ucontext(&registers, context);
	unwind_window_init(&window, 0);
	*count = unwind_walk(&registers, &oracle_bounds, frames, FRAMES, &window).frames;
	*took_ns = now_ns() - start_ns;
}

static void step(ucontext_t *context, bool cold, double *took_ns, unsigned *count)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	unsigned frames = 0;

	if (cold)
		unw_flush_cache(unw_local_addr_space, 0, 0);

	double start_ns = now_ns();

	unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		frames++;
	} while (unw_step(&cursor) > 0);
	*took_ns = now_ns() - start_ns;
	*count = frames;
}

/*
 * Measure unw_backtrace(), which can only begin here, inside the handler. Its per-thread cache
 * stays warm.
 */
static void backtrace_here(double *took_ns, unsigned *count)
{
	void *pcs[FRAMES];

	double start_ns = now_ns();

	*count = (unsigned)unw_backtrace(pcs, FRAMES);
	*took_ns = now_ns() - start_ns;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	for (unsigned i = 0; i < rounds; i++) {
		core(context, false, &samples_ns[CORE_WARM][i], &counts[CORE_WARM]);
		step(context, false, &samples_ns[STEP_WARM][i], &counts[STEP_WARM]);
		backtrace_here(&samples_ns[BACKTRACE_WARM][i], &counts[BACKTRACE_WARM]);
	}
	for (unsigned i = 0; i < rounds; i++) {
		core(context, true, &samples_ns[CORE_COLD][i], &counts[CORE_COLD]);
		step(context, true, &samples_ns[STEP_COLD][i], &counts[STEP_COLD]);
	}
}

/*
 * The recursion goes through 32 functions, because one cached unwind row would serve all frames of
 * one function.
 */
static int descend(int depth);

#define LEVEL(n)                                                                                   \
	static __attribute__((noinline)) int level##n(int depth)                                  \
	{                                                                                          \
		volatile char local[16 + 16 * n] = {0};                                            \
		int result = descend(depth - 1) + local[0];                                        \
		sink = result;                                                                     \
		return result;                                                                     \
	}
#define FOUR_LEVELS(a, b, c, d) LEVEL(a) LEVEL(b) LEVEL(c) LEVEL(d)
FOUR_LEVELS(0, 1, 2, 3)
FOUR_LEVELS(4, 5, 6, 7)
FOUR_LEVELS(8, 9, 10, 11)
FOUR_LEVELS(12, 13, 14, 15)
FOUR_LEVELS(16, 17, 18, 19)
FOUR_LEVELS(20, 21, 22, 23)
FOUR_LEVELS(24, 25, 26, 27)
FOUR_LEVELS(28, 29, 30, 31)

#define FOUR_NAMES(a, b, c, d) level##a, level##b, level##c, level##d
static int (*const levels[])(int) = {FOUR_NAMES(0, 1, 2, 3), FOUR_NAMES(4, 5, 6, 7),
	FOUR_NAMES(8, 9, 10, 11), FOUR_NAMES(12, 13, 14, 15), FOUR_NAMES(16, 17, 18, 19),
	FOUR_NAMES(20, 21, 22, 23), FOUR_NAMES(24, 25, 26, 27), FOUR_NAMES(28, 29, 30, 31)};

static inline __attribute__((always_inline)) int descend(int depth)
{
	if (depth <= 0)
		return raise(SIGUSR1);
	return levels[depth % 32](depth);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void measure(unsigned frames, unsigned count)
{
	double median_ns[METHODS];

	rounds = count;
	descend((int)(frames - OTHERS));
	for (unsigned i = 0; i < METHODS; i++) {
		qsort(samples_ns[i], rounds, sizeof(double), ascending);
		median_ns[i] = samples_ns[i][rounds / 2];
		printf("%-22s %6u %10.0f %10.1f %8.1f\n", names[i], counts[i], median_ns[i],
			median_ns[i] / counts[i],
			median_ns[i] / median_ns[i % 2 ? CORE_COLD : CORE_WARM]);
	}
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	oracle_learn_bounds();
	sigaction(SIGUSR1, &action, NULL);
	printf("%-22s %6s %10s %10s %8s\n", "", "frames", "ns", "ns/frame", "x core");
	measure(36, ROUNDS);
	measure(500, ROUNDS / 8);
	return 0;
}
