/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the tables that HotSpot's library exports for debuggers (runtime/vmStructs.cpp): fields,
 * sizes of types, and constants. Each table is read once, in one pass. Releases moved and renamed
 * fields, so some members of hotspot_offsets have alternative names. A release is supported if it
 * has exactly one of the alternatives for each member that is not optional.
 */
#include <errno.h>

#include "arch/hotspot.h"
#include "libprof/runtime/hotspot.h"

#define ENTRIES_MAX 8192u
#define NAME_BYTES  64u
#define OFFSET_MAX  4096u
#define PAGE_BYTES  4096u

/* The part of a field's table entry to store, and the type that the field must have. */
enum how {
	/* Store the offset, whatever the type is. */
	PLAIN,
	/* Store the offset, if the field is a pointer. */
	POINTER,
	/* Store the offset, if the field has four bytes. */
	INT,
	/* Store the offset, if the field is unsigned and has two bytes. */
	SHORT,
	/* Store offset and width, if the field is an integer or a pointer. */
	FIELD,
	/* Store the distance of a static variable from runtime->base. */
	VARIABLE,
};

/*
 * A needed table entry: its names, and the index in hotspot_offsets at which to store the value.
 * Rows with equal indices are alternatives.
 */
struct wanted {
	/* `field` is empty for the size of a type and for a constant. */
	char type[48], field[28];
	uint8_t place, how, is_optional;
};

#define AT(field) (uint8_t)(offsetof(struct hotspot_offsets, field) / sizeof(uint32_t))

static const struct wanted fields[] = {
	{"CodeCache", "_heaps", AT(heaps), VARIABLE, 0},
	{"AbstractInterpreter", "_code", AT(interpreter), VARIABLE, 0},
	{"StubRoutines", "_call_stub_return_address", AT(call_stub_return), VARIABLE, 0},
	{"PerfMemory", "_prologue", AT(perf_data), VARIABLE, 0},
	{"ContinuationEntry", "_return_pc", AT(entered), VARIABLE, 1},
	{"PerfDataPrologue", "entry_offset", AT(perf_first), INT, 0},
	{"PerfDataPrologue", "num_entries", AT(perf_count), INT, 0},
	{"PerfDataEntry", "entry_length", AT(perf_bytes), INT, 0},
	{"PerfDataEntry", "name_offset", AT(perf_name), INT, 0},
	{"PerfDataEntry", "data_offset", AT(perf_value), INT, 0},
	{"GrowableArrayBase", "_len", AT(array_length), INT, 0},
	{"GrowableArray<int>", "_data", AT(array_data), POINTER, 0},
	{"CodeHeap", "_memory", AT(heap_memory), PLAIN, 0},
	{"CodeHeap", "_segmap", AT(heap_segments), PLAIN, 0},
	{"CodeHeap", "_log2_segment_size", AT(heap_segment_log), INT, 0},
	{"VirtualSpace", "_low", AT(space_low), POINTER, 0},
	{"VirtualSpace", "_high", AT(space_high), POINTER, 0},
	{"HeapBlock::Header", "_used", AT(block_is_used), PLAIN, 0},
	{"StubQueue", "_stub_buffer", AT(queue_buffer), POINTER, 0},
	{"StubQueue", "_buffer_limit", AT(queue_bytes), INT, 0},
	{"CodeBlob", "_name", AT(blob_name), POINTER, 0},
	{"CodeBlob", "_header_size", AT(header_bytes), FIELD, 0},
	{"CodeBlob", "_frame_complete_offset", AT(frame_complete), FIELD, 0},
	{"CodeBlob", "_frame_size", AT(frame_words), FIELD, 0},
	{"CodeBlob", "_code_begin", AT(code_begin), FIELD, 0},
	{"CodeBlob", "_code_offset", AT(code_begin), FIELD, 0},
	{"CodeBlob", "_data_offset", AT(code_end), FIELD, 0},
	{"CompiledMethod", "_method", AT(nmethod_method), FIELD, 0},
	{"nmethod", "_method", AT(nmethod_method), FIELD, 0},
	{"nmethod", "_orig_pc_offset", AT(original_pc), FIELD, 0},
	{"nmethod", "_compile_id", AT(compile_id), FIELD, 0},
	{"nmethod", "_verified_entry_point", AT(entry), FIELD, 0},
	{"nmethod", "_verified_entry_offset", AT(entry), FIELD, 0},
	{"nmethod", "_osr_entry_point", AT(loop_entry), FIELD, 0},
	{"CompiledMethod", "_deopt_handler_begin", AT(deopt), FIELD, 0},
	{"nmethod", "_deopt_handler_offset", AT(deopt), FIELD, 0},
	{"nmethod", "_deopt_handler_entry_offset", AT(deopt), FIELD, 0},
	{"CompiledMethod", "_deopt_mh_handler_begin", AT(deopt_handle), FIELD, 1},
	{"nmethod", "_deopt_mh_handler_offset", AT(deopt_handle), FIELD, 1},
	{"nmethod", "_stub_offset", AT(stubs), FIELD, 0},
	/* The data is in the nmethod, up to _nmethod_end_offset, or a pointer has its address. */
	{"nmethod", "_nmethod_end_offset", AT(mutable_data), FIELD, 0},
	{"CodeBlob", "_mutable_data", AT(mutable_data), FIELD, 0},
	{"nmethod", "_nmethod_end_offset", AT(immutable_data), FIELD, 0},
	{"nmethod", "_immutable_data", AT(immutable_data), FIELD, 0},
	{"nmethod", "_metadata_offset", AT(metadata), FIELD, 0},
	{"CodeBlob", "_relocation_size", AT(metadata), FIELD, 0},
	{"CompiledMethod", "_scopes_data_begin", AT(scopes), FIELD, 0},
	{"nmethod", "_scopes_data_offset", AT(scopes), FIELD, 0},
	{"nmethod", "_scopes_pcs_offset", AT(pcs), FIELD, 0},
	{"nmethod", "_dependencies_offset", AT(pcs_end), FIELD, 0},
	{"nmethod", "_scopes_data_offset", AT(pcs_end), FIELD, 0},
	{"nmethod", "_stack_traversal_mark", AT(sweeper), PLAIN, 1},
	{"PcDesc", "_pc_offset", AT(pc_offset), INT, 0},
	{"PcDesc", "_scope_decode_offset", AT(pc_scope), INT, 0},
	{"Method", "_constMethod", AT(method_const), POINTER, 0},
	{"ConstMethod", "_constants", AT(constants), POINTER, 0},
	{"ConstMethod", "_flags", AT(const_flags), FIELD, 0},
	{"ConstMethod", "_flags._flags", AT(const_flags), FIELD, 0},
	{"ConstMethod", "_code_size", AT(code_bytes), SHORT, 0},
	{"ConstMethod", "_name_index", AT(name_index), SHORT, 0},
	{"ConstantPool", "_pool_holder", AT(holder), POINTER, 0},
	{"ConstantPool", "_length", AT(constants_length), INT, 0},
	{"ConstantPool", "_source_file_name_index", AT(source_index), SHORT, 0},
	{"Klass", "_name", AT(klass_name), POINTER, 0},
	{"Symbol", "_length", AT(symbol_length), SHORT, 0},
	{"Symbol", "_body[0]", AT(symbol_text), PLAIN, 0},
};

