/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Which modules have Lua in them, and where luaV_execute() is, which is not exported, and has no
 * name in stripped ones. It is the largest of the functions that lua_call() comes to by two calls:
 *
 *	lua_callk ─▶ luaD_call, luaD_callnoyield ─▶ luaV_execute
 *	                                         ─▶ luaD_precall, …
 *
 * Those between are kept: lua_resume() goes on with functions by others.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "libprof/runtime/lua.h"

/* ---- layouts --------------------------------------------------------------------------------- */

/* Each version's last releases: earlier ones have other structures. */
const struct lua_layout lua_layouts[] = {
	{
		.ident = "$LuaVersion: Lua 5.4.",
		.first = '3',
		.last = '8',
		.state_global = 24,
		.state_call = 32,
		.state_stack_end = 40,
		.state_stack = 48,
		.state_errors = 88,
		.state_base = 96,
		.global_main = 264,
		.call_previous = 16,
		.call_saved = 32,
		.call_status = 62,
		.lua_mask = 2,
		.fresh_mask = 4,
		.fresh_status = 4,
		.tail_mask = 32,
		.finalizer_mask = 128,
		.closure_proto = 24,
		.proto_bytes = 120,
		.constants = 56,
		.constants_count = 20,
		.code = 64,
		.code_count = 24,
		.inner = 72,
		.inner_count = 32,
		.lines = 88,
		.lines_count = 28,
		.marks = 96,
		.marks_count = 40,
		.locals = 104,
		.locals_count = 36,
		.upvalues = 80,
		.upvalues_count = 16,
		.upvalue_bytes = 16,
		.first_line = 44,
		.last_line = 48,
		.source = 112,
		.text_bytes = 16,
		.short_text = 11,
		.opcode_bits = 7,
		.b_shift = 16,
		.b_bits = 8,
		.c_shift = 24,
		.jump_shift = 7,
		.jump_bias = 16777215,
		.opcodes = "MwwwwwwwNUuTGwFt..fwSwwwwwwwwwwwwwwwwwwwwwwwww...wwwww..J..........wCC."
			   "..ww.Rw.Kww.",
		.events = "...........aaaabbbb.a.........................***st.ewy..fuv..uvuv....y."
			  "...."
			  ".......",
	},
	{
		.ident = "$LuaVersion: Lua 5.3.",
		.first = '3',
		.last = '6',
		.state_global = 24,
		.state_call = 32,
		.state_stack_end = 48,
		.state_stack = 56,
		.state_errors = 88,
		.state_base = 96,
		.global_main = 200,
		.call_previous = 16,
		.call_saved = 40,
		.notes_all = 1,
		.call_status = 66,
		.lua_mask = 2,
		.lua_status = 2,
		.fresh_mask = 8,
		.fresh_status = 8,
		.tail_mask = 32,
		.finalizer_mask = 256,
		.closure_proto = 24,
		.proto_bytes = 112,
		.constants = 48,
		.constants_count = 20,
		.code = 56,
		.code_count = 24,
		.inner = 64,
		.inner_count = 32,
		.lines = 72,
		.lines_count = 28,
		.locals = 80,
		.locals_count = 36,
		.upvalues = 88,
		.upvalues_count = 16,
		.upvalue_bytes = 16,
		.first_line = 40,
		.last_line = 44,
		.source = 104,
		.text_bytes = 16,
		.short_text = 11,
		.opcode_bits = 6,
		.b_shift = 23,
		.b_bits = 9,
		.c_shift = 14,
		.jump_shift = 14,
		.jump_bias = 131071,
		.opcodes = "MwwwNUTGtugwSwwwwwwwwwwwwwwwwwJ....wCC.wwRw.Kw.",
		.events = "......aab.b.aghijklmnopqrst.ew.fuv.............",
	},
	{
		.ident = "$LuaVersion: Lua 5.2.",
		.first = '3',
		.last = '4',
		.state_global = 24,
		.state_call = 32,
		.state_stack_end = 48,
		.state_stack = 56,
		.state_errors = 112,
		.state_base = 128,
		.global_main = 264,
		.call_previous = 16,
		.call_saved = 56,
		.notes_all = 1,
		.call_status = 34,
		.lua_mask = 1,
		.lua_status = 1,
		.fresh_mask = 4,
		.tail_mask = 64,
		.closure_proto = 24,
		.proto_bytes = 112,
		.constants = 16,
		.constants_count = 84,
		.code = 24,
		.code_count = 88,
		.inner = 32,
		.inner_count = 96,
		.lines = 40,
		.lines_count = 92,
		.locals = 48,
		.locals_count = 100,
		.upvalues = 56,
		.upvalues_count = 80,
		.upvalue_bytes = 16,
		.first_line = 104,
		.last_line = 108,
		.source = 72,
		.text_bytes = 16,
		.opcode_bits = 6,
		.b_shift = 23,
		.b_bits = 9,
		.c_shift = 14,
		.jump_shift = 14,
		.jump_bias = 131071,
		.opcodes = "MwwwNUTGtugwSwwwwwwwwwwJ....wCC.wwRw.Kw.",
		.events = "......aab.b.aghiljks.ew.fuv.............",
	},
	{
		.ident = "$Lua: Lua 5.1.",
		.first = '4',
		.last = '5',
		.state_global = 32,
		.state_call = 40,
		.state_stack_end = 56,
		.state_stack = 64,
		.state_errors = 168,
		.state_base = 80,
		.state_saved = 48,
		.global_main = 176,
		.call_bytes = 40,
		.call_function = 8,
		.call_saved = 24,
		.call_status = 36,
		.tail_mask = 0xffff,
		.closure_proto = 32,
		.closure_is_native = 10,
		.proto_bytes = 104,
		.constants = 16,
		.constants_count = 76,
		.code = 24,
		.code_count = 80,
		.inner = 32,
		.inner_count = 88,
		.lines = 40,
		.lines_count = 84,
		.locals = 48,
		.locals_count = 92,
		.upvalues = 56,
		.upvalues_count = 72,
		.upvalue_bytes = 8,
		.first_line = 96,
		.last_line = 100,
		.source = 64,
		.text_bytes = 16,
		.opcode_bits = 6,
		.b_shift = 23,
		.b_bits = 9,
		.c_shift = 14,
		.jump_shift = 14,
		.jump_bias = 131071,
		.opcodes = "MwwNUBGbugwSwwwwwwwwwwJ...wwCC.wwR..Kw",
		.events = "......................................",
	},
	{.ident = ""},
};

