/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: this is the handler. */
/*
 * What happens at each expiry of a thread's timer: unwind into the ring, commit. Everything that
 * takes a system call is off the common path.
 *
 * What a sample takes is measured by the clock on the wall. The thread's own clock would leave
 * out whoever had the CPU in between, but takes a system call in every sixteenth handler, and a
 * filter that nobody saw yet may kill for that. What took longer than any handler does is not
 * believed.
 *
 * When ours is delivered together with a signal of a lower number, the kernel sets up that one's
 * handler first and ours on top of it, before the first instruction of the other has run. The
 * sample belongs to the code that both signals interrupted, so the walk begins there: but for the
 * few registers that the kernel sets for a handler, all still have that code's values. Without
 * this, Go would show a third of its time in the handler by which it preempts threads.
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
 * From where flamerun has told of a filter that nobody saw no call is made any more. A sample that
 * comes while sampling ends for another cause forbids nothing: timers are still to be deleted.
 */
static int quit_if_confined(void)
{
	if (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && confined_is_unseen())
		sampler_quit_unseen();
	return __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) != 0;
}

/* What a walk reads by. */
struct reading {
	struct unwind_window window;
	struct runs runs;
};

/* The first word of a walk that no known stack has, nor a runtime's code: it takes a call. */
static int read_unknown_stack(struct reading *reading, uintptr_t address, uintptr_t *value)
{
	if (language_has_code(&reading->runs, address, sizeof(*value))) {
		memcpy(value, (const void *)address, sizeof(*value));
		return 0;
	}
	if (!reading->window.base && quit_if_confined())
		return -EFAULT;
	return unwind_window_read(&reading->window, address, value);
}

/* Nor does a runtime's stack begin without one. */
static unsigned run_language(struct runs *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	if (!runs->runtime && quit_if_confined())
		return 0;
	return language_run(runs, module, frame, frames, room);
}

/* Nor do frames of the runtime that every frame is asked for. */
static unsigned run_frame(struct runs *runs, uintptr_t pc, uintptr_t sp, uintptr_t fp,
	uint64_t *frames, unsigned room)
{
	if (!runs->framed || (!runs->is_asked && quit_if_confined()))
		return 0;
	runs->is_asked = 1;
	return runs_frame(runs, pc, sp, fp, frames, room);
}

#define WORDS_LOOKED_AT 64u

/*
 * Modules are known from walks that came to them. Where all walks begin in generated code nothing
 * leads on from, they are sought by what is on the stack; ever more seldom.
 */
static void find_modules_nearby(struct runs *runs, uintptr_t sp)
{
	static uint32_t calls; /* atomic */
	uint32_t call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	struct unwind_module module;
	uintptr_t word;

	if (call & (call - 1))
		return;
	for (unsigned n = 0; n < WORDS_LOOKED_AT; n++)
		if (!runtime_load_word(&runs->reader, sp + n * sizeof(word), &word))
			modules_find(word, &module);
	runs->framed = language_framed();
}

/* Nor is generated code looked at. */
static int leave_generated(struct runs *runs, struct unwind_activation *at, uint64_t *frames,
	unsigned room, unsigned *told)
{
	if ((!runs->framed && at->is_inside) || (!runs->is_asked && quit_if_confined()))
		return 0;
	runs->is_asked = 1;
	if (!runs->framed && language_is_pending())
		language_find_again(runs);
	else if (!runs->framed)
		find_modules_nearby(runs, at->sp);
	return runs_leave(runs, at, frames, room, told);
}

#define UNWIND_RESUMER(context, at) runs_resumer(&((struct reading *)(context))->runs, at)
#define UNWIND_READ(context, address, value) \
	read_unknown_stack((struct reading *)(context), address, value)
#define UNWIND_FIND_MODULE(context, pc, out) ((void)(context), modules_find(pc, out))
#define UNWIND_IS_CODE(context, pc) ((void)(context), modules_may_be_code(pc))
#define UNWIND_RUN(context, module, frame, frames, room) \
	run_language(&((struct reading *)(context))->runs, module, frame, frames, room)
#define UNWIND_FRAME(context, pc, sp, fp, frames, room) \
	run_frame(&((struct reading *)(context))->runs, pc, sp, fp, frames, room)
#define UNWIND_LEAVE(context, at, frames, room, told) \
	leave_generated(&((struct reading *)(context))->runs, at, frames, room, told)
#define UNWIND_ASKS_FIRST(context) language_asks_first(&((struct reading *)(context))->runs)
#include "libprof/unwind/unwind_core.h"

/* Every so many calls of a thread the handler's time is taken. */
#define CALLS_PER_CHECK 16

/* Whatever took longer was interrupted, most likely: other threads had the CPU meanwhile. */
#define INTERRUPTED_NS 250000

/* So many handlers that have just begun are looked behind. */
#define SIGNALS_AT_ONCE 8

#define CARRIES_MAX 32

/*
 * The part of the stack that is known to be mapped, empty when sp lies on no stack we know. A
 * thread of which nothing is known shows once where its stack is: tasks.c.
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
	bounds.lo = sp; /* below it a growing stack may end, and another's guard begin */
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
 * A signal that comes together with another finds the thread before the first instruction of that
 * one's handler, or where a guard lets it in. Nothing was done there yet: time was spent where the
 * other signal interrupted the thread. Returns 1 and its registers, or 0.
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
	reading.runs.framed = NULL;
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
 * Fill in and commit a record of @leaf, where that is not 0, and of the stack below it that begins
 * at @registers, if there are any. A stack that does not fit what is left of the thread's block is
 * walked once more, into a new one. Returns 0, or -ENOSPC: counted.
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

