/* SPDX-License-Identifier: MIT */
/*
 * Count and deliver the ticks of the calling thread, and enable, disable, register and unregister
 * (flameprof_vm.h). Handle the end of a thread, and fork.
 *
 * Ticks are counted in thread-local storage. It is the library's only thread-local storage, and
 * static, so that generated code reads the counter in one instruction. The timer thread writes
 * other threads' counters under interrupt.lock, and a thread that ends leaves the list under the
 * same lock. A thread may also end by a system call, without libc: a robust mutex, locked while the
 * thread is registered, shows this, because the kernel marks the mutex before a joiner can see the
 * thread's end. Each thread's next due time is stored, so a late timer loses no tick.
 *
 * A fork child starts its timer thread only at its thread's first safe point, because most children
 * only exec. An extra tick, which is not reported to the host, makes the thread enter that safe
 * point. If the thread has a `tick` callback, the timer starts at once.
 *
 * If there are two copies of the library in a process, only the profiler's copy has a timer. The
 * program's copy registers its threads in the profiler's copy, with a callback that raises the
 * program's counter and flag. Safe points in the program's copy call the profiler's copy. Stubs
 * read the counter of the profiler's copy.
 */
#include "libprof/interrupt/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>

#include "arch/syscall.h"
#include "libprof/flameprof_vm.h"
#include "libprof/interrupt/timer.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/trampoline/other_copy.h"

/* ---- ticks of the calling thread ------------------------------------------------------------- */
/*
 * A thread's ticks are counted in the library's only thread-local storage, 8 bytes. Generated code
 * reads the counter at a constant offset from the thread pointer, so the storage is static
 * (initial-exec). glibc reserves room for that even if the library is opened late.
 */

/* Returns the calling thread's entry, or NULL. Context: any thread, not a handler. */
static struct interrupt_thread *interrupt_here(void);

/*
 * Start the timer of a fork child at a safe point. Returns 0, or -errno if the child gets no ticks.
 * Context: any thread, not a handler; no lock held.
 */
static int interrupt_begin_in_child(void);

#define STATIC_STORAGE __attribute__((tls_model("initial-exec")))

__thread volatile uint32_t flameprof_interrupt_ticks;

/*
 * An alias of the library's own counter. A program may export a symbol of the public name, which
 * the dynamic linker would find first.
 */
extern __thread volatile uint32_t own_ticks STATIC_STORAGE
	__attribute__((alias("flameprof_interrupt_ticks"), visibility("hidden")));

enum own_state {
	/* The host's function runs on this thread. */
	INSIDE = 1,
	/* One of the counted ticks was added by interrupt_ticks_mark(), not by the timer. */
	MARKED = 2,
	COUNTED = 4, /* counted in interrupt.inside */
};

static __thread uint32_t own_state STATIC_STORAGE;

volatile uint32_t *interrupt_ticks_here(void)
{
	return &own_ticks;
}

intptr_t interrupt_ticks_offset(void)
{
	return (intptr_t)((uintptr_t)&own_ticks - (uintptr_t)__builtin_thread_pointer());
}

/* Set the calling thread's counter to 0 and clear MARKED. */
static void interrupt_ticks_clear(void)
{
	own_state &= ~(uint32_t)MARKED;
	__atomic_store_n(&own_ticks, 0, __ATOMIC_RELAXED);
}

/*
 * Make the calling thread enter interrupt_take() at its next safe point, where the extra tick
 * starts a fork child's timer. Context: signal-safe.
 */
static void interrupt_ticks_mark(void)
{
	own_state |= MARKED;
	__atomic_fetch_add(&own_ticks, 1, __ATOMIC_RELAXED);
}

static void interrupt_enter(void)
{
	own_state |= COUNTED;
	__atomic_fetch_add(&interrupt.inside, 1, __ATOMIC_SEQ_CST);
}

/*
 * Remove the calling thread from interrupt.inside, if it is counted there. If the count becomes 0
 * and ticks are being disabled, wake the thread that waits for this.
 */
