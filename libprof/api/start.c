/* SPDX-License-Identifier: MIT */
/*
 * flameprof_start(): settings, the process's own arena, the worker, and the timers of all threads.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/api/injected.h"
#include "libprof/api/scope.h"
#include "libprof/api/session.h"
#include "libprof/api/settings.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/unwind/find_object.h"

#define NS_PER_MS 1000000ULL

/*
 * The arena of a process that samples itself: same shape as flamerun's, private, untouched pages
 * cost nothing. Mapped once: a handler that a debugger holds up may look at it whenever it goes on.
 */
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
	/* A first sample must not clear two megabytes. */
	madvise(arena, bytes, MADV_NOHUGEPAGE);
	/* A fork child has no use for what is in it, and no session either. */
	session.is_arena_copied = madvise(arena, bytes, MADV_WIPEONFORK) != 0;
	sampler.blocks = blocks;
	/* Whoever sees `hosted` reads the pid; whoever sees the arena reads all. */
	sampler.pid = (uint32_t)arch_syscall0(SYS_getpid);
	__atomic_store_n(&sampler.hosted, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&sampler.arena, arena, __ATOMIC_RELEASE);
	return 0;
}

/* What may keep this process from being sampled by itself. */
static int check_process(void)
{
	struct unwind_module module;

	if (unwind_find_object((uintptr_t)check_process, &module, NULL) == -ENOSYS)
		return -ENOSYS;
	/* Another thread may be about to make an arena of ours. */
	if (injected_is_there() || (__atomic_load_n(&sampler.arena, __ATOMIC_ACQUIRE) &&
					   !sampler_is_hosted()))
		return -EBUSY;
	/* System calls are forbidden to it, and a handler's return is one. */
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

/* Ticks are whole units of weight where nothing else is recorded. */
static uint64_t period_ns_of(const struct settings *settings)
{
	uint64_t tick_ns = settings->clock == FLAMEPROF_CLOCK_VM ? interrupt_period_here_ns() : 0;

	return tick_ns ? tick_ns : CLOCK_NS_PER_S / settings->rate_hz;
}

/* What needs memory, while nothing has happened yet that would have to be undone. */
static int prepare(const struct settings *settings)
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

static void clean_up(void)
{
	flameprof_profile_free(session.profile);
	store_catalogue_free(session.catalogue);
	session.profile = NULL;
	session.catalogue = NULL;
}

/* From here on threads may be claimed, and born ones are. */
static int begin_sampling(const struct settings *settings)
{
	uint64_t now_ns = clock_monotonic_ns();
	int is_untimed = settings->clock == FLAMEPROF_CLOCK_VM;
	int error;

	error = is_untimed ? 0 : own_signal_take();
	if (error)
		return error;
	sampler.period_ns = session.config.period_ns;
	sampler.is_untimed = (uint32_t)is_untimed;
	sampler.is_elapsed = settings->clock == FLAMEPROF_CLOCK_ELAPSED;
	sampler.max_depth = settings->depth;
	sampler.ring_bytes = (uint32_t)settings->ring_bytes;
	sampler.dropped_samples = 0;
	sampler.dropped_bytes = 0;
	sampler.dropped_marks = 0;
	__atomic_store_n(&sampler.paused, settings->is_paused, __ATOMIC_RELEASE);
	/* Before the first thread can be armed. */
	session.end_ns = settings->max_span_ms ? now_ns + settings->max_span_ms * NS_PER_MS : 0;
	store_begin(session.profile, now_ns, (int64_t)time(NULL));
	return sampler_start(sampler.arena, 0, NULL);
}

/* Known from the first sample on: where the kernel must not read for us, it would be cut short. */
static void publish_stack(struct sampler_thread *thread)
{
	pthread_attr_t attributes;
	void *lo = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &lo, &bytes))
		stack_publish_own(thread, (uintptr_t)lo, (uintptr_t)lo + bytes);
	pthread_attr_destroy(&attributes);
}

struct sampler_thread *session_arm_self(struct sampler_thread *thread)
{
	if ((uint32_t)arch_syscall0(SYS_gettid) == sampler.pid)
		stack_publish_main(thread);
	else
		publish_stack(thread);
	thread = tasks_arm_self(thread);
	if (thread && libc_calls.watch_end)
		libc_calls.watch_end(thread);
	return thread;
}

/*
 * The calling thread is armed at once, whatever /proc can tell of the others; not the one that
 * takes snapshots.
 */
static void arm_this_thread(void)
{
	struct sampler_thread *thread;

	if (own_threads_have((uint32_t)arch_syscall0(SYS_gettid)))
		return;
	thread = sampler_thread_claim();
	if (thread)
		session_arm_self(thread);
}

static int begin_worker(const struct settings *settings)
{
	int error = queue_init(&session.queue, settings->queue_bytes, sampler.arena, sampler.blocks,
		sampler.image);

	if (error)
		return error;
	session.tick_ns = 0;
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

static int begin(const struct settings *settings)
{
	int error = 0;

	if (settings->clock != FLAMEPROF_CLOCK_VM && own_signal_is_anothers())
		error = -EPERM;
	if (!error)
		error = prepare(settings);
	if (!error)
		error = begin_sampling(settings);
	if (error)
		goto out;
	arm_this_thread();
	tasks_rescan();
	error = begin_worker(settings);
	if (!error)
		return 0;
	session_quiesce();
	sampler_end(&session.queue.drain);
out:
	clean_up();
	return error;
}

static pthread_once_t modules_once = PTHREAD_ONCE_INIT;

int flameprof_start(const struct flameprof_options *options)
{
	struct settings settings;
	int error = settings_from_options(&settings, options);

	scope_end_left(__builtin_frame_address(0));
	if (!error)
		error = check_process();
	if (!error)
		error = claim_phase();
	if (error)
		return error;
	stay_loaded();
	session_watch_forks();
	pthread_once(&modules_once, modules_init);
	error = begin(&settings);
	set_phase(
		error ? SESSION_IDLE : SESSION_LIVE, error ? FLAMEPROF_STOPPED : FLAMEPROF_RUNNING);
	return error;
}
