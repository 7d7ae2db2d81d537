/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Calls of one lua_State, closures and prototypes, as they lie in memory. In 5.1 calls are an
 * array, and nothing says of one whether an activation begins with it: its caller's instruction
 * does, which is a call where that called it itself. From 5.2 on they are a list, and say it.
 *
 * What was read of a closure is kept for the rest of the walk: recursions have few.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/lua.h"

#define VALUE_FUNCTION 6u
#define VALUE_OBJECT   64u /* beside the kind, from 5.2 on */
#define CLOSURE_BYTES  40u
#define PROTO_BYTES    128u

/* Entries of reader->noted: the closure, its prototype, and LUA_NOTED_*. */
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
	uintptr_t content[2];
	char closure[CLOSURE_BYTES];
	uint64_t *noted;

	if (runtime_load(reader, value, content, sizeof(content)))
		return -EFAULT;
	if ((content[1] & 0xff) != kind)
		return layout->closure_is_native ? 0 : -EBADMSG;
	noted = noted_of(reader, content[0]);
	out->function = content[0];
	out->proto = noted[NOTED_PROTO];
	if (noted[NOTED_CLOSURE] == content[0])
		return 1;
	out->function = 0;
	if (content[0] % 8 || runtime_load(reader, content[0], closure,
				      layout->closure_proto + sizeof(out->proto)))
		return -EFAULT;
	if (layout->closure_is_native && closure[layout->closure_is_native])
		return 0;
	out->function = content[0];
	out->proto = runtime_word_in(closure, layout->closure_proto);
	noted[NOTED_CLOSURE] = out->function;
	noted[NOTED_PROTO] = out->proto;
	noted[LUA_NOTED_IDENTITY] = 0;
	return 1;
}

/* Does the call at @previous, of an array's, run Lua code that called the next one itself? */
static int has_called(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t previous)
{
	const struct lua_layout *layout = lua_layout(runtime);
	struct lua_call call = {.function = 0};
	uint32_t instruction;
	char content[LUA_CALL_BYTES];

	if (runtime_load(reader, previous, content, layout->call_bytes) ||
		lua_read_closure(layout, reader, runtime_word_in(content, layout->call_function),
			&call) <= 0 ||
		runtime_load(reader, runtime_word_in(content, layout->call_saved) - LUA_INSTRUCTION,
			&instruction, sizeof(instruction)))
		return 0;
	instruction &= (1u << layout->opcode_bits) - 1;
	return layout->opcodes[instruction] == 'C';
}

int lua_read_link(const struct lua_layout *layout, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, char content[LUA_CALL_BYTES], struct lua_call *out)
{
	size_t bytes = layout->call_status + sizeof(uint16_t);
	int is_trusted = reader->is_trusted, error;
	uint16_t status;

	if (bytes < layout->call_saved + sizeof(uintptr_t))
		bytes = layout->call_saved + sizeof(uintptr_t);
	/* Calls in a list are there while there is a later one. */
	reader->is_trusted |= reader->is_own && state && !layout->call_bytes;
	error = runtime_load(reader, at, content, bytes);
	reader->is_trusted = is_trusted;
	if (error)
		return -EFAULT;
	status = runtime_short_in(content, layout->call_status);
	*out = (struct lua_call){.at = at,
		.previous = layout->call_bytes ? at - layout->call_bytes
					       : runtime_word_in(content, layout->call_previous),
		.saved = runtime_word_in(content, layout->call_saved),
		.is_fresh = (status & layout->fresh_mask) == layout->fresh_status,
		.is_tail = (status & layout->tail_mask) != 0,
		.has_finalizer = (status & layout->finalizer_mask) != 0};
	return (status & layout->lua_mask) == layout->lua_status;
}

int lua_read_call(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out)
{
	const struct lua_layout *layout = lua_layout(runtime);
	char content[LUA_CALL_BYTES];
	int found = lua_read_link(layout, reader, state, at, content, out);

	if (found <= 0)
		return found;
	found = lua_read_closure(
		layout, reader, runtime_word_in(content, layout->call_function), out);
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
	char proto[PROTO_BYTES];
	uint32_t count;

	*out = noted;
	if (noted[NOTED_CLOSURE] == call->function && noted[LUA_NOTED_IDENTITY])
		return 0;
	if (call->proto % 8 || runtime_load(reader, call->proto, proto, layout->proto_bytes))
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
