/* SPDX-License-Identifier: MIT */
/*
 * Rows as they go to a server and come back, in ClickHouse's RowBinary: numbers little-endian,
 * texts behind their length in LEB128, nothing between. And sets of the 64-bit hashes in them.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_ROWS_H
#define CLI_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "render/bytes.h"

/* A longer text is cut where it is put, and damage where it is read. */
#define ROWS_TEXT_BYTES 4096u

void rows_put_uint(struct bytes *rows, uint64_t value, unsigned bytes);
void rows_put_text(struct bytes *rows, const char *text);

/*
 * Rows that are read: nobody is trusted to end them where they should. After the first damage
 * everything is 0 and "", and ->is_damaged tells.
 */
struct rows {
	const uint8_t *at, *end;
	bool is_damaged;
};

static inline struct rows rows_of(const struct bytes *bytes)
{
	/* What never had any bytes has no place, which is no place to count from. */
	static const uint8_t nowhere[1];
	const uint8_t *at = bytes->data ? bytes->data : nowhere;

	return (struct rows){at, at + bytes->used, false};
}

static inline bool rows_are_left(const struct rows *rows)
{
	return !rows->is_damaged && rows->at < rows->end;
}

uint64_t rows_uint(struct rows *rows, unsigned bytes);

/* Into @out, of @size bytes, ROWS_TEXT_BYTES + 1 being enough for all. */
void rows_text(struct rows *rows, char *out, size_t size);

/* A text whose bytes may be any, a number of rows: valid as long as @rows's bytes. */
struct rows rows_part(struct rows *rows);

/* The same of an array, whose numbers have 64 bits each. */
struct rows rows_numbers(struct rows *rows);

/* ---- hashes ---------------------------------------------------------------------------------- */

/* All zero is an empty set. */
struct hashes {
	struct pages_account account;
	struct pages keys; /* uint64_t, in the order they came */
	struct lookup lookup;
	uint32_t count;
};

#define HASHES_NONE UINT32_MAX

/* The place of @hash, or HASHES_NONE. */
uint32_t hashes_find(const struct hashes *hashes, uint64_t hash);

/* The same, put in when it is new. Returns 0 and *@place, or -ENOMEM. */
int hashes_add(struct hashes *hashes, uint64_t hash, uint32_t *place);

static inline uint64_t hashes_at(const struct hashes *hashes, uint32_t place)
{
	return ((const uint64_t *)hashes->keys.at)[place];
}

void hashes_release(struct hashes *hashes);

#endif
