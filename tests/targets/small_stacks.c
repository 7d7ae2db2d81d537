/* SPDX-License-Identifier: MIT */
/*
 * small_stacks CASE [BYTES]: measure how much of the program's stacks a profiler's signal uses.
 *
 *   alternate   before() burns, an alternate signal stack of BYTES is set, behind() burns;
 *               prints the true distribution; exit status 3 if a signal is blocked
 *   below       prints how many bytes are written below the stack pointer of a thread
 *   neighbour   a coroutine uses all of its block of memory but BYTES: prints how many bytes of
 *               the block before it are overwritten
 *   freed       an alternate stack of 64 KiB is freed and allocated again: prints how many bytes
 *               change
 *   thread      64 threads use all of their stacks of 16 KiB but BYTES
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "spin.h"

#define PAINT 0xa5
#define STACK_BYTES 262144u
#define BURN_NS	    400000000u

static unsigned char *painted(size_t bytes)
{
	unsigned char *at = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : memset(at, PAINT, bytes);
}

static size_t changed(const unsigned char *at, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += at[i] != PAINT;
	return count;
}

BOX static void before(void)
{
	spin_until(BURN_NS / 2);
	KEEP_FRAME();
}

BOX static void behind(void)
{
	spin_until(BURN_NS * 2);
	KEEP_FRAME();
}

static void alternate(size_t bytes)
{
	stack_t stack = {.ss_size = bytes};
	sigset_t mask;
	uint64_t middle_ns;

	before();
	middle_ns = cpu_ns();
	stack.ss_sp = malloc(bytes);
	if (sigaltstack(&stack, NULL))
		exit(2);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (!sigisemptyset(&mask))
		exit(3);
	behind();
	tell("before", middle_ns);
	tell("behind", cpu_ns() - middle_ns);
}

static unsigned char *stack;
static size_t deepest;

/*
 * No function is called while the thread burns, so a signal wrote every change below the thread's
 * frame.
 */
static void *burn_on_paint(void *argument)
{
	unsigned char *here;

	spin_until(BURN_NS / 4);
	here = __builtin_frame_address(0);
	memset(stack, PAINT, (size_t)(here - stack) - 1024);
	spin(16000);
	for (deepest = 0; stack[deepest] == PAINT;)
		deepest++;
	deepest = (size_t)(here - stack) - deepest;
	return argument;
}

static void below(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	stack = painted(STACK_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	pthread_create(&thread, &attributes, burn_on_paint, NULL);
	pthread_join(thread, NULL);
	printf("%zu bytes\n", deepest);
}

static ucontext_t caller, coroutine;
static size_t room_bytes = 4096; /* free bytes left on a stack */

static void use_stack(void)
{
	unsigned char *here = __builtin_frame_address(0);
	size_t used = (size_t)(here - (unsigned char *)coroutine.uc_stack.ss_sp) - room_bytes;
	volatile char *room = __builtin_alloca(used);

	room[0] = 1;
	spin_until(BURN_NS);
	room[1] = room[0];
}

static void neighbour(void)
{
	static unsigned char blocks[2 * 16384];

	memset(blocks, PAINT, sizeof(blocks));
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = blocks + 16384;
	coroutine.uc_stack.ss_size = 16384;
	coroutine.uc_link = &caller;
	makecontext(&coroutine, use_stack, 0);
	swapcontext(&caller, &coroutine);
	printf("%zu bytes\n", changed(blocks, 16384));
}

static void freed(void)
{
	unsigned char *at = painted(65536);
	stack_t alternate_stack = {.ss_sp = at, .ss_size = 65536};

	sigaltstack(&alternate_stack, NULL);
	spin_until(BURN_NS);
	printf("%zu bytes\n", changed(at, 65536));
}

static void *use_small_stack(void *argument)
{
	unsigned char *here = __builtin_frame_address(0), *low;
	pthread_attr_t attributes;
	volatile char *room;
	size_t bytes;
	void *at;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &at, &bytes);
	pthread_attr_destroy(&attributes);
	low = at;
	room = __builtin_alloca((size_t)(here - low) - room_bytes);
	room[0] = 1;
	spin_until(BURN_NS / 64);
	room[1] = room[0];
	return argument;
}

static void threads(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	for (int i = 0; i < 64; i++)
		if (!pthread_create(&thread, &attributes, use_small_stack, NULL))
			pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	room_bytes = argument(argc, argv, 2, 4096);
	if (!strcmp(what, "alternate"))
		alternate(argument(argc, argv, 2, 8192));
	else if (!strcmp(what, "below"))
		below();
	else if (!strcmp(what, "neighbour"))
		neighbour();
	else if (!strcmp(what, "freed"))
		freed();
	else if (!strcmp(what, "thread"))
		threads();
	else
		return 2;
	return 0;
}
