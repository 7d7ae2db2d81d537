/* SPDX-License-Identifier: MIT */
/*
 * A virtual machine of three functions. For MS of CPU time, "main chunk" calls "fib", which burns
 * for a third of the time and calls the builtin "string.rep" for two thirds. At its safe points the
 * machine takes ticks of 10 ms and records its stack.
 * The stack [vm];main chunk (script.lua:1);fib (script.lua:12) has a third of the ticks, and
 * string.rep below it has two thirds. All native samples are below run_machine.
 *
 *	machine MS [above] [fork] [exec] [die] [scope=FILE] [clock=cpu|vm] [names=N]
 *
 *	above	stacks are placed on native frames	fork	a child does the same first
 *	exec	then run this program once more		die	end by SIGKILL
 *	scope	profile itself, if not under flamerun
 *	names	each tick's stack has N additional functions with new names
 *
 * Prints "ticks N", the number of recorded ticks; "refused N", the ticks whose record failed; and
 * for a child "child_ticks N".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libprof/flameprof_scope.h"
#include "libprof/flameprof_vm.h"

#define TICK_NS	  10000000
#define NS_PER_MS 1000000LL
#define NAMES_MAX 1000
/* Steps between two reads of the clock, some 8 ms; spin_until() in spin.h says why. */
#define STEPS_PER_LOOK 8192

static struct flameprof_vm_frame stack[NAMES_MAX + 3] = {
	{"string.rep", NULL, 0},
	{"fib", "script.lua", 12},
	{"main chunk", "script.lua", 1},
};
static char names[NAMES_MAX][32];
static unsigned in_builtin; /* the builtin is on the stack */
static unsigned more;	    /* additional names in each stack */
static unsigned made;
static unsigned long ticks_recorded, ticks_refused;

static const char *option(char **argv, const char *name)
{
	size_t bytes = strlen(name);

	for (char **word = argv + 1; *word; word++)
		if (!strncmp(*word, name, bytes) && (!(*word)[bytes] || (*word)[bytes] == '='))
			return (*word)[bytes] ? *word + bytes + 1 : *word;
	return NULL;
}

static void on_ticks(void *context, uint32_t ticks)
{
	unsigned skip = in_builtin ? 0 : 1;

	(void)context;
	for (unsigned i = 0; i < more; i++) {
		snprintf(names[i], sizeof(names[i]), "made %u", made++);
		stack[3 + i] = (struct flameprof_vm_frame){names[i], "made.lua", i + 1};
	}
	if (flameprof_record_vm_stack(stack + skip, 3 + more - skip, ticks))
		ticks_refused += ticks;
	else
		ticks_recorded += ticks;
}

static long long cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000 * NS_PER_MS + ts.tv_nsec;
}

static __attribute__((noinline)) void run_machine(long ms)
{
	long long until_ns = cpu_ns() + ms * NS_PER_MS;

	for (unsigned long step = 0; step % STEPS_PER_LOOK || cpu_ns() < until_ns; step++) {
		for (volatile int i = 0; i < 1000; i++)
			;
		/* The builtin runs for two of three steps, so it has two thirds of the time. */
		in_builtin = step % 3 != 0;
		flameprof_interrupt_check();
	}
}

static void run_child(long ms)
{
	pid_t pid = fork();

	if (!pid) {
		ticks_recorded = ticks_refused = 0;
		run_machine(ms);
		printf("child_ticks %lu\n", ticks_recorded);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 500;
	const char *path = option(argv, "scope"), *clock = option(argv, "clock");
	struct flameprof_options options = {
		.clock = clock && !strcmp(clock, "vm") ? FLAMEPROF_CLOCK_VM : FLAMEPROF_CLOCK_CPU};
	struct flameprof_scope scope = {0};

	more = option(argv, "names") ? (unsigned)atoi(option(argv, "names")) : 0;
	if (more > NAMES_MAX)
		more = NAMES_MAX;
	if (option(argv, "above"))
		flameprof_vm_stacks(FLAMEPROF_VM_ABOVE);
	if (flameprof_interrupt_enable(TICK_NS, on_ticks, NULL) ||
		flameprof_interrupt_register(NULL))
		return 1;
	if (path)
		scope.state = flameprof_scope_begin(&scope, path, &options);
	if (scope.state < 0)
		return 2;
	if (option(argv, "fork"))
		run_child(ms);
	run_machine(ms);
	if (path && flameprof_scope_end(&scope))
		return 3;
	printf("ticks %lu\nrefused %lu\n", ticks_recorded, ticks_refused);
	fflush(stdout);
	if (option(argv, "die"))
		raise(SIGKILL);
	if (option(argv, "exec"))
		execl(argv[0], argv[0], argv[1], (char *)NULL);
	return 0;
}
