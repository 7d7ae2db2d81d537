/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read names, files and lines of HotSpot's methods.
 *
 *	Method ─▶ ConstMethod ─▶ ConstantPool ─▶ InstanceKlass ─▶ Symbol: name of the class
 *	          │              └ [index] ─▶ Symbol: name of the method, of the source file
 *	          └ bytecode, then lines by bytecode index
 *
 * A Method does not move, but is freed with its class, and its memory is soon reused for another
 * Method. So names are part of a method's identity.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/hotspot.h"

#define WORD sizeof(uintptr_t)

/* ---- identity -------------------------------------------------------------------------------- */

/* Addresses of the parts of a method. */
struct parts {
	uintptr_t fixed, constants, klass, name; /* `fixed`: ConstMethod; names: Symbols */
	uint32_t flags;
	uint16_t code_bytes, name_index;
	uint64_t hash; /* of the ConstMethod's contents */
};

/* Bytes of the largest ConstMethod that is read, without its bytecode. */
#define CONST_BYTES 64u

static int load_constant(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t constants, unsigned index, uintptr_t *out)
{
	uint32_t length = hotspot_load_int(reader, constants + at->constants_length);

	if (!index || index >= length)
		return -EBADMSG;
	*out = hotspot_load_pointer(reader, constants + at->constants_size + index * WORD);
	return *out && !(*out & (WORD - 1)) ? 0 : -EBADMSG;
}

static int read_fixed(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t method, struct parts *out)
{
	char fixed[CONST_BYTES];

	if (!method || method & (WORD - 1))
		return -EBADMSG;
	out->fixed = hotspot_load_pointer(reader, method + at->method_const);
	if (!out->fixed || out->fixed & (WORD - 1) || at->const_size > sizeof(fixed) ||
		runtime_load(reader, out->fixed, fixed, at->const_size))
		return -EBADMSG;
	out->constants = runtime_word_in(fixed, at->constants);
	out->flags = (uint32_t)hotspot_field_in(fixed, at->const_flags);
	out->code_bytes = runtime_short_in(fixed, at->code_bytes);
	out->name_index = runtime_short_in(fixed, at->name_index);
	out->hash = method;
	for (uint32_t i = 0; i + WORD <= at->const_size; i += WORD)
		out->hash = runtime_mix(out->hash, runtime_word_in(fixed, i));
	return !out->constants || out->constants & (WORD - 1) ? -EBADMSG : 0;
}

static int find_names(
	const struct hotspot_offsets *at, struct runtime_reader *reader, struct parts *out)
{
	uintptr_t holder;

	holder = hotspot_load_pointer(reader, out->constants + at->holder);
	if (!holder || holder & (WORD - 1))
		return -EBADMSG;
	out->klass = hotspot_load_pointer(reader, holder + at->klass_name);
	if (!out->klass || out->klass & (WORD - 1))
		return -EBADMSG;
	return load_constant(at, reader, out->constants, out->name_index, &out->name);
}

static uint16_t length_of(
	const struct hotspot_offsets *at, struct runtime_reader *reader, uintptr_t symbol)
{
	uint16_t length;

	return runtime_load(reader, symbol + at->symbol_length, &length, sizeof(length)) ? 0
											 : length;
}

/* Mix @symbol's length and end into @hash, because generated names differ only at the end. */
static uint64_t mix_symbol(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uint64_t hash, uintptr_t symbol)
{
	uint16_t length = length_of(at, reader, symbol);
	uint64_t end[2] = {length, 0};
	unsigned bytes = length < WORD ? length : WORD;

	runtime_load(reader, symbol + at->symbol_text + length - bytes, &end[1], bytes);
	return runtime_mix(runtime_mix(runtime_mix(hash, symbol), end[0]), end[1]);
}

/* Set @out to a method. The contract of hotspot_read_method() describes the result. */
static void fill_method(const struct runtime *runtime, uintptr_t method, uint64_t identity,
	uintptr_t fixed, uint32_t code_bytes, int has_lines, struct runtime_frame *out)
{
	*out = (struct runtime_frame){
		.function = method,
		.identity = identity,
		.position = -1,
		.code = fixed + hotspot_offsets_of(runtime)->const_size,
		.start = code_bytes,
		.first_line = has_lines ? RUNTIME_LINE_LATER : 0,
		.lines = has_lines ? fixed : 0,
		.name = method,
		.file = method,
	};
}

