/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by the handler. */
/*
 * A pool of stacks for the handler's walks: one for each thread, but at most a few for each CPU.
 * One stack for every thread would cost two mappings and 12 KiB of resident memory each, which is
 * much for thousands of threads. A stack cannot be found by thread-local storage, because threads
 * of a raw clone(CLONE_VM) may share that storage.
 *
 *	| guard | stack 0      | guard | stack 1      | ...     each pair mapped by itself
 *	  4 KiB   STACK_BYTES
 *
 * A thread claims a stack by compare-and-swap and releases it after leaving it.
 */
#include "libprof/sampler/walk_stack.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "arch/syscall.h"
#include "arch/walk_stack.h"
#include "libprof/at_start.h"
#include "libprof/sanitizers.h"
#include "libprof/wire.h"

/*
 * Size of one stack. tests/lint/lint_stack.py adds up how much the deepest walk uses, and compares
 * the sum with this. Sanitizers and -O0 enlarge every frame.
 */
#define STACK_BYTES	32768u
#define SANITIZED_BYTES (8 * STACK_BYTES)
#define GUARD_BYTES	WIRE_PAGE

#define STACKS_MAX   1024u
#define STACKS_A_CPU 4u
#define CPUS_MAX     1024u

struct walk_stack {
	/* Atomic: one past the end of the stack; NULL without memory. */
	char *top;
	/* Atomic: a claim sets it to 1 with acquire order, a release to 0 with release order. */
	uint32_t is_taken;
};

static AT_START struct walk_stack first; /* the only one of most processes */
static struct walk_stack others[STACKS_MAX - 1];
/* Atomic: number of stacks, including those whose memory is not mapped yet. */
static AT_START uint32_t stacks;
/* Limit of `stacks`; 0: not computed yet. */
static uint32_t most;

static struct walk_stack *stack_at(uint32_t index)
{
	return index ? &others[index - 1] : &first;
}

/*
 * Returns the useful number of stacks: one for each CPU, and more because handlers may be
 * preempted.
 */
static uint32_t stacks_of_use(void)
{
	uint64_t cpus[CPUS_MAX / 64];
	long bytes = arch_syscall3(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);
	uint32_t count = 0;

	for (long word = 0; word < bytes / (long)sizeof(cpus[0]); word++)
		for (; cpus[word]; cpus[word] &= cpus[word] - 1)
			count++;
	count = (count ? count : 1) * STACKS_A_CPU;
	return count < STACKS_MAX ? count : STACKS_MAX;
}

/* Map one stack. Returns one past its end, or NULL if memory is refused. */
static char *map_stack(void)
{
	size_t bytes = UNDER_ASAN || UNDER_TSAN ? SANITIZED_BYTES : STACK_BYTES;
	long at = arch_syscall6(SYS_mmap, 0, GUARD_BYTES + bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *low;

	if (at <= 0)
		return NULL;
	low = (char *)at + GUARD_BYTES;
	if (arch_syscall3(SYS_mprotect, low, bytes, PROT_READ | PROT_WRITE)) {
		arch_syscall2(SYS_munmap, at, GUARD_BYTES + bytes);
		return NULL;
	}
	/*
	 * Tell valgrind about the stack, because it may mistake a switch to an unknown stack for
	 * growth of the old one.
	 */
	arch_ask_valgrind(VALGRIND_STACK_REGISTER, (uintptr_t)low, (uintptr_t)low + bytes - 1);
	return low + bytes;
}

void walk_stack_provide(unsigned count)
{
	uint32_t index = __atomic_load_n(&stacks, __ATOMIC_RELAXED);

	if (index >= count)
		return;
	if (index && !most)
		most = stacks_of_use();
	if ((index && index >= most) || !__atomic_compare_exchange_n(&stacks, &index, index + 1, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&stack_at(index)->top, map_stack(), __ATOMIC_RELEASE);
}

int walk_stack_call(void (*function)(void *), void *argument)
{
	uint32_t count = __atomic_load_n(&stacks, __ATOMIC_RELAXED);
	/* Begin the search at an index that differs between threads. */
	uint32_t begin = (uint32_t)((uintptr_t)__builtin_frame_address(0) / WIRE_PAGE);

	for (uint32_t n = 0; n < count; n++) {
		struct walk_stack *stack = stack_at((begin + n) % count);
		char *top = __atomic_load_n(&stack->top, __ATOMIC_ACQUIRE);

		if (!top || __atomic_load_n(&stack->is_taken, __ATOMIC_RELAXED) ||
			__atomic_exchange_n(&stack->is_taken, 1, __ATOMIC_ACQUIRE))
			continue;
		arch_call_on_stack(top, function, argument);
		__atomic_store_n(&stack->is_taken, 0, __ATOMIC_RELEASE);
		return 0;
	}
	return -EAGAIN;
}

void walk_stack_reset(void)
{
	for (uint32_t index = 0; index < stacks; index++)
		if (stack_at(index)->is_taken)
			stack_at(index)->is_taken = 0;
}
