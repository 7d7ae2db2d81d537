/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures that the parts of the Lua reader share: lua.c reads stacks, lua_calls.c calls,
 * lua_code.c names, and lua_find.c finds Lua. Offsets by version are those of Lua's headers
 * (lstate.h, lobject.h, lopcodes.h).
 */
#ifndef LIBPROF_RUNTIME_LUA_H
#define LIBPROF_RUNTIME_LUA_H

#include <string.h>

#include "libprof/runtime/runtime.h"

/* Offsets of fields in bytes, for one version of Lua. lua_layouts.inc has the values. */
struct lua_layout {
	uint16_t version; /* 504 for 5.4 */
	uint16_t state_global, state_call, state_stack, state_stack_end, state_errors, state_base;
	/* Offset of the innermost call's saved instruction; 0: each call has its own field. */
	uint16_t state_saved;
	/* Offset of the main state if main_is_inside, otherwise of a pointer to it. */
	uint16_t global_main;
	uint16_t main_is_inside;
	/*
	 * Bytes of one element in the array of calls; 0: calls are a list, linked by call_previous.
	 */
	uint16_t call_bytes;
	uint16_t call_function, call_previous, call_saved;
	/* Set if the interpreter stores the address of every instruction in its call. */
	uint16_t notes_all;
	/* A field of four bytes with flags. In 5.1: the number of lost tail calls. */
	uint16_t call_status;
	/* (status & lua_mask) == lua_status for calls of Lua functions. */
	uint32_t lua_mask, lua_status;
	/*
	 * (status & fresh_mask) == fresh_status for the first call of a C frame of luaV_execute().
	 * In 5.1 there is no such bit, and has_called() decides.
	 */
	uint32_t fresh_mask, fresh_status;
	/* Masks of the bits that mark a tail call and a call of a finalizer; 0: no such bit. */
	uint32_t tail_mask, finalizer_mask;
	uint16_t closure_proto, closure_is_native; /* 5.1 only; 0 in other versions */
	uint16_t proto_bytes;
	uint16_t constants, constants_count, code, code_count, lines, lines_count;
	uint16_t inner, inner_count; /* functions defined inside */
	/*
	 * If `marks` is not 0, it is the list of marks (abslineinfo), which have absolute lines for
	 * some instructions, and `lines` has differences. If `marks` is 0, `lines` has absolute
	 * lines.
	 */
	uint16_t marks, marks_count;
	uint16_t locals, locals_count, upvalues, upvalues_count, upvalue_bytes;
	uint16_t first_line, last_line, source;
	uint16_t text_bytes; /* length of a long string */
	/* The length of a short string; 0: all strings are long. */
	uint8_t short_text;
	/* The pointer to a long string's bytes; 0: the bytes follow the structure. */
	uint8_t text_pointer;
	uint8_t opcode_bits, b_shift, b_bits, c_shift;
	int32_t jump_shift, jump_bias;
};

#define LUA_OPCODES_MAX 128u /* 2 to the power of the widest opcode */
struct lua_dialect {
	/* The beginning of the variable lua_ident. The digit of the release follows. */
	char ident[22];
	char first, last; /* releases */
	/*
	 * Indexed by opcode: a letter for the effect of the instruction. `.` writes no register,
	 * `w` writes one. M N U T G F S B are OP_MOVE LOADNIL GETUPVAL GETTABUP GETTABLE GETFIELD
	 * SELF GETGLOBAL; u t g f b are the corresponding stores. J jumps, C calls, R calls an
	 * iterator, K creates a closure.
	 */
	char opcodes[LUA_OPCODES_MAX];
	/*
	 * Indexed by opcode: 'a' + the number of the metamethod that the instruction may call; `*`:
	 * operand C is the number; `.`: the instruction calls no metamethod.
	 */
	char events[LUA_OPCODES_MAX];
};

/* Constants that are equal in all versions. */
#define LUA_TEXT	24u /* offset of a string's bytes */
#define LUA_INSTRUCTION 4u
#define LUA_CODE_MAX	(1u << 24)

/* A call of a Lua state, as read from memory. */
struct lua_call {
	uintptr_t at, previous;
	/* Address of the slot that holds the called function, on the state's stack of values. */
	uintptr_t value;
	uintptr_t function; /* the closure; 0: not a Lua function */
	uintptr_t proto, saved;
	int is_fresh, is_tail, has_finalizer;
};

extern const struct lua_layout lua_layouts[];
static inline const struct lua_layout *lua_layout(const struct runtime *runtime)
{
	return &lua_layouts[runtime->offsets[0]];
}

extern const struct lua_dialect lua_dialects[]; /* one for each layout */
static inline const struct lua_dialect *lua_dialect(const struct lua_layout *layout)
{
	return &lua_dialects[layout - lua_layouts];
}

/*
 * Implements runtime_kind.find. runtime.objects[2 n] and [2 n + 1] are the start and end of the
 * functions that call luaV_execute().
 */
int lua_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/*
 * Read the call at @at of the state at @state, but not the function that it calls. @state is 0 if
 * there may be no call at @at. Returns 1 if the call may be one of a Lua function, 0 if not, or
 * -errno.
 */
int lua_read_link(const struct lua_layout *layout, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/* Read the closure at @value and its prototype. Returns 1, 0 if not a Lua function, or -errno. */
int lua_read_closure(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t value, struct lua_call *out);

/* Indices of the words that lua_read_proto() returns. */
#define LUA_NOTED_CODE	   2
#define LUA_NOTED_FILE	   3
#define LUA_NOTED_IDENTITY 4
#define LUA_NOTED_NUMBERS  5 /* bytes of code << 32 | first line */

/* Set *@out to the words of @call's prototype, valid until the next call. Returns 0 or -errno. */
int lua_read_proto(const struct lua_layout *layout, struct runtime_reader *reader,
	const struct lua_call *call, const uint64_t **out);

/*
 * Read the call at @at of the state at @state. If the called function is not a Lua function, only
 * out->previous is valid. Returns 0 or -errno.
 */
int lua_read_call(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/*
 * runtime_frame.name is OF_MAIN for a main chunk, otherwise the address of a call + OF_CALL.
 * runtime_frame.code is the address of a prototype.
 */
#define OF_CALL 1u
#define OF_MAIN 2u

/* Implement runtime_kind.line and .text. With @keep_end, @address is that of a chunk's source. */
uint32_t lua_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t lua_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
