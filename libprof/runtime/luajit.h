/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures that the parts of the LuaJIT reader share: luajit.c reads stacks, luajit_calls.c
 * calls, luajit_names.c names, and luajit_find.c finds LuaJIT. Offsets are in bytes, for LuaJIT 2.1
 * with 64-bit references (lj_obj.h, lj_jit.h, lj_frame.h, lj_bc.h). The constants hold for all
 * supported releases, which luajit.layout asserts. struct luajit_layout has the offsets that
 * differ.
 */
#ifndef LIBPROF_RUNTIME_LUAJIT_H
#define LIBPROF_RUNTIME_LUAJIT_H

#include "libprof/runtime/runtime.h"

/* Offset of the kind in every object. */
#define OBJECT_KIND   9u
#define KIND_STATE    6u
#define KIND_PROTO    7u
#define KIND_FUNCTION 8u

/* A value: in the high bits the complement of its type, in the low bits the object's address. */
#define VALUE_BYTES	   8u
#define VALUE_SHIFT	   47
#define VALUE_OBJECT(bits) ((bits) & ((UINT64_C(1) << VALUE_SHIFT) - 1))
#define VALUE_KIND(bits)   (~((int64_t)(bits) >> VALUE_SHIFT))

#define STRING_LENGTH 20u
#define STRING_BYTES  24u

#define FUNCTION_SORT  10u /* 0: a Lua function */
/* A pointer to the bytecode, which follows the prototype. */
#define FUNCTION_CODE  32u
#define FUNCTION_BYTES 40u

#define PROTO_CODE_COUNT    12u
/* A pointer to the constants: objects lie before the address, in reverse order. */
#define PROTO_CONSTANTS	    32u
#define PROTO_OBJECTS	    48u /* number of objects */
#define PROTO_UPVALUES	    60u /* number of upvalues, a byte */
#define PROTO_SOURCE	    64u
#define PROTO_FIRST_LINE    72u
#define PROTO_LINE_COUNT    76u
#define PROTO_LINES	    80u
#define PROTO_UPVALUE_NAMES 88u
#define PROTO_LOCALS	    96u
#define PROTO_BYTES	    104u
#define CODE_MAX	    (1u << 24) /* instructions */
#define BUILTIN_LINE	    UINT32_MAX

#define INSTRUCTION 4u
static inline uint32_t luajit_a(uint32_t instruction)
{
	return instruction >> 8 & 0xff;
}

/*
 * The frame of a function on its state's stack has two words below the function's base: the
 * function and the link to its caller. The link is either the address of the caller's next
 * instruction, or the distance to the previous frame and the kind of the link.
 */
#define FRAME_FUNCTION	   16u
#define FRAME_LINK	   8u
#define FRAME_BYTES	   16u
/* If the frame has a continuation: offset, below the base, of the calling instruction's address. */
#define FRAME_CONTINUED_AT 24u
#define FRAME_CONTINUATION 32u
#define CONTINUES_CALLBACK 1u
#define LINK_KIND	   3u
#define LINK_KINDS	   7u
#define LINK_CALL	   0u /* see LINK_KIND */
/* A kind under the mask LINK_KIND: the link of the outermost function of an interpreter frame. */
#define LINK_NATIVE	   1u
/* A kind under the mask LINK_KINDS. Under LINK_KIND it would equal the kind of protected calls. */
#define LINK_CONTINUED	   2u
/* A kind under the mask LINK_KINDS: a copy, after the variable arguments, of the frame below. */
#define LINK_VARIADIC	   3u

/* lua_State */
#define STATE_GLOBAL 16u
#define STATE_BASE   32u
#define STATE_END    48u
#define STATE_STACK  56u
#define STATE_FRAME  80u

/* global_State */
/* The number of the running trace, or one of the values RUNS_* below, which are negative. */
#define GLOBAL_RUNS    184u
#define GLOBAL_MAIN    192u
#define GLOBAL_CURRENT 368u
/* The base of the function that runs a trace. */
#define GLOBAL_TRACED  376u
#define RUNS_LUA       (-1)
#define RUNS_C	       (-2)
#define RUNS_EXIT      (-4) /* a trace is being left */

/* Offsets that differ between releases; luajit_layouts.inc has a row for each group of releases. */
struct luajit_layout {
	uint16_t version;
	/* Offsets from the global_State to the dispatch table and the list of compiled code. */
	uint16_t dispatch, area;
};
extern const struct luajit_layout luajit_layouts[];
static inline const struct luajit_layout *luajit_layout(const struct runtime *runtime)
{
	return &luajit_layouts[runtime->offsets[0]];
}

/*
 * Indices in runtime.objects, each for a part of the interpreter's code: the start is at the index,
 * and the end is at the next index.
 */
/* The entry code, which runs before the interpreter frame has a function. */
#define LUAJIT_BEGUN 0
/* The exit code, which runs after the outermost function has returned. */
#define LUAJIT_LEFT  2

/* Implements runtime_kind.find. */
int luajit_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* A function on a state's stack, as read from memory. */
struct luajit_function {
	/*
	 * The address of the bytecode; 0: not a Lua function, or one that belongs to LuaJIT itself.
	 */
	uintptr_t code;
	uint32_t code_bytes, first_line;
	uintptr_t source;
	uint64_t identity;
};

/* Read the function whose frame header ends at @base. Returns 0 or -errno. */
int luajit_read_function(
	struct runtime_reader *reader, uintptr_t base, struct luajit_function *out);

/* Is @pc the address after an instruction of @function? */
static inline int luajit_has(const struct luajit_function *function, uintptr_t pc)
{
	return function->code && pc - function->code - 1 < function->code_bytes &&
	       pc % INSTRUCTION == 0;
}

/* Returns a pointer to a flag in @reader: set if the thread was interrupted in a trace's code. */
uint64_t *luajit_is_in_trace(struct runtime_reader *reader);

/* The link from a frame to its caller. */
struct luajit_link {
	uintptr_t base; /* of the next outer frame */
	/* The address after the calling instruction; 0: the frame does not contain it. */
	uintptr_t pc;
	int is_native;	/* the caller is C code */
	/* Set if the next frame outward belongs to the same function. */
	int is_copied;
};

/*
 * Read the link of the frame at @base. The link must not lead below @bottom. Returns 0 or -errno.
 */
int luajit_read_link(
	struct runtime_reader *reader, uintptr_t base, uintptr_t bottom, struct luajit_link *out);

/* Set @caller to the base of the caller of @base; @pc: the return address. Returns 0 or -errno. */
int luajit_read_caller(
	struct runtime_reader *reader, uintptr_t base, uintptr_t pc, uintptr_t *caller);

/*
 * runtime_frame.name is OF_MAIN for a main chunk, otherwise the base of a frame + OF_FRAME.
 * runtime_frame.code is the address of the bytecode.
 */
#define OF_FRAME 1u
#define OF_MAIN	 2u

/* Implement runtime_kind.line and .text. With @keep_end, @address is that of a chunk's source. */
uint32_t luajit_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t luajit_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

#endif
