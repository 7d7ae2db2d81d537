/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the reader of HotSpot's methods and scopes on a heap that is laid out by hand, and the
 * reader of instructions at the beginning and end of interpreted methods.
 * tests/e2e/test_java_truth.py runs a real JVM.
 */
#include "libprof/runtime/hotspot.c"
#include "libprof/runtime/hotspot_code.c"
#include "libprof/runtime/hotspot_method.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAP_BYTES 16384u

struct heap {
	uint64_t method[4], fixed[16], constants[16], holder[4];
	struct {
		uint32_t hash;
		uint16_t length;
		char text[58];
	} symbols[4];
	uint64_t nmethod[32], metadata[2];
	uint8_t scopes[64];
	uint64_t unloaded; /* classes */
	/* code heap: low, high; segment map: low, high; log2 of the segment size */
	uint64_t code[5];
	struct runtime runtime;
	struct runtime_reader reader;
	struct runtime_cache *kept; /* NULL: no cache */
};

static struct heap *heap;

enum {
	NAME = 1,
	SOURCE = 2,
	CODE_BYTES = 20,
	CONST_FLAGS = 28
};

static void set_symbol(unsigned number, const char *text)
{
	heap->symbols[number].length = (uint16_t)strlen(text);
	memcpy(heap->symbols[number].text, text, strlen(text));
}

