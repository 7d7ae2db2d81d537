/* SPDX-License-Identifier: MIT */
#include "libprof/sampler/stack.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "arch/syscall.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/text.h"

/* Plain loads never go deeper into the address space than this below a main stack's top. */
#define MAIN_STACK_TRUSTED_BYTES (64UL << 20)
/* No thread's stack is believed to be larger: beyond it something else was taken for one. */
#define STACK_BYTES_MAX (1UL << 30)

uintptr_t stack_main_bytes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > MAIN_STACK_TRUSTED_BYTES)
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

struct maps {
	int fd;
	unsigned at, bytes;
	char text[4096];
};

static int next_byte(struct maps *maps)
{
	long n;

	if (maps->at == maps->bytes) {
		n = arch_syscall3(SYS_read, maps->fd, maps->text, sizeof(maps->text));
		if (n <= 0)
			return -1;
		maps->bytes = (unsigned)n;
		maps->at = 0;
	}
	return (unsigned char)maps->text[maps->at++];
}

static int next_number(struct maps *maps, int end, uintptr_t *out)
{
	int c;

	*out = 0;
	while ((c = next_byte(maps)) >= 0 && c != end)
		*out = *out << 4 | text_digit((char)c);
	return c == end;
}

/* The range of the next line. Returns 0 at the end. */
static int next_mapping(struct maps *maps, uintptr_t *start, uintptr_t *end)
{
	int c;

	if (!next_number(maps, '-', start) || !next_number(maps, ' ', end))
		return 0;
	do {
		c = next_byte(maps);
	} while (c >= 0 && c != '\n');
	return 1;
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
	struct maps maps = {.fd = -1};
	uintptr_t start, end;
	unsigned known = 0;

	if (!anybody_asks())
		return 0;
	maps.fd = (int)arch_syscall4(
		SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (maps.fd < 0)
		return 0;
	while (next_mapping(&maps, &start, &end))
		known += answer(start, end);
	arch_syscall1(SYS_close, maps.fd);
	return known;
}
