/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads of the module's own mapped bytes, bounds-checked. */
/*
 * Find the call-frame information (FDE and CIE) for a pc: search .eh_frame_hdr by bisection, then
 * parse the records in .eh_frame without copying them. cfi_run.h executes their instructions.
 * Source: LSB Core, "Exception Frames"; DWARF 5, section 6.4.1.
 */
#ifndef LIBPROF_UNWIND_CFI_H
#define LIBPROF_UNWIND_CFI_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "libprof/unwind/dwarf.h"
#include "libprof/unwind/unwind.h"

/* ---- byte by byte ---------------------------------------------------------------------------- */
/*
 * Read fixed-size numbers, LEB128 numbers and encoded pointers. Every read is checked against the
 * end. A read past the end sets `error`, returns 0 and moves to the end, so callers may check
 * `error` once after several reads.
 *
 * UNWIND_CFI_POINTER(address) converts an address of the unwound program into a pointer that can be
 * read here. Inside the process, the two are equal. A reader from outside defines the macro before
 * it includes this file.
 */

#ifndef UNWIND_CFI_POINTER
#define UNWIND_CFI_POINTER(address) ((const void *)(address))
#define CFI_PREFETCH(address)	    __builtin_prefetch((const void *)(address))
#else
#define CFI_PREFETCH(address) ((void)(address))
#endif

/*
 * Marks functions that read any mapped memory to which a stack or a rule points. Other threads may
 * write this memory at the same time, so callers check the values. ThreadSanitizer is off, because
 * its report about such a race would overwrite the errno that the handler must preserve.
 */
#define CFI_READS_ANYTHING __attribute__((no_sanitize("thread")))

struct cfi_bytes {
	uintptr_t at;  /* next byte */
	uintptr_t end; /* past the last byte, >= at */
	/* 0, or the -errno of the first read that failed. */
	int error;
};

/* A number at any alignment. */
union cfi_number {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
} __attribute__((packed, may_alias));

/* Skip @count bytes. If fewer bytes are left, sets `error`, moves to the end and returns false. */
static inline bool cfi_skip(struct cfi_bytes *bytes, uint64_t count)
{
	if (count > bytes->end - bytes->at) {
		bytes->at = bytes->end;
		if (!bytes->error)
			bytes->error = -EBADMSG;
		return false;
	}
	bytes->at += count;
	return true;
}

CFI_READS_ANYTHING static inline uint8_t cfi_u8(struct cfi_bytes *bytes)
{
	uintptr_t at = bytes->at;

	if (!cfi_skip(bytes, 1))
		return 0;
	return ((const union cfi_number *)UNWIND_CFI_POINTER(at))->u8;
}

CFI_READS_ANYTHING static inline uint16_t cfi_u16(struct cfi_bytes *bytes)
{
	uintptr_t at = bytes->at;

	if (!cfi_skip(bytes, 2))
		return 0;
	return ((const union cfi_number *)UNWIND_CFI_POINTER(at))->u16;
}

CFI_READS_ANYTHING static inline uint32_t cfi_u32(struct cfi_bytes *bytes)
{
	uintptr_t at = bytes->at;

	if (!cfi_skip(bytes, 4))
		return 0;
	return ((const union cfi_number *)UNWIND_CFI_POINTER(at))->u32;
}

CFI_READS_ANYTHING static inline uint64_t cfi_u64(struct cfi_bytes *bytes)
{
	uintptr_t at = bytes->at;

	if (!cfi_skip(bytes, 8))
		return 0;
	return ((const union cfi_number *)UNWIND_CFI_POINTER(at))->u64;
}

/* Read an unsigned LEB128 number. Bits above the lowest 64 are dropped. */
static inline uint64_t cfi_uleb(struct cfi_bytes *bytes)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	return value;
}

