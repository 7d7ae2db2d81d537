/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Walk over made-up native frames and LuaJIT's stacks in made-up memory. Test which activation (C
 * frame) of the interpreter runs which functions.
 *
 * main       script ◀─call─ outer ◀─native─ inner ◀─call─ inner
 * coroutine  body ◀─call─ inner
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

#include "libprof/runtime/luajit.c"
#include "libprof/runtime/runtime_walk.h"
#include "tests/unit/shown-stack.h"

#define PAGE_BYTES   4096u
#define PAGES	     4u
#define FUNCTIONS    4
#define CODES	     8
#define NATIVE_MAX   32u
#define NATIVE_WORDS 10u
#define STACK_WORDS  64u
#define OPCODE_CALL  66u
#define OPCODE_TGETS 57u
#define OPCODE_FNEW  51u
#define OPCODE_GSET  55u
#define KIND_STRING  4u
/* stack slot of the called function, relative to its caller's base */
#define CALLED_SLOT  3u
#define AREA_BYTES   64u
/* bytes; enough for any layout, up to the dispatch table */
#define GLOBAL_BYTES 4096u

enum {
	MAIN,
	COROUTINE,
	STATES
};

enum {
	SCRIPT_,
	OUTER_,
	INNER_,
	BODY_
};

struct image {
	char state[STATES][96];
	char global[GLOBAL_BYTES];
	uint64_t stack[STATES][STACK_WORDS];
	char function[FUNCTIONS][FUNCTION_BYTES], native_function[FUNCTION_BYTES];
	struct {
		char proto[PROTO_BYTES];
		uint32_t code[CODES];
	} of[FUNCTIONS];
	uint8_t lines[CODES];
	char locals[FUNCTIONS][24], source[48];
	char name[40];
	uint64_t constants[2];
	uint64_t area[AREA_BYTES / 8];
	uint8_t interpreter[256];
	uint64_t native[NATIVE_MAX][NATIVE_WORDS]; /* the C stack */
};
_Static_assert(sizeof(struct image) < PAGES * PAGE_BYTES, "all of it");

struct fixture {
	char *pages;	     /* no memory is mapped behind them */
	struct image *image; /* at the end of `pages` */
	struct runtime runtime;
	struct runtime_walk runs;
	struct arch_registers registers;
	/* base of each state's innermost function */
	uint64_t *top[STATES];
	uintptr_t saved_pc;    /* in the interpreter's frames */
	/* Set if the innermost native frame is compiled code. */
	int is_generated;
	/* interpreter frames that run no function */
	int ends[NATIVE_MAX];
	/* index of the frame that names a wrong previous frame; 0: none */
	unsigned lost;
	uint64_t frames[256];
	struct shown_stack shown;
};

static struct fixture *current;

static void put(void *structure, uint32_t offset, const void *pointer)
{
	uintptr_t word = (uintptr_t)pointer;

	memcpy((char *)structure + offset, &word, sizeof(word));
}

static void put_int(void *structure, uint32_t offset, uint32_t number)
{
	memcpy((char *)structure + offset, &number, sizeof(number));
}

static uint64_t value_of(const void *object, unsigned kind)
{
	return (uintptr_t)object | (uint64_t) ~(uint64_t)kind << VALUE_SHIFT;
}

/*
 * Make function @number. It begins at line 10 * @number, and each instruction is on the next line.
 */