/* The cached words of a method are: identity, ConstMethod, bytecode size << 1 | has lines. */
#define FACT_HAS_LINES 1u

int hotspot_find_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, uintptr_t method, struct runtime_frame *out)
{
	uint64_t words[RUNTIME_CACHE_WORDS];

	if (!runtime_cache_find(reader, runtime_mix(key, method), words))
		return 0;
	fill_method(runtime, method, words[0], words[1], (uint32_t)(words[2] >> 1),
		words[2] & FACT_HAS_LINES, out);
	return 1;
}

void hotspot_keep_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, const struct runtime_frame *frame)
{
	uint64_t words[RUNTIME_CACHE_WORDS] = {frame->identity,
		frame->code - hotspot_offsets_of(runtime)->const_size,
		(uint64_t)frame->start << 1 | !!frame->lines};

	runtime_cache_keep(reader, runtime_mix(key, frame->function), words);
}

static int read_identity(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t method, struct parts *parts, uint64_t *identity)
{
	int error = find_names(at, reader, parts);

	if (error)
		return error;
	if (!length_of(at, reader, parts->klass) || !length_of(at, reader, parts->name))
		return -EBADMSG;
	/* Mix word by word: two methods of the same name may have equal XORs of their words. */
	*identity = runtime_mix(runtime_mix(0, method), parts->fixed);
	*identity = mix_symbol(at, reader, *identity, parts->klass);
	*identity = mix_symbol(at, reader, *identity, parts->name);
	return 0;
}

/* The ConstMethod is the cache key, because it has the same names until a class is unloaded. */
int hotspot_read_method(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t method, struct runtime_frame *out)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	struct parts parts;
	int error = read_fixed(at, reader, method, &parts);
	uint64_t identity, key;

	if (error)
		return error;
	key = runtime_mix(parts.hash, hotspot_epoch(runtime, reader));
	if (hotspot_find_method(runtime, reader, key, method, out))
		return 0;
	error = read_identity(at, reader, method, &parts, &identity);
	if (error)
		return error;
	fill_method(runtime, method, identity, parts.fixed, parts.code_bytes,
		parts.flags & at->has_lines, out);
	/* Do not cache for another process: its count of unloads may come from an old window. */
	if (reader->is_own &&
		hotspot_load_unloaded(runtime, reader) == hotspot_cache(runtime, reader)->unloaded)
		hotspot_keep_method(runtime, reader, key, out);
	return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */
/*
 * The table of lines follows the bytecode. It is a list of increments of bytecode index and line.
 * An entry is one byte with both increments, in 5 and 3 bits; or it is 0xff and two numbers with
 * the sign in the lowest bit. A byte 0 ends the list (code/compressedStream.hpp).
 */
#define LINES_MAX 65536u
#define FAR	  0xffu
/* A byte of at least this value is not the last one of its number. */
#define LEAST_OF_TWO 192u
#define NUMBER_BYTES 5u

/*
 * Read a number in base 64, lowest digit first (UNSIGNED5). From JDK 20 on, digits count from 1, so
 * that no byte is 0. HotSpot's tables do not say which encoding is used. But JDK 20 also removed
 * the sweeper, so digits count from 1 if there is no sweeper.
 */
int hotspot_read_number(const struct hotspot_offsets *offsets, struct runtime_reader *reader,
	uintptr_t *at, uint32_t *value)
{
	uint32_t zero = offsets->sweeper ? 0 : 1;
	uint8_t byte;

	*value = 0;
	for (unsigned i = 0; i < NUMBER_BYTES; i++) {
		if (runtime_load(reader, (*at)++, &byte, 1))
			return -EFAULT;
		if (byte < zero)
			return -EBADMSG;
		*value += (byte - zero) << 6 * i;
		if (byte < LEAST_OF_TWO)
			break;
	}
	return 0;
}

