/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read V8's frames on a heap that is laid out by hand: one function, one script, and strings of all
 * kinds. tests/e2e/test_node_truth.py reads the frames of a real node.
 */
#include "libprof/runtime/v8.c"
#include "libprof/runtime/v8_code.c"
#include "libprof/runtime/v8_source.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/v8-fixture.h"

#define HEAP_BYTES 16384u

/*
 * Sizes of bytecodes for each operand scale. Bytecodes 0 to 3 are prefixes, 4 has no operand, 5 has
 * one.
 */
static const uint8_t sizes[3][6] = {{1, 1, 1, 1, 1, 2}, {1, 1, 1, 1, 1, 3}, {1, 1, 1, 1, 1, 5}};

struct heap {
	uint64_t maps[32][2]; /* only their types are read */
	unsigned map_count;
	uint64_t function[8], shared[8], scope[16], script[16], array[8];
	uint64_t words[256]; /* strings */
	unsigned used;
	uint64_t stack[12];
	uint64_t bytecode[16], code[8], data[12];
	_Alignas(64) uint64_t stream[64];
	struct v8_where where;
	struct runtime runtime;
	struct runtime_reader reader;
};

static struct heap *heap;

static uint64_t pointer(const void *object)
{
	return (uintptr_t)object + V8_HEAP_OBJECT;
}

static uint64_t map_of(uint32_t type)
{
	uint64_t *map = heap->maps[heap->map_count++];

	memcpy((char *)map + V8_TYPE_OF_MAP, &(uint16_t){(uint16_t)type}, 2);
	return pointer(map);
}

/* Make a string of @type and @length with @words words behind its length. */
static uint64_t *string(uint32_t type, uint32_t length, unsigned words)
{
	uint64_t *at = heap->words + heap->used;

	heap->used += 2 + words;
	at[0] = map_of(type);
	memcpy((char *)at + V8_STRING_LENGTH, &length, sizeof(length));
	return at;
}

static uint64_t *one_byte(const char *text)
{
	uint64_t *at = string(TYPE_ONE_BYTE, (uint32_t)strlen(text), 8);

	memcpy(at + 2, text, strlen(text));
	return at;
}

static void set_offsets(void)
{
	struct v8_offsets *at = (struct v8_offsets *)heap->runtime.offsets;

	heap->runtime.kind = &runtime_v8;
	*at = published_offsets;
	heap->runtime.base = (uintptr_t)sizes;
	heap->runtime.base_bytes = sizeof(sizes);
}

static int set_up(void **state)
{
	(void)state;
	heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		return -1;
	set_offsets();
	heap->function[0] = map_of(TYPE_FUNCTION + 1);
	heap->function[3] = pointer(heap->shared);
	heap->shared[0] = map_of(TYPE_SHARED);
	heap->shared[2] = pointer(heap->scope);
	heap->shared[4] = pointer(heap->script);
	heap->script[0] = map_of(TYPE_SCRIPT);
	heap->script[1] = pointer(one_byte("one\ntwo\r\nthree\rfour"));
	heap->script[2] = pointer(one_byte("/where/x.js"));
	heap->scope[0] = map_of(TYPE_SCOPE);
	heap->scope[1] = number(1u << 12 | SCOPE_INFERRED);
	heap->scope[3] = number(1); /* one local: its name, what it is */
	heap->scope[6] = pointer(one_byte("work"));
	heap->scope[8] = number(0); /* no inferred name */
	heap->scope[9] = number(14);
	heap->scope[10] = number(19);
	heap->stack[4] = pointer(heap->function);
	heap->stack[5] = pointer(heap->array);
	heap->where.fp = (uintptr_t)(heap->stack + 6);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(heap, HEAP_BYTES);
}

static struct runtime_room lent;

/* Read the frame as a new walk does. */
static int read_frame(struct runtime_frame *frame)
{
	runtime_reader_init(&heap->reader, getpid(), 1);
	runtime_lend(&heap->reader, &lent);
	return frame_of_v8(&heap->runtime, &heap->reader, &heap->where, frame);
}