static void put_function(struct image *image, int number, const char *called)
{
	char *proto = image->of[number].proto, *function = image->function[number];

	function[OBJECT_KIND] = KIND_FUNCTION;
	put(function, FUNCTION_CODE, image->of[number].code);
	proto[OBJECT_KIND] = KIND_PROTO;
	put_int(proto, PROTO_CODE_COUNT, CODES);
	put_int(proto, PROTO_FIRST_LINE, 10 * (uint32_t)number);
	put_int(proto, PROTO_LINE_COUNT, CODES);
	put(proto, PROTO_LINES, image->lines);
	put(proto, PROTO_SOURCE, image->source);
	put(proto, PROTO_LOCALS, image->locals[number]);
	/*
	 * Variables of a loop precede the called function's variable. All of them live in the whole
	 * function.
	 */
	memcpy(image->locals[number], "\1\0\10\1\0\10\1\0\10", 9);
	strcpy(image->locals[number] + 9, called);
	image->locals[number][10 + strlen(called)] = 0;
	image->locals[number][11 + strlen(called)] = CODES;
	for (uint32_t i = 0; i < CODES; i++) {
		image->of[number].code[i] = CALLED_SLOT << 8 | OPCODE_CALL;
		image->lines[i] = (uint8_t)(i + 1);
	}
}

/*
 * Returns the pc that is saved while @instruction of function @number runs, which is the next
 * instruction's address.
 */
static uint64_t pc_of(struct fixture *fixture, int number, unsigned instruction)
{
	return (uintptr_t)&fixture->image->of[number].code[instruction + 1];
}

/*
 * Call function @number (a C function if negative) in @state; its base is @words words above the
 * caller's base.
 */
static void call(struct fixture *fixture, int state, int number, unsigned words, uint64_t link)
{
	uint64_t *base = fixture->top[state] + words;

	base[-2] = value_of(
		number < 0 ? fixture->image->native_function : fixture->image->function[number],
		KIND_FUNCTION);
	base[-1] = link;
	fixture->top[state] = base;
	put(fixture->image->state[state], STATE_BASE, base);
}

static void call_native(struct fixture *fixture, int state, int number)
{
	call(fixture, state, number, 4, 4 * VALUE_BYTES | LINK_NATIVE);
}

static void call_from(struct fixture *fixture, int state, int number, int caller, unsigned at)
{
	call(fixture, state, number, CALLED_SLOT + 2, pc_of(fixture, caller, at));
}

static void put_state(struct fixture *fixture, int number)
{
	char *state = fixture->image->state[number];
	uint64_t *stack = fixture->image->stack[number];

	state[OBJECT_KIND] = KIND_STATE;
	put(state, STATE_GLOBAL, fixture->image->global);
	put(state, STATE_STACK, stack);
	put(state, STATE_END, stack + STACK_WORDS);
	put(state, STATE_BASE, stack + 2);
	fixture->top[number] = stack + 2;
}

static void put_runs(struct fixture *fixture, int32_t runs)
{
	put_int(fixture->image->global, GLOBAL_RUNS, (uint32_t)runs);
}

static int set_up(void **state)
{
	const uint32_t *layout = *state;
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(NULL, (PAGES + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image *image = (struct image *)(pages + PAGES * PAGE_BYTES - sizeof(*image));
	static const char *const called[FUNCTIONS] = {"outer", "inner", "inner", "inner"};

	munmap(pages + PAGES * PAGE_BYTES, PAGE_BYTES);
	*state = current = fixture;
	fixture->pages = pages;
	fixture->image = image;
	fixture->runtime = (struct runtime){.kind = &runtime_luajit,
		.is_counted = 1,
		.offsets = {*layout},
		.entry = (uintptr_t)image->interpreter,
		.entry_end = (uintptr_t)image->interpreter + sizeof(image->interpreter)};
	if (!ARCH_LUAJIT_IS_KNOWN)
		skip();
	memset(image->interpreter, 0x90, sizeof(image->interpreter)); /* nop */
	strcpy(image->source + STRING_BYTES, "@dir/x.lua");
	put_int(image->source, STRING_LENGTH, 10);
	image->native_function[OBJECT_KIND] = KIND_FUNCTION;
	image->native_function[FUNCTION_SORT] = 1;
	for (int i = 0; i < FUNCTIONS; i++)
		put_function(image, i, called[i]);
	put_state(fixture, MAIN);
	put_state(fixture, COROUTINE);
	put(image->global, GLOBAL_MAIN, image->state[MAIN]);
	put(image->global, GLOBAL_CURRENT, image->state[MAIN]);
	put_runs(fixture, RUNS_C);
	call_native(fixture, MAIN, SCRIPT_);
	call_from(fixture, MAIN, OUTER_, SCRIPT_, 2);
	call_from(fixture, MAIN, -1, OUTER_, 3);
	call_native(fixture, MAIN, INNER_);
	call_from(fixture, MAIN, INNER_, INNER_, 4);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->pages, PAGES * PAGE_BYTES);
	free(fixture);
	return 0;
}

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;
	char name[RUNTIME_NAME_BYTES], file[RUNTIME_FILE_BYTES];

	assert_true(fixture->shown.count < SHOWN_NAMES);
	luajit_text(runs->runtime, &runs->reader, frame->name, name, sizeof(name), 0);
	luajit_text(runs->runtime, &runs->reader, frame->file, file, sizeof(file), 1);
	assert_string_equal(file, "dir/x.lua");
	return shown_word(&fixture->shown, "%.20s:%u:%u", name, frame->first_line,
		luajit_line(runs->runtime, &runs->reader, frame));
}

