/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * HotSpot's description of itself for debuggers (runtime/vmStructs.cpp): tables of fields, of
 * types' sizes and of constants, which its library exports. What is needed of them is looked up
 * once, in one pass through each; a table that lacks any of it is not one that is known.
 */
#include <errno.h>

#include "arch/hotspot.h"
#include "libprof/runtime/hotspot.h"

#define VERSION	    17u
#define ENTRIES_MAX 8192u
#define NAME_BYTES  64u
#define OFFSET_MAX  4096u
#define PAGE_BYTES  4096u

/* What is wanted of a table: an entry's names, and where it goes in hotspot_offsets. */
struct wanted {
	char type[44], field[26]; /* of a type's size or a constant no field */
	uint8_t place, is_static;
};

#define AT(field) (uint8_t)(offsetof(struct hotspot_offsets, field) / sizeof(uint32_t))

static const struct wanted fields[] = {
	{"Abstract_VM_Version", "_s_vm_release", AT(release), 1},
	{"CodeCache", "_heaps", AT(heaps), 1},
	{"AbstractInterpreter", "_code", AT(interpreter), 1},
	{"StubRoutines", "_call_stub_return_address", AT(call_stub_return), 1},
	{"PerfMemory", "_prologue", AT(perf_data), 1},
	{"PerfDataPrologue", "entry_offset", AT(perf_first), 0},
	{"PerfDataPrologue", "num_entries", AT(perf_count), 0},
	{"PerfDataEntry", "entry_length", AT(perf_bytes), 0},
	{"PerfDataEntry", "name_offset", AT(perf_name), 0},
	{"PerfDataEntry", "data_offset", AT(perf_value), 0},
	{"GrowableArrayBase", "_len", AT(array_length), 0},
	{"GrowableArray<int>", "_data", AT(array_data), 0},
	{"CodeHeap", "_memory", AT(heap_memory), 0},
	{"CodeHeap", "_segmap", AT(heap_segments), 0},
	{"CodeHeap", "_log2_segment_size", AT(heap_segment_log), 0},
	{"VirtualSpace", "_low", AT(space_low), 0},
	{"VirtualSpace", "_high", AT(space_high), 0},
	{"HeapBlock::Header", "_used", AT(block_is_used), 0},
	{"StubQueue", "_stub_buffer", AT(queue_buffer), 0},
	{"StubQueue", "_buffer_limit", AT(queue_bytes), 0},
	{"CodeBlob", "_name", AT(blob_name), 0},
	{"CodeBlob", "_header_size", AT(header_bytes), 0},
	{"CodeBlob", "_frame_complete_offset", AT(frame_complete), 0},
	{"CodeBlob", "_frame_size", AT(frame_words), 0},
	{"CodeBlob", "_code_begin", AT(code_begin), 0},
	{"CodeBlob", "_code_end", AT(code_end), 0},
	{"CompiledMethod", "_method", AT(nmethod_method), 0},
	{"CompiledMethod", "_scopes_data_begin", AT(scopes_begin), 0},
	{"CompiledMethod", "_deopt_handler_begin", AT(deopt_begin), 0},
	{"CompiledMethod", "_deopt_mh_handler_begin", AT(deopt_handle_begin), 0},
	{"nmethod", "_orig_pc_offset", AT(original_pc), 0},
	{"nmethod", "_compile_id", AT(compile_id), 0},
	{"nmethod", "_verified_entry_point", AT(entry), 0},
	{"nmethod", "_osr_entry_point", AT(loop_entry), 0},
	{"nmethod", "_stub_offset", AT(stubs), 0},
	{"nmethod", "_metadata_offset", AT(metadata), 0},
	{"nmethod", "_scopes_pcs_offset", AT(pcs), 0},
	{"nmethod", "_dependencies_offset", AT(pcs_end), 0},
	{"PcDesc", "_pc_offset", AT(pc_offset), 0},
	{"PcDesc", "_scope_decode_offset", AT(pc_scope), 0},
	{"Method", "_constMethod", AT(method_const), 0},
	{"ConstMethod", "_constants", AT(constants), 0},
	{"ConstMethod", "_constMethod_size", AT(const_bytes), 0},
	{"ConstMethod", "_flags", AT(const_flags), 0},
	{"ConstMethod", "_code_size", AT(code_bytes), 0},
	{"ConstMethod", "_name_index", AT(name_index), 0},
	{"ConstantPool", "_pool_holder", AT(holder), 0},
	{"ConstantPool", "_length", AT(constants_length), 0},
	{"ConstantPool", "_source_file_name_index", AT(source_index), 0},
	{"Klass", "_name", AT(klass_name), 0},
	{"Symbol", "_length", AT(symbol_length), 0},
	{"Symbol", "_body[0]", AT(symbol_text), 0},
};

