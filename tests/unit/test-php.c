/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * PHP's stacks in made-up memory, laid out for each supported release, and walks over made-up
 * native frames. Each activation (C frame) of execute_ex() gets the PHP functions that it runs; TOP
 * marks the function with which an activation begins.
 *
 * executor_globals ─▶ {closure}, TOP ─▶ usort (builtin) ─▶ Shape::sorted ─▶ {main}, TOP
 * one activation                       another one
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/runtime/php.c"
#include "libprof/runtime/runtime_walk.h"
#include "tests/unit/shown-stack.h"

#define PAGE_BYTES 4096u
#define PAGES	   4u

/* Addresses in code. */
#define EXECUTE_EX 0x1000u
#define OTHER	   0x3000u

enum {
	CLOSURE,
	USORT,
	SORTED,
	MAIN,
	FUNCTIONS
};

/* Offsets that differ between releases, as each release's headers declare them. */
struct release {
	uint32_t version, globals_bytes;	      /* of its first patch release */
	uint32_t flags, main_fiber, active_fiber;     /* in executor_globals */
	uint32_t last, opcodes, filename, line_start; /* in zend_op_array */
	uint32_t generator_flags;
};
static const struct release releases[] = {
	{802, 1776, 993, 1664, 1680, 80, 88, 152, 160, 264},
	{804, 1960, 1065, 1736, 1752, 96, 104, 168, 176, 272},
};
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

struct text {
	uint64_t head[2], length;
	char bytes[24];
};

struct image {
	char globals[2048], function[FUNCTIONS][256], class[64];
	char instructions[FUNCTIONS][4][INSTRUCTION_BYTES];
	struct php_frame frame[FUNCTIONS];
	struct text name[FUNCTIONS], class_name, file;
	char fiber[2][320], generator_class[64], generator[2][320];
	uintptr_t generator_class_at;
};
_Static_assert(sizeof(struct image) < PAGES * PAGE_BYTES, "all of it");

struct fixture {
	const struct release *release;
	char *pages;	     /* behind them nothing is mapped */
	struct image *image; /* at their end */
	struct runtime runtime;
	struct runtime_walk runs;
	uint64_t frames[WIRE_MAX_DEPTH];
	struct shown_stack shown;
};

static void put(char *structure, uint32_t offset, const void *pointer)
{
	uintptr_t word = (uintptr_t)pointer;

	memcpy(structure + offset, &word, sizeof(word));
}

static void put_number(char *structure, uint32_t offset, uint32_t number)
{
	memcpy(structure + offset, &number, sizeof(number));
}

static void put_text(struct text *text, const char *from)
{
	text->length = strlen(from);
	strcpy(text->bytes, from);
}

static void put_instruction(struct image *image, int i, unsigned index)
{
	image->frame[i].instruction = (uintptr_t)image->instructions[i][index];
}

/*
 * Write function @i, which begins at line 10 * (@i + 1), and its frame at the second instruction.
 */
static void put_function(struct fixture *fixture, int i, const char *name, uint8_t kind)
{
	const struct release *release = fixture->release;
	struct image *image = fixture->image;
	char *function = image->function[i];

	function[0] = (char)kind;
	put_text(&image->name[i], name);
	put(function, 8, *name ? &image->name[i] : NULL);
	image->frame[i].function = (uintptr_t)function;
	if (kind == KIND_BUILTIN)
		return;
	put_number(function, release->last, 4);
	put(function, release->opcodes, image->instructions[i]);
	put(function, release->filename, &image->file);
	put_number(function, release->line_start, 10 * ((uint32_t)i + 1));
	for (uint32_t n = 0; n < 4; n++)
		put_number(image->instructions[i][n], INSTRUCTION_LINE, 10 * ((uint32_t)i + 1) + n);
	put_instruction(image, i, 1);
}

static void put_frames(struct fixture *fixture)
{
	struct image *image = fixture->image;

	put_function(fixture, CLOSURE, "{closure}", KIND_CODE);
	put_function(fixture, USORT, "usort", KIND_BUILTIN);
	put_function(fixture, SORTED, "sorted", KIND_CODE);
	put_function(fixture, MAIN, "", KIND_CODE);
	put_text(&image->class_name, "Shape");
	put_text(&image->file, "x.php");
	put(image->class, CLASS_NAME, &image->class_name);
	put(image->function[SORTED], 16, image->class);
	for (int i = 0; i + 1 < FUNCTIONS; i++)
		image->frame[i].previous = (uintptr_t)&image->frame[i + 1];
	image->frame[CLOSURE].info = image->frame[MAIN].info = INFO_TOP;
	put(image->globals, GLOBALS_CURRENT, &image->frame[CLOSURE]);
}

