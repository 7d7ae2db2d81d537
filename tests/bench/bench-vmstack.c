/* SPDX-License-Identifier: MIT */
/*
 * Measure the cost for a virtual machine of recording a stack of 35 known functions: beside native
 * frames, above them, and with one function only; and of a mark, for comparison. The CPU time of
 * the recording thread is measured. The sides take turns, and the ring is emptied between them.
 * Asserts nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libprof/flameprof.h"
#include "libprof/flameprof_vm.h"

#define TURNS 61
#define CALLS 60u /* a ring holds that many */
#define DEPTH 35u
#define SIDES 4

static struct flameprof_vm_frame frames[DEPTH];
static char names[DEPTH][40];

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void no_ticks(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
}

static int call(int side)
{
	switch (side) {
	case 0:
	case 1:
		return flameprof_record_vm_stack(frames, DEPTH, 1);
	case 2:
		return flameprof_record_vm_stack(frames, 1, 1);
	default:
		return flameprof_mark("a mark");
	}
}

/* Returns nanoseconds per call. */
static double take_turn(int side)
{
	double start_ns, end_ns;
	int errors = 0;

	flameprof_vm_stacks(side == 1 ? FLAMEPROF_VM_ABOVE : FLAMEPROF_VM_BESIDE);
	if (flameprof_reset(-1))
		exit(1);
	call(side);
	start_ns = now_ns();
	for (unsigned i = 0; i < CALLS; i++)
		errors += call(side) != 0;
	end_ns = now_ns();
	if (errors)
		exit(1);
	return (end_ns - start_ns) / CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	static const char *const sides[SIDES] = {"35 functions, beside", "35 functions, above",
		"1 function", "a mark"};
	static double ns[SIDES][TURNS];

	for (unsigned i = 0; i < DEPTH; i++) {
		snprintf(names[i], sizeof(names[i]), "module.function_%u", i);
		frames[i] = (struct flameprof_vm_frame){
			names[i], i % 3 ? "lib/some/module.lua" : "main.lua", 10 * i};
	}
	if (flameprof_interrupt_enable(10000000, no_ticks, NULL) ||
		flameprof_start(&(struct flameprof_options){.clock = FLAMEPROF_CLOCK_VM}))
		return 1;
	for (int turn = 0; turn < TURNS; turn++)
		for (int side = 0; side < SIDES; side++)
			ns[side][turn] = take_turn(side);
	for (int side = 0; side < SIDES; side++) {
		qsort(ns[side], TURNS, sizeof(double), by_value);
		printf("record: %-22s %6.0f ns lowest, %6.0f ns median\n", sides[side],
			ns[side][0], ns[side][TURNS / 2]);
	}
	return flameprof_stop(NULL, -1) != 0;
}