/* ---- luaV_execute() -------------------------------------------------------------------------- */

#define EVALUATOR_BYTES_MIN 4096u
#define FUNCTION_BYTES_MAX  (1u << 20)
#define NEAR_BYTES	    (4u << 20) /* what is of Lua lies together */
#define CODE_AT_ONCE	    128u
#define CALLED_MAX	    32u /* functions that lua_call() comes to */
#define DEPTH_MAX	    1u	/* what these call is looked at, too */
#define CALLERS_MAX	    (RUNTIME_OBJECTS_MAX / 2)

/* Functions that lua_call() comes to, by their distance from where the module is loaded. */
struct called {
	uint32_t begin;
	uint32_t bytes : 28, depth : 4;
};

struct called_list {
	uintptr_t bias, start;
	unsigned count;
	struct called list[CALLED_MAX];
};

static void add_called(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	struct called_list *called, uintptr_t address, unsigned depth)
{
	uintptr_t begin, end;

	for (unsigned i = 0; i < called->count; i++)
		if (called->list[i].begin == address - called->bias)
			return;
	if (called->count == CALLED_MAX || address - called->bias > UINT32_MAX ||
		address - called->start + NEAR_BYTES > 2 * NEAR_BYTES ||
		runtime_function(symbols, reader, address, &begin, &end) || begin != address ||
		end - begin >= FUNCTION_BYTES_MAX)
		return;
	called->list[called->count++] =
		(struct called){(uint32_t)(begin - called->bias), (uint32_t)(end - begin), depth};
}

