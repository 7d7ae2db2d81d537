/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures shared by the readers of Lua's stacks (lua.c), calls (lua_calls.c) and names
 * (lua_code.c) and by lua_find.c, with offsets by version from Lua's headers (lstate.h, lobject.h,
 * lopcodes.h).
 */
#ifndef LIBPROF_RUNTIME_LUA_H
#define LIBPROF_RUNTIME_LUA_H

#include <string.h>

#include "libprof/runtime/runtime.h"

/* Offsets are in bytes. lua_layouts.inc has the values. */
struct lua_layout {
	uint16_t version; /* 504 for 5.4 */
	uint16_t state_global, state_call, state_stack, state_stack_end, state_errors, state_base;
	/* of the innermost call; 0: calls have their own */
	uint16_t state_saved;
	uint16_t global_main;	 /* the main state, or a pointer to it: */
	uint16_t main_is_inside; /* global_main is the state itself */
	/* element of the array of calls; 0: call_previous links them */
	uint16_t call_bytes;
	uint16_t call_function, call_previous, call_saved;
	/* the interpreter saves every instruction in its call */
	uint16_t notes_all;
	/* four bytes; 5.1: number of lost tail calls */
	uint16_t call_status;
	uint32_t lua_mask, lua_status;	   /* of calls of Lua functions */
	/* of an activation's first call; 0: see its caller */
	uint32_t fresh_mask, fresh_status;
	/* tail call; call of a finalizer; 0: no such bit */
	uint32_t tail_mask, finalizer_mask;
	uint16_t closure_proto, closure_is_native; /* 5.1 only; 0 in other versions */
	uint16_t proto_bytes;
	uint16_t constants, constants_count, code, code_count, lines, lines_count;
	uint16_t inner, inner_count; /* functions defined in the function */
	uint16_t marks,
		/* some absolute lines, others are differences; 0: all absolute */
		marks_count;
	uint16_t locals, locals_count, upvalues, upvalues_count, upvalue_bytes;
	uint16_t first_line, last_line, source;
	uint16_t text_bytes;  /* offset of a long string's length */
	/* offset of a short string's length; 0: all strings are long */
	uint8_t short_text;
	/* pointer to a long string's bytes; 0: the bytes follow */
	uint8_t text_pointer;
	uint8_t opcode_bits, b_shift, b_bits, c_shift;
	int32_t jump_shift, jump_bias;
};

#define LUA_OPCODES_MAX 128u /* 2 to the power of the widest opcode */
struct lua_dialect {
	/* lua_ident begins with this text, followed by the release's digit */
	char ident[22];
	char first, last; /* releases */
	/*
	 * By opcode: `.` writes no register, `w` writes one; M N U T G F S B are OP_MOVE LOADNIL
	 * GETUPVAL GETTABUP GETTABLE GETFIELD SELF GETGLOBAL; u t g f b are the corresponding
	 * stores; J jumps, C calls, R calls an iterator, K creates a closure.
	 */
	char opcodes[LUA_OPCODES_MAX];
	/* By opcode: `a` + the number of its metamethod; `*`: operand C is the number; `.`: none.
	 */
	char events[LUA_OPCODES_MAX];
};

/* Constants that are the same in all versions. */
#define LUA_TEXT	24u /* offset of a string's bytes */
#define LUA_INSTRUCTION 4u
#define LUA_CODE_MAX	(1u << 24)

/* A call, as read from memory. */
struct lua_call {
	uintptr_t at, previous;
	/* address of the function on the state's stack of values */
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

/* Implements runtime_kind.find. runtime.objects: bounds of functions that call luaV_execute(). */
int lua_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/*
 * Read the call at @at of the state at @state, without its function. If @state is 0, the call may
 * not exist. Returns 1 if it may be a call of a Lua function, 0 if it is not, or -errno.
 */
int lua_read_link(const struct lua_layout *layout, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/* Read the closure at @value and its prototype. Returns 1, 0: not a Lua function, or -errno. */
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
 * Read the call at @at of the state at @state. If it does not call a Lua function, only `previous`
 * is valid. Returns 0 or -errno.
 */
int lua_read_call(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/* runtime_frame.name: a call's address + OF_CALL, or OF_MAIN. frame->code is the prototype. */
#define OF_CALL 1u
#define OF_MAIN 2u

/* Implement runtime_kind.line and runtime_kind.text. A file's address is that of its name. */
uint32_t lua_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t lua_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
