/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads only. */
/*
 * Reading call-frame information byte by byte: fixed-size numbers, LEB128, encoded pointers. Every
 * read is checked against an end; a read past it sets `error`, answers 0 and leaves nothing to
 * read, so that callers may check once after several reads.
 *
 * UNWIND_CFI_POINTER(address) turns an address of the unwound program into a pointer that can be
 * read here. In-process they are the same; a reader from outside defines its own before including.
 */
#ifndef LIBPROF_UNWIND_CFI_BYTES_H
#define LIBPROF_UNWIND_CFI_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "libprof/unwind/dwarf.h"

#ifndef UNWIND_CFI_POINTER
#define UNWIND_CFI_POINTER(address) ((const void *)(address))
#endif

/*
 * Reads what stacks and rules lead to, which may be anything that is mapped and that others write
 * meanwhile: what was read is checked, not trusted. A ThreadSanitizer that looked for races there
 * would find some, and what it does to report one sets the errno that the handler left alone.
 */
#define CFI_READS_ANYTHING __attribute__((no_sanitize("thread")))

struct cfi_bytes {
	uintptr_t at;  /* next byte */
	uintptr_t end; /* one past the last byte, >= at */
	int error;     /* 0, or -errno of the first read that failed */
};

/* Numbers at any alignment. */
union cfi_number {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
} __attribute__((packed, may_alias));

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

/* Bits beyond the 64th are dropped. */
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

/* One number in @format (the low four bits of an encoding), sign-extended. */
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
 * An encoded pointer.
 *
 * @data_base  what data-relative pointers count from: the address of .eh_frame_hdr
 *
 * Returns the pointer; bytes->error is -ENOTSUP for encodings that no pc range or table uses
 * (text- and function-relative, indirect, omitted).
 * Context: signal-safe.
 */
static inline uintptr_t cfi_pointer(
	struct cfi_bytes *bytes, unsigned encoding, uintptr_t data_base)
{
	unsigned base = encoding & CFI_PTR_BASE;

	if (base == CFI_PTR_ALIGNED)
		cfi_skip(bytes, -bytes->at & 7);

	uintptr_t position = bytes->at;
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

#endif
