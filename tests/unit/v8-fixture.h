/* SPDX-License-Identifier: MIT */
/*
 * This file contains the offsets that V8 of node 22 publishes, and made-up type numbers, for
 * made-up heaps.
 */
#ifndef TESTS_UNIT_V8_FIXTURE_H
#define TESTS_UNIT_V8_FIXTURE_H

#include <stdint.h>

#include "libprof/runtime/v8.h"

#define ARRAY_REGISTER	12u
#define OFFSET_REGISTER 9u

enum {
	TYPE_FUNCTION = 0x811,
	TYPE_SHARED = 0x101,
	TYPE_SCRIPT,
	TYPE_SCOPE,
	TYPE_ARRAY,
	TYPE_BYTECODE,
	TYPE_CODE,
	TYPE_STREAM,
	V8_TYPES = 7, /* number of types before this */
	TYPE_ONE_BYTE = 8
};

static const struct v8_offsets published_offsets = {.shared = 24,
	.scope = 16,
	.script = 32,
	.source = 8,
	.script_name = 16,
	.line_ends = 56,
	.first_local = 3,
	.function_type = TYPE_FUNCTION,
	.function_types = 16,
	.shared_type = TYPE_SHARED,
	.script_type = TYPE_SCRIPT,
	.scope_type = TYPE_SCOPE,
	.array_type = TYPE_ARRAY,
	.bytecode_type = TYPE_BYTECODE,
	.bytecode_data = 56,
	.bytecode_lines = 32,
	.array_register = ARRAY_REGISTER,
	.offset_register = OFFSET_REGISTER,
	.code_type = TYPE_CODE,
	.code_function = 48,
	.code_header = 32,
	.code_data = 8,
	.code_table = 16,
	.code_start = 40,
	.code_flags = 48,
	.code_size = 52,
	.code_baseline = 10,
	.code_kind = 15,
	.code_literals = 2,
	.code_shared = 6,
	.code_inlining = 7};

/* Returns a small integer in the form in which objects store it. */
static uint64_t number(uint32_t value)
{
	return (uint64_t)value << 32;
}

#endif