static uint64_t registers_of(const struct unwind_frame *frame, struct arch_registers *out)
{
	(void)frame;
	*out = current->registers;
	return ~0ULL;
}

/*
 * Lay out the C stack of @native. Each interpreter frame holds its state and the address of the
 * previous frame.
 */
static void put_native(struct fixture *fixture, const char *native)
{
	uintptr_t previous[STATES] = {0, 0};

	for (unsigned at = (unsigned)strlen(native); at--;) {
		char *words = (char *)fixture->image->native[at];
		int state = strchr("ER", native[at]) != NULL;

		memset(words, 0, sizeof(fixture->image->native[at]));
		if (!strchr("eER", native[at]))
			continue;
		put_int(words, ARCH_LUAJIT_RESULTS, fixture->ends[at] ? UINT32_MAX : 0);
		put(words, ARCH_LUAJIT_STATE, fixture->image->state[state]);
		put(words, ARCH_LUAJIT_SAVED, (void *)fixture->saved_pc);
		put(words, ARCH_LUAJIT_PREVIOUS,
			(void *)(previous[state] + (at && at == fixture->lost ? 8 : 0)));
		previous[state] = (uintptr_t)words;
		put(fixture->image->state[state], STATE_FRAME, words + (native[at] == 'R' ? 1 : 0));
	}
}

/*
 * Walk over @native, which has a letter for each native frame: e and E are the interpreter in the
 * main state and in the coroutine, R is the interpreter when it was resumed, other letters are
 * other code. Returns the frames as text, innermost first; language frames by name.
 */
