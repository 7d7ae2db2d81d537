/* SPDX-License-Identifier: MIT */
/*
 * Measure the cost of interrupt ticks: the timer thread's CPU time at a period of 10 ms with 1 and
 * 100 registered threads; a safe point without a tick; registering; and the time that a registered
 * thread adds to fork() and to fork() with exec. The sides of each comparison take turns. The
 * lowest value of each side is printed, because other load only adds time. Asserts nothing.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libprof/flameprof_vm.h"

#define PERIOD_NS 10000000u
#define TURNS	  15

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static double lowest(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[0];
}

static double middle(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static void on_ticks(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
}

static void must(int error)
{
	if (error)
		exit(1);
}

/* ---- the timer ------------------------------------------------------------------------------- */

#define THREADS_MAX 100
#define WATCHED_MS  200

static pthread_barrier_t begun, done;
static unsigned char flags[THREADS_MAX][64];

static void *machine(void *flag)
{
	must(flameprof_interrupt_register(flag));
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&done);
	return NULL;
}

/* Return the CPU use of the process while all its threads sleep, in percent of one CPU. */
static double used_by(unsigned threads)
{
	struct timespec rest = {0, WATCHED_MS * 1000000L};
	pthread_t ids[THREADS_MAX];
	double cpu_ns, elapsed_ns;

	pthread_barrier_init(&begun, NULL, threads + 1);
	pthread_barrier_init(&done, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		must(pthread_create(&ids[i], NULL, machine, flags[i]));
	pthread_barrier_wait(&begun);
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	elapsed_ns = clock_ns(CLOCK_MONOTONIC);
	nanosleep(&rest, NULL);
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	elapsed_ns = clock_ns(CLOCK_MONOTONIC) - elapsed_ns;
	pthread_barrier_wait(&done);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 100 * cpu_ns / elapsed_ns;
}

static void bench_timer(void)
{
	static const unsigned counts[] = {0, 1, 100};
	double used[3][TURNS];

	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned side = 0; side < 3; side++)
			used[side][turn] = used_by(counts[side]);
	for (unsigned side = 0; side < 3; side++) {
		double percent = middle(used[side], TURNS);

		printf("10 ms ticks, %3u sleeping threads   %8.4f %% of a CPU, %6.2f us a tick\n",
			counts[side], percent, percent / 100 * PERIOD_NS / 1e3);
	}
}

/* ---- the thread ------------------------------------------------------------------------------ */

#define CHECKS	  10000000u
#define REGISTERS 2000u

static void bench_thread(void)
{
	double empty[TURNS], checks[TURNS], registers[TURNS];

	must(flameprof_interrupt_register(flags[0]));
	for (unsigned turn = 0; turn < TURNS; turn++) {
		double start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), middle_ns;

		for (unsigned i = 0; i < CHECKS; i++)
			__asm__ volatile("" ::: "memory");
		middle_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned i = 0; i < CHECKS; i++) {
			flameprof_interrupt_check();
			__asm__ volatile("" ::: "memory");
		}
		empty[turn] = (middle_ns - start_ns) / CHECKS;
		checks[turn] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - middle_ns) / CHECKS;
	}
	must(flameprof_interrupt_unregister());
	for (unsigned turn = 0; turn < TURNS; turn++) {
		double start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		for (unsigned i = 0; i < REGISTERS; i++) {
			must(flameprof_interrupt_register(flags[0]));
			must(flameprof_interrupt_unregister());
		}
		registers[turn] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / REGISTERS;
	}
	printf("safe point without a tick          %+8.2f ns over none\n",
		lowest(checks, TURNS) - lowest(empty, TURNS));
	printf("register and unregister             %8.0f ns, the timer's part of it included\n",
		lowest(registers, TURNS));
}

/* ---- forks ----------------------------------------------------------------------------------- */

#define FORKS 400

static double fork_us(int execs, int checks)
{
	struct timespec rest = {0, 500000};
	double start_ns;
	pid_t child;

	/* Registering woke the timer thread. Wait until it sleeps again. */
	nanosleep(&rest, NULL);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	child = fork();
	if (child < 0)
		exit(1);
	if (!child) {
		if (checks)
			flameprof_interrupt_check();
		if (execs)
			execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return (clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e3;
}

static void bench_forks(int execs)
{
	double without[FORKS], with[FORKS], checked[FORKS], base_us;

	for (unsigned i = 0; i < FORKS; i++) {
		without[i] = fork_us(execs, 0);
		must(flameprof_interrupt_register(flags[0]));
		with[i] = fork_us(execs, 0);
		checked[i] = fork_us(execs, 1);
		must(flameprof_interrupt_unregister());
	}
	base_us = middle(without, FORKS);
	printf("%-35s %8.0f us; registered %+.1f us, and at a safe point %+.1f us\n",
		execs ? "fork, exec, wait" : "fork, wait", base_us, middle(with, FORKS) - base_us,
		middle(checked, FORKS) - base_us);
}

int main(void)
{
	must(flameprof_interrupt_enable(PERIOD_NS, on_ticks, NULL));
	bench_timer();
	bench_thread();
	bench_forks(0);
	bench_forks(1);
	return 0;
}
