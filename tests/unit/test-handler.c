/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * arch/handler.h: find the interrupted registers in a handler that interrupted another handler
 * before its first instruction.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/handler.h"

static struct arch_registers seen, interrupted;
static volatile int seen_begun, firsts;

static void first(int number)
{
	(void)number;
	firsts++;
}

/* Find what the signal interrupted, as the handler of the sampling signal does. */
static void second(int number, siginfo_t *info, void *context)
{
	uintptr_t ucontext;

	(void)number;
	(void)info;
	arch_registers_from_ucontext(&seen, context);
	ucontext = arch_handler_ucontext(&seen);
	seen_begun = ucontext != 0;
	if (ucontext)
		arch_registers_from_ucontext(&interrupted, (const void *)ucontext);
}

/*
 * Send both signals at once. The kernel enters the handler of the lower number first, and the other
 * handler before the first instruction of that one.
 */
static int send_both(void **state)
{
	const int flags = *(const int *)*state;
	uint64_t both = 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGUSR2 - 1);
	struct sigaction action = {.sa_handler = first, .sa_flags = flags};

	sigaction(SIGUSR1, &action, NULL);
	action = (struct sigaction){.sa_sigaction = second, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR2, &action, NULL);
	seen_begun = firsts = 0;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &both, NULL, sizeof(both));
	raise(SIGUSR1);
	raise(SIGUSR2);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &both, NULL, sizeof(both));
	assert_int_equal(firsts, 1);
	return seen_begun;
}

static void a_handler_that_has_just_begun(void **state)
{
	assert_true(send_both(state));
	assert_int_equal(seen.r[ARCH_DWARF_PC], (uintptr_t)first);
	for (unsigned i = 0; i < ARCH_DWARF_REGS; i++)
		if (!(ARCH_HANDLER_SETS >> i & 1))
			assert_int_equal(seen.r[i], interrupted.r[i]);
	/*
	 * The first signal interrupted a system call in an outer frame of this stack, so its
	 * registers are reported.
	 */
	assert_int_not_equal(interrupted.r[ARCH_DWARF_PC], seen.r[ARCH_DWARF_PC]);
	assert_in_range(interrupted.r[ARCH_DWARF_SP], seen.r[ARCH_DWARF_SP] + 512,
		(uintptr_t)__builtin_frame_address(0));
}

static void any_other_place(void **state)
{
	(void)state;
	raise(SIGUSR2);
	assert_false(seen_begun);
}

int main(void)
{
	static const int flags[] = {0, SA_SIGINFO};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(
			a_handler_that_has_just_begun, (void *)(uintptr_t)&flags[0]),
		cmocka_unit_test_prestate(
			a_handler_that_has_just_begun, (void *)(uintptr_t)&flags[1]),
		cmocka_unit_test(any_other_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
