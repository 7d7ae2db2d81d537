/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: what the compiler calls by itself, in the handler, too. */
/*
 * The functions that compilers call for copies and comparisons, for the library alone. libc's may
 * be anybody's: a program has its own, and a sanitizer's does more than copy. ThreadSanitizer's
 * runs the handlers of signals that it kept back, which in our handler would find every signal
 * blocked and give the program that mask to keep.
 *
 * Words first: on the CPUs of arch/ they need not be aligned. What stands between a load and its
 * store keeps the compiler from seeing the function that it is compiling, and calling it.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct word {
	uint64_t value;
} __attribute__((packed, may_alias));

#define KEEP_OPAQUE(value) __asm__("" : "+r"(value))

static void copy_word(char *to, const char *from)
{
	uint64_t value = ((const struct word *)from)->value;

	KEEP_OPAQUE(value);
	((struct word *)to)->value = value;
}

static void copy_byte(char *to, const char *from)
{
	char value = *from;

	KEEP_OPAQUE(value);
	*to = value;
}

/* Also where they overlap, if @to comes first. */
static void copy_upwards(void *to, const void *from, size_t bytes)
{
	size_t at = 0;

	for (; bytes - at >= sizeof(uint64_t); at += sizeof(uint64_t))
		copy_word((char *)to + at, (const char *)from + at);
	for (; at < bytes; at++)
		copy_byte((char *)to + at, (const char *)from + at);
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	copy_upwards(to, from, bytes);
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	if ((uintptr_t)to - (uintptr_t)from >= bytes) {
		copy_upwards(to, from, bytes);
		return to;
	}
	while (bytes >= sizeof(uint64_t)) {
		bytes -= sizeof(uint64_t);
		copy_word((char *)to + bytes, (const char *)from + bytes);
	}
	while (bytes) {
		bytes--;
		copy_byte((char *)to + bytes, (const char *)from + bytes);
	}
	return to;
}

void *memset(void *to, int byte, size_t bytes)
{
	uint64_t value = (unsigned char)byte * 0x0101010101010101ULL;
	size_t at = 0;

	for (; bytes - at >= sizeof(value); at += sizeof(value)) {
		KEEP_OPAQUE(value);
		((struct word *)((char *)to + at))->value = value;
	}
	for (; at < bytes; at++) {
		KEEP_OPAQUE(value);
		((char *)to)[at] = (char)value;
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *left = a, *right = b;
	size_t at = 0;

	for (; bytes - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
		if (((const struct word *)(left + at))->value !=
			((const struct word *)(right + at))->value)
			break;
	}
	for (; at < bytes; at++) {
		if (left[at] != right[at])
			return left[at] - right[at];
	}
	return 0;
}

int bcmp(const void *a, const void *b, size_t bytes)
{
	return memcmp(a, b, bytes);
}

int strncmp(const char *a, const char *b, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++) {
		if (a[at] != b[at])
			return (unsigned char)a[at] - (unsigned char)b[at];
		if (!a[at])
			break;
	}
	return 0;
}

size_t strlen(const char *text)
{
	size_t bytes = 0;

	while (text[bytes]) {
		bytes++;
		KEEP_OPAQUE(bytes);
	}
	return bytes;
}
