/* SPDX-License-Identifier: MIT */
/*
 * Start and stop a session. The start reads the options, makes the process's own arena, starts the
 * worker and arms the timers of all threads. The stop disarms the threads, cancels waiting flushes,
 * lets the worker finish and returns its profile.
 *
 * The arena is mapped once and never unmapped, because a thread that a debugger has stopped in a
 * handler may use the arena at any later time; each stop only returns its pages. Each session has
 * its own slot and image number, so that modules are announced again.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/session/injected.h"
#include "libprof/session/session.h"
#include "libprof/unwind/memory.h"

/* ---- options --------------------------------------------------------------------------------- */

/* Defaults and ranges that flameprof.h documents. */
#define RATE_DEFAULT_HZ	      197u
#define RING_BYTES_MIN	      ((size_t)4 << 10)
#define RING_BYTES_MAX	      ((size_t)90 << 10)
#define PROFILE_BYTES_DEFAULT ((size_t)256 << 20)
#define PROFILE_BYTES_MIN     ((size_t)64 << 10)
#define PROFILE_BYTES_MAX     ((size_t)16 << 30)

static size_t clamp(size_t value, size_t if_zero, size_t min, size_t max)
{
	if (!value)
		return if_zero;
	return value < min ? min : value > max ? max : value;
}

/*
 * Returns 1 if an option is unknown. Such options are refused, because a later version may give
 * them a meaning.
 */