/* Samples that come after the process began to leave are part of what was noted as due. */
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
	/* Else flamerun asks for it. */
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
 * Take from @weight what became due in handlers with our signal blocked, and return that.
 *
 * When the sample comes right behind such a handler, the rest of @weight was due before that began.
 * Its signal was held back and says nothing of the place where the handler returns to. So the rest
 * is put off to the next sample, which comes at no chosen place; but not for ever: where handlers
 * begin at the kernel's ticks every sample comes behind one, and that place is as good as any.
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

/* @leaf: as of record_stack(). */
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

/* How many periods the signal of @info stands for; it may be none. */
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
 * Signals that do not wait for the kernel's tick could take all of a thread's time: between two
 * samples it has at least as long for itself as the last one took.
 */
static int is_throttled(const struct sampler_thread *thread, uint64_t now_ns)
{
	uint64_t left_ns = clock_since(now_ns, thread->rests_until_ns);

	/* If more is left than was set, the clock has been set back. */
	return left_ns && left_ns <= thread->call_ns * (1 + sampler.event_rests);
}

/* The next sample stands for this one, too. */
static void put_off(struct sampler_thread *thread, const siginfo_t *info, const void *ucontext)
{
	uint32_t weight = weight_of(thread, info, ucontext);

	thread->carried += weight;
	__atomic_fetch_add(&sampler.slot->throttled, weight, __ATOMIC_RELAXED);
}

/*
 * A call took @elapsed_ns and, of the CPU, @cpu_ns if that was asked for. It is after one that took
 * long: who was interrupted then is not to say so again, and deep stacks can take as long.
 */
static void note_call(struct sampler_thread *thread, uint64_t now_ns, uint64_t elapsed_ns,
	uint64_t cpu_ns)
{
	uint64_t call_ns = thread->was_long && cpu_ns < elapsed_ns ? cpu_ns : elapsed_ns;

	if (thread->was_long || call_ns <= INTERRUPTED_NS) {
		thread->call_ns = call_ns;
		thread->rests_until_ns = now_ns + call_ns * (1 + sampler.event_rests);
	}
	thread->was_long = call_ns > INTERRUPTED_NS;
}

/* What the kernel passed to the handler, and the thread whose timer sent the signal. */
struct delivery {
	struct sampler_thread *thread;
	const siginfo_t *info;
	const void *ucontext;
};

/* Record the sample of @context, a struct delivery. Context: on a stack of walk_stack.c's. */
static void take_sample(void *context)
{
	const struct delivery *delivery = context;
	struct sampler_thread *thread = delivery->thread;
	const siginfo_t *info = delivery->info;
	const void *ucontext = delivery->ucontext;
	struct wire_slot *slot = sampler.slot;
	/* Not the first call: what it costs to meet every module for the first time is no measure.
	 */
	int told = thread->calls++ % CALLS_PER_CHECK == CALLS_PER_CHECK / 2;
	int timed = told || thread->was_long || sampler.has_events || sampler.is_elapsed;
	uint64_t before_ns = timed ? clock_monotonic_ns() : 0, after_ns, cpu_ns = 0;
	uint32_t weight;
	int in_kernel;

	if (timed && is_throttled(thread, before_ns)) {
		put_off(thread, info, ucontext);
		return;
	}
	if (thread->was_long)
		cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	weight = weight_of(thread, info, ucontext);
	/* Beside events a timer stands for time in the kernel alone. */
	in_kernel = sampler.has_kernel && thread->has_events && !events_sent(info);
	record_all(thread, weight, in_kernel ? WIRE_FRAME_IN_KERNEL : 0, ucontext);
	if (!timed)
		return;
	if (thread->was_long)
		cpu_ns = clock_since(cpu_ns, clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
	after_ns = clock_monotonic_ns();
	note_call(thread, after_ns, clock_since(before_ns, after_ns), cpu_ns);
	if (!told)
		return;
	__atomic_fetch_add(&slot->handler_ns, thread->call_ns * CALLS_PER_CHECK, __ATOMIC_RELAXED);
	check_run(thread);
}

/* Was the timer made for the claim that holds now, or is it this thread's event? */
static int is_of_this_claim(const struct sampler_thread *thread, const siginfo_t *info)
{
	uint16_t generation = (uint16_t)__atomic_load_n(&thread->generation, __ATOMIC_RELAXED);

	if (events_sent(info))
		return thread->self == (uintptr_t)pthread_self();
	return (uint64_t)(uintptr_t)info->si_value.sival_ptr >> SAMPLER_COOKIE_BITS == generation;
}

/*
 * Runs on the interrupted stack, or on the thread's alternate stack, and may use little of it. So
 * everything that needs much stack is called on another one. If none is free, the sample remains
 * due, and thread.c credits it at the thread's end.
 */
void sampler_handler(int signal, siginfo_t *info, void *context)
{
	struct delivery delivery = {sampler_thread_of(info), info, context};
	struct sampler_thread *thread = delivery.thread;

	if (!thread) {
		host_signal(signal, info, context);
		return;
	}
	/* Before `active` is looked at: who clears that waits for those who saw it set. */
	thread_ref(thread);
	if (__atomic_load_n(&thread->active, __ATOMIC_SEQ_CST) && is_of_this_claim(thread, info))
		walk_stack_call(take_sample, &delivery);
	thread_unref(thread);
	if (__atomic_load_n(&sampler.quit, __ATOMIC_SEQ_CST))
		sampler_leave_slot();
	interrupted_fail(context);
	interrupted_repeat(thread, context);
}
