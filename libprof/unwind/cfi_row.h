/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: nothing but types and arithmetic. */
/*
 * A row of call-frame information: how the canonical frame address (CFA) is computed at one pc and
 * where each register of the caller is. cfi_run.h makes rows, full_step.h applies them,
 * compact_row.h is the eight-byte extract that most frames get by with.
 * Source: DWARF 5, section 6.4.1.
 */
#ifndef LIBPROF_UNWIND_CFI_ROW_H
#define LIBPROF_UNWIND_CFI_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"

enum cfi_rule_kind {
	CFI_RULE_NONE = 0, /* unmentioned: the value is still there */
	CFI_RULE_SAME,
	CFI_RULE_UNDEFINED,
	CFI_RULE_OFFSET,         /* saved at CFA + value */
	CFI_RULE_VAL_OFFSET,     /* is CFA + value */
	CFI_RULE_REGISTER,       /* in register number value */
	CFI_RULE_EXPRESSION,     /* saved at what the expression gives; value: see cfi_row.base */
	CFI_RULE_VAL_EXPRESSION, /* is what the expression gives */
};

/* A rule is kept in four bytes, for remembered rows lie on a signal handler's stack. */
#define CFI_RULE_VALUE_MAX 0x0fffffff

struct cfi_rules {
	int32_t register_rule[ARCH_CFI_SLOTS]; /* value * 8 + enum cfi_rule_kind */
	int32_t cfa_value; /* offset, or the expression's place as in cfi_row.base */
	uint16_t cfa_reg;
	bool cfa_expression;
};

struct cfi_row {
	struct cfi_rules rules;
	uintptr_t base; /* expressions (length, then bytes) lie at base + value */
	uint32_t ra_slot;
	bool signal;
};

static inline enum cfi_rule_kind cfi_rule_kind(int32_t rule)
{
	return (enum cfi_rule_kind)(rule & 7);
}

static inline int32_t cfi_rule_value(int32_t rule)
{
	return rule >> 3;
}

#endif