/* Read all functions that the frame stands for, including inlined ones. */
static int read_frames(struct runtime_frame *frames, unsigned room)
{
	struct runtime_frame frame;
	int got = read_frame(&frame);

	return got > 0 ? frames_of_v8(&heap->runtime, &heap->reader, &frame, frames, room) : got;
}

static void assert_names(const char *name, const char *file, uint32_t line)
{
	struct runtime_frame frame;
	char text[RUNTIME_FILE_BYTES];

	assert_int_equal(read_frames(&frame, 1), 1);
	v8_text(&heap->runtime, &heap->reader, frame.name, text, sizeof(text), 0);
	assert_string_equal(text, name);
	v8_text(&heap->runtime, &heap->reader, frame.file, text, sizeof(text), 1);
	assert_string_equal(text, file);
	assert_int_equal(frame.first_line, line);
}

static void test_a_function_is_told(void **state)
{
	(void)state;
	assert_names("work", "/where/x.js", 3);
	heap->scope[9] = number(15);
	assert_names("work", "/where/x.js", 4);
	heap->script[3] = number(10); /* the script begins in line 11 of a page */
	assert_names("work", "/where/x.js", 14);
}

/* A function of WebAssembly has a script but a name instead of a scope, so it is not shown. */
static void test_webassembly_is_none(void **state)
{
	struct runtime_frame frame;

	(void)state;
	heap->shared[2] = pointer(one_byte("0"));
	assert_int_equal(read_frames(&frame, 1), 0);
	heap->shared[2] = number(0);
	assert_int_equal(read_frames(&frame, 1), 0);
	heap->shared[2] = pointer(heap->script);
	assert_int_equal(read_frames(&frame, 1), -EBADMSG);
}

static void test_names_of_all_kinds(void **state)
{
	uint64_t *wide = string(0, 3, 2), *cons, *sliced, *thin, *external;
	static const char elsewhere[] = "elsewhere";

	(void)state;
	memcpy(wide + 2, (const uint16_t[]){0xf6, 0xd83d, 0xde00}, 6);
	heap->scope[6] = pointer(wide);
	assert_names("\u00f6\U0001f600", "/where/x.js", 3);
	cons = string(STRING_CONS | 0x20 | TYPE_ONE_BYTE, 8, 2);
	cons[2] = pointer(one_byte("abcd"));
	cons[3] = pointer(one_byte("efgh"));
	heap->scope[6] = pointer(cons);
	assert_names("abcdefgh", "/where/x.js", 3);
	cons[2] = pointer(one_byte("abcdefgh")); /* as while V8 flattens it */
	assert_names("abcdefgh", "/where/x.js", 3);
	cons[2] = pointer(one_byte("abcd"));
	sliced = string(STRING_SLICED | 0x20 | TYPE_ONE_BYTE, 2, 2);
	sliced[2] = cons[2];
	sliced[3] = number(1);
	heap->scope[6] = pointer(sliced);
	assert_names("bc", "/where/x.js", 3);
	thin = string(STRING_THIN | 0x20 | TYPE_ONE_BYTE, 4, 1);
	thin[2] = cons[3];
	heap->scope[6] = pointer(thin);
	assert_names("efgh", "/where/x.js", 3);
	external = string(STRING_EXTERNAL | 0x20 | TYPE_ONE_BYTE, 9, 2);
	external[3] = (uintptr_t)elsewhere;
	heap->scope[6] = pointer(external);
	assert_names("elsewhere", "/where/x.js", 3);
	heap->scope[6] = 0;
	assert_names("(anonymous)", "/where/x.js", 3);
	heap->scope[8] = pointer(one_byte("by.place"));
	heap->script[2] = pointer(heap->array);
	heap->array[0] = map_of(TYPE_ARRAY);
	assert_names("by.place", "<anonymous>", 3);
}

