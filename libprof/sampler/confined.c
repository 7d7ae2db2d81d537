/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: looked at from handlers and on exit paths. */
/*
 * Every system call that sampling makes once it has begun stands here, with what of its arguments
 * is the same each time. Filters are each thread's own; what one thread may not, none is asked to.
 */
#include "libprof/sampler/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <string.h>
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
	{CONFINED_LOOKS, {SYS_prctl, FIRST(PR_GET_SECCOMP)}},
};

static int is_elsewhere; /* atomic: see confined_elsewhere() */
static int is_expected;	 /* atomic: see confined_expect() */

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

	if (!sampler_is_this_process()) {
		__atomic_store_n(&is_elsewhere, 1, __ATOMIC_RELAXED);
		return 0;
	}
	/* What the kernel cannot read either comes to nothing. */
	if (filter_open(&filter, program, confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0))
		return 0;
	/* The worker of a program that samples itself makes calls of all kinds. */
	cause = sampler_is_hosted() ? WIRE_QUIT_CALLS : judge(&filter, &forbidden);
	if (filter.has_holes)
		return 0;
	if (cause) {
		sampler_quit(cause);
		return 0;
	}
	modules_keep_path();
	__atomic_fetch_or(&sampler.forbidden, forbidden, __ATOMIC_RELAXED);
	sampler.slot->filters = __atomic_add_fetch(&sampler.filters, 1, __ATOMIC_RELAXED);
	return 1;
}

void confined_was_refused(void)
{
	sampler.slot->filters = __atomic_sub_fetch(&sampler.filters, 1, __ATOMIC_RELAXED);
}

/* ---- filters that nobody saw ----------------------------------------------------------------- */

/* The number behind @key in the calling thread's status, -errno. */
static int read_status(const char *key)
{
	char chunk[256];
	size_t found = 0, bytes = strlen(key);
	int number = -ENOENT, is_over = 0;
	long fd = arch_syscall4(
		SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return (int)fd;
	while (!is_over && (n = arch_syscall3(SYS_read, fd, chunk, sizeof(chunk))) > 0) {
		for (long i = 0; i < n && !is_over; i++) {
			if (found < bytes) {
				found = chunk[i] == key[found] ? found + 1 : chunk[i] == key[0];
				number = found == bytes ? 0 : number;
			} else if (chunk[i] == '\n') {
				is_over = 1;
			} else {
				number = number * 10 + (chunk[i] - '0');
			}
		}
	}
	arch_syscall1(SYS_close, fd);
	return number;
}

int confined_count(void)
{
	int count = read_status("\nSeccomp_filters:\t");

	/* Linux before 5.9. */
	return count == -ENOENT ? read_status("\nSeccomp:\t") > 0 : count;
}

/* Sessions of a program's own begin by its call: it knows what it forbade itself. */
static int is_told(void)
{
	return !sampler_is_hosted() && __atomic_load_n(&sampler.slot->has_unseen, __ATOMIC_RELAXED);
}

int confined_by_unseen(void)
{
	if (is_told())
		return 1;
	return !sampler_is_hosted() && !__atomic_load_n(&sampler.filters, __ATOMIC_RELAXED) &&
	       confined_may(CONFINED_LOOKS) && arch_syscall1(SYS_prctl, PR_GET_SECCOMP) > 0;
}

int confined_before_exec(void)
{
	if (is_told())
		return 1;
	if (!sampler_is_hosted() && (sampler.slot->delivered ||
				       __atomic_load_n(&is_expected, __ATOMIC_RELAXED)))
		return confined_count() > (int)__atomic_load_n(&sampler.filters, __ATOMIC_RELAXED);
	return confined_by_unseen();
}

void confined_expect(void)
{
	__atomic_store_n(&is_expected, 1, __ATOMIC_RELAXED);
}

int confined_elsewhere(void)
{
	return __atomic_load_n(&is_elsewhere, __ATOMIC_RELAXED);
}

int confined_is_told(void)
{
	/* A fork child has its parent's slot until it has one. */
	if (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && is_told())
		sampler_quit_unseen();
	return __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) != 0;
}