static void interrupt_leave(void)
{
	if (!(own_state & COUNTED))
		return;
	own_state &= ~(uint32_t)COUNTED;
	if (__atomic_fetch_sub(&interrupt.inside, 1, __ATOMIC_SEQ_CST) == 1 &&
		!__atomic_load_n(&interrupt.function, __ATOMIC_SEQ_CST))
		arch_syscall3(SYS_futex, &interrupt.inside, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* Returns 1 if the calling thread is counted in interrupt.inside. */
static int interrupt_is_inside(void)
{
	return (own_state & COUNTED) != 0;
}

/* In a fork child, count no thread other than the calling one, because it is the only one. */
static void interrupt_reset_inside_in_child(void)
{
	__atomic_store_n(&interrupt.inside, own_state & COUNTED ? 1 : 0, __ATOMIC_SEQ_CST);
}

/*
 * Wait until interrupt.inside is 0. Context: interrupt.function is NULL, and interrupt.lock is not
 * held.
 */
static void interrupt_wait_until_outside(void)
{
	uint32_t inside;

	while ((inside = __atomic_load_n(&interrupt.inside, __ATOMIC_SEQ_CST)))
		arch_syscall6(SYS_futex, (long)&interrupt.inside, FUTEX_WAIT_PRIVATE, (long)inside,
			(long)NULL, 0, 0);
}

/*
 * Call the host's function: this thread's own, or else interrupt.function. Ticks that are due
 * during the call are delivered afterwards.
 */
static void interrupt_call(uint32_t ticks)
{
	const struct interrupt_thread *thread = interrupt_here();
	flameprof_interrupt_function *function;
	void *context = NULL;

	if (thread && thread->function) {
		function = thread->function;
		context = thread->context;
	} else {
		function = __atomic_load_n(&interrupt.function, __ATOMIC_SEQ_CST);
		/*
		 * interrupt.context is not written while a thread is counted as inside and
		 * `function` is set.
		 */
		if (function)
			context = interrupt.context;
	}
	if (!function)
		return;
	own_state |= INSIDE;
	function(context, ticks);
	own_state &= ~(uint32_t)INSIDE;
}

void interrupt_take(void)
{
	int saved_errno = errno;
	const struct interrupt_thread *thread;
	uint32_t ticks;

	if (own_state & INSIDE)
		return;
	thread = interrupt_here();
	/*
	 * Call interrupt_enter() before zeroing the counter, so that a function that is enabled
	 * later does not get these ticks.
	 */
	if (!thread || !thread->function)
		interrupt_enter();
	ticks = __atomic_exchange_n(&own_ticks, 0, __ATOMIC_ACQUIRE);
	if (ticks && own_state & MARKED) {
		own_state &= ~(uint32_t)MARKED;
		ticks--;
		interrupt_begin_in_child();
	}
	if (ticks)
		interrupt_call(ticks);
	interrupt_leave();
	errno = saved_errno;
}

void flameprof_interrupt_take(void)
{
	if (!other_copy.flameprof_interrupt_take) {
		interrupt_take();
	} else if (!(own_state & INSIDE)) {
		/*
		 * There are two copies of the library in the process. The other copy has counted
		 * the ticks and delivers them; this copy's counter only shows that there are some.
		 */
		__atomic_store_n(&own_ticks, 0, __ATOMIC_SEQ_CST);
		other_copy.flameprof_interrupt_take();
	}
}

/* ---- which threads get ticks ----------------------------------------------------------------- */

#define PERIOD_NS_MIN 100000ULL
#define PERIOD_NS_MAX (10 * CLOCK_NS_PER_S)

/*
 * The value of `key` is the thread's struct interrupt_thread while the thread is registered, and
 * &was_registered after it was unregistered.
 */
static pthread_key_t key;
static struct interrupt_thread was_registered;
static int init_error;
static int has_key; /* atomic */

static struct interrupt_thread *registered_thread(void)
{
	struct interrupt_thread *thread = pthread_getspecific(key);

	return thread == &was_registered ? NULL : thread;
}

static struct interrupt_thread *interrupt_here(void)
{
	return __atomic_load_n(&has_key, __ATOMIC_ACQUIRE) ? registered_thread() : NULL;
}

uint64_t interrupt_period_here_ns(void)
{
	const struct interrupt_thread *thread = interrupt_here();

	return thread && thread->function ? thread->period_ns : interrupt_period_ns();
}

/*
 * The function that this copy of the library registers in the other copy. It calls the host's
 * function, which was registered in this copy.
 */
static void call_here(void *context, uint32_t ticks)
{
	(void)context;
	interrupt_call(ticks);
}

/*
 * The `tick` callback that this copy of the library registers in the other copy. It raises this
 * copy's counter of @thread.
 */
static void raise_here(void *thread)
{
	registry_raise(thread, 1);
}

static int begin_in_other_copy(struct interrupt_thread *thread, uint64_t period_ns)
{
	const struct flameprof_interrupt_options options = {
		.period_ns = period_ns,
		.function = thread->function ? call_here : NULL,
		.tick = raise_here,
		.tick_context = thread,
	};

	return other_copy.flameprof_interrupt_register_with(&options);
}

/* Start @thread's ticks. @period_ns is used only if the thread has a function of its own. */
static int begin_ticks(struct interrupt_thread *thread, uint64_t period_ns)
{
	uint64_t now_ns;
	int error = 0;

	if (other_copy.flameprof_interrupt_register_with)
		return begin_in_other_copy(thread, period_ns);
	pthread_mutex_lock(&interrupt.lock);
	now_ns = clock_monotonic_ns();
	if (thread->function)
		registry_begin(thread, now_ns, period_ns, now_ns);
	else if (interrupt.function)
		registry_begin(thread, interrupt.begin_ns, interrupt.period_ns, now_ns);
	registry_add(thread);
	if (thread->period_ns)
		error = timer_start(thread->due_ns);
	if (error)
		registry_remove(thread);
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}

static void end_ticks(struct interrupt_thread *thread)
{
	if (other_copy.flameprof_interrupt_unregister) {
		other_copy.flameprof_interrupt_unregister();
	} else {
		pthread_mutex_lock(&interrupt.lock);
		registry_remove(thread);
		pthread_mutex_unlock(&interrupt.lock);
	}
	interrupt_ticks_clear();
	registry_thread_free(thread);
}

static void thread_ends(void *value)
{
	int saved_errno = errno;

	if (value != &was_registered)
		end_ticks(value);
	/* If the thread was cancelled inside the host's function, it is still counted as inside. */
	interrupt_leave();
	timer_end_unneeded();
	errno = saved_errno;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&interrupt.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&interrupt.lock);
}

/*
 * Do not start the timer in the fork child yet, because most children only call exec. Mark a tick
 * by interrupt_ticks_mark() instead, so that the thread starts the timer at its next safe point. If
 * the thread has a `tick` callback, start the timer at once.
 */
static void fork_child(void)
{
	struct interrupt_thread *thread = registered_thread();

	timer_reset_in_child();
	registry_reset_in_child(other_copy.flameprof_interrupt_take ? NULL : thread);
	interrupt_reset_inside_in_child();
	/*
	 * If a thread of the parent was disabling ticks, it does not exist in the child. Complete
	 * its work.
	 */
	if (!interrupt.function)
		__atomic_store_n(&interrupt.period_ns, 0, __ATOMIC_RELAXED);
	if (interrupt.threads && thread->period_ns) {
		registry_skip(thread, clock_monotonic_ns());
		interrupt_ticks_clear();
		if (thread->tick) {
			timer_start(thread->due_ns);
		} else {
			interrupt_ticks_mark();
			if (thread->flag)
				__atomic_store_n(thread->flag, 1, __ATOMIC_SEQ_CST);
		}
	}
	pthread_mutex_unlock(&interrupt.lock);
}

static void init_once(void)
{
	/*
	 * own_threads' fork handlers must be registered before the ones below, because a child runs
	 * its handlers in the order of registration.
	 */
	own_threads_watch_forks();
	init_error = -pthread_key_create(&key, thread_ends);
	if (!init_error)
		init_error = -pthread_atfork(fork_prepare, fork_parent, fork_child);
	__atomic_store_n(&has_key, !init_error, __ATOMIC_RELEASE);
}

/* Create the key and the fork handlers, once. Returns 0 or -ENOMEM. */
static int ensure_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	stay_loaded();
	pthread_once(&once, init_once);
	return init_error ? -ENOMEM : 0;
}