static const char *walk(struct fixture *fixture, const char *native)
{
	uintptr_t pc = fixture->runtime.entry + ARCH_LUAJIT_BEFORE + 8;
	unsigned n = 0;

	fixture->shown.count = 0;
	put_native(fixture, native);
	runtime_walk_init(&fixture->runs, strchr("eER", native[0]) ? pc : 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (unsigned at = 0; native[at]; at++) {
		const struct unwind_frame frame = {.pc = strchr("eER", native[at]) ? pc : 0x4000,
			.sp = (uintptr_t)fixture->image->native[at],
			.caller_sp = (uintptr_t)fixture->image->native[at + 1],
			.is_generated = !at && fixture->is_generated,
			.registers = registers_of};

		n += runtime_walk_frames(
			&fixture->runs, &fixture->runtime, &frame, fixture->frames + n, 256 - n);
		fixture->frames[n++] = WIRE_FRAME(1, (uint8_t)native[at]);
	}
	n = runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
	return shown_text(&fixture->shown, fixture->frames, n);
}

/*
 * No function has a stored name: each is shown by the name with which it is called, or as
 * "function" if C calls it.
 */
#define SCRIPT "main chunk:1:2"
#define OUTER  "outer:10:13"
#define CALLER "function:20:24"
/* the line is unknown, because the instruction is not saved */
#define INNER  "inner:20:0"
#define REST   "e f " OUTER " " SCRIPT " e f"

/* The interpreter has called C, so it has stored the base in the state. */
static void test_c_is_called(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(walk(fixture, "fefef"), "f " INNER " " CALLER " " REST);
	assert_true(fixture->runs.is_whole);
	/* An interpreter frame in which only C was called runs no function. */
	fixture->ends[3] = 1;
	assert_string_equal(walk(fixture, "fefefef"),
		"f " INNER " " CALLER " e f e f " OUTER " " SCRIPT " e f");
	assert_true(fixture->runs.is_whole);
}

/* The interpreter calls a helper that needs no state, so the base is only in a register. */
static void test_a_helper_is_called(void **state)
{
	struct fixture *fixture = *state;

	put_runs(fixture, RUNS_LUA);
	fixture->registers.r[ARCH_LUAJIT_PC] = pc_of(fixture, INNER_, 5);
	fixture->registers.r[ARCH_LUAJIT_CALLED] = (uintptr_t)fixture->image->state[MAIN];
	assert_string_equal(walk(fixture, "fefef"), "f inner:20:25 " CALLER " " REST);
	fixture->registers.r[ARCH_LUAJIT_CALLED] =
		(uintptr_t)(fixture->top[MAIN] - CALLED_SLOT - 2);
	assert_string_equal(walk(fixture, "fefef"), "f function:20:25 " REST);
	fixture->registers.r[ARCH_LUAJIT_CALLED] = 8;
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	assert_false(fixture->runs.is_whole);
}

/*
 * The interpreter runs. Base and instruction are in registers; the values in the state are
 * outdated.
 */
static void test_the_interpreter_runs(void **state)
{
	struct fixture *fixture = *state;
	static const uint8_t links[] = {0x48, 0x89, 0x5a, 0xf8}, call_c[] = {0xff, 0xd0};
	uint8_t *code = fixture->image->interpreter + ARCH_LUAJIT_BEFORE + 8;

	put_runs(fixture, RUNS_LUA);
	put(fixture->image->state[MAIN], STATE_BASE, fixture->image->stack[MAIN] + 2);
	fixture->registers.r[ARCH_LUAJIT_DISPATCH] =
		(uintptr_t)fixture->image->global + luajit_layout(&fixture->runtime)->dispatch;
	fixture->registers.r[ARCH_LUAJIT_BASE] = (uintptr_t)fixture->top[MAIN];
	fixture->registers.r[ARCH_LUAJIT_PC] = pc_of(fixture, INNER_, 5);
	assert_string_equal(walk(fixture, "efef"), "inner:20:25 " CALLER " " REST);
	/*
	 * With another release's layout the register does not hold the dispatch table, so no
	 * function is shown.
	 */
	fixture->runtime.offsets[0] ^= 1;
	assert_string_equal(walk(fixture, "efef"), "e f e f");
	fixture->runtime.offsets[0] ^= 1;
	/* The interpreter is about to call the function. */
	memcpy(code, links, sizeof(links));
	assert_string_equal(walk(fixture, "efef"), "function:20:25 " REST);
	/*
	 * If the interpreter is about to call a C function or has just called one, no Lua function
	 * is shown.
	 */
	memcpy(code, call_c, sizeof(call_c));
	assert_string_equal(walk(fixture, "efef"), "e f e f");
	memset(code, 0x90, sizeof(links));
	memcpy(code - 4, call_c, sizeof(call_c));
	assert_string_equal(walk(fixture, "efef"), "e f e f");
	memset(code - 4, 0x90, sizeof(call_c));
	/* While a function returns, the register already holds the caller's instruction. */
	fixture->registers.r[ARCH_LUAJIT_BASE] = (uintptr_t)(fixture->top[MAIN] - CALLED_SLOT - 2);
	fixture->registers.r[ARCH_LUAJIT_PC] = pc_of(fixture, OUTER_, 5);
	assert_string_equal(walk(fixture, "efef"), "e f e f");
	assert_false(fixture->runs.is_whole);
}

/* The innermost interpreter frame runs no function yet or no function any more. */
static void test_at_both_ends(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t entry = fixture->runtime.entry;
	uint64_t *before = fixture->top[MAIN];

	put_runs(fixture, RUNS_LUA);
	assert_string_equal(walk(fixture, "efefef"), "e f e f e f");
	fixture->runtime.objects[LUAJIT_BEGUN] = entry;
	fixture->runtime.objects[LUAJIT_BEGUN + 1] = entry + 64;
	assert_string_equal(walk(fixture, "efefef"), "e f " INNER " " CALLER " " REST);
	assert_true(fixture->runs.is_whole);
	/* While the interpreter returns, its caller's base is at first only in a register. */
	put_runs(fixture, RUNS_C);
	fixture->runtime.objects[LUAJIT_LEFT] = entry;
	fixture->runtime.objects[LUAJIT_LEFT + 1] = entry + 64;
	fixture->registers.r[ARCH_LUAJIT_PC] = (uintptr_t)before;
	put(fixture->image->state[MAIN], STATE_BASE, before + 8);
	assert_string_equal(walk(fixture, "efefef"), "e f " INNER " " CALLER " " REST);
	fixture->registers.r[ARCH_LUAJIT_PC] = 8;
	assert_string_equal(walk(fixture, "efefef"), "e f e f e f");
	assert_false(fixture->runs.is_whole);
}

/* While a trace (compiled code) runs, the stack is as it was when the trace was entered. */
static void test_a_trace_runs(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *base = fixture->top[MAIN] - CALLED_SLOT - 2;

	put_runs(fixture, 1);
	put(fixture->image->global, GLOBAL_TRACED, base);
	fixture->is_generated = 1;
	assert_string_equal(walk(fixture, "efef"), "function:20:0 " REST);
	put(fixture->image->global, GLOBAL_TRACED, NULL);
	assert_string_equal(walk(fixture, "efef"), "e f e f");
}

/* Compiled code and the interpreter's helpers run inside an interpreter frame. */
static void test_whose_frame_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	struct unwind_activation at = {.pc = (uintptr_t)image->area + 16};
	struct runtime_reader reader;

	runtime_reader_init(&reader, getpid(), 0);
	put_native(fixture, "ffffef");
	put_runs(fixture, 1);
	at.sp = (uintptr_t)image->native[1];
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), 0);
	image->area[1] = AREA_BYTES;
	put(image->global, luajit_layout(&fixture->runtime)->area, image->area);
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), UNWIND_INSIDE);
	assert_int_equal(at.sp, image->native[4]);
	assert_true(is_evaluator(&fixture->runtime, at.pc));
	put_runs(fixture, RUNS_LUA);
	at.sp -= sizeof(uintptr_t);
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), UNWIND_INSIDE);
	assert_int_equal(at.sp, image->native[4]);
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), 0);
	/*
	 * Only a frame that has called another is certainly inside an interpreter frame; the
	 * innermost frame may not be.
	 */
	at.sp = (uintptr_t)image->native[3];
	at.innermost = &fixture->registers;
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), 0);
	at.innermost = NULL;
	assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), UNWIND_INSIDE);
}

