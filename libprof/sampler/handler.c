/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the signal handler. */
/*
 * The signal handler: at each expiry of a thread's timer, walk the stack into the thread's ring and
 * commit the sample. The common path makes no system call.
 *
 * The duration of a sample is measured by elapsed time. The thread's CPU clock would leave out the
 * time of other threads, but reading it takes a system call, and a seccomp filter that was
 * installed unseen may end the program for that. Durations that are longer than any handler takes
 * are discarded.
 *
 * If the sampling signal is delivered together with a signal of a lower number, the kernel sets up
 * the other handler first and this one on top of it, before the first instruction of the other has
 * run. The sample belongs to the code that both signals interrupted, so the walk begins there. All
 * registers still have that code's values, except the few that the kernel sets for a handler.
 * Without this, Go would show a third of its time in the handler that preempts its threads.
 */
#include "libprof/sampler/handler.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "arch/handler.h"
#include "arch/registers.h"
#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/events.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/interrupted.h"
#include "libprof/sampler/language.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/walk_stack.h"
#include "libprof/unwind/memory.h"

/*
 * End sampling if flamerun has reported a seccomp filter that was installed unseen; no system call
 * is made from then on. Returns 1 if sampling has ended. If it ended for another cause, system
 * calls are still allowed, because timers have to be deleted.
 */
static int quit_if_confined(void)
{
	if (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && confined_is_unseen())
		sampler_quit_unseen();
	return __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) != 0;
}

/* State of one walk: how it reads memory, and its language frames. */
struct reading {
	struct unwind_window window;
	struct runtime_walk runs;
};

/* Read a word that is on no known stack. The first read of a walk takes a system call. */
static int read_unknown_stack(struct reading *reading, uintptr_t address, uintptr_t *value)
{
	if (!reading->window.base && quit_if_confined())
		return -EFAULT;
	return unwind_window_read(&reading->window, address, value);
}

/*
 * Write the language frames that @frame runs. A runtime's reader may make system calls, so check
 * that sampling has not ended by a seccomp filter: once per walk, and before a runtime's stack is
 * begun.
 */
static unsigned run_language(struct runtime_walk *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	if (module->runtime ? !runs->runtime && quit_if_confined()
			    : !runs->generator || (!runs->is_asked && quit_if_confined()))
		return 0;
	runs->is_asked |= !module->runtime;
	return language_run(runs, module, frame, frames, room);
}

#define WORDS_SEARCHED 64u

/*
 * Search the words on the stack for addresses of modules. The handler knows only modules that a
 * walk has entered. If all walks begin in generated code that cannot be unwound, no walk enters the
 * runtime's module. Do this at call 1, 2, 4, 8 and so on.
 */
static void find_modules_nearby(struct runtime_walk *runs, uintptr_t sp)
{
	static uint32_t calls; /* atomic */
	uint32_t call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	struct unwind_module module;
	uintptr_t word;

	if (call & (call - 1))
		return;
	for (unsigned n = 0; n < WORDS_SEARCHED; n++)
		if (!runtime_load_word(&runs->reader, sp + n * sizeof(word), &word))
			modules_find(word, &module);
	runs->generator = language_generator();
}

/*
 * Step from the frame @at of generated code to its caller, by the runtime that generated the code.
 * If no runtime that generates code is known yet, search for one. Returns a value of
 * UNWIND_ASK (unwind/unwind_core.h).
 */
static int ask_language(struct runtime_walk *runs, struct unwind_activation *at)
{
	if (at->question == UNWIND_STACK_END)
		return runtime_walk_step(runs, at);
	if ((!runs->generator && at->question == UNWIND_OWN_CODE) ||
		(!runs->is_asked && quit_if_confined()))
		return 0;
	runs->is_asked = 1;
	if (!runs->generator && language_is_pending())
		language_find_again(runs);
	else if (!runs->generator)
		find_modules_nearby(runs, at->sp);
	return runtime_walk_step(runs, at);
}

#define UNWIND_READ(context, address, value) \
	read_unknown_stack((struct reading *)(context), address, value)
#define UNWIND_FIND_MODULE(context, pc, out) ((void)(context), modules_find(pc, out))
#define UNWIND_IS_CODE(context, pc)	     ((void)(context), modules_may_be_code(pc))
#define UNWIND_RUN(context, module, frame, frames, room) \
	run_language(&((struct reading *)(context))->runs, module, frame, frames, room)
#define UNWIND_ASK(context, at) ask_language(&((struct reading *)(context))->runs, at)
#include "libprof/unwind/unwind_core.h"

/* One in this many handler calls of a thread is measured. */
#define CALLS_PER_CHECK 16

/* A handler call that took longer was preempted: other threads had the CPU meanwhile. */
#define INTERRUPTED_NS 250000

