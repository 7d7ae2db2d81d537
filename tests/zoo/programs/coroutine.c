// SPDX-License-Identifier: MIT
// Two coroutines by ucontext take turns, on stacks from malloc(): one in heavy(), one in light().
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define CALLED __attribute__((noinline, noclone))
static ucontext_t scheduler, coroutine[2];
static uint64_t sum, size;

CALLED void spin(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = sum * 6364136223846793005u + i;
}
CALLED void heavy(int me)
{
	spin(2 * size);
	swapcontext(&coroutine[me], &scheduler);
}
CALLED void light(int me)
{
	spin(size);
	swapcontext(&coroutine[me], &scheduler);
}
CALLED void deep(int d, int me)
{
	d ? deep(d - 1, me) : (me ? heavy : light)(me);
	sum ^= 1;
}
static void body(int me)
{
	for (;;)
		deep(50, me);
}
int main(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack = (stack_t){.ss_sp = malloc(65536), .ss_size = 65536};
		makecontext(&coroutine[i], (void (*)(void))body, 1, i);
	}
	for (int i = 0; i < 600; i++) {
		size = 700000 + i / 2 % 97 * 7000;
		swapcontext(&scheduler, &coroutine[i % 2]);
	}
	printf("%llu\n", (unsigned long long)sum);
}
