/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads of the module's own mapped bytes, bounds-checked. */
/*
 * Execute the call-frame instructions of a CIE and an FDE up to a pc. The result is a row: how to
 * find the caller from this pc. cfi.h finds the FDE.
 * Source: DWARF 5, section 6.4.2; instructions specific to .eh_frame: LSB Core, "DWARF Extensions".
 */
#ifndef LIBPROF_UNWIND_CFI_RUN_H
#define LIBPROF_UNWIND_CFI_RUN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "libprof/unwind/cfi.h"
#include "libprof/unwind/dwarf.h"
#include "libprof/unwind/unwind.h"

/* ---- a row ----------------------------------------------------------------------------------- */
/*
 * A row of call-frame information says how to compute the canonical frame address (CFA) at one pc,
 * and where each register of the caller is saved. This file makes rows, unwind_core.h steps by
 * them, and compact_row.h packs a row into eight bytes, which is enough for most frames.
 * Source: DWARF 5, section 6.4.1.
 */

enum cfi_rule_kind {
	/* No instruction mentions the register, so it is unchanged. */
	CFI_RULE_NONE = 0,
	CFI_RULE_SAME,
	CFI_RULE_UNDEFINED,
	CFI_RULE_OFFSET,         /* saved at CFA + value */
	CFI_RULE_VAL_OFFSET,     /* the register is CFA + value */
	CFI_RULE_REGISTER,       /* saved in register number `value` */
	/* The register is saved where an expression says; value: see cfi_row.base. */
	CFI_RULE_EXPRESSION,
	/* The register's value is the result of an expression. */
	CFI_RULE_VAL_EXPRESSION,
};

/* A rule has only four bytes, because remembered rows lie on the stack of a signal handler. */
#define CFI_RULE_VALUE_MAX 0x0fffffff

struct cfi_rules {
	int32_t register_rule[ARCH_CFI_SLOTS]; /* value * 8 + enum cfi_rule_kind */
	/* If cfa_expression, the expression's offset from cfi_row.base; otherwise CFA - cfa_reg. */
	int32_t cfa_value;
	uint16_t cfa_reg;
	bool cfa_expression;
};

struct cfi_row {
	struct cfi_rules rules;
	/* An expression (its length, then its bytes) is at `base` + the rule's value. */
	uintptr_t base;
	/* The address after the last byte of the function's code. */
	uintptr_t end;
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

/* ---- running instructions -------------------------------------------------------------------- */

/* Levels of DW_CFA_remember_state that can be nested. Compilers use only one. */
#define CFI_REMEMBER_DEPTH 4

struct cfi_machine {
	const struct unwind_module *module;
	const struct cfi_fde *fde;
	struct cfi_bytes program;
	uintptr_t pc;       /* make the row for this pc */
	uintptr_t location; /* first pc of the current row */
	struct cfi_rules *current;
	/* The rules that the CIE sets. DW_CFA_restore sets a register's rule back to them. */
	struct cfi_rules initial;
	struct cfi_rules remembered[CFI_REMEMBER_DEPTH];
	unsigned remembers;
	bool initial_done;
};

/* Set the rule of @reg, unless no slot is kept for it. Returns 0; -ENOTSUP: @value is too large. */
static inline int cfi_set_rule(
	struct cfi_machine *machine, uint64_t reg, enum cfi_rule_kind kind, int64_t value)
{
	unsigned slot = reg < ARCH_DWARF_REGS ? arch_cfi_slot((unsigned)reg) : ARCH_CFI_SLOTS;

