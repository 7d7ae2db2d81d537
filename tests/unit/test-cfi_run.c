/* SPDX-License-Identifier: MIT */
/*
 * Execute every call-frame instruction on an FDE made by hand, and check the resulting unwind row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprof/unwind/cfi_run.h"
#include "tests/unit/cfi-image.h"

#define SP ARCH_DWARF_SP
#define FP ARCH_DWARF_FP
#define RA ARCH_DWARF_RA

static struct image image;
static struct unwind_module module;
static unsigned a, b; /* two preserved registers other than FP */

/*
 * Make an FDE with the initial rules: CFA = SP + 8, return address at CFA - 8, register b in
 * register 0.
 */
static void one_fde(const uint8_t *program, unsigned bytes)
{
	static const uint8_t relative[] = {CFI_PTR_PCREL | CFI_PTR_SDATA4};
	uint8_t initial[] = {CFI_DEF_CFA, SP, 8, CFI_OFFSET_EXTENDED, RA, 1, CFI_REGISTER,
		(uint8_t)b, 0};
	struct image_cie cie = {
		.version = 1,
		.augmentation = "zR",
		.augmentation_data = relative,
		.augmentation_bytes = 1,
		.encoding = relative[0],
		.code_align = 2,
		.data_align = -8,
		.ra_reg = RA,
		.program = initial,
		.program_bytes = sizeof(initial),
	};

	image_init(&image);
	image_fde(&image, image_cie(&image, &cie), &cie, 0, 0x2000, program, bytes);
	module = image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);
}

static int setup(void **state)
{
	(void)state;
	a = arch_cfi_reg(0);
	b = arch_cfi_reg(3);
	return 0;
}

static int run(const uint8_t *program, unsigned bytes, uint32_t offset, struct cfi_row *row)
{
	one_fde(program, bytes);
	return cfi_find_row(&module, image_pc(&image, offset), row);
}

#define RUN(row, offset, ...)                                                                      \
	({                                                                                         \
		const uint8_t program_[] = {__VA_ARGS__};                                          \
		run(program_, sizeof(program_), offset, row);                                      \
	})

static int32_t rule(const struct cfi_row *row, unsigned reg)
{
	return row->rules.register_rule[arch_cfi_slot(reg)];
}

static void check_rule(
	const struct cfi_row *row, unsigned reg, enum cfi_rule_kind kind, int32_t value)
{
	assert_int_equal(cfi_rule_kind(rule(row, reg)), kind);
	assert_int_equal(cfi_rule_value(rule(row, reg)), value);
}

static void check_cfa(const struct cfi_row *row, unsigned reg, int32_t offset)
{
	assert_false(row->rules.cfa_expression);
	assert_int_equal(row->rules.cfa_reg, reg);
	assert_int_equal(row->rules.cfa_value, offset);
}

static void test_initial_row(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(RUN(&row, 0, CFI_NOP), 0);
	check_cfa(&row, SP, 8);
	check_rule(&row, RA, CFI_RULE_OFFSET, -8);
	check_rule(&row, b, CFI_RULE_REGISTER, 0);
	check_rule(&row, a, CFI_RULE_NONE, 0);
	assert_int_equal(row.ra_slot, arch_cfi_slot(RA));
	assert_false(row.signal);
}

static void test_cfa_instructions(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_OFFSET, 0x90, 0x01), 0);
	check_cfa(&row, SP, 0x90);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_REGISTER, FP), 0);
	check_cfa(&row, FP, 8);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA, FP, 16), 0);
	check_cfa(&row, FP, 16);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_SF, FP, 0x7e), 0);
	check_cfa(&row, FP, 16);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_OFFSET_SF, 0x7d), 0);
	check_cfa(&row, SP, 24);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 2, 0x31, 0x96), 0);
	assert_true(row.rules.cfa_expression);
	assert_int_equal(((const uint8_t *)row.base)[row.rules.cfa_value], 2);
	assert_int_equal(((const uint8_t *)row.base)[row.rules.cfa_value + 1], 0x31);
	/* A later DW_CFA_def_cfa replaces the expression for the CFA. */
	assert_int_equal(
		RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 1, 0x31, CFI_DEF_CFA, FP, 32), 0);
	check_cfa(&row, FP, 32);
}

