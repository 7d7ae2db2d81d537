/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Step through generated code without call-frame information and through the function that it
 * calls. At each instruction the walk must be complete and must use no frame pointer.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/unwind-oracle.h"

/* only on x86 can user code set the trap flag */
#if defined(REG_EFL)

#include "tests/unit/trap-flag.h"

struct generated {
	uint8_t bytes[24];
	unsigned instructions;
};

static uint8_t *code;
static unsigned code_bytes;
static uintptr_t return_address;
static unsigned steps_inside, steps_below, wrong;

static void on_step(int number, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	bool is_inside = pc - (uintptr_t)code < code_bytes;
	struct oracle_stack stack;
	bool is_by_fp = false;

	(void)number;
	(void)info;
	if (pc == (uintptr_t)code)
		return_address = *(uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
	oracle_walk_core(context, &stack);
	for (unsigned i = 0; i < stack.frames; i++)
		is_by_fp |= stack.by_fp[i];
	if (stack.end != WIRE_END_ROOT || is_by_fp)
		wrong++;
	if (is_inside) {
		steps_inside++;
		wrong += stack.pc[1] != return_address - 1;
	} else if (stack.frames > 2 && stack.pc[1] - (uintptr_t)code < code_bytes) {
		steps_below++;
		wrong += stack.pc[2] != return_address - 1;
	}
}

static __attribute__((noinline)) void callee(void)
{
	volatile unsigned sum = 0, rounds = 10; /* not unrolled by a compiler */

	for (unsigned i = 0; i < rounds; i++)
		sum += i;
	(void)sum;
}

static void step_through(const struct generated *generated)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	void (*call)(void (*)(void), int, int, void (*)(void));

	code_bytes = sizeof(generated->bytes);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, generated->bytes, code_bytes);
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	memcpy(&call, &code, sizeof(call));
	oracle_learn_bounds();
	steps_inside = steps_below = wrong = 0;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	trap_flag_set();
	call(callee, 0, 0, callee);
	trap_flag_clear();
	munmap(code, 4096);
	assert_int_equal(wrong, 0);
	assert_int_equal(steps_inside, generated->instructions);
	assert_in_range(steps_below, 20, 1000);
}

static void test_trampolines(void **state)
{
	static const struct generated all[] = {
		/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
		{{0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3}, 4},
		/* endbr64; sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8,
			 0xc3},
			5},
		/* endbr64; push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3}, 6},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		step_through(&all[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trampolines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
