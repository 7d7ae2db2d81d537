/* SPDX-License-Identifier: MIT */
/*
 * Measure the CPU time of each call of flamerun's sampling handler. This library is preloaded
 * beside flamerun's: it installs its own handler, which calls flamerun's. At its end each process
 * with samples writes $HANDLER_TIMES.<pid>, one line per call: thread number and nanoseconds.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"

#define CALLS_MAX 65536u
/* number of checks; flamerun's handler may be installed late or again */
#define LOOKS	  100
#define LOOK_NS	  20000000

/* The kernel's struct sigaction. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct {
	int thread;
	uint32_t ns;
} calls[CALLS_MAX];
static unsigned count; /* atomic */
static struct kernel_action real;
/* start of the file's name; copied because PHP frees its environment */
static char base[3800];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void timed(int signal, siginfo_t *info, void *context)
{
	uint64_t began_ns = now_ns(), took_ns;
	unsigned n;

	real.handler(signal, info, context);
	took_ns = now_ns() - began_ns;
	n = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	if (n >= CALLS_MAX)
		return;
	calls[n].thread = (int)syscall(SYS_gettid);
	calls[n].ns = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
}

static void stand_between(void)
{
	struct kernel_action found, own;
	Dl_info whose;

	/*
	 * Use direct system calls, because flamerun's library replaces syscall() for this signal.
	 */
	if (arch_syscall4(SYS_rt_sigaction, SIGVTALRM, NULL, &found, sizeof(found.mask)) ||
		(uintptr_t)found.handler <= 1 || found.handler == timed ||
		!dladdr((void *)(uintptr_t)found.handler, &whose) ||
		!strstr(whose.dli_fname, "flameprof"))
		return;
	real = own = found;
	own.handler = timed;
	arch_syscall4(SYS_rt_sigaction, SIGVTALRM, &own, NULL, sizeof(own.mask));
}

static void *look(void *unused)
{
	const struct timespec pause = {0, LOOK_NS};

	for (int i = 0; i < LOOKS; i++) {
		stand_between();
		nanosleep(&pause, NULL);
	}
	return unused;
}

static __attribute__((constructor)) void begin(void)
{
	const char *told = getenv("HANDLER_TIMES");
	pthread_t thread;

	if (!told)
		return;
	snprintf(base, sizeof(base), "%s", told);
	if (!pthread_create(&thread, NULL, look, NULL))
		pthread_detach(thread);
}

static __attribute__((destructor)) void end(void)
{
	unsigned n = __atomic_load_n(&count, __ATOMIC_RELAXED);
	char name[4096];
	FILE *out;

	if (!*base || !n)
		return;
	snprintf(name, sizeof(name), "%s.%d", base, (int)getpid());
	out = fopen(name, "w");
	for (unsigned i = 0; out && i < n && i < CALLS_MAX; i++)
		fprintf(out, "%d %u\n", calls[i].thread, calls[i].ns);
	if (out)
		fclose(out);
}
