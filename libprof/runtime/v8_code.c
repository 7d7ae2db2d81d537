/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Find the position in the source for an address in V8's code, by V8's own tables:
 *
 *	interpreter  the frame has BytecodeArray and offset ─▶ the bytecode's position table
 *	baseline     pc ─▶ table of each bytecode's code ─▶ the bytecode's position table
 *	optimised    pc ─▶ table of positions, each with its inlined call
 *
 *	header, found by searching back from the pc     Code
 *	map │ Code ─────────────────────────────────▶ data │ table │ … │ start │ flags, size
 *	instructions …   ◀───────────────────────────────────────────────┘
 *
 * The formats are those of objects/code.h and codegen/source-position-table.cc. A position table is
 * a list of increments of offset and position. For an offset, the last entry at or before the
 * offset applies.
 */
#include "libprof/runtime/v8.h"

#include <errno.h>
#include <string.h>

#include "arch/v8.h"

/* ---- what differs by version ----------------------------------------------------------------- */

struct version {
	uint32_t major, minor;
	uint32_t bytecode_lines, function;
	uint32_t header, data, start, flags, size;
	uint32_t literals, shared, inlining;
};

static const struct version versions[] = {
	{10, 2, 32, 48, 128, 16, 0, 48, 40, 2, 6, 7},
	{11, 3, 32, 48, 16, 16, 40, 48, 56, 2, 6, 7},
	{12, 4, 24, 24, 32, 8, 40, 48, 52, 2, 6, 7},
	{13, 6, 24, 0, 32, 8, 40, 52, 56, 3, 7, 8},
};

/* V8 13.6 does not export the sizes of its bytecodes; v8_bytecode_sizes.py made this table. */
static const uint8_t sizes_13_6[] = {
#include "libprof/runtime/v8_bytecode_sizes.inc"
};

#define SCALES	      3u /* operands of 1, 2, 4 bytes */
#define BYTECODES_MAX 256u

static int load_symbol(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, uint32_t *value)
{
	uintptr_t at = runtime_symbol(symbols, reader, name, NULL);

	return at ? runtime_load(reader, at, value, sizeof(*value)) : -ENOENT;
}

/* Does V8 publish another value than @expected under @name? */
static int is_contradicted(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, uint32_t expected)
{
	uint32_t value;

	return !load_symbol(reader, symbols, name, &value) && value != expected;
}

static int is_as_published(const struct version *version, struct runtime_reader *reader,
	struct runtime_symbols *symbols)
{
	const struct {
		const char *name;
		uint32_t expected;
	} checks[] = {
		{"v8dbg_off_fp_bytecode_array", (uint32_t)-32},
		{"v8dbg_off_fp_bytecode_offset", (uint32_t)-40},
		{"v8dbg_class_JSFunction__code__CodeT", version->function},
		{"v8dbg_class_JSFunction__code__Tagged_Code_", version->function},
		{"v8dbg_class_Code__flags__uint32_t", version->flags},
		{"v8dbg_class_Code__instruction_size__int", version->size},
		{"v8dbg_class_Code__deoptimization_data__FixedArray", version->data},
		{"v8dbg_class_Code__source_position_table__ByteArray", version->data + 8},
		{"v8dbg_class_Code__instruction_start__Address", version->start},
		{"v8dbg_class_Code__instruction_start__uintptr_t", version->header},
		{"v8dbg_class_InstructionStream__instruction_start__uintptr_t", version->header},
		{"v8dbg_DeoptimizationDataLiteralArrayIndex", version->literals},
		{"v8dbg_DeoptimizationDataSharedFunctionInfoIndex", version->shared},
		{"v8dbg_DeoptimizationDataInliningPositionsIndex", version->inlining},
	};

	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (is_contradicted(reader, symbols, checks[i].name, checks[i].expected))
			return 0;
	return 1;
}

static const struct version *find_version(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint32_t major, minor;

	if (load_symbol(reader, symbols, "_ZN2v88internal7Version6major_E", &major) ||
		load_symbol(reader, symbols, "_ZN2v88internal7Version6minor_E", &minor))
		return NULL;
	out->version = major * 100 + minor;
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].major == major && versions[i].minor == minor &&
			is_as_published(&versions[i], reader, symbols))
			return &versions[i];
	return NULL;
}