/* An object that was moved is read at its new address. The frame's identity stays. */
static void test_moved_objects_are_followed(void **state)
{
	struct runtime_frame before, after;
	uint64_t shared[8];

	(void)state;
	assert_int_equal(read_frame(&before), 1);
	memcpy(shared, heap->shared, sizeof(shared));
	heap->shared[0] = (uintptr_t)shared;
	memset(heap->shared + 1, 0xff, sizeof(heap->shared) - 8);
	assert_int_equal(read_frame(&after), 1);
	assert_true(before.identity == after.identity);
	assert_names("work", "/where/x.js", 3);
	heap->scope[10] = number(20);
	assert_int_equal(read_frame(&after), 1);
	assert_true(before.identity != after.identity);
}

/*
 * For a frame that is not JavaScript's the reader returns 0. A frame that only begins like
 * JavaScript's is an error.
 */
static void test_what_does_not_add_up(void **state)
{
	struct runtime_frame frame;
	uint64_t *const fields[] = {&heap->function[3], &heap->shared[2], &heap->scope[9]};

	(void)state;
	heap->array[0] = map_of(TYPE_ARRAY);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t was = *fields[i];

		*fields[i] = 0x11;
		assert_true(read_frame(&frame) < 0);
		*fields[i] = pointer(heap->array);
		assert_true(read_frame(&frame) < 0);
		*fields[i] = was;
		assert_int_equal(read_frame(&frame), 1);
	}
	heap->shared[4] = pointer(heap->array); /* not a script */
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[4] = pointer(heap->array); /* no function */
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[4] = 0x1001;
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[5] = 22 << 1; /* a frame of V8's own */
	assert_int_equal(read_frame(&frame), 0);
}

/* The lines of a long source are counted in several walks. */
static void test_lines_far_behind(void **state)
{
	const uint32_t length = 3 * BLOCK * BLOCKS_AT_ONCE;
	static struct runtime_cache kept;
	struct runtime_frame frame;
	char *text = malloc(length);
	uint64_t *source = string(STRING_EXTERNAL | 0x20 | TYPE_ONE_BYTE, length, 2);
	uint32_t line = 0;
	unsigned walks = 0;
	int got;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', length);
	source[3] = (uintptr_t)text;
	heap->script[1] = pointer(source);
	heap->scope[9] = heap->scope[10] = number(length - 1);
	while (!line && walks++ < 10) {
		assert_int_equal(read_frame(&frame), 1);
		heap->reader.cache = &kept;
		got = frames_of_v8(&heap->runtime, &heap->reader, &frame, &frame, 1);
		assert_true(got == 1 || got == -EAGAIN);
		line = got == 1 ? frame.first_line : 0;
	}
	assert_int_equal(line, length);
	assert_int_equal(walks, 3);
	free(text);
}

/* An array of bytes. */
static uint64_t bytes_of(const uint8_t *bytes, uint32_t length)
{
	uint64_t *at = heap->words + heap->used;

	heap->used += 2 + (length + 7) / 8;
	at[0] = map_of(TYPE_ARRAY);
	at[1] = number(length);
	memcpy(at + 2, bytes, length);
	return pointer(at);
}

/* Append an entry to a position table: the distances in the code and in the source. */
static uint8_t *add_entry(uint8_t *at, int32_t offset, int64_t position)
{
	uint64_t values[] = {(uint64_t)offset << 1,
		position < 0 ? (uint64_t)-position * 2 - 1 : (uint64_t)position * 2};

	for (unsigned i = 0; i < 2; i++) {
		for (; values[i] > 127; values[i] >>= 7)
			*at++ = (uint8_t)(values[i] | 128);
		*at++ = (uint8_t)values[i];
	}
	return at;
}

/* Pack a source position as V8 does: the character, and the index of the inlined call. */
static int64_t packed(int32_t position, int32_t inlined)
{
	return (int64_t)(position + 1) << 1 | (int64_t)(inlined + 1) << 31;
}

