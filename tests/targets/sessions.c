/* SPDX-License-Identifier: MIT */
/*
 * sessions CASE [shared]: a program that profiles itself, linked with libflameprof in one of
 * several ways; "shared" means with the shared library. Each case prints its result and exits with
 * 0, or prints to stderr the line of the check that failed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libprof/flameprof.h"
#include "libprof/flameprof_profile.h"

#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			exit(1);                                                \
		}                                                               \
	} while (0)

static const struct flameprof_options often = {.rate = 5000, .clock = FLAMEPROF_CLOCK_ELAPSED};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) void burn(double seconds)
{
	double until = now_s() + seconds;

	while (now_s() < until)
		;
}

static uint64_t take(struct flameprof_profile *profile)
{
	struct flameprof_profile_summary info;

	flameprof_profile_info(profile, &info);
	flameprof_profile_free(profile);
	return info.weight;
}

static uint64_t stop(void)
{
	struct flameprof_profile *profile = NULL;

	CHECK(!flameprof_stop(&profile, -1));
	return take(profile);
}

/* Return the CPU time of @thread in seconds. */
static double used_s(pthread_t thread)
{
	struct timespec ts = {0, 0};
	clockid_t clock;

	CHECK(!pthread_getcpuclockid(thread, &clock));
	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Work for @seconds of CPU time, which gives the same number of samples on a busy machine. */
static __attribute__((noinline)) void work(double seconds)
{
	double until = used_s(pthread_self()) + seconds;

	while (used_s(pthread_self()) < until)
		;
}

/* Run one session with status, mark, flush and stop. */
static void life(void)
{
	struct flameprof_profile *profile = NULL;

	CHECK(flameprof_status() == FLAMEPROF_STOPPED && !flameprof_active());
	CHECK(!flameprof_start(&often));
	CHECK(flameprof_status() == FLAMEPROF_RUNNING && flameprof_active());
	work(0.1);
	CHECK(!flameprof_mark("half"));
	CHECK(!flameprof_flush(&profile, -1));
	CHECK(take(profile) > 100);
	work(0.1);
	CHECK(stop() > 100);
	CHECK(flameprof_status() == FLAMEPROF_STOPPED && !flameprof_active());
}

/*
 * Under flamerun the program can neither start nor stop the profiler, but it can pause, resume and
 * mark.
 */
static void guest(void)
{
	struct flameprof_profile *profile = NULL;

	CHECK(flameprof_status() == FLAMEPROF_UNDER_FLAMERUN && flameprof_active());
	CHECK(flameprof_start(&often) == -EBUSY);
	CHECK(flameprof_flush(&profile, 0) == -ESRCH);
	CHECK(flameprof_stop(&profile, 0) == -ESRCH);
	CHECK(!flameprof_mark("under flamerun"));
}

static __attribute__((noinline)) void burn_seen(void)
{
	work(0.4);
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noinline)) void burn_unseen(void)
{
	work(0.4);
	__asm__ volatile("nop"); /* no tail call, and different code from burn_seen() */
}

static void pauses(void)
{
	burn_seen();
	CHECK(!flameprof_pause());
	burn_unseen();
	if (!fork()) {
		/* The child starts paused, because its parent was paused. */
		burn_unseen();
		CHECK(!flameprof_resume());
		burn_seen();
		_exit(0);
	}
	wait(NULL);
	burn_unseen();
	CHECK(!flameprof_resume());
	burn_seen();
}

static void *older(void *argument)
{
	volatile int *end = argument;

	while (!*end)
		;
	return NULL;
}