static inline int64_t cfi_sleb(struct cfi_bytes *bytes)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if ((byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;
	return (int64_t)value;
}

/*
 * Read one number in @format, the low four bits of an encoding. Signed formats are sign-extended.
 */
static inline uint64_t cfi_formatted(struct cfi_bytes *bytes, unsigned format)
{
	switch (format) {
	case CFI_PTR_ABSOLUTE:
	case CFI_PTR_UDATA8:
	case CFI_PTR_SDATA8:
		return cfi_u64(bytes);
	case CFI_PTR_ULEB128:
		return cfi_uleb(bytes);
	case CFI_PTR_UDATA2:
		return cfi_u16(bytes);
	case CFI_PTR_UDATA4:
		return cfi_u32(bytes);
	case CFI_PTR_SLEB128:
		return (uint64_t)cfi_sleb(bytes);
	case CFI_PTR_SDATA2:
		return (uint64_t)(int16_t)cfi_u16(bytes);
	case CFI_PTR_SDATA4:
		return (uint64_t)(int32_t)cfi_u32(bytes);
	default:
		bytes->at = bytes->end;
		if (!bytes->error)
			bytes->error = -ENOTSUP;
		return 0;
	}
}

/*
 * Read an encoded pointer.
 *
 * @data_base  base of data-relative pointers: the address of .eh_frame_hdr
 *
 * Returns the pointer; sets bytes->error to -ENOTSUP for encodings that no pc range or table uses
 * (text- and function-relative, indirect, omitted).
 * Context: signal-safe.
 */
static inline uintptr_t cfi_pointer(
	struct cfi_bytes *bytes, unsigned encoding, uintptr_t data_base)
{
	unsigned base = encoding & CFI_PTR_BASE;
	uintptr_t position = bytes->at;

	/* Nearly all pointers have this encoding. */
	if (encoding == (CFI_PTR_PCREL | CFI_PTR_SDATA4))
		return (uintptr_t)(int32_t)cfi_u32(bytes) + position;
	if (base == CFI_PTR_ALIGNED)
		cfi_skip(bytes, -bytes->at & 7);
	position = bytes->at;

	uintptr_t value = cfi_formatted(bytes, encoding & CFI_PTR_FORMAT);

	if (!(encoding & CFI_PTR_INDIRECT)) {
		if (base == CFI_PTR_PCREL)
			return value + position;
		if (base == CFI_PTR_DATAREL)
			return value + data_base;
		if (base == 0 || base == CFI_PTR_ALIGNED)
			return value;
	}
	if (!bytes->error)
		bytes->error = -ENOTSUP;
	return 0;
}

/* ---- from a pc to its description ------------------------------------------------------------ */

/* The fields of a CIE that apply to all its FDEs. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t pointer_encoding;
	/* Augmentation 'z': FDEs have augmentation data with a length. */
	bool augmented;
	/* Augmentation 'S': the function is a signal frame, so the caller's pc is exact. */
	bool signal;
	struct cfi_bytes program;
};

struct cfi_fde {
	uintptr_t record; /* address of the FDE */
	uintptr_t begin;  /* covered pcs: [begin, end) */
	uintptr_t end;
	struct cfi_cie cie;
	struct cfi_bytes program;
};

/*
 * Read the header of the CIE or FDE at @address.
 *
 * @record      gets the bytes from after the id up to the record's end
 * @id_address  gets the address of the id
 * @id          gets the id; in an FDE, @id_address - @id is the address of its CIE
 *
 * Returns 0, or -EBADMSG if the record is a terminator or is not within the module.
 */
static inline int cfi_open_record(const struct unwind_module *module, uintptr_t address,
	struct cfi_bytes *record, uintptr_t *id_address, uint64_t *id)
{
	if (address < unwind_cfi_start(module) || address >= unwind_cfi_end(module))
		return -EBADMSG;
	*record = (struct cfi_bytes){.at = address, .end = unwind_cfi_end(module)};

	uint64_t length = cfi_u32(record);
	bool wide = length == 0xffffffff;

	if (wide)
		length = cfi_u64(record);
	if (record->error || !length || length > record->end - record->at)
		return -EBADMSG;
	record->end = record->at + length;
	*id_address = record->at;
	*id = wide ? cfi_u64(record) : cfi_u32(record);
	return record->error;
}

/*
 * Read the augmentation data. Stop at an unknown letter, because the size of its data is unknown.
 */
static inline void cfi_parse_augmentation(
	struct cfi_bytes letters, struct cfi_bytes *data, struct cfi_cie *cie)
{
	while (letters.at < letters.end) {
		switch (cfi_u8(&letters)) {
		case 'R':
			cie->pointer_encoding = cfi_u8(data);
			break;
		case 'L':
			cfi_u8(data);
			break;
		case 'P': {
			unsigned format = cfi_u8(data);

			/* Skip the pointer to the personality routine. */
			if ((format & CFI_PTR_BASE) == CFI_PTR_ALIGNED)
				cfi_skip(data, -data->at & 7);
			cfi_formatted(data, format & CFI_PTR_FORMAT);
			break;
		}
		case 'S':
			cie->signal = true;
			break;
		/* 'B': signatures made with key B are removed like those made with key A. */
		case 'B':
		case 'G': /* stack memory is tagged */
			break;
		default:
			return;
		}
	}
}

