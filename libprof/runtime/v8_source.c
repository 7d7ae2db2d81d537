/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read texts, scripts and the lines of their source from V8's objects, even while V8 moves objects.
 */
#include "libprof/runtime/v8.h"

#include <errno.h>
#include <string.h>

#define STRING_KIND	  7u /* masks of a string's type */
#define STRING_SEQUENTIAL 0u
#define STRING_CONS	  1u
#define STRING_EXTERNAL	  2u
#define STRING_SLICED	  3u
#define STRING_THIN	  5u
#define STRING_ONE_BYTE	  8u
#define STRING_UNCACHED	  16u
/* The offset, in an external string, of the pointer to the characters. */
#define STRING_DATA	  24u
/* The offset of the referred string in a cons, thin or sliced string. */
#define STRING_FIRST	  16u
#define STRING_SECOND	  24u
#define STRING_OFFSET	  24u /* in a sliced string */
#define STRINGS_DEEP	  16u

/* ---- objects --------------------------------------------------------------------------------- */

int v8_load_type(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type)
{
	uintptr_t map;
	uint16_t value;

	if (!v8_is_object(word))
		return -EBADMSG;
	*at = word - V8_HEAP_OBJECT;
	if (runtime_load_word(reader, *at, &map))
		return -EFAULT;
	if (!(map & V8_HEAP_OBJECT_MASK)) {
		*at = map;
		if (runtime_load_word(reader, *at, &map))
			return -EFAULT;
	}
	if (!v8_is_object(map))
		return -EBADMSG;
	if (runtime_load(reader, map - V8_HEAP_OBJECT + V8_TYPE_OF_MAP, &value, sizeof(value)))
		return -EFAULT;
	*type = value;
	return 0;
}

