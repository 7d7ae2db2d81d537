/* SPDX-License-Identifier: MIT */
/*
 * Starts the library in a process: finds flamerun's arena through the environment, claims a slot
 * and begins to sample the main thread. If anything is missing, the process continues unsampled and
 * no message is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/sampler/text.h"

/*
 * Identifies this library for atexit() and pthread_atfork(). Defined here, because the library may
 * be linked without crtbegin.o, which would define this symbol.
 */
extern void *__dso_handle __attribute__((weak, visibility("hidden")));
void *__dso_handle = &__dso_handle;

struct channel {
	uint32_t flamerun_pid;
	uint32_t arena_descriptor;
	uint64_t cookie;
};

static int parse_channel(const char *text, struct channel *out)
{
	uint64_t pid, arena;

	if (text_parse_number(&text, 10, ':', INT32_MAX, &pid) ||
		text_parse_number(&text, 10, ':', INT32_MAX, &arena) ||
		text_parse_number(&text, 16, '\0', UINT64_MAX, &out->cookie))
		return -EINVAL;
	out->flamerun_pid = (uint32_t)pid;
	out->arena_descriptor = (uint32_t)arena;
	return 0;
}

/*
 * Returns the number of bytes of the arena to map: all, or one page if RLIMIT_AS is low. One page
 * is enough to count the process as unsampled.
 */
static size_t bytes_to_map(uint64_t arena_bytes)
{
	struct rlimit limit;

	if (arch_syscall4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) ||
		limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur / WIRE_ARENA_SHARE >= arena_bytes)
		return arena_bytes;
	return WIRE_PAGE;
}

/*
 * Read the settings of perf events. Any profiled process can overwrite the arena, so check the
 * values: the period must not be 0, and event_rests has a limit.
 */
static void read_events(const struct wire_arena *arena, uint64_t cookie)
{
	uint32_t period_ns = __atomic_load_n(&arena->event_period_ns, __ATOMIC_RELAXED);
	uint32_t rests = __atomic_load_n(&arena->event_rests, __ATOMIC_RELAXED);
	struct timespec tick;

	sampler.has_events = (cookie & WIRE_COOKIE_EVENTS) && period_ns;
	sampler.event_period_ns = period_ns;
	if (sampler.has_events && !arch_syscall2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick))
		sampler.tick_ns = clock_from_timespec(&tick);
	/*
	 * Without the length of the kernel's tick, samples by events and by timers cannot be
	 * distinguished, so use no events.
	 */
	sampler.has_events &= sampler.tick_ns != 0;
	sampler.has_kernel = sampler.has_events && (cookie & WIRE_COOKIE_KERNEL);
	sampler.event_rests = rests < WIRE_EVENT_RESTS_MAX ? rests : WIRE_EVENT_RESTS_MAX;
}

/*
 * Read clock, rate and signal once, and check them, because any profiled process may have changed
 * them in the arena. Whether the clock is elapsed time is read from @cookie, which other processes
 * cannot change: a wrong value would make timers interrupt the system calls of sleeping threads.
 */
static int read_settings(const struct wire_arena *arena, uint64_t cookie)
{
	int is_elapsed = (cookie & WIRE_COOKIE_ELAPSED) != 0;
	uint32_t signal = __atomic_load_n(&arena->signal, __ATOMIC_RELAXED);
	uint32_t rate_hz = __atomic_load_n(
		is_elapsed ? &arena->clock_hz : &arena->rate_hz, __ATOMIC_RELAXED);

	if (!rate_hz || rate_hz > WIRE_RATE_MAX_HZ || !wire_signal_is_usable(signal))
		return -EINVAL;
	sampler.signal = signal;
	sampler.period_ns = CLOCK_NS_PER_S / rate_hz;
	sampler.is_elapsed = (uint32_t)is_elapsed;
	read_events(arena, cookie);
	return 0;
}

/*
 * Check that the mapped @bytes bytes at @arena are an arena whose flamerun has not ended. Returns 1
 * if they are and the whole arena is mapped. If only a part of the arena is mapped, count the
 * process as lost and return 0.
 */
static int is_arena(
	struct wire_arena *arena, size_t bytes, uint64_t arena_bytes, uint64_t cookie)
{
	uint32_t blocks = __atomic_load_n(&arena->blocks, __ATOMIC_RELAXED);

