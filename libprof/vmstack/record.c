/* SPDX-License-Identifier: MIT */
/*
 * flameprof_record_vm_stack(): convert frames to words and ticks to a weight, and write both as a
 * record to the ring. Everything that may take a lock is done before the ring is used.
 *
 * Virtual machines record elapsed time, so these samples have their own kind and are not part of
 * the accounting of CPU time. Their weight is a number of the profile's periods. A remainder below
 * a period is added to the thread's next stack, and the first remainder is random, so that the
 * total time is right on average. All signals are blocked while a record is written, because the
 * handler writes the same ring, and a handler of the program must not longjmp out of it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/registers.h"
#include "arch/stub.h"
#include "arch/syscall.h"
#include "libprof/flameprof_vm.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/handler.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/vmstack/function.h"

/* ---- writing a record ------------------------------------------------------------------------ */

/*
 * The functions below write one record to the calling thread's ring, as the handler does: without a
 * lock, while all signals are blocked.
 */

struct sampler_thread;

struct vm_stack {
	struct sampler_thread *thread; /* the calling thread */
	/* Return address of flameprof_record_vm_stack(). */
	uintptr_t caller;
	const uint64_t *words;	       /* frames, innermost first */
	uint32_t count;
	uint32_t weight;
	uint8_t end; /* enum wire_end of `words` */
	/* 1: native frames follow, from the caller of flameprof_record_vm_stack() on. */
	int is_above;
};

/* Largest number of this library's frames between record_walk() and the program's caller. */
#define OWN_MAX 8u

/* Returns the word of the frame with return address @caller. */
static uint64_t word_of_caller(uintptr_t caller)
{
	struct unwind_module module;

	if (modules_find(caller - 1, &module))
		return WIRE_FRAME(WIRE_MODULE_NONE, caller - 1);
	return WIRE_FRAME(module.number, caller - 1 - module.bias);
}

/*
 * Remove the frames of this library's functions that @caller called from @frames. Returns the
 * number of frames left.
 */
static unsigned drop_own(uint64_t *frames, unsigned count, uintptr_t caller)
{
	uint64_t word = word_of_caller(caller);
	unsigned own = 0;

	while (own < count && own < OWN_MAX && (frames[own] & ~WIRE_FRAME_BY_FP) != word)
		own++;
	if (own == count || own == OWN_MAX)
		return count;
	memmove(frames, frames + own, (count - own) * sizeof(*frames));
	return count - own;
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Walk the native stack into @sample behind the words. The record has room for @room more frames.
 * Returns the number of frames, or -ENOSPC if @room is too small for all of them.
 */
static int add_native(const struct vm_stack *stack, struct wire_sample *sample, unsigned room)
{
	uint64_t *frames = (uint64_t *)(sample + 1) + stack->count;
	unsigned most = sampler.max_depth - stack->count;
	unsigned walked = min_of(min_of(most + OWN_MAX, room), WIRE_MAX_DEPTH - stack->count);
	struct arch_registers registers = {0};
	struct unwind_result result;
	unsigned count;

	arch_registers_here(&registers);
	result = record_walk(stack->thread, &registers, frames, walked);
	if (result.end == WIRE_END_DEPTH && walked == room && room < most)
		return -ENOSPC;
	sample->end = (uint8_t)result.end;
	count = drop_own(frames, result.frames, stack->caller);
	if (count > most)
		sample->end = WIRE_END_DEPTH;
	return (int)min_of(count, most);
}

/*
 * Write the record. If the stack does not fit into the thread's current block, it is written again
 * into a new block. Context: all signals are blocked.
 */
static __attribute__((noinline)) int write_record(const struct vm_stack *stack)
{
	struct sampler_thread *thread = stack->thread;
	uint32_t least = record_bytes(stack->count), room, bytes;
	struct wire_sample *sample;
	unsigned frames;
	int native;

	do {
		unsigned fit;

		sample = ring_begin(thread, least, &room);
		if (!sample)
			return -ENOSPC;
		fit = min_of(record_frames(room), WIRE_MAX_DEPTH) - stack->count;
		memcpy(sample + 1, stack->words, stack->count * sizeof(uint64_t));
		sample->end = stack->end;
		native = 0;
		if (stack->is_above && stack->end == WIRE_END_ROOT && fit)
			native = add_native(stack, sample, fit);
		least = record_bytes(stack->count + fit + 1);
	} while (native < 0);
	frames = stack->count + (unsigned)native;
	bytes = record_bytes(frames);
	sample->frames = (uint16_t)frames;
	sample->bytes = bytes;
	sample->thread = thread->number;
	sample->time_ns = clock_monotonic_ns();
	sample->weight = stack->weight;
	sample->kind = WIRE_KIND_VM;
	ring_commit(thread, bytes);
	return 0;
}

/*
 * Write @stack to its thread's ring, with all signals blocked.
 * Returns 0; -ENOSPC if the ring is full (counted); -ESRCH if the thread is no longer sampled.
 * Context: the thread itself, not a handler; function_announce() was called for all words.
 */
static int vm_stack_write(const struct vm_stack *stack)
{
	struct sampler_thread *thread = stack->thread;
	uint64_t all = ~0ULL, before = 0;
	int error = -ESRCH;

	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	/*
	 * Increment `users` before reading `active`, as the handler does, because a thread that
	 * clears `active` then waits until `users` is 0.
	 */
	__atomic_fetch_add(&thread->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&thread->active, __ATOMIC_SEQ_CST))
		error = write_record(stack);
	if (error == -ENOSPC) {
		__atomic_fetch_add(&sampler.slot->vm_dropped, stack->weight, __ATOMIC_RELAXED);
		record_dropped(record_bytes(stack->count));
	}
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}

