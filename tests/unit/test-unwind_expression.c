/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Execute all operations of DWARF expressions in call-frame information. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprof/unwind/unwind.h"

/* Only the stack is readable. */
static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	(void)context;
	(void)address;
	(void)value;
	return -EFAULT;
}

#include "libprof/unwind/expression.h"

static uintptr_t stack_words[8];
static struct arch_registers registers;
static uint64_t known;

static int run(const uint8_t *bytes, size_t count, const uintptr_t *cfa, uintptr_t *result)
{
	struct unwind_memory memory = {
		.bounds = {(uintptr_t)stack_words, (uintptr_t)(stack_words + 8)}};
	struct expression_input input = {
		.registers = &registers, .known = known, .memory = &memory};
	struct cfi_bytes expression = {
		.at = (uintptr_t)bytes, .end = (uintptr_t)bytes + count};

	return expression_run(expression, &input, cfa, result);
}

static int setup(void **state)
{
	(void)state;
	known = ~0ULL;
	for (unsigned i = 0; i < 8; i++)
		stack_words[i] = 0x1122334455667700 + i;
	for (unsigned i = 0; i < ARCH_DWARF_REGS; i++)
		registers.r[i] = 1000 + i;
	registers.r[ARCH_DWARF_SP] = (uintptr_t)stack_words;
	return 0;
}

#define CHECK(value, ...)                                                                          \
	do {                                                                                       \
		const uint8_t bytes_[] = {__VA_ARGS__};                                            \
		uintptr_t result_ = 0xdead;                                                        \
		assert_int_equal(run(bytes_, sizeof(bytes_), NULL, &result_), 0);                  \
		assert_int_equal(result_, (uintptr_t)(value));                                     \
	} while (0)

#define REFUSED(error, ...)                                                                        \
	do {                                                                                       \
		const uint8_t bytes_[] = {__VA_ARGS__};                                            \
		uintptr_t result_ = 0xdead;                                                        \
		assert_int_equal(run(bytes_, sizeof(bytes_), NULL, &result_), error);              \
		assert_int_equal(result_, 0xdead);                                                 \
	} while (0)

#define LIT(n) (EXPRESSION_LIT0 + (n))

static void test_constants(void **state)
{
	(void)state;
	CHECK(0, LIT(0));
	CHECK(31, LIT(31));
	CHECK(0xff, EXPRESSION_CONST1U, 0xff);
	CHECK(-1, EXPRESSION_CONST1S, 0xff);
	CHECK(0xfffe, EXPRESSION_CONST2U, 0xfe, 0xff);
	CHECK(-2, EXPRESSION_CONST2S, 0xfe, 0xff);
	CHECK(0xfffffffd, EXPRESSION_CONST4U, 0xfd, 0xff, 0xff, 0xff);
	CHECK(-3, EXPRESSION_CONST4S, 0xfd, 0xff, 0xff, 0xff);
	CHECK(0x0807060504030201, EXPRESSION_CONST8U, 1, 2, 3, 4, 5, 6, 7, 8);
	CHECK(0x0807060504030201, EXPRESSION_CONST8S, 1, 2, 3, 4, 5, 6, 7, 8);
	CHECK(0x0807060504030201, EXPRESSION_ADDR, 1, 2, 3, 4, 5, 6, 7, 8);
	CHECK(624485, EXPRESSION_CONSTU, 0xe5, 0x8e, 0x26);
	CHECK(-123456, EXPRESSION_CONSTS, 0xc0, 0xbb, 0x78);
}

static void test_registers(void **state)
{
	(void)state;
	CHECK(1003 - 8, EXPRESSION_BREG0 + 3, 0x78);
	CHECK(1000 + ARCH_DWARF_PC + 16, EXPRESSION_BREGX, ARCH_DWARF_PC, 16);
	REFUSED(-ENOENT, EXPRESSION_BREGX, ARCH_DWARF_REGS, 0);
	known = ~(1ULL << 3);
	REFUSED(-ENOENT, EXPRESSION_BREG0 + 3, 0);
	CHECK(1004, EXPRESSION_BREG0 + 4, 0);
}