/* Returns whether the reader read the memory at @address by a system call. */
static int was_read(const struct runtime_reader *reader, uintptr_t address)
{
	for (unsigned i = 0; i < RUNTIME_WINDOWS_MORE; i++)
		if (address - reader->room->windows[i].start < reader->room->windows[i].bytes)
			return 1;
	return address - reader->windows[0].start < reader->windows[0].bytes ||
	       address - reader->windows[1].start < reader->windows[1].bytes;
}

/*
 * Compiled code spills registers above the interpreter's frame. This area is searched for the frame
 * only in the first walk of a thread and after the thread has switched to another Lua state. In
 * other walks the known state leads to the frame.
 */
static void test_what_is_spilled(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	static struct runtime_cache kept;
	static struct runtime_room room;
	void *spilled =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(&kept, 0, sizeof(kept));
	image->area[1] = AREA_BYTES;
	put(image->global, luajit_layout(&fixture->runtime)->area, image->area);
	put_native(fixture, "ffEfef");
	put_runs(fixture, 1);
	put(image->native[1], ARCH_LUAJIT_STATE, spilled);
	for (unsigned walks = 0; walks < 4; walks++) {
		struct unwind_activation at = {.pc = (uintptr_t)image->area + 16};
		unsigned next = walks < 2 ? MAIN : COROUTINE;
		struct runtime_reader reader;

		runtime_reader_init(&reader, getpid(), 1);
		runtime_lend(&reader, &room);
		reader.cache = &kept;
		reader.stack_start = (uintptr_t)image->native;
		reader.stack_bytes = sizeof(image->native);
		at.sp = (uintptr_t)image->native[next == MAIN ? 3 : 1];
		put(image->native[3], ARCH_LUAJIT_STATE, spilled);
		put(image->global, GLOBAL_CURRENT, image->state[next]);
		assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), UNWIND_INSIDE);
		assert_int_equal(at.sp, image->native[next == MAIN ? 4 : 2]);
		/* Only the first walk of each state reads the spill area. */
		assert_int_equal(was_read(&reader, (uintptr_t)spilled), walks % 2 == 0);
	}
	munmap(spilled, PAGE_BYTES);
}

