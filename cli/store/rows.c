/* SPDX-License-Identifier: MIT */
/* Source of the format: "RowBinary" in ClickHouse's manual. */
#include "cli/store/rows.h"

#include <errno.h>
#include <string.h>

#define HASHES_MAX (1u << 26) /* per set: half a gigabyte */

void rows_put_uint(struct bytes *rows, uint64_t value, unsigned bytes)
{
	uint8_t little[8];

	for (unsigned i = 0; i < 8; i++)
		little[i] = (uint8_t)(value >> 8 * i);
	bytes_put(rows, little, bytes);
}

void rows_put_text(struct bytes *rows, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes > ROWS_TEXT_BYTES)
		bytes = ROWS_TEXT_BYTES;
	bytes_varint(rows, bytes);
	bytes_put(rows, text, bytes);
}

static size_t damage(struct rows *rows)
{
	rows->is_damaged = true;
	rows->at = rows->end;
	return 0;
}

uint64_t rows_uint(struct rows *rows, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(rows->end - rows->at) < bytes)
		return damage(rows);
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*rows->at++ << 8 * i;
	return value;
}

/* Read a LEB128 count of items of @bytes each. If not all of them follow, @rows is damaged. */
static size_t read_count(struct rows *rows, size_t bytes)
{
	uint64_t count = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte = (uint8_t)rows_uint(rows, 1);

		count |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		return count <= (size_t)(rows->end - rows->at) / bytes ? count : damage(rows);
	}
	return damage(rows);
}

void rows_text(struct rows *rows, char *out, size_t size)
{
	size_t length = read_count(rows, 1);

	if (length >= size || (length && memchr(rows->at, '\0', length)))
		length = damage(rows);
	if (length)
		memcpy(out, rows->at, length);
	out[length] = '\0';
	rows->at += length;
}

static struct rows read_part(struct rows *rows, size_t bytes)
{
	size_t length = read_count(rows, bytes) * bytes;
	struct rows part = {rows->at, rows->at + length, rows->is_damaged};

	rows->at += length;
	return part;
}

struct rows rows_part(struct rows *rows)
{
	return read_part(rows, 1);
}

struct rows rows_numbers(struct rows *rows)
{
	return read_part(rows, sizeof(uint64_t));
}

/* ---- hashes ---------------------------------------------------------------------------------- */

static uint32_t hash_of_key(const void *owner, uint32_t number)
{
	const struct hashes *hashes = owner;

	return lookup_hash(hashes_at(hashes, number - 1));
}

uint32_t hashes_find(const struct hashes *hashes, uint64_t hash)
{
	struct lookup_probe probe = lookup_begin(&hashes->lookup, lookup_hash(hash));
	uint32_t number;

	while ((number = lookup_next(&hashes->lookup, &probe)))
		if (hashes_at(hashes, number - 1) == hash)
			return number - 1;
	return HASHES_NONE;
}

int hashes_add(struct hashes *hashes, uint64_t hash, uint32_t *index)
{
	struct lookup_probe probe;
	int error;

	*index = hashes_find(hashes, hash);
	if (*index != HASHES_NONE)
		return 0;
	if (!hashes->account.limit_bytes)
		hashes->account.limit_bytes = (size_t)HASHES_MAX * 16;
	error = pages_reserve(
		&hashes->account, &hashes->keys, ((size_t)hashes->count + 1) * sizeof(uint64_t));
	if (!error)
		error = lookup_reserve(&hashes->lookup, &hashes->account, 1, hash_of_key, hashes);
	if (error)
		return -ENOMEM;
	((uint64_t *)hashes->keys.at)[hashes->count] = hash;
	/* Search again for a free element, because the table may have grown. */
	probe = lookup_begin(&hashes->lookup, lookup_hash(hash));
	while (lookup_next(&hashes->lookup, &probe))
		;
	lookup_put(&hashes->lookup, &probe, ++hashes->count);
	*index = hashes->count - 1;
	return 0;
}

void hashes_release(struct hashes *hashes)
{
	pages_release(&hashes->account, &hashes->keys);
	pages_release(&hashes->account, &hashes->lookup.slots);
	*hashes = (struct hashes){.count = 0};
}
