// SPDX-License-Identifier: MIT
// Each turn ends by longjmp() out of 51 frames of deep(), half of them in a signal handler.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#define CALLED __attribute__((noinline, noclone))
static sigjmp_buf out;
static uint64_t sum, size;
CALLED void spin(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = sum * 6364136223846793005u + i;
}
CALLED void heavy(void)
{
	spin(2 * size), sum++;
}
CALLED void light(void)
{
	spin(size), sum++;
}
CALLED void deep(int d)
{
	d ? deep(d - 1) : (heavy(), light(), siglongjmp(out, 1)), sum++;
}
static void handler(int number)
{
	(void)number;
	deep(50);
}
int main(void)
{
	signal(SIGUSR1, handler);
	for (volatile int i = 0; i < 400; i++) {
		size = 700000 + i / 2 % 97 * 7000;
		if (!sigsetjmp(out, 1))
			i % 2 ? deep(50) : (void)raise(SIGUSR1);
	}
	printf("%llu\n", (unsigned long long)sum);
}