/* Threads are sampled whether they began before the session or during it. */
static void threads(void)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_thread thread;
	struct flameprof_profile_summary info;
	volatile int end = 0;
	pthread_t ids[4];

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&ids[i], NULL, older, (void *)&end));
	CHECK(!flameprof_start(&often));
	for (int i = 2; i < 4; i++)
		CHECK(!pthread_create(&ids[i], NULL, older, (void *)&end));
	burn(0.5);
	/*
	 * Wait until each thread has had the CPU, so that the worker thread has had time to find
	 * it.
	 */
	for (int i = 0; i < 4; i++)
		while (used_s(ids[i]) < 0.2)
			burn(0.01);
	CHECK(!flameprof_stop(&profile, -1));
	flameprof_profile_info(profile, &info);
	CHECK(info.threads == 5);
	for (uint32_t i = 0; i < info.threads; i++) {
		CHECK(!flameprof_profile_thread(profile, i, &thread));
		CHECK(strcmp(thread.name, "flameprof"));
		CHECK(thread.weight > 100);
	}
	flameprof_profile_free(profile);
	end = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

/* Start children by vfork and exec, by system() and by popen() while the profiler runs. */
static void children(void)
{
	int status;
	pid_t child;
	FILE *stream;
	char text[16] = "";

	CHECK(!flameprof_start(&often));
	for (int i = 0; i < 20; i++) {
		child = vfork();
		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(system("exit 3") == 3 << 8);
	stream = popen("echo out", "r");
	CHECK(stream && fgets(text, sizeof(text), stream) && !strcmp(text, "out\n"));
	pclose(stream);
	CHECK(flameprof_status() == FLAMEPROF_RUNNING);
	CHECK(execl("/no/such/program", "x", NULL) == -1 && errno == ENOENT);
	work(0.1);
	CHECK(stop() > 100);
}

/* Exec while the profiler runs. No sampling signal may be pending after the exec. */
static void replaced(void)
{
	CHECK(!flameprof_start(&often));
	burn(0.05);
	execl("/bin/sh", "sh", "-c", "sleep 0.2; echo replaced", NULL);
	exit(1);
}

static volatile sig_atomic_t own_signals;
static int is_interposed; /* set if the library intercepts the program's calls of libc */

static void own_handler(int number)
{
	(void)number;
	own_signals++;
}

/*
 * If another profiler uses SIGVTALRM, a session cannot start. If another profiler begins to use
 * SIGVTALRM during a session, the two share the signal if the library intercepts libc calls;
 * otherwise the session ends.
 */
static void another(void)
{
	const struct itimerval every_ms = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
	enum flameprof_status status;

	signal(SIGVTALRM, own_handler);
	CHECK(!setitimer(ITIMER_VIRTUAL, &every_ms, NULL));
	CHECK(flameprof_start(&often) == -EPERM);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	signal(SIGVTALRM, SIG_DFL);
	CHECK(!flameprof_start(&often));
	signal(SIGVTALRM, own_handler);
	own_signals = 0;
	CHECK(!setitimer(ITIMER_VIRTUAL, &every_ms, NULL));
	for (double until = now_s() + 30; own_signals <= 20 && now_s() < until;)
		burn(0.3);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	CHECK(own_signals > 20);
	/* The worker thread checks the signal's handler ten times a second, if it gets a CPU. */
	for (double until = now_s() + 30;
		!is_interposed && flameprof_status() == FLAMEPROF_RUNNING && now_s() < until;)
		burn(0.01);
	status = flameprof_status();
	CHECK(status == FLAMEPROF_RUNNING || status == FLAMEPROF_SIGNAL_LOST);
	printf("%s\n", status == FLAMEPROF_RUNNING ? "shared" : "lost");
	stop();
	raise(SIGVTALRM);
}

/* The profiler still runs at exit. */
static void forgotten(void)
{
	CHECK(!flameprof_start(&often));
	burn(0.05);
	printf("forgotten\n");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"life", life},
	{"guest", guest},
	{"pauses", pauses},
	{"threads", threads},
	{"children", children},
	{"replaced", replaced},
	{"another", another},
	{"forgotten", forgotten},
};

int main(int argc, char **argv)
{
	is_interposed = argc > 2 && !strcmp(argv[2], "shared");
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	return 2;
}