static void test_register_instructions(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(RUN(&row, 0, CFI_OFFSET | FP, 2), 0);
	check_rule(&row, FP, CFI_RULE_OFFSET, -16);
	assert_int_equal(RUN(&row, 0, CFI_OFFSET_EXTENDED, (uint8_t)a, 3), 0);
	check_rule(&row, a, CFI_RULE_OFFSET, -24);
	assert_int_equal(RUN(&row, 0, CFI_OFFSET_EXTENDED_SF, (uint8_t)a, 0x7f), 0);
	check_rule(&row, a, CFI_RULE_OFFSET, 8);
	assert_int_equal(RUN(&row, 0, CFI_GNU_NEGATIVE_OFFSET_EXTENDED, (uint8_t)a, 4), 0);
	check_rule(&row, a, CFI_RULE_OFFSET, 32);
	assert_int_equal(RUN(&row, 0, CFI_VAL_OFFSET, (uint8_t)a, 5), 0);
	check_rule(&row, a, CFI_RULE_VAL_OFFSET, -40);
	assert_int_equal(RUN(&row, 0, CFI_VAL_OFFSET_SF, (uint8_t)a, 0x7e), 0);
	check_rule(&row, a, CFI_RULE_VAL_OFFSET, 16);
	assert_int_equal(RUN(&row, 0, CFI_REGISTER, (uint8_t)a, 9), 0);
	check_rule(&row, a, CFI_RULE_REGISTER, 9);
	assert_int_equal(RUN(&row, 0, CFI_UNDEFINED, RA), 0);
	check_rule(&row, RA, CFI_RULE_UNDEFINED, 0);
	assert_int_equal(RUN(&row, 0, CFI_SAME_VALUE, (uint8_t)b), 0);
	check_rule(&row, b, CFI_RULE_SAME, 0);
	assert_int_equal(RUN(&row, 0, CFI_EXPRESSION, (uint8_t)a, 1, 0x33), 0);
	assert_int_equal(cfi_rule_kind(rule(&row, a)), CFI_RULE_EXPRESSION);
	assert_int_equal(((const uint8_t *)row.base)[cfi_rule_value(rule(&row, a)) + 1], 0x33);
	assert_int_equal(RUN(&row, 0, CFI_VAL_EXPRESSION, (uint8_t)a, 1, 0x34), 0);
	assert_int_equal(cfi_rule_kind(rule(&row, a)), CFI_RULE_VAL_EXPRESSION);
	assert_int_equal(((const uint8_t *)row.base)[cfi_rule_value(rule(&row, a)) + 1], 0x34);
}

static void test_restoring(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(RUN(&row, 0, CFI_OFFSET_EXTENDED, (uint8_t)b, 3, CFI_OFFSET | FP, 2,
				 CFI_RESTORE | FP, CFI_RESTORE_EXTENDED, (uint8_t)b),
		0);
	check_rule(&row, FP, CFI_RULE_NONE, 0);
	check_rule(&row, b, CFI_RULE_REGISTER, 0);
}

static void test_locations(void **state)
{
	const uint8_t program[] = {
		CFI_ADVANCE_LOC | 1, CFI_DEF_CFA_OFFSET, 16,            /* from 2 */
		CFI_ADVANCE_LOC1, 4, CFI_DEF_CFA_OFFSET, 24,            /* from 10 */
		CFI_ADVANCE_LOC2, 0, 1, CFI_DEF_CFA_OFFSET, 32,         /* from 522 */
		CFI_ADVANCE_LOC4, 1, 0, 0, 0, CFI_DEF_CFA_OFFSET, 40,   /* from 524 */
		CFI_MIPS_ADVANCE_LOC8, 1, 0, 0, 0, 0, 0, 0, 0,          /* from 526 */
		CFI_DEF_CFA_OFFSET, 48, CFI_NOP, CFI_GNU_ARGS_SIZE, 11, /* no effect */
		CFI_AARCH64_NEGATE_RA_STATE, CFI_AARCH64_NEGATE_RA_STATE_WITH_PC};
	static const struct {
		uint32_t offset;
		int32_t cfa;
	} rows[] = {{0, 8}, {1, 8}, {2, 16}, {9, 16}, {10, 24}, {521, 24}, {522, 32}, {523, 32},
		{524, 40}, {525, 40}, {526, 48}, {0x1fff, 48}};
	struct cfi_row row;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(run(program, sizeof(program), rows[i].offset, &row), 0);
		check_cfa(&row, SP, rows[i].cfa);
	}
}

static void test_set_loc(void **state)
{
	uint8_t program[] = {CFI_SET_LOC, 0, 0, 0, 0, CFI_DEF_CFA_OFFSET, 16};
	struct cfi_row row;

	(void)state;
	one_fde(program, sizeof(program));

	/* The operand holds a distance from its own address to the new location. */
	uint32_t at = image.fde_at[0] + 17 + 1;
	int32_t distance = (int32_t)(IMAGE_CODE + 0x100 - at);

	memcpy(program + 1, &distance, 4);
	assert_int_equal(run(program, sizeof(program), 0xff, &row), 0);
	check_cfa(&row, SP, 8);
	assert_int_equal(run(program, sizeof(program), 0x100, &row), 0);
	check_cfa(&row, SP, 16);
}

