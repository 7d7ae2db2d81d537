/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Walk over made-up native frames and Lua's stacks in made-up memory, laid out as Lua 5.4 and 5.5
 * lay them out. Test which activation (C frame) of luaV_execute() runs which functions. FRESH marks
 * a call with which an activation begins.
 *
 * main       inner ─▶ outer, FRESH ─▶ script, FRESH ─▶ base
 * coroutine  body ─▶ C ─▶ left by a yield, FRESH ─▶ base
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
#include "libprof/runtime/runtime_walk.h"
#include "tests/unit/shown-stack.h"

#define PAGE_BYTES    4096u
#define PAGES	      3u
#define FUNCTIONS     5
#define CODES	      8
#define NATIVE_MAX    32u
#define NATIVE_WORDS  8u
#define OPCODE_CALL   68u
#define FUNCTION_KIND 70u
#define CALL_BYTES    64u

/*
 * Kinds of calls: of a Lua function with which an activation (C frame of luaV_execute()) begins, of
 * any other Lua function, of a C function.
 */
enum call_kind {
	FRESH,
	PLAIN,
	NATIVE_CALL
};

/* addresses of code */
#define EVALUATOR 0x1000u
#define LUA_CALL  0x2000u
#define RESUME	  0x3000u

enum {
	MAIN,
	COROUTINE,
	STATES
};

struct value {
	uintptr_t object, kind;
};

struct image {
	char states[STATES][256], global[2048];
	struct value values[STATES][8];
	uint64_t calls[STATES][8][CALL_BYTES / sizeof(uint64_t)];
	char closure[FUNCTIONS][48], proto[FUNCTIONS][128];
	uint32_t code[FUNCTIONS][CODES];
	int8_t lines[FUNCTIONS][CODES];
	char text[FUNCTIONS][48], source[48], path[16];
	struct {
		uintptr_t name;
		uint32_t first, end;
	} locals[FUNCTIONS];
	uint64_t native[NATIVE_MAX][NATIVE_WORDS]; /* the C stack */
};
_Static_assert(sizeof(struct image) < PAGES * PAGE_BYTES, "all of it");