static const struct wanted sizes[] = {
	{"HeapBlock", "", AT(block_size), 0},
	{"nmethod", "", AT(nmethod_size), 0},
	{"ConstMethod", "", AT(const_size), 0},
	{"ConstantPool", "", AT(constants_size), 0},
	{"PcDesc", "", AT(pc_size), 0},
};

static const struct wanted constants[] = {
	{"ConstMethod::_has_linenumber_table", "", AT(has_lines), 0},
	{"frame::interpreter_frame_sender_sp_offset", "", AT(sender_sp), 0},
};

/* Entries as they lie in the tables. */
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

/* Entry @n of a table is at @at: several are read at once. */
static void expect_entries(
	struct runtime_reader *reader, uintptr_t at, unsigned n, unsigned entry_bytes)
{
	if (n % (RUNTIME_WINDOW_BYTES / entry_bytes) == 0)
		runtime_expect(reader, at, RUNTIME_WINDOW_BYTES / entry_bytes * entry_bytes);
}

/* A C string, cut at NAME_BYTES. Returns 0 or -EFAULT. */
static int load_name(struct runtime_reader *reader, uintptr_t at, char name[NAME_BYTES])
{
	unsigned used = 0, bytes, in_page = PAGE_BYTES - (unsigned)(at & (PAGE_BYTES - 1));

	runtime_expect(reader, at, in_page < NAME_BYTES ? in_page : NAME_BYTES);
	/* No load reaches into a page that the string may not be in. */
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

/* Put what @field says where it belongs, if @wanted is what it is about. */
static unsigned take_field(struct runtime *out, const struct wanted *wanted,
	const struct field_entry *field, const char *name)
{
	uint64_t value = wanted->is_static ? field->address - out->base : field->offset;

	if (!is_equal(name, wanted->field) || field->is_static != wanted->is_static ||
		value > (wanted->is_static ? UINT32_MAX : OFFSET_MAX))
		return 0;
	out->offsets[wanted->place] = (uint32_t)value;
	return 1;
}

/* Entries of a type follow each other. */
static int find_fields(struct runtime *out, struct runtime_reader *reader, uintptr_t at)
{
	const unsigned count = sizeof(fields) / sizeof(fields[0]);
	unsigned found = 0, is_wanted = 0;
	char type[NAME_BYTES] = "", name[NAME_BYTES];
	struct field_entry entry = {0};
	uintptr_t last = 0;

	for (unsigned n = 0; n < ENTRIES_MAX && found < count; n++, at += sizeof(entry)) {
		expect_entries(reader, at, n, sizeof(entry));
		if (runtime_load(reader, at, &entry, sizeof(entry)) || !entry.type)
			return -ENOENT;
		if (entry.type != last) {
			if (load_name(reader, entry.type, type))
				return -EFAULT;
			last = entry.type;
			is_wanted = 0;
			for (unsigned i = 0; i < count; i++)
				is_wanted |= is_equal(type, fields[i].type);
		}
		if (!is_wanted)
			continue;
		if (load_name(reader, entry.field, name))
			return -EFAULT;
		for (unsigned i = 0; i < count; i++)
			found += is_equal(type, fields[i].type) &&
				 take_field(out, &fields[i], &entry, name);
	}
	return found == count ? 0 : -ENOENT;
}

/* @count of @wanted in the table at @at, whose entries have a name first and a value at @offset. */
static int find_values(struct runtime *out, struct runtime_reader *reader, uintptr_t at,
	unsigned stride, unsigned offset, const struct wanted *wanted, unsigned count)
{
	char name[NAME_BYTES];
	unsigned found = 0;
	uintptr_t text;

	for (unsigned n = 0; n < ENTRIES_MAX && found < count; n++, at += stride) {
		expect_entries(reader, at, n, stride);
		text = hotspot_load_pointer(reader, at);
		if (!text || load_name(reader, text, name))
			return -ENOENT;
		for (unsigned i = 0; i < count; i++) {
			if (!is_equal(name, wanted[i].type))
				continue;
			out->offsets[wanted[i].place] = hotspot_load_int(reader, at + offset);
			found++;
		}
	}
	return found == count ? 0 : -ENOENT;
}

/* As its name begins; 0: its constructors have not run yet. */
static uint32_t version_of(const struct runtime *runtime, struct runtime_reader *reader)
{
	char name[NAME_BYTES];
	uint32_t version = 0;
	uintptr_t text =
		hotspot_load_pointer(reader, runtime->base + hotspot_offsets_of(runtime)->release);

	if (!text || load_name(reader, text, name))
		return 0;
	for (const char *c = name; *c >= '0' && *c <= '9'; c++)
		version = version * 10 + (uint32_t)(*c - '0');
	return version;
}

static int is_usable(const struct hotspot_offsets *at)
{
	return at->block_size <= OFFSET_MAX && at->nmethod_size <= OFFSET_MAX &&
	       at->const_size <= OFFSET_MAX && at->constants_size <= OFFSET_MAX &&
	       at->pc_size >= 8 && at->pc_size <= 64 &&
	       /* What is looked at of a blob and of a heap ends with these. */
	       at->code_end > at->code_begin && at->code_end > at->frame_words &&
	       at->code_end > at->frame_complete && at->code_end > at->header_bytes &&
	       at->heap_segment_log > at->heap_memory && at->heap_segment_log > at->heap_segments &&
	       (int32_t)at->sender_sp == ARCH_HOTSPOT_SENDER_SP;
}

/* Returns 0 or -ENOENT, also where the loader has not put addresses into the tables yet. */
static int read_tables(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t structs = load_table(reader, symbols, "gHotSpotVMStructs",
		"gHotSpotVMStructEntryArrayStride", sizeof(struct field_entry));
	uintptr_t types = load_table(reader, symbols, "gHotSpotVMTypes",
		"gHotSpotVMTypeEntryArrayStride", sizeof(struct type_entry));
	uintptr_t ints = load_table(reader, symbols, "gHotSpotVMIntConstants",
		"gHotSpotVMIntConstantEntryArrayStride", sizeof(struct constant_entry));

	return structs && types && ints && !find_fields(out, reader, structs) &&
			       !find_values(out, reader, types, sizeof(struct type_entry),
				       offsetof(struct type_entry, size), sizes,
				       sizeof(sizes) / sizeof(sizes[0])) &&
			       !find_values(out, reader, ints, sizeof(struct constant_entry),
				       offsetof(struct constant_entry, value), constants,
				       sizeof(constants) / sizeof(constants[0]))
		       ? 0
		       : -ENOENT;
}

/* ---- what it made ---------------------------------------------------------------------------- */

#define PERF_ENTRIES_MAX 1024u
#define PERF_BYTES_MAX	 65536u

static const char unloaded_classes[] = "java.cls.unloadedClasses";

/*
 * Where it counts the classes that it has unloaded, which it does before their memory is anything
 * else's; 0: it was told to count nothing (-XX:-UsePerfData).
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

/* Its heaps are there before its interpreter. Returns 0; -EAGAIN: it is not yet; or -ENOTSUP. */
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
	if (!ARCH_HOTSPOT_IS_KNOWN || !runtime_symbol(symbols, reader, "gHotSpotVMStructs", NULL))
		return -ENOENT;
	out->base = symbols->bias;
	if (read_tables(out, reader, symbols))
		return -EAGAIN;
	out->version = version_of(out, reader);
	if (!out->version)
		return -EAGAIN;
	if (out->version != VERSION || !is_usable(hotspot_offsets_of(out)))
		return -ENOTSUP;
	return find_objects(out, reader);
}
