/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the frames on a LuaJIT state's stack, and the functions in them. The bytecode of a function
 * follows its prototype. Functions are kept in reader->noted until the walk ends, because
 * recursions use few of them.
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/luajit.h"

/* Indices of the words of an entry in reader->noted. */
#define NOTED_FUNCTION 0
#define NOTED_CODE     1
#define NOTED_NUMBERS  2 /* bytes of code << 32 | first line */
#define NOTED_SOURCE   3
#define NOTED_IDENTITY 4
#define NOTED_WORDS    5u
#define NOTED	       ((RUNTIME_NOTED - 1) / NOTED_WORDS)

static uint64_t *noted_by(struct runtime_reader *reader)
{
	if (!reader->noted_at)
		memset(reader->noted, 0, sizeof(reader->noted));
	reader->noted_at = 1;
	return reader->noted;
}

static uint64_t *noted_of(struct runtime_reader *reader, uintptr_t function)
{
	return &noted_by(reader)[(function >> 4) % NOTED * NOTED_WORDS];
}

uint64_t *luajit_is_in_trace(struct runtime_reader *reader)
{
	return &noted_by(reader)[RUNTIME_NOTED - 1];
}

static int note_proto(struct runtime_reader *reader, uintptr_t code, uint64_t *noted)
{
	uintptr_t at = code - PROTO_BYTES;
	uint32_t count, first_line;
	char proto[PROTO_BYTES];
	uint64_t identity;

	if (at % VALUE_BYTES || runtime_load(reader, at, proto, sizeof(proto)))
		return -EFAULT;
	count = runtime_int_in(proto, PROTO_CODE_COUNT);
	if (proto[OBJECT_KIND] != KIND_PROTO || !count || count > CODE_MAX)
		return -EBADMSG;
	first_line = runtime_int_in(proto, PROTO_FIRST_LINE);
	noted[NOTED_CODE] = first_line == BUILTIN_LINE ? 0 : code;
	noted[NOTED_NUMBERS] = (uint64_t)count * INSTRUCTION << 32 | first_line;
	noted[NOTED_SOURCE] = runtime_word_in(proto, PROTO_SOURCE);
	identity = runtime_mix(runtime_mix(0, code), noted[NOTED_SOURCE]);
	identity = runtime_mix(identity, noted[NOTED_NUMBERS]);
	noted[NOTED_IDENTITY] = runtime_mix(identity, runtime_int_in(proto, PROTO_LINE_COUNT)) | 1;
	return 0;
}

static int note_function(struct runtime_reader *reader, uintptr_t function, uint64_t *noted)
{
	char content[FUNCTION_BYTES];
	int error;

	noted[NOTED_FUNCTION] = noted[NOTED_CODE] = 0;
	if (function % VALUE_BYTES || runtime_load(reader, function, content, sizeof(content)))
		return -EFAULT;
	if (content[OBJECT_KIND] != KIND_FUNCTION)
		return -EBADMSG;
	error = content[FUNCTION_SORT]
			? 0
			: note_proto(reader, runtime_word_in(content, FUNCTION_CODE), noted);
	if (!error)
		noted[NOTED_FUNCTION] = function;
	return error;
}

int luajit_read_function(struct runtime_reader *reader, uintptr_t base, struct luajit_function *out)
{
	uintptr_t value, function;
	uint64_t *noted;
	int error;

	if (runtime_load_word(reader, base - FRAME_FUNCTION, &value))
		return -EFAULT;
	out->code = 0;
	/* The frame has no function. */
	if (VALUE_KIND(value) == KIND_STATE)
		return 0;
	if (VALUE_KIND(value) != KIND_FUNCTION)
		return -EBADMSG;
	function = VALUE_OBJECT(value);
	noted = noted_of(reader, function);
	if (noted[NOTED_FUNCTION] != function) {
		error = note_function(reader, function, noted);
		if (error)
			return error;
	}
	out->code = noted[NOTED_CODE];
	out->code_bytes = (uint32_t)(noted[NOTED_NUMBERS] >> 32);
	out->first_line = (uint32_t)noted[NOTED_NUMBERS];
	out->source = noted[NOTED_SOURCE];
	out->identity = noted[NOTED_IDENTITY];
	return 0;
}

int luajit_read_caller(
	struct runtime_reader *reader, uintptr_t base, uintptr_t pc, uintptr_t *caller)
{
	uint32_t instruction;

	if (runtime_load(reader, pc - INSTRUCTION, &instruction, sizeof(instruction)))
		return -EFAULT;
	*caller = base - FRAME_BYTES - luajit_a(instruction) * VALUE_BYTES;
	return 0;
}

int luajit_read_link(
	struct runtime_reader *reader, uintptr_t base, uintptr_t bottom, struct luajit_link *out)
{
	uintptr_t link, bytes, continuation = 0;
	int error = 0;

	*out = (struct luajit_link){0};
	if (base <= bottom)
		return -EBADMSG;
	if (runtime_load_word(reader, base - FRAME_LINK, &link))
		return -EFAULT;
	bytes = link & ~(uintptr_t)LINK_KINDS;
	if ((link & LINK_KIND) == LINK_CALL) {
		out->pc = link;
		error = luajit_read_caller(reader, base, link, &out->base);
	} else {
		out->base = base - bytes;
		out->is_native = (link & LINK_KIND) == LINK_NATIVE;
		out->is_copied = (link & LINK_KINDS) == LINK_VARIADIC;
	}
	if (!error && (link & LINK_KINDS) == LINK_CONTINUED) {
		if (base - bottom < FRAME_CONTINUATION ||
			runtime_load_word(reader, base - FRAME_CONTINUED_AT, &out->pc) ||
			runtime_load_word(reader, base - FRAME_CONTINUATION, &continuation))
			return -EFAULT;
		out->is_native = continuation == CONTINUES_CALLBACK;
	}
	if (!error && (out->base % VALUE_BYTES || out->base < bottom || out->base >= base))
		error = -EBADMSG;
	return error;
}