struct fixture {
	char *pages;	     /* no memory is mapped behind them */
	struct image *image; /* at the end of `pages` */
	const struct lua_layout *layout;
	char *state[STATES];
	struct runtime runtime;
	struct runtime_walk runs;
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

/*
 * Make a long string. From Lua 5.5 on its bytes are stored outside the string object, here at
 * @apart.
 */
static void put_long_text(
	const struct lua_layout *layout, char *text, char *apart, const char *from)
{
	text[8] = 4 | 0x10;
	text[11] = -1;
	put(text, layout->text_bytes, (void *)strlen(from));
	if (layout->text_pointer)
		put(text, layout->text_pointer, apart);
	strcpy(layout->text_pointer ? apart : text + LUA_TEXT, from);
}

/*
 * Make function @number. It begins at line 10 * @number, and each instruction is on the next line.
 */
static void put_function(struct fixture *fixture, int number, const char *name)
{
	const struct lua_layout *layout = fixture->layout;
	struct image *image = fixture->image;
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
	/* Local variable 0, which all instructions call, has the name of the next function. */
	put_text(image->text[number], name);
	image->locals[number].name = (uintptr_t)image->text[number];
	image->locals[number].end = CODES;
	for (int i = 0; i < CODES; i++) {
		image->code[number][i] = OPCODE_CALL;
		image->lines[number][i] = 1;
	}
}

/*
 * Make call number @at of @state: of Lua function @function at @instruction, or of a C function if
 * @function < 0.
 */
static void *put_call(struct fixture *fixture, int state, int at, int function,
	unsigned instruction, enum call_kind kind)
{
	const struct lua_layout *layout = fixture->layout;
	struct image *image = fixture->image;
	void *call = image->calls[state][at];

	memset(call, 0, CALL_BYTES);
	put(call, layout->call_function, &image->values[state][at]);
	put(call, layout->call_previous,
		at ? (void *)image->calls[state][at - 1]
		   : fixture->state[state] + layout->state_base);
	put_int(call, layout->call_status,
		kind == FRESH	      ? layout->fresh_status | 7
		: kind == NATIVE_CALL ? layout->lua_mask | 7
				      : 7);
	image->values[state][at] = (struct value){8, 2};
	if (function >= 0) {
		image->values[state][at] =
			(struct value){(uintptr_t)image->closure[function], FUNCTION_KIND};
		put(call, layout->call_saved, &image->code[function][instruction]);
	}
	put(fixture->state[state], layout->state_call, call);
	return call;
}

static void put_state(struct fixture *fixture, int number)
{
	const struct lua_layout *layout = fixture->layout;
	char *state = fixture->state[number];

	state[KIND] = STATE_KIND;
	put(state, layout->state_global, fixture->image->global);
	put(state, layout->state_stack, fixture->image->values[number]);
	put(state, layout->state_stack_end, fixture->image->values[number] + 8);
	put_int(state + layout->state_base, layout->call_status, layout->lua_mask);
}

static int set_up(void **state)
{
	const unsigned *version = *state;
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(NULL, (PAGES + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char *const names[FUNCTIONS] = {"outer", "inner", "none", "none", "none"};

	munmap(pages + PAGES * PAGE_BYTES, PAGE_BYTES);
	*state = current = fixture;
	fixture->pages = pages;
	fixture->image = (struct image *)(pages + PAGES * PAGE_BYTES - sizeof(struct image));
	fixture->layout = lua_layouts;
	while (fixture->layout->version != *version)
		fixture->layout++;
	/* From Lua 5.5 on the main state is part of the global state. */
	fixture->state[MAIN] = fixture->layout->main_is_inside
				       ? fixture->image->global + fixture->layout->global_main
				       : fixture->image->states[MAIN];
	fixture->state[COROUTINE] = fixture->image->states[COROUTINE];
	fixture->runtime = (struct runtime){.kind = &runtime_lua,
		.is_counted = 1,
		.offsets = {(uint32_t)(fixture->layout - lua_layouts)},
		.entry = EVALUATOR,
		.entry_end = EVALUATOR + 64,
		.objects = {LUA_CALL, LUA_CALL + 64}};
	put_long_text(fixture->layout, fixture->image->source, fixture->image->path, "@dir/x.lua");
	for (int i = 0; i < FUNCTIONS; i++)
		put_function(fixture, i, names[i]);
	if (!fixture->layout->main_is_inside)
		put(fixture->image->global, fixture->layout->global_main, fixture->state[MAIN]);
	put_state(fixture, MAIN);
	put_state(fixture, COROUTINE);
	put_call(fixture, MAIN, 0, 0, 2, FRESH);
	put_call(fixture, MAIN, 1, 1, 3, FRESH);
	put_call(fixture, MAIN, 2, 2, 4, PLAIN);
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
 * Walk over @native, which has a letter for each native frame: e and E are luaV_execute() in the
 * main state and in the coroutine, r and R are luaV_execute() when lua_resume() called it, other
 * letters are other code. Returns the frames as text, innermost first; language frames by name.
 */
static const char *walk(struct fixture *fixture, const char *native)
{
	unsigned n = 0, at = 0;

	fixture->shown.count = 0;
	runtime_walk_init(
		&fixture->runs, strchr("eErR", native[0]) ? EVALUATOR + 8 : 0, word_of, fixture);
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
		words[3] = (uintptr_t)fixture->state[strchr("ER", kind) ? COROUTINE : MAIN];
		words[4] = (uintptr_t)fixture->image->proto;
		n += runtime_walk_frames(
			&fixture->runs, &fixture->runtime, &frame, fixture->frames + n, 256 - n);
		fixture->frames[n++] = WIRE_FRAME(1, (uint8_t)kind);
	}
	n = runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
	return shown_text(&fixture->shown, fixture->frames, n);
}

/*
 * A function is shown by the name with which its caller calls it, or as "function" if C calls it.
 */
#define SCRIPT "main chunk:1:2"
#define OUTER  "function:10:13"
#define INNER  "inner:20:24"
/* the line is unknown, because no register holds the instruction */
#define FIRST  "inner:20:0"

static void test_what_is_whole(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, MAIN, 1, -1, 0, NATIVE_CALL);
	put_call(fixture, MAIN, 2, 1, 3, FRESH);
	put_call(fixture, MAIN, 3, 2, 4, PLAIN);
	assert_string_equal(walk(fixture, "fefef"), "f " FIRST " " OUTER " e f " SCRIPT " e f");
	assert_true(fixture->runs.is_whole);
}

/* The caller's instruction is no call, so it has called a metamethod. */
static void test_a_metamethod(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->code[0][1] = 20; /* SELF */
	assert_string_equal(walk(fixture, "fefef"), "f " FIRST " __index:10:13 e f " SCRIPT " e f");
}

/*
 * The running instruction's address is in a register. If two registers hold distant addresses of
 * code, the line is unknown.
 */
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

/*
 * A call is in Lua's list before its function runs, and is removed before its activation (C frame
 * of luaV_execute()) ends.
 */
static void test_at_both_ends(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, MAIN, 3, 3, 0, FRESH);
	assert_string_equal(walk(fixture, "ffefe"), "f f " INNER " outer:10:13 e f " SCRIPT " e");
	put_call(fixture, MAIN, 1, 1, 3, FRESH);
	assert_string_equal(walk(fixture, "ffefefe"), "f f e f outer:10:0 e f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
	/*
	 * Refuse a stack if more Lua calls begin an activation (C frame of luaV_execute()) than
	 * there are activations, or if there are at least two more activations than such calls.
	 */
	assert_string_equal(walk(fixture, "fe"), "f e");
	assert_false(fixture->runs.is_whole);
	assert_string_equal(walk(fixture, "ffefefefe"), "f f e f e f e f e");
}

/*
 * Up to Lua 5.3 a tail call is first listed behind the caller that it replaces. The called function
 * is not shown until it has replaced its caller.
 */
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
	put(fixture->state[COROUTINE], fixture->layout->state_errors, jump);
	put_call(fixture, COROUTINE, 0, 3, 2, FRESH);
	put_call(fixture, COROUTINE, 1, -1, 0, NATIVE_CALL);
	put_call(fixture, COROUTINE, 2, 4, 2, FRESH);
}

/*
 * Calls that were left by a yield are shown with the coroutine's outermost activation (C frame of
 * luaV_execute()).
 */
static void test_a_coroutine(void **state)
{
	struct fixture *fixture = *state;

	enter_coroutine(fixture);
	assert_string_equal(walk(fixture, "fRffsefe"),
		"f function:40:0 function:30:32 R f f s " INNER " outer:10:13 e f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
	/* The coroutine is not running. */
	put(fixture->state[COROUTINE], fixture->layout->state_errors, NULL);
	assert_string_equal(walk(fixture, "fRffsefe"), "f R f f s e f e");
	assert_false(fixture->runs.is_whole);
}

/* C code that a coroutine calls calls a function of the main state. */
static void test_one_state_in_another(void **state)
{
	struct fixture *fixture = *state;

	enter_coroutine(fixture);
	assert_string_equal(walk(fixture, "fefRfe"),
		"f " FIRST " outer:10:13 e f function:40:42 function:30:32 R f " SCRIPT " e");
	assert_true(fixture->runs.is_whole);
}

/* The coroutine's outermost C frame of luaV_execute() contains only the main state's address. */
static void test_a_state_that_is_another_one(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, MAIN, 0, 0, 2, FRESH);
	enter_coroutine(fixture);
	assert_string_equal(walk(fixture, "fEfefe"), "f E f e f e");
	assert_false(fixture->runs.is_whole);
}

/* With invalid calls and functions no language frames are shown. */
static void test_what_is_torn(void **state)
{
	struct fixture *fixture = *state;
	const struct lua_layout *layout = fixture->layout;
	void *call = fixture->image->calls[MAIN][2];
	uint64_t good[CALL_BYTES / sizeof(uint64_t)];

	memcpy(good, call, sizeof(good));
	put(call, layout->call_saved, (char *)&fixture->image->code[2][4] + 1);
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	memcpy(call, good, sizeof(good));
	put(call, layout->call_previous, (void *)8);
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	memcpy(call, good, sizeof(good));
	fixture->image->values[MAIN][2].kind = 3;
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	fixture->image->values[MAIN][2].kind = FUNCTION_KIND;
	assert_string_equal(walk(fixture, "fefe"), "f " FIRST " outer:10:13 e f " SCRIPT " e");
	/* The global state names another state as its main state. */
	if (layout->main_is_inside)
		put(fixture->state[MAIN], layout->state_global, fixture->image->proto);
	else
		put(fixture->image->global, layout->global_main, fixture->image->proto);
	assert_string_equal(walk(fixture, "fefe"), "f e f e");
	assert_false(fixture->runs.is_whole);
}

/* The arrays of layouts and of dialects use the same index for a version. */
static void test_dialects_are_in_order(void **state)
{
	struct fixture *fixture = *state;
	const char *ident = lua_dialect(fixture->layout)->ident;
	char version[16];

	snprintf(version, sizeof(version), " %u.%u.", fixture->layout->version / 100u,
		fixture->layout->version % 100u);
	assert_non_null(strstr(ident, version));
	assert_string_equal(strstr(ident, version), version);
}

static unsigned versions[] = {504, 505};

#define TEST_OF(name, version)                                                                  \
	{                                                                                       \
		"test_" #name ", " #version, test_##name, set_up, tear_down, &versions[version] \
	}
#define TEST(name) TEST_OF(name, 0), TEST_OF(name, 1)

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
		TEST(a_state_that_is_another_one),
		TEST(what_is_torn),
		TEST(dialects_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