/* Line 3 from bytecode 0 on, 4 from 6 on. */
static void make_bytecode(void)
{
	static const uint8_t code[] = {4, 5, 0, 0, 5, 0, 0, 4, 4, 4};
	uint8_t table[32], *end = add_entry(table, 1, packed(10, -1));

	end = add_entry(end, 6, packed(16, -1) - packed(10, -1));
	heap->bytecode[0] = map_of(TYPE_BYTECODE);
	heap->bytecode[1] = number(sizeof(code));
	heap->bytecode[4] = bytes_of(table, (uint32_t)(end - table));
	memcpy(heap->bytecode + 7, code, sizeof(code));
	heap->stack[2] = pointer(heap->bytecode);
}

static void assert_line(uint32_t line)
{
	struct runtime_frame frame;

	assert_int_equal(read_frames(&frame, 1), 1);
	assert_int_equal(frame.first_line, 3);
	assert_int_equal(frame.line, line);
}

static void test_the_line_that_is_interpreted(void **state)
{
	struct arch_registers registers = {0};
	uint64_t handlers[8] = {0};

	(void)state;
	make_bytecode();
	heap->stack[1] = number(55);
	assert_line(3);
	heap->stack[1] = number(55 + 5);
	assert_line(3);
	heap->stack[1] = number(55 + 6);
	assert_line(4);
	heap->stack[1] = number(55 + 10); /* behind its end */
	assert_line(0);
	/*
	 * While the handler of a bytecode runs, the words in the innermost frame are outdated. The
	 * registers are used instead.
	 */
	heap->where.registers = &registers;
	heap->stack[1] = number(55);
	registers.r[ARRAY_REGISTER] = pointer(heap->bytecode);
	registers.r[OFFSET_REGISTER] = 55 + 7;
	registers.r[ARCH_V8_DISPATCH] = (uintptr_t)handlers;
	registers.r[ARCH_DWARF_PC] = 0x5010;
	assert_line(0);
	handlers[4] = 0x5000;
	assert_line(4);
	registers.r[ARRAY_REGISTER]++;
	assert_line(0);
}

/* Make code of @kind with @data. Returns the address of its instructions, a multiple of 64. */
static uintptr_t make_code(uint32_t kind, uint64_t data, uint64_t table)
{
	heap->stream[4] = map_of(TYPE_STREAM);
	heap->stream[5] = pointer(heap->code);
	heap->code[0] = map_of(TYPE_CODE);
	heap->code[1] = data;
	heap->code[2] = table;
	heap->code[4] = pointer(heap->stream + 4);
	heap->code[5] = (uintptr_t)(heap->stream + 8);
	heap->code[6] = (uint64_t)200 << 32 | kind;
	heap->shared[1] = pointer(heap->code);
	return (uintptr_t)(heap->stream + 8);
}

static void test_the_line_in_baseline_code(void **state)
{
	/*
	 * The entry code has 40 bytes, and the code of each bytecode has 10. The bytecodes are at
	 * offsets 0, 1, 3 (with a prefix), 7, 8 and 9.
	 */
	static const uint8_t table[] = {40, 10, 10, 10, 10, 10, 10};
	uintptr_t start;

	(void)state;
	make_bytecode();
	start = make_code(10, pointer(heap->bytecode), bytes_of(table, sizeof(table)));
	heap->where.pc = start;
	assert_line(3);
	heap->where.pc = start + 69;
	assert_line(3);
	heap->where.pc = start + 70;
	assert_line(4);
	heap->where.pc = start + 99;
	assert_line(4);
	heap->where.pc = start + 150; /* behind the table's end */
	assert_line(0);
	heap->where.pc = start + 200; /* behind the code's end */
	assert_line(0);
}

