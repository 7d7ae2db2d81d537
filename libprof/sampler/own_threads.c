/* SPDX-License-Identifier: MIT */
/*
 * Create the profiler's own threads with all signals blocked, and record their ids, so that the
 * scan of all threads skips them.
 *
 * A plugin that contains a copy of the library is kept loaded once the profiler was started, a
 * snapshot taken or a thread registered, because signal handlers, workers and thread destructors
 * run the copy's code long after dlclose().
 */
#include "libprof/sampler/own_threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_signal.h"

struct libc_calls libc_calls = {
	.sigaction = sigaction,
	.pthread_create = pthread_create,
	.pthread_join = pthread_join,
	.pthread_detach = pthread_detach,
};

#define OWN_THREADS_MAX 16
#define OWN_STACK_BYTES (256u << 10)
#define OWN_STACK_MAX	(256u << 20)

static uint32_t own_tids[OWN_THREADS_MAX]; /* atomic; 0: free */
/*
 * Atomic. own_begun is the number of own threads whose creation has begun, own_known the number of
 * those that are recorded in own_tids. If the numbers are equal when a list of all threads is read,
 * and own_begun has not changed afterwards, own_tids has every own thread of the list.
 */
static uint32_t own_begun, own_known;

int own_threads_contain(uint32_t tid)
{
	for (unsigned i = 0; i < OWN_THREADS_MAX; i++)
		if (__atomic_load_n(&own_tids[i], __ATOMIC_ACQUIRE) == tid)
			return 1;
	return 0;
}

/*
 * Record @tid. Replace only ids that the kernel has removed, because an ended thread stays in /proc
 * for a moment.
 */
static int add_own(uint32_t tid)
{
	for (unsigned i = 0; i < OWN_THREADS_MAX; i++) {
		uint32_t seen = __atomic_load_n(&own_tids[i], __ATOMIC_RELAXED);

		if ((!seen || !clock_of_thread_runs(seen)) &&
			__atomic_compare_exchange_n(
				&own_tids[i], &seen, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return 0;
	}
	return -EAGAIN;
}

void own_threads_remove_dead(void)
{
	for (unsigned i = 0; i < OWN_THREADS_MAX; i++) {
		uint32_t seen = __atomic_load_n(&own_tids[i], __ATOMIC_RELAXED);

		if (seen && !clock_of_thread_runs(seen))
			__atomic_compare_exchange_n(
				&own_tids[i], &seen, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

/*
 * Arguments of own_thread_main(), in the creator's stack frame. They are valid until the new thread
 * has set `tid`.
 */
struct thread_start {
	void *(*start)(void *);
	void *argument;
	int error;
	/* Atomic and a futex; 0 until the thread has started. */
	uint32_t tid;
};

static void *own_thread_main(void *argument)
{
	struct thread_start *thread_start = argument;
	void *(*start)(void *) = thread_start->start;
	void *start_argument = thread_start->argument;
	uint32_t tid = (uint32_t)arch_syscall0(SYS_gettid);
	int error = add_own(tid);

	arch_syscall2(SYS_prctl, PR_SET_NAME, "flameprof");
	thread_start->error = error;
	__atomic_store_n(&thread_start->tid, tid, __ATOMIC_RELEASE);
	/*
	 * The creator may have left its stack frame. That is harmless, because the kernel uses the
	 * address only to find waiting threads.
	 */
	arch_syscall3(SYS_futex, &thread_start->tid, FUTEX_WAKE_PRIVATE, 1);
	return error ? NULL : start(start_argument);
}

static int create_thread(pthread_t *id, struct thread_start *thread_start)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/*
	 * Try larger stacks: the stack includes the static thread-local variables of all libraries.
	 * libc returns EINVAL if they do not fit, and does not provide their size.
	 */
	for (size_t bytes = OWN_STACK_BYTES; bytes <= OWN_STACK_MAX; bytes *= 2) {
		pthread_attr_setstacksize(&attributes, bytes);
		error = libc_calls.pthread_create(id, &attributes, own_thread_main, thread_start);
		if (error != EINVAL)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

/* Forget all ids in a fork child: it has no own threads, and their ids may be reused. */
static void clear_own(void)
{
	memset(own_tids, 0, sizeof(own_tids));
	own_known = own_begun;
}

static void register_fork_handler(void)
{
	pthread_atfork(NULL, NULL, clear_own);
}

void own_threads_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_fork_handler);
}

int own_threads_begin(pthread_t *id, int32_t *tid, void *(*start)(void *), void *argument)
{
	struct thread_start thread_start = {.start = start, .argument = argument};
	int error;

	own_threads_watch_forks();
	__atomic_fetch_add(&own_begun, 1, __ATOMIC_SEQ_CST);
	error = create_thread(id, &thread_start);
	while (!error && !__atomic_load_n(&thread_start.tid, __ATOMIC_ACQUIRE))
		arch_syscall4(SYS_futex, &thread_start.tid, FUTEX_WAIT_PRIVATE, 0, NULL);
	__atomic_fetch_add(&own_known, 1, __ATOMIC_SEQ_CST);
	if (error)
		return error;
	if (thread_start.error)
		libc_calls.pthread_join(*id, NULL);
	else if (tid)
		*tid = (int32_t)thread_start.tid;
	return thread_start.error;
}

uint32_t own_threads_begun(void)
{
	uint32_t known = __atomic_load_n(&own_known, __ATOMIC_SEQ_CST);
	uint32_t begun = __atomic_load_n(&own_begun, __ATOMIC_SEQ_CST);

	return begun == known ? begun : begun - 1;
}

int own_threads_are_known(uint32_t begun)
{
	return __atomic_load_n(&own_begun, __ATOMIC_SEQ_CST) == begun;
}

/* ---- staying loaded -------------------------------------------------------------------------- */
/*
 * Keep the library loaded. A plugin with a copy of the library may be closed while threads, timers
 * and handlers use the copy.
 */

/*
 * Declared weak, because static programs lack both functions, and the linker warns about dlopen()
 * in such programs.
 */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));
extern __typeof__(dlsym) dlsym __attribute__((weak));

void stay_loaded(void)
{
	static uint32_t stays; /* atomic */
	struct link_map *map = NULL;
	__typeof__(&dlopen) open;
	Dl_info info;

	if (__atomic_exchange_n(&stays, 1, __ATOMIC_RELAXED))
		return;
	/* The program, which has an empty name, and libflameprof.so are never unloaded. */
	if (!dlsym || !dladdr1 || !dladdr1(&stays, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
		!map->l_name || !map->l_name[0])
		return;
	open = (__typeof__(&dlopen))dlsym(RTLD_DEFAULT, "dlopen");
	if (open)
		open(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