static const struct wanted sizes[] = {
	{"HeapBlock", "", AT(block_size), PLAIN, 0},
	{"CodeBlob", "", AT(blob_size), PLAIN, 0},
	{"nmethod", "", AT(nmethod_size), PLAIN, 0},
	{"ConstMethod", "", AT(const_size), PLAIN, 0},
	{"ConstantPool", "", AT(constants_size), PLAIN, 0},
	{"PcDesc", "", AT(pc_size), PLAIN, 0},
};

static const struct wanted constants[] = {
	{"ConstMethod::_has_linenumber_table", "", AT(has_lines), PLAIN, 0},
	{"ConstMethodFlags::_misc_has_linenumber_table", "", AT(has_lines), PLAIN, 0},
	{"frame::interpreter_frame_sender_sp_offset", "", AT(sender_sp), PLAIN, 0},
};

#define COUNT(array) (unsigned)(sizeof(array) / sizeof((array)[0]))

/* Entries of HotSpot's tables, as HotSpot defines them. */
struct field_entry {
	uintptr_t type, field, declared;
	int32_t is_static, padding;
	uint64_t offset;
	uintptr_t address;
};

struct type_entry {
	uintptr_t type, super;
	int32_t is_oop, is_integer, is_unsigned, padding;
	uint64_t size;
};

struct constant_entry {
	uintptr_t name;
	int32_t value, padding;
};

/*
 * If entry @n, at @at, is the first of a window, read all entries of the window by one system call.
 */