static void test_what_is_inlined(void **state)
{
	uint64_t calls[2][2] = {{(uint64_t)packed(10, -1), 0}, {(uint64_t)packed(16, 0), 0}};
	uint8_t table[64], *end = add_entry(table, 9, packed(10, -1));
	struct runtime_frame frames[4], other;
	uint64_t literals[3];
	uintptr_t start;

	(void)state;
	end = add_entry(end, 8, packed(17, 1) - packed(10, -1));
	end = add_entry(end, 8, packed(11, -1) - packed(17, 1));
	literals[0] = map_of(TYPE_ARRAY);
	literals[1] = number(1);
	literals[2] = pointer(heap->shared) + 2; /* weak */
	heap->data[0] = map_of(TYPE_ARRAY);
	heap->data[1] = number(10);
	heap->data[4] = pointer(literals);
	heap->data[8] = pointer(heap->shared);
	heap->data[9] = bytes_of((const uint8_t *)calls, sizeof(calls));
	start = make_code(12, pointer(heap->data), bytes_of(table, (uint32_t)(end - table)));
	heap->where.pc = start + 8;
	assert_line(3);
	heap->where.pc = start + 17;
	assert_int_equal(read_frames(frames, 4), 3);
	assert_int_equal(frames[0].line, 4);
	assert_int_equal(frames[1].line, 4);
	assert_int_equal(frames[2].line, 3);
	assert_true(frames[0].identity == frames[2].identity);
	/*
	 * The function to which the code belongs is not in the array of literals. An inlined call
	 * of this function has the number -1.
	 */
	((struct {
		uint64_t position;
		int32_t function;
	} *)calls)[1]
		.function = -1;
	heap->data[9] = bytes_of((const uint8_t *)calls, sizeof(calls));
	assert_int_equal(read_frames(frames, 4), 3);
	assert_true(frames[0].identity == frames[2].identity);
	/*
	 * If there is no room for all inlined frames, only the outermost frame is returned, without
	 * a line.
	 */
	assert_int_equal(read_frames(frames, 2), 1);
	assert_int_equal(frames[0].line, 0);
	calls[1][0] = (uint64_t)packed(16, 1); /* inlined in itself */
	heap->data[9] = bytes_of((const uint8_t *)calls, sizeof(calls));
	assert_int_equal(read_frames(frames, 4), 1);
	assert_int_equal(frames[0].line, 0);
	/* The code belongs to another function, so it is not used for this frame. */
	assert_int_equal(read_frame(&other), 1);
	assert_int_equal(other.lines, 0);
	heap->data[8] = pointer(heap->array);
	assert_int_equal(read_frame(&other), 1);
	assert_int_not_equal(other.lines, 0);
	assert_int_equal(other.code, 0);
}

static int find_code(uintptr_t pc, struct runtime_cache *kept, struct v8_code *code)
{
	runtime_reader_init(&heap->reader, getpid(), 1);
	runtime_lend(&heap->reader, &lent);
	heap->reader.cache = kept;
	return v8_find_code(
		v8_offsets_of(&heap->runtime), &heap->reader, pc, (uintptr_t)heap->function, code);
}

/*
 * The beginning of code is searched backwards. Code that is longer than this search is found
 * through its function, or at the address where an earlier walk found it.
 */
static void test_where_code_is_looked_for(void **state)
{
	static struct runtime_cache kept;
	struct v8_code code;
	uintptr_t start = make_code(12, pointer(heap->data), pointer(heap->array));
	uintptr_t far = start + 2 * CODE_MAX;

	(void)state;
	heap->code[6] = (uint64_t)(4 * CODE_MAX) << 32 | 12;
	assert_int_equal(find_code(far, NULL, &code), -ENOENT);
	heap->function[6] = pointer(heap->code);
	assert_int_equal(find_code(far, &kept, &code), 0);
	assert_int_equal(code.start, start);
	heap->function[6] = 0;
	assert_int_equal(find_code(far, &kept, &code), 0);
	assert_int_equal(find_code(far + 8, &kept, &code), 0);
	assert_int_equal(code.start, start);
	assert_int_equal(find_code(far + CODE_PAGE, &kept, &code), -ENOENT);
}

