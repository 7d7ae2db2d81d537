/* SPDX-License-Identifier: MIT */
/*
 * Write and read rows in ClickHouse's format RowBinary, which has no separators: numbers are
 * little-endian, and texts follow their length in LEB128. This file also has sets of the 64-bit
 * hashes in rows. Context: one thread.
 */
#ifndef CLI_STORE_ROWS_H
#define CLI_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "render/bytes.h"

/* Bytes of the longest text. A longer text is cut when written, and an error when read. */
#define ROWS_TEXT_BYTES 4096u

/* rows_put_uint() appends the low @bytes of @value; rows_put_text() a length and the text. */
void rows_put_uint(struct bytes *rows, uint64_t value, unsigned bytes);
void rows_put_text(struct bytes *rows, const char *text);

/* A reader of untrusted rows. After an error is_damaged is set, and all values are 0 or "". */
struct rows {
	const uint8_t *at, *end;
	bool is_damaged;
};

static inline struct rows rows_of(const struct bytes *bytes)
{
	/* Empty bytes have no data, and arithmetic on NULL is undefined. */
	static const uint8_t nowhere[1];
	const uint8_t *at = bytes->data ? bytes->data : nowhere;

	return (struct rows){at, at + bytes->used, false};
}

static inline bool rows_are_left(const struct rows *rows)
{
	return !rows->is_damaged && rows->at < rows->end;
}

/* Read a number of @bytes. */
uint64_t rows_uint(struct rows *rows, unsigned bytes);

/* Read a text into @out. ROWS_TEXT_BYTES + 1 is a sufficient @size for any text. */
void rows_text(struct rows *rows, char *out, size_t size);

/* Read a string of any bytes. Returns a part of @rows. */
struct rows rows_part(struct rows *rows);

/* Read an array of 64-bit numbers. Returns a part of @rows. */
struct rows rows_numbers(struct rows *rows);

/* ---- hashes ---------------------------------------------------------------------------------- */

/* All zero is an empty set. */
struct hashes {
	struct pages_account account;
	struct pages keys; /* uint64_t, in the order of insertion */
	struct lookup lookup;
	uint32_t count;
};

#define HASHES_NONE UINT32_MAX

/* Returns the index of @hash, or HASHES_NONE. */
uint32_t hashes_find(const struct hashes *hashes, uint64_t hash);

/* Find or add @hash. Returns 0 with its index in *@index, or -ENOMEM. */
int hashes_add(struct hashes *hashes, uint64_t hash, uint32_t *index);

static inline uint64_t hashes_at(const struct hashes *hashes, uint32_t index)
{
	return ((const uint64_t *)hashes->keys.at)[index];
}

void hashes_release(struct hashes *hashes);

#endif