void v8_find_code_offsets(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	struct v8_offsets *at = (struct v8_offsets *)out->offsets;
	const struct version *version = find_version(out, reader, symbols);
	uint64_t bytes = 0;

	if (!version ||
		load_symbol(reader, symbols, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
			&at->bytecode_type) ||
		load_symbol(reader, symbols, "v8dbg_class_BytecodeArray__data__uintptr_t",
			&at->bytecode_data) ||
		load_symbol(reader, symbols, "v8dbg_InterpreterBytecodeArrayRegister",
			&at->array_register) ||
		load_symbol(reader, symbols, "v8dbg_InterpreterBytecodeOffsetRegister",
			&at->offset_register) ||
		load_symbol(reader, symbols, "v8dbg_CodeKindBaseline", &at->code_baseline) ||
		load_symbol(reader, symbols, "v8dbg_CodeKindFieldMask", &at->code_kind) ||
		load_symbol(reader, symbols, "v8dbg_type_Code__CODE_TYPE", &at->code_type) ||
		at->array_register >= ARCH_DWARF_PC || at->offset_register >= ARCH_DWARF_PC) {
		at->code_type = 0;
		return;
	}
	at->bytecode_lines = version->bytecode_lines;
	at->code_function = version->function;
	at->code_header = version->header;
	at->code_data = version->data;
	at->code_table = version->data + V8_WORD;
	at->code_start = version->start;
	at->code_flags = version->flags;
	at->code_size = version->size;
	at->code_literals = version->literals;
	at->code_shared = version->shared;
	at->code_inlining = version->inlining;
	out->base = runtime_symbol(
		symbols, reader, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", &bytes);
	out->base_bytes = bytes;
	if (!bytes || bytes % SCALES || bytes > SCALES * BYTECODES_MAX)
		out->base = out->base_bytes = 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

#define CODE_ALIGNED 32u
/* The largest distance, in bytes, from an address in code back to the start of the code. */
#define CODE_MAX   65536u
#define CODE_BYTES 64u /* read of a Code object */
/* The largest number of bytes of the code of one function. */
#define CODE_FAR (1u << 20)
#define PAGE_0	 0x10000u
#define USER_END (1ULL << 47)

/*
 * May @word be a pointer to an object? This check comes first, because system calls to read at
 * words that are instructions would take most of the time.
 */
static int is_plausible(uintptr_t word)
{
	return v8_is_object(word) && word > PAGE_0 && word < USER_END;
}

/*
 * May @word be the first word of an object: a map, or the object's new address while V8 moves it?
 */
static int may_begin_object(uintptr_t word)
{
	return is_plausible(word) || (!(word & (V8_WORD - 1)) && word > PAGE_0 && word < USER_END);
}

/*
 * Is V8 moving the code whose Code object is @tagged? If so, there are two copies of the
 * instructions, and a thread may execute either copy. The address in the Code object, @stated, is
 * the address of the other copy.
 */
static int is_moving(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t tagged,
	uintptr_t stated)
{
	uintptr_t object, other;
	uint32_t type;

	return !v8_load_type(reader, tagged, &object, &type) && type == at->code_type &&
	       !runtime_load_word(reader, stated - at->code_header + V8_WORD, &other) &&
	       other == tagged;
}

/*
 * Is there a code header at @stream whose instructions contain @pc? Returns 0; -ENOENT if it is the
 * header of other code, or of code that was not compiled from a function; -EBADMSG if there is no
 * header; or -EFAULT.
 */
static int read_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t stream,
	uintptr_t pc, struct v8_code *out)
{
	uintptr_t head[2], object = stream, start = stream + at->code_header, stated;
	char code[CODE_BYTES];
	uint32_t flags, type;

	if (runtime_load(reader, stream, head, sizeof(head)))
		return -EFAULT;
	if (!may_begin_object(head[0]) || !is_plausible(head[1]))
		return -EBADMSG;
	if (at->code_start)
		object = head[1] - V8_HEAP_OBJECT;
	else if (v8_load_type(reader, stream + V8_HEAP_OBJECT, &object, &type) ||
		 type != at->code_type)
		return -EBADMSG;
	if (runtime_load(reader, object, code, sizeof(code)))
		return -EBADMSG;
	stated = runtime_word_in(code, at->code_start);
	out->data = runtime_word_in(code, at->code_data);
	out->table = runtime_word_in(code, at->code_table);
	flags = runtime_int_in(code, at->code_flags);
	out->bytes = runtime_int_in(code, at->code_size);
	if (at->code_start && stated != start && !is_moving(at, reader, head[1], stated))
		return -EBADMSG;
	flags &= at->code_kind;
	if (pc - start >= out->bytes || flags < at->code_baseline || !v8_is_object(out->data) ||
		!v8_is_object(out->table))
		return -ENOENT;
	out->is_optimised = flags > at->code_baseline;
	out->object = object;
	out->start = start;
	return 0;
}

static uint64_t key_of_code(const struct v8_offsets *at, uintptr_t pc)
{
	return runtime_mix(at->code_type, pc);
}

#define CODE_PAGE 4096u

static uintptr_t page_end(uintptr_t pc)
{
	return (pc | (CODE_PAGE - 1)) + 1;
}

/*
 * Returns the cache key of the page that contains @pc. The cached value is the code that was found
 * last in the page, because this code is likely to contain other addresses in the page, too.
 */
static uint64_t key_of_page(const struct v8_offsets *at, uintptr_t pc)
{
	return runtime_mix(~(uint64_t)at->code_type, pc / CODE_PAGE);
}

/*
 * Does the cache say that there is no code at @key? @key is the key of an address, or of a page for
 * which the searched range has no header, such as the pages of V8's second copy of its builtins.
 * The entry is valid for RUNTIME_AN_AGE walks, because V8 may add code.
 */
static int is_known_as_none(const struct runtime_reader *reader, uint64_t key)
{
	uint32_t unused;

	return runtime_cache_find_number(reader, runtime_mix(key, ~(uint64_t)reader->age), &unused);
}

static void keep_none(const struct runtime_reader *reader, uint64_t key)
{
	runtime_cache_keep_number(reader, runtime_mix(key, ~(uint64_t)reader->age), 0);
}

static void keep_code(const struct v8_offsets *at, const struct runtime_reader *reader,
	uintptr_t pc, uintptr_t stream)
{
	runtime_cache_keep_number(reader, key_of_code(at, pc), (uint32_t)(pc - stream));
	runtime_cache_keep_number(reader, key_of_page(at, pc), (uint32_t)(page_end(pc) - stream));
}

int v8_knows_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc)
{
	uint32_t back;

	return pc && runtime_cache_find_number(reader, key_of_code(at, pc), &back);
}

