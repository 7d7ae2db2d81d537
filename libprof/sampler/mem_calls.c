/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called by compiled code anywhere, also in the handler. */
/*
 * The library's own versions of the functions that compilers call for copies and comparisons.
 * libc's versions may be replaced by the program or by a sanitizer: ThreadSanitizer's versions run
 * signal handlers that it has deferred. In our handler every signal is blocked, and such a handler
 * would see that mask and keep it.
 *
 * Words are copied first: on the CPUs of arch/ they need not be aligned. KEEP_OPAQUE between a load
 * and its store keeps the compiler from recognising the loop as a memcpy(), which it would replace
 * by a call of the function that it is compiling.
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

/* Copy forwards. The memory may overlap if @to is below @from. */
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