/*
 * A stack with more frames is put into a mapping, because virtual machines run on small stacks,
 * too.
 */
#define WORDS_ON_STACK 512u

static uint32_t place; /* atomic: enum flameprof_vm_place */

void flameprof_vm_stacks(enum flameprof_vm_place wanted)
{
	if (other_copy.flameprof_vm_stacks)
		other_copy.flameprof_vm_stacks(wanted);
	else
		__atomic_store_n(&place, (uint32_t)wanted, __ATOMIC_RELAXED);
}

static uint64_t word_of(struct function *function)
{
	function_announce(function);
	return WIRE_FRAME(WIRE_MODULE_CODE, function->space);
}

/* Write @n frames to @words, and the root frame unless @is_above. Returns the number of words. */
static uint32_t write_words(
	const struct flameprof_vm_frame *frames, unsigned n, int is_above, uint64_t *words)
{
	struct function_file file = {0};
	uint32_t count = 0;

	function_announce_waiting();
	for (; count < n; count++)
		words[count] = word_of(function_find(&frames[count], &file));
	/* An empty stack gets the root frame even if @is_above. */
	if (!is_above || !n)
		words[count++] = word_of(function_root());
	return count;
}

/* Returns how many of @n frames are kept. The root frame counts as one of the record's frames. */
static unsigned frames_kept(unsigned n, int is_above)
{
	unsigned most = sampler.max_depth;

	if (!is_above && most > 1)
		most--;
	return n < most ? n : most;
}

static int record_words(struct vm_stack *stack, const struct flameprof_vm_frame *frames, unsigned n)
{
	unsigned kept = frames_kept(n, stack->is_above);
	uint64_t on_stack[WORDS_ON_STACK];
	size_t bytes = (kept + 1) * sizeof(uint64_t);
	uint64_t *words = on_stack;
	int error;

	if (kept >= WORDS_ON_STACK) {
		words = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (words == MAP_FAILED)
			return -ENOMEM;
	}
	stack->count = write_words(frames, kept, stack->is_above, words);
	stack->words = words;
	stack->end = kept < n || (stack->is_above && stack->count >= sampler.max_depth)
			     ? WIRE_END_DEPTH
			     : WIRE_END_ROOT;
	error = vm_stack_write(stack);
	if (words != on_stack)
		munmap(words, bytes);
	return error;
}