/*
 * While code is being moved, both copies are accepted, whichever of them the code object refers to.
 */
static void test_code_that_is_being_moved(void **state)
{
	uintptr_t start = make_code(12, pointer(heap->data), pointer(heap->array)), *old;
	struct v8_code code;

	(void)state;
	old = heap->stream + 32;
	memcpy(old, heap->stream + 4, 4 * V8_WORD);
	old[0] = (uintptr_t)(heap->stream + 4); /* where it is now */
	assert_int_equal(find_code((uintptr_t)(old + 4) + 9, NULL, &code), 0);
	assert_int_equal(code.start, (uintptr_t)(old + 4));
	assert_int_equal(code.object, (uintptr_t)heap->code);
	assert_int_equal(find_code(start + 9, NULL, &code), 0);
	heap->code[5] = (uintptr_t)(old + 4);
	assert_int_equal(find_code(start + 9, NULL, &code), 0);
	assert_int_equal(code.start, start);
	/* If the old copy refers to another code object, it is no copy of this code. */
	old[1] = pointer(heap->array);
	assert_int_equal(find_code(start + 9, NULL, &code), -ENOENT);
}

/* A page is remembered as having no code only if the pages before it have no code either. */
static void test_pages_without_code(void **state)
{
	static struct runtime_cache kept;
	char *none = mmap(NULL, CODE_MAX + CODE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t start = make_code(9, pointer(heap->data), pointer(heap->array)), *head;
	struct v8_code code;

	(void)state;
	assert_int_equal(find_code(start + 8, &kept, &code), -ENOENT);
	heap->code[6] = (uint64_t)200 << 32 | 12;
	assert_int_equal(find_code(start + 8, &kept, &code), -ENOENT); /* as remembered */
	assert_int_equal(find_code(start + 9, &kept, &code), 0);
	head = (uintptr_t *)(none + CODE_MAX + 64);
	assert_int_equal(find_code((uintptr_t)head + 40, &kept, &code), -ENOENT);
	memcpy(head, heap->stream + 4, 4 * V8_WORD);
	heap->code[4] = pointer(head);
	heap->code[5] = (uintptr_t)(head + 4);
	assert_int_equal(find_code((uintptr_t)head + 41, &kept, &code), -ENOENT);
	assert_int_equal(find_code((uintptr_t)head + 41, NULL, &code), 0);
	munmap(none, CODE_MAX + CODE_PAGE);
}

static uint64_t quick_of(const uint64_t *function)
{
	heap->stack[4] = pointer(function);
	runtime_reader_init(&heap->reader, getpid(), 1);
	return quick_of_v8(&heap->runtime, &heap->reader, &heap->where);
}

/*
 * A new closure counts as the same function. A closure with other code or other feedback does not.
 */
static void test_closures_are_one_function(void **state)
{
	uint64_t first, *again = heap->words + heap->used;

	(void)state;
	heap->where.pc = 0x5000;
	for (unsigned i = 4; i < 7; i++)
		heap->function[i] = pointer(heap->array);
	first = quick_of(heap->function);
	assert_int_not_equal(first, 0);
	memcpy(again, heap->function, sizeof(heap->function));
	again[1] = again[2] = pointer(heap->data); /* properties, elements */
	again[4] = pointer(heap->scope);	   /* context */
	assert_true(quick_of(again) == first);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t was = again[i];

		again[i] = pointer(heap->script);
		assert_int_equal(quick_of(again) == first, i == 1 || i == 2 || i == 4);
		again[i] = was;
	}
	heap->where.pc++;
	assert_true(quick_of(again) != first);
}

#if defined(__x86_64__)

