/* SPDX-License-Identifier: MIT */
/*
 * pushed: two threads compete for one CPU until each has used 120 ms of it. Both block all signals
 * by a direct system call, which libc does not see. Then the program sleeps for 3 s.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "tests/targets/spin.h"

static pthread_barrier_t both;

static void *push(void *unused)
{
	uint64_t all = ~0ULL;

	(void)unused;
	arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	pthread_barrier_wait(&both);
	while (cpu_ns() < 120000000) {
		spin(4);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pthread_barrier_init(&both, NULL, 2))
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, push, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	nanosleep(&(struct timespec){3, 0}, NULL);
	return 0;
}