/*
 * Is @pc in the current code of the function at @function? If not, V8 may have compiled the
 * function again since the frame began.
 */
static int read_own_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	uintptr_t function, struct v8_code *out)
{
	uintptr_t stream;

	if (!at->code_function ||
		runtime_load_word(reader, function + at->code_function, &stream) ||
		!is_plausible(stream))
		return -ENOENT;
	stream -= V8_HEAP_OBJECT;
	if (at->code_start) {
		if (runtime_load_word(reader, stream + at->code_start, &stream))
			return -EFAULT;
		stream -= at->code_header;
	}
	return pc - stream > CODE_FAR ? -ENOENT : read_code(at, reader, stream, pc, out);
}

/* Search backwards from @pc for a code header. Returns 0 or -ENOENT. */
static int search_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	struct v8_code *out)
{
	uintptr_t stream = (pc & ~(uintptr_t)(CODE_ALIGNED - 1)) - at->code_header, page;
	int error = -EBADMSG;

	for (unsigned n = 0; error == -EBADMSG && n < CODE_MAX / CODE_ALIGNED && stream > CODE_MAX;
		n++, stream -= CODE_ALIGNED) {
		page = stream & ~(uintptr_t)(CODE_PAGE - 1);
		if (!runtime_has(reader, stream, V8_WORD))
			runtime_expect_run(reader, page, stream + V8_WORD - page);
		error = read_code(at, reader, stream, pc, out);
	}
	if (error && error != -ENOENT)
		keep_none(reader, key_of_page(at, pc));
	return error ? -ENOENT : 0;
}

