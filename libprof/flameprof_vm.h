/* SPDX-License-Identifier: MIT */
/*
 * For virtual machines that check for interrupts at safe points: ticks that are counted per thread,
 * intercept stubs that also check after long builtins, and stacks of the machine's own functions.
 *
 *	tick            adds one to the counters of registered threads, then sets their flags
 *	safe point      calls flameprof_interrupt_check(). If the counter is not zero, it resets the
 *			counter and calls the host's function with the counter's value
 *	intercept stub  replaces a builtin and checks when the builtin has returned, before another
 *			function can be charged with the builtin's time
 *
 * While the builtin and the host's function run, an intercept stub has the frame of a call stub
 * (flameprof_stub.h) on the stack, with the builtin's address as payload. An exception of the
 * builtin passes through the stub without a check.
 *
 * Errors are negative errno values. Context, unless stated otherwise: any thread, not a handler.
 */
#ifndef FLAMEPROF_VM_H
#define FLAMEPROF_VM_H

#include <stddef.h>
#include <stdint.h>

#include "flameprof_stub.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- interrupts ------------------------------------------------------------------------------ */

/*
 * The host's function: @ticks periods have passed since its last call on this thread. It runs on
 * the thread, between two steps of the machine or after a builtin. It may do what a builtin may,
 * but not throw, longjmp out, or change the rounding mode. No ticks are delivered to this thread
 * while the function runs. A registered thread must not call intercepted builtins in a signal
 * handler or between vfork() and exec, because the builtin's stub may call this function.
 */
typedef void flameprof_interrupt_function(void *context, uint32_t ticks);

/*
 * Start ticks for all threads that are registered without a function of their own. A process has
 * only one such period and function, so a machine that may share the process with others, such as a
 * plugin, uses flameprof_interrupt_register_with() instead. The library's timer thread makes the
 * ticks; no profile shows it, and it sleeps while no thread gets ticks. Time is elapsed time. If
 * the timer is late, the missed periods are added to the next tick.
 *
 * @period_ns  100 us..10 s
 * @function   called with @context as its first argument
 *
 * Returns 0; -EALREADY if ticks are enabled, -EBUSY while another thread disables them, with
 * nothing changed; -EINVAL for a period out of range or no function; -EAGAIN, -ENOMEM from the
 * system.
 */
FLAMEPROF_API int flameprof_interrupt_enable(
	uint64_t period_ns, flameprof_interrupt_function *function, void *context);

/*
 * Stop the ticks of flameprof_interrupt_enable(), which may then be called again with other values.
 * On return no thread is in the host's function and none will call it. Waits for threads that are
 * in the function, so the caller must not hold a lock that the function waits for. Threads stay
 * registered, and their undelivered ticks are discarded. Threads with a function of their own are
 * not affected.
 *
 * Returns 0; -ESRCH if ticks are not enabled; -EBUSY while another thread disables them; -EDEADLK
 * from within the function, with nothing changed.
 */
FLAMEPROF_API int flameprof_interrupt_disable(void);

/*
 * Register the calling thread for ticks, before or after flameprof_interrupt_enable(). A thread
 * that ends is unregistered. In a fork child only the calling thread stays registered.
 *
 * @vm_flag  set to 1 by each tick, after the counter was raised: a bool or the first byte of an
 *           int. The library never clears the flag. Borrowed until unregistered; NULL: none
 *
 * Returns 0; -EALREADY if the thread is registered already; -EAGAIN, -ENOMEM from the system.
 */
FLAMEPROF_API int flameprof_interrupt_register(unsigned char *vm_flag);

/*
 * Register the calling thread, for a machine whose flag is not a single byte. Each tick calls @tick
 * on the library's timer thread instead of setting a flag. @tick must not wait and must not call
 * flameprof_*.
 *
 * Returns as flameprof_interrupt_register().
 */
FLAMEPROF_API int flameprof_interrupt_register_call(void (*tick)(void *context), void *context);

