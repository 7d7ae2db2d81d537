/* SPDX-License-Identifier: MIT */
/*
 * Distributions compress the sections of their debug files. To inflate the 9 MB of libc's for the
 * few addresses that a run has in it takes 40 ms, or 16 by libdeflate.
 */
#include "cli/symbols/dwarf_unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#define COMPRESS_ZSTD 2u /* ELFCOMPRESS_ZSTD, of which not all headers know */

/* Deflate makes of one byte at most so many. */
#define DEFLATE_RATIO 1032u

/* Do @from_bytes at @from inflate to exactly @bytes, which are then at @to? */
static bool inflate_all(uint8_t *to, size_t bytes, const uint8_t *from, size_t from_bytes)
{
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	bool is_whole = inflater && libdeflate_zlib_decompress(inflater, from, from_bytes, to,
					    bytes, NULL) == LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(inflater);
	return is_whole;
#else
	uLongf made = bytes;

	return uncompress(to, &made, from, from_bytes) == Z_OK && made == bytes;
#endif
}

/* Unpack @bytes of @section out of @from_bytes at @from. Returns 0 or -ENOMEM. */
static int unpack(struct dwarf_section *section, const uint8_t *from, size_t from_bytes,
	uint64_t bytes, bool is_zstd)
{
	uint8_t *to = malloc(bytes);
	bool is_whole;

	if (!to)
		return -ENOMEM;
	is_whole = is_zstd ? ZSTD_decompress(to, bytes, from, from_bytes) == bytes
			   : inflate_all(to, bytes, from, from_bytes);
	if (!is_whole) {
		free(to);
		return 0;
	}
	section->memory = section->unpacked = to;
	section->bytes = bytes;
	return 0;
}

/* It begins with how large it will be: as ELF has it, or as was done before. */
int dwarf_unpack(struct dwarf_section *section, Elf_Scn *packed, bool is_old, uint64_t bytes_max)
{
	static const char magic[4] = {'Z', 'L', 'I', 'B'};
	Elf_Data *data = elf_rawdata(packed, NULL);
	Elf64_Chdr about = {.ch_type = ELFCOMPRESS_ZLIB};
	size_t begin = is_old ? sizeof(magic) + sizeof(about.ch_size) : sizeof(about);
	const uint8_t *from;

	if (!data || !data->d_buf || data->d_size < begin)
		return 0;
	from = data->d_buf;
	if (!is_old) {
		memcpy(&about, from, sizeof(about));
	} else if (!memcmp(from, magic, sizeof(magic))) {
		memcpy(&about.ch_size, from + sizeof(magic), sizeof(about.ch_size));
		about.ch_size = __builtin_bswap64(about.ch_size);
	}
	if (!about.ch_size || about.ch_size > ELF_FILE_SECTION_MAX || about.ch_size > bytes_max ||
		(about.ch_type == ELFCOMPRESS_ZLIB &&
			about.ch_size / DEFLATE_RATIO > data->d_size) ||
		(about.ch_type != ELFCOMPRESS_ZLIB && about.ch_type != COMPRESS_ZSTD))
		return 0;
	return unpack(section, from + begin, data->d_size - begin, about.ch_size,
		about.ch_type == COMPRESS_ZSTD);
}
