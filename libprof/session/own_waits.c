/* SPDX-License-Identifier: MIT */
/*
 * Walk the stacks of the process's other threads while they sleep. A thread may wake up and unmap
 * the memory that is being read, so no memory is loaded directly: the kernel copies it. That
 * includes call-frame information, because a module may be unloaded. The unwind rows of a module
 * are cached under its number, so few walks read call-frame information.
 *
 * The worker opens files of /proc in a descriptor table of its own, because the process's
 * descriptor numbers belong to the host. If the kernel cannot give the worker a table, files are
 * opened and closed for each observation.
 */
#include "libprof/session/own_waits.h"

#include <errno.h>
#include <linux/close_range.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "arch/syscall.h"
#include "libprof/aggregator/store.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/session/session.h"
#include "libprof/waits/waits.h"

#define FILES_MAX 512u
#define NS_PER_MS 1000000ULL
#define TRIES	  4

/* ---- stacks ---------------------------------------------------------------------------------- */

#define WINDOW_BYTES 1024u

/* A copy of memory around an address, kept until the walk ends. */
struct window {
	uintptr_t base;
	unsigned bytes;
	char content[WINDOW_BYTES];
};

/*
 * Static, because UNWIND_CFI_POINTER has no context parameter. The worker makes one walk at a time.
 */
static struct window stack_window, code_window;

/* Read one word, at any alignment. Returns 0 or -EFAULT. */
static int read_word(struct window *window, uintptr_t address, uintptr_t *value)
{
	/* If the address is before the window, the difference wraps around and is large. */
	if (address - window->base > window->bytes ||
		window->bytes - (address - window->base) < sizeof(*value)) {
		/*
		 * Read only up to the end of the page, unless the word crosses it, because the next
		 * page may be unmapped.
		 */
		size_t bytes = WIRE_PAGE - address % WIRE_PAGE;

		if (bytes > WINDOW_BYTES)
			bytes = WINDOW_BYTES;
		if (bytes < sizeof(*value))
			bytes = sizeof(*value);
		window->base = address;
		window->bytes =
			store_read_memory(address, window->content, bytes) ? (unsigned)bytes : 0;
		if (!window->bytes)
			return -EFAULT;
	}
	memcpy(value, window->content + (address - window->base), sizeof(*value));
	return 0;
}

/*
 * Returns a pointer to a copy of the word at @address. If it cannot be read, the copy is 0, which
 * is neither call-frame information nor code of a signal frame.
 */
static const void *read_code(uintptr_t address)
{
	static uintptr_t word;

	if (read_word(&code_window, address, &word))
		word = 0;
	return &word;
}

#define UNWIND_PARTIAL		    1
#define UNWIND_CFI_POINTER(address) read_code(address)
#define UNWIND_READ(context, address, value) \
	((void)(context), read_word(&stack_window, address, value))
#define UNWIND_FIND_MODULE(context, pc, out) \
	((void)(context), modules_find_unheld(pc, store_read_memory, out))
#include "libprof/unwind/unwind_core.h"

static struct unwind_result walk(void *context, const struct wait_process *process,
	struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames)
{
	const struct unwind_bounds none = {0, 0};
	struct arch_registers registers = {0};

	(void)process, (void)thread;
	registers.r[ARCH_DWARF_PC] = pc;
	registers.r[ARCH_DWARF_SP] = sp;
	stack_window.bytes = code_window.bytes = 0;
	return unwind_walk_known(&registers,
		unwind_register_bit(ARCH_DWARF_PC) | unwind_register_bit(ARCH_DWARF_SP), &none,
		frames, WIRE_MAX_DEPTH, context);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Returns the number of context switches of the process or the calling thread. */
static uint64_t switches_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

/*
 * Returns a number that changes if any other thread has run. A thread that has stopped running has
 * made a context switch. A thread that is still running uses CPU time, which is compared in
 * milliseconds, because it cannot be separated more exactly from the worker's own CPU time.
 */
static uint64_t activity(void *context, const struct wait_process *process)
{
	(void)context, (void)process;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint64_t own = switches_of(RUSAGE_THREAD), all = switches_of(RUSAGE_SELF);
		uint64_t cpu_ns = clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);

		cpu_ns -= clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		if (switches_of(RUSAGE_THREAD) == own)
			return 1 + ((all - own) << 24 | (cpu_ns / NS_PER_MS & 0xffffff));
	}
	/*
	 * The worker was preempted in each try, so return a unique number, as if a thread had run.
	 */
	return 1ULL << 63 | clock_monotonic_ns();
}

/* Returns the number of threads; without /proc, the number of threads that were ever sampled. */
static unsigned thread_count(void *context, const struct wait_process *process)
{
	unsigned count = procfs_thread_count(process->pid);

	(void)context;
	return count ? count : 1 + __atomic_load_n(&sampler.slot->threads, __ATOMIC_RELAXED);
}

/* Returns the id that thread @tid of /proc has in its own pid namespace. */
static pid_t own_tid(pid_t tid)
{
	return sampler.namespaced ? procfs_inner_pid(tid) : tid;
}

