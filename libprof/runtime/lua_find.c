/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Recognise modules that contain Lua, and find luaV_execute(). This function is not exported, and
 * stripped modules have no symbol for it. It is the largest function that lua_call() reaches by two
 * calls:
 *
 *	lua_callk ─▶ luaD_call, luaD_callnoyield ─▶ luaV_execute
 *	                                         ─▶ luaD_precall, …
 *
 * The functions in between are recorded: lua_resume() calls luaV_execute() through other functions,
 * so a return address in none of the recorded functions marks a resumed coroutine.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "libprof/runtime/lua.h"

/* ---- layouts --------------------------------------------------------------------------------- */

const struct lua_layout lua_layouts[] = {
#include "lua_layouts.inc"
};
#define VERSIONS (sizeof(lua_layouts) / sizeof(lua_layouts[0]))

/* In the order of the layouts. `first` excludes earlier releases, which have other structures. */
const struct lua_dialect lua_dialects[VERSIONS] = {
	{
		.ident = "$Lua: Lua 5.1.",
		.first = '4',
		.last = '5',
		.opcodes = "MwwNUBGbugwSwwwwwwwwwwJ...wwCC.wwR..Kw",
		.events = "......................................",
	},
	{
		.ident = "$LuaVersion: Lua 5.2.",
		.first = '3',
		.last = '4',
		.opcodes = "MwwwNUTGtugwSwwwwwwwwwwJ....wCC.wwRw.Kw.",
		.events = "......aab.b.aghiljks.ew.fuv.............",
	},
	{
		.ident = "$LuaVersion: Lua 5.3.",
		.first = '3',
		.last = '6',
		.opcodes = "MwwwNUTGtugwSwwwwwwwwwwwwwwwwwJ....wCC.wwRw.Kw.",
		.events = "......aab.b.aghijklmnopqrst.ew.fuv.............",
	},
	{
		.ident = "$LuaVersion: Lua 5.4.",
		.first = '3',
		.last = '9',
		.opcodes = "MwwwwwwwNUuTGwFt..fwSwwwwwwwwwwwwwwwwwwwwwwwww...wwwww..J..........wCC."
			   "..ww.Rw.Kww.",
		.events = "...........aaaabbbb.a.........................***st.ewy..fuv..uvuv....y."
			  "...........",
	},
	{
		.ident = "$LuaVersion: Lua 5.5.",
		.first = '1',
		.last = '1',
		.opcodes = "MwwwwwwwNUuTGwFt..fwFwwwwwwwwwwwwwwwwwwwwwwwww...wwwww..J..........wCC."
			   "..ww.Rw.KwG..",
		.events = "...........aaaabbbb.a.........................***st.ewy..fuv..uvuv....y."
			  ".............",
	},
};

/* ---- luaV_execute() -------------------------------------------------------------------------- */

#define EVALUATOR_BYTES_MIN 4096u
#define FUNCTION_BYTES_MAX  (1u << 20)
/* The largest distance, in bytes, between two functions of Lua. */
#define NEAR_BYTES	    (4u << 20)
#define CODE_AT_ONCE	    128u
/* The largest number of functions that lua_call() reaches. */
#define CALLED_MAX	    32u
/* Functions down to this depth of calls below lua_call() are searched for calls. */
#define DEPTH_MAX	    1u
#define CALLERS_MAX	    (RUNTIME_OBJECTS_MAX / 2)

/* A function that lua_call() reaches. `begin` is its offset from the module's load bias. */
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

/* Returns the target of the first call from *@address on, or 0. Moves *@address behind the call. */
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

static int has_release(const struct lua_dialect *dialect, const char *ident)
{
	size_t bytes = strlen(dialect->ident);

	return !memcmp(ident, dialect->ident, bytes) && ident[bytes] >= dialect->first &&
	       ident[bytes] <= dialect->last;
}

int lua_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t start;
	char ident[24];

	out->base = runtime_symbol(symbols, reader, "lua_ident", &out->base_bytes);
	if (!out->base || runtime_load(reader, out->base, ident, sizeof(ident)))
		return -ENOENT;
	/* A program that is linked with libflameprof reports its Lua functions itself. */
	if (runtime_symbol(symbols, reader, "flameprof_active", NULL))
		return -ENOENT;
	start = runtime_symbol(symbols, reader, "lua_callk", NULL);
	if (!start)
		start = runtime_symbol(symbols, reader, "lua_call", NULL);
	if (!start)
		return -ENOENT;
	for (unsigned i = 0; i < VERSIONS; i++)
		if (has_release(&lua_dialects[i], ident)) {
			out->offsets[0] = i;
			out->is_counted = 1;
			return find_evaluator(out, reader, symbols, start);
		}
	return -ENOTSUP;
}