/* Skip at most this many handlers of other signals that have just begun. */
#define SIGNALS_AT_ONCE 8

#define CARRIES_MAX 32

/*
 * Returns the part of the stack that is known to be mapped; empty if @sp is on no known stack. For
 * a thread with an unknown stack, store @sp once, so that tasks.c can look up the stack.
 */
static struct unwind_bounds bounds_of(struct sampler_thread *thread, uintptr_t sp)
{
	uintptr_t hi = __atomic_load_n(&thread->stack_hi, __ATOMIC_ACQUIRE);
	struct unwind_bounds bounds = {0, 0};

	if (!hi && !__atomic_load_n(&thread->seen_sp, __ATOMIC_RELAXED)) {
		thread->seen_self = (uintptr_t)pthread_self();
		__atomic_store_n(&thread->seen_sp, sp, __ATOMIC_RELEASE);
	}
	if (sp >= hi || sp < __atomic_load_n(&thread->stack_lo, __ATOMIC_RELAXED))
		return bounds;
	/* Memory below the stack pointer may not be mapped yet. */
	bounds.lo = sp;
	bounds.hi = hi;
	return bounds;
}

struct unwind_result record_walk(struct sampler_thread *thread,
	const struct arch_registers *registers, uint64_t *frames, unsigned room)
{
	struct unwind_bounds bounds = bounds_of(thread, registers->r[ARCH_DWARF_SP]);
	int pid = confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0;
	struct unwind_result result;
	struct reading reading;

	unwind_window_init(&reading.window, pid);
	language_begin(&reading.runs, thread, registers, &bounds, pid);
	result = unwind_walk(registers, &bounds, frames, room, &reading);
	language_finish(&reading.runs, thread, frames, &result);
	return result;
}

/*
 * If the thread is at the first instruction of another signal's handler, or in the guard that
 * unblocks the sampling signal, replace @registers by those of the code that the other signal
 * interrupted, and return 1; else return 0. No time was spent in the handler or guard yet.
 */
static int skip_begun_handler(struct sampler_thread *thread, struct arch_registers *registers)
{
	struct reading reading;
	struct unwind_memory memory = {.context = &reading};
	struct arch_registers before;
	uintptr_t ucontext;

	if (registers->r[ARCH_DWARF_PC] == (uintptr_t)arch_handler_unblocked) {
		ucontext = registers->r[ARCH_UNBLOCK_UCONTEXT];
		arch_registers_from_ucontext(registers, (const void *)ucontext);
		return 1;
	}
	ucontext = arch_handler_ucontext(registers);
	if (!ucontext)
		return 0;
	unwind_window_init(&reading.window, confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0);
	memory.bounds = bounds_of(thread, registers->r[ARCH_DWARF_SP]);
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++) {
		if (unwind_load(&memory, ucontext + arch_ucontext_offset(reg), &before.r[reg]))
			return 0;
		if (!(ARCH_HANDLER_SETS >> reg & 1) && before.r[reg] != registers->r[reg])
			return 0;
	}
	*registers = before;
	return 1;
}

/*
 * Record a sample: the frame @leaf if it is not 0, and the stack that begins at @registers if they
 * are not NULL. A stack that does not fit into the thread's current block is walked again into a
 * new block. Returns 0, or -ENOSPC if there is no room, which is counted.
 */
static int record_stack(struct sampler_thread *thread, const struct arch_registers *registers,
	uint64_t leaf, uint32_t weight)
{
	struct unwind_result result = {.frames = 0, .end = WIRE_END_ROOT};
	unsigned leaves = leaf != 0, fit;
	uint32_t least = record_bytes(leaves + (registers != NULL)), room;
	struct wire_sample *sample;
	uint32_t bytes;

	for (;;) {
		sample = ring_begin(thread, least, &room);
		if (!sample) {
			record_dropped(least);
			return -ENOSPC;
		}
		*(uint64_t *)(sample + 1) = leaf;
		if (!registers)
			break;
		fit = record_frames(room);
		if (fit > sampler.max_depth)
			fit = sampler.max_depth;
		result = record_walk(
			thread, registers, (uint64_t *)(sample + 1) + leaves, fit - leaves);
		if (result.end != WIRE_END_DEPTH || fit == sampler.max_depth)
			break;
		least = record_bytes(fit + 1);
	}
	result.frames += leaves;
	bytes = record_bytes(result.frames);
	sample->bytes = bytes;
	sample->thread = thread->number;
	sample->time_ns = clock_monotonic_ns();
	sample->weight = weight;
	sample->frames = (uint16_t)result.frames;
	sample->kind = WIRE_KIND_CPU;
	sample->end = (uint8_t)result.end;
	ring_commit(thread, bytes);
	return 0;
}

/*
 * Account for a sample that was taken after sampler_leave(), which has recorded the weight that was
 * due then in exit_credit. Subtract this sample's weight from exit_credit. If the sample's weight
 * is larger, add the difference to after_leave.
 */