/* List the sampled threads. Used without /proc. */
static long sampled_threads(pid_t *tids, size_t room)
{
	long count = 0;

	SAMPLER_FOR_EACH_RING(index)
	{
		const struct sampler_thread *thread = sampler_thread_at(index);

		if ((size_t)count < room && __atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
			tids[count++] = thread->tid;
	}
	return count;
}

static long threads(void *context, const struct wait_process *process, pid_t *tids, size_t room)
{
	uint32_t begun = own_threads_begun();
	long all, kept = 0;

	(void)context;
	/* Arm new threads, so that each thread has a number. */
	tasks_rescan();
	all = procfs_threads(process->pid, tids, room);
	if (all <= 0)
		return sampled_threads(tids, room);
	if (!own_threads_are_known(begun))
		return -EAGAIN;
	if ((size_t)all > room)
		all = (long)room;
	for (long i = 0; i < all; i++)
		if (!own_threads_contain((uint32_t)own_tid(tids[i])))
			tids[kept++] = tids[i];
	return kept;
}

static uint32_t find_thread(
	void *context, const struct wait_process *process, pid_t tid, uint64_t *begun_ns)
{
	(void)context, (void)process;
	tid = own_tid(tid);
	SAMPLER_FOR_EACH_RING(index)
	{
		const struct sampler_thread *thread = sampler_thread_at(index);

		if (__atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE) != tid)
			continue;
		/*
		 * The ring's start is the thread's start only if the ring was claimed when the
		 * thread was created (`start` is set). Otherwise the thread is older than its ring.
		 */
		if (thread->start)
			*begun_ns = thread->ring->start_ns;
		return thread->number;
	}
	return 0;
}

static int cpu_clock(void *context, pid_t tid, struct procfs_clock *out)
{
	uint64_t cpu_ns = clock_cpu_ns(clock_of_thread(tid));

	(void)context;
	if (!cpu_ns)
		return -ESRCH;
	*out = (struct procfs_clock){.cpu_ns = cpu_ns, .turns = cpu_ns};
	return 0;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static struct waits *waits; /* NULL: threads are not observed */
static uint32_t is_paused;  /* state at the last observation */

static int put_thread(void *context, const struct wait_process *process, uint32_t number, pid_t tid,
	const char comm[WIRE_COMM_BYTES])
{
	(void)context;
	if (profile_begin_run(session.profile, process->image))
		return -ENOMEM;
	profile_name_thread(session.profile, 0, number, (uint32_t)own_tid(tid), comm);
	return 0;
}

static void put_sample(void *context, const struct wait_process *process,
	const struct wire_sample *sample, const uint64_t *frames)
{
	struct store_result result = {0};

	(void)context;
	if (is_paused)
		__atomic_fetch_add(&sampler.slot->paused, sample->weight, __ATOMIC_RELAXED);
	else
		store_add_wait(session.profile, process->image, sample, frames, &result);
	diagnostics_add(&result);
}

/* Does nothing: a thread that cannot be observed is recorded as WIRE_WAIT_UNKNOWN. */
static void refused(void *context, const struct wait_process *process, int error)
{
	(void)context, (void)process, (void)error;
}

static uint64_t now_ns(void)
{
	return clock_monotonic_ns();
}

static const struct waits_calls calls = {
	.now_ns = now_ns,
	.activity = activity,
	.thread_count = thread_count,
	.threads = threads,
	.find_thread = find_thread,
	.cpu_clock = cpu_clock,
	.walk = walk,
	.refused = refused,
	.put_thread = put_thread,
	.put_sample = put_sample,
};

/*
 * Give the worker an empty descriptor table of its own. A copy of the host's table would keep the
 * host's pipes open.
 */
static int has_own_descriptors(void)
{
	return !arch_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
}

void own_waits_begin(void)
{
	const struct wait_process process = {.image = sampler.image, .target = &waits};

	waits = NULL;
	if (session.config.clock != FLAMEPROF_CLOCK_ELAPSED)
		return;
	is_paused = __atomic_load_n(&sampler.paused, __ATOMIC_RELAXED);
	waits = waits_new(&(struct waits_config){
		.calls = &calls,
		.period_ns = session.config.period_ns,
		.files_max = has_own_descriptors() ? FILES_MAX : 0,
	});
	if (waits)
		waits_add(waits, &process, 0, 0);
}

uint64_t own_waits_round(void)
{
	uint32_t was_paused = is_paused;

	if (!waits)
		return UINT64_MAX;
	/*
	 * Record the time since the last observation before the pause state changes, because that
	 * time belongs to the state at the last observation.
	 */
	if (__atomic_load_n(&sampler.paused, __ATOMIC_RELAXED) != was_paused) {
		waits_record(waits);
		is_paused = !was_paused;
	}
	return waits_round(waits);
}

void own_waits_report(void)
{
	if (waits)
		waits_record(waits);
}

void own_waits_end(void)
{
	struct waits_counts counts;

	if (!waits)
		return;
	waits_finish(waits, &counts);
	waits_free(waits);
	waits = NULL;
}
