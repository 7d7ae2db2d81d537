/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the tables by which HotSpot describes itself (vmStructs), in each supported release. A
 * made-up JVM is laid out with the names and widths in hotspot-fixture.h; the reader must find its
 * method, the running line and the caller. Tables that lack an entry or contradict themselves are
 * refused.
 */
#include "libprof/runtime/hotspot.h"

static uintptr_t find_symbol(struct runtime_symbols *symbols, struct runtime_reader *reader,
	const char *name, uint64_t *bytes);
#define runtime_symbol find_symbol
#include "libprof/runtime/hotspot.c"
#include "libprof/runtime/hotspot_code.c"
#include "libprof/runtime/hotspot_method.c"
#include "libprof/runtime/hotspot_tables.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/hotspot-fixture.h"

#if ARCH_HOTSPOT_IS_KNOWN

#define ENTRIES 128u

/* offsets from the nmethod's header, whose longest form is release 17's */
enum in_code {
	CODE = 512,
	COMPLETE = 12,
	/* offset in the code of the return address of a call */
	CALL_END = 32,
	DEOPT = 96,
	DEOPT_HANDLE = 104,
	STUBS = 900,
	DATA = 1024, /* end of the code */
	METADATA = 1032,
	PCS = 1104,
	SCOPES = 1200,
};

enum in_stubs { /* offsets from the block */
	STUBS_AT = 3072,
	/* offset in the block of a return address that does not follow a call */
	STUB = 256,
	STUB_CALL_END = 288,
	STUBS_END = 512
};

enum {
	FRAME_WORDS = 4,
	ORIGINAL_PC = 8,
	BYTECODE = 20, /* how much */
	SCOPE = 1,
	NAME = 1
};

/* The made-up JVM: its tables, its variables, and the objects to which these point. */
struct jvm {
	struct field_entry fields[ENTRIES];
	struct type_entry types[ENTRIES];
	struct constant_entry constants[ENTRIES];
	uintptr_t tables[3], strides[3];
	uintptr_t heaps, interpreter, call_stub, perf_data, entered; /* variables */
	uint64_t array[4], heap_pointers[1], heap[64], queue[8];
	uint8_t segments[64]; /* of 64 bytes */
	uint64_t code[512];
	uint64_t mutable_data[32], immutable_data[64];
	uint64_t method[8], fixed[32], pool[32], holder[8], symbols[2][8];
	uint64_t stack[16];
};

static struct jvm *jvm;
static const struct hotspot_entry *release;
static struct runtime_reader reader;
static struct runtime runtime;

static uintptr_t find_symbol(struct runtime_symbols *symbols, struct runtime_reader *unused,
	const char *name, uint64_t *bytes)
{
	static const char *const names[] = {
		"gHotSpotVMStructs", "gHotSpotVMTypes", "gHotSpotVMIntConstants"};
	static const char *const strides[] = {"gHotSpotVMStructEntryArrayStride",
		"gHotSpotVMTypeEntryArrayStride", "gHotSpotVMIntConstantEntryArrayStride"};

	(void)symbols, (void)unused, (void)bytes;
	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(name, names[i]))
			return (uintptr_t)&jvm->tables[i];
		if (!strcmp(name, strides[i]))
			return (uintptr_t)&jvm->strides[i];
	}
	return 0;
}

/* ---- laying it out --------------------------------------------------------------------------- */

static const struct hotspot_entry *find_entry(const char *type, const char *field)
{
	const struct hotspot_entry *const tables[] = {jdk_common, release};

	for (unsigned i = 0; i < 2; i++)
		for (const struct hotspot_entry *entry = tables[i]; entry->type; entry++)
			if (!strcmp(entry->type, type) && !strcmp(entry->field, field))
				return entry;
	return NULL;
}

static int size_of(const char *type)
{
	return find_entry(type, "")->value;
}

/*
 * Write @value with the width that the release declares for @field. Returns 0 if the release has no
 * such field.
 */
