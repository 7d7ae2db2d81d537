/* SPDX-License-Identifier: MIT */
#include "libprof/sampler/stack.h"

#include <stddef.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "arch/syscall.h"
#include "libprof/sampler/maps.h"
#include "libprof/sampler/sampler.h"

/* Plain loads never go deeper into the address space than this below a main stack's top. */
#define MAIN_STACK_TRUSTED_BYTES (64UL << 20)
/* No thread's stack is believed to be larger: beyond it something else was taken for one. */
#define STACK_BYTES_MAX (1UL << 30)

uintptr_t stack_main_bytes(void)
{
	struct rlimit limit;

	if (arch_syscall4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) ||
		limit.rlim_cur > MAIN_STACK_TRUSTED_BYTES)
		return MAIN_STACK_TRUSTED_BYTES;
	return limit.rlim_cur;
}

static void publish(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi)
{
	__atomic_store_n(&thread->stack_lo, lo, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->stack_hi, hi, __ATOMIC_RELEASE);
}

void stack_publish_main(struct sampler_thread *thread)
{
	/* It ends above the strings the kernel put there, AT_EXECFN among the last. */
	uintptr_t top = (getauxval(AT_EXECFN) | (WIRE_PAGE - 1)) + 1;

	if (top > WIRE_PAGE)
		publish(thread, top - stack_main_bytes(), top);
}

void stack_publish_own(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi)
{
	__atomic_store_n(&thread->stack_hi, 0, __ATOMIC_RELEASE);
	publish(thread, lo, hi);
}

/*
 * libc puts the control block at the upper end of the stack's mapping, and a guard at its lower
 * end, so that two stacks are never one mapping. A stack pointer elsewhere, on a coroutine's or a
 * signal stack, says nothing about how much around it stays mapped.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self)
{
	if (sp < start || self <= sp || self >= end || self - start > STACK_BYTES_MAX)
		return 0;
	return self;
}

static int is_asking(const struct sampler_thread *thread)
{
	return __atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&thread->stack_hi, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&thread->seen_sp, __ATOMIC_ACQUIRE) > 1;
}

static int anybody_asks(void)
{
	SAMPLER_FOR_EACH_RING(index)
	if (is_asking(&sampler_threads[index]))
		return 1;
	return 0;
}

/* Answer those whose stack pointer was in [@start, @end). */
static unsigned answer(uintptr_t start, uintptr_t end)
{
	unsigned known = 0;

	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = &sampler_threads[index];
		uintptr_t sp = __atomic_load_n(&thread->seen_sp, __ATOMIC_ACQUIRE);
		uintptr_t hi;

		if (!is_asking(thread) || sp < start || sp >= end)
			continue;
		hi = stack_end(start, end, sp, thread->seen_self);
		/* Asked and answered, whatever it was: it does not ask again. */
		__atomic_store_n(&thread->seen_sp, 1, __ATOMIC_RELEASE);
		if (!hi)
			continue;
		publish(thread, start, hi);
		known++;
	}
	return known;
}

unsigned stack_publish_seen(void)
{
	struct maps maps;
	struct mapping mapping;
	unsigned known = 0;

	if (!anybody_asks() || maps_open(&maps))
		return 0;
	while (maps_next(&maps, &mapping))
		known += answer(mapping.start, mapping.end);
	maps_close(&maps);
	return known;
}