static void expect_entries(
	struct runtime_reader *reader, uintptr_t at, unsigned n, unsigned entry_bytes)
{
	if (n % (RUNTIME_WINDOW_BYTES / entry_bytes) == 0)
		runtime_expect(reader, at, RUNTIME_WINDOW_BYTES / entry_bytes * entry_bytes);
}

/* Load the C string at @at, cut at NAME_BYTES. Returns 0 or -EFAULT. */
static int load_name(struct runtime_reader *reader, uintptr_t at, char name[NAME_BYTES])
{
	unsigned used = 0, bytes, in_page = PAGE_BYTES - (unsigned)(at & (PAGE_BYTES - 1));

	runtime_expect(reader, at, in_page < NAME_BYTES ? in_page : NAME_BYTES);
	/* Load aligned pieces: the page after the string's end may not be mapped. */
	while (used < NAME_BYTES) {
		bytes = 8 - (unsigned)((at + used) & 7);
		if (bytes > NAME_BYTES - used)
			bytes = NAME_BYTES - used;
		if (runtime_load(reader, at + used, name + used, bytes))
			return -EFAULT;
		for (unsigned i = 0; i < bytes; i++)
			if (!name[used + i])
				return 0;
		used += bytes;
	}
	name[NAME_BYTES - 1] = '\0';
	return 0;
}

static unsigned is_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uintptr_t load_table(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, const char *stride, uint64_t expected)
{
	uintptr_t table = runtime_symbol(symbols, reader, name, NULL);
	uintptr_t bytes = runtime_symbol(symbols, reader, stride, NULL);

	return table && bytes && hotspot_load_pointer(reader, bytes) == expected
		       ? hotspot_load_pointer(reader, table)
		       : 0;
}

/* Returns the width of a field of type @name, or 0 if the type is not known. */
static unsigned width_of(const char *name)
{
	static const struct {
		char name[9];
		uint8_t width;
	} types[] = {{"int", HOTSPOT_INT}, {"jint", HOTSPOT_INT}, {"u4", HOTSPOT_INT},
		{"u2", HOTSPOT_U2}, {"uint16_t", HOTSPOT_U2}, {"int16_t", HOTSPOT_S2},
		{"address", HOTSPOT_POINTER}};
	unsigned length = 0;

	for (unsigned i = 0; i < COUNT(types); i++)
		if (is_equal(name, types[i].name))
			return types[i].width;
	while (name[length])
		length++;
	return length && name[length - 1] == '*' ? HOTSPOT_POINTER : 0;
}

/* Bit sets of members of hotspot_offsets that were found at least once, or more than once. */
struct found {
	uint64_t once, twice;
};

static void keep_value(
	struct runtime *out, struct found *found, const struct wanted *wanted, uint32_t value)
{
	uint64_t bit = 1ULL << wanted->place;

	found->twice |= found->once & bit;
	found->once |= bit;
	out->offsets[wanted->place] = value;
}

/* Store the value of @field, if its type is one that wanted->how allows. */
static void keep_field(struct runtime *out, struct runtime_reader *reader, struct found *found,
	const struct wanted *wanted, const struct field_entry *field)
{
	static const uint8_t widths[] = {
		[POINTER] = HOTSPOT_POINTER, [INT] = HOTSPOT_INT, [SHORT] = HOTSPOT_U2};
	uintptr_t distance = field->address - out->base;
	char type[NAME_BYTES];
	unsigned width;

	if (field->is_static != (wanted->how == VARIABLE))
		return;
	if (wanted->how == VARIABLE) {
		if (distance <= UINT32_MAX)
			keep_value(out, found, wanted, (uint32_t)distance);
		return;
	}
	if (field->offset > OFFSET_MAX)
		return;
	if (wanted->how == PLAIN) {
		keep_value(out, found, wanted, (uint32_t)field->offset);
		return;
	}
	width = field->declared && !load_name(reader, field->declared, type) ? width_of(type) : 0;
	if (wanted->how == FIELD && width)
		keep_value(out, found, wanted, HOTSPOT_FIELD(field->offset, width));
	else if (wanted->how != FIELD && width == widths[wanted->how])
		keep_value(out, found, wanted, (uint32_t)field->offset);
}

/* Find all wanted fields. The table lists fields of one type together. Returns 0 or -EFAULT. */
static int find_fields(
	struct runtime *out, struct runtime_reader *reader, struct found *found, uintptr_t at)
{
	char type[NAME_BYTES] = "", name[NAME_BYTES];
	struct field_entry entry;
	unsigned is_wanted = 0;
	uintptr_t last = 0;

