/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the JavaScript functions of a thread, for V8 in node 18 to 24, without pointer compression.
 * Frames of interpreted, baseline and optimised code all have a frame pointer and these slots:
 *
 *	fp + 8    return address
 *	fp        the caller's frame pointer
 *	fp - 8    context; in V8's internal frames a small integer with the frame's kind
 *	fp - 16   JSFunction ─▶ SharedFunctionInfo ─▶ ScopeInfo: name, position in the source
 *	                                           └▶ Script: source, name
 *
 * A builtin has such a frame, too, but no script. Offsets and types are those that V8 publishes for
 * debuggers (v8dbg_*, tools/gen-postmortem-metadata.py). For a ScopeInfo, V8 publishes only the end
 * of its fixed fields; the others follow objects/scope-info.tq. The names of V8's symbols contain
 * the types of fields, which differ between versions.
 *
 * Objects move, so a function is identified by script, position and name. While an object is being
 * moved, its old copy points to the new one, which is then read. The type of every object is
 * checked.
 */
#include "libprof/runtime/v8.h"

#include <errno.h>
#include <string.h>

#include "arch/v8.h"

#define FRAME_CONTEXT  (1 * V8_WORD) /* distance below fp */
#define FRAME_FUNCTION (2 * V8_WORD)
#define FRAME_SLOTS    (5 * V8_WORD)
#define FRAMES_AHEAD   32u
#define FRAME_MAX      65536u
/* Words of a JSFunction that are read, from `shared` on. */
#define QUICK_BEHIND 4u
/* Index of the first word of a JSFunction that other objects do not have. */
#define FUNCTION_OWN 3u
/* Index of the context, counted in words from `shared`. */
#define FUNCTION_CONTEXT 1u
/* V8's constant kScopeInfoMaxInlinedLocalNamesSize. */
#define INLINE_LOCALS 75u
#define LOCALS_MAX    65536u
/* Offset in SharedFunctionInfo of the function's code. */
#define SHARED_CODE	  8u
#define SCOPE_FLAGS	  8u
#define SCOPE_POSITION	  32u /* if before the locals */
#define SCOPE_KIND	  15u /* masks of the flags */
#define SCOPE_MODULE	  5u
#define SCOPE_SAVED_CLASS (1u << 10)
#define SCOPE_NAME	  (3u << 12)
#define SCOPE_INFERRED	  (1u << 14)
#define STRING_KIND	  7u /* masks of a string's type */
#define STRING_ONE_BYTE	  8u

/* ---- finding the runtime --------------------------------------------------------------------- */

#define NAMES_MAX 3u

/*
 * A value that V8 publishes, and its names in several versions. The value is stored at the index
 * `place` or, if `place` is negative, compared with `expected`.
 */
struct published {
	int place; /* in v8_offsets; < 0: none */
	int32_t expected;
	char names[NAMES_MAX][72];
};

#define AT(field) (int)(offsetof(struct v8_offsets, field) / sizeof(uint32_t))