static int put(void *object, const char *type, const char *field, uint64_t value)
{
	const struct hotspot_entry *entry = find_entry(type, field);
	size_t bytes = 4;

	if (!entry)
		return 0;
	if (strchr(entry->declared, '*') || !strcmp(entry->declared, "address"))
		bytes = 8;
	else if (!strcmp(entry->declared, "u2") || !strcmp(entry->declared, "int16_t"))
		bytes = 2;
	else if (!strcmp(entry->declared, "bool"))
		bytes = 1;
	memcpy((char *)object + entry->value, &value, bytes);
	return 1;
}

static void put_pointer(void *object, const char *type, const char *field, const void *target)
{
	assert_true(put(object, type, field, (uintptr_t)target));
}

/* Make the stubs of virtual threads, which have a code block of their own. */
static void put_stubs(const char *name)
{
	uint8_t *block = (uint8_t *)jvm->code + STUBS_AT, *blob = block + size_of("HeapBlock");
	const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put(block, "HeapBlock::Header", "_used", 1);
	put_pointer(blob, "CodeBlob", "_name", name);
	put(blob, "CodeBlob", "_header_size", (uint64_t)size_of("CodeBlob"));
	put(blob, "CodeBlob", "_code_begin", (uintptr_t)blob + 128);
	put(blob, "CodeBlob", "_code_offset", 128);
	put(blob, "CodeBlob", "_data_offset", STUBS_END);
	memcpy(block + STUB_CALL_END - sizeof(call), call, sizeof(call));
	for (unsigned i = STUBS_AT / 64; i < sizeof(jvm->segments); i++)
		jvm->segments[i] = (uint8_t)(i - STUBS_AT / 64);
}

static void *variable_of(const char *type)
{
	static const char *const types[] = {"CodeCache", "AbstractInterpreter", "StubRoutines",
		"PerfMemory", "ContinuationEntry"};
	uintptr_t *const variables[] = {
		&jvm->heaps, &jvm->interpreter, &jvm->call_stub, &jvm->perf_data, &jvm->entered};
	unsigned i = 0;

	while (strcmp(type, types[i]))
		i++;
	return variables[i];
}

/* Fill the JVM's tables for `release`. Omit the entry @missing, unless it is NULL. */
static void describe(const struct hotspot_entry *missing)
{
	const struct hotspot_entry *const tables[] = {jdk_common, release};
	unsigned fields_count = 0, types = 0, ints = 0;

	memset(jvm->fields, 0, sizeof(jvm->fields));
	memset(jvm->types, 0, sizeof(jvm->types));
	memset(jvm->constants, 0, sizeof(jvm->constants));
	for (unsigned i = 0; i < 2; i++)
		for (const struct hotspot_entry *entry = tables[i]; entry->type; entry++) {
			if (entry == missing)
				continue;
			if (!strcmp(entry->declared, SIZE))
				jvm->types[types++] =
					(struct type_entry){.type = (uintptr_t)entry->type,
						.size = (uint64_t)entry->value};
			else if (!strcmp(entry->declared, CONSTANT))
				jvm->constants[ints++] = (struct constant_entry){
					(uintptr_t)entry->type, entry->value, 0};
			else
				jvm->fields[fields_count++] = (struct field_entry){
					.type = (uintptr_t)entry->type,
					.field = (uintptr_t)entry->field,
					.declared = (uintptr_t)entry->declared,
					.is_static = entry->value == STATIC,
					.offset =
						entry->value == STATIC ? 0 : (uint64_t)entry->value,
					.address = entry->value == STATIC
							   ? (uintptr_t)variable_of(entry->type)
							   : 0};
		}
}

static void put_symbol(unsigned number, const char *text)
{
	put(jvm->symbols[number], "Symbol", "_length", strlen(text));
	memcpy((char *)jvm->symbols[number] + find_entry("Symbol", "_body[0]")->value, text,
		strlen(text));
}

