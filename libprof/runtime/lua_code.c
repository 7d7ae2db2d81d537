/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Find names and lines of Lua's functions. Functions have no names of their own. As in Lua's
 * traceback, a function is named after the instruction that calls it: a global, field, method,
 * local variable or upvalue. A function that is called by C or by a tail call gets the name under
 * which it was defined, if the defining function is among its callers; otherwise the name is
 * "function".
 *
 * A function keeps the first name that was found for it. It is one function in the graph,
 * identified by its file and line, even if its callers use different names for it.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/lua.h"

/* Names of metamethods in the order of ltm.h. Number 0 is 'a' in lua_dialect.events. */
static const char event_names[][11] = {"__index", "__newindex", "__gc", "__mode", "__len",
	"__eq", "__add", "__sub", "__mul", "__mod", "__pow", "__div", "__idiv", "__band", "__bor",
	"__bxor", "__shl", "__shr", "__unm", "__bnot", "__lt", "__le", "__concat", "__call",
	"__close"};
#define EVENTS (sizeof(event_names) / sizeof(event_names[0]))

#define VALUE_BYTES   16u
/* name, start, end */
#define LOCAL_BYTES   16u
#define MARK_BYTES    8u   /* instruction, line */
/* The largest number of instructions between two marks (entries of Lua's abslineinfo). */
#define MARKS_AT_MOST 128u
#define LINES_MAX     512u
#define LOCALS_MAX    256u
#define SEARCHED_MAX  16384u /* instructions */
#define MOVES_MAX     8u
#define INNER_MAX     1024u /* defined in one function */
#define CALLERS_MAX   200u

/* ---- lines ----------------------------------------------------------------------------------- */

static uint32_t number_at(struct runtime_reader *reader, uintptr_t address)
{
	uint32_t number = 0;

	return runtime_load(reader, address, &number, sizeof(number)) ? 0 : number;
}

/*
 * Returns the line of the instruction @position: the line of the last mark (abslineinfo) at or
 * before it, plus the differences of the instructions after the mark.
 */
static uint32_t marked_line(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t proto, uint32_t position)
{
	uint32_t line = number_at(reader, proto + layout->first_line), at = 0;
	uint32_t count = number_at(reader, proto + layout->marks_count);
	uint32_t number = position / MARKS_AT_MOST;
	uintptr_t marks, lines;

	if (runtime_load_word(reader, proto + layout->marks, &marks) ||
		runtime_load_word(reader, proto + layout->lines, &lines))
		return 0;
	/* Marks are at most MARKS_AT_MOST instructions apart, so start at mark `number`. */
	for (unsigned n = 0; n < LINES_MAX && number < count &&
			     number_at(reader, marks + number * MARK_BYTES) <= position;
		n++)
		number++;
	if (number > count)
		number = count;
	while (number && number_at(reader, marks + (number - 1) * MARK_BYTES) > position)
		number--;
	if (number) {
		at = number_at(reader, marks + (number - 1) * MARK_BYTES) + 1;
		line = number_at(reader, marks + (number - 1) * MARK_BYTES + 4);
	}
	if (position + 1 - at > LINES_MAX)
		return 0;
	for (; at <= position; at++) {
		int8_t difference;

		if (runtime_load(reader, lines + at, &difference, 1))
			return 0;
		line += (uint32_t)difference;
	}
	return line;
}

uint32_t lua_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	const struct lua_layout *layout = lua_layout(runtime);
	uint32_t position = (uint32_t)frame->position;
	uintptr_t lines;

	if (frame->position < 0 || position >= number_at(reader, frame->code + layout->lines_count))
		return 0;
	if (layout->marks)
		return marked_line(layout, reader, frame->code, position);
	if (runtime_load_word(reader, frame->code + layout->lines, &lines))
		return 0;
	return number_at(reader, lines + position * sizeof(uint32_t));
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns the address of the bytes of a string object, or 0, and sets *@bytes to their number. */
static uintptr_t find_text(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t address, uintptr_t *bytes)
{
	uintptr_t text = address + LUA_TEXT;
	uint8_t is_short = 0;

	*bytes = 0;
	if (!address || address % 8)
		return 0;
	if (layout->short_text && !runtime_load(reader, address + 8, &is_short, 1))
		is_short = !(is_short & 0x10);
	if (is_short ? runtime_load(reader, address + layout->short_text, bytes, 1)
		     : runtime_load_word(reader, address + layout->text_bytes, bytes))
		return 0;
	if (layout->text_pointer && !is_short &&
		runtime_load_word(reader, address + layout->text_pointer, &text))
		return 0;
	return text;
}

/* Copy a string, up to a NUL. If it does not fit, keep its start or, if @keep_end, its end. */
static uint32_t copy_string(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	uintptr_t bytes, text = find_text(layout, reader, address, &bytes);

	return text ? runtime_load_text(reader, text, bytes, out, room, keep_end) : 0;
}

