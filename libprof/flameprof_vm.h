/* SPDX-License-Identifier: MIT */
/*
 * For virtual machines that look at the clock at safe points of their own: ticks that count per
 * thread, intercept stubs that look after long builtins, too, and stacks in the machine's own
 * terms.
 *
 *	tick            adds one to the counters of registered threads, then sets their flags
 *	safe point      flameprof_interrupt_check(): a counter that is not zero is taken, and the
 *			host's function called with it
 *	intercept stub  stands for a builtin; checks when the builtin has returned, before the next
 *			thing can be charged with its time
 *
 * An intercept stub has the frame of a call stub (flameprof_stub.h), while its original runs and
 * while the host's function does; its payload is the original. An exception of the original passes
 * through without a check.
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
 * The host's function: @ticks periods have passed since this thread's last call of it. Runs on the
 * thread, between two steps of the machine or after a builtin: it may do what a builtin may, but
 * not throw or longjmp out, nor change the rounding mode, and no tick is taken while it runs on
 * this thread. Registered threads therefore call no intercepted builtin in a signal handler or
 * between vfork() and exec.
 */
typedef void flameprof_interrupt_function(void *context, uint32_t ticks);

/*
 * Begin to tick, for all threads that are registered without a function of their own. A process has
 * one such period and function at a time: a machine that may share it with others, as a plugin
 * does, registers its threads by flameprof_interrupt_register_with() and does without. The timer is
 * a thread of the profiler's own, which no profile shows; it rests while nobody gets ticks. Time is
 * elapsed time: periods that it was late are added to the next tick.
 *
 * @period_ns  100 us..10 s
 * @function   with @context as its first argument
 *
 * Returns 0; -EALREADY when ticks are enabled, -EBUSY while another thread disables them, with
 * nothing changed; -EINVAL for a period out of range or no function; -EAGAIN, -ENOMEM from the
 * system.
 */
FLAMEPROF_API int flameprof_interrupt_enable(
	uint64_t period_ns, flameprof_interrupt_function *function, void *context);

/*
 * End what flameprof_interrupt_enable() began; it may be called again, with other values. When this
 * returns, no thread is in the function, and none will call it. Waits for threads that are inside:
 * the caller holds nothing that the function waits for. Threads stay registered; ticks that waited
 * for them are forgotten, and those with a function of their own go on.
 *
 * Returns 0; -ESRCH when ticks are not enabled; -EBUSY while another thread disables them; -EDEADLK
 * from within the function, with nothing changed.
 */
FLAMEPROF_API int flameprof_interrupt_disable(void);

/*
 * The calling thread gets ticks from now on. In a child made by fork() the calling thread stays
 * registered and all others are forgotten. A thread that ends is unregistered.
 *
 * @vm_flag  this byte is set to 1 after the counter was raised; a bool or the first byte of an int.
 *	     Cleared by nobody here. Borrowed until unregistered; NULL: there is none
 *
 * Returns 0; -EALREADY when the thread is registered, whoever did it; -EAGAIN, -ENOMEM from the
 * system. Ticks begin with flameprof_interrupt_enable(), before or after.
 */
FLAMEPROF_API int flameprof_interrupt_register(unsigned char *vm_flag);

/*
 * The same for machines whose flag is not one byte in one place: @tick is called on the timer's
 * thread instead. It must not wait and must not call flameprof_*.
 *
 * Returns as flameprof_interrupt_register().
 */
FLAMEPROF_API int flameprof_interrupt_register_call(void (*tick)(void *context), void *context);

/* What a thread registers with. Zero: as flameprof_interrupt_register(NULL). */
struct flameprof_interrupt_options {
	/* Of this thread alone, from now on, whether ticks are enabled or not. 0, NULL: those of
	 * flameprof_interrupt_enable(). */
	uint64_t period_ns;
	flameprof_interrupt_function *function;
	void *context;
	unsigned char *vm_flag; /* as flameprof_interrupt_register() has it */
	void (*tick)(void *context); /* likewise flameprof_interrupt_register_call() */
	void *tick_context;
	uint64_t reserved[4]; /* zero */
};

/*
 * The same with all there is. A machine that registers its threads with a function of their own
 * disturbs no other machine of the process and is not disturbed; a thread runs one machine. Once
 * its threads are unregistered nobody calls the function any more.
 *
 * Returns as flameprof_interrupt_register(); -EINVAL for a period out of range, a period or context
 * without a function, and what is reserved.
 */
FLAMEPROF_API int flameprof_interrupt_register_with(
	const struct flameprof_interrupt_options *options);

/*
 * No ticks for the calling thread: its counter is cleared, its flag no longer written.
 * Returns 0, or -ESRCH when it is not registered.
 */
FLAMEPROF_API int flameprof_interrupt_unregister(void);

/*
 * Ticks that wait for this thread, not to be written. Read it only through the functions below and
 * in generated code; at a constant distance from the thread pointer.
 */
extern FLAMEPROF_API __thread volatile uint32_t flameprof_interrupt_ticks
	__attribute__((tls_model("initial-exec")));

/*
 * A safe point: when ticks wait, take them all and call the host's function. Nothing happens for an
 * interrupt that somebody else raised. Keeps errno.
 */
FLAMEPROF_API void flameprof_interrupt_take(void);

