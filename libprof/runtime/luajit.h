/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What LuaJIT's stacks (luajit.c), calls (luajit_calls.c) and names (luajit_names.c) share: where
 * LuaJIT 2.1 with 64-bit references has what (lj_obj.h, lj_jit.h, lj_frame.h, lj_bc.h), in bytes.
 * What is defined here is alike in all releases that are known, as luajit.layout asserts. Where
 * they differ, struct luajit_layout has it.
 */
#ifndef LIBPROF_RUNTIME_LUAJIT_H
#define LIBPROF_RUNTIME_LUAJIT_H

#include "libprof/runtime/runtime.h"

/* Of every object. */
#define OBJECT_KIND   9u
#define KIND_STATE    6u
#define KIND_PROTO    7u
#define KIND_FUNCTION 8u

/* A value: the kind's complement above what it is, or which object. */
#define VALUE_BYTES	   8u
#define VALUE_SHIFT	   47
#define VALUE_OBJECT(bits) ((bits) & ((UINT64_C(1) << VALUE_SHIFT) - 1))
#define VALUE_KIND(bits)   (~((int64_t)(bits) >> VALUE_SHIFT))

#define STRING_LENGTH 20u
#define STRING_BYTES  24u

#define FUNCTION_SORT  10u /* 0: it is Lua's */
#define FUNCTION_CODE  32u /* behind its prototype */
#define FUNCTION_BYTES 40u

#define PROTO_CODE_COUNT    12u
#define PROTO_CONSTANTS	    32u /* objects lie before, the last one first */
#define PROTO_OBJECTS	    48u /* how many */
#define PROTO_UPVALUES	    60u /* how many, a byte */
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
 * A function's frame on its state's stack, below its base: who it is, and how it was called. That
 * is the caller's next instruction, or how far it is to what was current then, and how that called.
 */
#define FRAME_FUNCTION	   16u
#define FRAME_LINK	   8u
#define FRAME_BYTES	   16u
#define FRAME_CONTINUED_AT 24u /* of one that is continued: the instruction */
#define FRAME_CONTINUATION 32u
#define CONTINUES_CALLBACK 1u
#define LINK_KIND	   3u
#define LINK_KINDS	   7u
#define LINK_CALL	   0u /* of LINK_KIND */
#define LINK_NATIVE	   1u /* the outermost of an activation's */
#define LINK_CONTINUED	   2u /* of LINK_KINDS; as protected ones of LINK_KIND */
#define LINK_VARIADIC	   3u /* a copy of the frame below it, behind the arguments */

/* lua_State */
#define STATE_GLOBAL 16u
#define STATE_BASE   32u
#define STATE_END    48u
#define STATE_STACK  56u
#define STATE_FRAME  80u

/* global_State */
#define GLOBAL_RUNS    184u /* a trace, or what < 0 */
#define GLOBAL_MAIN    192u
#define GLOBAL_CURRENT 368u
#define GLOBAL_TRACED  376u /* base of the function that runs a trace */
#define RUNS_LUA       (-1)
#define RUNS_C	       (-2)
#define RUNS_EXIT      (-4) /* a trace is left */

/* One for all releases with the same offsets. luajit_layouts.inc has them, by their first one. */
struct luajit_layout {
	uint16_t version;
	/* From the global_State: the dispatch table, and the newest area of compiled code. */
	uint16_t dispatch, area;
};
extern const struct luajit_layout luajit_layouts[];
static inline const struct luajit_layout *luajit_layout(const struct runtime *runtime)
{
	return &luajit_layouts[runtime->offsets[0]];
}

/* Addresses in runtime.objects: of the interpreter's code from where to where. */
#define LUAJIT_BEGUN 0 /* it is entered: there is no function yet */
#define LUAJIT_LEFT  2 /* its outermost function has returned */

/* As runtime_kind.find. */
int luajit_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* A function, as it was read. */
struct luajit_function {
	uintptr_t code; /* 0: it is none of Lua's, or one that LuaJIT brings along */
	uint32_t code_bytes, first_line;
	uintptr_t source;
	uint64_t identity;
};

/* The function whose frame ends at @base. Returns 0 or -errno. */
int luajit_read_function(
	struct runtime_reader *reader, uintptr_t base, struct luajit_function *out);

/* Is @pc behind an instruction of it? */
static inline int luajit_has(const struct luajit_function *function, uintptr_t pc)
{
	return function->code && pc - function->code - 1 < function->code_bytes &&
	       pc % INSTRUCTION == 0;
}

/* Of a walk: the thread was interrupted in compiled code itself. 0 at first. */
uint64_t *luajit_is_in_trace(struct runtime_reader *reader);

/* What called a function. */
struct luajit_link {
	uintptr_t base; /* of the next frame outward */
	uintptr_t pc;	/* of what called, behind the instruction; 0: the frame does not say */
	int is_native;	/* C did */
	int is_copied;	/* the next frame is the same function's */
};

/* That of the frame that ends at @base, above @bottom. Returns 0 or -errno. */
int luajit_read_link(
	struct runtime_reader *reader, uintptr_t base, uintptr_t bottom, struct luajit_link *out);

/* Where the caller's frame ends, which calls with the instruction before @pc the one at @base. */
int luajit_read_caller(
	struct runtime_reader *reader, uintptr_t base, uintptr_t pc, uintptr_t *caller);

/* Names: of the function whose frame ends at this address, or this. @frame->code is its code. */
#define OF_FRAME 1u
#define OF_MAIN	 2u

/* As runtime_kind has them; a file's address is that of its name. */
uint32_t luajit_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t luajit_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

#endif