	for (unsigned n = 0; n < ENTRIES_MAX; n++, at += sizeof(entry)) {
		expect_entries(reader, at, n, sizeof(entry));
		if (runtime_load(reader, at, &entry, sizeof(entry)))
			return -EFAULT;
		if (!entry.type)
			return 0;
		if (entry.type != last) {
			if (load_name(reader, entry.type, type))
				return -EFAULT;
			last = entry.type;
			is_wanted = 0;
			for (unsigned i = 0; i < COUNT(fields); i++)
				is_wanted |= is_equal(type, fields[i].type);
		}
		if (!is_wanted)
			continue;
		if (load_name(reader, entry.field, name))
			return -EFAULT;
		for (unsigned i = 0; i < COUNT(fields); i++)
			if (is_equal(type, fields[i].type) && is_equal(name, fields[i].field))
				keep_field(out, reader, found, &fields[i], &entry);
	}
	return 0;
}

/*
 * Find the @count entries @wanted in the table at @at. An entry has @stride bytes, begins with the
 * address of its name, and has its value at @offset. Returns 0 or -EFAULT.
 */
static int find_values(struct runtime *out, struct runtime_reader *reader, struct found *found,
	uintptr_t at, unsigned stride, unsigned offset, const struct wanted *wanted, unsigned count)
{
	char name[NAME_BYTES];
	uintptr_t text;

	for (unsigned n = 0; n < ENTRIES_MAX; n++, at += stride) {
		expect_entries(reader, at, n, stride);
		if (runtime_load_word(reader, at, &text))
			return -EFAULT;
		if (!text)
			return 0;
		if (load_name(reader, text, name))
			return -EFAULT;
		for (unsigned i = 0; i < count; i++)
			if (is_equal(name, wanted[i].type))
				keep_value(out, found, &wanted[i],
					hotspot_load_int(reader, at + offset));
	}
	return 0;
}

static uint64_t needed_of(const struct wanted *wanted, unsigned count)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < count; i++)
		if (!wanted[i].is_optional)
			bits |= 1ULL << wanted[i].place;
	return bits;
}

static unsigned bytes_of(uint32_t field)
{
	unsigned width = HOTSPOT_FIELD_WIDTH(field);

	return width == HOTSPOT_POINTER ? 8 : width == HOTSPOT_INT ? 4 : 2;
}

/* Is each field within the structure from which it is read? */
static int is_within(const uint32_t *offsets, const struct hotspot_offsets *at)
{
	for (unsigned i = AT(header_bytes); i <= AT(immutable_data); i++)
		if (HOTSPOT_FIELD_OFFSET(offsets[i]) + bytes_of(offsets[i]) >
			(i <= AT(code_end) ? at->blob_size : at->nmethod_size))
			return 0;
	return at->block_is_used < at->block_size && at->blob_name + 8 <= at->blob_size &&
	       at->constants + 8 <= at->const_size && at->code_bytes + 2 <= at->const_size &&
	       at->name_index + 2 <= at->const_size &&
	       HOTSPOT_FIELD_OFFSET(at->const_flags) + bytes_of(at->const_flags) <= at->const_size;
}

static int is_usable(const struct runtime *runtime)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);

	return at->block_size <= OFFSET_MAX && at->blob_size <= at->nmethod_size &&
	       at->block_size + at->nmethod_size <= RUNTIME_WINDOW_BYTES &&
	       at->const_size <= OFFSET_MAX && at->constants_size <= OFFSET_MAX &&
	       at->pc_size >= 8 && at->pc_size <= 64 && is_within(runtime->offsets, at) &&
	       /* read_heap() expects this field to be the last one that it reads. */
	       at->heap_segment_log > at->heap_memory && at->heap_segment_log > at->heap_segments &&
	       (int32_t)at->sender_sp == ARCH_HOTSPOT_SENDER_SP;
}

/*
 * Returns 0; -EAGAIN if a table cannot be read, because the dynamic linker has not relocated it
 * yet; -ENOTSUP if entries are missing, which may have the same cause.
 */