	if (value > CFI_RULE_VALUE_MAX || value < -CFI_RULE_VALUE_MAX)
		return -ENOTSUP;
	if (slot < ARCH_CFI_SLOTS)
		machine->current->register_rule[slot] = (int32_t)(value * 8 + kind);
	return 0;
}

static inline int cfi_set_cfa_offset(struct cfi_machine *machine, int64_t offset)
{
	if (offset > CFI_RULE_VALUE_MAX || offset < -CFI_RULE_VALUE_MAX)
		return -ENOTSUP;
	machine->current->cfa_value = (int32_t)offset;
	return 0;
}

static inline int cfi_set_cfa_reg(struct cfi_machine *machine, uint64_t reg)
{
	if (reg >= ARCH_DWARF_REGS)
		return -ENOTSUP;
	machine->current->cfa_reg = (uint16_t)reg;
	machine->current->cfa_expression = false;
	return 0;
}

/* Returns @factor times the data alignment; on overflow, a value too large for any rule. */
static inline int64_t cfi_factored(const struct cfi_machine *machine, int64_t factor)
{
	int64_t product;

	if (__builtin_mul_overflow(factor, machine->fde->cie.data_align, &product))
		return INT64_MAX;
	return product;
}

/* Skip the expression at the current position. Returns its offset from the FDE's address. */
static inline int64_t cfi_read_expression(struct cfi_machine *machine)
{
	int64_t offset = (int64_t)(machine->program.at - machine->fde->record);

	cfi_skip(&machine->program, cfi_uleb(&machine->program));
	return offset;
}

static inline int cfi_restore_rule(struct cfi_machine *machine, uint64_t reg)
{
	unsigned slot = reg < ARCH_DWARF_REGS ? arch_cfi_slot((unsigned)reg) : ARCH_CFI_SLOTS;

	/* DW_CFA_restore is invalid in a CIE, which has no initial rules. */
	if (!machine->initial_done)
		return -EBADMSG;
	if (slot < ARCH_CFI_SLOTS)
		machine->current->register_rule[slot] = machine->initial.register_rule[slot];
	return 0;
}

static inline int cfi_remember(struct cfi_machine *machine)
{
	if (machine->remembers == CFI_REMEMBER_DEPTH)
		return -ENOTSUP;
	machine->remembered[machine->remembers++] = *machine->current;
	return 0;
}

static inline int cfi_recall(struct cfi_machine *machine)
{
	if (!machine->remembers)
		return -EBADMSG;
	*machine->current = machine->remembered[--machine->remembers];
	return 0;
}

/* Execute @op if it sets one register's rule. Returns 0, -errno, or 1 if @op is of another kind. */
static inline int cfi_run_register_op(struct cfi_machine *machine, unsigned op)
{
	struct cfi_bytes *in = &machine->program;
	uint64_t reg;

	if (op < CFI_OFFSET_EXTENDED)
		return 1;
	switch (op) {
	case CFI_REMEMBER_STATE:
		return cfi_remember(machine);
	case CFI_RESTORE_STATE:
		return cfi_recall(machine);
	case CFI_OFFSET_EXTENDED:
		reg = cfi_uleb(in);
		return cfi_set_rule(machine, reg, CFI_RULE_OFFSET,
			cfi_factored(machine, (int64_t)cfi_uleb(in)));
	case CFI_OFFSET_EXTENDED_SF:
		reg = cfi_uleb(in);
		return cfi_set_rule(
			machine, reg, CFI_RULE_OFFSET, cfi_factored(machine, cfi_sleb(in)));
	case CFI_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cfi_uleb(in);
		return cfi_set_rule(machine, reg, CFI_RULE_OFFSET,
			cfi_factored(machine, (int64_t)(0 - cfi_uleb(in))));
	case CFI_VAL_OFFSET:
		reg = cfi_uleb(in);
		return cfi_set_rule(machine, reg, CFI_RULE_VAL_OFFSET,
			cfi_factored(machine, (int64_t)cfi_uleb(in)));
	case CFI_VAL_OFFSET_SF:
		reg = cfi_uleb(in);
		return cfi_set_rule(
			machine, reg, CFI_RULE_VAL_OFFSET, cfi_factored(machine, cfi_sleb(in)));
	case CFI_RESTORE_EXTENDED:
		return cfi_restore_rule(machine, cfi_uleb(in));
	case CFI_UNDEFINED:
		return cfi_set_rule(machine, cfi_uleb(in), CFI_RULE_UNDEFINED, 0);
	case CFI_SAME_VALUE:
		return cfi_set_rule(machine, cfi_uleb(in), CFI_RULE_SAME, 0);
	case CFI_REGISTER:
		reg = cfi_uleb(in);
		return cfi_set_rule(machine, reg, CFI_RULE_REGISTER, (int64_t)cfi_uleb(in));
	case CFI_EXPRESSION:
		reg = cfi_uleb(in);
		return cfi_set_rule(
			machine, reg, CFI_RULE_EXPRESSION, cfi_read_expression(machine));
	case CFI_VAL_EXPRESSION:
		reg = cfi_uleb(in);
		return cfi_set_rule(
			machine, reg, CFI_RULE_VAL_EXPRESSION, cfi_read_expression(machine));
	default:
		return 1;
	}
}

/* Execute @op if it defines the CFA. Returns 0, -errno, or 1 if @op is of another kind. */
static inline int cfi_run_cfa_op(struct cfi_machine *machine, unsigned op)
{
	struct cfi_bytes *in = &machine->program;
	bool half = op >= CFI_DEF_CFA_REGISTER && op <= CFI_DEF_CFA_OFFSET;
	int error;

	/* These operations set only the register or the offset; a CFA expression has neither. */
	if ((half || op == CFI_DEF_CFA_OFFSET_SF) && machine->current->cfa_expression)
		return -EBADMSG;
	switch (op) {
	case CFI_DEF_CFA:
		error = cfi_set_cfa_reg(machine, cfi_uleb(in));
		return error ? error : cfi_set_cfa_offset(machine, (int64_t)cfi_uleb(in));
	case CFI_DEF_CFA_SF:
		error = cfi_set_cfa_reg(machine, cfi_uleb(in));
		return error ? error
			     : cfi_set_cfa_offset(machine, cfi_factored(machine, cfi_sleb(in)));
	case CFI_DEF_CFA_REGISTER:
		return cfi_set_cfa_reg(machine, cfi_uleb(in));
	case CFI_DEF_CFA_OFFSET:
		return cfi_set_cfa_offset(machine, (int64_t)cfi_uleb(in));
	case CFI_DEF_CFA_OFFSET_SF:
		return cfi_set_cfa_offset(machine, cfi_factored(machine, cfi_sleb(in)));
	case CFI_DEF_CFA_EXPRESSION:
		error = cfi_set_cfa_offset(machine, cfi_read_expression(machine));
		machine->current->cfa_expression = true;
		return error;
	default:
		return 1;
	}
}

/* Execute @op if it changes the location. Returns 0, -errno, or 1 if @op is of another kind. */
static inline int cfi_run_location_op(struct cfi_machine *machine, unsigned op)
{
	struct cfi_bytes *in = &machine->program;
	uint64_t delta = 0;

	switch (op) {
	case CFI_ADVANCE_LOC1:
		delta = cfi_u8(in);
		break;
	case CFI_ADVANCE_LOC2:
		delta = cfi_u16(in);
		break;
	case CFI_ADVANCE_LOC4:
		delta = cfi_u32(in);
		break;
	case CFI_MIPS_ADVANCE_LOC8:
		delta = cfi_u64(in);
		break;
	case CFI_SET_LOC:
		machine->location = cfi_pointer(
			in, machine->fde->cie.pointer_encoding, machine->module->eh_frame_hdr);
		break;
	case CFI_GNU_ARGS_SIZE:
		cfi_uleb(in);
		break;
	case CFI_NOP:
	case CFI_AARCH64_NEGATE_RA_STATE:
	case CFI_AARCH64_NEGATE_RA_STATE_WITH_PC:
		break;
	default:
		return 1;
	}
	machine->location += delta * machine->fde->cie.code_align;
	return 0;
}

static inline int cfi_run_op(struct cfi_machine *machine, unsigned op)
{
	switch (op & 0xc0) {
	case CFI_ADVANCE_LOC:
		machine->location += (op & 0x3f) * machine->fde->cie.code_align;
		return 0;
	case CFI_OFFSET:
		return cfi_set_rule(machine, op & 0x3f, CFI_RULE_OFFSET,
			cfi_factored(machine, (int64_t)cfi_uleb(&machine->program)));
	case CFI_RESTORE:
		return cfi_restore_rule(machine, op & 0x3f);
	default:
		break;
	}

	int error = cfi_run_cfa_op(machine, op);

	if (error == 1)
		error = cfi_run_register_op(machine, op);
	if (error == 1)
		error = cfi_run_location_op(machine, op);
	return error == 1 ? -ENOTSUP : error;
}

/* Execute @program until it ends, or until the current row begins after machine->pc. */
static inline int cfi_run(struct cfi_machine *machine, struct cfi_bytes program)
{
	int error = 0;

	machine->program = program;
	while (!error && machine->program.at < machine->program.end &&
		machine->location <= machine->pc) {
		unsigned op = cfi_u8(&machine->program);

		error = cfi_run_op(machine, op);
		if (!error)
			error = machine->program.error;
	}
	return error;
}

/* Compute the row of @fde at @pc. Returns 0, -EBADMSG or -ENOTSUP. */
static __attribute__((noinline, unused)) int cfi_run_fde(const struct unwind_module *module,
	const struct cfi_fde *fde, uintptr_t pc, struct cfi_row *row)
{
	/* `remembered` stays uninitialised: each element is written before it is read. */
	struct cfi_machine machine;

	machine.module = module;
	machine.fde = fde;
	machine.pc = pc;
	machine.location = fde->begin;
	machine.current = &row->rules;
	machine.remembers = 0;
	machine.initial_done = false;
	row->rules = (struct cfi_rules){.cfa_reg = ARCH_DWARF_REGS};

	int error = cfi_run(&machine, fde->cie.program);

	if (error)
		return error;
	machine.initial = row->rules;
	machine.initial_done = true;
	machine.location = fde->begin;
	error = cfi_run(&machine, fde->program);
	if (error)
		return error;

	unsigned slot = fde->cie.ra_reg < ARCH_DWARF_REGS
				? arch_cfi_slot((unsigned)fde->cie.ra_reg)
				: ARCH_CFI_SLOTS;

	if (slot >= ARCH_CFI_SLOTS)
		return -ENOTSUP;
	row->ra_slot = slot;
	row->base = fde->record;
	row->end = fde->end;
	row->signal = fde->cie.signal;
	return 0;
}

/*
 * Compute the row for @pc.
 *
 * Returns 0; -ENOENT if no FDE covers @pc; -EBADMSG if the call-frame information contradicts
 * itself or points outside of the module; -ENOTSUP if it uses an unsupported feature. After an
 * error @row is unspecified.
 * Context: signal-safe; the module must stay mapped while @row is used. The two callees are not
 * inlined, so that they use the same bytes of the stack one after the other.
 */
static __attribute__((noinline, unused)) int cfi_find_row(
	const struct unwind_module *module, uintptr_t pc, struct cfi_row *row)
{
	struct cfi_fde fde;
	int error = cfi_find_fde(module, pc, &fde);

	return error ? error : cfi_run_fde(module, &fde, pc, row);
}

#endif
