/* SPDX-License-Identifier: MIT */
/*
 * handlers CASE BYTES [MILLISECONDS]: use time in the program's own signal handlers, on an
 * alternate stack of BYTES; if BYTES is 0, on the normal stack.
 *
 * CASE shares: in_handler(), called by a handler, uses twice as much time as normal(). Both are
 * below main. The program prints their times.
 * CASE together: a handler that does nothing starts whenever a sample is due. It must get no time.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "tests/targets/spin.h"

static volatile unsigned units;
static volatile sig_atomic_t caught;

BOX static void normal(void)
{
	spin(units);
	KEEP_FRAME();
}

BOX static void in_handler(void)
{
	spin(2 * units);
	KEEP_FRAME();
}

static void work(int number)
{
	(void)number;
	in_handler();
	KEEP_FRAME();
}

static void count(int number)
{
	(void)number;
	caught++;
}

static void set_handler(void (*handler)(int), size_t bytes)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = bytes ? SA_ONSTACK : 0};
	stack_t stack = {.ss_sp = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		.ss_size = bytes};

	if (bytes)
		sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

/* Read the clock once for many turns, so that reading it takes almost no time. */
static void shares(uint64_t limit_ns)
{
	uint64_t start_ns = cpu_ns(), used_ns;

	do {
		for (int turn = 0; turn < 16; turn++) {
			units = spin_random(20, 200);
			normal();
			raise(SIGUSR1);
		}
		used_ns = cpu_ns() - start_ns;
	} while (used_ns < limit_ns);
	tell("in_handler", used_ns / 3 * 2);
	tell("normal", used_ns / 3);
}

static uint64_t change_mask(int how, uint64_t set)
{
	uint64_t before = 0;

	arch_syscall4(SYS_rt_sigprocmask, how, &set, &before, sizeof(set));
	return before;
}

/*
 * Block both signals until the kernel reports that the sampling signal is pending, then unblock
 * both.
 */
static void together(uint64_t limit_ns)
{
	uint64_t both = 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGVTALRM - 1);

	while (cpu_ns() < limit_ns) {
		uint64_t pending = 0;

		change_mask(SIG_BLOCK, both);
		/*
		 * Count turns instead of reading the clock; spin_until() says why. If no sampler
		 * runs, the loop ends after 100 ms.
		 */
		for (int i = 0; i < 1000 && !(pending & 1ULL << (SIGVTALRM - 1)); i++) {
			units = 4;
			normal();
			syscall(SYS_rt_sigpending, &pending, sizeof(pending));
		}
		raise(SIGUSR1);
		change_mask(SIG_UNBLOCK, both);
	}
	printf("caught %d\n", caught);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 3, 4000) * 1000000ULL;
	int is_shares = argc > 2 && !strcmp(argv[1], "shares");

	set_handler(is_shares ? work : count, argument(argc, argv, 2, 0));
	if (is_shares)
		shares(limit_ns);
	else
		together(limit_ns);
	return 0;
}
