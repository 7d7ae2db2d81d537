/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Unwind at every instruction of stubs on CPUs without a trap flag. A small interpreter executes
 * the instructions, which also checks that their encodings agree with their comments. After each
 * instruction the unwinding core must find the caller and its registers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"
#include "libprof/trampoline/region.h"

#define UNWIND_READ(context, address, value) \
	((void)(context), (void)(address), (void)(value), -EFAULT)
#define UNWIND_FIND_MODULE(context, pc, out) ((void)(context), region_resolve(pc, 0, out))
#include "libprof/unwind/unwind_core.h"

#if ARCH_DWARF_FP == 29 /* aarch64's instructions */

/* return address of the stub; it is in no module */
#define CALLER  0x5550000000010000u
#define FP      29
#define LR      30
#define SP      31
#define PAYLOAD 0x1234567812345678u

struct machine {
	uint64_t x[32]; /* x31 is sp */
	uintptr_t pc;
	int called;  /* the target was called */
	/* arch_intercept_slow() was called */
	int checked;
	int returned;
};

static struct machine machine;
static uint64_t stack[512];
static uint64_t arguments[20];
static unsigned integers_expected, words_expected;
static int bound;

static void target(void)
{
}

static uint32_t field(uint32_t instruction, unsigned low, unsigned bits)
{
	return instruction >> low & ((1u << bits) - 1);
}

static int64_t signed_field(uint32_t instruction, unsigned low, unsigned bits)
{
	int64_t value = field(instruction, low, bits);

	return value & 1LL << (bits - 1) ? value - (1LL << bits) : value;
}

static uint64_t *word_at(uint64_t address)
{
	uintptr_t at = (uintptr_t)address;

	assert_int_equal(at % 8, 0);
	assert_true(at >= (uintptr_t)stack && at < (uintptr_t)(stack + 512));
	return (uint64_t *)at;
}

/*
 * Check the arguments that the target gets, then overwrite all registers that a function may
 * overwrite.
 */
static void call_target(void)
{
	unsigned from = bound ? 0 : 1;

	assert_int_equal(machine.x[SP] % 16, 0);
	for (unsigned i = 0; i < 8 && i < integers_expected; i++)
		assert_int_equal(machine.x[i], i + from ? arguments[i + from - 1] : PAYLOAD);
	for (unsigned i = 0; i < words_expected; i++)
		assert_int_equal(*word_at(machine.x[SP] + 8 * i), arguments[7 + i + from]);
	assert_int_equal(machine.x[8], 0x888);
	for (unsigned i = 0; i <= 18; i++)
		machine.x[i] = 0xdead000 + i;
	machine.x[0] = 42;
	machine.called = 1;
}

/*
 * In place of arch_intercept_slow(): check that the original has returned and that a tick is due.
 */
static void call_slow(void)
{
	assert_true(machine.called && flameprof_interrupt_ticks);
	assert_int_equal(machine.x[0], 42);
	assert_int_equal(machine.x[SP] % 16, 0);
	machine.checked = 1;
}

static void call_function(uint64_t function)
{
	if (function == (uintptr_t)arch_intercept_slow) {
		call_slow();
		return;
	}
	assert_int_equal(function, (uintptr_t)target);
	call_target();
}

/*
 * Execute an instruction of an intercept stub's check. Returns 0 if @code is another instruction.
 */
static int run_one_of_the_check(uint32_t code)
{
	uint64_t *x = machine.x;

	if ((code & 0xffe00000) == 0xd2800000) { /* mov a, #number */
		x[field(code, 0, 5)] = field(code, 5, 16);
	} else if ((code & 0xffe00000) == 0xf2a00000) { /* movk a, #number, lsl #16 */
		x[field(code, 0, 5)] = (x[field(code, 0, 5)] & ~0xffff0000ULL) |
				       (uint64_t)field(code, 5, 16) << 16;
	} else if ((code & 0xffffffe0) == 0xd53bd040) { /* mrs a, tpidr_el0 */
		x[field(code, 0, 5)] = (uintptr_t)__builtin_thread_pointer();
	} else if ((code & 0xffe0fc00) == 0xb8606800) { /* ldr w(a), [n, m] */
		assert_int_equal(x[field(code, 5, 5)] + x[field(code, 16, 5)],
			(uintptr_t)&flameprof_interrupt_ticks);
		x[field(code, 0, 5)] = flameprof_interrupt_ticks;
	} else if ((code & 0xff000000) == 0x34000000) { /* cbz w(a), label */
		if (!(uint32_t)x[field(code, 0, 5)])
			machine.pc += (uintptr_t)(4 * signed_field(code, 5, 19) - 4);
	} else {
		return 0;
	}
	return 1;
}

