/* SPDX-License-Identifier: MIT */
/*
 * Read a window of each section by pread(2); threads share only the file descriptor. libdw would
 * read or map whole sections, which takes hundreds of megabytes for a kernel, and a mapping gives
 * SIGBUS if the file is truncated meanwhile.
 *
 * A hostile file can make readers follow offsets forever. So the bytes of each loaded window are
 * subtracted from a limit, which is a multiple of the work that a valid file needs.
 */
#include "cli/symbols/dwarf_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

/*
 * The work limit in bytes is WORK_BYTES + WORK_TIMES * size of all sections. Finding 10,000
 * addresses in all units of a kernel reads its sections about once.
 */
#define WORK_TIMES 8u
#define WORK_BYTES (16u << 20)
#define SEEK_BYTES 64u /* minimum charge per window load */

/* Maximum number of unpacked bytes of one file. */
#define UNPACKED_MAX ((uint64_t)2 << 30)

static const char *const names[DWARF_SECTION_COUNT] = {
	[DWARF_INFO] = "info",
	[DWARF_ABBREV] = "abbrev",
	[DWARF_LINE] = "line",
	[DWARF_LINE_STR] = "line_str",
	[DWARF_STR] = "str",
	[DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",
	[DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists",
	[DWARF_CU_INDEX] = "cu_index",
};

/* ---- unpacking ------------------------------------------------------------------------------- */

/*
 * Decompress sections: distributions compress the sections of debug files. Inflating the 9 MB of
 * libc's debug file takes 40 ms with zlib and 16 ms with libdeflate, which is used if it is
 * installed at build time.
 */
/* ELFCOMPRESS_ZSTD, which old headers lack */
#define COMPRESS_ZSTD 2u

/* The largest compression ratio of Deflate. */
#define DEFLATE_RATIO 1032u

/* Inflate @from_bytes at @from into @to. Returns whether the result has exactly @bytes. */
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

/* Unpack @bytes into @section; leave it empty if the data is broken. Returns 0 or -ENOMEM. */
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

/*
 * Unpack @packed, of at most ELF_FILE_SECTION_MAX bytes, into @section, which owns the result.
 * @section stays empty if the data is broken, its unpacked size is larger than @bytes_max, or its
 * compression is unknown. Returns 0 or -ENOMEM.
 */
static int unpack_section(struct dwarf_section *section, Elf_Scn *packed, uint64_t bytes_max)
{
	Elf_Data *data = elf_rawdata(packed, NULL);
	const uint8_t *from = data ? data->d_buf : NULL;
	Elf64_Chdr about;

	if (!from || data->d_size < sizeof(about))
		return 0;
	memcpy(&about, from, sizeof(about));
	if (!about.ch_size || about.ch_size > ELF_FILE_SECTION_MAX || about.ch_size > bytes_max ||
		(about.ch_type == ELFCOMPRESS_ZLIB &&
			about.ch_size / DEFLATE_RATIO > data->d_size) ||
		(about.ch_type != ELFCOMPRESS_ZLIB && about.ch_type != COMPRESS_ZSTD))
		return 0;
	return unpack(section, from + sizeof(about), data->d_size - sizeof(about), about.ch_size,
		about.ch_type == COMPRESS_ZSTD);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Return the section with this @name, or DWARF_SECTION_COUNT if the section is not needed. */
static enum dwarf_section_name find_name(const char *name, bool is_split)
{
	static const char prefix[] = ".debug_";
	enum dwarf_section_name i = 0;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return DWARF_SECTION_COUNT;
	name += sizeof(prefix) - 1;
	for (; i < DWARF_SECTION_COUNT; i++) {
		size_t bytes = strlen(names[i]);

		if (!strncmp(name, names[i], bytes) &&
			!strcmp(name + bytes, is_split && i != DWARF_CU_INDEX ? ".dwo" : ""))
			break;
	}
	return i;
}

/* Set @section to the uncompressed ELF section @scn. */
static void add_section(const struct elf_file *file, struct dwarf_section *section, Elf_Scn *scn,
	const GElf_Shdr *header)
{
	Elf_Data *data;

	if (file->fd >= 0) {
		section->fd = file->fd;
		section->file_offset = header->sh_offset;
		section->bytes =
			header->sh_offset > INT64_MAX - header->sh_size ? 0 : header->sh_size;
		return;
	}
	data = elf_rawdata(scn, NULL);
	if (data && data->d_buf) {
		section->memory = data->d_buf;
		section->bytes = data->d_size;
	}
}

static int find_sections(struct dwarf_sections *sections, const struct elf_file *file,
	bool is_split, size_t strings)
{
	uint64_t unpacked_max = UNPACKED_MAX;
	Elf_Scn *scn = NULL;
	int error = 0;

	while (!error && (scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(scn, &header)
					   ? elf_strptr(file->elf, strings, header.sh_name)
					   : NULL;
		enum dwarf_section_name i = name ? find_name(name, is_split) : DWARF_SECTION_COUNT;
		struct dwarf_section *section = &sections->section[i];

		if (i == DWARF_SECTION_COUNT || header.sh_type == SHT_NOBITS || section->bytes)
			continue;
		if (!(header.sh_flags & SHF_COMPRESSED)) {
			add_section(file, section, scn, &header);
		} else if (header.sh_size <= ELF_FILE_SECTION_MAX) {
			error = unpack_section(section, scn, unpacked_max);
			unpacked_max -= section->bytes;
		}
	}
	return error;
}

int dwarf_sections_init(struct dwarf_sections *sections, const struct elf_file *file, bool is_split)
{
	size_t strings;
	int error;

	*sections = (struct dwarf_sections){.bytes = 0};
	if (elf_getshdrstrndx(file->elf, &strings))
		return -ENOENT;
	error = find_sections(sections, file, is_split, strings);
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		sections->bytes += sections->section[i].bytes;
	if (!error && !sections->section[DWARF_INFO].bytes)
		error = -ENOENT;
	if (error)
		dwarf_sections_release(sections);
	else
		sections->work_max = WORK_BYTES + WORK_TIMES * sections->bytes;
	return error;
}

void dwarf_sections_release(struct dwarf_sections *sections)
{
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		free(sections->section[i].unpacked);
	*sections = (struct dwarf_sections){.bytes = 0};
}

/* ---- cursors --------------------------------------------------------------------------------- */

void cursor_init(struct cursor *cursor, struct dwarf_sections *sections,
	enum dwarf_section_name name, size_t window_bytes)
{
	*cursor = (struct cursor){
		.sections = sections,
		.section = &sections->section[name],
		.window_bytes = window_bytes,
	};
	cursor_seek(cursor, 0, UINT64_MAX);
}

void cursor_release(struct cursor *cursor)
{
	free(cursor->buffer);
	*cursor = (struct cursor){0};
}

static const uint8_t nothing[1];

static void fail(struct cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->end;
}

/* Move the cursor to @offset, which must be in the loaded window. */
static void point(struct cursor *cursor, uint64_t offset)
{
	const uint8_t *loaded = cursor->section->memory
					? cursor->section->memory + cursor->loaded_offset
					: cursor->buffer;
	uint64_t end = cursor->loaded_offset + cursor->loaded_bytes;

	cursor->end_offset = end < cursor->limit ? end : cursor->limit;
	cursor->at = loaded + (offset - cursor->loaded_offset);
	cursor->end = loaded + (cursor->end_offset - cursor->loaded_offset);
}

void cursor_seek(struct cursor *cursor, uint64_t offset, uint64_t limit)
{
	cursor->limit = limit < cursor->section->bytes ? limit : cursor->section->bytes;
	cursor->failed = !atomic_load_explicit(&cursor->sections->work_max, memory_order_relaxed);
	if (cursor->failed || offset > cursor->limit) {
		offset = cursor->limit;
		cursor->failed = true;
	}
	if (offset >= cursor->loaded_offset &&
		offset - cursor->loaded_offset < cursor->loaded_bytes) {
		point(cursor, offset);
		return;
	}
	cursor->at = cursor->end = nothing;
	cursor->end_offset = offset;
}

static bool charge(struct dwarf_sections *sections, uint64_t bytes)
{
	uint64_t cost = bytes < SEEK_BYTES ? SEEK_BYTES : bytes;
	uint64_t before = atomic_load_explicit(&sections->work_max, memory_order_relaxed);

	do {
		if (before < cost) {
			atomic_store_explicit(&sections->work_max, 0, memory_order_relaxed);
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(&sections->work_max, &before, before - cost,
		memory_order_relaxed, memory_order_relaxed));
	return true;
}

void cursor_charge(struct cursor *cursor, uint64_t bytes)
{
	if (!charge(cursor->sections, bytes))
		fail(cursor);
}

/* Read up to @bytes of the section from @offset into the buffer. Returns how many were read. */
static size_t read_window(struct cursor *cursor, uint64_t offset, size_t bytes)
{
	size_t have = 0;

	if (!cursor->buffer)
		cursor->buffer = malloc(cursor->window_bytes);
	while (cursor->buffer && have < bytes) {
		ssize_t got = pread(cursor->section->fd, cursor->buffer + have, bytes - have,
			(off_t)(cursor->section->file_offset + offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

bool cursor_load(struct cursor *cursor, size_t bytes)
{
	uint64_t offset = cursor_offset(cursor);
	uint64_t rest = cursor->limit - offset;
	size_t window = rest < cursor->window_bytes ? (size_t)rest : cursor->window_bytes;

	if (cursor->failed || bytes > window || !charge(cursor->sections, window)) {
		fail(cursor);
		return false;
	}
	cursor->loaded_offset = offset;
	cursor->loaded_bytes =
		cursor->section->memory ? window : read_window(cursor, offset, window);
	point(cursor, offset);
	if (cursor->loaded_bytes < bytes)
		fail(cursor);
	return !cursor->failed;
}

const char *cursor_text(struct cursor *cursor)
{
	const uint8_t *end = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
	const char *text;

	if (!end && cursor_load(cursor, 1))
		end = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
	if (!end) {
		fail(cursor);
		return NULL;
	}
	text = (const char *)cursor->at;
	cursor->at = end + 1;
	return text;
}

void cursor_skip_text(struct cursor *cursor)
{
	const uint8_t *end = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));

	while (!end) {
		cursor->at = cursor->end;
		if (!cursor_load(cursor, 1))
			return;
		end = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
	}
	cursor->at = end + 1;
}

/* Read a LEB128 number. Bits beyond the 64th are dropped. @is_signed: extend the sign bit. */
static uint64_t read_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor_byte(cursor);
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		number |= UINT64_MAX << shift;
	return number;
}

uint64_t cursor_uleb_long(struct cursor *cursor)
{
	return read_leb(cursor, false);
}

int64_t cursor_sleb(struct cursor *cursor)
{
	return (int64_t)read_leb(cursor, true);
}

void cursor_skip_far(struct cursor *cursor, uint64_t bytes)
{
	uint64_t offset = cursor_offset(cursor);

	if (cursor->failed || bytes > cursor->limit - offset)
		fail(cursor);
	else
		cursor_seek(cursor, offset + bytes, cursor->limit);
}