/*
 * Read the CIE at @address.
 *
 * Returns 0, -EBADMSG, or -ENOTSUP for unknown versions and augmentations.
 * Context: signal-safe.
 */
static inline int cfi_parse_cie(
	const struct unwind_module *module, uintptr_t address, struct cfi_cie *cie)
{
	struct cfi_bytes record, letters;
	uintptr_t id_address;
	uint64_t id;
	int error = cfi_open_record(module, address, &record, &id_address, &id);

	if (error)
		return error;

	unsigned version = cfi_u8(&record);

	if (id != 0 || (version != 1 && version != 3 && version != 4))
		return id != 0 ? -EBADMSG : -ENOTSUP;
	letters.at = record.at;
	while (cfi_u8(&record))
		;
	if (record.error)
		return record.error;
	letters.end = record.at - 1;
	letters.error = 0;
	if (version == 4)
		cfi_skip(&record, 2); /* address and segment size */
	*cie = (struct cfi_cie){.pointer_encoding = CFI_PTR_ABSOLUTE};
	cie->code_align = cfi_uleb(&record);
	cie->data_align = cfi_sleb(&record);
	cie->ra_reg = version == 1 ? cfi_u8(&record) : cfi_uleb(&record);
	if (letters.at < letters.end) {
		if (cfi_u8(&letters) != 'z')
			return -ENOTSUP;
		struct cfi_bytes data = record;
		uint64_t length = cfi_uleb(&data);

		record = data;
		if (!cfi_skip(&record, length))
			return -EBADMSG;
		data.end = record.at;
		cie->augmented = true;
		cfi_parse_augmentation(letters, &data, cie);
		if (data.error)
			return data.error;
	}
	cie->program = record;
	return record.error;
}

/*
 * Read the FDE at @address and its CIE.
 *
 * Returns 0, -EBADMSG, or -ENOTSUP. Context: signal-safe.
 */
static inline int cfi_parse_fde(
	const struct unwind_module *module, uintptr_t address, struct cfi_fde *fde)
{
	struct cfi_bytes record;
	uintptr_t id_address;
	uint64_t id;
	int error = cfi_open_record(module, address, &record, &id_address, &id);

	if (error)
		return error;
	/* Id 0 marks a CIE: the search table pointed to the wrong kind of record. */
	if (id == 0)
		return -EBADMSG;
	error = cfi_parse_cie(module, id_address - id, &fde->cie);
	if (error)
		return error;
	fde->record = address;
	fde->begin = cfi_pointer(&record, fde->cie.pointer_encoding, module->eh_frame_hdr);
	fde->end = fde->begin + cfi_formatted(&record, fde->cie.pointer_encoding & CFI_PTR_FORMAT);
	if (fde->cie.augmented)
		cfi_skip(&record, cfi_uleb(&record));
	fde->program = record;
	return record.error;
}

