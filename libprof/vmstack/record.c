/* SPDX-License-Identifier: MIT */
/*
 * flameprof_record_vm_stack(): one record in the calling thread's ring, as the handler writes them.
 * Everything that may take a lock comes before signals are blocked.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/stub.h"
#include "arch/syscall.h"
#include "libprof/api/session.h"
#include "libprof/flameprof_vm.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/record.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/vmstack/function.h"

/* Deeper stacks get memory of their own: machines run on small stacks, too. */
#define WORDS_ON_STACK 512u
/* Frames of ours that a walk from here meets before the caller's. */
#define OWN_MAX 8u

static uint32_t place; /* atomic: enum flameprof_vm_place */

struct stack {
	struct sampler_thread *thread;
	uintptr_t caller;
	const uint64_t *words; /* innermost first */
	uint32_t count;
	uint32_t weight;
	uint8_t end; /* enum wire_end: of the words */
	int is_above; /* native frames follow the words */
};

void flameprof_vm_stacks(enum flameprof_vm_place wanted)
{
	if (elsewhere.flameprof_vm_stacks)
		elsewhere.flameprof_vm_stacks(wanted);
	else
		__atomic_store_n(&place, (uint32_t)wanted, __ATOMIC_RELAXED);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The caller as a frame has it. */
static uint64_t word_of_caller(uintptr_t caller)
{
	struct unwind_module module;

	if (modules_find(caller - 1, &module))
		return WIRE_FRAME(WIRE_MODULE_NONE, caller - 1);
	return WIRE_FRAME(module.number, caller - 1 - module.bias);
}

/* Take out of @frames those of ours, inside of the caller's. Returns how many are left. */
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

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Native frames behind the words of @sample, of which the ring has room for @room.
 * Returns how many, or -ENOSPC when the ring is too full for all of them.
 */
static int add_native(const struct stack *stack, struct wire_sample *sample, unsigned room)
{
	uint64_t *frames = (uint64_t *)(sample + 1) + stack->count;
	unsigned most = sampler.max_depth - stack->count;
	unsigned walked = smaller(smaller(most + OWN_MAX, room), WIRE_MAX_DEPTH - stack->count);
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
	return (int)smaller(count, most);
}

/* All signals are blocked: the handler is not at the ring, and nobody longjmps out of it. */
static __attribute__((noinline)) int write_record(const struct stack *stack)
{
	struct sampler_thread *thread = stack->thread;
	unsigned fit = record_frames_that_fit(thread);
	unsigned native_room = 0;
	struct wire_sample *sample;
	int native = 0;

	if (fit < stack->count)
		return -ENOSPC;
	if (stack->is_above && stack->end == WIRE_END_ROOT)
		native_room = smaller(fit, WIRE_MAX_DEPTH) - stack->count;
	sample = ring_begin(thread->ring, thread->data,
		sizeof(*sample) + sizeof(uint64_t) * (stack->count + native_room));
	if (!sample)
		return -ENOSPC;
	memcpy(sample + 1, stack->words, stack->count * sizeof(uint64_t));
	sample->end = stack->end;
	if (native_room)
		native = add_native(stack, sample, native_room);
	if (native < 0) {
		__atomic_store_n(&thread->ring->writing, 0, __ATOMIC_RELAXED);
		return native;
	}
	sample->frames = (uint16_t)(stack->count + (unsigned)native);
	sample->bytes = (uint32_t)(sizeof(*sample) + sizeof(uint64_t) * sample->frames);
	sample->thread = thread->number;
	sample->time_ns = clock_monotonic_ns();
	sample->weight = stack->weight;
	sample->kind = WIRE_KIND_VM;
	ring_commit(thread->ring, sample->bytes);
	return 0;
}

static int put(const struct stack *stack)
{
	struct sampler_thread *thread = stack->thread;
	uint64_t all = ~0ULL, before = 0;
	int error = -ESRCH;

	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	/* As in the handler: who clears `active` waits for those who saw it set. */
	__atomic_fetch_add(&thread->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&thread->active, __ATOMIC_SEQ_CST))
		error = write_record(stack);
	if (error == -ENOSPC) {
		__atomic_fetch_add(&sampler.slot->vm_dropped, stack->weight, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sampler.dropped_bytes,
			sizeof(struct wire_sample) + stack->count * sizeof(uint64_t),
			__ATOMIC_RELAXED);
	}
	if (error != -ESRCH)
		record_done(thread, error != 0);
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}

/* ---- what is written ------------------------------------------------------------------------- */

static uint64_t word_of(struct function *function)
{
	function_announce(function);
	return WIRE_FRAME(WIRE_MODULE_CODE, function->space);
}