static int has_unknown(const struct flameprof_options *options)
{
	unsigned bits = options->flags & ~FLAMEPROF_START_PAUSED;

	for (unsigned i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
		bits |= options->reserved[i];
	return bits ||
	       (options->clock != FLAMEPROF_CLOCK_CPU &&
		       options->clock != FLAMEPROF_CLOCK_ELAPSED &&
		       options->clock != FLAMEPROF_CLOCK_VM);
}

int settings_from_options(struct settings *settings, const struct flameprof_options *options)
{
	static const struct flameprof_options defaults;
	unsigned fits;

	if (!options)
		options = &defaults;
	if (has_unknown(options))
		return -EINVAL;
	*settings = (struct settings){
		.rate_hz = (unsigned)clamp(options->rate, RATE_DEFAULT_HZ, 1, SETTINGS_RATE_MAX_HZ),
		.clock = options->clock,
		.depth = (unsigned)clamp(options->depth, WIRE_MAX_DEPTH, 1, WIRE_MAX_DEPTH),
		.max_span_ms = options->max_span_ms,
		.ring_bytes =
			clamp(options->ring_bytes, RING_BYTES_MAX, RING_BYTES_MIN, RING_BYTES_MAX),
		.profile_bytes = clamp(options->profile_bytes, PROFILE_BYTES_DEFAULT,
			PROFILE_BYTES_MIN, PROFILE_BYTES_MAX),
		.title = options->title,
		.is_paused = !!(options->flags & FLAMEPROF_START_PAUSED),
	};
	/* Limit the depth, because a record that is larger than the ring could never be stored. */
	fits = (unsigned)((settings->ring_bytes - sizeof(struct wire_sample)) / sizeof(uint64_t));
	if (settings->depth > fits)
		settings->depth = fits;
	return 0;
}

/* Write the title to @out, cut to SESSION_TITLE_BYTES with the NUL. */
static void settings_title(const struct settings *settings, char *out)
{
	const char *title = settings->title ? settings->title : program_invocation_short_name;

	snprintf(out, SESSION_TITLE_BYTES, "%s", title);
}

/* ---- flameprof_start() ----------------------------------------------------------------------- */

#define NS_PER_MS 1000000ULL

/* Map a private arena with the layout of flamerun's arena, once. Untouched pages cost nothing. */
static int map_arena(void)
{
	uint32_t blocks = wire_pool_blocks((uint32_t)get_nprocs(), SETTINGS_RATE_MAX_HZ);
	size_t bytes = wire_arena_bytes(blocks);
	void *arena;

	if (sampler.arena)
		return 0;
	arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		return -ENOMEM;
	madvise(arena, bytes, MADV_DONTDUMP);
	/* Do not use huge pages, because the first sample would have to clear 2 MB. */
	madvise(arena, bytes, MADV_NOHUGEPAGE);
	/* Empty the arena in fork children, which have no session and do not need its contents. */
	session.is_arena_copied = madvise(arena, bytes, MADV_WIPEONFORK) != 0;
	sampler.blocks = blocks;
	/*
	 * Store in this order, because readers check `arena` first, then `hosted`, then read `pid`.
	 */
	sampler.pid = (uint32_t)arch_syscall0(SYS_getpid);
	__atomic_store_n(&sampler.hosted, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&sampler.arena, arena, __ATOMIC_RELEASE);
	return 0;
}

/* Check whether this process can profile itself. Returns 0 or -errno. */
static int check_process(void)
{
	struct unwind_module module;

	if (unwind_find_object((uintptr_t)check_process, &module, NULL) == -ENOSYS)
		return -ENOSYS;
	/*
	 * If `arena` is set and `hosted` is not, the arena is flamerun's, or another thread is just
	 * making one.
	 */
	if (injected_is_there() || (__atomic_load_n(&sampler.arena, __ATOMIC_ACQUIRE) &&
					   !sampler_is_hosted()))
		return -EBUSY;
	/*
	 * `quit` is set if a seccomp filter forbids system calls that sampling needs, such as
	 * rt_sigreturn.
	 */
	return sampler.quit ? -EPERM : 0;
}

static int claim_phase(void)
{
	int error = 0;

	pthread_mutex_lock(&session.lock);
	if (session.phase == SESSION_IDLE)
		session.phase = SESSION_STARTING;
	else
		error = -EBUSY;
	pthread_mutex_unlock(&session.lock);
	return error;
}

static void set_phase(enum session_phase phase, enum flameprof_status status)
{
	pthread_mutex_lock(&session.lock);
	session.phase = phase;
	__atomic_store_n(&session.status, status, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&session.lock);
}

/*
 * Returns the profile's period. With FLAMEPROF_CLOCK_VM it is the period of ticks, because nothing
 * else is recorded.
 */
static uint64_t period_ns_of(const struct settings *settings)
{
	uint64_t tick_ns = settings->clock == FLAMEPROF_CLOCK_VM ? interrupt_period_here_ns() : 0;

	return tick_ns ? tick_ns : CLOCK_NS_PER_S / settings->rate_hz;
}

/* Allocate everything first, so that a failure leaves nothing to undo. */
static int alloc_session(const struct settings *settings)
{
	int error = map_arena();

	if (error)
		return error;
	settings_title(settings, session.title);
	session.config = (struct profile_config){
		.period_ns = period_ns_of(settings),
		.clock = settings->clock,
		.limit_bytes = settings->profile_bytes,
		.title = session.title,
	};
	session.profile = profile_new(&session.config);
	session.catalogue = store_catalogue_new();
	return session.profile && session.catalogue ? 0 : -ENOMEM;
}

static void free_profile(void)
{
	flameprof_profile_free(session.profile);
	store_catalogue_free(session.catalogue);
	session.profile = NULL;
	session.catalogue = NULL;
}

/*
 * Begin sampling: from now on new threads are sampled. With FLAMEPROF_CLOCK_VM there are no timers,
 * and SIGVTALRM stays the program's.
 */
static int begin_sampling(const struct settings *settings)
{
	uint64_t now_ns = clock_monotonic_ns();
	int is_untimed = settings->clock == FLAMEPROF_CLOCK_VM;
	int error;

	error = is_untimed ? 0 : own_signal_install();
	if (error)
		return error;
	sampler.period_ns = session.config.period_ns;
	sampler.is_untimed = (uint32_t)is_untimed;
	sampler.max_depth = settings->depth;
	sampler.ring_bytes = (uint32_t)settings->ring_bytes;
	sampler.dropped_samples = 0;
	sampler.dropped_bytes = 0;
	sampler.dropped_marks = 0;
	__atomic_store_n(&sampler.paused, settings->is_paused, __ATOMIC_RELEASE);
	/* Set the end before the first thread can be armed. */
	session.end_ns = settings->max_span_ms ? now_ns + settings->max_span_ms * NS_PER_MS : 0;
	store_begin(session.profile, now_ns, (int64_t)time(NULL));
	return sampler_start(sampler.arena, 0, NULL);
}

/*
 * Arm the calling thread here, because without /proc it would not be found. Do not arm the snapshot
 * thread, which also calls flameprof_start().
 */
static void arm_this_thread(void)
{
	struct sampler_thread *thread;

	if (own_threads_contain((uint32_t)arch_syscall0(SYS_gettid)))
		return;
	thread = sampler_thread_claim();
	if (thread)
		tasks_begin_self(thread);
}

static int begin_worker(void)
{
	int error =
		queue_init(&session.queue, sampler.arena, sampler.blocks, sampler.image);

	if (error)
		return error;
	session.tick_ns = 0;
	/*
	 * Call sees_births() here and not on the worker, because it takes the dynamic linker's
	 * lock. The worker would wait for the caller, which may hold this lock.
	 */
	session.sees_births = libc_calls.sees_births && libc_calls.sees_births();
	__atomic_store_n(&session.ending, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&session.done, 0, __ATOMIC_RELAXED);
	diagnostics_begin();
	error = own_threads_begin(&session.worker, NULL, worker_main, NULL);
	if (error) {
		diagnostics_end();
		queue_release(&session.queue);
	}
	return error;
}

static int begin_session(const struct settings *settings)
{
	int error = 0;

	if (settings->clock != FLAMEPROF_CLOCK_VM && own_signal_is_used_by_program())
		error = -EPERM;
	if (!error)
		error = alloc_session(settings);
	if (!error)
		error = begin_sampling(settings);
	if (error)
		goto out;
	arm_this_thread();
	tasks_rescan();
	error = begin_worker();
	if (!error)
		return 0;
	session_quiesce();
	sampler_end(&session.queue.drain);
out:
	free_profile();
	return error;
}

static pthread_once_t modules_once = PTHREAD_ONCE_INIT;

int flameprof_start(const struct flameprof_options *options)
{
	struct settings settings;
	int error = settings_from_options(&settings, options);

	session_check_left_scope(__builtin_frame_address(0));
	if (!error)
		error = check_process();
	if (!error)
		error = claim_phase();
	if (error)
		return error;
	stay_loaded();
	session_watch_forks();
	pthread_once(&modules_once, modules_init);
	error = begin_session(&settings);
	set_phase(
		error ? SESSION_IDLE : SESSION_LIVE, error ? FLAMEPROF_STOPPED : FLAMEPROF_RUNNING);
	return error;
}

/* ---- flameprof_stop() ------------------------------------------------------------------------ */

/* Claim the stop for this thread. Another thread may continue a stop that timed out. */
static int claim_stop(void)
{
	int error = 0;

	pthread_mutex_lock(&session.lock);
	if (session.phase != SESSION_LIVE && session.phase != SESSION_STOPPING) {
		error = -ESRCH;
	} else if (session.has_stopper) {
		error = -EBUSY;
	} else {
		session.phase = SESSION_STOPPING;
		session.has_stopper = 1;
		__atomic_store_n(&session.status, FLAMEPROF_STOPPING, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&session.lock);
	return error;
}

static void release_stop(int is_stopped)
{
	pthread_mutex_lock(&session.lock);
	session.has_stopper = 0;
	if (is_stopped) {
		session.phase = SESSION_IDLE;
		__atomic_store_n(&session.status, FLAMEPROF_STOPPED, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&session.lock);
}

/*
 * Wait until the worker has ended and no call uses the queue. No new call can begin in this phase,
 * and waiting flushes have been cancelled.
 */
static int wait_for_users(uint64_t deadline_ns)
{
	uint32_t users;

	while (!__atomic_load_n(&session.done, __ATOMIC_ACQUIRE))
		if (session_wait(&session.done, 0, deadline_ns))
			return -ETIMEDOUT;
	while ((users = __atomic_load_n(&session.users, __ATOMIC_ACQUIRE)))
		if (session_wait(&session.users, users, deadline_ns))
			return -ETIMEDOUT;
	return 0;
}

/*
 * Return the rings' memory to the kernel. A late handler may still write to it, which does no harm.
 */
static void shrink_arena(void)
{
	const struct wire_arena *arena = sampler.arena;
	uint32_t high = __atomic_load_n(&arena->blocks_high, __ATOMIC_RELAXED);

	if (high <= sampler.blocks)
		madvise(wire_block_data(sampler.arena, 0), (size_t)high * WIRE_BLOCK_BYTES,
			MADV_DONTNEED);
}

static struct flameprof_profile *end_session(void)
{
	struct flameprof_profile *profile = session.profile;

	libc_calls.pthread_join(session.worker, NULL);
	session.profile = NULL;
	/* Ignore a failure: without memory for names, addresses are shown. */
	store_resolve(profile, session.catalogue);
	store_catalogue_free(session.catalogue);
	session.catalogue = NULL;
	diagnostics_end();
	queue_release(&session.queue);
	sampler_end(&session.queue.drain);
	shrink_arena();
	return profile;
}

int flameprof_stop(struct flameprof_profile **out, int timeout_ms)
{
	uint64_t deadline_ns = session_deadline(timeout_ms);
	struct flameprof_profile *profile;
	int error;

	session_check_left_scope(__builtin_frame_address(0));
	if (session_is_worker())
		return -EDEADLK;
	if (!session_is_this_process())
		return -ESRCH;
	error = claim_stop();
	if (error)
		return error;
	session_disarm();
	queue_stop(&session.queue);
	__atomic_store_n(&session.ending, 1, __ATOMIC_RELEASE);
	sampler_wake_reader(sampler.arena);
	error = wait_for_users(deadline_ns);
	if (error) {
		release_stop(0);
		return error;
	}
	profile = end_session();
	release_stop(1);
	if (out)
		*out = profile;
	else
		flameprof_profile_free(profile);
	return 0;
}