/* some.where.Where.work: line 10 at 0, 12 at 3. */
static void put_method(void)
{
	static const uint8_t lines[] = {0 << 3, 0xff, 1, 21, 3 << 3 | 2, 0};
	uint8_t *behind = (uint8_t *)jvm->fixed + size_of("ConstMethod") + BYTECODE;

	put_pointer(jvm->method, "Method", "_constMethod", jvm->fixed);
	put_pointer(jvm->fixed, "ConstMethod", "_constants", jvm->pool);
	put(jvm->fixed, "ConstMethod", "_flags", 1);
	put(jvm->fixed, "ConstMethod", "_flags._flags", 1);
	put(jvm->fixed, "ConstMethod", "_code_size", BYTECODE);
	put(jvm->fixed, "ConstMethod", "_name_index", NAME);
	memcpy(behind, lines + 1, sizeof(lines) - 1);
	if (release == jdk_17) { /* digits without an offset of 1 */
		behind[1] = 0;
		behind[2] = 20;
	}
	put_pointer(jvm->pool, "ConstantPool", "_pool_holder", jvm->holder);
	put(jvm->pool, "ConstantPool", "_length", 2);
	*(uintptr_t *)((char *)jvm->pool + size_of("ConstantPool") + 8 * NAME) =
		(uintptr_t)jvm->symbols[0];
	put_pointer(jvm->holder, "Klass", "_name", jvm->symbols[1]);
	put_symbol(0, "work");
	put_symbol(1, "some/where/Where");
}

/*
 * Write the pc table of the code: no scope for pc offsets up to 8, then the method at bytecode
 * index 3.
 */
static void put_tables(uint8_t *pcs, uint8_t *scopes, uintptr_t *metadata)
{
	static const int places[][2] = {{-1, 0}, {8, 0}, {128, SCOPE}};
	unsigned zero = release == jdk_17 ? 0 : 1;

	for (unsigned i = 0; i < 3; i++) {
		put(pcs + i * 16, "PcDesc", "_pc_offset", (uint64_t)places[i][0]);
		put(pcs + i * 16, "PcDesc", "_scope_decode_offset", (uint64_t)places[i][1]);
	}
	scopes[SCOPE] = (uint8_t)(0 + zero);	     /* no caller */
	scopes[SCOPE + 1] = (uint8_t)(1 + zero);     /* the first method */
	scopes[SCOPE + 2] = (uint8_t)(3 + 1 + zero); /* bytecode index + 1 */
	*metadata = (uintptr_t)jvm->method;
}

static void put_nmethod(uint8_t *blob)
{
	const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put_pointer(blob, "CodeBlob", "_name", "nmethod");
	put(blob, "CodeBlob", "_header_size", (uint64_t)size_of("nmethod"));
	put(blob, "CodeBlob", "_frame_complete_offset", COMPLETE);
	put(blob, "CodeBlob", "_frame_size", FRAME_WORDS);
	put(blob, "CodeBlob", "_code_begin", (uintptr_t)blob + CODE);
	put(blob, "CodeBlob", "_code_offset", CODE);
	put(blob, "CodeBlob", "_data_offset", DATA);
	put(blob, "CompiledMethod", "_method", (uintptr_t)jvm->method);
	put(blob, "nmethod", "_method", (uintptr_t)jvm->method);
	put(blob, "nmethod", "_orig_pc_offset", ORIGINAL_PC);
	put(blob, "nmethod", "_compile_id", 7);
	put(blob, "nmethod", "_verified_entry_point", (uintptr_t)blob + CODE + 4);
	put(blob, "nmethod", "_verified_entry_offset", 4);
	put(blob, "CompiledMethod", "_deopt_handler_begin", (uintptr_t)blob + CODE + DEOPT);
	put(blob, "nmethod", "_deopt_handler_offset", CODE + DEOPT);
	put(blob, "nmethod", "_deopt_handler_entry_offset", CODE + DEOPT);
	put(blob, "CompiledMethod", "_deopt_mh_handler_begin",
		(uintptr_t)blob + CODE + DEOPT_HANDLE);
	put(blob, "nmethod", "_deopt_mh_handler_offset", CODE + DEOPT_HANDLE);
	put(blob, "nmethod", "_stub_offset", STUBS);
	memcpy(blob + CODE + CALL_END - sizeof(call), call, sizeof(call));
	if (put(blob, "nmethod", "_nmethod_end_offset", 2048)) {
		put(blob, "nmethod", "_metadata_offset", METADATA);
		put(blob, "nmethod", "_scopes_pcs_offset", PCS);
		put(blob, "nmethod", "_dependencies_offset", PCS + 3 * 16);
		put(blob, "CompiledMethod", "_scopes_data_begin", (uintptr_t)blob + SCOPES);
		put_tables(blob + PCS, blob + SCOPES, (uintptr_t *)(blob + METADATA));
	} else {
		put_pointer(blob, "CodeBlob", "_mutable_data", jvm->mutable_data);
		put_pointer(blob, "nmethod", "_immutable_data", jvm->immutable_data);
		put(blob, "CodeBlob", "_relocation_size", 24);
		put(blob, "nmethod", "_scopes_pcs_offset", 32);
		put(blob, "nmethod", "_scopes_data_offset", 32 + 3 * 16);
		put_tables((uint8_t *)jvm->immutable_data + 32,
			(uint8_t *)jvm->immutable_data + 32 + 3 * 16, &jvm->mutable_data[3]);
	}
}

