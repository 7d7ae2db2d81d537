/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by all handlers and exit paths. */
/*
 * The lowest layer of the sampler: its state, tests of which process is running, waking the reader,
 * and how clocks are read. It uses no other file of this folder.
 *
 * If another library has replaced clock_gettime(), clocks are read by system calls, because a
 * sanitizer's clock_gettime() runs deferred signal handlers.
 */
#include "libprof/sampler/sampler.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/auxv.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/unwind/memory.h"

AT_START struct sampler sampler = {.signal = WIRE_SIGNAL};
struct sampler_thread sampler_threads[WIRE_RINGS];

void sampler_wake_reader(struct wire_arena *arena)
{
	__atomic_fetch_add(&arena->doorbell, 1, __ATOMIC_RELEASE);
	/*
	 * Always wake the worker thread of a program that profiles itself, because the program
	 * waits for this thread.
	 */
	if (sampler_is_hosted() || (confined_may(CONFINED_WAKING) && !confined_is_reported()))
		arch_syscall3(SYS_futex, &arena->doorbell, FUTEX_WAKE, INT_MAX);
}

void sampler_read_name(char comm[WIRE_COMM_BYTES])
{
	if (confined_may(CONFINED_NAMES))
		arch_syscall2(SYS_prctl, PR_GET_NAME, comm);
}

int sampler_is_this_process(void)
{
	return __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) &&
		!__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) &&
		(uint32_t)arch_syscall0(SYS_getpid) == sampler.pid;
}

int sampler_is_held(const struct sampler_thread *thread)
{
	return __atomic_load_n(&thread->held, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&thread->unheld_pid, __ATOMIC_RELAXED) !=
		       (uint32_t)arch_syscall0(SYS_getpid);
}

int sampler_owns_signal(void)
{
	return __atomic_load_n(&sampler.owns_signal, __ATOMIC_ACQUIRE) &&
		!__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) &&
		(uint32_t)arch_syscall0(SYS_getpid) == sampler.pid;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

int clock_asks_kernel;

/*
 * Returns 1 if this thread may not read the time stamp counter. A process image or fork child
 * inherits that.
 */
static int is_counter_forbidden(void)
{
	int state = PR_TSC_ENABLE;

	return !arch_syscall2(SYS_prctl, PR_GET_TSC, &state) && state == PR_TSC_SIGSEGV;
}

void clock_ask_kernel(void)
{
	__atomic_store_n(&clock_asks_kernel, 1, __ATOMIC_RELAXED);
}

void clock_learn(void)
{
	struct unwind_module clock, libc;
	int is_anothers;

	if (__atomic_load_n(&clock_asks_kernel, __ATOMIC_RELAXED))
		return;
	/* Find libc by getauxval(), because no library has a reason to replace that function. */
	is_anothers = !unwind_find_object((uintptr_t)clock_gettime, &clock, NULL) &&
		      !unwind_find_object((uintptr_t)getauxval, &libc, NULL) &&
		      clock.start != libc.start;
	if (is_anothers || is_counter_forbidden())
		clock_ask_kernel();
}