/* How to register a thread. All zero: as by flameprof_interrupt_register(NULL). */
struct flameprof_interrupt_options {
	/*
	 * Period, function and context for ticks of this thread alone, delivered whether or not
	 * ticks are enabled. 0 and NULL: the period and function of flameprof_interrupt_enable().
	 */
	uint64_t period_ns;
	flameprof_interrupt_function *function;
	void *context;
	/* As in flameprof_interrupt_register(). */
	unsigned char *vm_flag;
	/* As in flameprof_interrupt_register_call(). */
	void (*tick)(void *context);
	void *tick_context;
	uint64_t reserved[4]; /* zero */
};

/*
 * Register the calling thread with options. If a process has several virtual machines, give each
 * its own function: the ticks of its threads are then independent of the other machines. A thread
 * can run only one machine. When all threads of a machine are unregistered, its function is not
 * called any more.
 *
 * Returns as flameprof_interrupt_register(); -EINVAL for a period out of range, a period or context
 * without a function, or a non-zero reserved field.
 */
FLAMEPROF_API int flameprof_interrupt_register_with(
	const struct flameprof_interrupt_options *options);

/*
 * Unregister the calling thread: clear its counter and stop writing its flag. Returns 0, or -ESRCH
 * if the thread is not registered.
 */
FLAMEPROF_API int flameprof_interrupt_unregister(void);

/*
 * Undelivered ticks of this thread. Read it only by the functions below and in generated code, and
 * do not write it. It is at a constant offset from the thread pointer.
 */
extern FLAMEPROF_API __thread volatile uint32_t flameprof_interrupt_ticks
	__attribute__((tls_model("initial-exec")));

/*
 * Deliver ticks at a safe point: if the counter is not zero, reset it and call the host's function.
 * If the counter is zero, do nothing; a machine may reach a safe point for another reason than
 * ticks. errno is kept.
 */
FLAMEPROF_API void flameprof_interrupt_take(void);

static __inline__ void flameprof_interrupt_check(void)
{
	if (__builtin_expect(__atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_RELAXED) != 0, 0))
		flameprof_interrupt_take();
}

/* ---- intercepts ------------------------------------------------------------------------------ */

/*
 * Returns a stub that does what @original does, for all arguments and results, and checks for ticks
 * when @original has returned.
 *
 * A call with the same original, name and signature returns the same stub, also after the original
 * was restored. If @original is a stub, it is returned. Stubs are never freed, because a thread may
 * still be inside a stub when the last pointer to it is gone.
 *
 * @name       copied, as in flameprof_stub_new()
 * @signature  only stack_words is used; borrowed for the call; NULL: all arguments are in registers
 *
 * Returns @original if no stub can be made: flameprof_intercept_status() gives the reason, or
 * FLAMEPROF_STUBS_WORK for a signature that no stub can have. NULL stays NULL.
 */
FLAMEPROF_API flameprof_function *flameprof_intercept(flameprof_function *original,
	const char *name, const struct flameprof_signature *signature);

/*
 * Returns the original of an intercept stub; any other @function is returned unchanged. Context:
 * signal-safe.
 */
FLAMEPROF_API flameprof_function *flameprof_intercept_original(flameprof_function *function);

/* Returns the result of the last attempt to make a stub. Context: signal-safe. */
FLAMEPROF_API enum flameprof_stub_status flameprof_intercept_status(void);

/*
 * Replace the functions of a table by stubs: all of them or, after an error, none. The same table
 * may be passed again, also after the host has rebuilt it: stubs in it stay, plain functions are
 * replaced.
 *
 * @table       *@table has @n entries; entries that are NULL or have no name stay as they are. A
 *              table that cannot be written is left unchanged, and *@table becomes a copy, which
 *              the library owns until flameprof_intercept_restore()
 * @names       @n of them, copied; several functions may share one
 * @signatures  @n of them, or NULL: all arguments are in registers
 *
 * Returns the number of entries replaced; -EACCES if executable memory is refused; -EINVAL for a
 * signature that no stub can have, or without table or names; -ENOMEM; -EBUSY between
 * flameprof_arenas_suspend() and _resume().
 * Context: no other thread writes the table. Calls through it may be running.
 */
