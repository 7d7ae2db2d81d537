/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Interface between the parts of the V8 reader: v8.c reads frames, v8_source.c texts and scripts,
 * and v8_code.c code. Functions return 0 or -errno unless stated otherwise; -EBADMSG if the memory
 * does not have the expected contents.
 */
#ifndef LIBPROF_RUNTIME_V8_H
#define LIBPROF_RUNTIME_V8_H

#include "libprof/runtime/runtime.h"

/* A frame whose function is to be read. */
struct v8_where {
	uintptr_t fp; /* frame pointer; 0: none */
	/* An address in the executed code; 0: the code is in a module. */
	uintptr_t pc;
	/* Registers of the thread, for the innermost frame and its caller; otherwise NULL. */
	const struct arch_registers *registers;
	/* The frame pointer of the callee if the callee is the innermost frame; otherwise 0. */
	uintptr_t callee;
	/* Set if this frame's caller may use the registers, too. */
	uintptr_t is_innermost;
};

/* The values in runtime.offsets. Members called code_… are 0 if V8's version is not supported. */
struct v8_offsets {
	uint32_t shared;			 /* of JSFunction */
	uint32_t scope, script;			 /* of SharedFunctionInfo */
	uint32_t source, script_name, line_ends; /* of Script; id follows */
	/* Offset in ScopeInfo, in words after its map. */
	uint32_t first_local;
	/* The first type of a JSFunction, and the number of such types. */
	uint32_t function_type, function_types;
	uint32_t shared_type, script_type, scope_type, array_type;
	uint32_t bytecode_type, bytecode_data, bytecode_lines; /* of BytecodeArray */
	uint32_t array_register, offset_register;	       /* in the interpreter */
	uint32_t code_type;
	uint32_t code_function;			    /* in JSFunction; 0: none */
	uint32_t code_header;			    /* before the instructions */
	/* Offsets in Code. code_table follows code_data. */
	uint32_t code_data, code_table;
	/* code_start is 0 if the header and Code are one object. */
	uint32_t code_start, code_flags, code_size;
	/* In code_flags, under the mask code_kind, code_baseline is the kind of baseline code. */
	uint32_t code_baseline, code_kind;
	uint32_t code_literals, code_shared, code_inlining; /* indices in the data */
};
_Static_assert(sizeof(struct v8_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

#define V8_WORD		     sizeof(uintptr_t)
/* Tag in the two lowest bits of a pointer to an object. */
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

/*
 * Set @type to the type, and @at to the address, of the object to which @word points. While V8
 * moves the object, this is the new address.
 */
int v8_load_type(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type);

/*
 * Set @at to the address of the object to which the field at @field points. Its type must be @type.
 */
int v8_load_object(struct runtime_reader *reader, uintptr_t field, uint32_t type, uintptr_t *at);

/* Is @word a pointer to a string that is not empty? Returns 1, 0 or -errno. */
int v8_has_text(struct runtime_reader *reader, uintptr_t word);

/* Implements runtime_kind.text. @word is a pointer to a string; 0 stands for "anonymous". */
uint32_t v8_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t word,
	char *out, uint32_t room, int keep_end);

/* Fields of a Script. */
struct v8_script {
	uintptr_t source, name; /* tagged; name 0: none */
	uint64_t hash;		/* of its id and name */
};

int v8_read_script(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	struct v8_script *out);

/* Find the line of @position in @script. Returns -EAGAIN if a later walk has to count further. */
int v8_find_line(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	uint32_t position, uint32_t *line);

/* ---- v8_code.c ------------------------------------------------------------------------------- */

/* Compiled code of a function. */
struct v8_code {
	uintptr_t object, start;
	/* Tagged pointer to deoptimisation data (optimised code) or bytecode (baseline code). */
	uintptr_t data;
	/*
	 * A tagged pointer to a table of positions (optimised code) or of offsets (baseline code).
	 */
	uintptr_t table;
	uint32_t bytes;
	int is_optimised;
};

/* Set the code_… offsets for V8 of node 18 to 24; for others, set code_type to 0. */
void v8_find_code_offsets(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* Does the cache have code at @pc? Reads no memory of the process. */
int v8_knows_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc);

/* Find the code that contains @pc. First try the current code of the function at @function. */
int v8_find_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	uintptr_t function, struct v8_code *out);

/*
 * Find the bytecode that an interpreted function executes. If the bytecode has called a function,
 * its offset is in the frame. Otherwise it is in a register, unless the bytecode's handler has
 * reused the register. Returns the offset in the BytecodeArray *@array; < 0: not known.
 */
int32_t v8_find_bytecode(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct v8_where *where, uintptr_t *array);

/* A position in the source. In optimised code, it may be in an inlined function. */
struct v8_position {
	int32_t position; /* in characters; < 0: not known */
	/* Index among the inlined calls of the code; < 0: the code's own function. */
	int32_t inlined;
};

int v8_find_position(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t object,
	int32_t offset, struct v8_position *out);

/* Set @shared to the SharedFunctionInfo from which optimised code with @data was compiled. */
int v8_load_compiled(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	uintptr_t *shared);

/* Set @shared to the inlined function at *@position, and *@position to the position of its call. */
int v8_next_inlined(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	struct v8_position *position, uintptr_t *shared);

#endif
