/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reads the text and nothing else. */
/*
 * FNV-1a of 64 bits, for tables found by a text and for colours. Source: Fowler, Noll and Vo, RFC
 * 9923. Its low bits hang on the last bytes: whoever uses few bits mixes them first. Colours of
 * pictures depend on its values.
 */
#ifndef LIBPROF_FNV_H
#define LIBPROF_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

/* @hash, FNV_BEGIN at first, continued by @text up to its end or @bytes_max, without its zero. */
static inline uint64_t fnv_text(uint64_t hash, const char *text, size_t bytes_max)
{
	for (; bytes_max && *text; bytes_max--, text++)
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	return hash;
}

/* The same, continued by @count bytes. */
static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

#endif
