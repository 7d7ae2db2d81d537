/* SPDX-License-Identifier: MIT */
/*
 * What a chunk's executable pages hold: equal stubs, and behind them their call-frame information,
 * complete from the start. Making a stub later writes none of it.
 *
 *	code           stub, fill, stub, fill, ...        every `stride` bytes
 *	.eh_frame_hdr  a search table, one entry a stub   at `header_at`
 *	.eh_frame      one CIE, one FDE a stub, 0         at `frame_at`, up to `frame_end`
 *	brief one      one CIE, one FDE for all, 0        at `brief_at`, up to `end_at`
 *
 * The data behind these pages has a word for each stub, its payload, and one for all, the target.
 */
#ifndef LIBPROF_TRAMPOLINE_EMIT_H
#define LIBPROF_TRAMPOLINE_EMIT_H

#include <stddef.h>
#include <stdint.h>

#include "arch/stub.h"

struct emit_plan {
	const struct arch_stub_template *stub;
	uint32_t slots;
	uint32_t stride;
	uint32_t code_bytes; /* of all stubs: slots * stride */
	uint32_t header_at;
	uint32_t frame_at;
	uint32_t frame_end;
	uint32_t brief_at; /* 0: there is none */
	uint32_t end_at;
	/* To be filled in by the caller, in bytes from the first stub: */
	uint32_t target_at;
	uint32_t payload_at; /* of the first stub; the others' follow every payload_stride bytes */
	uint32_t payload_stride;
};

/* How many bytes @slots stubs of @stub take, into @out. */
void emit_plan(const struct arch_stub_template *stub, uint32_t slots, struct emit_plan *out);

/* Write plan->end_at bytes to @room, to run at @start. */
void emit_write(const struct emit_plan *plan, uintptr_t start, uint8_t *room);

/* Bytes from one stub to the next. */
uint32_t emit_stride(const struct arch_stub_template *stub);

#endif