static void credit_exit(struct wire_ring *ring, uint64_t weight)
{
	uint64_t due = __atomic_load_n(&ring->exit_credit, __ATOMIC_RELAXED);

	if (due)
		__atomic_store_n(
			&ring->exit_credit, due > weight ? due - weight : 0, __ATOMIC_RELAXED);
	if (due < weight && sampler.slot->end_cpu_ns)
		__atomic_fetch_add(&sampler.slot->after_leave, weight - due, __ATOMIC_RELAXED);
}

static void check_run(struct sampler_thread *thread)
{
	if (quit_if_confined())
		return;
	/* In other processes flamerun reads the thread's name. */
	if (sampler_is_hosted() || sampler.namespaced)
		sampler_read_name(thread->ring->comm);
	if (__atomic_load_n(&((struct wire_arena *)sampler.arena)->closing, __ATOMIC_RELAXED))
		sampler_thread_disarm(thread);
}

void record_dropped(uint32_t bytes)
{
	__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sampler.dropped_bytes, bytes, __ATOMIC_RELAXED);
	sampler_wake_reader(sampler.arena);
}

static void record(struct sampler_thread *thread, const struct arch_registers *registers,
	uint64_t leaf, uint32_t weight)
{
	struct wire_slot *slot = sampler.slot;

	if (!weight)
		return;
	if (__atomic_load_n(&sampler.paused, __ATOMIC_RELAXED))
		__atomic_fetch_add(&slot->paused, weight, __ATOMIC_RELAXED);
	else if (record_stack(thread, registers, leaf, weight))
		__atomic_fetch_add(&slot->dropped, weight, __ATOMIC_RELAXED);
}

/*
 * Subtract from *@weight the samples that became due in handlers of the program during which the
 * sampling signal was blocked, and return their number.
 *
 * If this sample comes directly after such a handler, the remaining *@weight was due before the
 * handler began. The signal was pending during the handler, so this sample is always at the return
 * address of the handler, not at a random place. Defer the remaining weight to the next sample, but
 * at most CARRIES_MAX times in a row, because if handlers begin at the kernel's ticks, every sample
 * comes directly after one.
 */
static uint32_t split_handler_weight(
	struct sampler_thread *thread, const struct arch_registers *registers, uint32_t *weight)
{
	int waits = guard_is_behind(thread, registers) && thread->carries < CARRIES_MAX;
	uint32_t handlers = *weight;

	if (handlers > thread->handler_weight)
		handlers = (uint32_t)thread->handler_weight;
	thread->handler_weight -= handlers;
	*weight -= handlers;
	thread->carries = waits ? thread->carries + 1 : 0;
	thread->carried = waits ? *weight : 0;
	*weight -= thread->carried;
	return handlers;
}

/*
 * Record a sample of @weight and the deferred weight of earlier samples. @leaf is a frame to put
 * above the stack, or 0, as for record_stack().
 */
static void record_all(
	struct sampler_thread *thread, uint32_t weight, uint64_t leaf, const void *ucontext)
{
	struct arch_registers registers;
	uint32_t handlers, total;

	arch_registers_from_ucontext(&registers, ucontext);
	for (int i = 0; i < SIGNALS_AT_ONCE && skip_begun_handler(thread, &registers); i++)
		;
	weight += thread->carried;
	handlers = split_handler_weight(thread, &registers, &weight);
	total = weight + handlers;
	__atomic_store_n(&thread->delivered, thread->delivered + total, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sampler.slot->delivered, total, __ATOMIC_RELAXED);
	credit_exit(thread->ring, total);
	record(thread, NULL, WIRE_FRAME_SIGNAL_HANDLER, handlers);
	record(thread, &registers, leaf, weight);
}

/* Returns the number of periods that the signal of @info stands for; may be 0. */
static uint32_t weight_of(
	struct sampler_thread *thread, const siginfo_t *info, const void *ucontext)
{
	uint32_t overruns;

	if (events_sent(info))
		return events_weight(thread, ucontext);
	if (events_come(thread))
		return events_timer_weight(thread, ucontext);
	overruns = (uint32_t)(info->si_overrun > 0 ? info->si_overrun : 0);
	if (overruns)
		__atomic_fetch_add(&sampler.slot->overruns, overruns, __ATOMIC_RELAXED);
	return 1 + overruns;
}

/*
 * Returns 1 if it is too early for another sample. Signals of perf events do not wait for the
 * kernel's tick and could take all of a thread's time. So after a sample the thread gets at least
 * as much time as the sample took.
 */
static int is_throttled(const struct sampler_thread *thread, uint64_t now_ns)
{
	uint64_t left_ns = clock_since(now_ns, thread->rests_until_ns);

	/* If more time is left than was set, the clock was set back, so do not throttle. */
	return left_ns && left_ns <= thread->call_ns * (1 + sampler.event_rests);
}

