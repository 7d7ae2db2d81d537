// SPDX-License-Identifier: MIT
// heavy() makes and frees twice as many blocks as light(), 51 frames of deep() below main().
#include <stdio.h>
#include <stdlib.h>

#define CALLED __attribute__((noinline, noclone))
static unsigned sum;

CALLED void spin(unsigned n)
{
	void *blocks[64];
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 64; k++)
			blocks[k] = malloc(16 + 32 * ((i + k) % 60));
		for (unsigned k = 0; k < 64; k++)
			free(blocks[k]);
	}
}
CALLED void heavy(unsigned n)
{
	spin(2 * n);
	sum++;
}
CALLED void light(unsigned n)
{
	spin(n);
	sum++;
}
CALLED void deep(int d, unsigned n)
{
	d ? deep(d - 1, n) : (heavy(n), light(n));
	sum++;
}
int main(void)
{
	for (int i = 0; i < 700; i++)
		deep(50, 800 + i % 97 * 8);
	printf("%u\n", sum);
}
