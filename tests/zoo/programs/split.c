// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below main(); both call the same spin().
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLED __attribute__((noinline, noclone))

CALLED uint64_t spin(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005u + i;
	return x;
}

CALLED uint64_t heavy(uint64_t n)
{
	return spin(2 * n) >> 1;
}
CALLED uint64_t light(uint64_t n)
{
	return spin(n) >> 2;
}
CALLED uint64_t deep(int d, uint64_t n)
{
	return d ? deep(d - 1, n) >> 1 : heavy(n) ^ light(n);
}

int main(int count, char **words)
{
	uint64_t sum = 0;
	int turns = count > 1 ? atoi(words[1]) : 450;
	for (int i = 0; i < turns; i++)
		sum += deep(50, 700000 + i % 97 * 7000);
	printf("%llu\n", (unsigned long long)sum);
}
