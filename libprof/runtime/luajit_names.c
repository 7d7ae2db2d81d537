/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Find names and lines of LuaJIT's functions. Functions have no names of their own. If one of a
 * function's callers defines the function, it is named after the variable to which the caller
 * assigns it. Otherwise the function is named after the instruction that calls it, as in LuaJIT's
 * own traceback, or it is "function". Lua's reader (lua_code.c) prefers the calling instruction.
 * LuaJIT does not record tail calls, so its calling instruction may have called another function.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/luajit.h"

/* Number 0 is 'a' in `events`. */
static const char event_names[][11] = {"__lt", "__le", "__eq", "__unm", "__len", "__add",
	"__sub", "__mul", "__div", "__mod", "__pow", "__concat", "__gc", "__index", "__newindex"};
#define EVENTS (sizeof(event_names) / sizeof(event_names[0]))

/*
 * Indexed by opcode. `.` writes no slot, `w` slot A, `B` all slots from A on, `N` slots A to D. M U
 * G S are MOV UGET GGET TGETS; u g t are the corresponding stores. `C` calls, `R` calls an
 * iterator, `K` creates a closure.
 */
static const char opcodes[] = "............ww....Mwwwwwwwwwwwwwwwwwwwwwwwww"
			      "NUu....KwwGgwSww.t.B.CCCCRRBBB...BBBBBBBB............";
static const char events[] = "aabbcccccccc........defghijfghijfghijkl............"
			     "mmmnonnnnooooo................................";

#define KIND_STRING   4u
/* In the list of locals, a byte below this value stands for a loop variable's name; 0 ends it. */
#define NAMES_OF_LOOP 7u
#define LOCALS_MAX    256u
#define SEARCHED_MAX  16384u /* instructions */
#define MOVES_MAX     8u
#define CALLERS_MAX   200u
#define CODE_AT_ONCE  16u

/* ---- lines ----------------------------------------------------------------------------------- */

static uint32_t number_at(struct runtime_reader *reader, uintptr_t address)
{
	uint32_t number = 0;

	return runtime_load(reader, address, &number, sizeof(number)) ? 0 : number;
}

/* For instructions after the first one, `lines` has the distance from the function's first line. */
uint32_t luajit_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	uintptr_t proto = frame->lines - PROTO_BYTES, lines;
	uint32_t count = number_at(reader, proto + PROTO_LINE_COUNT), distance = 0;
	uint32_t bytes = count < 256 ? 1 : count < 65536 ? 2 : 4;

	(void)runtime;
	if (frame->position < 0 || runtime_load_word(reader, proto + PROTO_LINES, &lines) || !lines)
		return 0;
	if (frame->position > 0 &&
		runtime_load(
			reader, lines + ((uint32_t)frame->position - 1) * bytes, &distance, bytes))
		return 0;
	return number_at(reader, proto + PROTO_FIRST_LINE) + distance;
}

/* Write a chunk's source: its file, a name that the host gave it, or its first line. */
static uint32_t copy_source(
	struct runtime_reader *reader, uintptr_t string, char *out, uint32_t room)
{
	uint32_t length = number_at(reader, string + STRING_LENGTH), used, start;
	uintptr_t bytes = string + STRING_BYTES;
	char kind = 0;

	if (!string || runtime_load(reader, bytes, &kind, 1))
		return 0;
	if (kind == '@' || kind == '=')
		return length ? runtime_load_text(reader, bytes + 1, length - 1, out, room, 1) : 0;
	used = runtime_put_text(out, room, "[string \"");
	start = runtime_load_text(reader, bytes, length, out + used, room - used - 2, 0);
	for (uint32_t i = 0; i < start && out[used] != '\n' && out[used] != '\r'; i++)
		used++;
	return used + runtime_put_text(out + used, room - used, "\"]");
}

/* ---- names in instructions ------------------------------------------------------------------- */

/* A function and one of its instructions. */
struct place {
	struct runtime_reader *reader;
	uintptr_t code, proto;
	uint32_t count; /* of the function */
	uint32_t position, instruction;
	/* Index of the instruction in loaded[0]; UINT32_MAX: none is loaded. */
	uint32_t first_loaded, loaded[CODE_AT_ONCE];
};

static uint32_t c_of(uint32_t instruction)
{
	return instruction >> 16 & 0xff;
}

static uint32_t d_of(uint32_t instruction)
{
	return instruction >> 16;
}

static char kind_of(uint32_t instruction)
{
	uint32_t opcode = instruction & 0xff;

	return opcode < sizeof(opcodes) - 1 ? opcodes[opcode] : '.';
}