/* Returns the bytes of one pointer in a search table, or 0 if their number varies. */
static inline unsigned cfi_table_width(unsigned encoding)
{
	switch (encoding & CFI_PTR_FORMAT) {
	case CFI_PTR_UDATA2:
	case CFI_PTR_SDATA2:
		return 2;
	case CFI_PTR_UDATA4:
	case CFI_PTR_SDATA4:
		return 4;
	case CFI_PTR_ABSOLUTE:
	case CFI_PTR_UDATA8:
	case CFI_PTR_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* Returns the begin of entry @index in a table with the usual encoding: 4 bytes, data-relative. */
CFI_READS_ANYTHING static inline int32_t cfi_table_begin(uintptr_t table, uint64_t index)
{
	return (int32_t)((const union cfi_number *)UNWIND_CFI_POINTER(table + index * 8))->u32;
}

/*
 * Returns the number of entries that begin at or before @offset, in a table of @count entries with
 * the usual encoding. The comparison compiles to no branch, because half of such branches would be
 * mispredicted. Both entries that may be compared next are prefetched.
 */
static inline uint64_t cfi_search_usual(uintptr_t table, uint64_t count, intptr_t offset)
{
	uint64_t low = 0;

	while (count > 1) {
		uint64_t half = count / 2;

		CFI_PREFETCH(table + (low + half / 2) * 8);
		CFI_PREFETCH(table + (low + half + half / 2) * 8);
		low += cfi_table_begin(table, low + half) <= offset ? half : 0;
		count -= half;
	}
	return low + (count && cfi_table_begin(table, low) <= offset);
}

/*
 * Set *found to the number of entries that begin at or before @pc, in a table of any encoding with
 * a fixed size. @table is the whole table; an entry has two pointers of @width bytes. Returns 0 or
 * -errno.
 */
static inline int cfi_search_any(struct cfi_bytes table, uint64_t count, unsigned encoding,
	unsigned width, uintptr_t data_base, uintptr_t pc, uint64_t *found)
{
	uint64_t low = 0, high = count;

	/* Entries below `low` begin at or before pc, entries from `high` on begin after it. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct cfi_bytes entry = {.at = table.at + middle * 2 * width, .end = table.end};
		uintptr_t begin = cfi_pointer(&entry, encoding, data_base);

		if (entry.error)
			return entry.error;
		if (begin <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low;
	return 0;
}

/*
 * Find the last table entry that begins at or before @pc. @table is the whole table of @count
 * entries of two pointers, @width bytes each.
 *
 * Returns 0 and the FDE's address, -ENOENT if all entries begin after @pc, or -ENOTSUP.
 */
static inline int cfi_search_table(struct cfi_bytes table, uint64_t count, unsigned encoding,
	unsigned width, uintptr_t data_base, uintptr_t pc, uintptr_t *fde_address)
{
	uint64_t low;
	int error = 0;

	if (encoding == (CFI_PTR_DATAREL | CFI_PTR_SDATA4))
		low = cfi_search_usual(table.at, count, (intptr_t)(pc - data_base));
	else
		error = cfi_search_any(table, count, encoding, width, data_base, pc, &low);
	if (error)
		return error;
	if (!low)
		return -ENOENT;

	struct cfi_bytes entry = {
		.at = table.at + ((low - 1) * 2 + 1) * width, .end = table.end};

	*fde_address = cfi_pointer(&entry, encoding, data_base);
	return entry.error;
}

/*
 * Find the FDE that covers @pc.
 *
 * Returns 0; -ENOENT if no FDE covers @pc; -EBADMSG if the call-frame information contradicts
 * itself or points outside of the module; -ENOTSUP if its version or encoding is unknown.
 * Context: signal-safe; the module must stay mapped during the call.
 */
static __attribute__((noinline, unused)) int cfi_find_fde(
	const struct unwind_module *module, uintptr_t pc, struct cfi_fde *fde)
{
	uintptr_t header = module->eh_frame_hdr;

	if (!header)
		return -ENOENT;
	if (header < unwind_cfi_start(module) || header >= unwind_cfi_end(module))
		return -EBADMSG;

	struct cfi_bytes bytes = {.at = header, .end = unwind_cfi_end(module)};
	unsigned version = cfi_u8(&bytes);
	unsigned frame_encoding = cfi_u8(&bytes);
	unsigned count_encoding = cfi_u8(&bytes);
	unsigned table_encoding = cfi_u8(&bytes);

	if (bytes.error || version != 1)
		return bytes.error ? bytes.error : -ENOTSUP;
	if (count_encoding == CFI_PTR_OMIT || table_encoding == CFI_PTR_OMIT)
		return -ENOENT;
	cfi_pointer(&bytes, frame_encoding, header);

	uint64_t count = cfi_pointer(&bytes, count_encoding, header);
	unsigned width = cfi_table_width(table_encoding);

	if (bytes.error)
		return bytes.error;
	if (!width)
		return -ENOTSUP;
	if (count > (bytes.end - bytes.at) / (2 * width))
		return -EBADMSG;

	uintptr_t address;
	int error = cfi_search_table(
		bytes, count, table_encoding, width, header, pc, &address);

	if (!error)
		error = cfi_parse_fde(module, address, fde);
	if (!error && (pc < fde->begin || pc >= fde->end))
		error = -ENOENT;
	return error;
}

#endif