/* The words of @n frames into @words, with room for one more. Returns how many. */
static uint32_t describe(
	const struct flameprof_vm_frame *frames, unsigned n, int is_above, uint64_t *words)
{
	struct function_file file = {0};
	uint32_t count = 0;

	function_announce_waiting();
	for (; count < n; count++)
		words[count] = word_of(function_find(&frames[count], &file));
	/* A stack without frames is the machine's all the same. */
	if (!is_above || !n)
		words[count++] = word_of(function_root());
	return count;
}

/* How many of @n frames are kept. The root's frame is one of those that a record can have. */
static unsigned frames_kept(unsigned n, int is_above)
{
	unsigned most = sampler.max_depth;

	if (!is_above && most > 1)
		most--;
	return smaller(n, most);
}

static int record_words(struct stack *stack, const struct flameprof_vm_frame *frames, unsigned n)
{
	unsigned kept = frames_kept(n, stack->is_above);
	uint64_t on_stack[WORDS_ON_STACK];
	size_t bytes = (kept + 1) * sizeof(uint64_t);
	uint64_t *words = on_stack;
	int error;

	if (kept >= WORDS_ON_STACK) {
		words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
		if (words == MAP_FAILED)
			return -ENOMEM;
	}
	stack->count = describe(frames, kept, stack->is_above, words);
	stack->words = words;
	stack->end = kept < n || (stack->is_above && stack->count >= sampler.max_depth)
		? WIRE_END_DEPTH
		: WIRE_END_ROOT;
	error = put(stack);
	if (words != on_stack)
		munmap(words, bytes);
	return error;
}

/* The calling thread; one that nobody has met yet is met here, in a process that samples itself. */
static struct sampler_thread *this_thread(void)
{
	struct sampler_thread *thread = sampler_thread_self();

	if (thread || !sampler.hosted || own_threads_have((uint32_t)arch_syscall0(SYS_gettid)))
		return thread;
	thread = sampler_thread_try_claim();
	return thread ? session_arm_self(thread) : NULL;
}

/*
 * @ticks in periods of the profile. What is left of them goes to the thread's next record, so that
 * no time is lost; the first one begins at random, as timers do, so that none is won.
 */
static uint64_t weight_of(struct sampler_thread *thread, uint32_t ticks, uint64_t tick_ns)
{
	uint64_t period_ns = sampler.period_ns;
	uint64_t whole = tick_ns / period_ns, part_ns = tick_ns % period_ns;
	uint64_t rest_ns = 0;

	if (thread && !thread->has_vm_phase)
		thread->vm_rest_ns = sampler_random_phase_ns(period_ns, (uint32_t)thread->tid) - 1;
	if (thread) {
		thread->has_vm_phase = 1;
		rest_ns = thread->vm_rest_ns;
	}
	/* A part less than a second, 2^32 times, has room; ticks are periods where those are longer. */
	rest_ns += ticks * part_ns;
	if (thread)
		thread->vm_rest_ns = rest_ns % period_ns;
	return ticks * whole + rest_ns / period_ns;
}

static void drop(uint64_t weight)
{
	__atomic_fetch_add(&sampler.slot->vm_dropped, weight, __ATOMIC_RELAXED);
}

/* With the end of the session waiting for us. */
static int record(struct stack *stack, const struct flameprof_vm_frame *frames, unsigned n,
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
		drop(weight);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
		return -ENOSPC;
	}
	if (!weight)
		return 0;
	stack->thread = thread;
	stack->is_above = __atomic_load_n(&place, __ATOMIC_RELAXED) == FLAMEPROF_VM_ABOVE;
	/* A record holds 32 bits of it. */
	stack->weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	drop(weight - stack->weight);
	error = record_words(stack, frames, n);
	if (error == -ENOMEM) {
		drop(stack->weight);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
	}
	return error;
}

int flameprof_record_vm_stack(
	const struct flameprof_vm_frame *frames, unsigned n, uint32_t ticks)
{
	struct stack stack = {0};
	uint64_t tick_ns;
	int error = -ESRCH;

	if (elsewhere.flameprof_record_vm_stack)
		return elsewhere.flameprof_record_vm_stack(frames, n, ticks);
	tick_ns = interrupt_period_ns();
	if (!tick_ns || (n && !frames))
		return -EINVAL;
	if (!ticks)
		return 0;
	stack.caller = arch_strip_pointer((uintptr_t)__builtin_return_address(0));
	/* Before it is asked whether anybody samples: the end waits for those who were told so. */
	__atomic_fetch_add(&sampler.markers, 1, __ATOMIC_SEQ_CST);
	if (sampler_is_this_process())
		error = record(&stack, frames, n, ticks, tick_ns);
	__atomic_fetch_sub(&sampler.markers, 1, __ATOMIC_RELEASE);
	return error;
}