/*
 * Returns the entry of the calling thread. In a process that profiles itself, a thread that is not
 * sampled yet is armed now.
 */
static struct sampler_thread *this_thread(void)
{
	struct sampler_thread *thread = sampler_thread_self();

	if (thread || !sampler_is_hosted() ||
		own_threads_contain((uint32_t)arch_syscall0(SYS_gettid)))
		return thread;
	thread = sampler_thread_try_claim();
	return thread ? tasks_begin_self(thread) : NULL;
}

/*
 * Returns the weight of @ticks in periods of the profile. The remainder is added to the thread's
 * next record; the first remainder is random, like the phase of timers.
 */
static uint64_t weight_of(struct sampler_thread *thread, uint32_t ticks, uint64_t tick_ns)
{
	uint64_t period_ns = sampler.period_ns;
	uint64_t whole = tick_ns / period_ns, part_ns = tick_ns % period_ns;
	uint64_t remaining_ns = 0;

	if (thread && !thread->has_vm_phase)
		thread->vm_remaining_ns = sampler_random_phase_ns(period_ns, (uint32_t)thread->tid,
						  clock_monotonic_by_call_ns()) -
					  1;
	if (thread) {
		thread->has_vm_phase = 1;
		remaining_ns = thread->vm_remaining_ns;
	}
	/*
	 * The product cannot overflow: part_ns is less than a period, that is at most 1 s, and
	 * @ticks has 32 bits.
	 */
	remaining_ns += ticks * part_ns;
	if (thread)
		thread->vm_remaining_ns = remaining_ns % period_ns;
	return ticks * whole + remaining_ns / period_ns;
}

static void count_dropped(uint64_t weight)
{
	__atomic_fetch_add(&sampler.slot->vm_dropped, weight, __ATOMIC_RELAXED);
}

/*
 * Record a stack. Context: sampler.markers was incremented, so the end of the session waits for
 * this function.
 */
static int record_stack(struct vm_stack *stack, const struct flameprof_vm_frame *frames, unsigned n,
	uint32_t ticks, uint64_t tick_ns)
{
	struct sampler_thread *thread = this_thread();
	uint64_t weight = weight_of(thread, ticks, tick_ns);
	int error;

	if (__atomic_load_n(&sampler.paused, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&sampler.slot->vm_paused, weight, __ATOMIC_RELAXED);
		return -ESRCH;
	}
	if (!thread) {
		count_dropped(weight);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
		return -ENOSPC;
	}
	if (!weight)
		return 0;
	stack->thread = thread;
	stack->is_above = __atomic_load_n(&place, __ATOMIC_RELAXED) == FLAMEPROF_VM_ABOVE;
	/* Cut the weight to the 32 bits of a record; the excess is counted as dropped. */
	stack->weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	count_dropped(weight - stack->weight);
	error = record_words(stack, frames, n);
	if (error == -ENOMEM) {
		count_dropped(stack->weight);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
	}
	return error;
}

int flameprof_record_vm_stack(const struct flameprof_vm_frame *frames, unsigned n, uint32_t ticks)
{
	struct vm_stack stack = {0};
	uint64_t tick_ns;
	int error = -ESRCH;

	if (other_copy.flameprof_record_vm_stack)
		return other_copy.flameprof_record_vm_stack(frames, n, ticks);
	tick_ns = interrupt_period_here_ns();
	if (!tick_ns || (n && !frames))
		return -EINVAL;
	if (!ticks)
		return 0;
	stack.caller = arch_strip_pointer((uintptr_t)__builtin_return_address(0));
	/*
	 * Increment `markers` before checking whether this process is sampled, because the end of
	 * sampling waits until `markers` is 0.
	 */
	__atomic_fetch_add(&sampler.markers, 1, __ATOMIC_SEQ_CST);
	if (sampler_is_this_process())
		error = record_stack(&stack, frames, n, ticks, tick_ns);
	__atomic_fetch_sub(&sampler.markers, 1, __ATOMIC_RELEASE);
	return error;
}
