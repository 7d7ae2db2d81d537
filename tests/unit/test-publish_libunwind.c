/* SPDX-License-Identifier: MIT */
/*
 * nongnu libunwind walks through stubs: from their targets, at every instruction of a stub, and
 * while regions are added and removed. This test is linked with libunwind.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "libprof/trampoline/region.h"
#include "tests/unit/chain-walk.h"
#include "tests/unit/trap-flag.h"

/* Walk from @ucontext, which a signal handler received; if it is NULL, walk from here. */
static struct seen walk_from(ucontext_t *ucontext)
{
	struct seen seen = {.next = CHAIN - 1};
	unw_context_t here;
	unw_cursor_t cursor;
	unw_word_t pc;
	int is_exact = ucontext != NULL;

	if (ucontext) {
		unw_init_local2(&cursor, (unw_context_t *)ucontext, UNW_INIT_SIGNAL_FRAME);
	} else {
		unw_getcontext(&here);
		unw_init_local(&cursor, &here);
	}
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		look(&seen, pc, is_exact);
		is_exact = 0;
	} while (unw_step(&cursor) > 0);
	return seen;
}

static int walk(void)
{
	last = walk_from(NULL);
	return 0;
}

static void test_from_targets(void **state)
{
	(void)state;
	chain_make();
	call_chain(learn_frames);
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_LIBUNWIND), 0);
	call_chain(walk);
	assert_true(is_complete(&last));
}

/* Walk from the functions that intercept stubs call, and from the tick check. */
static void test_from_intercepts(void **state)
{
	chain_function *before[CHAIN];

	(void)state;
	memcpy(before, chain_stub, sizeof(before));
	chain_make_intercepts();
	for (int checked = 0; checked < 2; checked++) {
		chain_in_check = checked ? learn_frames : NULL;
		call_chain(learn_frames);
		last = (struct seen){0};
		call_chain(walk);
		assert_true(is_complete(&last));
	}
	chain_in_check = NULL;
	memcpy(chain_stub, before, sizeof(before));
	call_chain(learn_frames);
}

/* only on x86 can user code set the trap flag */
#if defined(REG_EFL)

static volatile unsigned steps, steps_complete;
static uintptr_t stub_start, stub_end;

static void on_step(int number, siginfo_t *info, void *argument)
{
	const ucontext_t *context = argument;
	uintptr_t pc = context->uc_mcontext.gregs[REG_RIP];
	struct seen seen;

	(void)number;
	(void)info;
	if (pc < stub_start || pc >= stub_end)
		return;
	steps++;
	seen = walk_from(argument);
	steps_complete += is_complete(&seen);
}

static int leaf_nothing(void)
{
	return 0;
}

static void step_through_stub(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;

	steps = steps_complete = 0;
	stub_start = (uintptr_t)chain_stub[CHAIN - 1];
	stub_end = stub_start + region_find(stub_start)->code_bytes;
	sigaction(SIGTRAP, &action, &before);
	trap_flag_set();
	call_chain(leaf_nothing);
	trap_flag_clear();
	sigaction(SIGTRAP, &before, NULL);
	/* instructions: endbr, push, mov, push, sub, call, leave, ret */
	assert_int_equal(steps, 8);
}

/*
 * If the stub is not registered, libunwind finds its caller only by frame pointer, and only in the
 * stub's body.
 */
static void test_untold(void **state)
{
	(void)state;
	chain_make();
	call_chain(learn_frames);
	step_through_stub();
	assert_true(steps_complete < steps);
	chain_drop();
}

static void test_from_every_instruction(void **state)
{
	(void)state;
	step_through_stub();
	assert_int_equal(steps_complete, steps);
}

#endif

static int turning;

static void *walk_on(void *argument)
{
	(void)argument;
	while (__atomic_load_n(&turning, __ATOMIC_RELAXED))
		walk_from(NULL);
	return NULL;
}

/*
 * Add and remove regions and stubs while a thread unwinds, because libunwind unwinds without a
 * lock.
 */
static void test_ends_while_others_unwind(void **state)
{
	pthread_t thread;

	(void)state;
	turning = 1;
	assert_int_equal(pthread_create(&thread, NULL, walk_on, NULL), 0);
	for (unsigned i = 0; i < 300; i++) {
		chain_drop();
		chain_make();
		call_chain(walk);
		assert_true(is_complete(&last));
	}
	__atomic_store_n(&turning, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/*
 * The host's code is not registered if its call-frame information has another format or no table.
 */
static void test_code_of_the_host(void **state)
{
	static uint8_t code[64];

	(void)state;
	assert_int_equal(flameprof_code_add(code, sizeof(code), "mine", NULL), 0);
	assert_int_equal(flameprof_code_remove(code), 0);
	call_chain(walk);
	assert_true(is_complete(&last));
	chain_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(REG_EFL)
		cmocka_unit_test(test_untold),
#endif
		cmocka_unit_test(test_from_targets),
		cmocka_unit_test(test_from_intercepts),
#if defined(REG_EFL)
		cmocka_unit_test(test_from_every_instruction),
#endif
		cmocka_unit_test(test_ends_while_others_unwind),
		cmocka_unit_test(test_code_of_the_host),
	};

	return cmocka_run_group_tests_name("publish_libunwind", tests, NULL, NULL);
}