static const struct published published[] = {
	{AT(shared), 0, {"class_JSFunction__shared__SharedFunctionInfo"}},
	{AT(scope), 0,
		{"class_SharedFunctionInfo__name_or_scope_info__Object",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"}},
	{AT(script), 0,
		{"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
			"class_SharedFunctionInfo__script__Tagged_HeapObject_",
			"class_SharedFunctionInfo__raw_script__Tagged_Object_"}},
	{AT(source), 0, {"class_Script__source__Object"}},
	{AT(script_name), 0, {"class_Script__name__Object"}},
	{AT(line_ends), 0, {"class_Script__line_ends__Object"}},
	{AT(first_local), 0, {"scopeinfo_idx_first_vars"}},
	{AT(function_type), 0, {"type_JSFunction__JS_FUNCTION_TYPE"}},
	{AT(shared_type), 0, {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
	{AT(script_type), 0, {"type_Script__SCRIPT_TYPE"}},
	{AT(scope_type), 0, {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
	{AT(array_type), 0, {"type_FixedArray__FIXED_ARRAY_TYPE"}},
	{-1, -(int)FRAME_CONTEXT, {"off_fp_context_or_frame_type"}},
	{-1, -(int)FRAME_FUNCTION, {"off_fp_function"}},
	{-1, V8_WORD, {"TaggedSize"}},
	{-1, V8_HEAP_OBJECT, {"HeapObjectTag"}},
	{-1, 31, {"SmiShiftSize"}},
	{-1, V8_TYPE_OF_MAP, {"class_Map__instance_type__uint16_t"}},
	{-1, 2, {"scopeinfo_idx_ncontextlocals"}},
	{-1, V8_STRING_LENGTH, {"class_String__length__int32_t"}},
	{-1, V8_STRING_CHARACTERS, {"class_SeqOneByteString__chars__char"}},
	{-1, V8_STRING_CHARACTERS, {"class_SeqTwoByteString__chars__char"}},
	{-1, V8_STRING_CHARACTERS, {"class_ExternalString__resource__Object"}},
	{-1, STRING_KIND, {"StringRepresentationMask"}},
	{-1, STRING_ONE_BYTE, {"OneByteStringTag"}},
};

#define PREFIX	   "v8dbg_"
#define NAME_BYTES 96u
#define OFFSET_MAX 512u
/* The number of types of a JSFunction, if V8 does not publish the last of these types. */
#define JS_FUNCTION_TYPES 16u

static int load_published(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, int32_t *value)
{
	char whole[NAME_BYTES] = PREFIX;
	size_t bytes = strlen(name) + 1;
	uintptr_t at;

	if (bytes > sizeof(whole) - strlen(PREFIX))
		return -ENOENT;
	memcpy(whole + strlen(PREFIX), name, bytes);
	at = runtime_symbol(symbols, reader, whole, NULL);
	return at ? runtime_load(reader, at, value, sizeof(*value)) : -ENOENT;
}

static int load_any(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const struct published *field, int32_t *value)
{
	int error = -ENOENT;

	for (unsigned i = 0; error && i < NAMES_MAX && field->names[i][0]; i++)
		error = load_published(reader, symbols, field->names[i], value);
	return error;
}

static int find_v8(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	struct v8_offsets *at = (struct v8_offsets *)out->offsets;
	int32_t value, last;

	if (load_published(reader, symbols, "HeapObjectTag", &value))
		return -ENOENT;
	for (unsigned i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (load_any(reader, symbols, &published[i], &value))
			return -ENOTSUP;
		if (published[i].place < 0 && value != published[i].expected)
			return -ENOTSUP;
		if (published[i].place >= 0)
			out->offsets[published[i].place] = (uint32_t)value;
	}
	if (at->shared > OFFSET_MAX || at->scope > OFFSET_MAX || at->script > OFFSET_MAX ||
		at->source > OFFSET_MAX || at->script_name > OFFSET_MAX ||
		at->line_ends > OFFSET_MAX || (at->first_local != 3 && at->first_local != 5))
		return -ENOTSUP;
	at->function_types = JS_FUNCTION_TYPES;
	if (!load_published(reader, symbols, "LastJSFunctionType", &last))
		at->function_types = (uint32_t)last - at->function_type + 1;
	v8_find_code_offsets(out, reader, symbols);
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Fields of a ScopeInfo. */
struct scope {
	uintptr_t name; /* 0: none */
	uint32_t start, end;
};

/* Set @behind to the address of the first word after the locals of @scope. Returns 0 or -errno. */
static int find_behind_locals(const struct v8_offsets *at, struct runtime_reader *reader,
	uintptr_t scope, uint32_t *flags, uintptr_t *behind)
{
	uintptr_t head[3], locals; /* flags, parameters, locals */

	if (runtime_load(reader, scope + SCOPE_FLAGS, head, sizeof(head)))
		return -EFAULT;
	if (!v8_is_number(head[2]) || v8_number(head[2]) > LOCALS_MAX)
		return -EBADMSG;
	locals = v8_number(head[2]);
	*flags = at->first_local == 3 ? v8_number(head[0]) : (uint32_t)head[0];
	*behind = scope + V8_WORD + at->first_local * V8_WORD;
	if ((*flags & SCOPE_KIND) == SCOPE_MODULE && at->first_local == 5)
		*behind += V8_WORD;
	*behind += ((locals < INLINE_LOCALS ? locals : 1) + locals) * V8_WORD;
	return 0;
}

static int read_scope(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t scope,
	struct scope *out)
{
	uintptr_t words[6], behind, position[2]; /* class variable, name (2), inferred name */
	uint32_t flags;
	unsigned n = 0;
	int error = find_behind_locals(at, reader, scope, &flags, &behind);

	if (error)
		return error;
	if (runtime_load(reader, behind, words, sizeof(words)))
		return -EFAULT;
	out->name = 0;
	n += (flags & SCOPE_SAVED_CLASS) != 0;
	if (flags & SCOPE_NAME) {
		error = v8_has_text(reader, words[n]);
		out->name = error > 0 ? words[n] : 0;
		n += 2;
	}
	if (error >= 0 && !out->name && flags & SCOPE_INFERRED) {
		error = v8_has_text(reader, words[n]);
		out->name = error > 0 ? words[n] : 0;
	}
	n += (flags & SCOPE_INFERRED) != 0;
	if (error < 0)
		return error;
	if (runtime_load(reader,
		    at->first_local == 3 ? behind + n * V8_WORD : scope + SCOPE_POSITION, position,
		    sizeof(position)))
		return -EFAULT;
	if (!v8_is_number(position[0]) || !v8_is_number(position[1]) || position[0] > position[1])
		return -EBADMSG;
	out->start = v8_number(position[0]);
	out->end = v8_number(position[1]);
	return 0;
}

/* Read the function with @shared. Returns 1; 0 if the function has no script; or -errno. */
static int read_shared(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t shared,
	struct runtime_frame *out)
{
	uintptr_t script, scope, word, name[1] = {0};
	struct v8_script from;
	struct scope is;
	uint32_t type;
	int error;

	if (runtime_load_word(reader, shared + at->script, &word))
		return -EFAULT;
	error = v8_load_type(reader, word, &script, &type);
	if (error || type != at->script_type)
		return error;
	/* A WebAssembly function has a script, but its scope field has a name or nothing. */
	if (runtime_load_word(reader, shared + at->scope, &word))
		return -EFAULT;
	error = v8_is_number(word) ? 0 : v8_load_type(reader, word, &scope, &type);
	if (error || v8_is_number(word) || type < V8_STRING_TYPES)
		return error;
	error = type == at->scope_type ? 0 : -EBADMSG;
	if (!error)
		error = read_scope(at, reader, scope, &is);
	if (!error)
		error = v8_read_script(at, reader, script, &from);
	if (!error && is.name &&
		runtime_load_word(reader, is.name - V8_HEAP_OBJECT + V8_STRING_HASH, name))
		error = -EFAULT;
	if (error)
		return error;
	*out = (struct runtime_frame){
		.function = shared,
		.identity = runtime_mix(
			runtime_mix(from.hash, (uint64_t)is.start << 32 | is.end), name[0]),
		.start = is.start,
		.position = -1,
		.lines = script,
		.name = is.name,
		.file = from.name,
	};
	return 1;
}

/*
 * Find the JSFunction to which @tagged points, and its SharedFunctionInfo. Returns 1; 0 if @tagged
 * is not a JSFunction; or -errno.
 */
static int find_shared(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t tagged,
	uintptr_t *function, uintptr_t *shared)
{
	uint32_t type;
	int error;

	if (v8_load_type(reader, tagged, function, &type) ||
		type - at->function_type >= at->function_types)
		return 0;
	error = v8_load_object(reader, *function + at->shared, at->shared_type, shared);
	return error ? error : 1;
}

/*
 * Read a frame of optimised code @code at @pc. Returns 0 if the code was compiled from another
 * function than the one with @shared. Code and position determine all other fields of @out, which
 * next_v8() reads if they are not cached.
 */
static int read_optimised(const struct runtime *runtime, struct runtime_reader *reader,
	const struct v8_code *code, uintptr_t pc, uintptr_t shared, struct runtime_frame *out)
{
	struct v8_position is = {-1, -1};
	uintptr_t compiled;

	if (v8_load_compiled(v8_offsets_of(runtime), reader, code->data, &compiled) ||
		compiled != shared)
		return 0;
	v8_find_position(runtime, reader, code->object, (int32_t)(pc - code->start), &is);
	*out = (struct runtime_frame){
		.function = shared,
		.code = code->object,
		.position = is.position,
		.inlined = is.inlined,
	};
	out->key = runtime_mix(runtime_mix(shared, code->object), (uint32_t)is.position);
	out->key = runtime_mix(runtime_mix(out->key, (uint32_t)is.inlined), code->data);
	return 1;
}

/*
 * Find the code of the function with @shared that @where executes. The innermost frame may be in a
 * frameless builtin that this code has called. The return address is then on top of the stack.
 */
static int find_own_code(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct v8_where *where, uintptr_t function, uintptr_t shared, struct v8_code *out,
	uintptr_t *pc)
{
	uintptr_t word;

	*pc = where->pc;
	if (!at->code_type)
		return -ENOENT;
	if (*pc && !v8_find_code(at, reader, *pc, function, out))
		return 0;
	if (!where->registers || where->callee ||
		runtime_load_word(reader, where->registers->r[ARCH_DWARF_SP], pc) ||
		v8_find_code(at, reader, --*pc, function, out))
		return -ENOENT;
	if (out->is_optimised)
		return 0;
	/* Baseline code is accepted only if it is the function's current code. */
	return runtime_load_word(reader, shared + SHARED_CODE, &word) ||
			       word != out->object + V8_HEAP_OBJECT
		       ? -ENOENT
		       : 0;
}

/*
 * Read the frame of the function @tagged at @where. @fp is 0 if the function has no frame yet.
 * Returns 1; 0 if @tagged is not a function of a script; or -errno.
 */
static int read_function(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t tagged, const struct v8_where *where, uintptr_t fp, struct runtime_frame *out)
{
	const struct v8_offsets *at = v8_offsets_of(runtime);
	struct v8_position is = {-1, -1};
	struct v8_code code;
	uintptr_t function, shared, array, pc;
	int is_code, got = find_shared(at, reader, tagged, &function, &shared);
	int32_t offset;

	if (got <= 0)
		return got;
	is_code = !find_own_code(at, reader, where, function, shared, &code, &pc);
	if (is_code && code.is_optimised && read_optimised(runtime, reader, &code, pc, shared, out))
		return 1;
	got = read_shared(at, reader, shared, out);
	if (got <= 0)
		return got;
	if (is_code && !code.is_optimised) {
		v8_find_position(runtime, reader, code.object, (int32_t)(pc - code.start), &is);
	} else if (!is_code && fp) {
		offset = v8_find_bytecode(at, reader, where, &array);
		if (offset >= 0)
			v8_find_position(runtime, reader, array, offset, &is);
	}
	out->position = is.position;
	out->key = runtime_mix(out->identity, (uint32_t)is.position);
	return 1;
}

static int frame_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	const struct v8_where *where, struct runtime_frame *out)
{
	uintptr_t slots[2]; /* function, context */

	if (runtime_load(reader, where->fp - FRAME_FUNCTION, slots, sizeof(slots)) ||
		!v8_is_object(slots[1]))
		return 0;
	return read_function(runtime, reader, slots[0], where, where->fp, out);
}

/* Read the functions of the frame at @fp and of its callers into windows, by one system call. */
static void expect_functions(struct runtime_reader *reader, uintptr_t fp)
{
	uintptr_t functions[FRAMES_AHEAD] = {0}, words[3]; /* function, context, frame pointer */
	unsigned count = 0;

	for (unsigned n = 0; n < FRAMES_AHEAD; n++, fp = words[2]) {
		if (runtime_load(reader, fp - FRAME_FUNCTION, words, sizeof(words)))
			break;
		if (v8_is_object(words[0]) && v8_is_object(words[1]))
			functions[count++] = words[0] - V8_HEAP_OBJECT;
		if (words[2] <= fp || words[2] - fp > FRAME_MAX || words[2] % V8_WORD)
			break;
	}
	runtime_expect_each(reader, functions, count);
}

/*
 * Returns a cache key for the frame, made by few loads, or 0. The key depends on words of the
 * function (map, `shared`, feedback, code), but not on the function's address or context, because
 * programs create closures all the time. For interpreted code, the key includes the bytecode offset
 * in the frame. The innermost frames have this offset in registers, so they have a key only in
 * compiled code.
 */
static uint64_t quick_of_v8(
	const struct runtime *runtime, struct runtime_reader *reader, const struct v8_where *where)
{
	uintptr_t slots[5]; /* offset, bytecode, …, function, context */
	uint64_t words[RUNTIME_AHEAD_LEAST / V8_WORD], hash;
	unsigned shared = v8_offsets_of(runtime)->shared / V8_WORD, count = shared + QUICK_BEHIND;

	if ((where->registers || where->callee) &&
		!v8_knows_code(v8_offsets_of(runtime), reader, where->pc))
		return 0;
	if (count > sizeof(words) / V8_WORD ||
		runtime_load(reader, where->fp - FRAME_SLOTS, slots, sizeof(slots)) ||
		!v8_is_object(slots[4]) || !v8_is_object(slots[3]))
		return 0;
	if (reader->is_own && !runtime_has(reader, slots[3] - V8_HEAP_OBJECT, sizeof(words)))
		expect_functions(reader, where->fp);
	if (runtime_load(reader, slots[3] - V8_HEAP_OBJECT, words, sizeof(words)))
		return 0;
	hash = runtime_mix(words[0], where->pc);
	for (unsigned i = FUNCTION_OWN; i < count; i++)
		if (i != shared + FUNCTION_CONTEXT)
			hash = runtime_mix(hash, words[i]);
	if (v8_is_number(slots[0]) && v8_is_object(slots[1]))
		hash = runtime_mix(runtime_mix(hash, slots[0]), slots[1]);
	return hash;
}

static int edge_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	const struct v8_where *where, struct runtime_frame *out)
{
	const struct arch_registers *registers = where->registers;
	struct arch_code code = {.at = ARCH_V8_BEFORE, .end = ARCH_CODE_BYTES};
	uintptr_t function = 0, address = 0;

	if (runtime_load(reader, registers->r[ARCH_DWARF_PC] - ARCH_V8_BEFORE, code.bytes,
		    sizeof(code.bytes)) ||
		!arch_v8_at_edge(&code, registers, &function, &address) ||
		(!function && runtime_load_word(reader, address, &function)))
		return 0;
	return read_function(runtime, reader, function, where, 0, out);
}

/* ---- all functions of one frame -------------------------------------------------------------- */

/*
 * Find the first line and the current line of @frame. Returns 0; or -errno if the first line cannot
 * be found, or if a line is not known yet (-EAGAIN).
 */
static int find_lines(const struct v8_offsets *at, struct runtime_reader *reader, int32_t position,
	struct runtime_frame *frame)
{
	int error = v8_find_line(at, reader, frame->lines, frame->start, &frame->first_line);

	frame->line = 0;
	if (!error && position >= 0)
		error = v8_find_line(at, reader, frame->lines, (uint32_t)position, &frame->line);
	return error == -EAGAIN || !frame->first_line ? error : 0;
}

/* Report the functions inlined at @frame, of optimised code, and then the frame's own function. */
static int write_optimised(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame, struct runtime_frame *out, unsigned room)
{
	const struct v8_offsets *at = v8_offsets_of(runtime);
	struct v8_position at_line = {frame->position, frame->inlined};
	struct runtime_frame own;
	unsigned count = 0;
	uintptr_t data, shared;
	int32_t position;
	int got = 0;

	if (runtime_load_word(reader, frame->code + at->code_data, &data))
		return -EFAULT;
	while (at_line.inlined >= 0 && count + 1 < room) {
		position = at_line.position;
		got = v8_next_inlined(at, reader, data, &at_line, &shared);
		if (!got)
			got = read_shared(at, reader, shared, &out[count]);
		if (got > 0)
			got = find_lines(at, reader, position, &out[count++]);
		if (got < 0)
			break;
	}
	if (got == -EAGAIN)
		return got;
	/* If one of the inlined functions cannot be read, report none of them. */
	if (got < 0 || at_line.inlined >= 0) {
		count = 0;
		at_line.position = -1;
	}
	got = read_shared(at, reader, frame->function, &own);
	if (got > 0)
		got = find_lines(at, reader, at_line.position, &own);
	if (got < 0)
		return got;
	out[count] = own;
	return own.lines ? (int)count + 1 : 0;
}

static int frames_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_frame *frame, struct runtime_frame *out, unsigned room)
{
	int error;

	if (!frame->lines)
		return write_optimised(runtime, reader, frame, out, room);
	out[0] = *frame;
	error = find_lines(v8_offsets_of(runtime), reader, frame->position, &out[0]);
	return error ? error : 1;
}

/* ---- functions of the reader ----------------------------------------------------------------- */

/* Returns the frame that the walk has reached last. It is kept in runtime_stack.own. */
static struct v8_where *where_of(struct runtime_stack *stack)
{
	_Static_assert(sizeof(struct v8_where) <= sizeof(stack->own), "fits");
	return (struct v8_where *)stack->own;
}

static int enter_v8(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, const struct unwind_frame *frame)
{
	struct v8_where *where = where_of(stack), callee = *where;
	int got = 0;

	if (!frame->caller_sp || (!frame->fp && !frame->innermost))
		return 0;
	*where = (struct v8_where){.fp = frame->fp,
		.pc = frame->is_generated ? frame->pc : 0,
		.registers = frame->innermost,
		.is_innermost = frame->innermost != NULL};
	if (callee.is_innermost)
		where->callee = callee.fp;
	if (callee.is_innermost && (!callee.fp || callee.fp == frame->sp - 2 * V8_WORD))
		where->registers = callee.registers;
	/*
	 * Check first, by the code, whether the function has just begun. Its frame has no slots
	 * then.
	 */
	stack->found.function = 0;
	if (where->is_innermost)
		got = edge_of_v8(runtime, reader, where, &stack->found);
	where->is_innermost &= !got;
	if (!got && (!frame->fp || frame->fp - 2 * V8_WORD < frame->sp))
		return 0;
	stack->key = got ? 0 : quick_of_v8(runtime, reader, where);
	if (stack->key) {
		stack->key = runtime_mix(stack->key, reader->age);
		return 1;
	}
	if (!got)
		got = frame_of_v8(runtime, reader, where, &stack->found);
	stack->key = stack->found.key;
	return got;
}

static int next_v8(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	int got = 1;

	if (!stack->found.function)
		got = frame_of_v8(runtime, reader, where_of(stack), &stack->found);
	return got > 0 ? frames_of_v8(runtime, reader, &stack->found, out, room) : got;
}

const struct runtime_kind runtime_v8 = {
	.name = "node",
	.known = "18 to 24",
	.find = find_v8,
	.enter = enter_v8,
	.next = next_v8,
	.text = v8_text,
};