static void set_up_release(struct fixture *fixture, const struct release *release)
{
	char *pages = mmap(NULL, (PAGES + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int layout = find_layout(release->version, release->globals_bytes);

	munmap(pages + PAGES * PAGE_BYTES, PAGE_BYTES);
	assert_int_not_equal(layout, -ENOTSUP);
	fixture->release = release;
	fixture->pages = pages;
	fixture->image = (struct image *)(pages + PAGES * PAGE_BYTES -
					  (sizeof(struct image) + 15) / 16 * 16);
	fixture->runtime = (struct runtime){.kind = &runtime_php,
		.is_counted = 1,
		.base = (uintptr_t)fixture->image->globals,
		.base_bytes = release->globals_bytes,
		.code_type = (uintptr_t)&fixture->image->generator_class_at,
		.entry = EXECUTE_EX,
		.entry_end = EXECUTE_EX + 64};
	fixture->runtime.offsets[LAYOUT] = (uint32_t)layout;
	fixture->image->generator_class_at = (uintptr_t)fixture->image->generator_class;
	put_frames(fixture);
}

static void tear_down_release(struct fixture *fixture)
{
	munmap(fixture->pages, PAGES * PAGE_BYTES);
}

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;
	char name[RUNTIME_NAME_BYTES], file[RUNTIME_FILE_BYTES];

	runtime_php.text(runs->runtime, &runs->reader, frame->name, name, sizeof(name), 0);
	runtime_php.text(runs->runtime, &runs->reader, frame->file, file, sizeof(file), 1);
	return shown_word(&fixture->shown, "%s(%s:%u):%u", name, file, frame->first_line,
		runtime_php.line(runs->runtime, &runs->reader, frame));
}

/*
 * Walk over @native, which has a letter for each frame: e is execute_ex(), any other letter other
 * code. Returns the frames' names, innermost first.
 */
static const char *walk(struct fixture *fixture, const char *native)
{
	unsigned n = 0;
	uintptr_t sp = 0x7000;

	fixture->shown.count = 0;
	runtime_walk_init(&fixture->runs, 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (const char *at = native; *at; at++, sp += 16) {
		const struct unwind_frame frame = {
			.pc = *at == 'e' ? EXECUTE_EX : OTHER, .sp = sp, .caller_sp = sp + 16};

		n += runtime_walk_frames(&fixture->runs, &fixture->runtime, &frame,
			fixture->frames + n, WIRE_MAX_DEPTH - n);
		fixture->frames[n++] = WIRE_FRAME(1, (uint8_t)*at);
	}
	n = runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
	return shown_text(&fixture->shown, fixture->frames, n);
}

/* The innermost function's line is 0, because its instruction is only in registers. */
#define INNERMOST "{closure}(x.php:10):0"
#define REST	  "usort(:0):0 Shape::sorted(x.php:30):31 {main}(x.php:40):41"

static void assert_refused(struct fixture *fixture)
{
	assert_string_equal(walk(fixture, "eue"), "e u e");
	assert_false(fixture->runs.is_whole);
}

static void has_names(struct fixture *fixture)
{
	assert_string_equal(walk(fixture, "leue"), "l " INNERMOST " e u " REST " e");
	assert_true(fixture->runs.is_whole);
	/*
	 * One frame of execute_ex() more than there are top functions: the innermost one has not
	 * linked its PHP frame yet.
	 */
	assert_string_equal(walk(fixture, "eueue"), "e u " INNERMOST " e u " REST " e");
	/* An instruction inside executor_globals handles an exception and has no line. */
	fixture->image->frame[SORTED].instruction = (uintptr_t)fixture->image->globals + 960;
	assert_string_equal(walk(fixture, "eue"),
		INNERMOST " e u usort(:0):0 Shape::sorted(x.php:30):0 {main}(x.php:40):41 e");
	put_instruction(fixture->image, SORTED, 3);
	assert_string_equal(walk(fixture, "eue"),
		INNERMOST " e u usort(:0):0 Shape::sorted(x.php:30):33 {main}(x.php:40):41 e");
	fixture->image->function[MAIN][0] = KIND_EVAL;
	walk(fixture, "eue");
	assert_string_equal(fixture->shown.names[3], "eval(x.php:40):41");
}

static void is_refused_while_it_ends(struct fixture *fixture)
{
	fixture->image->globals[fixture->release->flags] = IN_SHUTDOWN;
	assert_refused(fixture);
	fixture->image->globals[fixture->release->flags] = 2;
	walk(fixture, "eue");
	assert_true(fixture->runs.is_whole);
}

/*
 * With the offsets of another release, no frame's instruction lies in its function, so the stack is
 * refused.
 */
static void is_refused_by_other_rows(struct fixture *fixture)
{
	for (unsigned i = 0; i < RELEASES; i++) {
		fixture->runtime.offsets[LAYOUT] = i;
		if (layouts[i].version == fixture->release->version)
			walk(fixture, "eue");
		else
			assert_refused(fixture);
		assert_int_equal(
			fixture->runs.is_whole, layouts[i].version == fixture->release->version);
	}
}

static void refuses_what_cannot_be(struct fixture *fixture)
{
	struct image *image = fixture->image;

	put_instruction(image, SORTED, 4);
	assert_refused(fixture);
	put_instruction(image, SORTED, 1);
	image->frame[SORTED].instruction += 8;
	assert_refused(fixture);
	put_instruction(image, SORTED, 1);
	image->function[SORTED][0] = 3;
	assert_refused(fixture);
	image->function[SORTED][0] = KIND_CODE;
	image->frame[USORT].previous = 8;
	assert_refused(fixture);
	image->frame[USORT].previous = (uintptr_t)&image->frame[USORT];
	assert_refused(fixture);
	image->frame[USORT].previous = (uintptr_t)&image->frame[SORTED];
	/* The end of the function lies in unmapped memory, so the stack is refused. */
	image->frame[SORTED].function = (uintptr_t)fixture->pages + PAGES * PAGE_BYTES - 32;
	assert_refused(fixture);
	image->frame[SORTED].function = (uintptr_t)image->function[SORTED] + 4;
	assert_refused(fixture);
}

/*
 * A frame without a function stands for the generators that delegate to the running generator:
 *
 * outermost (object of the frame) ─▶ inner, which runs
 */
static void shows_generators(struct fixture *fixture)
{
	struct image *image = fixture->image;
	struct php_frame *empty = &image->frame[USORT];

	empty->function = 0;
	empty->info = INFO_OBJECT;
	empty->object = (uintptr_t)image->generator[0];
	for (int i = 0; i < 2; i++)
		put(image->generator[i], OBJECT_CLASS, image->generator_class);
	put(image->generator[0], GENERATOR_FRAME, &image->frame[SORTED]);
	put(image->generator[0], GENERATOR_DELEGATE, image->generator[1]);
	image->frame[CLOSURE].info = INFO_GENERATOR;
	image->frame[CLOSURE].result = (uintptr_t)image->generator[1];
	image->generator[1][fixture->release->generator_flags] = GENERATOR_RUNNING;
	empty->previous = (uintptr_t)&image->frame[MAIN];
	assert_string_equal(
		walk(fixture, "e"), INNERMOST " Shape::sorted(x.php:30):31 {main}(x.php:40):41 e");
	put(image->generator[1], OBJECT_CLASS, image->class);
	assert_string_equal(walk(fixture, "e"), "e");
}

/*
 * The generator's frame is already the current one, but its resumer is not yet linked as its
 * caller.
 */
static void refuses_a_generator_that_is_being_resumed(struct fixture *fixture)
{
	struct image *image = fixture->image;
	char *flags = &image->generator[0][fixture->release->generator_flags];

	image->frame[CLOSURE].info = INFO_TOP | INFO_GENERATOR;
	image->frame[CLOSURE].result = (uintptr_t)image->generator[0];
	*flags = 4; /* another flag */
	assert_refused(fixture);
	image->frame[CLOSURE].previous = 0;
	assert_string_equal(walk(fixture, "e"), "e");
	image->frame[CLOSURE].previous = (uintptr_t)&image->frame[USORT];
	*flags |= GENERATOR_RUNNING;
	walk(fixture, "eue");
	assert_true(fixture->runs.is_whole);
}

/*
 * The walk continues from a fiber's stack to the stack of the main program, which resumed the
 * fiber.
 */
static void goes_to_who_resumed_a_fiber(struct fixture *fixture)
{
	static uintptr_t left[16];
	struct unwind_activation at = {.pc = 0x5010, .question = UNWIND_STACK_END};
	const struct arch_registers registers = {0};
	struct unwind_activation switching = {
		.pc = 0x6010, .question = UNWIND_OWN_CODE, .innermost = &registers};
	struct image *image = fixture->image;
	char *fiber = image->fiber[0], *main_context = image->fiber[1];
	const uint32_t current = fixture->release->main_fiber + 8;
	struct runtime_reader reader;
	struct runtime_stack stack = {0};

	memcpy(&fixture->runtime.objects[FIBER_ROOT], (uintptr_t[]){0x5000, 0x5040, 0x6000, 0x6100},
		4 * sizeof(uintptr_t));
	runtime_reader_init(&reader, getpid(), 0);
	put(image->globals, fixture->release->main_fiber, main_context);
	put(image->globals, current, fiber + FIBER_CONTEXT);
	put(image->globals, fixture->release->active_fiber, fiber);
	put(fiber, FIBER_CALLER, main_context);
	put(main_context, CONTEXT_HANDLE, left);
	left[ARCH_PHP_LEFT_PC / 8] = 0x6010;
	left[ARCH_PHP_LEFT_FP / 8] = 0x7777;
	assert_int_equal(
		runtime_php.step(&fixture->runtime, &reader, &stack, &at), ARCH_PHP_HAS_FIBERS);
	if (!ARCH_PHP_HAS_FIBERS)
		return;
	assert_int_equal(at.pc, 0x6010);
	assert_int_equal(at.fp, 0x7777);
	assert_int_equal(at.sp, (uintptr_t)left + ARCH_PHP_LEFT_BYTES);
	assert_int_equal(stack.own[0], (uintptr_t)main_context);
	/* The main program has no resumer. */
	at.pc = 0x5010;
	assert_int_equal(runtime_php.step(&fixture->runtime, &reader, &stack, &at), 0);
	/*
	 * During a switch the globals do not yet describe the new fiber completely, so the walk
	 * ends.
	 */
	stack = (struct runtime_stack){0};
	assert_int_equal(runtime_php.step(&fixture->runtime, &reader, &stack, &switching), 0);
	assert_int_equal(runtime_php.step(&fixture->runtime, &reader, &stack, &at), 0);
	stack = (struct runtime_stack){0};
	put(image->globals, current, main_context);
	runtime_forget(&reader);
	assert_int_equal(runtime_php.step(&fixture->runtime, &reader, &stack, &at), 0);
}

static void test_each_release(void **state)
{
	void (*const tests[])(struct fixture *) = {has_names, is_refused_while_it_ends,
		is_refused_by_other_rows, refuses_what_cannot_be, shows_generators,
		refuses_a_generator_that_is_being_resumed, goes_to_who_resumed_a_fiber};

	(void)state;
	assert_int_equal(RELEASES, sizeof(layouts) / sizeof(layouts[0]));
	for (unsigned i = 0; i < RELEASES; i++)
		for (unsigned n = 0; n < sizeof(tests) / sizeof(tests[0]); n++) {
			struct fixture *fixture = calloc(1, sizeof(*fixture));

			set_up_release(fixture, &releases[i]);
			tests[n](fixture);
			tear_down_release(fixture);
			free(fixture);
		}
}

/* Patch releases may add certain fields to executor_globals. Any other size is refused. */
static void test_which_sizes_are_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RELEASES; i++) {
		const struct release *release = &releases[i];

		assert_int_equal(find_layout(release->version, release->globals_bytes), i);
		assert_int_equal(find_layout(release->version, release->globals_bytes + 24), i);
		assert_int_equal(
			find_layout(release->version, release->globals_bytes - 8), -ENOTSUP);
		assert_int_equal(
			find_layout(release->version, release->globals_bytes + 72), -ENOTSUP);
		assert_int_equal(
			find_layout(release->version + 1, release->globals_bytes), -ENOTSUP);
	}
	assert_int_equal(find_layout(0, releases[0].globals_bytes), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_release),
		cmocka_unit_test(test_which_sizes_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
