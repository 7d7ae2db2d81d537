/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read calls of a lua_State, closures and prototypes from memory. In 5.1, calls are an array and
 * have no flag for the first call of a C frame of luaV_execute(). There a call is the first one
 * unless its caller's current instruction is a call. From 5.2 on, calls are a list and have the
 * flag.
 *
 * Closures are kept in reader->noted until the walk ends, because recursions use few of them.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/lua.h"

#define VALUE_FUNCTION 6u
#define VALUE_OBJECT   64u /* from 5.2 on: type bit */

/*
 * Indices of the words of an entry in reader->noted: the closure, its prototype, then LUA_NOTED_*.
 */
#define NOTED_CLOSURE 0
#define NOTED_PROTO   1
#define NOTED_WORDS   6u
#define NOTED	      (RUNTIME_NOTED / NOTED_WORDS)

static uint64_t *noted_of(struct runtime_reader *reader, uintptr_t closure)
{
	if (!reader->noted_at)
		memset(reader->noted, 0, sizeof(reader->noted));
	reader->noted_at = 1;
	return &reader->noted[(closure >> 5) % NOTED * NOTED_WORDS];
}

int lua_read_closure(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t value, struct lua_call *out)
{
	uint32_t kind = VALUE_FUNCTION | (layout->closure_is_native ? 0 : VALUE_OBJECT);
	const char *content = runtime_view(reader, value, 2 * sizeof(uintptr_t)), *closure;
	uintptr_t function;
	uint64_t *noted;

	if (!content)
		return -EFAULT;
	if ((runtime_word_in(content, sizeof(uintptr_t)) & 0xff) != kind)
		return layout->closure_is_native ? 0 : -EBADMSG;
	function = runtime_word_in(content, 0);
	noted = noted_of(reader, function);
	if (noted[NOTED_CLOSURE] == function) {
		out->function = function;
		out->proto = noted[NOTED_PROTO];
		return 1;
	}
	closure = function % 8 ? NULL
			       : runtime_view(reader, function,
					 layout->closure_proto + sizeof(out->proto));
	if (!closure)
		return -EFAULT;
	if (layout->closure_is_native && closure[layout->closure_is_native])
		return 0;
	out->function = function;
	out->proto = runtime_word_in(closure, layout->closure_proto);
	noted[NOTED_CLOSURE] = out->function;
	noted[NOTED_PROTO] = out->proto;
	noted[LUA_NOTED_IDENTITY] = 0;
	return 1;
}

/* 5.1: does the call at @previous execute a Lua function whose current instruction is a call? */
static int has_called(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t previous)
{
	const struct lua_layout *layout = lua_layout(runtime);
	struct lua_call call;
	uint32_t instruction;

	if (lua_read_link(layout, reader, 0, previous, &call) < 0 ||
		lua_read_closure(layout, reader, call.value, &call) <= 0 ||
		runtime_load(
			reader, call.saved - LUA_INSTRUCTION, &instruction, sizeof(instruction)))
		return 0;
	instruction &= (1u << layout->opcode_bits) - 1;
	return lua_dialect(layout)->opcodes[instruction] == 'C';
}

int lua_read_link(const struct lua_layout *layout, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out)
{
	size_t bytes = layout->call_status + sizeof(uint32_t);
	int is_trusted = reader->is_trusted;
	const char *content;
	uint32_t status;

	if (bytes < layout->call_saved + sizeof(uintptr_t))
		bytes = layout->call_saved + sizeof(uintptr_t);
	/*
	 * Use a plain load: an element of the list stays allocated while the list has a later call.
	 */
	reader->is_trusted |= reader->is_own && state && !layout->call_bytes;
	content = runtime_view(reader, at, bytes);
	reader->is_trusted = is_trusted;
	if (!content)
		return -EFAULT;
	status = runtime_int_in(content, layout->call_status);
	out->at = at;
	out->previous = layout->call_bytes ? at - layout->call_bytes
					   : runtime_word_in(content, layout->call_previous);
	out->value = runtime_word_in(content, layout->call_function);
	out->function = out->proto = 0;
	out->saved = runtime_word_in(content, layout->call_saved);
	out->is_fresh = (status & layout->fresh_mask) == layout->fresh_status;
	out->is_tail = (status & layout->tail_mask) != 0;
	out->has_finalizer = (status & layout->finalizer_mask) != 0;
	return (status & layout->lua_mask) == layout->lua_status;
}

int lua_read_call(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out)
{
	const struct lua_layout *layout = lua_layout(runtime);
	int found = lua_read_link(layout, reader, state, at, out);

	if (found <= 0)
		return found;
	found = lua_read_closure(layout, reader, out->value, out);
	if (found <= 0)
		return found;
	if (layout->call_bytes)
		out->is_fresh = !has_called(runtime, reader, out->previous);
	return 0;
}

int lua_read_proto(const struct lua_layout *layout, struct runtime_reader *reader,
	const struct lua_call *call, const uint64_t **out)
{
	uint64_t *noted = noted_of(reader, call->function), identity;
	const char *proto;
	uint32_t count;

	*out = noted;
	if (noted[NOTED_CLOSURE] == call->function && noted[LUA_NOTED_IDENTITY])
		return 0;
	proto = call->proto % 8 ? NULL : runtime_view(reader, call->proto, layout->proto_bytes);
	if (!proto)
		return -EFAULT;
	count = runtime_int_in(proto, layout->code_count);
	if (!count || count > LUA_CODE_MAX)
		return -EBADMSG;
	noted[NOTED_CLOSURE] = call->function;
	noted[NOTED_PROTO] = call->proto;
	noted[LUA_NOTED_CODE] = runtime_word_in(proto, layout->code);
	noted[LUA_NOTED_FILE] = runtime_word_in(proto, layout->source);
	noted[LUA_NOTED_NUMBERS] =
		(uint64_t)count * LUA_INSTRUCTION << 32 | runtime_int_in(proto, layout->first_line);
	identity = runtime_mix(runtime_mix(0, call->proto), noted[LUA_NOTED_CODE]);
	identity =
		runtime_mix(runtime_mix(identity, noted[LUA_NOTED_FILE]), noted[LUA_NOTED_NUMBERS]);
	noted[LUA_NOTED_IDENTITY] =
		runtime_mix(identity, runtime_int_in(proto, layout->last_line)) | 1;
	return 0;
}
