/* SPDX-License-Identifier: MIT */
/*
 * One record in the calling thread's ring, as the handler writes them. Signals are blocked: nothing
 * here takes a lock.
 */
#include "libprof/vmstack/write.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/stub.h"
#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/handler.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"

/* Frames of ours that a walk from here meets before the caller's. */
#define OWN_MAX 8u

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
 * Native frames behind the words of @sample, whose record has room for @room.
 * Returns how many, or -ENOSPC when that is too small for all of them.
 */
static int add_native(const struct vm_stack *stack, struct wire_sample *sample, unsigned room)
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

/*
 * All signals are blocked: the handler is not at the ring, and nobody longjmps out of it. A stack
 * that does not fit what is left of the thread's block is written once more, into a new one.
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
		fit = smaller(record_frames(room), WIRE_MAX_DEPTH) - stack->count;
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

int vm_stack_write(const struct vm_stack *stack)
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
		record_dropped(record_bytes(stack->count));
	}
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}
