/* SPDX-License-Identifier: MIT */
/*
 * Lua's stacks in made-up memory, as 5.4 lays it out, and walks over made-up native frames: which
 * of luaV_execute()'s has which functions.
 *
 *	main       inner ─▶ outer, FRESH ─▶ script, FRESH ─▶ base
 *	coroutine  body ─▶ C ─▶ left by a yield, FRESH ─▶ base
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

#include "libprof/runtime/lua.c"
#include "libprof/runtime/runs.h"
#include "tests/unit/shown-stack.h"

#define PAGE_BYTES    4096u
#define PAGES	      3u
#define FUNCTIONS     5
#define CODES	      8
#define NATIVE_MAX    32u
#define NATIVE_WORDS  8u
#define OPCODE_CALL   68u
#define NATIVE_CALL   2u
#define FUNCTION_KIND 70u
#define FRESH	      4u

/* Addresses in code. */
#define EVALUATOR 0x1000u
#define LUA_CALL  0x2000u
#define RESUME	  0x3000u

enum {
	MAIN,
	COROUTINE,
	STATES
};

struct call {
	uintptr_t function, top, previous, next, saved;
	uint64_t more[2];
	uint32_t unused;
	uint16_t results, status;
};
_Static_assert(offsetof(struct call, status) == 60 + 2 && sizeof(struct call) == 64, "CallInfo");

struct value {
	uintptr_t object, kind;
};

struct image {
	char state[STATES][256], global[512];
	struct value values[STATES][8];
	struct call calls[STATES][8];
	char closure[FUNCTIONS][48], proto[FUNCTIONS][128];
	uint32_t code[FUNCTIONS][CODES];
	int8_t lines[FUNCTIONS][CODES];
	char text[FUNCTIONS][48], source[48];
	struct {
		uintptr_t name;
		uint32_t first, end;
	} locals[FUNCTIONS];
	uint64_t native[NATIVE_MAX][NATIVE_WORDS]; /* the C stack */
};
_Static_assert(sizeof(struct image) < PAGES * PAGE_BYTES, "all of it");