static void test_arithmetic(void **state)
{
	(void)state;
	CHECK(7, LIT(5), LIT(2), EXPRESSION_PLUS);
	CHECK(3, LIT(5), LIT(2), EXPRESSION_MINUS);
	CHECK(10, LIT(5), LIT(2), EXPRESSION_MUL);
	CHECK(2, LIT(5), LIT(2), EXPRESSION_DIV);
	CHECK(-2, EXPRESSION_CONST1S, 0xfb, LIT(2), EXPRESSION_DIV);
	CHECK(INTPTR_MIN, EXPRESSION_CONST8U, 0, 0, 0, 0, 0, 0, 0, 0x80, EXPRESSION_CONST1S, 0xff,
		EXPRESSION_DIV);
	CHECK(1, LIT(5), LIT(2), EXPRESSION_MOD);
	CHECK(4, LIT(6), LIT(12), EXPRESSION_AND);
	CHECK(14, LIT(6), LIT(12), EXPRESSION_OR);
	CHECK(10, LIT(6), LIT(12), EXPRESSION_XOR);
	CHECK(-5, LIT(5), EXPRESSION_NEG);
	CHECK(~5ULL, LIT(5), EXPRESSION_NOT);
	CHECK(5, EXPRESSION_CONST1S, 0xfb, EXPRESSION_ABS);
	CHECK(40, LIT(5), LIT(3), EXPRESSION_SHL);
	CHECK(0, LIT(5), EXPRESSION_CONST1U, 64, EXPRESSION_SHL);
	CHECK(2, LIT(17), LIT(3), EXPRESSION_SHR);
	CHECK(0, LIT(17), EXPRESSION_CONST1U, 64, EXPRESSION_SHR);
	CHECK(-3, EXPRESSION_CONST1S, 0xe8, LIT(3), EXPRESSION_SHRA);
	CHECK(-1, EXPRESSION_CONST1S, 0xe8, EXPRESSION_CONST1U, 200, EXPRESSION_SHRA);
	CHECK(305, LIT(5), EXPRESSION_PLUS_UCONST, 0xac, 0x02);
}

static void test_comparisons_are_signed(void **state)
{
	static const struct {
		uint8_t op;
		uint8_t less, equal, greater; /* results for -1 ? 1, 1 ? 1, 1 ? -1 */
	} rows[] = {{EXPRESSION_EQ, 0, 1, 0}, {EXPRESSION_NE, 1, 0, 1}, {EXPRESSION_LT, 1, 0, 0},
		{EXPRESSION_LE, 1, 1, 0}, {EXPRESSION_GT, 0, 0, 1}, {EXPRESSION_GE, 0, 1, 1}};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		CHECK(rows[i].less, EXPRESSION_CONST1S, 0xff, LIT(1), rows[i].op);
		CHECK(rows[i].equal, LIT(1), LIT(1), rows[i].op);
		CHECK(rows[i].greater, LIT(1), EXPRESSION_CONST1S, 0xff, rows[i].op);
	}
}

static void test_stack_operations(void **state)
{
	(void)state;
	CHECK(6, LIT(3), EXPRESSION_DUP, EXPRESSION_PLUS);
	CHECK(3, LIT(3), LIT(4), EXPRESSION_DROP);
	CHECK(3, LIT(3), LIT(4), EXPRESSION_OVER);
	CHECK(3, LIT(3), LIT(4), LIT(5), EXPRESSION_PICK, 2);
	CHECK(3, LIT(3), LIT(4), EXPRESSION_SWAP);
	/* DW_OP_rot moves the top to the third position: 1 2 3 becomes 3 1 2. */
	CHECK(2, LIT(1), LIT(2), LIT(3), EXPRESSION_ROT);
	CHECK(1, LIT(1), LIT(2), LIT(3), EXPRESSION_ROT, EXPRESSION_DROP);
	CHECK(3, LIT(1), LIT(2), LIT(3), EXPRESSION_ROT, EXPRESSION_DROP, EXPRESSION_DROP);
	CHECK(5, LIT(5), EXPRESSION_NOP);
}

