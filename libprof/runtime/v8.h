/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What the reader of V8's frames (v8.c) has in two files more: what objects say of a program's
 * source, and which part of it a piece of code is made of. Everything returns 0 or -errno unless
 * said otherwise, -EBADMSG where what is read is not what it has to be.
 */
#ifndef LIBPROF_RUNTIME_V8_H
#define LIBPROF_RUNTIME_V8_H

#include "libprof/runtime/runtime.h"

/* Where a frame is. */
struct v8_where {
	uintptr_t fp; /* its frame pointer; 0: it has none */
	uintptr_t pc; /* an address in what it executes; 0: in some module */
	/* The thread's, of the innermost frame and its caller; else NULL. */
	const struct arch_registers *registers;
	uintptr_t callee;	/* of its caller: the frame pointer of the innermost one; else 0 */
	uintptr_t is_innermost; /* its caller may need the registers, too */
};

/* Fields of struct runtime.offsets. What begins with code_ is 0 where V8's version is not known. */
struct v8_offsets {
	uint32_t shared;			 /* of JSFunction */
	uint32_t scope, script;			 /* of SharedFunctionInfo */
	uint32_t source, script_name, line_ends; /* of Script; its number lies behind the last */
	uint32_t first_local;			 /* of ScopeInfo, in words behind its map */
	uint32_t function_type, function_types;	 /* the first, and how many there are */
	uint32_t shared_type, script_type, scope_type, array_type;
	uint32_t bytecode_type, bytecode_data, bytecode_lines; /* of BytecodeArray */
	uint32_t array_register, offset_register;	       /* of the interpreter */
	uint32_t code_type;
	uint32_t code_function;		/* where a JSFunction has its Code; 0: in no field */
	uint32_t code_header;		/* instructions lie behind so many bytes */
	uint32_t code_data, code_table; /* of Code, the second behind the first */
	uint32_t code_start, code_flags, code_size; /* code_start 0: header and Code are one */
	uint32_t code_baseline, code_kind;	    /* kinds, and their bits among the flags */
	uint32_t code_literals, code_shared, code_inlining; /* indexes in the code's data */
};
_Static_assert(sizeof(struct v8_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

#define V8_WORD		     sizeof(uintptr_t)
#define V8_HEAP_OBJECT	     1u /* in a pointer's two lowest bits */
#define V8_HEAP_OBJECT_MASK  3u
#define V8_TYPE_OF_MAP	     12u
#define V8_STRING_TYPES	     0x80u
#define V8_STRING_HASH	     8u /* with the length behind it */
#define V8_STRING_LENGTH     12u
#define V8_STRING_CHARACTERS 16u
#define V8_ARRAY_LENGTH	     8u
#define V8_ARRAY_DATA	     16u

static inline const struct v8_offsets *v8_offsets_of(const struct runtime *runtime)
{
	return (const struct v8_offsets *)runtime->offsets;
}

static inline int v8_is_object(uintptr_t word)
{
	return (word & V8_HEAP_OBJECT_MASK) == V8_HEAP_OBJECT;
}

/* A small integer that is not negative. */
static inline int v8_is_number(uintptr_t word)
{
	return !(uint32_t)word && !(word >> 63);
}

static inline uint32_t v8_number(uintptr_t word)
{
	return (uint32_t)(word >> 32);
}

/* ---- v8_source.c ----------------------------------------------------------------------------- */

/* The type of the object that @word points at; *at becomes its address, where it is now. */
int v8_load_type(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type);

/* The address of the object at @field, which has to be of @type. */
int v8_load_object(struct runtime_reader *reader, uintptr_t field, uint32_t type, uintptr_t *at);

/* Is @word a string with something in it? Returns 1, 0 or -errno. */
int v8_has_text(struct runtime_reader *reader, uintptr_t word);

/* As runtime_kind.text; the text is an object's word, 0: there is none. */
uint32_t v8_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t word,
	char *out, uint32_t room, int keep_end);

/* What is looked at of a Script. */
struct v8_script {
	uintptr_t source, name; /* as words; name 0: it has none */
	uint64_t hash;		/* of its number and name */
};

int v8_read_script(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	struct v8_script *out);

/* The line of @position in @script's source. -EAGAIN: it is counted, but not to the end yet. */
int v8_find_line(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	uint32_t position, uint32_t *line);

/* ---- v8_code.c ------------------------------------------------------------------------------- */

/* Code that V8's compilers made of a function, as far as it is looked at. */
struct v8_code {
	uintptr_t object, start;
	uintptr_t data;	 /* word; of optimised code what it is made of, else the bytecode */
	uintptr_t table; /* word; offsets of bytecodes in baseline code, else of positions */
	uint32_t bytes;
	int is_optimised;
};

/* Where the offsets are what this reads, of V8's that run in node 18 to 24; else code_type is 0. */
void v8_find_code_offsets(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* Was code found at @pc before? Nothing is read for the answer. */
int v8_knows_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc);

/* The code that has @pc, looked for first where the function at @function says that it has code. */
int v8_find_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	uintptr_t function, struct v8_code *out);

/*
 * Which bytecode the interpreter is at. The frame says so where the bytecode has called something;
 * else registers do, as long as its code has them. Returns its offset and *array, the bytecode, or
 * < 0.
 */
int32_t v8_find_bytecode(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct v8_where *where, uintptr_t *array);

/*
 * Where in its source a function is, at @offset of @object, its bytecode or code. Of optimised code
 * that may be in a function which is inlined there: see v8_next_inlined().
 */
struct v8_position {
	int32_t position; /* of a character; < 0: not known */
	int32_t inlined;  /* which of the code's; < 0: none, it is the code's own function */
};

int v8_find_position(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t object,
	int32_t offset, struct v8_position *out);

/* The address of the SharedFunctionInfo that the optimised code with @data was made of. */
int v8_load_compiled(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	uintptr_t *shared);

/*
 * The function that @position is in, which is inlined; *position becomes where it was called.
 */
int v8_next_inlined(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	struct v8_position *position, uintptr_t *shared);

#endif