static int go_to(struct place *place, uint32_t position)
{
	uint32_t first = position / CODE_AT_ONCE * CODE_AT_ONCE, count = place->count - first;

	if (position >= place->count)
		return -ENOENT;
	if (first != place->first_loaded) {
		if (count > CODE_AT_ONCE)
			count = CODE_AT_ONCE;
		place->first_loaded = UINT32_MAX;
		if (runtime_load(place->reader, place->code + first * INSTRUCTION, place->loaded,
			    count * INSTRUCTION))
			return -ENOENT;
		place->first_loaded = first;
	}
	place->position = position;
	place->instruction = place->loaded[position - first];
	return 0;
}

static void enter_function(
	struct place *place, struct runtime_reader *reader, const struct luajit_function *function)
{
	place->reader = reader;
	place->code = function->code;
	place->proto = function->code - PROTO_BYTES;
	place->count = function->code_bytes / INSTRUCTION;
	place->first_loaded = UINT32_MAX;
}

/* Returns the address of the text of constant @number if the constant is a string, or 0. */
static uintptr_t constant_name(const struct place *place, uint32_t number)
{
	uintptr_t constants, object;
	uint8_t kind;

	if (number >= number_at(place->reader, place->proto + PROTO_OBJECTS) ||
		runtime_load_word(place->reader, place->proto + PROTO_CONSTANTS, &constants) ||
		runtime_load_word(place->reader, constants - (number + 1) * VALUE_BYTES, &object) ||
		runtime_load(place->reader, object + OBJECT_KIND, &kind, 1) || kind != KIND_STRING)
		return 0;
	return object + STRING_BYTES;
}

/* Skip the next text, which ends with a NUL. Returns 0, or -1 if it cannot be read. */
static int skip_text(struct runtime_bytes *bytes)
{
	int byte;

	do
		byte = runtime_byte(bytes);
	while (byte > 0);
	return byte;
}

static struct runtime_bytes bytes_at(const struct place *place, uintptr_t at)
{
	return (struct runtime_bytes){.reader = place->reader, .at = at, .end = at + (1u << 16)};
}

/* Returns the address of the next byte to read. */
static uintptr_t address_of(const struct runtime_bytes *bytes)
{
	return bytes->at - (bytes->got - bytes->used);
}

static uintptr_t upvalue_name(const struct place *place, uint32_t number)
{
	struct runtime_bytes bytes;
	uint8_t count;
	uintptr_t names;

	if (runtime_load(place->reader, place->proto + PROTO_UPVALUES, &count, 1) ||
		number >= count ||
		runtime_load_word(place->reader, place->proto + PROTO_UPVALUE_NAMES, &names) ||
		!names)
		return 0;
	bytes = bytes_at(place, names);
	while (number--)
		if (skip_text(&bytes))
			return 0;
	return address_of(&bytes);
}

