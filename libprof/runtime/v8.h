/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Interface between the reader of V8's frames (v8.c), the reader of source text and scripts
 * (v8_source.c) and that of code (v8_code.c). Functions return 0 or -errno unless stated otherwise,
 * -EBADMSG if the memory does not have the expected contents.
 */
#ifndef LIBPROF_RUNTIME_V8_H
#define LIBPROF_RUNTIME_V8_H

#include "libprof/runtime/runtime.h"

/* Describes a frame. */
struct v8_where {
	uintptr_t fp; /* the frame pointer; 0: none */
	/* an address in the executed code; 0: in a module */
	uintptr_t pc;
	/* The thread's, for the innermost frame and its caller; otherwise NULL. */
	const struct arch_registers *registers;
	/* in the innermost frame's caller: the innermost fp; else 0 */
	uintptr_t callee;
	/* its caller may use the registers, too */
	uintptr_t is_innermost;
};

/* Fields of struct runtime.offsets. Those called code_… are 0 if V8's version is not supported. */
struct v8_offsets {
	uint32_t shared;			 /* of JSFunction */
	uint32_t scope, script;			 /* of SharedFunctionInfo */
	uint32_t source, script_name, line_ends; /* of Script; its id follows line_ends */
	uint32_t first_local;			 /* of ScopeInfo, in words after its map */
	/* the first type, and the number of types */
	uint32_t function_type, function_types;
	uint32_t shared_type, script_type, scope_type, array_type;
	uint32_t bytecode_type, bytecode_data, bytecode_lines; /* of BytecodeArray */
	uint32_t array_register, offset_register;	       /* registers of the interpreter */
	uint32_t code_type;
	uint32_t code_function;			    /* of the Code in JSFunction; 0: no field */
	uint32_t code_header;			    /* bytes before the instructions */
	/* of Code; code_table follows code_data */
	uint32_t code_data, code_table;
	uint32_t code_start, code_flags, code_size; /* code_start 0: header and Code are one */
	/* baseline's kind; the mask of kinds in the flags */
	uint32_t code_baseline, code_kind;
	uint32_t code_literals, code_shared, code_inlining; /* indices in the code's data */
};
_Static_assert(sizeof(struct v8_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

#define V8_WORD		     sizeof(uintptr_t)
/* tag in the two lowest bits of a pointer */
#define V8_HEAP_OBJECT	     1u
#define V8_HEAP_OBJECT_MASK  3u
#define V8_TYPE_OF_MAP	     12u
#define V8_STRING_TYPES	     0x80u
#define V8_STRING_HASH	     8u /* the length follows */
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

/* Is @word a small integer (Smi) that is not negative? */
static inline int v8_is_number(uintptr_t word)
{
	return !(uint32_t)word && !(word >> 63);
}

static inline uint32_t v8_number(uintptr_t word)
{
	return (uint32_t)(word >> 32);
}

/* ---- v8_source.c ----------------------------------------------------------------------------- */

/* Load the type and the (new, while it moves) address of the object that @word points to. */
int v8_load_type(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type);

/* Load the address of the object to which @field points. Its type must be @type. */
int v8_load_object(struct runtime_reader *reader, uintptr_t field, uint32_t type, uintptr_t *at);

/* Is @word a string that is not empty? Returns 1, 0 or -errno. */
int v8_has_text(struct runtime_reader *reader, uintptr_t word);

/* Implements runtime_kind.text. @word is a tagged pointer to a string; 0: anonymous. */
uint32_t v8_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t word,
	char *out, uint32_t room, int keep_end);

/* Fields of a Script. */
struct v8_script {
	uintptr_t source, name; /* tagged pointers; name 0: none */
	uint64_t hash;		/* of its id and name */
};

int v8_read_script(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	struct v8_script *out);

/* Find the line of @position in @script. -EAGAIN: counting is to continue in a later walk. */
int v8_find_line(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	uint32_t position, uint32_t *line);

/* ---- v8_code.c ------------------------------------------------------------------------------- */

/* Code that V8's compilers made of a function. */
struct v8_code {
	uintptr_t object, start;
	/* tagged; optimised code: deoptimisation data, baseline code: bytecode */
	uintptr_t data;
	/* tagged; table of offsets (baseline) or of positions (optimised) */
	uintptr_t table;
	uint32_t bytes;
	int is_optimised;
};

/* Set the code_… offsets for V8 versions in node 18 to 24; for others set code_type to 0. */
void v8_find_code_offsets(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* Does the cache have code at @pc? Reads no memory of the process. */
int v8_knows_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc);

/* Find the code that contains @pc. The code of the function at @function is tried first. */
int v8_find_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	uintptr_t function, struct v8_code *out);

/*
 * Find the bytecode that the interpreter is at: in the frame, if the bytecode has called something;
 * otherwise in registers, if its handler still has them. Returns its offset and the BytecodeArray
 * in *@array, or < 0.
 */
int32_t v8_find_bytecode(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct v8_where *where, uintptr_t *array);

/*
 * A position in the source. In optimised code it may be in an inlined function: see
 * v8_next_inlined().
 */
struct v8_position {
	int32_t position; /* character index; < 0: not known */
	/* index among the code's inlined calls; < 0: the code's own function */
	int32_t inlined;
};

int v8_find_position(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t object,
	int32_t offset, struct v8_position *out);

/* Load the address of the SharedFunctionInfo from which optimised code with @data was compiled. */
int v8_load_compiled(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	uintptr_t *shared);

/* Find the inlined function that contains @position; *position becomes that of its call. */
int v8_next_inlined(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	struct v8_position *position, uintptr_t *shared);

#endif