int v8_load_object(struct runtime_reader *reader, uintptr_t field, uint32_t type, uintptr_t *at)
{
	uintptr_t word;
	uint32_t found;
	int error = runtime_load_word(reader, field, &word);

	if (!error)
		error = v8_load_type(reader, word, at, &found);
	return error ? error : found == type ? 0 : -EBADMSG;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Consecutive characters of a string. */
struct piece {
	uintptr_t at;
	uint32_t length, bytes; /* per character: 1 or 2 */
};

int v8_has_text(struct runtime_reader *reader, uintptr_t word)
{
	uint32_t type, length;
	uintptr_t at;
	int error;

	if (v8_is_number(word))
		return 0;
	error = v8_load_type(reader, word, &at, &type);
	if (error || type >= V8_STRING_TYPES)
		return error;
	if (runtime_load(reader, at + V8_STRING_LENGTH, &length, sizeof(length)))
		return -EFAULT;
	return length != 0;
}

/* Load the address, type and length of the string at @word. */
static int load_string(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type,
	uint32_t *length)
{
	int error = v8_load_type(reader, word, at, type);

	if (error || *type >= V8_STRING_TYPES)
		return error ? error : -EBADMSG;
	return runtime_load(reader, *at + V8_STRING_LENGTH, length, sizeof(*length)) ? -EFAULT : 0;
}

static int load_halves(
	struct runtime_reader *reader, uintptr_t cons, uintptr_t *first, uintptr_t *second)
{
	return runtime_load_word(reader, cons + STRING_FIRST, first) ||
			       runtime_load_word(reader, cons + STRING_SECOND, second)
		       ? -EFAULT
		       : 0;
}

/*
 * Find the characters of the string @word. Returns 0 with @out set; 1 if the string is the
 * concatenation of the strings *@first and *@second; or -errno.
 */
static int find_piece(struct runtime_reader *reader, uintptr_t word, struct piece *out,
	uintptr_t *first, uintptr_t *second)
{
	uintptr_t at, unused, offset = 0;
	uint32_t type, length, first_type, first_length, whole = UINT32_MAX;
	int error;

	for (unsigned n = 0; n < STRINGS_DEEP; n++) {
		error = load_string(reader, word, &at, &type, &length);
		if (error)
			return error;
		if (whole == UINT32_MAX)
			whole = length;
		switch (type & STRING_KIND) {
		case STRING_CONS:
			error = load_halves(reader, at, first, second);
			if (!error)
				error = load_string(
					reader, *first, &unused, &first_type, &first_length);
			if (error)
				return error;
			/* In a flattened cons string, the first half has all characters. */
			error = first_length == length ? 0 : v8_has_text(reader, *second);
			if (error)
				return error < 0 || n ? -EBADMSG : 1;
			break;
		case STRING_SLICED:
			if (runtime_load_word(reader, at + STRING_OFFSET, &offset) ||
				!v8_is_number(offset))
				return -EBADMSG;
			offset = v8_number(offset);
			break;
		case STRING_THIN:
			break;
		case STRING_EXTERNAL:
		case STRING_SEQUENTIAL:
			if (offset > length || whole > length - offset)
				return -EBADMSG;
			out->bytes = type & STRING_ONE_BYTE ? 1 : 2;
			out->length = whole;
			if ((type & STRING_KIND) == STRING_SEQUENTIAL)
				out->at = at + V8_STRING_CHARACTERS;
			else if (type & STRING_UNCACHED ||
				 runtime_load_word(reader, at + STRING_DATA, &out->at))
				return -EBADMSG;
			out->at += offset * out->bytes;
			return 0;
		default:
			return -EBADMSG;
		}
		if (runtime_load_word(reader, at + STRING_FIRST, &word))
			return -EFAULT;
	}
	return -EBADMSG;
}

/* Returns UTF-16 unit @i, or 0 if it cannot be read. */
static uint32_t load_character(struct runtime_reader *reader, const struct piece *piece, uint32_t i)
{
	uint16_t character = 0;

	if (i >= piece->length || runtime_load(reader, piece->at + (uintptr_t)i * piece->bytes,
					  &character, piece->bytes))
		return 0;
	return character;
}

static uint32_t add_piece(struct runtime_reader *reader, const struct piece *piece, uint32_t from,
	char *out, uint32_t room)
{
	uint32_t used = 0;

	/* As UTF-8, a character takes up to four bytes. Stop only if a character might not fit. */
	for (uint32_t i = from; i < piece->length && used + 4 < room; i++) {
		uint32_t character = load_character(reader, piece, i);
		uint32_t next =
			(character & 0xfc00) == 0xd800 ? load_character(reader, piece, i + 1) : 0;

		if ((next & 0xfc00) == 0xdc00) {
			character = 0x10000 + ((character & 0x3ff) << 10 | (next & 0x3ff));
			i++;
		}
		used += runtime_encode(character, out + used);
	}
	return used;
}

#define ANONYMOUS "(anonymous)"

uint32_t v8_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end)
{
	uintptr_t rest[STRINGS_DEEP] = {address}, first, second;
	unsigned count = address != 0;
	uint32_t used = 0;
	struct piece piece;

	(void)runtime;
	if (!address) {
		used = sizeof(ANONYMOUS) - 1;
		memcpy(out, keep_end ? "<anonymous>" : ANONYMOUS, sizeof(ANONYMOUS));
	}
	for (unsigned n = 0; count && n < 2 * STRINGS_DEEP; n++) {
		int found = find_piece(reader, rest[--count], &piece, &first, &second);
		uint32_t from = 0;

		if (found < 0)
			break;
		if (found && count + 2 > STRINGS_DEEP)
			break;
		if (found) {
			rest[count++] = second;
			rest[count++] = first;
			continue;
		}
		if (keep_end && piece.length > room / 4)
			from = piece.length - room / 4;
		used += add_piece(reader, &piece, from, out + used, room - used);
	}
	out[used] = '\0';
	return used + 1;
}