static void put_half(void *object, uint32_t offset, uint16_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static const struct hotspot_offsets offsets = {.method_const = 8,
	.constants = 8,
	.const_flags = HOTSPOT_FIELD(CONST_FLAGS, HOTSPOT_U2),
	.code_bytes = 32,
	.name_index = 34,
	.holder = 24,
	.constants_length = 60,
	.source_index = 54,
	.klass_name = 24,
	.symbol_length = 4,
	.symbol_text = 6,
	.const_size = 48,
	.constants_size = 72,
	.has_lines = 1,
	/* A release with this field stores the digits of numbers without adding 1. */
	.sweeper = 8,
	.scopes = HOTSPOT_FIELD_POINTER(16),
	.metadata = HOTSPOT_FIELD(24, HOTSPOT_INT),
	.nmethod_size = 256,
	.heap_memory = 0,
	.heap_segments = 16,
	.heap_segment_log = 32,
	.space_low = 0,
	.space_high = 8,
	.pc_size = 16};

static int set_up(void **state)
{
	/* By bytecode index: line 10 at 0, 12 at 3, 9 at 8, 300 at 12. */
	static const uint8_t lines[] = {0xff, 0, 20, 3 << 3 | 2, 0xff, 10, 5, 0xff, 8, 198, 6, 0};

	(void)state;
	heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		return -1;
	heap->runtime.kind = &runtime_hotspot;
	memcpy(heap->runtime.offsets, &offsets, sizeof(offsets));
	heap->method[1] = (uintptr_t)heap->fixed;
	heap->fixed[1] = (uintptr_t)heap->constants;
	put_half(heap->fixed, CONST_FLAGS, 1);
	put_half(heap->fixed, offsets.code_bytes, CODE_BYTES);
	put_half(heap->fixed, offsets.name_index, NAME);
	memcpy((char *)heap->fixed + offsets.const_size + CODE_BYTES, lines, sizeof(lines));
	heap->constants[3] = (uintptr_t)heap->holder;
	memcpy((char *)heap->constants + offsets.constants_length, &(uint32_t){3}, 4);
	put_half(heap->constants, offsets.source_index, SOURCE);
	heap->constants[9 + NAME] = (uintptr_t)&heap->symbols[0];
	heap->constants[9 + SOURCE] = (uintptr_t)&heap->symbols[1];
	heap->holder[3] = (uintptr_t)&heap->symbols[2];
	set_symbol(0, "work");
	set_symbol(1, "Where.java");
	set_symbol(2, "some/where/Where$Inner");
	heap->code[0] = (uintptr_t)heap;
	heap->code[1] = (uintptr_t)heap + HEAP_BYTES;
	heap->runtime.objects[HOTSPOT_HEAPS] = (uintptr_t)heap->code;
	heap->runtime.base = 1;
	runtime_reader_init(&heap->reader, getpid(), 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(heap, HEAP_BYTES);
}

static int read_at(int32_t bci, struct runtime_frame *frame)
{
	runtime_reader_init(&heap->reader, getpid(), 1);
	int error =
		hotspot_read_method(&heap->runtime, &heap->reader, (uintptr_t)heap->method, frame);

	if (!error)
		hotspot_set_position(frame, bci);
	return error;
}

static void assert_line(int32_t bci, uint32_t line)
{
	struct runtime_frame frame;

	assert_int_equal(read_at(bci, &frame), 0);
	assert_int_equal(hotspot_line(&heap->runtime, &heap->reader, &frame), line);
	frame.position = RUNTIME_POSITION_FIRST;
	assert_int_equal(hotspot_line(&heap->runtime, &heap->reader, &frame), 9);
}

static void test_a_method_is_told(void **state)
{
	struct runtime_frame frame;
	char text[RUNTIME_NAME_BYTES];

	(void)state;
	assert_int_equal(read_at(0, &frame), 0);
	assert_int_equal(
		hotspot_text(&heap->runtime, &heap->reader, frame.name, text, sizeof(text), 0),
		strlen("some.where.Where$Inner.work") + 1);
	assert_string_equal(text, "some.where.Where$Inner.work");
	hotspot_text(&heap->runtime, &heap->reader, frame.file, text, sizeof(text), 1);
	assert_string_equal(text, "Where.java");
	hotspot_text(&heap->runtime, &heap->reader, frame.name, text, 12, 0);
	assert_string_equal(text, "some.where.");
	/*
	 * The address in a hidden class's name is not shown. A similar suffix of another name is
	 * kept.
	 */
	set_symbol(2, "Where$$Lambda$14+0x0000000800c03000");
	runtime_forget(&heap->reader);
	hotspot_text(&heap->runtime, &heap->reader, frame.name, text, sizeof(text), 0);
	assert_string_equal(text, "Where$$Lambda$14.work");
	set_symbol(2, "Where+0xs");
	runtime_forget(&heap->reader);
	hotspot_text(&heap->runtime, &heap->reader, frame.name, text, sizeof(text), 0);
	assert_string_equal(text, "Where+0xs.work");
	hotspot_text(&heap->runtime, &heap->reader, HOTSPOT_TEXT | (uintptr_t) "a stub", text,
		sizeof(text), 0);
	assert_string_equal(text, "a stub");
}

static void test_lines(void **state)
{
	(void)state;
	assert_line(0, 10);
	assert_line(2, 10);
	assert_line(3, 12);
	assert_line(8, 9);
	assert_line(12, 300);
	assert_line(CODE_BYTES - 1, 300);
	assert_line(CODE_BYTES, 0); /* behind its code */
	assert_line(-1, 0);
}

/* Another class with the same layout at the same address has another identity. */
static void test_who_it_is(void **state)
{
	struct runtime_frame before, after;

	(void)state;
	assert_int_equal(read_at(0, &before), 0);
	set_symbol(2, "some/where/Where$Outer");
	assert_int_equal(read_at(0, &after), 0);
	assert_true(before.identity != after.identity);
}

/*
 * Overloaded methods of a class have the same name, and here also the same value of (address XOR
 * address of their ConstMethod). They must still have different identities.
 */
static void test_methods_of_one_name_differ(void **state)
{
	enum {
		METHODS = 0x2000,
		FIXED = 0x2800,
		APART = 0x80
	};
	struct runtime_frame frames[2];

	(void)state;
	for (uintptr_t i = 0; i < 2; i++) {
		char *method = (char *)heap + METHODS + i * APART;
		char *fixed = (char *)heap + FIXED + i * APART;

		memcpy(fixed, heap->fixed, sizeof(heap->fixed));
		memcpy(method + offsets.method_const, &fixed, sizeof(fixed));
		assert_int_equal(hotspot_read_method(&heap->runtime, &heap->reader,
					 (uintptr_t)method, &frames[i]),
			0);
	}
	assert_true(frames[0].identity != frames[1].identity);
}

static void test_what_is_no_method(void **state)
{
	uint64_t *const fields[] = {&heap->method[1], &heap->fixed[1], &heap->constants[3],
		&heap->holder[3], &heap->constants[9 + NAME]};
	struct runtime_frame frame;

	(void)state;
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t was = *fields[i];

		*fields[i] = 0;
		assert_true(read_at(0, &frame) < 0);
		*fields[i] = was + 1;
		assert_true(read_at(0, &frame) < 0);
		*fields[i] = 1ULL << 40;
		assert_true(read_at(0, &frame) < 0);
		*fields[i] = was;
		assert_int_equal(read_at(0, &frame), 0);
	}
	put_half(heap->fixed, offsets.name_index, 3); /* there are only 3 constants */
	assert_true(read_at(0, &frame) < 0);
}

/* Read the methods that run at @scope in the compiled code heap->nmethod, at most four frames. */
static int frames_at(uint32_t scope, struct runtime_frame frames[4])
{
	struct runtime_frame frame = {
		.function = (uintptr_t)heap->method,
		.code = (uintptr_t)heap->nmethod,
		.start = scope,
		.position = -1,
	};

	runtime_reader_init(&heap->reader, getpid(), 1);
	heap->reader.cache = heap->kept;
	return frames_of_hotspot(&heap->runtime, &heap->reader, &frame, frames, 4);
}

/*
 * A method is inlined into itself. Scopes lead from callee to caller; the frames are ordered from
 * caller to callee.
 */
static void test_scopes(void **state)
{
	/*
	 * Each scope: caller's scope, method, bytecode index + 1. Scope 1: index 7, no caller.
	 * Scope 4: index 3, called by scope 1.
	 */
	static const uint8_t scopes[] = {0, 0, 1, 8, 1, 1, 4};
	struct runtime_frame frames[4];

	(void)state;
	memcpy(heap->scopes, scopes, sizeof(scopes));
	heap->nmethod[2] = (uintptr_t)heap->scopes;
	heap->nmethod[3] = (uintptr_t)heap->metadata - (uintptr_t)heap->nmethod;
	heap->metadata[0] = (uintptr_t)heap->method;
	assert_int_equal(frames_at(4, frames), 2);
	assert_int_equal(frames[0].position, 3);
	assert_int_equal(frames[1].position, 7);
	assert_int_equal(frames_at(1, frames), 1);
	assert_int_equal(frames[0].position, 7);
	/*
	 * If the scope is unknown or there is no room for its frames, only the method is returned,
	 * without a bytecode index.
	 */
	assert_int_equal(frames_of_hotspot(&heap->runtime, &heap->reader,
				 &(struct runtime_frame){.function = (uintptr_t)heap->method,
					 .code = (uintptr_t)heap->nmethod,
					 .start = 4,
					 .position = -1},
				 frames, 1),
		1);
	assert_int_equal(frames[0].position, -1);
	assert_int_equal(frames_at(HOTSPOT_NO_SCOPE, frames), 1);
	assert_int_equal(frames[0].position, -1);
	/* A scope that is its own caller would never end. */
	heap->scopes[4] = 4;
	assert_true(frames_at(4, frames) < 0);
}

/*
 * A method that was read before is read again only if a class was unloaded since then or if its
 * frame has other constants. If the JVM does not count unloaded classes, the method is read again
 * if it refers to something else or was read long ago.
 */
static void test_methods_are_known_again(void **state)
{
	const uintptr_t method = (uintptr_t)heap->method, bcp = (uintptr_t)heap->fixed + 48 + 3;
	static struct runtime_cache kept;
	struct runtime_frame first, again;

	(void)state;
	memset(&kept, 0, sizeof(kept));
	for (unsigned round = 0; round < 3; round++) {
		runtime_reader_init(&heap->reader, getpid(), 1);
		heap->reader.cache = &kept;
		heap->runtime.objects[HOTSPOT_UNLOADED] = (uintptr_t)&heap->unloaded;
		assert_int_equal(
			find_interpreted(&heap->runtime, &heap->reader, method, 1, 0, bcp, &first),
			0);
		assert_int_equal(first.position, 3); /* it was read */
		assert_int_equal(
			find_interpreted(&heap->runtime, &heap->reader, method, 1, 0, bcp, &again),
			0);
		assert_int_equal(again.identity, 0);
		assert_true(again.key && again.key == first.key);
		assert_int_equal(
			find_interpreted(&heap->runtime, &heap->reader, method, 2, 0, bcp, &again),
			0);
		assert_true(again.key != first.key);
		heap->unloaded++;
	}
	/*
	 * The counter of unloaded classes changes while the method is read, so its class may have
	 * been replaced.
	 */
	runtime_reader_init(&heap->reader, getpid(), 1);
	heap->reader.cache = &kept;
	hotspot_cache(&heap->runtime, &heap->reader);
	heap->unloaded++;
	assert_int_equal(
		find_interpreted(&heap->runtime, &heap->reader, method, 1, 0, bcp, &first), 0);
	assert_true(first.identity && !first.key);
	heap->runtime.objects[HOTSPOT_UNLOADED] = 0;
	for (unsigned round = 0; round < 3; round++) {
		runtime_reader_init(&heap->reader, getpid(), 1);
		heap->reader.cache = &kept;
		heap->reader.age = round == 2;
		assert_int_equal(
			find_interpreted(&heap->runtime, &heap->reader, method, 1, 0, bcp, &first),
			0);
		assert_true(first.identity && first.key);
		assert_int_equal(
			find_interpreted(&heap->runtime, &heap->reader, method, 1, 0, bcp, &again),
			0);
		assert_true(!again.identity && again.key == first.key);
		heap->method[2] = 1; /* it refers to something else */
	}
}

enum in_nmethod {
	NUMBER = 4, /* words */
	METADATA = 3,
	SCOPES = 2
};

/*
 * A method's name is read once. Other positions in the method, in the same compiled code or in
 * other code, are named without reading the class again, unless the method has another ConstMethod
 * or a class was unloaded.
 */
static void test_a_method_is_read_once(void **state)
{
	static const uint8_t scopes[] = {0, 0, 1, 8, 0, 1, 4};
	static struct runtime_cache kept;
	struct runtime_frame first[4], again[4];

	(void)state;
	memset(&kept, 0, sizeof(kept));
	heap->kept = &kept;
	heap->runtime.objects[HOTSPOT_UNLOADED] = (uintptr_t)&heap->unloaded;
	((struct hotspot_offsets *)heap->runtime.offsets)->compile_id =
		HOTSPOT_FIELD_POINTER(NUMBER * sizeof(uint64_t));
	memcpy(heap->scopes, scopes, sizeof(scopes));
	heap->nmethod[SCOPES] = (uintptr_t)heap->scopes;
	heap->nmethod[METADATA] = (uintptr_t)heap->metadata - (uintptr_t)heap->nmethod;
	heap->metadata[0] = (uintptr_t)heap->method;
	assert_int_equal(frames_at(1, first), 1);
	assert_int_equal(first[0].position, 7);
	heap->holder[3] = 0;
	/*
	 * For the same compiled code the method is not read again, so its invalid pointer does not
	 * matter. For other compiled code only the ConstMethod is read.
	 */
	heap->method[1] = 0;
	assert_int_equal(frames_at(4, again), 1);
	assert_int_equal(again[0].position, 3);
	assert_true(again[0].identity == first[0].identity && again[0].lines == first[0].lines &&
		    again[0].code == first[0].code && again[0].start == first[0].start);
	heap->nmethod[NUMBER]++;
	assert_true(frames_at(4, again) < 0);
	heap->method[1] = (uintptr_t)heap->fixed;
	assert_int_equal(frames_at(4, again), 1);
	assert_true(again[0].identity == first[0].identity && again[0].position == 3);
	heap->nmethod[NUMBER]++;
	put_half(heap->fixed, offsets.name_index, NAME + 1);
	assert_true(frames_at(4, again) < 0);
	put_half(heap->fixed, offsets.name_index, NAME);
	assert_int_equal(frames_at(4, again), 1);
	heap->nmethod[NUMBER]++;
	heap->unloaded++;
	assert_true(frames_at(4, again) < 0);
	heap->holder[3] = (uintptr_t)&heap->symbols[2];
	assert_int_equal(frames_at(4, again), 1);
}

/*
 * HotSpot's reader records no memory windows for the next walk to prefetch, and reads its own
 * process directly.
 */
static void test_what_walks_read(void **state)
{
	struct runtime_again before = {0};

	(void)state;
	runtime_reader_init(&heap->reader, getpid(), 1);
	heap->reader.again = &before;
	hotspot_cache(&heap->runtime, &heap->reader);
	assert_null(heap->reader.again);
}

#if ARCH_HOTSPOT_IS_KNOWN

/*
 * Check the caller that is found at offset @at of the code @bytes. The caller has the return
 * address @ra and the stack pointer @sp. Its frame pointer is saved at @fp_at; if @fp_at is 0, it
 * is still in the register. The test sets registers and stack as the CPU has them at this
 * instruction.
 */
static void assert_edge(const uint8_t *bytes, unsigned count, unsigned at, uintptr_t ra,
	uintptr_t sp, uintptr_t fp_at, const struct arch_registers *registers)
{
	const struct arch_hotspot_code code = {bytes, at, count};
	struct arch_hotspot_edge edge;

	assert_true(arch_hotspot_interpreter_edge(&code, registers, &edge));
	assert_int_equal(edge.ra_at ? *(uintptr_t *)edge.ra_at : edge.ra, ra);
	assert_int_equal(edge.sp_at ? *(uintptr_t *)edge.sp_at : edge.sp, sp);
	assert_int_equal(edge.fp_at, fp_at);
}

static void test_a_method_begins(void **state)
{
	static const uint8_t entry[] = {0x48, 0x8b, 0x53, 0x08, 0x0f, 0xb7, 0x4a, 0x2c, 0x58, 0x4c,
		0x8d, 0x74, 0xcc, 0xf8, 0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x68, 0, 0, 0, 0,
		0x4c, 0x8b, 0x6b, 0x08, 0x53, 0x48, 0x8b, 0x53, 0x08, 0x52};
	uintptr_t stack[16] = {0}, caller = (uintptr_t)&stack[13];
	struct arch_registers now = {0};

	(void)state;
	now.r[ARCH_HOTSPOT_R13] = caller;
	now.r[ARCH_DWARF_FP] = 0x5555;
	now.r[ARCH_DWARF_SP] = (uintptr_t)&stack[12];
	stack[12] = 0x1234;
	assert_edge(entry, sizeof(entry), 0, 0x1234, caller, 0, &now);
	assert_edge(entry, sizeof(entry), 8, 0x1234, caller, 0, &now);
	stack[12] = 0; /* pop %rax */
	now.r[ARCH_HOTSPOT_RAX] = 0x1234;
	now.r[ARCH_DWARF_SP] += 8;
	assert_edge(entry, sizeof(entry), 9, 0x1234, caller, 0, &now);
	assert_edge(entry, sizeof(entry), 14, 0x1234, caller, 0, &now);
	stack[10] = 0x1234; /* two locals, push %rax */
	now.r[ARCH_DWARF_SP] = (uintptr_t)&stack[10];
	now.r[ARCH_HOTSPOT_RAX] = 0;
	assert_edge(entry, sizeof(entry), 15, 0x1234, caller, 0, &now);
	stack[9] = now.r[ARCH_DWARF_FP];
	now.r[ARCH_DWARF_SP] -= 8;
	assert_edge(entry, sizeof(entry), 16, 0x1234, caller, (uintptr_t)&stack[9], &now);
	now.r[ARCH_DWARF_FP] = now.r[ARCH_DWARF_SP];
	assert_edge(entry, sizeof(entry), 19, 0x1234, caller, (uintptr_t)&stack[9], &now);
	stack[8] = caller;
	now.r[ARCH_HOTSPOT_R13] = 0;
	assert_edge(entry, sizeof(entry), 21, 0x1234, caller, (uintptr_t)&stack[9], &now);
	assert_edge(entry, sizeof(entry), 30, 0x1234, caller, (uintptr_t)&stack[9], &now);
	/* From here on the method has a frame. */
	assert_false(
		arch_hotspot_interpreter_edge(&(struct arch_hotspot_code){entry, 31, sizeof(entry)},
			&now, &(struct arch_hotspot_edge){0}));
}

static void test_a_method_ends(void **state)
{
	static const uint8_t end[] = {0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	uintptr_t stack[4] = {0x1234};
	struct arch_registers now = {0};

	(void)state;
	now.r[ARCH_DWARF_SP] = (uintptr_t)stack;
	now.r[ARCH_HOTSPOT_RBX] = (uintptr_t)&stack[3];
	assert_edge(end, sizeof(end), 1, 0x1234, (uintptr_t)&stack[3], 0, &now);
	stack[0] = 0;
	now.r[ARCH_HOTSPOT_R13] = 0x1234;
	now.r[ARCH_DWARF_SP] += 8;
	assert_edge(end, sizeof(end), 3, 0x1234, (uintptr_t)&stack[3], 0, &now);
	now.r[ARCH_DWARF_SP] = (uintptr_t)&stack[3];
	now.r[ARCH_HOTSPOT_RBX] = 0;
	assert_edge(end, sizeof(end), 6, 0x1234, (uintptr_t)&stack[3], 0, &now);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_method_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_methods_of_one_name_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_method, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_scopes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_methods_are_known_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_method_is_read_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_walks_read, set_up, tear_down),
#if ARCH_HOTSPOT_IS_KNOWN
		cmocka_unit_test(test_a_method_begins),
		cmocka_unit_test(test_a_method_ends),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
