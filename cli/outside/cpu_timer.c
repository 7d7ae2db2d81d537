/* SPDX-License-Identifier: MIT */
/*
 * One stopped thread can make the timers of all threads of its process, because timer_create(2)
 * accepts the CPU clock of any thread of the process. Source of clock numbers: Linux
 * include/linux/posix-timers_types.h.
 */
#include "cli/outside/cpu_timer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/kernel_config.h"
#include "cli/outside/remote_call.h"
#include "cli/outside/tracer.h"
#include "libprof/procfs.h"
#include "render/array.h"

#define NS_PER_S 1000000000ULL

/* Upper half of the sigev_value of flamerun's timers. Each signal of a timer carries this value. */
#define COOKIE 0x666c616dULL /* "flam" */

/* Size of the kernel's struct sigaction, in words. The first word is the handler. */
#define ACTION_WORDS 4u
/* Words of a struct sigevent with SIGEV_THREAD_ID: value; signal and kind; thread. */
#define EVENT_WORDS  3u
/* Index of the scratch word to which the kernel writes the number of a new timer. */
#define TIMER_WORD 4u
#define SPEC_WORDS 4u /* of struct itimerspec */

/* Read at most this many of a thread's pending signals. */
#define PENDING_MAX 8

#define BIT (1ULL << (CPU_TIMER_SIGNAL - 1))

/* Was the signal of @info sent by a timer that this flamerun or an earlier flamerun made? */
static bool is_from_timer(const siginfo_t *info)
{
	return info->si_signo == CPU_TIMER_SIGNAL && info->si_code == SI_TIMER &&
	       (uintptr_t)info->si_value.sival_ptr >> 32 == COOKIE;
}

bool cpu_timer_has_expired(pid_t tid, int signal, struct cpu_timer_expiry *expiry)
{
	siginfo_t info = {0};

	if (signal != CPU_TIMER_SIGNAL || ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) ||
		!is_from_timer(&info))
		return false;
	expiry->timer = info.si_timerid;
	expiry->weight = 1 + (info.si_overrun > 0 ? (uint32_t)info.si_overrun : 0);
	return true;
}

bool cpu_timer_is_pending(const struct tracee *tracee)
{
	siginfo_t pending[PENDING_MAX] = {0};
	const struct __ptrace_peeksiginfo_args arguments = {.nr = PENDING_MAX};
	long count = ptrace(PTRACE_PEEKSIGINFO, tracee->tid, &arguments, pending);

	for (long i = 0; i < count; i++)
		if (is_from_timer(&pending[i]) && pending[i].si_timerid == tracee->timer)
			return true;
	return false;
}

/* ---- processes that can have no timers ------------------------------------------------------- */

/* Returns why @target can have no timers (a string literal), or NULL if no reason is known. */
static const char *find_obstacle(const struct tracer *tracer, const struct target *target,
	const struct procfs_status *status)
{
	if (tracer->breaks_off_calls)
		return "this kernel's CPU timers break off system calls";
	if (!target->vdso)
		return "it has no vDSO";
	if (status->is_strict || status->filters > tracer->own_filters)
		return "it has a seccomp filter of its own";
	if (status->ignored & 1ULL << (SIGTRAP - 1))
		return "it ignores SIGTRAP";
	return NULL;
}

void cpu_timers_prepare(struct tracer *tracer)
{
	if (tracer->is_prepared)
		return;
	tracer->own_filters = procfs_filters((uint32_t)getpid());
	tracer->breaks_off_calls = kernel_config_breaks_off_calls();
	tracer->is_prepared = true;
}

void cpu_timer_refuse(struct tracer *tracer, const char *why)
{
	unsigned i = 0;

	while (i < TRACER_REASONS - 1 && tracer->reasons[i].why && tracer->reasons[i].why != why)
		i++;
	tracer->reasons[i].why = why;
	tracer->reasons[i].programs++;
}

