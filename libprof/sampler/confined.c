/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: looked at from handlers and on exit paths. */
/*
 * Every system call that sampling makes once it has begun stands here, with what of its arguments
 * is the same each time. Filters are each thread's own; what one thread may not, none is asked to.
 */
#include "libprof/sampler/confined.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/filter.h"
#include "libprof/sampler/modules.h"

#define ANY	    0
#define FIRST(a)    1, {a}
#define SECOND(b)   2, {0, b}

/* Of rt_sigreturn alone, with a name of its own: programs know it by what it kills. */
static const struct filter_call handlers_return = {SYS_rt_sigreturn, ANY, {0}};

static const struct {
	uint32_t part; /* 0: nothing goes without */
	struct filter_call call;
} calls[] = {
	{0, {SYS_getpid, ANY, {0}}},
	{0, {SYS_gettid, ANY, {0}}},
	{0, {SYS_rt_sigprocmask, ANY, {0}}},
	/* The vDSO may ask the kernel at any time. */
	{0, {SYS_clock_gettime, FIRST(CLOCK_MONOTONIC)}},
	{0, {SYS_clock_gettime, FIRST(CLOCK_THREAD_CPUTIME_ID)}},
	{CONFINED_NAMES, {SYS_prctl, FIRST(PR_GET_NAME)}},
	{CONFINED_WAKING, {SYS_futex, SECOND(FUTEX_WAKE)}},
	{CONFINED_MEMORY, {SYS_process_vm_readv, ANY, {0}}},
	{CONFINED_PATHS, {SYS_readlinkat, ANY, {0}}},
	{CONFINED_PATHS, {SYS_getcwd, ANY, {0}}},
	{CONFINED_THREADS, {SYS_timer_create, ANY, {0}}},
	{CONFINED_THREADS, {SYS_timer_settime, ANY, {0}}},
	/* A fork child's. */
	{CONFINED_THREADS, {SYS_getppid, ANY, {0}}},
	{CONFINED_THREADS, {SYS_prctl, FIRST(PR_GET_TSC)}},
	{CONFINED_THREADS, {SYS_clock_gettime, FIRST(CLOCK_PROCESS_CPUTIME_ID)}},
	{CONFINED_TIMERS, {SYS_timer_delete, ANY, {0}}},
	{CONFINED_ENDS, {SYS_clock_gettime, FIRST(CLOCK_PROCESS_CPUTIME_ID)}},
	{CONFINED_ENDS, {SYS_clock_gettime, ANY, {0}}}, /* of other threads */
	{CONFINED_ENDS, {SYS_getrusage, FIRST((uint64_t)RUSAGE_CHILDREN)}},
};

/* Returns why sampling has to end, and else what is forbidden of parts in *@forbidden. */
static enum wire_quit judge(struct filter *filter, uint32_t *forbidden)
{
	*forbidden = 0;
	if (!filter_allows(filter, &handlers_return))
		return WIRE_QUIT_RETURN;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (filter_allows(filter, &calls[i].call))
			continue;
		if (!calls[i].part)
			return WIRE_QUIT_CALLS;
		*forbidden |= calls[i].part;
	}
	return WIRE_QUIT_NONE;
}

int confined_by(uintptr_t program)
{
	struct filter filter;
	uint32_t forbidden;
	enum wire_quit cause;

	if (!sampler_is_this_process())
		return 0;
	/* What the kernel cannot read either comes to nothing. */
	if (filter_open(&filter, program, confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0))
		return 0;
	/* The worker of a program that samples itself makes calls of all kinds. */
	cause = sampler.hosted ? WIRE_QUIT_CALLS : judge(&filter, &forbidden);
	if (filter.has_holes)
		return 0;
	if (cause) {
		sampler_quit(cause);
		return 0;
	}
	modules_keep_path();
	__atomic_fetch_or(&sampler.forbidden, forbidden, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sampler.filters, 1, __ATOMIC_RELAXED);
	return 1;
}

void confined_was_refused(void)
{
	__atomic_fetch_sub(&sampler.filters, 1, __ATOMIC_RELAXED);
}
