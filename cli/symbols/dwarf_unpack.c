/* SPDX-License-Identifier: MIT */
/*
 * Distributions compress the sections of their debug files. To inflate the 9 MB of libc's for the
 * few addresses that a run has in it takes 40 ms, or 16 by libdeflate; they are kept as they are
 * then, behind a header that says of which file they are and how large each is.
 */
#include "cli/symbols/dwarf_unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include "cli/symbols/cache_file.h"

#define MAGIC 0x64656b6361706e75ull /* changes with what is in a file */

#define COMPRESS_ZSTD 2u /* ELFCOMPRESS_ZSTD, of which not all headers know */

/* Deflate makes of one byte at most so many. */
#define DEFLATE_RATIO 1032u
/* All that is unpacked of one file. */
#define UNPACKED_MAX ((uint64_t)2 << 30)

/* ---- by libraries ---------------------------------------------------------------------------- */

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

/* A section that begins with how large it will be: as ELF has it, or as was done before. */
static int unpack_section(
	struct dwarf_section *section, const struct dwarf_packed *packed, uint64_t bytes_max)
{
	static const char magic[4] = {'Z', 'L', 'I', 'B'};
	Elf_Data *data =
		packed->bytes > ELF_FILE_SECTION_MAX ? NULL : elf_rawdata(packed->section, NULL);
	Elf64_Chdr about = {.ch_type = ELFCOMPRESS_ZLIB};
	size_t begin = packed->is_old ? sizeof(magic) + sizeof(about.ch_size) : sizeof(about);
	const uint8_t *from;

	if (!data || !data->d_buf || data->d_size < begin)
		return 0;
	from = data->d_buf;
	if (!packed->is_old) {
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

/* ---- kept ------------------------------------------------------------------------------------ */

struct header {
	uint64_t magic;
	uint64_t id_bytes;
	uint8_t id[ELF_FILE_ID_MAX];
	struct {
		uint64_t source_offset, source_bytes; /* compressed, in the file; 0: is not */
		uint64_t bytes;
	} part[DWARF_SECTION_COUNT]; /* one behind the other behind the header */
};

#define NAME_BYTES (ELF_FILE_ID_TEXT + sizeof(".dwarf"))

/* The header for @file, but for the sizes, and the name. Returns false when it has no build-id. */
static bool describe(const struct elf_file *file, const struct dwarf_packed *packed,
	struct header *header, char name[NAME_BYTES])
{
	char text[ELF_FILE_ID_TEXT];
	const uint8_t *id = NULL;
	size_t id_bytes = file->fd >= 0 ? elf_file_build_id(file, &id) : 0;

	if (elf_file_id_text(id, id_bytes, text))
		return false;
	snprintf(name, NAME_BYTES, "%s.dwarf", text);
	*header = (struct header){.magic = MAGIC, .id_bytes = id_bytes};
	memcpy(header->id, id, id_bytes);
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		if (packed[i].section) {
			header->part[i].source_offset = packed[i].file_offset;
			header->part[i].source_bytes = packed[i].bytes;
		}
	return true;
}

/*
 * Read the header of @cache into @header, if all but the sizes is as there, and the sizes are those
 * of a whole file.
 */
static bool read_header(int cache, struct header *header)
{
	struct header found, same;
	uint64_t bytes = sizeof(found);
	struct stat status;

	if (fstat(cache, &status) || read(cache, &found, sizeof(found)) != (ssize_t)sizeof(found))
		return false;
	same = found;
	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		if (found.part[i].bytes > DWARF_UNPACK_KEPT_MAX ||
			(found.part[i].bytes && !header->part[i].source_bytes))
			return false;
		bytes += found.part[i].bytes;
		same.part[i].bytes = 0;
	}
	if (memcmp(&same, header, sizeof(same)) != 0 || bytes != (uint64_t)status.st_size)
		return false;
	*header = found;
	return true;
}

/* Have the sections in the cache's file @name, which is as @header says. Returns whether it is. */
static bool find_kept(struct dwarf_sections *sections, struct header *header, const char *name)
{
	int cache = cache_file_open(name);
	uint64_t at = sizeof(*header);

	if (cache < 0)
		return false;
	if (!read_header(cache, header)) {
		close(cache);
		return false;
	}
	sections->cache = cache;
	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		if (!header->part[i].bytes)
			continue;
		sections->section[i] = (struct dwarf_section){
			.fd = cache, .file_offset = at, .bytes = header->part[i].bytes};
		at += header->part[i].bytes;
	}
	return true;
}

static void keep(const struct dwarf_sections *sections, struct header *header, const char *name)
{
	struct iovec parts[DWARF_SECTION_COUNT + 1] = {{header, sizeof(*header)}};
	uint64_t bytes = 0;
	int count = 1;

	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		const struct dwarf_section *section = &sections->section[i];

		if (!section->unpacked)
			continue;
		header->part[i].bytes = section->bytes;
		parts[count++] = (struct iovec){section->unpacked, section->bytes};
		bytes += section->bytes;
	}
	if (bytes >= DWARF_UNPACK_KEPT_MIN && bytes <= DWARF_UNPACK_KEPT_MAX)
		cache_file_replace(name, parts, count);
}

int dwarf_unpack(struct dwarf_sections *sections, const struct elf_file *file,
	const struct dwarf_packed packed[DWARF_SECTION_COUNT])
{
	uint64_t bytes_max = UNPACKED_MAX;
	struct header header;
	char name[NAME_BYTES];
	bool is_known = describe(file, packed, &header, name);
	int error = 0;

	if (is_known && find_kept(sections, &header, name))
		return 0;
	for (int i = 0; i < DWARF_SECTION_COUNT && !error; i++) {
		if (!packed[i].section)
			continue;
		error = unpack_section(&sections->section[i], &packed[i], bytes_max);
		bytes_max -= sections->section[i].bytes;
	}
	if (is_known && !error)
		keep(sections, &header, name);
	return error;
}