static __inline__ void flameprof_interrupt_check(void)
{
	if (__builtin_expect(__atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_RELAXED) != 0, 0))
		flameprof_interrupt_take();
}

/* ---- intercepts ------------------------------------------------------------------------------ */

/*
 * A function that does what @original does, with its arguments and its result of every register
 * class, and checks for ticks when it has returned.
 *
 * Asking again for the same original, name and signature gives the same stub; a stub stands for
 * itself. Stubs live as long as the process, since a frame may be inside after the last pointer is
 * gone: what was restored and is intercepted again gets the stub it had.
 *
 * @name       copied, as in flameprof_stub_new()
 * @signature  stack_words only; borrowed for the call; NULL: all arguments are in registers
 *
 * Returns the stub, or @original where there can be none: flameprof_intercept_status() says why,
 * or FLAMEPROF_STUBS_WORK for a signature that no stub can have. NULL stays NULL.
 */
FLAMEPROF_API flameprof_function *flameprof_intercept(flameprof_function *original,
	const char *name, const struct flameprof_signature *signature);

/*
 * What @function stands for: the original of an intercept stub, else itself. Context: signal-safe.
 */
FLAMEPROF_API flameprof_function *flameprof_intercept_original(flameprof_function *function);

/* How it went the last time that a stub was asked for. Context: signal-safe. */
FLAMEPROF_API enum flameprof_stub_status flameprof_intercept_status(void);

/*
 * Put stubs into a table of functions: all of them, or, with an error, none.
 * A table may be given again, also one the host has rebuilt: stubs in it stay, plain functions go.
 *
 * @table       *@table has @n entries; NULL entries and those without a name stay as they are.
 *Where it can't be written it is left alone and *@table becomes a copy, which belongs to the
 *		library until flameprof_intercept_restore()
 * @names       @n of them, copied; several functions may share one
 * @signatures  @n of them, or NULL: all arguments are in registers
 *
 * Returns how many entries were replaced; -EACCES where executable memory is refused, -EINVAL for a
 * signature that no stub can have and where there is no table or are no names, -ENOMEM; -EBUSY
 * between flameprof_arenas_suspend() and _resume().
 * Context: nobody else writes the table. Calls through it may be running.
 */
FLAMEPROF_API int flameprof_intercept_table(flameprof_function ***table, size_t n,
	const char *const *names, const struct flameprof_signature *signatures);

/*
 * Put the originals back. A copy made by flameprof_intercept_table() is freed, and *@table is the
 * host's own again. Calls that are inside a stub return through it.
 * A table given again in its read-only form got the same copy: it goes with the last restore.
 * Returns how many entries were stubs; -EACCES when the table can no longer be written, -EINVAL for
 * a copy of another size or no table: nothing is changed then.
 * Context: nobody else writes the table; nobody reads a copy any more.
 */
FLAMEPROF_API int flameprof_intercept_restore(flameprof_function ***table, size_t n);

/* ---- stacks of the machine -------------------------------------------------------------------
 *
 * Shown as "name (file:line)". In a profile they are elapsed time, told in its periods, whatever
 * its clock is (struct flameprof_stack, is_vm); what is left of a period goes to the thread's next
 * stack. With FLAMEPROF_CLOCK_VM a tick of who calls flameprof_start() is a period, where ticks are
 * enabled by then or the thread has its own.
 */

/*
 * A function of the host's language. Functions with the same three values are one. They are kept as
 * long as the process lives: a million of them, and 128 MiB of names and files, then "[more
 * functions]" stands for the others.
 */
struct flameprof_vm_frame {
	const char *name; /* any bytes, cut at FLAMEPROF_NAME_BYTES; NULL or "": "[anonymous]" */
	const char *file; /* likewise; NULL or "": none, as of a builtin */
	uint32_t line;	  /* where it is defined, or of the call; 0: none */
};

/* Where the frames that are passed stand in the picture. */
enum flameprof_vm_place {
	/* On a root of their own, "[vm]", beside what the thread's native samples say. */
	FLAMEPROF_VM_BESIDE = 0,
	/* On the native frames of the thread, up to the caller of flameprof_record_vm_stack(). */
	FLAMEPROF_VM_ABOVE = 1
};

/* For all threads; FLAMEPROF_VM_BESIDE before the first call. Context: signal-safe. */
FLAMEPROF_API void flameprof_vm_stacks(enum flameprof_vm_place place);

/*
 * Record a stack of the machine's, to this process's profiler or to flamerun. It is elapsed time:
 * @ticks periods of the calling thread's own, or of flameprof_interrupt_enable().
 *
 * @frames  innermost first, a builtin that was running as the first; copied. Of more than the
 *	    profile's depth (4096, "[vm]" included) the outermost are left out, and counted as a
 *	    stack that was too deep
 * @n	    0: the time stands on "[vm]" alone
 * @ticks   as the host's function gets them; 0 records nothing
 *
 * Returns 0, also while less than a period has come together; -ESRCH when nobody samples this
 * process, or it is paused: counted; -EINVAL where there is no such period, and for @n without
 * @frames; -ENOSPC when the sample had to be dropped, because the thread's ring is full or there is
 * none for it: counted; -ENOMEM, likewise.
 */
FLAMEPROF_API int flameprof_record_vm_stack(
	const struct flameprof_vm_frame *frames, unsigned n, uint32_t ticks);

#ifdef __cplusplus
}
#endif

#endif