/* Give up timers for @target because of @why: sample its threads without timers by stops. */
static void refuse(struct tracer *tracer, struct target *target, const char *why)
{
	struct tracee *tracee = NULL;

	target->stops_why = why;
	cpu_timer_refuse(tracer, why);
	while ((tracee = tracees_next(&tracer->tracees, tracee)))
		if (tracee->target == target && tracee->way == WAY_WAITING)
			cpu_timer_set_way(tracer, tracee, WAY_STOPS);
}

/* ---- made and deleted ------------------------------------------------------------------------ */

/* Returns the thread id of @tracee in the PID namespace of the traced process. */
static pid_t inner_tid(const struct tracee *tracee)
{
	return tracee->target->has_other_tids ? procfs_inner_pid(tracee->tid) : tracee->tid;
}

/* Make the process ignore the timers' signal. */
static long ignore_signal(struct remote_call *call)
{
	static const uintptr_t action[ACTION_WORDS] = {(uintptr_t)SIG_IGN};
	const uintptr_t arguments[6] = {CPU_TIMER_SIGNAL, call->scratch, 0, sizeof(uint64_t)};
	int error = remote_put(call, 0, action, ACTION_WORDS);

	return error ? error : remote_run(call, SYS_rt_sigaction, arguments);
}

static long make_timer(struct remote_call *call, struct tracee *tracee, uint64_t first_ns,
	uint64_t period_ns)
{
	pid_t tid = inner_tid(tracee);
	const uintptr_t event[EVENT_WORDS] = {COOKIE << 32 | (uint32_t)tid,
		CPU_TIMER_SIGNAL | (uintptr_t)SIGEV_THREAD_ID << 32, (uintptr_t)tid};
	const uintptr_t spec[SPEC_WORDS] = {period_ns / NS_PER_S, period_ns % NS_PER_S,
		first_ns / NS_PER_S, first_ns % NS_PER_S};
	/* CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED */
	const uintptr_t create[6] = {(uintptr_t)(clockid_t)((~(unsigned)tid << 3) | 6),
		call->scratch, call->scratch + TIMER_WORD * sizeof(uintptr_t)};
	uintptr_t settime[6] = {0, 0, call->scratch, 0};
	uintptr_t timer;
	long result = remote_put(call, 0, event, EVENT_WORDS);

	if (!result)
		result = remote_run(call, SYS_timer_create, create);
	if (!result)
		result = remote_get(call, TIMER_WORD, &timer);
	if (result)
		return result;
	tracee->timer = (int)timer;
	settime[0] = (uintptr_t)tracee->timer;
	result = remote_put(call, 0, spec, SPEC_WORDS);
	return result ? result : remote_run(call, SYS_timer_settime, settime);
}

static long delete_timer(struct remote_call *call, int timer)
{
	const uintptr_t arguments[6] = {(uintptr_t)timer};

	return remote_run(call, SYS_timer_delete, arguments);
}

static void add_dead(struct target *target, int timer)
{
	if (!ARRAY_GROW(target->dead, target->dead_count, target->dead_room, 16))
		target->dead[target->dead_count++] = timer;
}

/* Delete the timers of ended threads, which the kernel would keep until the process ends. */
static void delete_dead(struct target *target, struct remote_call *call)
{
	unsigned *count = &target->dead_count;

	while (*count && delete_timer(call, target->dead[*count - 1]) != -ESRCH)
		(*count)--;
}

void cpu_timer_set_way(struct tracer *tracer, struct tracee *tracee, enum way way)
{
	tracer->waiting += (way == WAY_WAITING) - (tracee->way == WAY_WAITING);
	tracee->target->waiting += (way == WAY_WAITING) - (tracee->way == WAY_WAITING);
	tracer->by_stops += (way == WAY_STOPS) - (tracee->way == WAY_STOPS);
	tracee->way = way;
}

void cpu_timer_forget(struct tracer *tracer, struct tracee *tracee)
{
	struct target *target = tracee->target;

	if (tracee->timer >= 0)
		add_dead(target, tracee->timer);
	tracee->timer = -1;
	free(tracee->early);
	tracee->early = NULL;
	cpu_timer_set_way(tracer, tracee, WAY_NONE);
}

