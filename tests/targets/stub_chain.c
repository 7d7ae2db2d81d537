/* SPDX-License-Identifier: MIT */
/*
 * A chain of call stubs, as an interpreter has on its stack, for other tools to unwind:
 *
 *	main -> outermost -> step -> middle -> step -> innermost -> step -> leaf
 *
 * outermost, middle and innermost are stubs whose target is step(). Linked with libflameprof. The
 * first argument says what to publish (flameprof_publish()). Add 256 to make intercept stubs
 * instead of call stubs. Add 512 to make intercept stubs and call the leaf from the tick check of
 * the innermost stub:
 *
 *	... innermost -> arch_intercept_slow -> ... -> on_interrupt -> leaf
 *
 * The second argument says what the leaf does. MS is milliseconds of CPU time:
 *
 *	spin MS       works for MS
 *	stop          prints "ready" and sleeps until it is killed
 *	abort         ends with a core dump's signal
 *	fork MS       the child works for MS and the parent waits; both print their pid
 *	many N MS     makes N more stubs first, frees half of them, then works for MS
 *	calls MS      calls the stub "hot", whose target does almost nothing, for MS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libprof/flameprof_vm.h"

#define PUBLISH	   255
#define INTERCEPTS (256 | 512)
#define IN_CHECK   512

typedef long step_function(int depth);

static struct flameprof_arena *arena;
static step_function *chain[3];
static int mode;
static const char *what;
static long amount;
static volatile unsigned long sink;

static __attribute__((noinline)) void work(long ms)
{
	struct timespec now;
	long end_ms;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	end_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 5000000; i++)
			sink += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end_ms);
}

static __attribute__((noinline)) long nothing(int depth)
{
	return sink + (unsigned long)depth;
}

static __attribute__((noinline)) void call_hot(long ms)
{
	struct flameprof_arena *other;
	step_function *hot;
	struct timespec now;
	long end_ms;

	if (flameprof_arena_new(&other, FLAMEPROF_STUB_CALL, (flameprof_function *)nothing, NULL))
		return;
	hot = (step_function *)flameprof_stub_new(other, "hot", 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	end_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 1000000; i++)
			hot(i);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end_ms);
}

static __attribute__((noinline)) long leaf(void)
{
	if (!strcmp(what, "calls"))
		call_hot(amount);
	if (!strcmp(what, "spin"))
		work(amount);
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "stop")) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (!strcmp(what, "fork")) {
		pid_t child = fork();

		if (!child)
			work(amount);
		if (child)
			waitpid(child, NULL, 0);
		printf("%s %d\n", child ? "parent" : "child", (int)getpid());
		fflush(stdout);
		if (!child)
			_exit(0);
	}
	return sink != 1;
}

static void on_interrupt(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
	flameprof_interrupt_unregister();
	leaf();
	sink++;
}

/* Wait for a tick, so that the stub makes its tick check when this function returns. */
static __attribute__((noinline)) long wait_for_tick(void)
{
	flameprof_interrupt_enable(1000000, on_interrupt, NULL);
	flameprof_interrupt_register(NULL);
	while (!flameprof_interrupt_ticks)
		sink++;
	return 1;
}

static __attribute__((noinline)) long step(int depth)
{
	/* The addition after the call keeps it from becoming a jump. */
	if (depth < 3)
		return chain[depth](depth + 1) + 1;
	return (mode & IN_CHECK ? wait_for_tick() : leaf()) + 1;
}

static step_function *stub(const char *name, uintptr_t payload)
{
	if (mode & INTERCEPTS)
		return (step_function *)flameprof_intercept(
			(flameprof_function *)step, name, NULL);
	return (step_function *)flameprof_stub_new(arena, name, payload);
}

static void make_many(long count)
{
	step_function **made = calloc((size_t)count, sizeof(*made));
	char name[32];

	for (long i = 0; made && i < count; i++) {
		snprintf(name, sizeof(name), "one_of_many_%ld", i);
		made[i] = stub(name, 0);
	}
	for (long i = 0; made && i < count; i += 2)
		flameprof_stub_free(arena, (flameprof_function *)made[i]);
	free(made);
}

int main(int argc, char **argv)
{
	int error;

	if (argc < 3)
		return 2;
	mode = atoi(argv[1]);
	what = argv[2];
	amount = argc > 3 ? atol(argv[3]) : 0;
	error = flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, (flameprof_function *)step, NULL);
	if (error)
		return 3;
	/*
	 * Make one stub before publishing is turned on and the others afterwards, because both
	 * kinds must be published.
	 */
	chain[0] = stub("outermost", 1);
	error = flameprof_publish((unsigned)(mode & PUBLISH));
	printf("publish %d\n", error);
	fflush(stdout);
	if (!strcmp(what, "many")) {
		make_many(amount);
		what = "spin";
		amount = argc > 4 ? atol(argv[4]) : 0;
	}
	chain[1] = stub("middle", 2);
	chain[2] = stub("innermost", 3);
	return step(0) == 4 + 1 ? 0 : 1;
}