static void test_branches_go_forward(void **state)
{
	(void)state;
	CHECK(1, LIT(1), EXPRESSION_SKIP, 1, 0, LIT(2));
	CHECK(2, LIT(1), LIT(0), EXPRESSION_BRA, 1, 0, LIT(2));
	CHECK(1, LIT(1), LIT(1), EXPRESSION_BRA, 1, 0, LIT(2));
	REFUSED(-ENOTSUP, LIT(1), EXPRESSION_SKIP, 0xfc, 0xff);
	REFUSED(-EBADMSG, LIT(1), EXPRESSION_SKIP, 9, 0);
	REFUSED(-EBADMSG, EXPRESSION_BRA, 0, 0);
}

static void test_memory(void **state)
{
	(void)state;
	CHECK(0x1122334455667701, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF);
	CHECK(0x55667701, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF_SIZE, 4);
	CHECK(0x01, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF_SIZE, 1);
	CHECK(0x1122334455667701, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF_SIZE, 8);
	REFUSED(-EFAULT, LIT(8), EXPRESSION_DEREF);
	REFUSED(-EBADMSG, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF_SIZE, 9);
	REFUSED(-EBADMSG, EXPRESSION_BREG0 + ARCH_DWARF_SP, 8, EXPRESSION_DEREF_SIZE, 0);
	/* The last word of the stack can be read, a word one byte further cannot. */
	CHECK(0x1122334455667707, EXPRESSION_BREG0 + ARCH_DWARF_SP, 56, EXPRESSION_DEREF);
	REFUSED(-EFAULT, EXPRESSION_BREG0 + ARCH_DWARF_SP, 57, EXPRESSION_DEREF);
}

static void test_the_cfa_comes_first(void **state)
{
	const uint8_t bytes[] = {EXPRESSION_PLUS_UCONST, 8};
	uintptr_t cfa = 0x5000, result;

	(void)state;
	assert_int_equal(run(bytes, sizeof(bytes), &cfa, &result), 0);
	assert_int_equal(result, 0x5008);
	assert_int_equal(run(bytes, sizeof(bytes), NULL, &result), -ENOTSUP);
}

static void test_refused(void **state)
{
	uint8_t full[EXPRESSION_DEPTH + 1];
	uintptr_t result;

	(void)state;
	REFUSED(-EBADMSG, EXPRESSION_NOP);                           /* empty stack */
	REFUSED(-EBADMSG, LIT(1), LIT(0), EXPRESSION_DIV);
	REFUSED(-EBADMSG, LIT(1), LIT(0), EXPRESSION_MOD);
	REFUSED(-ENOTSUP, LIT(1), EXPRESSION_PLUS);                  /* one operand */
	REFUSED(-ENOTSUP, EXPRESSION_DUP);
	REFUSED(-EBADMSG, LIT(1), EXPRESSION_SWAP);
	REFUSED(-EBADMSG, LIT(1), LIT(2), EXPRESSION_ROT);
	REFUSED(-EBADMSG, LIT(1), EXPRESSION_OVER);
	REFUSED(-EBADMSG, LIT(1), EXPRESSION_PICK, 1);
	REFUSED(-ENOTSUP, LIT(1), LIT(2), 0x9c);                     /* call_frame_cfa */
	REFUSED(-EBADMSG, EXPRESSION_CONST8U, 1, 2, 3);              /* cut off */
	for (unsigned i = 0; i <= EXPRESSION_DEPTH; i++)
		full[i] = LIT(1);
	assert_int_equal(run(full, EXPRESSION_DEPTH, NULL, &result), 0);
	assert_int_equal(run(full, EXPRESSION_DEPTH + 1, NULL, &result), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_constants, setup),
		cmocka_unit_test_setup(test_registers, setup),
		cmocka_unit_test_setup(test_arithmetic, setup),
		cmocka_unit_test_setup(test_comparisons_are_signed, setup),
		cmocka_unit_test_setup(test_stack_operations, setup),
		cmocka_unit_test_setup(test_branches_go_forward, setup),
		cmocka_unit_test_setup(test_memory, setup),
		cmocka_unit_test_setup(test_the_cfa_comes_first, setup),
		cmocka_unit_test_setup(test_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