	if (arena->magic != WIRE_MAGIC || arena->version != WIRE_VERSION ||
		arena->cookie != cookie || arena->closing || !blocks || blocks > WIRE_BLOCKS_MAX ||
		wire_arena_bytes(blocks) != arena_bytes || read_settings(arena, cookie))
		return 0;
	sampler.blocks = blocks;
	if (bytes == arena_bytes)
		return 1;
	__atomic_fetch_add(&arena->lost_processes, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Returns the size of file @fd if it is sealed against shrinking, otherwise 0. */
static uint64_t sealed_bytes(int fd)
{
	struct stat status;
	long seals = arch_syscall2(SYS_fcntl, fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || arch_syscall2(SYS_fstat, fd, &status) ||
		!S_ISREG(status.st_mode) || (uint64_t)status.st_size < wire_arena_bytes(1))
		return 0;
	return (uint64_t)status.st_size;
}

/*
 * Map the arena that the environment names. Returns NULL if its descriptor is not that arena. Uses
 * raw system calls, because each libc function would cost every image a symbol lookup.
 */
static void *map_arena(const struct channel *channel)
{
	char path[TEXT_DESCRIPTOR_PATH_BYTES];
	uint64_t arena_bytes;
	size_t bytes = 0;
	long at = -EBADF;
	int fd;

	text_descriptor_path(path, channel->flamerun_pid, channel->arena_descriptor);
	fd = (int)arch_syscall4(
		SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return NULL;
	arena_bytes = sealed_bytes(fd);
	if (arena_bytes) {
		bytes = bytes_to_map(arena_bytes);
		at = arch_syscall6(
			SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	arch_syscall1(SYS_close, fd);
	if (at <= 0)
		return NULL;
	if (!is_arena((struct wire_arena *)at, bytes, arena_bytes, channel->cookie)) {
		arch_syscall2(SYS_munmap, at, bytes);
		return NULL;
	}
	/*
	 * Keep the arena out of core dumps, because a dump would allocate all its untouched pages.
	 */
	arch_syscall3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	return (void *)at;
}

/*
 * Begin to sample the first thread of an image. If no timer can be made for it, the library stops
 * sampling this process, and flamerun samples it from outside. Returns 1 if the thread is sampled.
 */
static int arm_first_thread(struct sampler_thread *thread)
{
	if (!sampler_thread_arm(thread))
		return 1;
	if (sampler.slot->timer_error) {
		/*
		 * Undo the count of the thread, because the process is counted instead. Do this
		 * before quitting, because after that the slot may belong to another image.
		 */
		__atomic_fetch_sub(&sampler.slot->timerless_threads, 1, __ATOMIC_RELAXED);
		sampler_quit(WIRE_QUIT_TIMERS);
		own_signal_restore();
	}
	return 0;
}

static void arm_main_thread(void)
{
	struct sampler_thread *thread = sampler_thread_claim();

	if (!thread)
		return;
	sampler_thread_set_main_stack(thread);
	if (arm_first_thread(thread))
		preload_set_thread(thread);
}

/* pid of the process that forks; written under libc's lock on forks. */
static uint32_t forking_pid;

/*
 * Count the fork, so that flamerun waits a moment at its end for children that have not started
 * yet.
 */
static void fork_prepare(void)
{
	struct wire_arena *arena = sampler.arena;

	if (sampler_is_hosted() || !arena || sampler.quit || confined_by_unseen())
		return;
	/* Look up these functions here, once, and not again in each child. */
	preload_resolve_leave();
	preload_library_path();
	forking_pid = (uint32_t)arch_syscall0(SYS_getpid);
	__atomic_fetch_add(&arena->forks_begun, 1, __ATOMIC_RELEASE);
}

/*
 * If the fork fails, undo the count of fork_prepare(). libc itself forks without calling this
 * function, so such a fork stays counted if it fails.
 */
PRELOAD_EXPORT pid_t fork(void)
{
	static pid_t (*next)(void);
	struct wire_arena *arena = sampler.arena;
	pid_t child;

	if (!next)
		next = (pid_t (*)(void))preload_next("fork");
	child = next();
	if (child < 0 && arena && !sampler_is_hosted() && sampler_is_this_process())
		__atomic_fetch_sub(&arena->forks_begun, 1, __ATOMIC_RELEASE);
	return child;
}

/* Returns 1 if a fork child may be sampled. If a seccomp filter forbids it, count the child. */
static int may_begin(struct wire_arena *arena)
{
	if (arena->closing)
		return 0;
	if (confined_may(CONFINED_THREADS))
		return 1;
	__atomic_fetch_add(&arena->confined_processes, 1, __ATOMIC_RELAXED);
	return 0;
}

/*
 * Begin sampling in a fork child. @forked is the parent's entry of the thread, or NULL. Returns the
 * entry of the child's only thread, or NULL if it is not sampled.
 */
static struct sampler_thread *begin_in_child(void *arena, const struct sampler_thread *forked)
{
	uint64_t parent = sampler.image;
	struct sampler_thread before = {0};
	struct sampler_thread *thread;

	if (forked)
		before = *forked;
	/*
	 * If the forking process was not sampled itself, it was made by a raw clone(2), as
	 * bubblewrap makes one to enter a new PID namespace. The child's pid may then be different
	 * in flamerun's PID namespace.
	 */
	sampler.namespaced |= forking_pid != sampler.pid;
	sampler_reset_in_child();
	sampler.arena = NULL;
	if (!may_begin(arena) || sampler_start(arena, parent, NULL)) {
		__atomic_store_n(&sampler.owns_signal, 0, __ATOMIC_RELEASE);
		return NULL;
	}
	if (preload_has_small_stack()) {
		__atomic_fetch_add(&sampler.slot->small_stacks, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	thread = sampler_thread_claim();
	if (!thread)
		return NULL;
	thread->stack_lo = before.stack_lo;
	thread->stack_hi = before.stack_hi;
	thread->held = before.held;
	thread->self = before.self;
	return arm_first_thread(thread) ? thread : NULL;
}

static void fork_child(void)
{
	struct wire_arena *arena = sampler.arena;
	const struct sampler_thread *forked;
	struct sampler_thread *thread;

	if (sampler_is_hosted() || !arena || sampler.quit)
		return;
	forked = sampler_thread_that_forked();
	thread = begin_in_child(arena, forked);
	/*
	 * If the thread's entry is unchanged, do not set it again: this would copy a page of libc.
	 */
	if (thread != forked)
		preload_set_thread(thread);
	__atomic_fetch_add(&arena->forks_arrived, 1, __ATOMIC_RELEASE);
}

/*
 * Returns 1 if the image has seccomp filters that flamerun does not have. They may forbid any call.
 */
static int is_confined(struct wire_arena *arena)
{
	uint32_t with_flamerun = arena->filters;

	if (arch_syscall1(SYS_prctl, PR_GET_SECCOMP) <= 0)
		return 0;
	/* If filters cannot be counted, assume that they are flamerun's. */
	if (with_flamerun && confined_count() <= (int)with_flamerun) {
		sampler.filters = sampler.filters_at_start = with_flamerun;
		return 0;
	}
	__atomic_fetch_add(
		&arena->unprofiled[WIRE_UNPROFILED_CONFINED], 1, __ATOMIC_RELAXED);
	return 1;
}

/*
 * Returns 1 if this process's memory holds @slot's image number at the address in @slot. Then the
 * slot belongs to another copy of this library in this process.
 */
static int is_in_our_memory(const struct wire_slot *slot)
{
	long fd = arch_syscall4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	uint64_t image = 0;

	if (fd < 0)
		return 0;
	arch_syscall4(SYS_pread64, fd, &image, sizeof(image), slot->image_at);
	arch_syscall1(SYS_close, fd);
	return image && image == slot->image;
}

/*
 * Returns 1 if another copy of this library samples the process. Under qemu the guest's loader
 * loads the LD_PRELOAD libraries a second time, and two copies would take each other's signals. A
 * slot with this pid may also be left over from an image whose exec was not seen. An exec replaces
 * the memory, so check whether the slot's image number is in this memory.
 */
static int is_sampled_already(struct wire_arena *arena)
{
	uint64_t live = (uint64_t)arch_syscall0(SYS_getpid) << 8 | WIRE_SLOT_LIVE;
	uint32_t high = wire_slots_high(arena);

	for (uint32_t i = 0; i < high; i++) {
		const struct wire_slot *slot = wire_slot(arena, i);

		if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == live &&
			is_in_our_memory(slot))
			return 1;
	}
	return 0;
}

static void connect_to_arena(const struct channel *channel, const char *text)
{
	void *arena = map_arena(channel);

	if (!arena)
		return;
	if (is_confined(arena) || is_sampled_already(arena))
		goto out;
	preload_store_channel(text);
	preload_make_key();
	preload_resolve_masks();
	modules_find_program();
	/*
	 * Install the handler before sampler_start() sets sampler.arena, because from then on
	 * sigaction() reports the program's handler instead of the kernel's.
	 */
	if (own_signal_install())
		goto out;
	sampler.paused = !!((struct wire_arena *)arena)->start_paused;
	if (sampler_start(arena, 0, (const char *)getauxval(AT_EXECFN))) {
		own_signal_restore();
		goto out;
	}
	arm_main_thread();
	pthread_atfork(fork_prepare, NULL, fork_child);
	return;
out:
	arch_syscall2(SYS_munmap, arena, wire_arena_bytes(sampler.blocks));
}

__attribute__((constructor(101))) static void init_library(void)
{
	const char *text = getenv(WIRE_ENV);
	int saved_errno = errno;
	struct channel channel;

	/*
	 * Do not sample a process with other privileges than its caller's, or a program that does
	 * not use libc, such as Go's without cgo: it starts threads that the library does not see,
	 * and sets its own handler for the signal. flamerun's tracer samples such a program;
	 * programs that it starts may have the library.
	 */
	if (text && !getauxval(AT_SECURE) && modules_program_needs_any() &&
		!parse_channel(text, &channel))
		connect_to_arena(&channel, text);
	errno = saved_errno;
}

__attribute__((destructor(101))) static void end_library(void)
{
	int saved_errno = errno;

	preload_leave(WIRE_SLOT_EXIT);
	errno = saved_errno;
}
