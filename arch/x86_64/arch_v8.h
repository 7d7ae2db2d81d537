/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: works on the bytes it is given. First instructions (left) and last
 * instructions (right) of functions that V8 compiled, in node 18 to 24. arch_epilogue.h skips the
 * validity check that precedes them.
 *
 *	55		push %rbp			48 8b e5	mov  %rbp,%rsp
 *	48 89 e5	mov  %rsp,%rbp			5d		pop  %rbp
 *	56		push %rsi	context		48 83 f9 xx	cmp  $xx,%rcx
 *	57		push %rdi	function	7f 03		jg   .+5
 *							c2 xx xx	ret  $xx
 */
#ifndef ARCH_X86_64_V8_H
#define ARCH_X86_64_V8_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/epilogue.h"
#include "arch/registers.h"

#define ARCH_V8_BEFORE 10u
#define ARCH_V8_RDI    5u /* DWARF number */
#define ARCH_V8_DISPATCH 15u /* r15 */

/* Are the @count bytes that start @before bytes before the pc equal to @wanted? -1: any byte. */
static inline bool arch_v8_is(
	const struct arch_code *code, unsigned before, const int16_t *wanted, unsigned count)
{
	if (before > code->at || code->end - (code->at - before) < count)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (wanted[i] >= 0 && code->bytes[code->at - before + i] != wanted[i])
			return false;
	return true;
}

static inline bool arch_v8_begins(const struct arch_code *code)
{
	static const int16_t entry[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57};
	struct arch_scan out = {.code = code, .at = code->at};
	struct arch_code checked = *code;

	while (arch_skip_validity_check(&out))
		;
	checked.at = out.at;
	return arch_v8_is(&checked, 0, entry, 6) || arch_v8_is(code, 1, entry, 6) ||
	       arch_v8_is(code, 4, entry, 6) || arch_v8_is(code, 5, entry, 6);
}

static inline bool arch_v8_at_edge(const struct arch_code *code,
	const struct arch_registers *registers, uintptr_t *function, uintptr_t *address)
{
	static const int16_t way_out[] = {
		0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, -1, 0x7f, 0x03, 0xc2};
	const unsigned bytes = sizeof(way_out) / sizeof(*way_out);
	bool has_frame = arch_v8_is(code, 3, way_out, bytes);

	*function = registers->r[ARCH_V8_RDI];
	if (arch_v8_begins(code))
		return true;
	*function = 0;
	*address = registers->r[ARCH_DWARF_SP] - (has_frame ? 2 : 3) * sizeof(uintptr_t);
	return has_frame || arch_v8_is(code, 4, way_out, bytes) ||
	       arch_v8_is(code, 8, way_out, bytes) || arch_v8_is(code, 10, way_out, bytes);
}

#endif