struct fixture {
	char *pages;	     /* behind them nothing is mapped */
	struct image *image; /* at their end */
	struct runtime runtime;
	struct runs runs;
	struct arch_registers registers;
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

static void put_text(char *text, const char *from)
{
	text[8] = 4;
	text[11] = (char)strlen(from);
	strcpy(text + LUA_TEXT, from);
}

/* Begins at line 10, 20, …, and each of its instructions at a line more. */
static void put_function(struct image *image, int number, const char *name)
{
	const struct lua_layout *layout = &lua_layouts[0];
	char *proto = image->proto[number];

	put(image->closure[number], layout->closure_proto, proto);
	put(proto, layout->code, image->code[number]);
	put_int(proto, layout->code_count, CODES);
	put(proto, layout->lines, image->lines[number]);
	put_int(proto, layout->lines_count, CODES);
	put_int(proto, layout->first_line, 10 * (uint32_t)number);
	put(proto, layout->source, image->source);
	put(proto, layout->locals, &image->locals[number]);
	put_int(proto, layout->locals_count, 1);
	/* The local variable 0, which its instructions call, has the next one's name. */
	put_text(image->text[number], name);
	image->locals[number].name = (uintptr_t)image->text[number];
	image->locals[number].end = CODES;
	for (int i = 0; i < CODES; i++) {
		image->code[number][i] = OPCODE_CALL;
		image->lines[number][i] = 1;
	}
}

/* The call @at of @state is of @function, at its instruction @instruction; < 0: a C function. */
static struct call *put_call(struct fixture *fixture, int state, int at, int function,
	unsigned instruction, uint16_t status)
{
	struct image *image = fixture->image;
	struct call *call = &image->calls[state][at];

	*call = (struct call){.function = (uintptr_t)&image->values[state][at],
		.previous = at ? (uintptr_t)&image->calls[state][at - 1]
			       : (uintptr_t)image->state[state] + lua_layouts[0].state_base,
		.status = status};
	image->values[state][at] = (struct value){8, 2};
	if (function >= 0) {
		image->values[state][at] =
			(struct value){(uintptr_t)image->closure[function], FUNCTION_KIND};
		call->saved = (uintptr_t)&image->code[function][instruction];
	}
	put(image->state[state], lua_layouts[0].state_call, call);
	return call;
}

static void put_state(struct image *image, int number)
{
	const struct lua_layout *layout = &lua_layouts[0];
	char *state = image->state[number];

	state[KIND] = STATE_KIND;
	put(state, layout->state_global, image->global);
	put(state, layout->state_stack, image->values[number]);
	put(state, layout->state_stack_end, image->values[number] + 8);
	((struct call *)(state + layout->state_base))->status = NATIVE_CALL;
	put(image->global, layout->global_main, image->state[MAIN]);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(NULL, (PAGES + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char *const names[FUNCTIONS] = {"outer", "inner", "none", "none", "none"};

	munmap(pages + PAGES * PAGE_BYTES, PAGE_BYTES);
	*state = current = fixture;
	fixture->pages = pages;
	fixture->image = (struct image *)(pages + PAGES * PAGE_BYTES - sizeof(struct image));
	fixture->runtime = (struct runtime){.kind = &runtime_lua,
		.is_counted = 1,
		.entry = EVALUATOR,
		.entry_end = EVALUATOR + 64,
		.objects = {LUA_CALL, LUA_CALL + 64}};
	put_text(fixture->image->source, "@dir/x.lua");
	for (int i = 0; i < FUNCTIONS; i++)
		put_function(fixture->image, i, names[i]);
	put_state(fixture->image, MAIN);
	put_state(fixture->image, COROUTINE);
	put_call(fixture, MAIN, 0, 0, 2, FRESH);
	put_call(fixture, MAIN, 1, 1, 3, FRESH);
	put_call(fixture, MAIN, 2, 2, 4, 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->pages, PAGES * PAGE_BYTES);
	free(fixture);
	return 0;
}

static uint64_t word_of(struct runs *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;
	char name[RUNTIME_NAME_BYTES], file[RUNTIME_FILE_BYTES];

	assert_true(fixture->shown.count < SHOWN_NAMES);
	runtime_lua.text(runs->runtime, &runs->reader, frame->name, name, sizeof(name), 0);
	runtime_lua.text(runs->runtime, &runs->reader, frame->file, file, sizeof(file), 1);
	assert_string_equal(file, "dir/x.lua");
	return shown_word(&fixture->shown, "%.20s:%u:%u", name, frame->first_line,
		runtime_lua.line(runs->runtime, &runs->reader, frame));
}

static uint64_t registers_of(const struct unwind_frame *frame, struct arch_registers *out)
{
	(void)frame;
	*out = current->registers;
	return ~0ULL;
}

/*
 * Walk over @native: e and E are luaV_execute(), of the main state and of the coroutine; r and R
 * likewise, where lua_resume() has called it. All else is other code of Lua's. Returns the frames,
 * innermost first, language ones by name.
 */
static const char *walk(struct fixture *fixture, const char *native)
{
	unsigned n = 0, at = 0;

	fixture->shown.count = 0;
	runs_init(&fixture->runs, strchr("eErR", native[0]) ? EVALUATOR + 8 : 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (; native[at]; at++) {
		char kind = native[at];
		uint64_t *words = fixture->image->native[at];
		const struct unwind_frame frame = {
			.pc = strchr("eErR", kind) ? EVALUATOR + 8 : 0x4000,
			.sp = (uintptr_t)words,
			.caller_sp = (uintptr_t)(words + NATIVE_WORDS),
			.caller_pc = strchr("rR", kind) ? RESUME + 8 : LUA_CALL + 8,
			.registers = registers_of};

		words[0] = (uintptr_t)fixture->image; /* is none */
		words[3] = (uintptr_t)fixture->image->state[strchr("ER", kind) ? COROUTINE : MAIN];
		words[4] = (uintptr_t)fixture->image->proto;
		n += runs_tell(
			&fixture->runs, &fixture->runtime, &frame, fixture->frames + n, 256 - n);
		fixture->frames[n++] = WIRE_FRAME(1, (uint8_t)kind);
	}
	n = runs_finish(&fixture->runs, fixture->frames, n, 1);
	return shown_text(&fixture->shown, fixture->frames, n);
}

/* A name is that by which its caller calls it; that of what C calls is "function". */
#define SCRIPT "main chunk:1:2"
#define OUTER  "function:10:13"
#define INNER  "inner:20:24"
#define FIRST  "inner:20:0" /* the innermost one's instruction is in no register */

static void test_what_is_whole(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, MAIN, 1, -1, 0, NATIVE_CALL);
	put_call(fixture, MAIN, 2, 1, 3, FRESH);
	put_call(fixture, MAIN, 3, 2, 4, 0);
	assert_string_equal(walk(fixture, "fefef"), "f " FIRST " " OUTER " e f " SCRIPT " e f");
	assert_true(fixture->runs.is_whole);
}

/* A metamethod: the caller is called by no call. */
static void test_a_metamethod(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->code[0][1] = 20; /* SELF */
	assert_string_equal(walk(fixture, "fefef"), "f " FIRST " __index:10:13 e f " SCRIPT " e f");
}

/* The instruction is in a register: which of two that are no neighbours can't be told. */
static void test_the_line_that_runs(void **state)
{
	struct fixture *fixture = *state;
	unsigned reg = arch_cfi_reg(0), other = arch_cfi_reg(1);

	fixture->registers.r[reg] = (uintptr_t)&fixture->image->code[2][6];
	assert_string_equal(walk(fixture, "efe"), "inner:20:26 outer:10:13 e f " SCRIPT " e");
	fixture->registers.r[other] = (uintptr_t)&fixture->image->code[2][5];
	assert_string_equal(walk(fixture, "efe"), "inner:20:26 outer:10:13 e f " SCRIPT " e");
	fixture->registers.r[other] = (uintptr_t)&fixture->image->code[2][2];
	assert_string_equal(walk(fixture, "efe"), "inner:20:0 outer:10:13 e f " SCRIPT " e");
}

/* In the list before it runs, and not any more before its activation ends. */
static void test_at_both_ends(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, MAIN, 3, 3, 0, FRESH);
	assert_string_equal(walk(fixture, "ffefe"), "f f " INNER " outer:10:13 e f " SCRIPT " e");
	put_call(fixture, MAIN, 1, 1, 3, FRESH);
	assert_string_equal(walk(fixture, "ffefefe"), "f f e f outer:10:0 e f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
	/* More runs than activations, or less by more than one. */
	assert_string_equal(walk(fixture, "fe"), "f e");
	assert_false(fixture->runs.is_whole);
	assert_string_equal(walk(fixture, "ffefefefe"), "f f e f e f e f e");
}

/* Up to 5.3 one that takes its caller's place stands behind it at first. */
static void test_a_tail_call(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->code[1][2] = OPCODE_CALL + 1;
	assert_string_equal(walk(fixture, "efe"), "outer:10:13 e f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
}

static void enter_coroutine(struct fixture *fixture)
{
	uint64_t *jump = &fixture->image->native[4][1];

	*jump = 0;
	put(fixture->image->state[COROUTINE], lua_layouts[0].state_errors, jump);
	put_call(fixture, COROUTINE, 0, 3, 2, FRESH);
	put_call(fixture, COROUTINE, 1, -1, 0, NATIVE_CALL);
	put_call(fixture, COROUTINE, 2, 4, 2, FRESH);
}

/* What a yield has left is told with the coroutine's outermost activation. */
static void test_a_coroutine(void **state)
{
	struct fixture *fixture = *state;

	enter_coroutine(fixture);
	assert_string_equal(walk(fixture, "fRffsefe"),
		"f function:40:0 function:30:32 R f f s " INNER " outer:10:13 e f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
	/* It is not running. */
	put(fixture->image->state[COROUTINE], lua_layouts[0].state_errors, NULL);
	assert_string_equal(walk(fixture, "fRffsefe"), "f R f f s e f e");
	assert_false(fixture->runs.is_whole);
}

/* C code in a coroutine calls a function of the main state. */
static void test_one_state_in_another(void **state)
{
	struct fixture *fixture = *state;

	enter_coroutine(fixture);
	assert_string_equal(walk(fixture, "fefRfe"),
		"f " FIRST " outer:10:13 e f function:40:42 function:30:32 R f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
}

/* Neither calls nor what they run are where they should be. */
static void test_what_is_torn(void **state)
{
	struct fixture *fixture = *state;
	struct call *call = &fixture->image->calls[MAIN][2];
	struct call good = *call;

	call->saved += 1;
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	*call = good;
	call->previous = 8;
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	*call = good;
	fixture->image->values[MAIN][2].kind = 3;
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	fixture->image->values[MAIN][2].kind = FUNCTION_KIND;
	put(fixture->image->global, lua_layouts[0].global_main, fixture->image->proto);
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	assert_false(fixture->runs.is_whole);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_whole),
		TEST(a_metamethod),
		TEST(the_line_that_runs),
		TEST(at_both_ends),
		TEST(a_tail_call),
		TEST(a_coroutine),
		TEST(one_state_in_another),
		TEST(what_is_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