static int is_period(uint64_t period_ns)
{
	return period_ns >= PERIOD_NS_MIN && period_ns <= PERIOD_NS_MAX;
}

static int check_options(const struct flameprof_interrupt_options *options)
{
	static const struct flameprof_interrupt_options zero;

	if (!options || memcmp(options->reserved, zero.reserved, sizeof(zero.reserved)))
		return -EINVAL;
	if (options->function)
		return is_period(options->period_ns) ? 0 : -EINVAL;
	return options->period_ns || options->context ? -EINVAL : 0;
}

int flameprof_interrupt_register_with(const struct flameprof_interrupt_options *options)
{
	struct interrupt_thread *thread, *before;
	int error = check_options(options);

	if (!error)
		error = ensure_init();
	if (error)
		return error;
	if (registered_thread())
		return -EALREADY;
	before = pthread_getspecific(key);
	thread = registry_thread_new();
	if (!thread)
		return -ENOMEM;
	thread->ticks = interrupt_ticks_here();
	thread->flag = options->vm_flag;
	thread->tick = options->tick;
	thread->tick_context = options->tick_context;
	thread->function = options->function;
	thread->context = options->context;
	interrupt_ticks_clear();
	error = -pthread_setspecific(key, thread);
	if (error)
		goto out;
	error = begin_ticks(thread, options->period_ns);
	if (!error)
		return 0;
	pthread_setspecific(key, before);
out:
	registry_thread_free(thread);
	return error;
}