FLAMEPROF_API int flameprof_intercept_table(flameprof_function ***table, size_t n,
	const char *const *names, const struct flameprof_signature *signatures);

/*
 * Put the originals back into a table. A copy made by flameprof_intercept_table() is freed, and
 * *@table is the host's own table again. If a read-only table was passed several times, all calls
 * got the same copy, and the last restore frees it. Calls that are inside a stub still return
 * through the stub.
 * Returns the number of entries that were stubs; -EACCES if the table can no longer be written,
 * -EINVAL for a copy of another size or no table, with nothing changed.
 * Context: no other thread writes the table or reads a copy of it.
 */
FLAMEPROF_API int flameprof_intercept_restore(flameprof_function ***table, size_t n);

/* ---- stacks of the machine ------------------------------------------------------------------- */
/*
 * A virtual machine can record stacks of functions of its language. Pictures show such a frame as
 * "name (file:line)". The weight of a recorded stack is elapsed time, whatever the profile's clock
 * is (flameprof_stack.is_vm), in periods of the profile. A remainder of less than a period is added
 * to the thread's next stack. With FLAMEPROF_CLOCK_VM, the profile's period is the tick period of
 * the thread that calls flameprof_start(), or else that of flameprof_interrupt_enable().
 */

/*
 * A function of the host's language. Functions with equal name, file and line are one function.
 * Functions are kept as long as the process lives: up to a million and 128 MiB of names and files.
 * "[more functions]" stands for all others.
 */
struct flameprof_vm_frame {
	/* Any bytes, cut at FLAMEPROF_NAME_BYTES; NULL or "": "[anonymous]". */
	const char *name;
	/* Cut at FLAMEPROF_NAME_BYTES; NULL or "": no file, as for a builtin. */
	const char *file;
	/* Line of the function's definition or of the call; 0: none. */
	uint32_t line;
};

/* Where a picture shows the recorded frames. */
enum flameprof_vm_place {
	/*
	 * The recorded frames have a root "[vm]" of their own, beside the thread's native samples.
	 */
	FLAMEPROF_VM_BESIDE = 0,
	/*
	 * The recorded frames are drawn as callees of the thread's native frames, of which the
	 * innermost one is that of the caller of flameprof_record_vm_stack().
	 */
	FLAMEPROF_VM_ABOVE = 1
};

/*
 * Set where recorded frames are shown, for all threads; default FLAMEPROF_VM_BESIDE. Context:
 * signal-safe.
 */
FLAMEPROF_API void flameprof_vm_stacks(enum flameprof_vm_place place);

/*
 * Record a stack of the machine in this process's profiler or in flamerun. Its weight is elapsed
 * time: @ticks periods of the calling thread's own ticks, or of flameprof_interrupt_enable().
 *
 * @frames  innermost first; a builtin that was running is the first one; copied. If there are more
 *          than the profile's depth (4096, including "[vm]"), the outermost are left out and the
 *          stack is counted as too deep
 * @n       0: the time is recorded on "[vm]" alone
 * @ticks   as passed to the host's function; 0 records nothing
 *
 * Returns 0, also if the time is kept for the thread's next stack because it is less than a period
 * of the profile; -ESRCH if this process is not sampled, or is paused, which is counted; -EINVAL if
 * there is no period, or @n without @frames; -ENOSPC if the sample was dropped because the thread's
 * ring is full or missing; -ENOMEM if it was dropped for want of memory; both are counted.
 */
FLAMEPROF_API int flameprof_record_vm_stack(
	const struct flameprof_vm_frame *frames, unsigned n, uint32_t ticks);

#ifdef __cplusplus
}
#endif

#endif