/* Returns the hash of @hash and of the characters of the string @word. */
static uint64_t hash_text(struct runtime_reader *reader, uint64_t hash, uintptr_t word)
{
	char text[RUNTIME_FILE_BYTES];
	uintptr_t first, second;
	struct piece piece;
	uint32_t bytes;
	uint64_t part;

	if (word && !find_piece(reader, word, &piece, &first, &second) &&
		piece.length <= sizeof(text) / piece.bytes &&
		!runtime_load(reader, piece.at, text, (size_t)piece.length * piece.bytes))
		bytes = piece.length * piece.bytes;
	else
		bytes = v8_text(NULL, reader, word, text, sizeof(text), 1);
	for (uint32_t i = 0; i < bytes; i += 8) {
		part = 0;
		memcpy(&part, text + i, bytes - i < 8 ? bytes - i : 8);
		hash = runtime_mix(hash, part);
	}
	return hash;
}

/* ---- lines ----------------------------------------------------------------------------------- */

#define BLOCK	       4096u	    /* characters */
#define BLOCKS_AT_ONCE 128u	    /* counted in one walk */
#define MARK_BLOCKS    16u	    /* between cached counts */
/* A bit that distinguishes the cache keys of positions from those of blocks. */
#define POSITION_KEYS  (1ULL << 32)
#define CHUNK	       RUNTIME_WINDOW_BYTES

/* Count the line ends in @count characters of @width bytes at @text, which @next follows. */
static inline __attribute__((always_inline)) uint32_t count_in(
	const uint8_t *text, uint32_t width, uint32_t count, uint32_t next)
{
	uint32_t ends = 0, returns = 0;
	uint16_t character = 0;

	for (uint32_t i = 0; i < count; i++) {
		memcpy(&character, text + (size_t)i * width, width);
		ends += character == '\n' || character == 0x2028 || character == 0x2029;
		returns |= character == '\r';
	}
	for (uint32_t i = count; returns && i--; next = character) {
		memcpy(&character, text + (size_t)i * width, width);
		ends += character == '\r' && next != '\n';
	}
	return ends;
}

/* Count the line ends in the characters [@from, @to) of @piece. Returns their number, or -errno. */
static int64_t count_ends(
	struct runtime_reader *reader, const struct piece *piece, uint32_t from, uint32_t to)
{
	int64_t ends = 0;

	while (from < to) {
		uintptr_t at = piece->at + (uintptr_t)from * piece->bytes;
		uint32_t count = (uint32_t)(CHUNK - at % CHUNK) / piece->bytes, next;
		const uint8_t *text;

		if (count > to - from)
			count = to - from;
		runtime_expect_run(reader, at, (size_t)(to - from) * piece->bytes);
		next = 0;
		/* Load these characters first, because a load may replace the window of @text. */
		if (load_character(reader, piece, from + count - 1) == '\r')
			next = load_character(reader, piece, from + count);
		text = runtime_view(reader, at, (size_t)count * piece->bytes);
		if (!text)
			return -EFAULT;
		ends += piece->bytes == 1 ? count_in(text, 1, count, next)
					  : count_in(text, 2, count, next);
		from += count;
	}
	return ends;
}

static uint64_t key_of_block(uint64_t source, uint32_t block)
{
	return runtime_mix(source, block);
}

/*
 * Returns the last block at or before @block for which the number of earlier line ends is cached,
 * with this number in *@ends; or block 0.
 */
static uint32_t find_counted(
	const struct runtime_reader *reader, uint64_t source, uint32_t block, uint32_t *ends)
{
	if (runtime_cache_find_number(reader, key_of_block(source, block), ends))
		return block;
	for (block -= block % MARK_BLOCKS; block; block -= MARK_BLOCKS)
		if (runtime_cache_find_number(reader, key_of_block(source, block), ends))
			return block;
	*ends = 0;
	return 0;
}