/* Run one instruction of a stub. */
static void run_one(void)
{
	uint32_t code;
	uint64_t *x = machine.x;

	memcpy(&code, (const void *)machine.pc, sizeof(code));
	machine.pc += 4;
	if (code == 0xd503245f) {
		/* bti c */
	} else if ((code & 0xffc00000) == 0xa9800000) { /* stp a, b, [n, #offset]! */
		x[field(code, 5, 5)] += (uint64_t)(8 * signed_field(code, 15, 7));
		*word_at(x[field(code, 5, 5)]) = x[field(code, 0, 5)];
		*word_at(x[field(code, 5, 5)] + 8) = x[field(code, 10, 5)];
	} else if ((code & 0xffc00000) == 0xa8c00000) { /* ldp a, b, [n], #offset */
		uint64_t base = x[field(code, 5, 5)];

		x[field(code, 0, 5)] = *word_at(base);
		x[field(code, 10, 5)] = *word_at(base + 8);
		x[field(code, 5, 5)] += (uint64_t)(8 * signed_field(code, 15, 7));
	} else if ((code & 0xff800000) == 0x91000000) { /* add a, n, #number: mov to and from sp */
		x[field(code, 0, 5)] = x[field(code, 5, 5)] + field(code, 10, 12);
	} else if ((code & 0xff800000) == 0xd1000000) { /* sub a, n, #number */
		x[field(code, 0, 5)] = x[field(code, 5, 5)] - field(code, 10, 12);
	} else if ((code & 0xff000000) == 0x58000000) { /* ldr a, literal */
		uintptr_t at = machine.pc - 4 + (uintptr_t)(4 * signed_field(code, 5, 19));

		assert_int_equal(at % 8, 0);
		memcpy(&x[field(code, 0, 5)], (const void *)at, 8);
	} else if ((code & 0xffc00000) == 0xf9000000) { /* str a, [n, #offset] */
		*word_at(x[field(code, 5, 5)] + 8 * field(code, 10, 12)) = x[field(code, 0, 5)];
	} else if ((code & 0xffc00000) == 0xf9400000) { /* ldr a, [n, #offset] */
		x[field(code, 0, 5)] = *word_at(x[field(code, 5, 5)] + 8 * field(code, 10, 12));
	} else if ((code & 0xffe0ffe0) == 0xaa0003e0) { /* mov a, b */
		x[field(code, 0, 5)] = x[field(code, 16, 5)];
	} else if ((code & 0xfffffc1f) == 0xd63f0000) { /* blr n */
		x[LR] = machine.pc;
		call_function(x[field(code, 5, 5)]);
	} else if (code == 0xd65f03c0) { /* ret */
		machine.pc = x[LR];
		machine.returned = 1;
	} else if (!run_one_of_the_check(code)) {
		fail_msg("%#x is no instruction of stubs", code);
	}
}

/* Check that a walk finds two frames: the stub, and the stub's caller with its registers. */
static void check_state(const struct machine *start)
{
	struct unwind_bounds bounds = {(uintptr_t)stack, (uintptr_t)(stack + 512)};
	struct unwind_walk walk = {.known = ~0ULL, .exact = true};

	memcpy(walk.registers.r, machine.x, sizeof(machine.x));
	walk.registers.r[ARCH_DWARF_PC] = machine.pc;
	walk.memory.bounds = bounds;
	unwind_enter_module(&walk, machine.pc);
	assert_int_equal(walk.module.number, WIRE_MODULE_CODE);
	assert_int_equal(unwind_step(&walk, unwind_row(&walk, machine.pc)), 0);
	assert_int_equal(walk.registers.r[ARCH_DWARF_PC], CALLER & 0xffffffffffffu);
	assert_int_equal(walk.registers.r[SP], start->x[SP]);
	assert_int_equal(walk.registers.r[FP], start->x[FP]);
	assert_false(walk.by_fp);
}