static void put_code_cache(void)
{
	uint8_t *memory = (uint8_t *)jvm->heap + find_entry("CodeHeap", "_memory")->value;
	uint8_t *map = (uint8_t *)jvm->heap + find_entry("CodeHeap", "_segmap")->value;

	jvm->heaps = (uintptr_t)jvm->array;
	put(jvm->array, "GrowableArrayBase", "_len", 1);
	put_pointer(jvm->array, "GrowableArray<int>", "_data", jvm->heap_pointers);
	jvm->heap_pointers[0] = (uintptr_t)jvm->heap;
	put_pointer(memory, "VirtualSpace", "_low", jvm->code);
	put_pointer(memory, "VirtualSpace", "_high", jvm->code + 512);
	put_pointer(map, "VirtualSpace", "_low", jvm->segments);
	put_pointer(map, "VirtualSpace", "_high", jvm->segments + 64);
	put(jvm->heap, "CodeHeap", "_log2_segment_size", 6);
	for (unsigned i = 0; i < sizeof(jvm->segments); i++)
		jvm->segments[i] = (uint8_t)i;
	put(jvm->code, "HeapBlock::Header", "_used", 1);
	jvm->interpreter = (uintptr_t)jvm->queue;
	put_pointer(jvm->queue, "StubQueue", "_stub_buffer", jvm->code + 500);
	put(jvm->queue, "StubQueue", "_buffer_limit", 64);
	jvm->call_stub = 1;
}

static uintptr_t nmethod(void)
{
	return (uintptr_t)jvm->code + (unsigned)size_of("HeapBlock");
}

static void lay_out(const struct hotspot_entry *entries)
{
	static const uintptr_t strides[] = {sizeof(struct field_entry), sizeof(struct type_entry),
		sizeof(struct constant_entry)};

	release = entries;
	memset(jvm, 0, sizeof(*jvm));
	memcpy(jvm->strides, strides, sizeof(strides));
	jvm->tables[0] = (uintptr_t)jvm->fields;
	jvm->tables[1] = (uintptr_t)jvm->types;
	jvm->tables[2] = (uintptr_t)jvm->constants;
	describe(NULL);
	put_method();
	put_code_cache();
	put_nmethod((uint8_t *)nmethod());
}

static int find(void)
{
	struct runtime_symbols symbols = {.bias = (uintptr_t)jvm};

	runtime = (struct runtime){.kind = &runtime_hotspot};
	runtime_reader_init(&reader, getpid(), 1);
	return hotspot_find(&runtime, &reader, &symbols);
}

