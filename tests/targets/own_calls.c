/* SPDX-License-Identifier: MIT */
/*
 * own_calls: replace libc's clock and memory functions, as sanitizers do and libraries that fake
 * the time, and burn some 300 ms. Built with -rdynamic -fno-builtin. The program prints the number
 * of calls of these functions by others, which must be 0, because only the program itself may call
 * them.
 */
#include "tests/targets/spin.h"

#include <string.h>

static volatile unsigned called;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	called++;
	*out = (struct timespec){.tv_sec = clock};
	return 0;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	volatile char *at = to;
	const char *left = from;

	called++;
	for (size_t i = 0; i < bytes; i++)
		at[to < from ? i : bytes - 1 - i] = left[to < from ? i : bytes - 1 - i];
	return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	return memmove(to, from, bytes);
}

void *memset(void *to, int byte, size_t bytes)
{
	volatile char *at = to;

	called++;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (char)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *left = a, *right = b;
	size_t i = 0;

	called++;
	while (i < bytes && left[i] == right[i])
		i++;
	return i < bytes ? left[i] - right[i] : 0;
}

size_t strlen(const char *text)
{
	size_t bytes = 0;

	called++;
	while (text[bytes])
		bytes++;
	return bytes;
}

int main(void)
{
	spin(12000);
	printf("called %u times\n", called);
	return 0;
}