static unsigned run_code(flameprof_function *stub)
{
	struct machine start;
	unsigned instructions = 0;

	memset(&machine, 0, sizeof(machine));
	machine.pc = (uintptr_t)stub;
	for (unsigned i = 0; i < 20; i++)
		arguments[i] = 100 + i;
	for (unsigned i = 0; i < 31; i++)
		machine.x[i] = i < 8 ? arguments[i] : 0x111 * i;
	machine.x[LR] = CALLER;
	machine.x[SP] = (uintptr_t)(stack + 300);
	machine.x[FP] = (uintptr_t)(stack + 400);
	for (unsigned i = 0; i < 12; i++)
		stack[300 + i] = arguments[8 + i];
	start = machine;
	for (; !machine.returned; instructions++) {
		check_state(&start);
		run_one();
	}
	assert_true(machine.called);
	assert_int_equal(machine.pc, CALLER);
	assert_int_equal(machine.x[0], 42);
	/* Registers 19 to 31 except LR must have their values from before the call. */
	for (unsigned i = 19; i < 32; i++)
		if (i != LR)
			assert_int_equal(machine.x[i], start.x[i]);
	return instructions;
}

static unsigned run_stub(enum flameprof_stub_kind kind, struct flameprof_signature signature)
{
	struct flameprof_arena *arena;
	unsigned instructions;

	bound = kind == FLAMEPROF_STUB_BIND;
	assert_int_equal(flameprof_arena_new(&arena, kind, target, &signature), 0);
	instructions = run_code(flameprof_stub_new(arena, "s", PAYLOAD));
	flameprof_arena_free(arena);
	return instructions;
}

static unsigned run_intercept(uint32_t ticks)
{
	struct flameprof_signature signature = {.stack_words = words_expected};
	unsigned instructions;

	bound = 0;
	flameprof_interrupt_ticks = ticks;
	instructions = run_code(flameprof_intercept(target, "s", &signature));
	assert_int_equal(machine.checked, ticks != 0);
	flameprof_interrupt_ticks = 0;
	return instructions;
}

static void test_intercepts(void **state)
{
	(void)state;
	integers_expected = 8;
	words_expected = 0;
	assert_int_equal(run_intercept(0), 14);
	assert_int_equal(run_intercept(1), 16);
	for (words_expected = 1; words_expected <= 12; words_expected++) {
		assert_int_equal(run_intercept(0), 16 + 2 * words_expected);
		assert_int_equal(run_intercept(1u << 31), 18 + 2 * words_expected);
	}
}

static void test_every_shape(void **state)
{
	(void)state;
	integers_expected = 8;
	words_expected = 0;
	assert_int_equal(run_stub(FLAMEPROF_STUB_CALL, (struct flameprof_signature){0}), 9);
	for (words_expected = 1; words_expected <= 12; words_expected++) {
		struct flameprof_signature words = {.stack_words = words_expected};

		assert_int_equal(run_stub(FLAMEPROF_STUB_CALL, words), 11 + 2 * words_expected);
	}
	words_expected = 0;
	assert_int_equal(run_stub(FLAMEPROF_STUB_BIND, (struct flameprof_signature){0}), 9 + 8);
	integers_expected = 3;
	assert_int_equal(run_stub(FLAMEPROF_STUB_BIND,
				 (struct flameprof_signature){.integer_arguments = 3}),
		9 + 3);
	/*
	 * Two words of arguments are on the stack. Inserting the payload moved the last register
	 * argument to the first word. The second word is the first one that the caller pushed.
	 */
	integers_expected = 8;
	words_expected = 2;
	assert_int_equal(run_stub(FLAMEPROF_STUB_BIND, (struct flameprof_signature){
							       .integer_arguments = 10,
							       .stack_words = 2,
						       }),
		11 + 2 + 1 + 8);
}

#else

/* On CPUs with a trap flag, test-stub_singlestep.c tests this with the real instructions. */
static void test_every_shape(void **state)
{
	struct unwind_walk walk;

	(void)state;
	(void)walk;
	(void)unwind_walk;
	skip();
}

static void test_intercepts(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shape),
		cmocka_unit_test(test_intercepts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
