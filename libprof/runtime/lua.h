/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What Lua's stacks (lua.c), calls (lua_calls.c), names (lua_code.c) and finding it (lua_find.c)
 * share: where its versions have what, from their headers (lstate.h, lobject.h, lopcodes.h).
 */
#ifndef LIBPROF_RUNTIME_LUA_H
#define LIBPROF_RUNTIME_LUA_H

#include <string.h>

#include "libprof/runtime/runtime.h"

/* Offsets are in bytes. lua_layouts.inc has them. */
struct lua_layout {
	uint16_t version; /* 504 is 5.4 */
	uint16_t state_global, state_call, state_stack, state_stack_end, state_errors, state_base;
	uint16_t state_saved;	 /* of the innermost call; 0: calls have it */
	uint16_t global_main;	 /* its first state, or the address of that: */
	uint16_t main_is_inside; /* the state itself */
	uint16_t call_bytes;	 /* calls lie in an array; 0: each has call_previous */
	uint16_t call_function, call_previous, call_saved;
	uint16_t notes_all;		   /* the interpreter notes each instruction in its call */
	uint16_t call_status;		   /* four bytes; 5.1: how many tail calls were lost */
	uint32_t lua_mask, lua_status;	   /* of Lua functions' calls */
	uint32_t fresh_mask, fresh_status; /* of an activation's outermost; both 0: by its caller */
	uint32_t tail_mask, finalizer_mask;	   /* it was; it calls one: 0: not told */
	uint16_t closure_proto, closure_is_native; /* 5.1; else 0 */
	uint16_t proto_bytes;
	uint16_t constants, constants_count, code, code_count, lines, lines_count;
	uint16_t inner, inner_count; /* functions that are defined in it */
	uint16_t marks, marks_count; /* of lines that are not told by difference; 0: all are told */
	uint16_t locals, locals_count, upvalues, upvalues_count, upvalue_bytes;
	uint16_t first_line, last_line, source;
	uint16_t text_bytes;  /* where a long string has its length */
	uint8_t short_text;   /* where a short one has it; 0: as long ones */
	uint8_t text_pointer; /* where a long one has the address of its bytes; 0: as short ones */
	uint8_t opcode_bits, b_shift, b_bits, c_shift;
	int32_t jump_shift, jump_bias;
};

#define LUA_OPCODES_MAX 128u /* in the bits that any version has for them */
struct lua_dialect {
	char ident[22];	  /* lua_ident begins with it, then the release's digit */
	char first, last; /* of the releases */
	/*
	 * By opcode: . writes no register, w it does, M N U T G F S B as OP_MOVE LOADNIL GETUPVAL
	 * GETTABUP GETTABLE GETFIELD SELF GETGLOBAL, u t g f b as those that set, J jumps, C calls,
	 * R calls an iterator, K makes a closure.
	 */
	char opcodes[LUA_OPCODES_MAX];
	/* Likewise: a + the number of its metamethod, * + its C; . has none. */
	char events[LUA_OPCODES_MAX];
};

/* struct Proto, what is known of it without a version. */
#define LUA_TEXT	24u /* of a string */
#define LUA_INSTRUCTION 4u
#define LUA_CODE_MAX	(1u << 24)

/* A call, as it was read. */
struct lua_call {
	uintptr_t at, previous;
	uintptr_t value;    /* where the function is on the state's stack */
	uintptr_t function; /* the closure; 0: it is none of Lua's */
	uintptr_t proto, saved;
	int is_fresh, is_tail, has_finalizer;
};

extern const struct lua_layout lua_layouts[];
static inline const struct lua_layout *lua_layout(const struct runtime *runtime)
{
	return &lua_layouts[runtime->offsets[0]];
}

extern const struct lua_dialect lua_dialects[]; /* of each layout */
static inline const struct lua_dialect *lua_dialect(const struct lua_layout *layout)
{
	return &lua_dialects[layout - lua_layouts];
}

/* As runtime_kind.find: `objects` are the functions, each to its end, by which lua_call() calls it.
 */
int lua_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/*
 * What the call at @at of the state at @state says of itself. @state is 0: it may be none. Returns
 * 1 if it may be a Lua function's, else 0 or -errno.
 */
int lua_read_link(const struct lua_layout *layout, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/* The closure and its prototype of the value at @value. Returns 1, 0: it is none of Lua's, -errno.
 */
int lua_read_closure(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t value, struct lua_call *out);

/* Words of what lua_read_proto() tells. */
#define LUA_NOTED_CODE	   2
#define LUA_NOTED_FILE	   3
#define LUA_NOTED_IDENTITY 4
#define LUA_NOTED_NUMBERS  5 /* bytes of its code << 32, its first line */

/* What @call's function is, in *@out, in @reader until it reads another. Returns 0 or -errno. */
int lua_read_proto(const struct lua_layout *layout, struct runtime_reader *reader,
	const struct lua_call *call, const uint64_t **out);

/*
 * Read the call at @at, of the state at @state; of those that are no Lua function's only
 * `previous`. Returns 0 or -errno.
 */
int lua_read_call(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t state,
	uintptr_t at, struct lua_call *out);

/* Names: of the function called at this address, or this. @frame->code is its proto. */
#define OF_CALL 1u
#define OF_MAIN 2u

/* As runtime_kind has them; a file's address is that of its name. */
uint32_t lua_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t lua_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