/* Make a timer for @tracee. Returns 0, or -errno if no further timer can be made at this stop. */
static long arm(struct tracer *tracer, struct tracee *tracee, struct remote_call *call)
{
	long result;

	/* A timer would never signal a kernel worker, because it does not return to user mode. */
	if (tracees_is_worker(tracee)) {
		cpu_timer_set_way(tracer, tracee, WAY_WORKER);
		return 0;
	}
	tracee->credit += tracees_count(tracee, tracer->period_ns);
	/* The first period is a random part of one, so that short threads are sampled as well. */
	result = make_timer(call, tracee, 1 + tracer_random(tracer, tracer->period_ns),
		tracer->period_ns);
	if (!result)
		cpu_timer_set_way(tracer, tracee, WAY_TIMER);
	/* -EINVAL for another thread means that this thread has ended. That is no error. */
	return result == -EINVAL && tracee->tid != call->tid ? 0 : result;
}

static long arm_all(struct tracer *tracer, struct target *target, struct remote_call *call)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, call->tid);
	long result = 0;

	/* Try the stopped thread first, because mostly no other thread waits for a timer. */
	if (tracee && tracee->way == WAY_WAITING)
		result = arm(tracer, tracee, call);
	tracee = NULL;
	while (!result && target->waiting && (tracee = tracees_next(&tracer->tracees, tracee)))
		if (tracee->target == target && tracee->way == WAY_WAITING)
			result = arm(tracer, tracee, call);
	return result;
}

/*
 * Make timers for threads with WAY_WAITING, and delete those of ended threads. Returns the signal
 * with which to resume @tracee, or 0.
 */
static int make_and_delete(struct tracer *tracer, struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct remote_call call;
	struct procfs_status status;
	const char *why;
	long result;

	if (target->stops_why || procfs_status(target->pid, tracee->tid, &status))
		return 0;
	why = find_obstacle(tracer, target, &status);
	if (why) {
		refuse(tracer, target, why);
		return 0;
	}
	result = remote_begin(&call, tracee->tid, target->vdso);
	if (result == -ENOSYS)
		refuse(tracer, target, "its vDSO makes no system calls");
	if (result)
		return 0;
	delete_dead(target, &call);
	if (!((status.ignored | status.caught) & BIT))
		result = ignore_signal(&call);
	if (!result)
		result = arm_all(tracer, target, &call);
	if (call.is_forbidden)
		refuse(tracer, target, "its system calls are its own");
	else if (result == -EAGAIN)
		refuse(tracer, target, "it may have no more timers (ulimit -i)");
	else if (result && result != -ESRCH)
		refuse(tracer, target, "it may not make timers");
	return remote_end(&call);
}

int cpu_timers_make(struct tracer *tracer, struct tracee *tracee)
{
	const struct target *target = tracee->target;

	return target->waiting || target->dead_count >= TARGET_DEAD_MAX
		       ? make_and_delete(tracer, tracee)
		       : 0;
}

int cpu_timers_delete_left(struct tracer *tracer, struct tracee *tracee, int timer)
{
	/* If the process can make no remote calls, keep the timer and drop its signals. */
	if (tracee->target->stops_why)
		return 0;
	add_dead(tracee->target, timer);
	return make_and_delete(tracer, tracee);
}

int cpu_timers_delete(struct tracer *tracer, struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct tracee *each = NULL;
	struct remote_call call;

	if (remote_begin(&call, tracee->tid, target->vdso))
		return 0;
	delete_dead(target, &call);
	while ((each = tracees_next(&tracer->tracees, each)))
		if (each->target == target && each->timer >= 0) {
			delete_timer(&call, each->timer);
			each->timer = -1;
			cpu_timer_set_way(tracer, each, WAY_NONE);
		}
	return remote_end(&call);
}
