/* SPDX-License-Identifier: MIT */
/*
 * coroutines MILLISECONDS: main() runs two coroutines in turns, the second for three times as long.
 * context_body -> context_work runs on a stack made by makecontext(). made_body -> made_work runs
 * on a stack made by hand, as coroutine libraries make it: its only return address is the start of
 * made_ended(), which no code calls and which never runs. never_called() lies right before
 * made_ended().
 * The program prints the CPU time of context_work and made_work; main has almost none.
 */
#include <ucontext.h>

#include "tests/targets/spin.h"

#define STACK_WORDS 8192

void made_ended(void);

__asm__(".pushsection .text.coroutines, \"ax\", %progbits\n"
	".globl never_called, made_ended\n"
	".type never_called, %function\n"
	"never_called: .cfi_startproc\n ret\n .cfi_endproc\n .size never_called, . - never_called\n"
	".type made_ended, %function\n"
	"made_ended: .cfi_startproc\n nop\n ret\n .cfi_endproc\n .size made_ended, . - made_ended\n"
	".popsection");

static ucontext_t main_context, context, made;
static uintptr_t stacks[2][STACK_WORDS] __attribute__((aligned(16)));
static uint64_t work_ns[2];

__attribute__((always_inline)) static inline void work(unsigned which)
{
	uint64_t begin_ns = cpu_ns();

	spin(spin_random(100, 300) * (1 + 2 * which));
	work_ns[which] += cpu_ns() - begin_ns;
}

BOX static void context_work(void)
{
	work(0);
	KEEP_FRAME();
}

BOX static void made_work(void)
{
	work(1);
	KEEP_FRAME();
}

static void context_body(void)
{
	for (;;) {
		context_work();
		swapcontext(&context, &main_context);
	}
}

static void made_body(void)
{
	for (;;) {
		made_work();
		swapcontext(&made, &main_context);
	}
}

static void make_by_hand(void)
{
	/* The stack pointer is aligned as after the call of a function. */
	uintptr_t *sp = stacks[1] + STACK_WORDS - 3;

	*sp = (uintptr_t)made_ended;
	getcontext(&made);
#if defined(__x86_64__)
	made.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	made.uc_mcontext.gregs[REG_RIP] = (greg_t)made_body;
#elif defined(__aarch64__)
	made.uc_mcontext.sp = (uintptr_t)(sp - 1);
	made.uc_mcontext.regs[30] = *sp;
	made.uc_mcontext.pc = (uintptr_t)made_body;
#endif
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;

	getcontext(&context);
	context.uc_stack.ss_sp = stacks[0];
	context.uc_stack.ss_size = sizeof(stacks[0]);
	context.uc_link = &main_context;
	makecontext(&context, context_body, 0);
	make_by_hand();
	while (cpu_ns() < limit_ns) {
		swapcontext(&main_context, &context);
		swapcontext(&main_context, &made);
	}
	tell("context_work", work_ns[0]);
	tell("made_work", work_ns[1]);
	return 0;
}