int v8_find_code(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t pc,
	uintptr_t function, struct v8_code *out)
{
	uint64_t key = key_of_code(at, pc);
	uint32_t back;
	int error;

	if (runtime_cache_find_number(reader, key, &back) &&
		!read_code(at, reader, pc - back, pc, out))
		return 0;
	if (is_known_as_none(reader, key))
		return -ENOENT;
	error = read_own_code(at, reader, pc, function, out);
	if (error && is_known_as_none(reader, key_of_page(at, pc)))
		return -ENOENT;
	if (error && runtime_cache_find_number(reader, key_of_page(at, pc), &back))
		error = read_code(at, reader, page_end(pc) - back, pc, out);
	if (error)
		error = search_code(at, reader, pc, out);
	if (!error)
		keep_code(at, reader, pc, out->start - at->code_header);
	else
		keep_none(reader, key);
	return error ? -ENOENT : 0;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

/*
 * Distance below the frame pointer of the bytecode offset. The BytecodeArray is in the next word.
 */
#define FRAME_OFFSET  40u
#define HANDLER_BYTES 4096u

/*
 * Does the interpreter execute the bytecode at @offset now, i.e. is the pc in the handler of this
 * bytecode? Otherwise the handler may have reused the registers of the BytecodeArray and the
 * offset.
 */
static int is_handled(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct arch_registers *registers, uintptr_t array, uint32_t offset)
{
	uintptr_t pc = registers->r[ARCH_DWARF_PC], handler;
	uint8_t bytecode;

	if (runtime_load(reader, array + at->bytecode_data + offset, &bytecode, 1))
		return 0;
	for (unsigned scale = 0; scale < SCALES; scale++) {
		if (runtime_load_word(reader,
			    registers->r[ARCH_V8_DISPATCH] +
				    (scale * BYTECODES_MAX + bytecode) * V8_WORD,
			    &handler))
			return 0;
		if (pc - handler < HANDLER_BYTES)
			return 1;
	}
	return 0;
}

/*
 * Was the frame at @fp created by a handler of a bytecode? Such a frame has a frame kind in the
 * slot of the context. The frame of a called builtin has a context there.
 */
static int is_of_handler(struct runtime_reader *reader, uintptr_t fp)
{
	uintptr_t word;

	return !runtime_load_word(reader, fp - V8_WORD, &word) && !v8_is_object(word);
}

int32_t v8_find_bytecode(const struct v8_offsets *at, struct runtime_reader *reader,
	const struct v8_where *where, uintptr_t *array)
{
	const struct arch_registers *registers = where->registers;
	uintptr_t slots[2], length; /* offset, array */
	uint32_t type, offset;

	if (!at->code_type ||
		runtime_load(reader, where->fp - FRAME_OFFSET, slots, sizeof(slots)) ||
		!v8_is_number(slots[0]) || v8_load_type(reader, slots[1], array, &type) ||
		type != at->bytecode_type ||
		runtime_load_word(reader, *array + V8_ARRAY_LENGTH, &length))
		return -ENOENT;
	/* The offset counts from the tagged pointer, which is the array's address + 1. */
	offset = v8_number(slots[0]);
	if (where->callee && !is_of_handler(reader, where->callee))
		registers = NULL;
	if (registers) {
		if (registers->r[at->array_register] != slots[1])
			return -ENOENT;
		offset = (uint32_t)registers->r[at->offset_register];
	}
	offset -= at->bytecode_data - V8_HEAP_OBJECT;
	if (offset >= v8_number(length) ||
		(registers && !is_handled(at, reader, registers, *array, offset)))
		return -ENOENT;
	return (int32_t)offset;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The largest number of bytes of a table. */
#define TABLE_MAX 65536u
/* The first entry of a position table has this offset. */
#define FUNCTION_ENTRY (-1)

static int open_table(struct runtime_bytes *table, struct runtime_reader *reader, uintptr_t word)
{
	uintptr_t address, length;
	uint32_t type;

	if (v8_load_type(reader, word, &address, &type) ||
		runtime_load_word(reader, address + V8_ARRAY_LENGTH, &length) ||
		!v8_is_number(length) || v8_number(length) > TABLE_MAX)
		return -EBADMSG;
	table->reader = reader;
	table->at = address + V8_ARRAY_DATA;
	table->end = table->at + v8_number(length);
	table->used = table->got = 0;
	return 0;
}

/* Read a number with 7 bits per byte, lowest first. Returns 1, or 0 at the end of the table. */
static int table_number(struct runtime_bytes *table, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		int byte = runtime_byte(table);

		if (byte < 0)
			return 0;
		value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			break;
	}
	*out = value;
	return 1;
}

/* Read a number with the sign in the lowest bit. Returns 1, or 0 at the end of the table. */
static int table_step(struct runtime_bytes *table, int64_t *out)
{
	uint64_t value;

	if (!table_number(table, &value))
		return 0;
	*out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
	return 1;
}

/* Decode a position: bit 0 is set in V8's own files; character + 1 and inlined call + 1 follow. */
static struct v8_position unpack(uint64_t word)
{
	return (struct v8_position){
		.position = word & 1 ? -1 : (int32_t)(word >> 1 & 0x3fffffff) - 1,
		.inlined = (int32_t)(word >> 31 & 0xffff) - 1,
	};
}

static int search_positions(
	struct runtime_reader *reader, uintptr_t word, int32_t wanted, struct v8_position *out)
{
	int64_t offset = FUNCTION_ENTRY, step, position = 0, moved;
	struct v8_position found = {-1, -1};
	struct runtime_bytes table;

	if (open_table(&table, reader, word))
		return -EBADMSG;
	while (table_step(&table, &step) && table_step(&table, &moved)) {
		/* Ignore the sign: it only says whether the entry is for a statement. */
		offset += step < 0 ? -(step + 1) : step;
		if (offset > wanted)
			break;
		position += moved;
		found = unpack((uint64_t)position);
	}
	*out = found;
	return 0;
}

/* ---- baseline code --------------------------------------------------------------------------- */

/* A sequential read of bytecodes. */
struct bytecodes {
	const struct runtime *runtime;
	struct runtime_reader *reader;
	uintptr_t at;
	uint32_t offset, length;
};

/* Returns the size in bytes of @bytecode with operands of @scale; 0: not known. */
static uint32_t size_of(const struct bytecodes *codes, uint8_t bytecode, unsigned scale)
{
	uint32_t bytes = codes->runtime->base_bytes ? (uint32_t)codes->runtime->base_bytes
						    : sizeof(sizes_13_6);
	uint32_t kinds = bytes / SCALES;
	uint8_t size = 0;

	if (bytecode >= kinds)
		return 0;
	if (!codes->runtime->base_bytes)
		return codes->runtime->version == 1306 ? sizes_13_6[scale * kinds + bytecode] : 0;
	return runtime_load(
		       codes->reader, codes->runtime->base + scale * kinds + bytecode, &size, 1)
		       ? 0
		       : size;
}

/*
 * The first bytecodes, Wide, ExtraWide and their debugger variants, widen the next one's operands.
 */
#define PREFIXES 4u

/* Skip a bytecode. Returns 1; 0 if it was the last one, or if its size is not known. */
static int pass_bytecode(struct bytecodes *codes)
{
	uint8_t bytes[2];
	uint32_t size;

	if (codes->offset >= codes->length ||
		runtime_load(codes->reader, codes->at + codes->offset, bytes, sizeof(bytes)))
		return 0;
	if (bytes[0] < PREFIXES)
		size = size_of(codes, bytes[1], bytes[0] % 2 ? 2 : 1) + 1;
	else
		size = size_of(codes, bytes[0], 0);
	codes->offset += size;
	return size > (bytes[0] < PREFIXES);
}

/*
 * Returns the offset of the bytecode from which the baseline code at @offset was compiled, or < 0.
 */
static int32_t find_baseline(const struct runtime *runtime, struct runtime_reader *reader,
	const struct v8_code *code, uintptr_t array, uint32_t offset)
{
	const struct v8_offsets *at = v8_offsets_of(runtime);
	struct bytecodes codes = {.runtime = runtime, .reader = reader};
	uintptr_t length;
	uint64_t end, bytes;
	struct runtime_bytes table;

	if (open_table(&table, reader, code->table) || !table_number(&table, &end) ||
		runtime_load_word(reader, array + V8_ARRAY_LENGTH, &length) ||
		!v8_is_number(length))
		return -EBADMSG;
	codes.at = array + at->bytecode_data;
	codes.length = v8_number(length);
	if (offset < end)
		return 0; /* the entry code */
	for (;;) {
		if (!table_number(&table, &bytes))
			return -EBADMSG;
		end += bytes;
		if (offset < end)
			return (int32_t)codes.offset;
		if (!pass_bytecode(&codes))
			return -EBADMSG;
	}
}

/* ---- positions ------------------------------------------------------------------------------- */

int v8_find_position(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t object,
	int32_t offset, struct v8_position *out)
{
	const struct v8_offsets *at = v8_offsets_of(runtime);
	uintptr_t array = object, word, unused;
	struct v8_code code;
	uint32_t type, flags;

	if (offset < 0 || v8_load_type(reader, object + V8_HEAP_OBJECT, &unused, &type))
		return -EBADMSG;
	if (type == at->code_type) {
		if (runtime_load_word(reader, object + at->code_data, &code.data) ||
			runtime_load_word(reader, object + at->code_table, &code.table) ||
			runtime_load(reader, object + at->code_flags, &flags, sizeof(flags)))
			return -EFAULT;
		if ((flags & at->code_kind) > at->code_baseline)
			return search_positions(reader, code.table, offset, out);
		if (v8_load_type(reader, code.data, &array, &type) || type != at->bytecode_type)
			return -EBADMSG;
		offset = find_baseline(runtime, reader, &code, array, (uint32_t)offset);
	}
	if (type != at->bytecode_type || offset < 0)
		return -EBADMSG;
	if (runtime_load_word(reader, array + at->bytecode_lines, &word))
		return -EFAULT;
	return search_positions(reader, word, offset, out);
}

/* ---- inlined functions ----------------------------------------------------------------------- */

/* Number of the code's own function in the list of inlined calls, if it is inlined in itself. */
#define OWN_FUNCTION (-1)

static int load_element(
	struct runtime_reader *reader, uintptr_t address, uint32_t index, uintptr_t *word)
{
	uintptr_t length;

	if (runtime_load_word(reader, address + V8_ARRAY_LENGTH, &length))
		return -EFAULT;
	if (!v8_is_number(length) || index >= v8_number(length))
		return -EBADMSG;
	return runtime_load_word(reader, address + V8_ARRAY_DATA + index * V8_WORD, word);
}

/* Load element @index, which must be a strong or weak reference to an object. */
static int load_object_element(struct runtime_reader *reader, uintptr_t address, uint32_t index,
	uintptr_t *object, uint32_t *type)
{
	uintptr_t word;
	int error = load_element(reader, address, index, &word);

	if (error)
		return error;
	if ((word & V8_HEAP_OBJECT_MASK) == V8_HEAP_OBJECT_MASK)
		word -= V8_HEAP_OBJECT_MASK - V8_HEAP_OBJECT;
	return v8_load_type(reader, word, object, type);
}

int v8_load_compiled(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	uintptr_t *shared)
{
	uint32_t type;
	int error =
		load_object_element(reader, data - V8_HEAP_OBJECT, at->code_shared, shared, &type);

	if (error || type == at->shared_type)
		return error;
	/* From 13.6 on, the element is a wrapper that contains the SharedFunctionInfo. */
	return v8_load_object(reader, *shared + V8_WORD, at->shared_type, shared);
}

int v8_next_inlined(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t data,
	struct v8_position *position, uintptr_t *shared)
{
	uintptr_t array, length;
	struct {
		uint64_t position;
		int32_t function;
		uint32_t unused;
	} call;
	struct v8_position caller;
	uint32_t type, index = (uint32_t)position->inlined;

	if (load_object_element(reader, data - V8_HEAP_OBJECT, at->code_inlining, &array, &type) ||
		runtime_load_word(reader, array + V8_ARRAY_LENGTH, &length) ||
		!v8_is_number(length) || index >= v8_number(length) / sizeof(call) ||
		runtime_load(
			reader, array + V8_ARRAY_DATA + index * sizeof(call), &call, sizeof(call)))
		return -EBADMSG;
	caller = unpack(call.position);
	/* A caller's index is smaller than its callee's. Check that, or a loop might not end. */
	if (call.function < OWN_FUNCTION || caller.inlined >= position->inlined)
		return -EBADMSG;
	*position = caller;
	if (call.function == OWN_FUNCTION)
		return v8_load_compiled(at, reader, data, shared);
	return load_object_element(
		       reader, data - V8_HEAP_OBJECT, at->code_literals, &array, &type) ||
			       load_object_element(
				       reader, array, (uint32_t)call.function, shared, &type) ||
			       type != at->shared_type
		       ? -EBADMSG
		       : 0;
}