static int set_up(void **state)
{
	(void)state;
	jvm = mmap(NULL, sizeof(*jvm), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return jvm == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(jvm, sizeof(*jvm));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct hotspot_entry *const releases[] = {jdk_17, jdk_21, jdk_25, jdk_26, jdk_28};

#define EACH(entries)                                                                             \
	for (unsigned each = 0;                                                                   \
		each < sizeof(releases) / sizeof(releases[0]) && ((entries) = releases[each], 1); \
		each++)

/* Check that the frame at @pc runs Where.work at line 12 and returns to CALL_END. */
static void assert_activation(uintptr_t pc)
{
	struct unwind_activation at = {.pc = pc, .sp = (uintptr_t)jvm->stack};
	struct runtime_frame frame, frames[4];
	char text[RUNTIME_NAME_BYTES];

	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), 1);
	assert_int_equal(at.pc, nmethod() + CODE + CALL_END);
	assert_int_equal(at.sp, (uintptr_t)(jvm->stack + FRAME_WORDS));
	assert_int_equal(at.fp, 0x5555);
	assert_int_equal(frames_of_hotspot(&runtime, &reader, &frame, frames, 4), 1);
	hotspot_text(&runtime, &reader, frames[0].name, text, sizeof(text), 0);
	assert_string_equal(text, "some.where.Where.work");
	assert_int_equal(frames[0].position, 3);
	assert_int_equal(hotspot_line(&runtime, &reader, &frames[0]), 12);
	frames[0].position = RUNTIME_POSITION_FIRST;
	assert_int_equal(hotspot_line(&runtime, &reader, &frames[0]), 10);
}

static void test_each_release_is_read(void **state)
{
	const struct hotspot_entry *entries;

	(void)state;
	EACH(entries)
	{
		lay_out(entries);
		assert_int_equal(find(), 0);
		jvm->stack[FRAME_WORDS - 2] = 0x5555;
		jvm->stack[FRAME_WORDS - 1] = nmethod() + CODE + CALL_END;
		/*
		 * A deoptimized frame's return address is that of the handler; its original pc is
		 * kept elsewhere in the frame.
		 */
		jvm->stack[ORIGINAL_PC / 8] = nmethod() + CODE + CALL_END;
		assert_activation(nmethod() + CODE + CALL_END);
		assert_activation(nmethod() + CODE + DEOPT);
		if (find_entry("CompiledMethod", "_deopt_mh_handler_begin") ||
			find_entry("nmethod", "_deopt_mh_handler_offset"))
			assert_activation(nmethod() + CODE + DEOPT_HANDLE);
	}
}

/* The code pops a register, which was pushed below the frame, before it removes the frame. */
static void test_a_word_below_the_frame(void **state)
{
	/* dec %rcx; pop %rax; add $16,%rsp; pop %rbp; ret; then the same code without pop %rax */
	static const uint8_t pops[] = {0x48, 0xff, 0xc9, 0x58, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
	static const uint8_t pops_none[] = {0x48, 0xff, 0xc9, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
	struct arch_registers registers = {0};
	struct unwind_activation at = {.sp = (uintptr_t)jvm->stack, .innermost = &registers};
	struct runtime_frame frame;

	(void)state;
	lay_out(jdk_25);
	assert_int_equal(find(), 0);
	at.pc = nmethod() + CODE + CALL_END + 8;
	memcpy((void *)at.pc, pops, sizeof(pops));
	jvm->stack[FRAME_WORDS - 1] = 0x5555;
	jvm->stack[FRAME_WORDS] = nmethod() + CODE + CALL_END;
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), 1);
	assert_int_equal(at.pc, nmethod() + CODE + CALL_END);
	assert_int_equal(at.sp, (uintptr_t)(jvm->stack + FRAME_WORDS + 1));
	assert_int_equal(at.fp, 0x5555);
	/* This code removes exactly the frame's size, so no word lies below the frame. */
	at = (struct unwind_activation){.pc = nmethod() + CODE + CALL_END + 8,
		.sp = (uintptr_t)(jvm->stack + 1),
		.innermost = &registers};
	memcpy((void *)at.pc, pops_none, sizeof(pops_none));
	jvm->stack[FRAME_WORDS] = 0;
	runtime_reader_init(&reader, getpid(), 1);
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), -EBADMSG);
}

/*
 * If the code leads straight to a return, use the code instead of the frame size of its code blob.
 */
