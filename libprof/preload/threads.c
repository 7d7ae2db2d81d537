/* SPDX-License-Identifier: MIT */
/*
 * Interpose pthread_create() and thrd_create(). The creating thread claims an entry for the new
 * thread. The new thread begins in a wrapper that makes its timer, and the destructor of a
 * thread-specific key ends its sampling.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <threads.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/tasks.h"

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int thrd_create_fn(thrd_t *, thrd_start_t, void *);

static pthread_create_fn *next_pthread_create;
static thrd_create_fn *next_thrd_create;
static AT_START pthread_key_t thread_key;
static AT_START int have_key;

#define GUARD_AND_SLACK_BYTES    (64UL << 10)

/*
 * Returns the next definition of @name. If only a shared library of the program links this library,
 * this library may come after libc in the search order. Then RTLD_NEXT finds nothing, and
 * RTLD_DEFAULT finds libc's definition.
 */
void *preload_next(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	return next ? next : dlsym(RTLD_DEFAULT, name);
}

struct sampler_thread *preload_thread(void)
{
	struct sampler_thread *thread = have_key ? pthread_getspecific(thread_key) : NULL;

	/*
	 * In a program that profiles itself, an entry may belong to another thread after the
	 * profiler was stopped and started again.
	 */
	if (thread && sampler_is_hosted() && thread->tid != (int32_t)arch_syscall0(SYS_gettid))
		return NULL;
	return thread;
}

void preload_set_thread(struct sampler_thread *thread)
{
	if (have_key)
		pthread_setspecific(thread_key, thread);
}

void preload_arm(struct sampler_thread *thread)
{
	/*
	 * If arming failed, the entry was released and may become another thread's, so do not store
	 * it as this thread's.
	 */
	if (sampler_is_hosted())
		thread = tasks_arm_self(thread);
	else if (sampler_thread_arm(thread))
		thread = NULL;
	if (thread)
		preload_set_thread(thread);
}

/*
 * The program's own destructors may run after this one and should be sampled. So set the value
 * again, which makes libc run another round of destructors, and end sampling only in the last
 * round.
 */
static void thread_ends(void *value)
{
	struct sampler_thread *thread = value;
	int saved_errno = errno;

	if (sampler_is_hosted() && thread->tid != (int32_t)arch_syscall0(SYS_gettid))
		return;
	if (++thread->exits < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(thread_key, thread);
	else
		sampler_thread_end(thread);
	errno = saved_errno;
}

void preload_make_key(void)
{
	if (!have_key)
		have_key = !pthread_key_create(&thread_key, thread_ends);
}

static int next_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *),
	void *argument)
{
	pthread_create_fn *next = (pthread_create_fn *)preload_next("pthread_create");

	libc_calls.pthread_join = (int (*)(pthread_t, void **))preload_next("pthread_join");
	libc_calls.pthread_detach = (int (*)(pthread_t))preload_next("pthread_detach");
	return next(id, attributes, start, argument);
}

static void watch_end(struct sampler_thread *thread)
{
	preload_make_key();
	preload_set_thread(thread);
}

extern const char __ehdr_start __attribute__((visibility("hidden")));

/*
 * Returns 1 if the program's calls of pthread_create() come to this library. They do not if libc
 * comes before this library in the search order, as for a plugin.
 */
static int sees_births(void)
{
	void *found = dlsym(RTLD_DEFAULT, "pthread_create");
	Dl_info info;

	return found && dladdr(found, &info) && info.dli_fbase == (const void *)&__ehdr_start;
}

__attribute__((constructor(101))) static void set_libc_calls(void)
{
	libc_calls.pthread_create = next_create;
	libc_calls.watch_end = watch_end;
	libc_calls.sees_births = sees_births;
}

/*
 * Compute the calling thread's stack bounds and arm the thread. The thread's control block and
 * static TLS are at the top of its stack's mapping, so everything from the stack pointer up to them
 * is mapped. The lower bound leaves room for the guard pages.
 */
static void arm_with_stack(struct sampler_thread *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t top = (uintptr_t)pthread_self();
	/* set_start() has stored the size of the thread's stack in stack_hi. */
	uintptr_t bytes = thread->stack_hi;
	uintptr_t low;

	if (top <= here || top - here > bytes)
		top = here;
	low = bytes > GUARD_AND_SLACK_BYTES ? top - (bytes - GUARD_AND_SLACK_BYTES) : here;
	if (low > here)
		low = here;
	thread->stack_lo = low;
	thread->stack_hi = top;
	preload_arm(thread);
}

static void *thread_main(void *argument)
{
	struct sampler_thread *thread = argument;
	void *(*start)(void *) = thread->start;
	void *start_argument = thread->argument;

	arm_with_stack(thread);
	return start(start_argument);
}

/*
 * Returns `held` of a new thread (masks.c): that of its creator, because a thread inherits its
 * creator's signal mask. If @attributes have a signal mask, the kernel gives the thread that mask,
 * so `held` is 0.
 */
static uint32_t inherits_held(const pthread_attr_t *attributes)
{
	const struct sampler_thread *creator = preload_thread();
	sigset_t mask;

	if (!creator || sampler_is_hosted() ||
		(attributes && !pthread_attr_getsigmask_np(attributes, &mask)))
		return 0;
	return creator->held;
}

/* Store the creator's facts about the new thread: start routine, mask and size of its stack. */
static void set_start(struct sampler_thread *thread, const pthread_attr_t *attributes,
	void *(*start)(void *), void *argument)
{
	pthread_attr_t defaults;
	size_t bytes = 0;

	if (attributes) {
		pthread_attr_getstacksize(attributes, &bytes);
	} else if (!pthread_getattr_default_np(&defaults)) {
		pthread_attr_getstacksize(&defaults, &bytes);
		pthread_attr_destroy(&defaults);
	}
	thread->start = start;
	thread->argument = argument;
	thread->stack_hi = bytes;
	thread->held = inherits_held(attributes);
}

PRELOAD_EXPORT int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attributes,
	void *(*start)(void *), void *restrict argument)
{
	struct sampler_thread *thread = sampler_thread_claim();
	int error;

	if (!next_pthread_create)
		next_pthread_create = (pthread_create_fn *)preload_next("pthread_create");
	if (!thread)
		return next_pthread_create(id, attributes, start, argument);
	set_start(thread, attributes, start, argument);
	error = next_pthread_create(id, attributes, thread_main, thread);
	if (error)
		sampler_thread_release(thread);
	return error;
}

static int c11_thread_main(void *argument)
{
	struct sampler_thread *thread = argument;
	thrd_start_t start = (thrd_start_t)(uintptr_t)thread->start;
	void *start_argument = thread->argument;

	arm_with_stack(thread);
	return start(start_argument);
}

PRELOAD_EXPORT int thrd_create(thrd_t *id, thrd_start_t start, void *argument)
{
	struct sampler_thread *thread = sampler_thread_claim();
	int result;

	if (!next_thrd_create)
		next_thrd_create = (thrd_create_fn *)preload_next("thrd_create");
	if (!thread)
		return next_thrd_create(id, start, argument);
	set_start(thread, NULL, (void *(*)(void *))(uintptr_t)start, argument);
	result = next_thrd_create(id, c11_thread_main, thread);
	if (result != thrd_success)
		sampler_thread_release(thread);
	return result;
}