static uint32_t read_uleb(struct runtime_bytes *bytes)
{
	uint32_t value = 0;
	unsigned shift = 0;
	int byte;

	do {
		byte = runtime_byte(bytes);
		if (byte < 0)
			return UINT32_MAX / 2;
		value |= (uint32_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 32);
	return value;
}

/* Returns the address of the name of the local variable in @slot, or 0. */
static uintptr_t local_name(const struct place *place, uint32_t slot)
{
	struct runtime_bytes bytes;
	uint32_t start = 0, end;
	uintptr_t locals, name;

	if (runtime_load_word(place->reader, place->proto + PROTO_LOCALS, &locals) || !locals)
		return 0;
	bytes = bytes_at(place, locals);
	for (unsigned n = 0; n < LOCALS_MAX; n++) {
		int first;

		name = address_of(&bytes);
		first = runtime_byte(&bytes);
		if (first <= 0 || (first >= (int)NAMES_OF_LOOP && skip_text(&bytes)))
			return 0;
		start += read_uleb(&bytes);
		if (start > place->position)
			return 0;
		end = start + read_uleb(&bytes);
		if (place->position < end && !slot--)
			return first >= (int)NAMES_OF_LOOP ? name : 0;
	}
	return 0;
}

/* Returns the address of the name of the object in @slot at @place, or 0. */
static uintptr_t object_name(struct place *place, uint32_t slot)
{
	uintptr_t name = local_name(place, slot);
	unsigned moves = 0;

	for (unsigned n = 0; !name && place->position > 1 && n < SEARCHED_MAX; n++) {
		uint32_t a;

		if (go_to(place, place->position - 1))
			return 0;
		a = luajit_a(place->instruction);
		switch (kind_of(place->instruction)) {
		case 'N':
			if (slot >= a && slot <= d_of(place->instruction))
				return 0;
			continue;
		case 'B':
		case 'C':
		case 'R':
			if (slot >= a)
				return 0;
			continue;
		case '.':
		case 'u':
		case 'g':
		case 't':
			continue;
		default:
			break;
		}
		if (a != slot)
			continue;
		switch (kind_of(place->instruction)) {
		case 'M':
			slot = d_of(place->instruction);
			if (++moves > MOVES_MAX)
				return 0;
			name = local_name(place, slot);
			continue;
		case 'G':
			return constant_name(place, d_of(place->instruction));
		case 'S':
			return constant_name(place, c_of(place->instruction));
		case 'U':
			return upvalue_name(place, d_of(place->instruction));
		default:
			return 0;
		}
	}
	return name;
}

/* ---- callers --------------------------------------------------------------------------------- */

/* Step from the frame at *@base to its caller, and set *@link to the link. Returns 0 or -errno. */
static int go_outward(struct runtime_reader *reader, uintptr_t *base, struct luajit_link *link)
{
	int error = luajit_read_link(reader, *base, 0, link);

	if (!error && link->is_copied)
		error = luajit_read_link(reader, link->base, 0, link);
	if (!error)
		*base = link->base;
	return error;
}

/* Set @out to the instruction that called the function at @base. Returns 0 or -ENOENT. */
static int find_caller(struct runtime_reader *reader, uintptr_t base, struct place *out)
{
	struct luajit_function function;
	struct luajit_link link;

	if (go_outward(reader, &base, &link) || !link.pc || link.is_native ||
		luajit_read_function(reader, base, &function) || !luajit_has(&function, link.pc))
		return -ENOENT;
	enter_function(out, reader, &function);
	return go_to(out, (uint32_t)((link.pc - function.code) / INSTRUCTION) - 1);
}

/* Returns the name to which the next instruction assigns the closure made at @place, or 0. */
static uintptr_t given_name(struct place *place)
{
	uint32_t slot = luajit_a(place->instruction);

	if (go_to(place, place->position + 1))
		return 0;
	switch (kind_of(place->instruction)) {
	case 'g':
		return luajit_a(place->instruction) == slot
			       ? constant_name(place, d_of(place->instruction))
			       : 0;
	case 't':
		return luajit_a(place->instruction) == slot
			       ? constant_name(place, c_of(place->instruction))
			       : 0;
	case 'u':
		return d_of(place->instruction) == slot
			       ? upvalue_name(place, luajit_a(place->instruction))
			       : 0;
	default:
		return local_name(place, slot);
	}
}

/*
 * Set @place to the instruction that creates the closure with bytecode @code. Returns 0 or -ENOENT.
 */
static int find_closure(struct place *place, uintptr_t code)
{
	uintptr_t constants, object;

	if (runtime_load_word(place->reader, place->proto + PROTO_CONSTANTS, &constants))
		return -ENOENT;
	for (uint32_t at = 1; at < place->count && at < SEARCHED_MAX; at++) {
		if (go_to(place, at))
			return -ENOENT;
		if (kind_of(place->instruction) == 'K' &&
			!runtime_load_word(place->reader,
				constants - (d_of(place->instruction) + 1) * VALUE_BYTES,
				&object) &&
			object == code - PROTO_BYTES)
			return 0;
	}
	return -ENOENT;
}

/* Returns the name to which a caller assigned the function at @base when creating it, or 0. */
static uintptr_t defined_name(struct runtime_reader *reader, uintptr_t base, struct place *place)
{
	struct luajit_function function, caller;
	struct luajit_link link;

	if (luajit_read_function(reader, base, &function))
		return 0;
	for (unsigned n = 0; n < CALLERS_MAX; n++) {
		if (go_outward(reader, &base, &link) || luajit_read_function(reader, base, &caller))
			return 0;
		if (!caller.code)
			continue;
		enter_function(place, reader, &caller);
		if (!find_closure(place, function.code))
			return given_name(place);
	}
	return 0;
}

static uint32_t copy_name(struct runtime_reader *reader, uintptr_t base, char *out, uint32_t room)
{
	const char *name = NULL;
	struct place place;
	uintptr_t found = defined_name(reader, base, &place);
	uint32_t used = 0;

	if (!found && !find_caller(reader, base, &place)) {
		uint32_t opcode = place.instruction & 0xff;

		if (kind_of(place.instruction) == 'C')
			found = object_name(&place, luajit_a(place.instruction));
		else if (kind_of(place.instruction) == 'R')
			name = "for iterator";
		else if (opcode < sizeof(events) - 1 && events[opcode] != '.' &&
			 (unsigned)(events[opcode] - 'a') < EVENTS)
			name = event_names[events[opcode] - 'a'];
	}
	if (found)
		used = runtime_load_text(reader, found, UINT32_MAX, out, room, 0);
	return used ? used : runtime_put_text(out, room, name ? name : "function");
}

uint32_t luajit_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	int is_trusted = reader->is_trusted;
	uint32_t used;

	(void)runtime;
	/* Use no plain loads: the search for callers may read outside of the checked stack. */
	reader->is_trusted = 0;
	if (keep_end)
		used = copy_source(reader, address, out, room - 1);
	else if (address == OF_MAIN)
		used = runtime_put_text(out, room - 1, "main chunk");
	else
		used = copy_name(reader, address - OF_FRAME, out, room - 1);
	reader->is_trusted = is_trusted;
	out[used] = '\0';
	return used + 1;
}