static void test_code_that_leads_to_its_return(void **state)
{
	static const uint8_t pops[] = {0x5d, 0xc3}; /* pop %rbp; ret */
	struct arch_registers registers = {0};
	struct unwind_activation at = {.sp = (uintptr_t)jvm->stack, .innermost = &registers};
	struct runtime_frame frame;

	(void)state;
	lay_out(jdk_25);
	assert_int_equal(find(), 0);
	at.pc = nmethod() + CODE + CALL_END + 8;
	memcpy((void *)at.pc, pops, sizeof(pops));
	jvm->stack[0] = 0x5555;
	jvm->stack[1] = 0x6666;
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), 1);
	assert_int_equal(at.pc, 0x6666);
	assert_int_equal(at.sp, (uintptr_t)(jvm->stack + 2));
	assert_int_equal(at.fp, 0x5555);
	assert_true(frame.function); /* the method is known all the same */
}

static void test_a_frame_that_is_never_complete(void **state)
{
	const struct hotspot_entry *entries;
	struct hotspot_blob blob;

	(void)state;
	EACH(entries)
	{
		lay_out(entries);
		put((void *)nmethod(), "CodeBlob", "_frame_complete_offset", (uint64_t)-1);
		assert_int_equal(find(), 0);
		assert_int_equal(hotspot_find_blob(&runtime, &reader, nmethod() + CODE, &blob), 0);
		assert_int_equal(blob.complete, -1);
		assert_int_equal(blob.code, nmethod() + CODE);
		assert_int_equal(blob.code_end, nmethod() + DATA);
	}
}

/*
 * The outermost frame of a virtual thread on the stack returns to a stub, which is shown as
 * "[frozen frames]". Then enterSpecial(), here the nmethod, returns to its caller.
 */
static void test_frozen_frames_are_passed_by(void **state)
{
	const struct hotspot_entry *entries;
	struct unwind_activation at;
	struct runtime_frame frame;
	char text[RUNTIME_NAME_BYTES];

	(void)state;
	EACH(entries)
	{
		lay_out(entries);
		put_stubs("StubRoutines (continuation stubs)");
		jvm->entered = nmethod() + CODE + CALL_END;
		jvm->stack[FRAME_WORDS - 1] = (uintptr_t)jvm->code + STUBS_AT + STUB;
		jvm->stack[2 * FRAME_WORDS - 1] = nmethod() + CODE + CALL_END;
		assert_int_equal(find(), 0);
		at = (struct unwind_activation){
			.pc = nmethod() + CODE + CALL_END, .sp = (uintptr_t)jvm->stack};
		assert_int_equal(leave_code(&runtime, &reader, &at, &frame), 1);
		assert_int_equal(at.pc, (uintptr_t)jvm->code + STUBS_AT + STUB);
		/*
		 * If the tables do not describe enterSpecial(), the walk ends at the frozen frames.
		 */
		assert_int_equal(leave_code(&runtime, &reader, &at, &frame),
			find_entry("ContinuationEntry", "_return_pc") ? 1 : -EBADMSG);
		hotspot_text(&runtime, &reader, frame.name, text, sizeof(text), 0);
		assert_string_equal(text, "[frozen frames]");
		if (!find_entry("ContinuationEntry", "_return_pc"))
			continue;
		assert_int_equal(at.pc, nmethod() + CODE + CALL_END);
		assert_int_equal(at.sp, (uintptr_t)(jvm->stack + FRAME_WORDS));
		assert_int_equal(leave_code(&runtime, &reader, &at, &frame), 1);
		assert_int_equal(at.sp, (uintptr_t)(jvm->stack + 2 * FRAME_WORDS));
	}
}

/*
 * Addresses in other stubs, addresses in the stub of enterSpecial() before the JVM has set
 * `_return_pc`, and addresses behind a call in that stub are not shown as frozen frames.
 */
static void test_what_are_no_frozen_frames(void **state)
{
	struct unwind_activation at;
	struct runtime_frame frame;

	(void)state;
	lay_out(jdk_25);
	put_stubs("StubRoutines (final stubs)");
	assert_int_equal(find(), 0);
	jvm->stack[FRAME_WORDS - 1] = (uintptr_t)jvm->code + STUBS_AT + STUB;
	at = (struct unwind_activation){
		.pc = nmethod() + CODE + CALL_END, .sp = (uintptr_t)jvm->stack};
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), -EBADMSG);
	lay_out(jdk_25);
	put_stubs("StubRoutines (continuationstubs)");
	assert_int_equal(find(), 0);
	at = (struct unwind_activation){
		.pc = (uintptr_t)jvm->code + STUBS_AT + STUB, .sp = (uintptr_t)jvm->stack};
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), -EBADMSG);
	/* The stub itself calls the JVM here. */
	jvm->entered = nmethod() + CODE + CALL_END;
	at.pc = (uintptr_t)jvm->code + STUBS_AT + STUB_CALL_END;
	assert_int_equal(leave_code(&runtime, &reader, &at, &frame), -EBADMSG);
	assert_true(frame.name != HOTSPOT_FROZEN);
}