/* Unwind at each instruction that makes or removes the interpreter's frame. */
static void test_half_a_frame(void **state)
{
	static const uint8_t begun[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28};
	static const uint8_t left[] = {
		0x48, 0x83, 0xc4, 0x28, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3};
	static const struct {
		unsigned edge, at, words;
	} steps[] = {{LUAJIT_BEGUN, 0, 0}, {LUAJIT_BEGUN, 1, 1}, {LUAJIT_BEGUN, 4, 3},
		{LUAJIT_BEGUN, 6, 4}, {LUAJIT_LEFT, 4, 4}, {LUAJIT_LEFT, 8, 2},
		{LUAJIT_LEFT, 10, 0}};
	struct fixture *fixture = *state;
	uintptr_t entry = fixture->runtime.entry;
	uint64_t *words = fixture->image->native[1];
	struct runtime_reader reader;

	memcpy(fixture->image->interpreter, begun, sizeof(begun));
	memcpy(fixture->image->interpreter + 64, left, sizeof(left));
	fixture->runtime.objects[LUAJIT_BEGUN] = entry;
	fixture->runtime.objects[LUAJIT_BEGUN + 1] = entry + sizeof(begun);
	fixture->runtime.objects[LUAJIT_LEFT] = entry + 64;
	fixture->runtime.objects[LUAJIT_LEFT + 1] = entry + 64 + sizeof(left);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct unwind_activation at = {
			.pc = fixture->runtime.objects[steps[i].edge] + steps[i].at,
			.sp = (uintptr_t)words,
			.fp = 7,
			.question = UNWIND_OWN_CODE,
			.innermost = &fixture->registers};

		memset(words, 0, sizeof(fixture->image->native[1]));
		if (steps[i].words)
			words[steps[i].words - 1] = 7; /* the caller's frame pointer */
		words[steps[i].words] = 0x1234;
		runtime_reader_init(&reader, getpid(), 0);
		assert_int_equal(step_luajit(&fixture->runtime, &reader, NULL, &at), 1);
		assert_int_equal(at.pc, 0x1234);
		assert_int_equal(at.sp, words + steps[i].words + 1);
		assert_int_equal(at.fp, 7);
	}
}

/*
 * If a caller stored a function under a name, this name is preferred to the name with which it is
 * called.
 */