static void test_remembering_nests(void **state)
{
	const uint8_t program[] = {
		CFI_REMEMBER_STATE, CFI_DEF_CFA_OFFSET, 16, CFI_OFFSET | FP, 2,
		CFI_REMEMBER_STATE, CFI_DEF_CFA, FP, 24,
		CFI_REMEMBER_STATE, CFI_DEF_CFA_OFFSET, 32,
		CFI_REMEMBER_STATE, CFI_DEF_CFA_EXPRESSION, 1, 0x31,
		CFI_ADVANCE_LOC | 1, CFI_RESTORE_STATE, /* from 2 */
		CFI_ADVANCE_LOC | 1, CFI_RESTORE_STATE, /* from 4 */
		CFI_ADVANCE_LOC | 1, CFI_RESTORE_STATE, /* from 6 */
		CFI_ADVANCE_LOC | 1, CFI_RESTORE_STATE}; /* from 8 */
	struct cfi_row row;

	(void)state;
	assert_int_equal(run(program, sizeof(program), 0, &row), 0);
	assert_true(row.rules.cfa_expression);
	assert_int_equal(run(program, sizeof(program), 2, &row), 0);
	check_cfa(&row, FP, 32);
	assert_int_equal(run(program, sizeof(program), 4, &row), 0);
	check_cfa(&row, FP, 24);
	check_rule(&row, FP, CFI_RULE_OFFSET, -16);
	assert_int_equal(run(program, sizeof(program), 6, &row), 0);
	check_cfa(&row, SP, 16);
	check_rule(&row, FP, CFI_RULE_OFFSET, -16);
	assert_int_equal(run(program, sizeof(program), 8, &row), 0);
	check_cfa(&row, SP, 8);
	check_rule(&row, FP, CFI_RULE_NONE, 0);
}

static void test_registers_without_a_slot_are_skipped(void **state)
{
	struct cfi_row row, plain;

	(void)state;
	assert_int_equal(RUN(&plain, 0, CFI_NOP), 0);
	assert_int_equal(RUN(&row, 0, CFI_OFFSET | 63, 2, CFI_OFFSET_EXTENDED, 0x80, 0x02, 3,
				 CFI_UNDEFINED, 0, CFI_SAME_VALUE, 96, CFI_EXPRESSION, 70, 1, 0x31),
		0);
	assert_memory_equal(row.rules.register_rule, plain.rules.register_rule,
		sizeof(row.rules.register_rule));
}

static void test_refused(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_int_equal(RUN(&row, 0, 0x3f), -ENOTSUP);
	assert_int_equal(RUN(&row, 0, CFI_RESTORE_STATE), -EBADMSG);
	assert_int_equal(RUN(&row, 0, CFI_REMEMBER_STATE, CFI_REMEMBER_STATE, CFI_REMEMBER_STATE,
				 CFI_REMEMBER_STATE, CFI_REMEMBER_STATE),
		-ENOTSUP);
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA, 100, 8), -ENOTSUP);
	/*
	 * Refuse offsets that are too large for a row, and an offset whose product with the
	 * alignment overflows.
	 */
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_OFFSET, 0x80, 0x80, 0x80, 0x80, 0x7f), -ENOTSUP);
	assert_int_equal(RUN(&row, 0, CFI_OFFSET | FP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				 0xff, 0x7f),
		-ENOTSUP);
	/*
	 * Refuse instructions that change only the CFA's register or offset while an expression
	 * defines the CFA.
	 */
	assert_int_equal(
		RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 1, 0x31, CFI_DEF_CFA_OFFSET, 8), -EBADMSG);
	assert_int_equal(
		RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 1, 0x31, CFI_DEF_CFA_OFFSET_SF, 8), -EBADMSG);
	assert_int_equal(
		RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 1, 0x31, CFI_DEF_CFA_REGISTER, FP), -EBADMSG);
	/*
	 * Refuse an expression that is longer than the FDE, and a LEB128 number that does not end.
	 */
	assert_int_equal(RUN(&row, 0, CFI_DEF_CFA_EXPRESSION, 100, 0x31), -EBADMSG);
	assert_int_equal(RUN(&row, 0, 0, 0, 0, 0, 0, CFI_DEF_CFA_OFFSET, 0x80), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_initial_row),
		cmocka_unit_test(test_cfa_instructions),
		cmocka_unit_test(test_register_instructions),
		cmocka_unit_test(test_restoring),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_set_loc),
		cmocka_unit_test(test_remembering_nests),
		cmocka_unit_test(test_registers_without_a_slot_are_skipped),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, (CMFixtureFunction)setup, NULL);
}