/* What is called by the first call from @address on, which comes to stand behind it; 0: none. */
static uintptr_t next_called(struct runtime_reader *reader, uintptr_t *address, uintptr_t end)
{
	uintptr_t found = 0;
	uint8_t code[CODE_AT_ONCE];

	while (!found && *address + ARCH_CALL_BYTES <= end) {
		size_t bytes = end - *address < sizeof(code) ? end - *address : sizeof(code);
		size_t at = 0;

		if (runtime_load(reader, *address, code, bytes))
			return 0;
		for (; !found && at + ARCH_CALL_BYTES <= bytes; at += ARCH_CALL_STEP)
			found = arch_called(code + at, *address + at);
		*address += at;
	}
	return found;
}

static int calls(struct runtime_reader *reader, uintptr_t begin, uintptr_t end, uintptr_t wanted)
{
	uintptr_t found;

	while ((found = next_called(reader, &begin, end)))
		if (found == wanted)
			return 1;
	return 0;
}

static void follow_calls(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	struct called_list *called)
{
	for (unsigned i = 0; i < called->count; i++) {
		const struct called caller = called->list[i];
		uintptr_t at = called->bias + caller.begin, end = at + caller.bytes, found;

		if (caller.depth > DEPTH_MAX || caller.bytes >= EVALUATOR_BYTES_MIN)
			continue;
		while ((found = next_called(reader, &at, end)))
			add_called(symbols, reader, called, found, caller.depth + 1);
	}
}

static int find_evaluator(struct runtime *out, struct runtime_reader *reader,
	const struct runtime_symbols *symbols, uintptr_t start)
{
	struct called_list called = {.bias = symbols->bias, .start = start, .count = 0};
	unsigned largest = 0, callers = 0;

	add_called(symbols, reader, &called, start, 0);
	follow_calls(symbols, reader, &called);
	for (unsigned i = 0; i < called.count; i++)
		if (called.list[i].bytes > called.list[largest].bytes)
			largest = i;
	if (!called.count || called.list[largest].bytes < EVALUATOR_BYTES_MIN)
		return -ENOTSUP;
	out->entry = called.bias + called.list[largest].begin;
	out->entry_end = out->entry + called.list[largest].bytes;
	for (unsigned i = 0; i < called.count && callers < CALLERS_MAX; i++) {
		uintptr_t begin = called.bias + called.list[i].begin;
		uintptr_t end = begin + called.list[i].bytes;

		if (i != largest && calls(reader, begin, end, out->entry)) {
			out->objects[2 * callers] = begin;
			out->objects[2 * callers++ + 1] = end;
		}
	}
	return callers ? 0 : -ENOTSUP;
}

static int has_release(const struct lua_layout *layout, const char *ident)
{
	size_t bytes = strlen(layout->ident);

	return !memcmp(ident, layout->ident, bytes) && ident[bytes] >= layout->first &&
	       ident[bytes] <= layout->last;
}

int lua_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t start;
	char ident[24];

	out->base = runtime_symbol(symbols, reader, "lua_ident", &out->base_bytes);
	if (!out->base || runtime_load(reader, out->base, ident, sizeof(ident)))
		return -ENOENT;
	/* A host with our library in it tells its functions by itself. */
	if (runtime_symbol(symbols, reader, "flameprof_active", NULL))
		return -ENOENT;
	start = runtime_symbol(symbols, reader, "lua_callk", NULL);
	if (!start)
		start = runtime_symbol(symbols, reader, "lua_call", NULL);
	if (!start)
		return -ENOENT;
	for (unsigned i = 0; lua_layouts[i].ident[0]; i++)
		if (has_release(&lua_layouts[i], ident)) {
			out->offsets[0] = i;
			out->is_counted = 1;
			return find_evaluator(out, reader, symbols, start);
		}
	return -ENOTSUP;
}