static void test_what_is_defined(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;

	image->constants[0] = (uintptr_t)image->name;
	image->constants[1] = (uintptr_t)image->of[INNER_].proto;
	image->name[OBJECT_KIND] = KIND_STRING;
	strcpy(image->name + STRING_BYTES, "defined");
	put(image->of[OUTER_].proto, PROTO_CONSTANTS, image->constants + 2);
	put_int(image->of[OUTER_].proto, PROTO_OBJECTS, 2);
	image->of[OUTER_].code[1] = 0 << 16 | 5 << 8 | OPCODE_FNEW;
	image->of[OUTER_].code[2] = 1 << 16 | 5 << 8 | OPCODE_GSET;
	assert_string_equal(walk(fixture, "fefef"), "f defined:20:0 defined:20:24 " REST);
	image->of[OUTER_].code[2] = 1 << 16 | 4 << 8 | OPCODE_GSET;
	assert_string_equal(walk(fixture, "fefef"), "f " INNER " " CALLER " " REST);
}

static void test_a_coroutine(void **state)
{
	struct fixture *fixture = *state;

	call_native(fixture, COROUTINE, BODY_);
	call_from(fixture, COROUTINE, INNER_, BODY_, 1);
	assert_string_equal(walk(fixture, "fRefef"),
		"f inner:20:0 function:30:31 R inner:20:0 " CALLER " " REST);
	assert_true(fixture->runs.is_whole);
	/* C code in the coroutine calls a function of the main state. */
	call_from(fixture, COROUTINE, -1, INNER_, 6);
	assert_string_equal(walk(fixture, "fefRef"),
		"f " INNER " " CALLER " e f inner:20:26 function:30:31 R " OUTER " " SCRIPT " e f");
	assert_true(fixture->runs.is_whole);
}

/* The interpreter continues after a metamethod, and a variadic call copies the function. */
static void test_other_calls(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->of[INNER_].code[6] = OPCODE_TGETS;
	fixture->top[MAIN][4] = 100;
	fixture->top[MAIN][5] = pc_of(fixture, INNER_, 6);
	call(fixture, MAIN, OUTER_, 8, 8 * VALUE_BYTES | LINK_CONTINUED);
	assert_string_equal(walk(fixture, "fefef"), "f __index:10:0 inner:20:26 " CALLER " " REST);
	call(fixture, MAIN, OUTER_, 6, 6 * VALUE_BYTES | LINK_VARIADIC);
	assert_string_equal(walk(fixture, "fefef"), "f __index:10:0 inner:20:26 " CALLER " " REST);
	assert_true(fixture->runs.is_whole);
}

static void test_what_is_torn(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *base = fixture->top[MAIN], good = base[-1];

	base[-1] = good + 2;
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	base[-1] = pc_of(fixture, BODY_, 1);
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	base[-1] = good;
	base[-2] = 0;
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	base[-2] = value_of(fixture->image->source, KIND_FUNCTION);
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	base[-2] = value_of(fixture->image->function[INNER_], KIND_FUNCTION);
	fixture->lost = 1;
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	fixture->lost = 0;
	/* There are too few or too many interpreter frames for the functions. */
	assert_string_equal(walk(fixture, "fef"), "f e f");
	assert_string_equal(walk(fixture, "fefefef"), "f e f e f e f");
	put(fixture->image->global, GLOBAL_MAIN, fixture->image->source);
	assert_string_equal(walk(fixture, "fefef"), "f e f e f");
	assert_false(fixture->runs.is_whole);
}

static uint32_t layouts[] = {0, 1}; /* Debian 12; Debian 13 and 14 */

#define TEST_OF(name, layout)                                                                \
	{                                                                                    \
		"test_" #name ", " #layout, test_##name, set_up, tear_down, &layouts[layout] \
	}
#define TEST(name) TEST_OF(name, 0), TEST_OF(name, 1)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(c_is_called),
		TEST(a_helper_is_called),
		TEST(the_interpreter_runs),
		TEST(at_both_ends),
		TEST(a_trace_runs),
		TEST(whose_frame_it_is),
		TEST(what_is_spilled),
		TEST(half_a_frame),
		TEST(what_is_defined),
		TEST(a_coroutine),
		TEST(other_calls),
		TEST(what_is_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