/*
 * Returns the number of line ends before @position in @piece, the source with hash @source. The
 * counts before the position, before its block and before every MARK_BLOCKS-th block are cached,
 * because bundled programs have megabytes in one source. If many blocks have to be counted, returns
 * -EAGAIN, and a later walk continues.
 */
static int64_t count_before(struct runtime_reader *reader, const struct piece *piece,
	uint64_t source, uint32_t position)
{
	uint64_t own_key = runtime_mix(source, POSITION_KEYS | position);
	uint32_t last = position / BLOCK, begin, block, next, known;
	int64_t ends, more;

	if (runtime_cache_find_number(reader, own_key, &known))
		return known;
	begin = block = find_counted(reader, source, last, &known);
	ends = known;
	while (block < last) {
		if (block - begin >= BLOCKS_AT_ONCE)
			return -EAGAIN;
		next = block - block % MARK_BLOCKS + MARK_BLOCKS;
		if (next > last)
			next = last;
		more = count_ends(reader, piece, block * BLOCK, next * BLOCK);
		if (more < 0)
			return more;
		ends += more;
		block = next;
		runtime_cache_keep_number(reader, key_of_block(source, block), (uint32_t)ends);
	}
	more = count_ends(reader, piece, last * BLOCK, position);
	if (more < 0)
		return more;
	runtime_cache_keep_number(reader, own_key, (uint32_t)(ends + more));
	return ends + more;
}

/* Returns the number of line ends before @position by V8's @array of line ends, or -errno. */
static int64_t search_ends(struct runtime_reader *reader, uintptr_t array, uint32_t position)
{
	uintptr_t length, low = 0, high, word;

	if (runtime_load_word(reader, array + V8_ARRAY_LENGTH, &length) || !v8_is_number(length))
		return -EBADMSG;
	high = v8_number(length);
	while (low < high) {
		uintptr_t middle = (low + high) / 2;

		if (runtime_load_word(reader, array + V8_ARRAY_DATA + middle * V8_WORD, &word) ||
			!v8_is_number(word))
			return -EBADMSG;
		if (v8_number(word) < position)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low;
}

/* ---- scripts --------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct v8_script) <= sizeof(((struct runtime_reader *)0)->noted), "noted");

int v8_read_script(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	struct v8_script *out)
{
	uintptr_t number;
	uint32_t type;
	uintptr_t unused;

	if (reader->noted_at == script) {
		memcpy(out, reader->noted, sizeof(*out));
		return 0;
	}
	if (runtime_load_word(reader, script + at->source, &out->source) ||
		runtime_load_word(reader, script + at->script_name, &out->name) ||
		runtime_load_word(reader, script + at->line_ends + V8_WORD, &number))
		return -EFAULT;
	if (!v8_is_object(out->name) || v8_load_type(reader, out->name, &unused, &type) ||
		type >= V8_STRING_TYPES)
		out->name = 0;
	out->hash = hash_text(reader, number, out->name);
	reader->noted_at = script;
	memcpy(reader->noted, out, sizeof(*out));
	return 0;
}

int v8_find_line(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t address,
	uint32_t position, uint32_t *line)
{
	uintptr_t array, first, second;
	struct v8_script script;
	struct piece source;
	int64_t ends;
	int32_t offset;

	if (v8_read_script(at, reader, address, &script) ||
		runtime_load(
			reader, address + at->script_name + V8_WORD + 4, &offset, sizeof(offset)))
		return -EFAULT;
	if (!v8_load_object(reader, address + at->line_ends, at->array_type, &array)) {
		ends = search_ends(reader, array, position);
	} else {
		if (find_piece(reader, script.source, &source, &first, &second) ||
			position > source.length)
			return -EBADMSG;
		ends = count_before(reader, &source, script.hash, position);
	}
	if (ends < 0 || ends + offset < 0)
		return ends < 0 ? (int)ends : -EBADMSG;
	*line = (uint32_t)(ends + offset + 1);
	return 0;
}
