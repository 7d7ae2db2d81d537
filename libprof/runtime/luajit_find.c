/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Recognise modules that contain LuaJIT, and find the interpreter. The interpreter is the only very
 * large function that lua_pcall() calls. The called address is inside this function, not at its
 * start.
 */
#include <errno.h>

#include "arch/epilogue.h"
#include "arch/luajit.h"
#include "libprof/runtime/luajit.h"

#define EVALUATOR_BYTES_MIN 8192u
#define EVALUATOR_BYTES_MAX (1u << 20)
#define CALLER_BYTES_MAX    4096u
#define CODE_AT_ONCE	    16u
#define EDGE_BYTES_MAX	    256u
#define EDGES_APART	    1024u

const struct luajit_layout luajit_layouts[] = {
#include "luajit_layouts.inc"
};
#define LAYOUTS (sizeof(luajit_layouts) / sizeof(luajit_layouts[0]))

static int load_code(struct runtime_reader *reader, uintptr_t at, uint8_t code[CODE_AT_ONCE])
{
	return runtime_load(reader, at, code, CODE_AT_ONCE);
}

/* Find the entry code. It ends at the instruction that stores the first function's frame link. */
static void find_begun(struct runtime *out, struct runtime_reader *reader, uintptr_t entry)
{
	uint8_t code[CODE_AT_ONCE];

	for (uintptr_t at = entry; at < entry + EDGE_BYTES_MAX && !load_code(reader, at, code);
		at++) {
		if (!arch_luajit_links(code))
			continue;
		out->objects[LUAJIT_BEGUN] = entry;
		out->objects[LUAJIT_BEGUN + 1] = at;
		return;
	}
}

/* Returns the end of the last instruction before @entry that stores RUNS_C, or 0. */
static uintptr_t find_noted(
	const struct luajit_layout *layout, struct runtime_reader *reader, uintptr_t entry)
{
	uintptr_t at = entry - EDGES_APART, noted = 0;
	uint8_t code[CODE_AT_ONCE];

	for (; at < entry && !load_code(reader, at, code); at++)
		if (arch_luajit_sets(code, (int32_t)GLOBAL_RUNS - layout->dispatch, RUNS_C))
			noted = at + ARCH_LUAJIT_SET_BYTES;
	return noted;
}

/*
 * Find the layout of this release. LuaJIT does not store its release. But each instruction that
 * stores GLOBAL_RUNS contains the distance of this field from the dispatch table. Returns 0 or
 * -ENOTSUP.
 */
static int find_layout(struct runtime *out, struct runtime_reader *reader, uintptr_t entry)
{
	for (uint32_t i = 0; i < LAYOUTS; i++)
		if (find_noted(&luajit_layouts[i], reader, entry)) {
			out->offsets[0] = i;
			return 0;
		}
	return -ENOTSUP;
}

/* Find the exit code: from the last instruction before @entry that stores RUNS_C to the return. */
static void find_left(struct runtime *out, struct runtime_reader *reader, uintptr_t entry)
{
	uintptr_t start = find_noted(luajit_layout(out), reader, entry), at = start;
	struct arch_instruction next;
	uint8_t code[CODE_AT_ONCE];

	do {
		if (at - start > EDGE_BYTES_MAX || load_code(reader, at, code))
			return;
		next = arch_decode(code, CODE_AT_ONCE);
		at += next.bytes;
	} while (next.bytes && next.effect != ARCH_EFFECT_RETURN);
	if (!next.bytes)
		return;
	out->objects[LUAJIT_LEFT] = start;
	out->objects[LUAJIT_LEFT + 1] = at;
}

static int find_evaluator(struct runtime *out, struct runtime_reader *reader,
	const struct runtime_symbols *symbols, uintptr_t at)
{
	uintptr_t begin, end, found, from, to;
	uint8_t code[ARCH_CALL_BYTES];

	if (runtime_function(symbols, reader, at, &begin, &end) || end - begin > CALLER_BYTES_MAX)
		return -ENOTSUP;
	for (; begin + ARCH_CALL_BYTES <= end; begin += ARCH_CALL_STEP) {
		if (runtime_load(reader, begin, code, sizeof(code)))
			return -ENOTSUP;
		found = arch_called(code, begin);
		if (!found || runtime_function(symbols, reader, found, &from, &to) ||
			to - from < EVALUATOR_BYTES_MIN || to - from > EVALUATOR_BYTES_MAX)
			continue;
		out->entry = out->base = from;
		out->entry_end = to;
		out->base_bytes = to - from;
		if (find_layout(out, reader, found))
			return -ENOTSUP;
		find_begun(out, reader, found);
		find_left(out, reader, found);
		return 0;
	}
	return -ENOTSUP;
}

int luajit_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t start = runtime_symbol(symbols, reader, "lua_pcall", NULL);

	if (!start || !runtime_symbol(symbols, reader, "luaJIT_setmode", NULL))
		return -ENOENT;
	out->is_counted = 1;
	return ARCH_LUAJIT_IS_KNOWN ? find_evaluator(out, reader, symbols, start) : -ENOTSUP;
}