static int read_tables(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	const uint64_t needed = needed_of(fields, COUNT(fields)) | needed_of(sizes, COUNT(sizes)) |
				needed_of(constants, COUNT(constants));
	uintptr_t structs = load_table(reader, symbols, "gHotSpotVMStructs",
		"gHotSpotVMStructEntryArrayStride", sizeof(struct field_entry));
	uintptr_t types = load_table(reader, symbols, "gHotSpotVMTypes",
		"gHotSpotVMTypeEntryArrayStride", sizeof(struct type_entry));
	uintptr_t ints = load_table(reader, symbols, "gHotSpotVMIntConstants",
		"gHotSpotVMIntConstantEntryArrayStride", sizeof(struct constant_entry));
	struct found found = {0};

	if (!structs || !types || !ints || find_fields(out, reader, &found, structs) ||
		find_values(out, reader, &found, types, sizeof(struct type_entry),
			offsetof(struct type_entry, size), sizes, COUNT(sizes)) ||
		find_values(out, reader, &found, ints, sizeof(struct constant_entry),
			offsetof(struct constant_entry, value), constants, COUNT(constants)))
		return -EAGAIN;
	return (found.once & needed) == needed && !found.twice ? 0 : -ENOTSUP;
}

/* ---- HotSpot's objects ----------------------------------------------------------------------- */

#define PERF_ENTRIES_MAX 1024u
#define PERF_BYTES_MAX	 65536u

static const char unloaded_classes[] = "java.cls.unloadedClasses";

/*
 * Returns the address of the number of unloaded classes, or 0 if HotSpot does not count them
 * (-XX:-UsePerfData). HotSpot counts a class as unloaded before the memory of the class is reused.
 */
static uintptr_t find_unloaded(const struct runtime *runtime, struct runtime_reader *reader)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t data = hotspot_load_pointer(reader, runtime->base + at->perf_data), entry, value;
	uint32_t count = data ? hotspot_load_int(reader, data + at->perf_count) : 0, bytes;
	char name[NAME_BYTES];

	entry = data ? data + hotspot_load_int(reader, data + at->perf_first) : 0;
	for (uint32_t n = 0; n < count && n < PERF_ENTRIES_MAX; n++, entry += bytes) {
		runtime_expect(reader, entry, RUNTIME_WINDOW_BYTES);
		bytes = hotspot_load_int(reader, entry + at->perf_bytes);
		if (!bytes || bytes > PERF_BYTES_MAX ||
			load_name(reader, entry + hotspot_load_int(reader, entry + at->perf_name),
				name))
			return 0;
		if (!is_equal(name, unloaded_classes))
			continue;
		value = entry + hotspot_load_int(reader, entry + at->perf_value);
		return value % sizeof(uint64_t) ? 0 : value;
	}
	return 0;
}

/* Find the interpreter and the heaps. Returns 0; -EAGAIN if they do not exist yet; or -ENOTSUP. */
static int find_objects(struct runtime *out, struct runtime_reader *reader)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(out);
	uintptr_t *objects = out->objects, heaps, data;
	uint32_t count;

	objects[HOTSPOT_INTERPRETER] = hotspot_load_pointer(reader, out->base + at->interpreter);
	objects[HOTSPOT_CALL_STUB] = hotspot_load_pointer(reader, out->base + at->call_stub_return);
	if (!objects[HOTSPOT_INTERPRETER] || !objects[HOTSPOT_CALL_STUB])
		return -EAGAIN;
	heaps = hotspot_load_pointer(reader, out->base + at->heaps);
	count = heaps ? hotspot_load_int(reader, heaps + at->array_length) : 0;
	data = heaps ? hotspot_load_pointer(reader, heaps + at->array_data) : 0;
	if (!count || count > HOTSPOT_HEAPS_MAX || !data)
		return -ENOTSUP;
	for (uint32_t i = 0; i < count; i++) {
		objects[HOTSPOT_HEAPS + i] =
			hotspot_load_pointer(reader, data + i * sizeof(uintptr_t));
		if (!objects[HOTSPOT_HEAPS + i])
			return -ENOTSUP;
	}
	objects[HOTSPOT_UNLOADED] = find_unloaded(out, reader);
	return 0;
}

int hotspot_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(out);
	int error;

	if (!ARCH_HOTSPOT_IS_KNOWN || !runtime_symbol(symbols, reader, "gHotSpotVMStructs", NULL))
		return -ENOENT;
	out->base = symbols->bias;
	error = read_tables(out, reader, symbols);
	if (error == -EAGAIN)
		return error;
	/* Without an interpreter, the dynamic linker may not have relocated the tables yet. */
	if (!at->interpreter || !hotspot_load_pointer(reader, out->base + at->interpreter))
		return -EAGAIN;
	if (error || !is_usable(out))
		return -ENOTSUP;
	return find_objects(out, reader);
}