int flameprof_interrupt_register(unsigned char *vm_flag)
{
	return flameprof_interrupt_register_with(
		&(struct flameprof_interrupt_options){.vm_flag = vm_flag});
}

int flameprof_interrupt_register_call(void (*tick)(void *context), void *context)
{
	if (!tick)
		return -EINVAL;
	return flameprof_interrupt_register_with(
		&(struct flameprof_interrupt_options){.tick = tick, .tick_context = context});
}

int flameprof_interrupt_unregister(void)
{
	struct interrupt_thread *thread = ensure_init() ? NULL : registered_thread();

	if (!thread)
		return -ESRCH;
	/*
	 * Set a value other than NULL, so that libc still calls thread_ends() at the thread's end:
	 * the timer must not be the last thread.
	 */
	pthread_setspecific(key, &was_registered);
	end_ticks(thread);
	return 0;
}

static int set_function(flameprof_interrupt_function *function, void *context)
{
	if (interrupt.function)
		return -EALREADY;
	if (interrupt.period_ns)
		return -EBUSY;
	interrupt.context = context;
	__atomic_store_n(&interrupt.function, function, __ATOMIC_RELEASE);
	return 0;
}

int flameprof_interrupt_enable(
	uint64_t period_ns, flameprof_interrupt_function *function, void *context)
{
	int error;

	if (!is_period(period_ns) || !function)
		return -EINVAL;
	pthread_mutex_lock(&interrupt.lock);
	error = set_function(function, context);
	if (error)
		goto out;
	if (other_copy.flameprof_interrupt_enable) {
		error = other_copy.flameprof_interrupt_enable(period_ns, call_here, NULL);
	} else {
		interrupt.begin_ns = clock_monotonic_ns();
		__atomic_store_n(&interrupt.period_ns, period_ns, __ATOMIC_RELAXED);
		registry_begin_all(interrupt.begin_ns);
		error = timer_start(registry_due_ns());
	}
	if (error) {
		registry_end_all();
		__atomic_store_n(&interrupt.period_ns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&interrupt.function, NULL, __ATOMIC_RELAXED);
	}
out:
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}

/*
 * Clear interrupt.function and end the ticks of threads that have no function of their own. Returns
 * 0 or -errno.
 */
static int clear_function(void)
{
	int error = 0;

	pthread_mutex_lock(&interrupt.lock);
	if (!interrupt.function)
		error = interrupt.period_ns ? -EBUSY : -ESRCH;
	else if (interrupt_is_inside())
		error = -EDEADLK;
	if (!error) {
		__atomic_store_n(&interrupt.function, NULL, __ATOMIC_SEQ_CST);
		registry_end_all();
	}
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}

/*
 * Disable ticks in the other copy of the library, so that it no longer calls the host's function
 * through this copy. Then clear the function in this copy.
 */
static int disable_in_other_copy(void)
{
	int error = -ESRCH;

	if (__atomic_load_n(&interrupt.function, __ATOMIC_ACQUIRE))
		error = other_copy.flameprof_interrupt_disable();
	if (!error)
		__atomic_store_n(&interrupt.function, NULL, __ATOMIC_SEQ_CST);
	return error;
}

int flameprof_interrupt_disable(void)
{
	int error;

	if (other_copy.flameprof_interrupt_disable)
		return disable_in_other_copy();
	error = clear_function();
	if (error)
		return error;
	/*
	 * Wait without the lock, because threads inside the function may register, unregister and
	 * fork.
	 */
	interrupt_wait_until_outside();
	pthread_mutex_lock(&interrupt.lock);
	/*
	 * Clear the period only now, because the function may have used it to convert ticks to
	 * time.
	 */
	__atomic_store_n(&interrupt.period_ns, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&interrupt.lock);
	timer_end_unneeded();
	return 0;
}

static int interrupt_begin_in_child(void)
{
	int error;

	pthread_mutex_lock(&interrupt.lock);
	error = timer_start(registry_due_ns());
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}
