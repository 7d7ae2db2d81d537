/* SPDX-License-Identifier: MIT */
/* Write parsed call-frame information (libprof/unwind). Source: LSB Core, "Exception Frames". */
#include "libprof/trampoline/publish_cfi.h"

#include "libprof/unwind/cfi.h"

#define LENGTH_BYTES 4

static struct unwind_module section_of(const struct region *region)
{
	uintptr_t section = (uintptr_t)region->eh_frame;

	return (struct unwind_module){
		.start = section,
		.end = section + region->eh_frame_bytes,
		.eh_frame_hdr = region->eh_frame_hdr,
	};
}

int publish_cfi_each(const struct region *region,
	int (*visit)(void *context, const struct cfi_fde *fde), void *context)
{
	struct unwind_module section = section_of(region);
	uintptr_t at = section.start;
	int error = 0;

	/* The section ends with four zero bytes, or when it has no room for another record. */
	while (!error && section.end - at > LENGTH_BYTES) {
		struct cfi_bytes length = {.at = at, .end = section.end};
		struct cfi_bytes record;
		struct cfi_fde fde;
		uintptr_t id_address;
		uint64_t id;

		if (!cfi_u32(&length))
			break;
		error = cfi_open_record(&section, at, &record, &id_address, &id);
		if (!error && id) {
			error = cfi_parse_fde(&section, at, &fde);
			if (!error)
				error = visit(context, &fde);
		}
		at = record.end;
	}
	return error;
}

static void put_uleb(struct publish_bytes *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		publish_bytes_u8(out, value | 0x80);
	publish_bytes_u8(out, value);
}

static void put_sleb(struct publish_bytes *out, int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		publish_bytes_u8(out, value | 0x80);
	publish_bytes_u8(out, value & 0x7f);
}

static void put_program(struct publish_bytes *out, struct cfi_bytes program)
{
	publish_bytes_put(out, UNWIND_CFI_POINTER(program.at), program.end - program.at);
}

/* Fill the record up with zeros, which are DW_CFA_nop, and store its length. */
static void end_record(struct publish_bytes *out, size_t begin)
{
	publish_bytes_align(out, 8);
	if (out->error)
		return;

	uint32_t length = out->used - begin - LENGTH_BYTES;

	memcpy(out->data + begin, &length, sizeof(length));
}

static void put_cie(struct publish_bytes *out, const struct cfi_cie *cie, uint8_t encoding)
{
	size_t begin = out->used;
	/*
	 * A CIE of version 1 has one byte for the return address column. gdb and unwinders read
	 * versions 1 and 3.
	 */
	int wide = cie->ra_reg > 0xff;

	publish_bytes_u32(out, 0);
	publish_bytes_u32(out, 0);
	publish_bytes_u8(out, wide ? 3 : 1);
	publish_bytes_put(out, cie->signal ? "zRS" : "zR", cie->signal ? 4 : 3);
	put_uleb(out, cie->code_align);
	put_sleb(out, cie->data_align);
	if (wide)
		put_uleb(out, cie->ra_reg);
	else
		publish_bytes_u8(out, cie->ra_reg);
	put_uleb(out, 1);
	publish_bytes_u8(out, encoding);
	put_program(out, cie->program);
	end_record(out, begin);
}

struct writer {
	struct publish_bytes *out;
	uintptr_t lo, hi;
	/* The address at which out->data will be; 0: write absolute pointers. */
	uintptr_t address;
	/* The CIE that was written last. The FDEs of one CIE follow each other. */
	uintptr_t cie_program;
	size_t cie_at;
	int found;
};

static int put_pcs(struct writer *writer, const struct cfi_fde *fde)
{
	struct publish_bytes *out = writer->out;
	int64_t distance = fde->begin - (writer->address + out->used);

	if (!writer->address) {
		publish_bytes_u64(out, fde->begin);
		publish_bytes_u64(out, fde->end - fde->begin);
		return 0;
	}
	if (distance != (int32_t)distance || fde->end - fde->begin > INT32_MAX)
		return -ERANGE;
	publish_bytes_u32(out, distance);
	publish_bytes_u32(out, fde->end - fde->begin);
	return 0;
}

static int put_fde(void *context, const struct cfi_fde *fde)
{
	struct writer *writer = context;
	struct publish_bytes *out = writer->out;

	if (fde->end <= writer->lo || fde->begin >= writer->hi)
		return 0;
	if (writer->cie_program != fde->cie.program.at) {
		writer->cie_program = fde->cie.program.at;
		writer->cie_at = out->used;
		put_cie(out, &fde->cie,
			writer->address ? CFI_PTR_PCREL | CFI_PTR_SDATA4 : CFI_PTR_ABSOLUTE);
	}

	size_t begin = out->used;
	int error;

	publish_bytes_u32(out, 0);
	publish_bytes_u32(out, begin + LENGTH_BYTES - writer->cie_at);
	error = put_pcs(writer, fde);
	if (error)
		return error;
	put_uleb(out, 0);
	put_program(out, fde->program);
	end_record(out, begin);
	writer->found = 1;
	return out->error;
}

/*
 * Write the FDEs of the stubs in the range. Find them by the search table, because a chunk has
 * thousands of FDEs, and callers want a few dozen.
 */
static int put_of_slots(struct writer *writer, const struct region *region)
{
	struct unwind_module chunk = {
		.start = region->start,
		.end = (uintptr_t)region->eh_frame + region->eh_frame_bytes,
		.eh_frame_hdr = region->eh_frame_hdr,
	};
	uintptr_t end = region->start + (uintptr_t)region->slots * region->stride;
	uintptr_t pc = writer->lo > region->start ? writer->lo : region->start;
	int error = 0;

	pc -= (pc - region->start) % region->stride;
	for (; !error && pc < end && pc < writer->hi; pc += region->stride) {
		struct cfi_fde fde;

		error = cfi_find_fde(&chunk, pc, &fde);
		if (!error)
			error = put_fde(writer, &fde);
	}
	return error;
}

int publish_cfi_write(struct publish_bytes *out, const struct region *region, uintptr_t lo,
	uintptr_t hi, uintptr_t address)
{
	struct writer writer = {.out = out, .lo = lo, .hi = hi};
	int error;

	if (!region->eh_frame)
		return -ENOENT;
	/* Align in the same way as the records will be aligned in the section. */
	publish_bytes_align(out, 8);
	writer.address = address ? address - out->used : 0;
	if (region->kind != FLAMEPROF_CODE_HOST && region->eh_frame_hdr)
		error = put_of_slots(&writer, region);
	else
		error = publish_cfi_each(region, put_fde, &writer);
	if (!error)
		error = out->error;
	return !error && !writer.found ? -ENOENT : error;
}
