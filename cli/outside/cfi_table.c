/* SPDX-License-Identifier: MIT */
/*
 * Search tables are needed for static programs, which are linked without .eh_frame_hdr. Source of
 * the layout: LSB Core, "The .eh_frame_hdr section".
 *
 * Go programs get one CIE, one FDE for each function, and a row for each range of code that uses
 * the same amount of stack. Frame pointers alone would lose the caller of every function that uses
 * no stack, and inner loops are made of such small functions. Source of the layout: LSB Core,
 * "Exception Frames".
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

/* ---- what Go knows --------------------------------------------------------------------------- */

#define BYTES_MAX     (1u << 28) /* of output: many functions may share the same rows */
#define STACK_MAX     (1 << 30)	 /* no frame of Go's is larger */
#define FDE_HEAD      17u	 /* length, CIE pointer, start, length, augmentation */
#define ROW_BYTES_MAX (ARCH_GO_RULES_MAX + 5u)

struct buffer {
	char *bytes;
	uint64_t count, room;
	uint64_t vaddr;
};

static int make_room(struct buffer *buffer, uint64_t more)
{
	uint64_t room = buffer->room ? buffer->room : 1u << 16;
	char *larger;

	if (buffer->room - buffer->count >= more)
		return 0;
	while (room - buffer->count < more)
		room *= 2;
	larger = room <= BYTES_MAX ? realloc(buffer->bytes, room) : NULL;
	if (!larger)
		return -ENOMEM;
	buffer->bytes = larger;
	buffer->room = room;
	return 0;
}

static void put_u32(struct buffer *buffer, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(buffer->bytes + buffer->count, &word, sizeof(word));
	buffer->count += sizeof(word);
}

/* Close the record that began at @start: pad it with DW_CFA_nop and write its length. */
static void close_record(struct buffer *buffer, uint64_t start)
{
	uint32_t length;

	while ((buffer->count - start) % 8)
		buffer->bytes[buffer->count++] = 0;
	length = (uint32_t)(buffer->count - start - sizeof(length));
	memcpy(buffer->bytes + start, &length, sizeof(length));
}

static int put_cie(struct buffer *buffer)
{
	/* version 1, "zR", code alignment 1, data alignment -8, return address, pcrel sdata4 */
	static const char head[] = {1, 'z', 'R', 0, 1, 0x78, ARCH_GO_RA, 1, 0x1b};

	if (make_room(buffer, 64))
		return -ENOMEM;
	put_u32(buffer, 0);
	put_u32(buffer, 0);
	memcpy(buffer->bytes + buffer->count, head, sizeof(head));
	buffer->count += sizeof(head);
	buffer->count += arch_go_rules((uint8_t *)buffer->bytes + buffer->count, 0);
	close_record(buffer, 0);
	return 0;
}

static void put_rules(struct buffer *buffer, uint64_t advance, uint64_t stack)
{
	if (advance) {
		buffer->bytes[buffer->count++] = 0x04; /* DW_CFA_advance_loc4 */
		put_u32(buffer, advance);
	}
	buffer->count += arch_go_rules((uint8_t *)buffer->bytes + buffer->count, stack);
}

static int put_rows(struct buffer *buffer, const struct gopclntab *table,
	const struct gopclntab_function *function)
{
	struct gopclntab_row row = {.end = function->start, .bytes = -1};
	uint64_t at = function->row, begun = function->start, stored = function->start;

	while (!gopclntab_row(table, &at, &row) && row.end > begun && row.end <= function->end &&
		row.bytes >= 0 && row.bytes < STACK_MAX) {
		if (make_room(buffer, ROW_BYTES_MAX + 8))
			return -ENOMEM;
		put_rules(buffer, begun - stored, (uint64_t)row.bytes);
		stored = begun;
		begun = row.end;
	}
	return 0;
}

static int put_fde(struct buffer *buffer, const struct gopclntab *table,
	const struct gopclntab_function *function)
{
	uint64_t start = buffer->count;

	if (make_room(buffer, FDE_HEAD + 16))
		return -ENOMEM;
	put_u32(buffer, 0);
	put_u32(buffer, buffer->count); /* back to the CIE at 0 */
	put_u32(buffer, function->start - (buffer->vaddr + buffer->count));
	put_u32(buffer, function->end - function->start);
	buffer->bytes[buffer->count++] = 0;
	if (function->is_outermost) {
		buffer->bytes[buffer->count++] = 0x07; /* DW_CFA_undefined */
		buffer->bytes[buffer->count++] = ARCH_GO_RA;
	} else if (put_rows(buffer, table, function)) {
		return -ENOMEM;
	}
	close_record(buffer, start);
	return 0;
}

int go_cfi_make(const struct elf_file *file, uint64_t vaddr, char **frames, uint64_t *bytes)
{
	struct buffer buffer = {.vaddr = vaddr};
	struct gopclntab table;
	int error;

	if (gopclntab_open(&table, file))
		return -ENOENT;
	error = put_cie(&buffer);
	for (uint64_t i = 0; i < table.count && !error; i++) {
		struct gopclntab_function function;

		/* Functions that switch stacks are unwound by frame pointer instead. */
		if (!gopclntab_function(&table, i, &function) &&
			(function.is_outermost || !function.switches_stack))
			error = put_fde(&buffer, &table, &function);
	}
	if (error) {
		free(buffer.bytes);
		return error;
	}
	*frames = buffer.bytes;
	*bytes = buffer.count;
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

/* Offsets have 32 bits: code is never further than 2 GiB from its .eh_frame. */
static void write_table(
	char *to, uint64_t frames, uint64_t header, const struct functions *functions)
{
	const char kinds[] = {1, CFI_PTR_PCREL | CFI_PTR_SDATA4, CFI_PTR_UDATA4,
		CFI_PTR_DATAREL | CFI_PTR_SDATA4};

	/* version and encodings; where .eh_frame is; count; table */
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
