/* SPDX-License-Identifier: MIT */
/*
 * machine [MS]: a complete virtual machine that libflameprof makes visible. It computes for MS
 * milliseconds of CPU time (1000) and prints the time of its functions by its own clock:
 *
 *	$ flamerun -o machine.svg -- ./machine
 *
 * The functions chunk, mix and count of the machine's program are all executed by the C function
 * eval(). In the picture they nevertheless have frames with their names, because each is called
 * through a stub of its own. With --sample-type vm the picture shows the stacks that the machine
 * itself records at safe points, with files and lines.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <flameprof_signature.h>
#include <flameprof_vm.h>

#define TICK_NS	 1000000
#define SOURCE	 "program.vm"
/* maximum depth of the machine's stack; the program uses two levels */
#define DEPTH	 16

/* ---- the machine ----------------------------------------------------------------------------- */

enum operation { ADD, MULTIPLY, CALL, BUILTIN, REPEAT, RETURN };

struct instruction {
	enum operation operation;
	long operand;
};

struct machine;

struct function {
	const char *name;
	uint32_t line;
	const struct instruction *code;
	/* a stub that calls eval() for this function */
	long (*call)(struct machine *machine, long value);
	uint64_t cpu_ns, elapsed_ns;
};

struct builtin {
	const char *name;
	long (*call)(long value);
};

struct machine {
	const struct function *stack[DEPTH]; /* the calls that have not returned, outermost first */
	unsigned depth;
	const struct builtin *inside; /* the builtin that is running; NULL: none */
};

static __attribute__((noinline)) long collatz(long value)
{
	unsigned long at = (unsigned long)value % 1000000 + 1;
	long steps = 0;

	for (; at != 1; steps++)
		at = at % 2 ? 3 * at + 1 : at / 2;
	return value + steps;
}

static struct builtin builtins[] = {{"collatz", collatz}};

static const struct instruction chunk_code[] = {{CALL, 1}, {CALL, 2}, {RETURN, 0}};
static const struct instruction mix_code[] = {
	{MULTIPLY, 31}, {ADD, 7}, {REPEAT, 2000000}, {RETURN, 0}};
static const struct instruction count_code[] = {{BUILTIN, 0}, {REPEAT, 50000}, {RETURN, 0}};

static struct function functions[] = {
	{"chunk", 1, chunk_code, NULL, 0, 0},
	{"mix", 5, mix_code, NULL, 0, 0},
	{"count", 9, count_code, NULL, 0, 0},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static long call(struct function *function, struct machine *machine, long value)
{
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), elapsed_ns = clock_ns(CLOCK_MONOTONIC);

	value = function->call(machine, value);
	function->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	function->elapsed_ns += clock_ns(CLOCK_MONOTONIC) - elapsed_ns;
	return value;
}

static long call_builtin(const struct builtin *builtin, struct machine *machine, long value)
{
	machine->inside = builtin;
	/* This calls an intercept stub. If a tick comes during the builtin, the stub records it. */
	value = builtin->call(value);
	machine->inside = NULL;
	return value;
}

static long eval(const struct function *function, struct machine *machine, long value)
{
	const struct instruction *at = function->code;
	long rounds = 1;

	machine->stack[machine->depth++] = function;
	for (; at->operation != RETURN; at++) {
		switch (at->operation) {
		case ADD:
			value = (long)((unsigned long)value + (unsigned long)at->operand);
			break;
		case MULTIPLY:
			value = (long)((unsigned long)value * (unsigned long)at->operand);
			break;
		case CALL:
			value = call(&functions[at->operand], machine, value);
			break;
		case BUILTIN:
			value = call_builtin(&builtins[at->operand], machine, value);
			break;
		default: /* REPEAT */
			if (rounds++ < at->operand)
				at = function->code - 1;
		}
		/* A safe point: costs one comparison if no tick is pending. */
		flameprof_interrupt_check();
	}
	machine->depth--;
	return value;
}

/* ---- what makes it visible ------------------------------------------------------------------- */

/* Called at a safe point if ticks are pending: record the stack with a weight of @ticks periods. */
static void on_ticks(void *context, uint32_t ticks)
{
	const struct machine *machine = context;
	struct flameprof_vm_frame frames[DEPTH + 1];
	unsigned count = 0;

	if (machine->inside)
		frames[count++] = (struct flameprof_vm_frame){machine->inside->name, NULL, 0};
	for (unsigned at = machine->depth; at-- > 0;)
		frames[count++] = (struct flameprof_vm_frame){
			machine->stack[at]->name, SOURCE, machine->stack[at]->line};
	/* Ignore the result: it is -ESRCH if neither flamerun nor flameprof_start() is sampling. */
	flameprof_record_vm_stack(frames, count, ticks);
}

/* Make the stubs. They need executable memory, without which this machine cannot run. */
static int make_stubs(void)
{
	const struct flameprof_signature signature = FLAMEPROF_SIGNATURE(
		eval, long, const struct function *, struct machine *, long);
	struct flameprof_arena *arena;
	int error = flameprof_arena_new(&arena, FLAMEPROF_STUB_BIND, (flameprof_function *)eval,
		&signature);

	if (!error)
		flameprof_arena_hide_target(arena); /* no frames for eval() itself */
	for (size_t i = 0; !error && i < FUNCTIONS; i++) {
		/* The stub calls eval() with &functions[i] before its own arguments. */
		functions[i].call = (long (*)(struct machine *, long))flameprof_stub_new(
			arena, functions[i].name, (uintptr_t)&functions[i]);
		error = functions[i].call ? 0 : -1;
	}
	/* If no stub can be made, flameprof_intercept() returns the function itself, collatz(). */
	builtins[0].call = (long (*)(long))flameprof_intercept(
		(flameprof_function *)builtins[0].call, builtins[0].name, NULL);
	return error;
}

int main(int argc, char **argv)
{
	uint64_t until_ns = 1000000 * strtoull(argc > 1 ? argv[1] : "1000", NULL, 10);
	struct machine machine = {{NULL}, 0, NULL};
	/* This machine's own tick period and callback; other machines have other ones. */
	const struct flameprof_interrupt_options ticks = {
		.period_ns = TICK_NS, .function = on_ticks, .context = &machine};
	long value = 1;

	if (make_stubs() || flameprof_interrupt_register_with(&ticks)) {
		fprintf(stderr, "machine: no stubs, or no ticks\n");
		return 1;
	}
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		value = call(&functions[0], &machine, value);
	flameprof_interrupt_unregister();
	for (size_t i = 0; i < FUNCTIONS; i++)
		printf("%s_cpu_ns %" PRIu64 "\n%s_elapsed_ns %" PRIu64 "\n", functions[i].name,
			functions[i].cpu_ns, functions[i].name, functions[i].elapsed_ns);
	printf("value %ld\n", value);
	return 0;
}
