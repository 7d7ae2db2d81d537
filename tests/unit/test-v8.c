/* SPDX-License-Identifier: MIT */
/*
 * The reader of V8's frames, on a heap laid out by hand: one function, one script, strings of all
 * kinds. What a real node shows is tests/e2e/test_node_truth.py's.
 */
#include "libprof/runtime/v8.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define ONE_BYTE   8u
#define HEAP_BYTES 16384u

enum { TYPE_FUNCTION = 0x811, TYPE_SHARED = 0x101, TYPE_SCRIPT = 0x102, TYPE_SCOPE = 0x103,
	TYPE_ARRAY = 0x104 };

struct heap {
	uint64_t maps[32][2]; /* of each the type is all that is read */
	unsigned map_count;
	uint64_t function[8], shared[8], scope[16], script[16], array[8];
	uint64_t words[256]; /* strings */
	unsigned used;
	uint64_t stack[4];
	struct runtime runtime;
	struct runtime_reader reader;
};

static struct heap *heap;

static uint64_t pointer(const void *object)
{
	return (uintptr_t)object + HEAP_OBJECT;
}

static uint64_t number(uint32_t value)
{
	return (uint64_t)value << 32;
}

static uint64_t map_of(uint32_t type)
{
	uint64_t *map = heap->maps[heap->map_count++];

	memcpy((char *)map + TYPE_OF_MAP, &(uint16_t){(uint16_t)type}, 2);
	return pointer(map);
}

/* A string of @type, as many characters long, with @words words of room behind its length. */
static uint64_t *string(uint32_t type, uint32_t length, unsigned words)
{
	uint64_t *at = heap->words + heap->used;

	heap->used += 2 + words;
	at[0] = map_of(type);
	memcpy((char *)at + STRING_LENGTH, &length, sizeof(length));
	return at;
}

static uint64_t *one_byte(const char *text)
{
	uint64_t *at = string(ONE_BYTE, (uint32_t)strlen(text), 8);

	memcpy(at + 2, text, strlen(text));
	return at;
}

static int set_up(void **state)
{
	struct v8_offsets *at;

	(void)state;
	heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		return -1;
	at = (struct v8_offsets *)heap->runtime.offsets;
	heap->runtime.kind = &runtime_v8;
	*at = (struct v8_offsets){.shared = 24, .scope = 16, .script = 32, .source = 8,
		.script_name = 16, .line_ends = 56, .first_local = 3,
		.function_type = TYPE_FUNCTION, .function_types = 16, .shared_type = TYPE_SHARED,
		.script_type = TYPE_SCRIPT, .scope_type = TYPE_SCOPE, .array_type = TYPE_ARRAY};
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
	heap->stack[0] = pointer(heap->function);
	heap->stack[1] = pointer(heap->array);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(heap, HEAP_BYTES);
}

/* As a walk of its own. */
static int read_frame(struct runtime_frame *frame)
{
	runtime_reader_init(&heap->reader, getpid(), 1);
	return frame_of_v8(&heap->runtime, &heap->reader, (uintptr_t)(heap->stack + 2), frame);
}

static void assert_names(const char *name, const char *file, uint32_t line)
{
	struct runtime_frame frame;
	char text[RUNTIME_FILE_BYTES];

	assert_int_equal(read_frame(&frame), 1);
	text_of_v8(&heap->runtime, &heap->reader, frame.name, text, sizeof(text), 0);
	assert_string_equal(text, name);
	text_of_v8(&heap->runtime, &heap->reader, frame.file, text, sizeof(text), 1);
	assert_string_equal(text, file);
	assert_int_equal(first_line_of_v8(&heap->runtime, &heap->reader, &frame), line);
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

static void test_names_of_all_kinds(void **state)
{
	uint64_t *wide = string(0, 3, 2), *cons, *sliced, *thin, *external;
	static const char elsewhere[] = "elsewhere";

	(void)state;
	memcpy(wide + 2, (const uint16_t[]){0xf6, 0xd83d, 0xde00}, 6);
	heap->scope[6] = pointer(wide);
	assert_names("\u00f6\U0001f600", "/where/x.js", 3);
	cons = string(STRING_CONS | 0x20 | ONE_BYTE, 8, 2);
	cons[2] = pointer(one_byte("abcd"));
	cons[3] = pointer(one_byte("efgh"));
	heap->scope[6] = pointer(cons);
	assert_names("abcdefgh", "/where/x.js", 3);
	sliced = string(STRING_SLICED | 0x20 | ONE_BYTE, 2, 2);
	sliced[2] = cons[2];
	sliced[3] = number(1);
	heap->scope[6] = pointer(sliced);
	assert_names("bc", "/where/x.js", 3);
	thin = string(STRING_THIN | 0x20 | ONE_BYTE, 4, 1);
	thin[2] = cons[3];
	heap->scope[6] = pointer(thin);
	assert_names("efgh", "/where/x.js", 3);
	external = string(STRING_EXTERNAL | 0x20 | ONE_BYTE, 9, 2);
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

/* What has moved is the same, and is known to be. */
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

/* None of ours: 0. What begins as one and does not go on so is an error. */
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
	heap->shared[4] = pointer(heap->array); /* of no script */
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[0] = pointer(heap->array); /* no function */
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[0] = 0x1001;
	assert_int_equal(read_frame(&frame), 0);
	heap->stack[1] = 22 << 1; /* a frame of V8's own */
	assert_int_equal(read_frame(&frame), 0);
}

/* A source that is long is gone through in several walks. */
static void test_lines_far_behind(void **state)
{
	const uint32_t length = 3 * BLOCK * BLOCKS_AT_ONCE;
	static struct runtime_kept kept;
	struct runtime_frame frame;
	char *text = malloc(length);
	uint64_t *source = string(STRING_EXTERNAL | 0x20 | ONE_BYTE, length, 2);
	uint32_t line = 0;
	unsigned walks = 0;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', length);
	source[3] = (uintptr_t)text;
	heap->script[1] = pointer(source);
	heap->scope[9] = heap->scope[10] = number(length - 1);
	while (!line && walks++ < 10) {
		assert_int_equal(read_frame(&frame), 1);
		runtime_keep_in(&heap->reader, &kept);
		line = first_line_of_v8(&heap->runtime, &heap->reader, &frame);
	}
	assert_int_equal(line, length);
	assert_int_equal(walks, 3);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_function_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_of_all_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moved_objects_are_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_does_not_add_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_far_behind, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