/* Write a chunk's source: its file, a name that the host gave it, or its first line. */
static uint32_t copy_source(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room)
{
	uintptr_t bytes, text = find_text(layout, reader, address, &bytes);
	uint32_t used, start;
	char kind = 0;

	if (!text || runtime_load(reader, text, &kind, 1))
		return 0;
	if (kind == '@' || kind == '=') {
		used = copy_string(layout, reader, address, out, room, 1);
		start = used && out[0] == kind;
		memmove(out, out + start, used - start);
		return used - start;
	}
	used = runtime_put_text(out, room, "[string \"");
	start = copy_string(layout, reader, address, out + used, room - used - 2, 0);
	for (uint32_t i = 0; i < start && out[used] != '\n' && out[used] != '\r'; i++)
		used++;
	return used + runtime_put_text(out + used, room - used, "\"]");
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A function and one of its instructions. */
struct place {
	const struct lua_layout *layout;
	struct runtime_reader *reader;
	uintptr_t proto, code;
	uint32_t position, instruction;
	/* Set if the function was interrupted to call a finalizer. */
	int has_finalizer;
};

static uint32_t bits(uint32_t instruction, unsigned shift, unsigned count)
{
	return instruction >> shift & ((1u << count) - 1);
}

static char kind_of(const struct lua_layout *layout, const char *kinds, uint32_t instruction)
{
	uint32_t opcode = bits(instruction, 0, layout->opcode_bits);

	return kinds[opcode] ? kinds[opcode] : '.';
}

static uint32_t a_of(const struct lua_layout *layout, uint32_t instruction)
{
	return bits(instruction, layout->opcode_bits, 8);
}

static uint32_t b_of(const struct lua_layout *layout, uint32_t instruction)
{
	return bits(instruction, layout->b_shift, layout->b_bits);
}

/* Does @instruction change register @reg? */
static int writes(const struct lua_layout *layout, uint32_t instruction, uint32_t reg)
{
	uint32_t a = a_of(layout, instruction);

	switch (kind_of(layout, lua_dialect(layout)->opcodes, instruction)) {
	case '.':
	case 'J':
	case 'u':
	case 't':
	case 'g':
	case 'f':
	case 'b':
		return 0;
	case 'C':
		return reg >= a;
	case 'R':
		return reg >= a + 2;
	/* B of OP_LOADNIL: in 5.1 the last register, later the number of further registers. */
	case 'N':
		return reg >= a &&
		       reg <= b_of(layout, instruction) + (layout->closure_is_native ? 0 : a);
	default:
		return reg == a;
	}
}

/* Load the instruction at place->position. Read ahead, because the caller reads all up to @end. */
static int load_instruction(struct place *place, uint32_t end)
{
	uintptr_t address = place->code + place->position * LUA_INSTRUCTION;
	uint32_t rest = (end - place->position) * LUA_INSTRUCTION;

	if (place->position % (RUNTIME_WINDOW_BYTES / LUA_INSTRUCTION) == 0)
		runtime_expect(place->reader, address,
			rest < RUNTIME_WINDOW_BYTES ? rest : RUNTIME_WINDOW_BYTES);
	return runtime_load(place->reader, address, &place->instruction, LUA_INSTRUCTION);
}

/*
 * Set @place to the instruction before place->position that set register @reg. Returns 0; or
 * -ENOENT if that instruction is not known, for example because several paths of control flow join
 * after it.
 */
static int find_setter(struct place *place, uint32_t reg)
{
	const struct lua_layout *layout = place->layout;
	uint32_t target = 0, found = UINT32_MAX, setter = 0, end = place->position;

	if (end > SEARCHED_MAX)
		return -ENOENT;
	for (uint32_t at = 0; at < end; at++) {
		place->position = at;
		if (load_instruction(place, end))
			return -ENOENT;
		if (kind_of(layout, lua_dialect(layout)->opcodes, place->instruction) == 'J') {
			int64_t to = (int64_t)at + 1 + (place->instruction >> layout->jump_shift) -
				     layout->jump_bias;

			if (to > at && to <= end && to > target)
				target = (uint32_t)to;
		} else if (writes(layout, place->instruction, reg)) {
			found = at < target ? UINT32_MAX : at;
			setter = place->instruction;
		}
	}
	if (found == UINT32_MAX)
		return -ENOENT;
	place->position = found;
	place->instruction = setter;
	return 0;
}

/* Returns the address of the string with the name of the local variable in @reg, or 0. */
static uintptr_t local_name(const struct place *place, uint32_t reg)
{
	uint32_t count = number_at(place->reader, place->proto + place->layout->locals_count);
	uintptr_t locals;

	if (runtime_load_word(place->reader, place->proto + place->layout->locals, &locals))
		return 0;
	for (uint32_t i = 0; i < count && i < LOCALS_MAX; i++) {
		struct {
			uintptr_t name;
			uint32_t start, end;
		} local;

		if (runtime_load(place->reader, locals + i * LOCAL_BYTES, &local, sizeof(local)) ||
			local.start > place->position)
			return 0;
		if (place->position < local.end && !reg--)
			return local.name;
	}
	return 0;
}

/* Returns the address of constant @number if the constant is a string, or 0. */
static uintptr_t constant_name(const struct place *place, uint32_t number)
{
	uintptr_t constants, value[2];

	if (number >= number_at(place->reader, place->proto + place->layout->constants_count) ||
		runtime_load_word(
			place->reader, place->proto + place->layout->constants, &constants) ||
		runtime_load(
			place->reader, constants + number * VALUE_BYTES, value, sizeof(value)) ||
		(value[1] & 0xf) != 4)
		return 0;
	return value[0];
}

static uintptr_t upvalue_name(const struct place *place, uint32_t number)
{
	uintptr_t upvalues, name;

	if (number >= number_at(place->reader, place->proto + place->layout->upvalues_count) ||
		runtime_load_word(
			place->reader, place->proto + place->layout->upvalues, &upvalues) ||
		runtime_load_word(
			place->reader, upvalues + number * place->layout->upvalue_bytes, &name))
		return 0;
	return name;
}

/*
 * Returns the address of the string with the name of the object in @reg at @place, or 0. The name
 * is the one that Lua's own function luaG_... finds for error messages.
 */
static uintptr_t object_name(struct place *place, uint32_t reg)
{
	const struct lua_layout *layout = place->layout;

	for (unsigned n = 0; n < MOVES_MAX; n++) {
		uintptr_t name = local_name(place, reg);
		uint32_t c, has_constant;

		if (name || find_setter(place, reg))
			return name;
		c = bits(place->instruction, layout->c_shift, layout->b_bits);
		/*
		 * Up to 5.3, C's highest bit says whether C is a constant; later, a separate bit.
		 */
		has_constant = layout->b_bits == 9 ? c >> 8 : place->instruction >> 15 & 1;
		c &= 0xff;
		switch (kind_of(layout, lua_dialect(layout)->opcodes, place->instruction)) {
		case 'M':
			if (b_of(layout, place->instruction) >= a_of(layout, place->instruction))
				return 0;
			reg = b_of(layout, place->instruction);
			break;
		case 'U':
			return upvalue_name(place, b_of(layout, place->instruction));
		case 'B':
			return constant_name(place, place->instruction >> 14);
		case 'F':
			return constant_name(place, c);
		case 'T':
			return layout->b_bits == 8 || has_constant ? constant_name(place, c) : 0;
		case 'G':
			return layout->b_bits == 9 && has_constant ? constant_name(place, c) : 0;
		case 'S':
			return has_constant ? constant_name(place, c) : 0;
		default:
			return 0;
		}
	}
	return 0;
}

/* Set @out to the Lua function that made the call at @address. Returns 0 or -ENOENT. */
static int find_caller(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, struct place *out)
{
	struct lua_call call;
	uintptr_t offset;

	if (lua_read_call(runtime, reader, 0, address, &call) || call.is_tail ||
		lua_read_call(runtime, reader, 0, call.previous, &call) || !call.function)
		return -ENOENT;
	*out = (struct place){.layout = lua_layout(runtime),
		.reader = reader,
		.proto = call.proto,
		.has_finalizer = call.has_finalizer};
	if (runtime_load_word(reader, call.proto + out->layout->code, &out->code))
		return -ENOENT;
	offset = call.saved - out->code - LUA_INSTRUCTION;
	out->position = (uint32_t)(offset / LUA_INSTRUCTION);
	if (offset % LUA_INSTRUCTION || offset > LUA_CODE_MAX * LUA_INSTRUCTION)
		return -ENOENT;
	return runtime_load(reader, out->code + offset, &out->instruction, LUA_INSTRUCTION)
		       ? -ENOENT
		       : 0;
}

/*
 * Returns the name to which a new closure is assigned, or 0. The instruction at @place creates the
 * closure of @inner, and the next instruction assigns it.
 */
static uintptr_t given_name(struct place *place, uintptr_t inner)
{
	const struct lua_layout *layout = place->layout;
	uint32_t a = a_of(layout, place->instruction), b, next;
	int is_value, has_constant;

	/* In 5.1, the instruction is followed by one instruction for each upvalue. Skip them. */
	place->position += 1;
	if (layout->closure_is_native)
		place->position += number_at(place->reader, inner + layout->upvalues_count);
	if (runtime_load(place->reader, place->code + place->position * LUA_INSTRUCTION, &next,
		    sizeof(next)))
		return 0;
	b = b_of(layout, next);
	is_value = bits(next, layout->c_shift, layout->b_bits) == a;
	has_constant = layout->b_bits == 8 || b >> 8;
	switch (kind_of(layout, lua_dialect(layout)->opcodes, next)) {
	case 't':
	case 'f':
	case 'g':
		return is_value && has_constant ? constant_name(place, b & 0xff) : 0;
	case 'b':
		return a_of(layout, next) == a ? constant_name(place, next >> 14) : 0;
	case 'u':
		return a_of(layout, next) == a ? upvalue_name(place, b) : 0;
	default:
		return local_name(place, a);
	}
}

/* Returns the index of @inner among the functions that @place's function defines, or UINT32_MAX. */
static uint32_t number_of(const struct place *place, uintptr_t inner)
{
	uint32_t count = number_at(place->reader, place->proto + place->layout->inner_count);
	uintptr_t list, found;

	if (runtime_load_word(place->reader, place->proto + place->layout->inner, &list))
		return UINT32_MAX;
	for (uint32_t i = 0; i < count && i < INNER_MAX; i++) {
		if (runtime_load_word(place->reader, list + i * sizeof(found), &found))
			return UINT32_MAX;
		if (found == inner)
			return i;
	}
	return UINT32_MAX;
}

/* Set @place to the instruction that creates inner function @number. Returns 0 or -ENOENT. */
static int find_closure(struct place *place, uint32_t number)
{
	const struct lua_layout *layout = place->layout;
	uint32_t count = number_at(place->reader, place->proto + layout->code_count);
	unsigned shift = layout->opcode_bits + 8; /* Bx follows A */

	for (uint32_t at = 0; at < count && at < SEARCHED_MAX; at++) {
		place->position = at;
		if (load_instruction(place, count))
			return -ENOENT;
		if (kind_of(layout, lua_dialect(layout)->opcodes, place->instruction) == 'K' &&
			place->instruction >> shift == number)
			return 0;
	}
	return -ENOENT;
}

/*
 * Returns the name under which the called function of the call at @address was defined, or 0 if the
 * defining function is not among the callers.
 */
static uintptr_t defined_name(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address)
{
	const struct lua_layout *layout = lua_layout(runtime);
	struct place place = {.layout = layout, .reader = reader};
	struct lua_call call;
	uintptr_t inner;
	uint32_t number;

	if (lua_read_call(runtime, reader, 0, address, &call))
		return 0;
	inner = call.proto;
	for (unsigned n = 0; n < CALLERS_MAX; n++) {
		if (!call.previous || lua_read_call(runtime, reader, 0, call.previous, &call))
			return 0;
		place.proto = call.proto;
		number = call.function ? number_of(&place, inner) : UINT32_MAX;
		if (number == UINT32_MAX)
			continue;
		if (runtime_load_word(reader, call.proto + layout->code, &place.code) ||
			find_closure(&place, number))
			return 0;
		return given_name(&place, inner);
	}
	return 0;
}

/* Returns the name of the metamethod that the instruction at @place calls, or NULL. */
static const char *event_name(const struct place *place)
{
	const struct lua_layout *layout = place->layout;
	char event = kind_of(layout, lua_dialect(layout)->events, place->instruction);
	uint32_t number =
		event == '*' ? place->instruction >> layout->c_shift : (uint32_t)event - 'a';

	return number < EVENTS ? event_names[number] : NULL;
}

static uint32_t copy_name(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t call, char *out, uint32_t room)
{
	const struct lua_layout *layout = lua_layout(runtime);
	const char *name = NULL;
	struct place place;
	uint32_t used = 0;

	if (!find_caller(runtime, reader, call, &place)) {
		char kind = kind_of(layout, lua_dialect(layout)->opcodes, place.instruction);

		if (place.has_finalizer)
			name = "__gc";
		else if (kind == 'C')
			used = copy_string(layout, reader,
				object_name(&place, a_of(layout, place.instruction)), out, room, 0);
		else
			name = kind == 'R' ? "for iterator" : event_name(&place);
	}
	if (!used && !name)
		used = copy_string(
			layout, reader, defined_name(runtime, reader, call), out, room, 0);
	return used ? used : runtime_put_text(out, room, name ? name : "function");
}

uint32_t lua_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end)
{
	int is_trusted = reader->is_trusted;
	uint32_t used;

	/* Use no plain loads: the search for callers may read outside of the checked stack. */
	reader->is_trusted = 0;
	if (keep_end)
		used = copy_source(lua_layout(runtime), reader, address, out, room - 1);
	else if (address == OF_MAIN)
		used = runtime_put_text(out, room - 1, "main chunk");
	else
		used = copy_name(runtime, reader, address - OF_CALL, out, room - 1);
	reader->is_trusted = is_trusted;
	out[used] = '\0';
	return used + 1;
}