static int enter(struct runtime_stack *stack, const struct unwind_frame *frame)
{
	runtime_reader_init(&heap->reader, getpid(), 1);
	runtime_lend(&heap->reader, &lent);
	return enter_v8(&heap->runtime, &heap->reader, stack, frame);
}

/*
 * While the innermost function is at its entry code, it has not written its slots, so the function
 * is taken from a register. After the entry code the slots are used, and the registers are also
 * used for the caller.
 */
static void test_the_innermost_frame(void **state)
{
	/* push %rbp; mov %rsp,%rbp; push %rsi; push %rdi */
	static const uint8_t entry[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57};
	uint8_t code[ARCH_V8_BEFORE + ARCH_CODE_BYTES] = {0};
	struct runtime_frame out[2];
	struct arch_registers registers = {0};
	struct runtime_stack stack = {0};
	const struct unwind_frame innermost = {.pc = (uintptr_t)code + ARCH_V8_BEFORE,
		.sp = (uintptr_t)heap->stack,
		.caller_sp = heap->where.fp + 2 * V8_WORD,
		.fp = heap->where.fp,
		.is_generated = 1,
		.innermost = &registers};
	const struct unwind_frame caller = {.sp = innermost.caller_sp, .caller_sp = 1, .fp = 1};

	(void)state;
	registers.r[ARCH_DWARF_PC] = innermost.pc;
	registers.r[ARCH_V8_RDI] = pointer(heap->function);
	heap->stack[4] = pointer(heap->array); /* an old value */
	memcpy(code + ARCH_V8_BEFORE, entry, sizeof(entry));
	assert_int_equal(enter(&stack, &innermost), 1);
	assert_true(stack.key);
	assert_int_equal(next_v8(&heap->runtime, &heap->reader, &stack, out, 2), 1);
	assert_int_equal(out[0].function, (uintptr_t)heap->shared);
	assert_int_equal(enter(&stack, &caller), 0);
	assert_null(where_of(&stack)->registers);
	/* After the entry code, the frame's slots have been written. */
	memset(code, 0, sizeof(code));
	assert_int_equal(enter(&stack, &innermost), 0);
	heap->stack[4] = pointer(heap->function);
	registers.r[ARCH_V8_RDI] = 0;
	assert_int_equal(enter(&stack, &innermost), 1);
	assert_int_equal(next_v8(&heap->runtime, &heap->reader, &stack, out, 2), 1);
	assert_int_equal(out[0].function, (uintptr_t)heap->shared);
	assert_int_equal(enter(&stack, &caller), 0);
	assert_ptr_equal(where_of(&stack)->registers, &registers);
	assert_int_equal(where_of(&stack)->callee, innermost.fp);
	assert_int_equal(enter(&stack, &caller), 0);
	assert_null(where_of(&stack)->registers);
}

#endif

/* A source of two-byte characters with all line terminators. */
static void test_lines_of_wide_text(void **state)
{
	static const uint16_t text[] = {
		'a', '\n', 'b', '\r', '\n', 'c', '\r', 'd', 0x2028, 'e', 0x2029, 'f', '\r', 'g'};
	uint64_t *source = string(0, sizeof(text) / 2, 4);

	(void)state;
	memcpy(source + 2, text, sizeof(text));
	heap->script[1] = pointer(source);
	heap->scope[9] = heap->scope[10] = number(13);
	assert_names("work", "/where/x.js", 7);
	heap->scope[9] = number(5);
	assert_names("work", "/where/x.js", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_function_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_webassembly_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_of_all_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moved_objects_are_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_does_not_add_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_far_behind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_line_that_is_interpreted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_where_code_is_looked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_code_that_is_being_moved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pages_without_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closures_are_one_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_of_wide_text, set_up, tear_down),
#if defined(__x86_64__)
		cmocka_unit_test_setup_teardown(test_the_innermost_frame, set_up, tear_down),
#endif
		cmocka_unit_test_setup_teardown(test_the_line_in_baseline_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_inlined, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
