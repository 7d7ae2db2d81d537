/* SPDX-License-Identifier: MIT */
/*
 * Static programs are linked without .eh_frame_hdr, so make a search table for their .eh_frame.
 * Source of the layout: LSB Core, "The .eh_frame_hdr section".
 *
 * For Go programs, make one CIE, one FDE per function, and one row per range of code with the same
 * stack size. Frame pointers alone would lose the caller of each function that uses no stack, which
 * functions called in inner loops often are. Source of the layout: LSB Core, "Exception Frames".
 */
#include "cli/outside/cfi_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/go.h"
#include "cli/symbols/functions.h"
#include "cli/symbols/gopclntab.h"
#include "libprof/unwind/dwarf.h"
#include "render/bytes.h"

/* ---- what Go knows --------------------------------------------------------------------------- */

/* Limit of the output in bytes: many functions may share rows of a small input. */
#define BYTES_MAX (1u << 28)
#define STACK_MAX (1 << 30) /* no Go frame is larger */

static void put_u32(struct bytes *out, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	bytes_put(out, &word, sizeof(word));
}

/* Close the record that began at @start: pad it with DW_CFA_nop and write its length. */
static void close_record(struct bytes *out, uint64_t start)
{
	static const char nops[8];
	uint32_t length;

	bytes_put(out, nops, -(out->used - start) % 8);
	length = (uint32_t)(out->used - start - sizeof(length));
	if (!out->error)
		memcpy(out->data + start, &length, sizeof(length));
}

static void put_go_rules(struct bytes *out, uint64_t stack)
{
	uint8_t rules[ARCH_GO_RULES_MAX];

	bytes_put(out, rules, arch_go_rules(rules, stack));
}

static void put_cie(struct bytes *out)
{
	/* version 1, "zR", code alignment 1, data alignment -8, return address, pcrel sdata4 */
	static const char head[] = {1, 'z', 'R', 0, 1, 0x78, ARCH_GO_RA, 1, 0x1b};

	put_u32(out, 0);
	put_u32(out, 0);
	bytes_put(out, head, sizeof(head));
	put_go_rules(out, 0);
	close_record(out, 0);
}

static void put_rows(
	struct bytes *out, const struct gopclntab *table, const struct gopclntab_function *function)
{
	struct gopclntab_row row = {.end = function->start, .bytes = -1};
	uint64_t at = function->row, begun = function->start, stored = function->start;

	while (!gopclntab_row(table, &at, &row) && row.end > begun && row.end <= function->end &&
		row.bytes >= 0 && row.bytes < STACK_MAX && out->used < BYTES_MAX) {
		if (begun != stored) {
			bytes_put(out, "\x04", 1); /* DW_CFA_advance_loc4 */
			put_u32(out, begun - stored);
		}
		put_go_rules(out, (uint64_t)row.bytes);
		stored = begun;
		begun = row.end;
	}
}

static void put_fde(struct bytes *out, uint64_t vaddr, const struct gopclntab *table,
	const struct gopclntab_function *function)
{
	/* DW_CFA_undefined */
	static const char no_caller[] = {0x07, ARCH_GO_RA};
	uint64_t start = out->used;

	put_u32(out, 0);
	put_u32(out, out->used); /* back to the CIE at 0 */
	put_u32(out, function->start - (vaddr + out->used));
	put_u32(out, function->end - function->start);
	bytes_put(out, "", 1);
	if (function->is_outermost)
		bytes_put(out, no_caller, sizeof(no_caller));
	else
		put_rows(out, table, function);
	close_record(out, start);
}

int go_cfi_make(const struct elf_file *file, uint64_t vaddr, char **frames, uint64_t *bytes)
{
	struct bytes out = {0};
	struct gopclntab table;

	if (gopclntab_open(&table, file))
		return -ENOENT;
	put_cie(&out);
	for (uint64_t i = 0; i < table.count && out.used < BYTES_MAX; i++) {
		struct gopclntab_function function;

		/*
		 * Make no FDE for functions that switch stacks: they are unwound by frame pointer.
		 */
		if (!gopclntab_function(&table, i, &function) &&
			(function.is_outermost || !function.switches_stack))
			put_fde(&out, vaddr, &table, &function);
	}
	if (out.error || out.used >= BYTES_MAX) {
		bytes_release(&out);
		return -ENOMEM;
	}
	*frames = (char *)out.data;
	*bytes = out.used;
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define HEADER_BYTES 12u
#define ENTRY_BYTES  8u

static void put_word(char *to, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(to, &word, sizeof(word));
}

/* Write .eh_frame_hdr. Its offsets have 32 bits: code is at most 2 GiB from .eh_frame. */
static void write_table(
	char *to, uint64_t frames, uint64_t header, const struct functions *functions)
{
	const char kinds[] = {1, CFI_PTR_PCREL | CFI_PTR_SDATA4, CFI_PTR_UDATA4,
		CFI_PTR_DATAREL | CFI_PTR_SDATA4};

	/* .eh_frame_hdr begins with version and encodings, the offset of .eh_frame, the entry
	 * count. */
	memcpy(to, kinds, sizeof(kinds));
	put_word(to + 4, frames - (header + 4));
	put_word(to + 8, functions->count);
	to += HEADER_BYTES;
	for (size_t i = 0; i < functions->count; i++, to += ENTRY_BYTES) {
		put_word(to, functions->extents[i].start - header);
		put_word(to + 4, functions->extents[i].record - header);
	}
}

int cfi_table_make(const char *frames, uint64_t bytes, uint64_t vaddr, char **copy,
	uint64_t *copy_bytes, uint64_t *header)
{
	struct functions *functions;
	uint64_t rounded = (bytes + 7) & ~7ULL, all;
	char *made;
	int error = functions_parse(&functions, frames, bytes, vaddr);

	if (error)
		return error;
	all = rounded + HEADER_BYTES + functions->count * ENTRY_BYTES;
	made = functions->count ? calloc(1, all) : NULL;
	if (made) {
		memcpy(made, frames, bytes);
		write_table(made + rounded, vaddr, vaddr + rounded, functions);
		*copy = made;
		*copy_bytes = all;
		*header = vaddr + rounded;
	} else {
		error = functions->count ? -ENOMEM : -ENOENT;
	}
	functions_free(functions);
	return error;
}
