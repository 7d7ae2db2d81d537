/* SPDX-License-Identifier: MIT */
/*
 * Programs that stop flamerun for a while. Arguments:
 *
 *   two MS   have samples with deep stacks, which fill the pool, stop flamerun, continue for MS,
 *            then run "other", which resumes flamerun
 *   one MS THREADS FRAMES
 *            stop flamerun, work for MS in THREADS threads with FRAMES frames, then resume it
 *   hole     kill itself after it has reserved a control record and not written it
 *
 * The program prints the CPU time of deep_work and of other_work. All samples of the second program
 * must be below other_work.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/wire.h"
#include "tests/targets/spin.h"

extern char **environ;

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sleep for @ms milliseconds, even if signals interrupt the sleep. */
static void rest_ms(unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static volatile uint32_t stop; /* ends all work */
static int depth, threads;

BOX static void other_work(void)
{
	spin_until(cpu_ns() + 140000000);
}

static int other(pid_t flamerun)
{
	uint64_t before = cpu_ns();

	other_work();
	tell("other_work", cpu_ns() - before);
	kill(flamerun, SIGCONT);
	rest_ms(300);
	return 0;
}

/* Recurse by one of two calls, chosen by the bits of @way, so that stacks differ. */
BOX static void deep_work(int n, uint32_t way)
{
	if (n <= 0 || stop) {
		for (int i = 0; i < 20 && !stop; i++)
			spin(8);
		return;
	}
	way = way * 1664525u + 1013904223u;
	if (way >> 31)
		deep_work(n - 1, way);
	else
		deep_work(n - 1, way + 1);
	KEEP_FRAME();
}

static void *work(void *argument)
{
	for (uint32_t way = 1; !stop; way += 77777)
		deep_work(depth, way);
	return argument;
}

static void *wait_for_end(void *argument)
{
	while (!__atomic_load_n((int *)argument, __ATOMIC_ACQUIRE))
		rest_ms(1);
	return NULL;
}

/* One thread works with deep stacks. Another thread ends while flamerun is stopped. */
static int two(const char *self, unsigned ms)
{
	char pid[16];
	char *words[] = {(char *)self, "other", pid, NULL};
	pthread_t worker, idle;
	int ending = 0;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", (int)getppid());
	depth = 2000;
	pthread_create(&worker, NULL, work, NULL);
	pthread_create(&idle, NULL, wait_for_end, &ending);
	rest_ms(500);
	kill(getppid(), SIGSTOP);
	rest_ms(ms);
	__atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
	pthread_join(idle, NULL);
	if (posix_spawn(&child, self, NULL, NULL, words, environ))
		return 1;
	waitpid(child, NULL, 0);
	stop = 1;
	pthread_join(worker, NULL);
	tell("deep_work", process_cpu_ns());
	return 0;
}

static int one(unsigned ms)
{
	pthread_t workers[64];

	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	rest_ms(500);
	kill(getppid(), SIGSTOP);
	rest_ms(ms);
	kill(getppid(), SIGCONT);
	rest_ms(200);
	stop = 1;
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(workers[i], NULL);
	tell("deep_work", process_cpu_ns());
	return 0;
}

/* Return the address at which the arena is mapped in this process. */
static void *find_arena(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long at = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:flamerun")) {
			sscanf(line, "%lx", &at);
			break;
		}
	return (void *)at;
}

static int hole(void)
{
	void *arena = find_arena();

	for (unsigned i = 0; arena && i < WIRE_SLOTS; i++) {
		struct wire_slot *slot = wire_slot(arena, i);

		if (slot->state != ((uint64_t)getpid() << 8 | WIRE_SLOT_LIVE))
			continue;
		__atomic_fetch_add(&slot->control_head, 256, __ATOMIC_ACQ_REL);
		raise(SIGKILL);
	}
	return 1;
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";

	if (!strcmp(what, "other") && count > 2)
		return other(atoi(words[2]));
	if (!strcmp(what, "two") && count > 2)
		return two(words[0], (unsigned)atoi(words[2]));
	if (!strcmp(what, "hole"))
		return hole();
	if (strcmp(what, "one") || count < 5)
		return 2;
	threads = atoi(words[3]);
	depth = atoi(words[4]);
	return one((unsigned)atoi(words[2]));
}
