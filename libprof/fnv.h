/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reads the text and nothing else. */
/*
 * FNV-1a hash of 64 bits, for hash tables keyed by text and for the colours of pictures. The
 * colours depend on the exact values. The low bits depend mostly on the last bytes of the input, so
 * a caller that uses only a few bits has to mix the bits first. Source: Fowler, Noll and Vo, RFC
 * 9923.
 */
#ifndef LIBPROF_FNV_H
#define LIBPROF_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

/*
 * Returns @hash (FNV_BEGIN at first) continued with the bytes of @text up to its NUL, which is not
 * hashed, or up to @bytes_max bytes.
 */
static inline uint64_t fnv_text(uint64_t hash, const char *text, size_t bytes_max)
{
	for (; bytes_max && *text; bytes_max--, text++)
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	return hash;
}

/* Returns @hash (FNV_BEGIN at first) continued with @count bytes. */
static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

#endif