static int32_t with_sign(uint32_t value)
{
	return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

/*
 * Add the next entry of the line table to @bci and @line. Returns 1, or 0 at the end of the table.
 */
static int next_line(const struct hotspot_offsets *offsets, struct runtime_reader *reader,
	uintptr_t *at, int32_t *bci, int32_t *line)
{
	uint32_t more[2];
	uint8_t byte;

	if (runtime_load(reader, (*at)++, &byte, 1) || !byte)
		return 0;
	if (byte != FAR) {
		*bci += byte >> 3;
		*line += byte & 7;
		return 1;
	}
	for (unsigned i = 0; i < 2; i++)
		if (hotspot_read_number(offsets, reader, at, &more[i]))
			return 0;
	*bci += with_sign(more[0]);
	*line += with_sign(more[1]);
	return 1;
}

/*
 * Returns the line of the last entry at or before @bci in the method's table of lines. If @bci is
 * -1, returns the smallest line in the table.
 */
static uint32_t find_line(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t fixed, int32_t bci)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	int32_t found = 0, best = -1, place = 0, line = 0;
	uint16_t bytes = 0;
	uintptr_t next;

	if (!fixed || runtime_load(reader, fixed + at->code_bytes, &bytes, sizeof(bytes)))
		return 0;
	next = fixed + at->const_size + bytes;
	for (unsigned n = 0; n < LINES_MAX && next_line(at, reader, &next, &place, &line); n++) {
		if (bci < 0 ? !found || line < found : place <= bci && place >= best) {
			found = line;
			best = place;
		}
		if (place == bci)
			break;
	}
	return found > 0 ? (uint32_t)found : 0;
}

uint32_t hotspot_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	if (frame->position == RUNTIME_POSITION_FIRST)
		return find_line(runtime, reader, frame->lines, -1);
	return frame->position < 0 ? 0 : find_line(runtime, reader, frame->lines, frame->position);
}

/* ---- texts ----------------------------------------------------------------------------------- */

#define CALL_STUB "call_stub"
#define FROZEN	  "[frozen frames]"

static uint32_t put_constant(char *out, uint32_t room, const char *text)
{
	uint32_t used = runtime_put_text(out, room - 1, text);

	out[used] = '\0';
	return used + 1;
}

static uint32_t copy_text(struct runtime_reader *reader, uintptr_t at, char *out, uint32_t room)
{
	uint32_t used = runtime_load_text(reader, at, room - 1, out, room - 1, 0);

	out[used] = '\0';
	return used + 1;
}

static int is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/*
 * Returns the length of a class name without the address at the end of a hidden class's name
 * ("Main$$Lambda$14+0x0000000800c03000"), because the address differs in each execution.
 */
static uint32_t without_address(const char *name, uint32_t length)
{
	uint32_t at = length;

	while (at && is_hex(name[at - 1]))
		at--;
	return at >= 3 && at < length && name[at - 1] == 'x' && name[at - 2] == '0' &&
			       name[at - 3] == '+'
		       ? at - 3
		       : length;
}

/* Copy a symbol, with '/' replaced by @slash, controls by '?'. Returns the number of bytes. */
static uint32_t copy_symbol(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t symbol, char slash, char *out, uint32_t room)
{
	uint32_t length = length_of(at, reader, symbol);

	if (length >= room)
		length = room - 1;
	if (length && runtime_load(reader, symbol + at->symbol_text, out, length))
		length = 0;
	for (uint32_t i = 0; i < length; i++) {
		if (out[i] == '/')
			out[i] = slash;
		else if ((unsigned char)out[i] < ' ')
			out[i] = '?';
	}
	out[length] = '\0';
	return length;
}

static uint32_t copy_file(const struct runtime *runtime, struct runtime_reader *reader,
	const struct parts *parts, char *out, uint32_t room)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uint16_t index = 0;
	uintptr_t symbol;

	out[0] = '\0';
	if (runtime_load(reader, parts->constants + at->source_index, &index, sizeof(index)) ||
		load_constant(at, reader, parts->constants, index, &symbol))
		return 1;
	return copy_symbol(at, reader, symbol, '/', out, room) + 1;
}

uint32_t hotspot_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	struct parts parts;
	uint32_t used;

	out[0] = '\0';
	if (address == HOTSPOT_TEXT)
		return put_constant(out, room, CALL_STUB);
	if (address == HOTSPOT_FROZEN)
		return put_constant(out, room, FROZEN);
	if (address & HOTSPOT_TEXT)
		return copy_text(reader, address & ~HOTSPOT_TEXT, out, room);
	if (!address || read_fixed(at, reader, address, &parts) || find_names(at, reader, &parts))
		return 1;
	if (keep_end)
		return copy_file(runtime, reader, &parts, out, room);
	used = copy_symbol(at, reader, parts.klass, '.', out, room);
	used = without_address(out, used);
	if (used + 2 < room)
		out[used++] = '.';
	return used + copy_symbol(at, reader, parts.name, '/', out + used, room - used) + 1;
}