static int is_optional(const struct hotspot_entry *entry)
{
	return strstr(entry->field, "_deopt_mh_handler") != NULL ||
	       !strcmp(entry->field, "_stack_traversal_mark") ||
	       !strcmp(entry->field, "_return_pc");
}

static void test_what_lacks_an_entry_is_refused(void **state)
{
	const struct hotspot_entry *entries, *missing;

	(void)state;
	EACH(entries)
	{
		lay_out(entries);
		for (unsigned i = 0; i < 2; i++)
			for (missing = i ? entries : jdk_common; missing->type; missing++) {
				describe(missing);
				/*
				 * The type AbstractInterpreter may be filled in later, so its
				 * absence means: try again.
				 */
				assert_int_equal(find(),
					!strcmp(missing->type, "AbstractInterpreter") ? -EAGAIN
					: is_optional(missing)			      ? 0
										      : -ENOTSUP);
			}
	}
}

static struct field_entry *described(const char *type, const char *field)
{
	for (struct field_entry *entry = jvm->fields; entry->type; entry++)
		if (!strcmp((const char *)entry->type, type) &&
			!strcmp((const char *)entry->field, field))
			return entry;
	fail();
	return NULL;
}

static void test_what_cannot_be_read_is_refused(void **state)
{
	struct field_entry *end;

	(void)state;
	lay_out(jdk_25);
	/* Refuse an unknown width, and a known width of a field that must have another one. */
	described("CodeBlob", "_header_size")->declared = (uintptr_t) "long";
	assert_int_equal(find(), -ENOTSUP);
	describe(NULL);
	described("ConstMethod", "_name_index")->declared = (uintptr_t) "u4";
	assert_int_equal(find(), -ENOTSUP);
	/* Offsets outside of the object. */
	describe(NULL);
	described("nmethod", "_compile_id")->offset = 222;
	assert_int_equal(find(), -ENOTSUP);
	describe(NULL);
	described("CodeBlob", "_frame_size")->offset = 62;
	assert_int_equal(find(), -ENOTSUP);
	/*
	 * Refuse contradicting entries: the data is described as inside the nmethod and as outside.
	 */
	describe(NULL);
	for (end = jvm->fields; end->type;)
		end++;
	*end = *described("nmethod", "_scopes_pcs_offset");
	end->field = (uintptr_t) "_nmethod_end_offset";
	assert_int_equal(find(), -ENOTSUP);
	describe(NULL);
	assert_int_equal(find(), 0);
}

static void test_a_jvm_that_starts_is_asked_again(void **state)
{
	(void)state;
	lay_out(jdk_25);
	jvm->tables[2] = 0; /* not filled in yet */
	assert_int_equal(find(), -EAGAIN);
	lay_out(jdk_25);
	jvm->interpreter = 0;
	assert_int_equal(find(), -EAGAIN);
	/* Entries that HotSpot has not filled in yet look like the end of the table. */
	memset(&jvm->fields[8], 0, sizeof(jvm->fields[8]));
	assert_int_equal(find(), -EAGAIN);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if ARCH_HOTSPOT_IS_KNOWN
		cmocka_unit_test_setup_teardown(test_each_release_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_word_below_the_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_code_that_leads_to_its_return, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_frame_that_is_never_complete, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_frozen_frames_are_passed_by, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_are_no_frozen_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_lacks_an_entry_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_cannot_be_read_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_jvm_that_starts_is_asked_again, set_up, tear_down),
#endif
		{0}
	};

	return cmocka_run_group_tests_name("hotspot_tables", tests, NULL, NULL);
}
