/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: memory without libc. A sanitizer's memcpy() keeps books about its thread, and
 * the helper has the thread pointer of the one that started it: both would write them at once. The
 * barriers keep compilers from making calls of these loops.
 */
#ifndef LIBPROF_AGGREGATOR_PLAIN_MEMORY_H
#define LIBPROF_AGGREGATOR_PLAIN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

static inline void plain_copy(void *to, const void *from, size_t bytes)
{
	char *out = to;
	const char *in = from;
	size_t at = 0;

	for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
		__builtin_memcpy(out + at, in + at, sizeof(uint64_t));
		__asm__ volatile("" : : : "memory");
	}
	for (; at < bytes; at++) {
		out[at] = in[at];
		__asm__ volatile("" : : : "memory");
	}
}

static inline void plain_clear(uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		words[i] = 0;
		__asm__ volatile("" : : "r"(words) : "memory");
	}
}

static inline int plain_equal(const char *left, const char *right, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (left[i] != right[i])
			return 0;
	return 1;
}

#endif
