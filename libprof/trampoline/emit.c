/* SPDX-License-Identifier: MIT */
/* Source: LSB Core, "Exception Frames" (.eh_frame, .eh_frame_hdr). */
#include "libprof/trampoline/emit.h"

#include <string.h>

#include "libprof/trampoline/region.h"

#define HEADER_BYTES 12u /* four encodings, where .eh_frame is, how many entries */
#define ENTRY_BYTES  8u
#define CIE_BYTES    ((8 + ARCH_STUB_CIE_BYTES + 7) & ~7u)
#define BRIEF_FDE_BYTES ((FDE_FIXED + ARCH_STUB_BRIEF_MAX + 7) & ~7u)
#define FDE_FIXED    17u /* length, CIE, first pc, range, length of the augmentation: none */

static uint32_t fde_bytes(const struct arch_stub_template *stub)
{
	return (FDE_FIXED + stub->cfi_bytes + 7) & ~7u;
}

uint32_t emit_stride(const struct arch_stub_template *stub)
{
	return (REGION_STRIDE(stub->code_bytes) + ARCH_STUB_ALIGN - 1) & ~(ARCH_STUB_ALIGN - 1u);
}

void emit_plan(const struct arch_stub_template *stub, uint32_t slots, struct emit_plan *out)
{
	uint8_t program[ARCH_STUB_BRIEF_MAX];

	*out = (struct emit_plan){.stub = stub, .slots = slots, .stride = emit_stride(stub)};
	out->code_bytes = slots * out->stride;
	out->header_at = (out->code_bytes + 15) & ~15u;
	out->frame_at = (out->header_at + HEADER_BYTES + ENTRY_BYTES * slots + 7) & ~7u;
	out->frame_end = out->frame_at + CIE_BYTES + slots * fde_bytes(stub) + 4;
	out->end_at = out->frame_end;
	if (arch_stub_brief_cfi(stub, 0, out->stride, program)) {
		out->brief_at = (out->frame_end + 7) & ~7u;
		out->end_at = out->brief_at + CIE_BYTES + BRIEF_FDE_BYTES + 4;
	}
}

static void put_u32(uint8_t *room, uint32_t at, uint32_t value)
{
	memcpy(room + at, &value, sizeof(value));
}

static void write_code(const struct emit_plan *plan, uint8_t *room)
{
	memset(room, ARCH_STUB_FILL, plan->code_bytes);
	for (uint32_t i = 0; i < plan->slots; i++) {
		uint32_t at = i * plan->stride;

		arch_stub_place(plan->stub, room + at,
			(int32_t)(plan->payload_at + i * plan->payload_stride - at),
			(int32_t)(plan->target_at - at));
	}
}

static void write_cie(uint8_t *room, uint32_t at)
{
	put_u32(room, at, CIE_BYTES - 4);
	put_u32(room, at + 4, 0);
	memcpy(room + at + 8, arch_stub_cie, ARCH_STUB_CIE_BYTES);
}

static void write_brief(const struct emit_plan *plan, uintptr_t start, uint8_t *room)
{
	uint32_t at = plan->brief_at + CIE_BYTES;

	write_cie(room, plan->brief_at);
	put_u32(room, at, BRIEF_FDE_BYTES - 4);
	put_u32(room, at + 4, at + 4 - plan->brief_at);
	put_u32(room, at + 8, 0 - (at + 8));
	put_u32(room, at + 12, plan->code_bytes);
	arch_stub_brief_cfi(plan->stub, start, plan->stride, room + at + FDE_FIXED);
}

static void write_fdes(const struct emit_plan *plan, uint8_t *room)
{
	uint32_t bytes = fde_bytes(plan->stub);
	uint32_t at = plan->frame_at + CIE_BYTES;

	for (uint32_t i = 0; i < plan->slots; i++, at += bytes) {
		uint32_t code = i * plan->stride;

		put_u32(room, at, bytes - 4);
		put_u32(room, at + 4, at + 4 - plan->frame_at);
		put_u32(room, at + 8, code - (at + 8));
		put_u32(room, at + 12, plan->stub->code_bytes);
		memcpy(room + at + FDE_FIXED, plan->stub->cfi, plan->stub->cfi_bytes);
		put_u32(room, plan->header_at + HEADER_BYTES + ENTRY_BYTES * i,
			code - plan->header_at);
		put_u32(room, plan->header_at + HEADER_BYTES + ENTRY_BYTES * i + 4,
			at - plan->header_at);
	}
}

void emit_write(const struct emit_plan *plan, uintptr_t start, uint8_t *room)
{
	/* Version; .eh_frame: pcrel | sdata4, count: udata4, table: datarel | sdata4. */
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};

	write_code(plan, room);
	memset(room + plan->code_bytes, 0, plan->end_at - plan->code_bytes);
	memcpy(room + plan->header_at, encodings, sizeof(encodings));
	put_u32(room, plan->header_at + 4, plan->frame_at - (plan->header_at + 4));
	put_u32(room, plan->header_at + 8, plan->slots);
	write_cie(room, plan->frame_at);
	write_fdes(plan, room);
	if (plan->brief_at)
		write_brief(plan, start, room);
}