/* Add the weight of this signal to the next sample. */
static void defer_sample(struct sampler_thread *thread, const siginfo_t *info, const void *ucontext)
{
	uint32_t weight = weight_of(thread, info, ucontext);

	thread->carried += weight;
	__atomic_fetch_add(&sampler.slot->throttled, weight, __ATOMIC_RELAXED);
}

/*
 * Store the duration of a handler call: @elapsed_ns, or the CPU time @cpu_ns if it was measured.
 * CPU time is measured in the call after a long one, because only CPU time shows whether the
 * handler is slow (a deep stack) or was preempted.
 */
static void note_call(
	struct sampler_thread *thread, uint64_t now_ns, uint64_t elapsed_ns, uint64_t cpu_ns)
{
	uint64_t call_ns = thread->was_long && cpu_ns < elapsed_ns ? cpu_ns : elapsed_ns;

	if (thread->was_long || call_ns <= INTERRUPTED_NS) {
		thread->call_ns = call_ns;
		thread->rests_until_ns = now_ns + call_ns * (1 + sampler.event_rests);
	}
	thread->was_long = call_ns > INTERRUPTED_NS;
}

/* The arguments of the handler, and the thread whose timer or event sent the signal. */
struct delivery {
	struct sampler_thread *thread;
	const siginfo_t *info;
	const void *ucontext;
};

/* Record the sample of @context, a struct delivery. Context: on a stack of walk_stack.c. */
static void take_sample(void *context)
{
	const struct delivery *delivery = context;
	struct sampler_thread *thread = delivery->thread;
	const siginfo_t *info = delivery->info;
	const void *ucontext = delivery->ucontext;
	struct wire_slot *slot = sampler.slot;
	/* Do not measure the first call, because it finds every module for the first time. */
	int is_measured = thread->calls++ % CALLS_PER_CHECK == CALLS_PER_CHECK / 2;
	int timed = is_measured || thread->was_long || sampler.has_events || sampler.is_elapsed;
	uint64_t before_ns = timed ? clock_monotonic_ns() : 0, after_ns, cpu_ns = 0;
	uint32_t weight;
	int in_kernel;

	if (timed && is_throttled(thread, before_ns)) {
		defer_sample(thread, info, ucontext);
		return;
	}
	if (thread->was_long)
		cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	weight = weight_of(thread, info, ucontext);
	/* In a thread with events, the timer stands only for time in the kernel. */
	in_kernel = sampler.has_kernel && thread->has_events && !events_sent(info);
	record_all(thread, weight, in_kernel ? WIRE_FRAME_IN_KERNEL : 0, ucontext);
	if (!timed)
		return;
	if (thread->was_long)
		cpu_ns = clock_since(cpu_ns, clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
	after_ns = clock_monotonic_ns();
	note_call(thread, after_ns, clock_since(before_ns, after_ns), cpu_ns);
	if (!is_measured)
		return;
	__atomic_fetch_add(&slot->handler_ns, thread->call_ns * CALLS_PER_CHECK, __ATOMIC_RELAXED);
	check_run(thread);
}

/*
 * Returns 1 if the signal was sent by a timer of the entry's current claim, or by this thread's
 * event. A signal of an earlier claim may have been pending.
 */
static int is_of_this_claim(const struct sampler_thread *thread, const siginfo_t *info)
{
	uint16_t generation = (uint16_t)__atomic_load_n(&thread->generation, __ATOMIC_RELAXED);

	if (events_sent(info))
		return thread->self == (uintptr_t)pthread_self();
	return (uint64_t)(uintptr_t)info->si_value.sival_ptr >> SAMPLER_COOKIE_BITS == generation;
}

/*
 * Runs on the interrupted stack, or on the thread's alternate stack, and may use only little of it.
 * So the walk runs on another stack. If none is free, no sample is taken; thread.c records its
 * weight at the thread's end.
 */
void sampler_handler(int signal, siginfo_t *info, void *context)
{
	struct delivery delivery = {sampler_thread_of(info), info, context};
	struct sampler_thread *thread = delivery.thread;

	if (!thread) {
		host_signal(signal, info, context);
		return;
	}
	/*
	 * Increment `users` before reading `active`, because a thread that clears `active` then
	 * waits until `users` is 0.
	 */
	thread_ref(thread);
	if (__atomic_load_n(&thread->active, __ATOMIC_SEQ_CST) && is_of_this_claim(thread, info))
		walk_stack_call(take_sample, &delivery);
	thread_unref(thread);
	if (__atomic_load_n(&sampler.quit, __ATOMIC_SEQ_CST))
		sampler_leave_slot();
	interrupted_fail(context);
	interrupted_repeat(thread, context);
}
