/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Walk over made-up native frames and Perl's stacks in made-up memory, laid out for each release of
 * perl_layouts.inc. Each activation (C frame) of Perl_runops_standard() gets the Perl functions
 * that it runs.
 *
 * MAIN  [block] [main::outer] [loop] [main::inner]      SORT  [main::by]
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

#include "libprof/runtime/perl.c"
#include "libprof/runtime/runtime_walk.h"
#include "tests/unit/shown-stack.h"

#define PAGE_BYTES 4096u
#define PAGES	   4u
#define SUBS	   3
#define CONTEXTS   8

/* Addresses in code. */
#define RUNOPS	 0x1000u
#define PERL_RUN 0x2000u
#define OTHER	 0x3000u
#define DOCATCH	 0x4000u

#define BLOCK 2u
#define LOOP  7u

/* Row of the release under test. */
static unsigned row;
#define LAYOUT (&layouts[row])

struct line {
	struct perl_instruction instruction;
	uint64_t label;
	uintptr_t file;
};

struct image {
	uintptr_t curinterp;
	char interpreter[4096];
	struct perl_stackinfo main, sort;
	char contexts[2][CONTEXTS][CONTEXT_BYTES];
	uint64_t saved[8];
	struct perl_value sub[SUBS], glob[SUBS], package;
	struct perl_code code[SUBS];
	char glob_body[SUBS][64], glob_content[64], package_body[96], name[SUBS][32], text[32];
	struct line start[SUBS], at[SUBS], current;
	char script[16];
	uint64_t top_env;
};
_Static_assert(sizeof(struct image) < PAGES * PAGE_BYTES, "all of it");

struct fixture {
	char *pages;	     /* behind them nothing is mapped */
	struct image *image; /* at their end */
	struct runtime runtime;
	struct runtime_walk runs;
	uint64_t frames[WIRE_MAX_DEPTH];
	struct shown_stack shown;
};

static const char *const sub_names[SUBS] = {"outer", "inner", "by"};

static void put(void *structure, uint32_t offset, const void *pointer)
{
	uintptr_t word = (uintptr_t)pointer;

	memcpy((char *)structure + offset, &word, sizeof(word));
}

static void put_text(char *text, const char *from)
{
	uint32_t length = (uint32_t)strlen(from);

	memcpy(text + TEXT_BYTES, &length, sizeof(length));
	memcpy(text + TEXT, from, length + 1);
}

static struct perl_context *context_of(struct fixture *fixture, int stack, int i)
{
	return (struct perl_context *)fixture->image->contexts[stack][i];
}

/*
 * Make context @i of @stack a call of sub @number at line 20 + @i that returns to the instruction
 * @next. A call made by call_sv() returns to no instruction: @next is 0.
 */
static struct perl_context *put_call(
	struct fixture *fixture, int stack, int i, int number, uintptr_t next)
{
	struct perl_context *context = context_of(fixture, stack, i);
	struct image *image = fixture->image;

	*context = (struct perl_context){.type = TYPE_SUB,
		.saved = 1,
		.caller = (uintptr_t)&image->at[number],
		.next = next,
		.function = (uintptr_t)&image->sub[number]};
	image->at[number].instruction.line = 20 + (uint32_t)i;
	image->code[number].depth = 1;
	return context;
}

static void put_sub(struct fixture *fixture, int number)
{
	struct image *image = fixture->image;

	put_text(image->name[number], sub_names[number]);
	image->sub[number] = (struct perl_value){
		.body = (uintptr_t)&image->code[number], .references = 1, .flags = VALUE_CODE};
	image->code[number].start = (uintptr_t)&image->start[number];
	image->code[number].name = (uintptr_t)&image->glob[number];
	image->glob[number] = (struct perl_value){.body = (uintptr_t)image->glob_body[number],
		.content = (uintptr_t)image->glob_content};
	put(image->glob_body[number], GLOB_NAME, image->name[number]);
	put(image->glob_body[number], GLOB_PACKAGE, &image->package);
	image->start[number].instruction.type = (uint16_t)LAYOUT->next_state;
	image->start[number].instruction.line = 10 + (uint32_t)number;
	image->start[number].file = (uintptr_t)image->script;
}

static void put_interpreter(struct image *image)
{
	struct perl_interpreter *interpreter = (struct perl_interpreter *)image->interpreter;

	image->curinterp = (uintptr_t)interpreter;
	interpreter->instruction = (uintptr_t)&image->current;
	interpreter->saved = (uintptr_t)image->saved;
	interpreter->saved_last = 1;
	interpreter->saved_room = 8;
	interpreter->line = (uintptr_t)&image->current;
	interpreter->current_stack = 77;
	interpreter->stackinfo = (uintptr_t)&image->main;
	put(interpreter, LAYOUT->top_env, &image->top_env);
	put(interpreter, LAYOUT->script, image->script);
	strcpy(image->script, "x.pl");
	image->current.instruction.line = 40;
	image->saved[0] = LAYOUT->saved_op;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(NULL, (PAGES + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image *image = (struct image *)(pages + PAGES * PAGE_BYTES - sizeof(struct image));

	munmap(pages + PAGES * PAGE_BYTES, PAGE_BYTES);
	*state = fixture;
	fixture->pages = pages;
	fixture->image = image;
	fixture->runtime = (struct runtime){.kind = &runtime_perl,
		.is_counted = 1,
		.is_joined = 1,
		.version = LAYOUT->version,
		.offsets = {row},
		.base = (uintptr_t)&image->curinterp,
		.base_bytes = sizeof(uintptr_t),
		.entry = RUNOPS,
		.entry_end = RUNOPS + 64,
		.joiner = DOCATCH,
		.joiner_end = DOCATCH + 64,
		.start = PERL_RUN,
		.start_end = PERL_RUN + 64};
	put_interpreter(image);
	put_text(image->text, "main");
	image->package =
		(struct perl_value){.body = (uintptr_t)image->package_body, .flags = PACKAGE_OOK};
	put(image->package_body, PACKAGE_NAME, image->text);
	for (int i = 0; i < SUBS; i++)
		put_sub(fixture, i);
	image->main = (struct perl_stackinfo){.stack = 77,
		.contexts = (uintptr_t)image->contexts[0],
		.next = (uintptr_t)&image->sort,
		.last = 3,
		.room = CONTEXTS,
		.kind = 1};
	image->sort = (struct perl_stackinfo){.stack = 77,
		.contexts = (uintptr_t)image->contexts[1],
		.previous = (uintptr_t)&image->main,
		.room = CONTEXTS,
		.kind = KIND_SORT};
	context_of(fixture, 0, 0)->type = BLOCK;
	put_call(fixture, 0, 1, 0, 88);
	context_of(fixture, 0, 2)->type = LOOP;
	put_call(fixture, 0, 3, 1, 88);
	put_call(fixture, 1, 0, 2, 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->pages, PAGES * PAGE_BYTES);
	free(fixture);
	return 0;
}

/* Return an encoded frame that is later shown as this Perl frame's text. */
static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;
	char name[RUNTIME_NAME_BYTES], file[RUNTIME_FILE_BYTES];

	runtime_perl.text(runs->runtime, &runs->reader, frame->name, name, sizeof(name), 0);
	runtime_perl.text(runs->runtime, &runs->reader, frame->file, file, sizeof(file), 1);
	return shown_word(
		&fixture->shown, "%s(%s:%u):%u", name, file, frame->first_line, frame->line);
}

/*
 * Walk over @native, which has a letter for each frame: r is Perl_runops_standard(), s perl_run(),
 * d docatch(), any other letter other code of Perl. Returns the frames' names, innermost first.
 */
static const char *walk(struct fixture *fixture, const char *native)
{
	uintptr_t sp = (uintptr_t)&fixture->image->top_env - 64;
	unsigned n = 0;

	fixture->shown.count = 0;
	runtime_walk_init(&fixture->runs, 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (const char *at = native; *at; at++, sp += 16) {
		const struct unwind_frame frame = {.pc = *at == 'r'   ? RUNOPS
							 : *at == 's' ? PERL_RUN
							 : *at == 'd' ? DOCATCH
								      : OTHER,
			.sp = sp,
			.caller_sp = sp + 16};

		n += runtime_walk_frames(&fixture->runs, &fixture->runtime, &frame,
			fixture->frames + n, WIRE_MAX_DEPTH - n);
		if (n < WIRE_MAX_DEPTH)
			fixture->frames[n++] = WIRE_FRAME(1, (uint8_t)*at);
	}
	n = runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
	return shown_text(&fixture->shown, fixture->frames, n);
}

#define INNER  "main::inner(x.pl:11):40"
#define OUTER  "main::outer(x.pl:10):23"
#define SCRIPT "(main)(x.pl:1):21"

static void test_what_is_whole(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(walk(fixture, "frs"), "f " INNER " " OUTER " " SCRIPT " r s");
	assert_true(fixture->runs.is_whole);
	assert_int_equal(fixture->runs.known, (uintptr_t)&fixture->image->curinterp);
}

/* call_sv() has begun inner(). */
static void test_two_activations(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, 0, 3, 1, 0);
	assert_string_equal(walk(fixture, "rcfrs"), INNER " r c f " OUTER " " SCRIPT " r s");
	/*
	 * The last saved value is not PL_op, so call_sv() has not begun: inner() runs in the outer
	 * activation (C frame of Perl_runops_standard()).
	 */
	fixture->image->saved[0] = 0;
	assert_string_equal(walk(fixture, "rs"), INNER " " OUTER " " SCRIPT " r s");
}

/*
 * For `eval {}` in code that call_sv() runs, docatch() enters Perl_runops_standard() again: both C
 * frames run the same Perl functions.
 */
static void test_one_that_goes_on(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, 0, 3, 1, 0);
	assert_string_equal(walk(fixture, "rdrcfrs"), INNER " r d r c f " OUTER " " SCRIPT " r s");
	assert_true(fixture->runs.is_whole);
	/*
	 * The C function that executes the current instruction may also lie between the two frames
	 * of Perl_runops_standard(). Check a program, then a thread.
	 */
	assert_string_equal(
		walk(fixture, "rdercfrs"), INNER " r d e r c f " OUTER " " SCRIPT " r s");
	assert_true(fixture->runs.is_whole);
	put_call(fixture, 0, 1, 0, 0);
	assert_string_equal(walk(fixture, "rdercfrcf"), INNER " r d e r c f " OUTER " r c f");
	assert_true(fixture->runs.is_whole);
	/*
	 * The two C frames are not joined if two functions lie between them or if docatch() is the
	 * outer one.
	 */
	walk(fixture, "rfercfrcf");
	assert_false(fixture->runs.is_whole);
	walk(fixture, "redrcfrcf");
	assert_false(fixture->runs.is_whole);
}

static void enter_sort(struct fixture *fixture)
{
	struct perl_interpreter *interpreter =
		(struct perl_interpreter *)fixture->image->interpreter;

	interpreter->stackinfo = (uintptr_t)&fixture->image->sort;
}

static void test_sort(void **state)
{
	struct fixture *fixture = *state;

	enter_sort(fixture);
	assert_string_equal(walk(fixture, "rffrs"),
		"main::by(x.pl:12):40 r f f main::inner(x.pl:11):20 " OUTER " " SCRIPT " r s");
	/* A comparison function of sort() written in C has no frame of Perl_runops_standard(). */
	fixture->image->code[2].flags = CODE_NATIVE;
	assert_string_equal(
		walk(fixture, "ffrs"), "f f main::inner(x.pl:11):40 " OUTER " " SCRIPT " r s");
	fixture->image->code[2].flags = 0;
	/* Between two calls of the comparison function no Perl function is shown for sort(). */
	put(fixture->image->interpreter, 8, NULL);
	assert_string_equal(walk(fixture, "ffrs"), "f f " INNER " " OUTER " " SCRIPT " r s");
	/* A block passed to sort() is not shown as a function. */
	put(fixture->image->interpreter, 8, &fixture->image->current);
	context_of(fixture, 1, 0)->type = TYPE_NULL;
	assert_string_equal(walk(fixture, "rffrs"), "r f f " INNER " " OUTER " " SCRIPT " r s");
}

/* Perl is pushing or popping the topmost context when the walk reads it. */
static void test_the_topmost(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->code[1].depth = 0;
	assert_string_equal(walk(fixture, "frs"), "f main::outer(x.pl:10):40 " SCRIPT " r s");
	context_of(fixture, 0, 3)->function = 8;
	assert_string_equal(walk(fixture, "frs"), "f main::outer(x.pl:10):40 " SCRIPT " r s");
	context_of(fixture, 0, 3)->function = 0;
	assert_string_equal(walk(fixture, "frs"), "f main::outer(x.pl:10):40 " SCRIPT " r s");
	/*
	 * The C frame of Perl_runops_standard() that call_sv() made still exists, but the topmost
	 * context has no function.
	 */
	put_call(fixture, 0, 3, 1, 0)->function = 0;
	assert_string_equal(walk(fixture, "rcfrs"), "r c f main::outer(x.pl:10):40 " SCRIPT " r s");
	/* The frame of Perl_runops_standard() also exists after the context has been popped. */
	fixture->image->main.last = 2;
	assert_string_equal(walk(fixture, "rcfrs"), "r c f main::outer(x.pl:10):40 " SCRIPT " r s");
	/* A function that has just begun has no line, shown as 0. */
	fixture->image->main.last = 3;
	put_call(fixture, 0, 3, 1, 88);
	put(fixture->image->interpreter, 208, &fixture->image->at[1]);
	assert_string_equal(
		walk(fixture, "frs"), "f main::inner(x.pl:11):0 " OUTER " " SCRIPT " r s");
}

/*
 * A defer block runs in its own frame of Perl_runops_standard(). Its last call returns to no
 * instruction.
 */
static void test_defer(void **state)
{
	struct fixture *fixture = *state;
	struct perl_context *inner = put_call(fixture, 0, 3, 1, 0);

	context_of(fixture, 0, 2)->type = TYPE_DEFER;
	fixture->image->saved[3] = LAYOUT->saved_op;
	inner->saved = 4;
	((struct perl_interpreter *)fixture->image->interpreter)->saved_last = 8;
	assert_string_equal(walk(fixture, "rdefrs"), INNER " r d e f " OUTER " " SCRIPT " r s");
	assert_true(fixture->runs.is_whole);
	assert_string_equal(walk(fixture, "refrs"), INNER " r e f " OUTER " " SCRIPT " r s");
	/* A call inside the defer block makes another frame of Perl_runops_standard() from C. */
	fixture->image->saved[5] = LAYOUT->saved_op;
	inner->saved = 6;
	assert_string_equal(
		walk(fixture, "refrefrs"), INNER " r e f r e f " OUTER " " SCRIPT " r s");
	assert_true(fixture->runs.is_whole);
}

/* An eval'd string or a file that runs is named after the instruction that runs it. */
static void test_files_and_strings(void **state)
{
	static const char *const names[] = {
		"(eval)(:22):0 ", "(require)(y.pl:1):40 ", "(do)(y.pl:1):40 ", "(eval)(:22):0 "};
	const uint32_t kinds[] = {
		LAYOUT->require - 1, LAYOUT->require, LAYOUT->do_file, LAYOUT->do_file + 1};
	struct fixture *fixture = *state;
	struct perl_value name = {.content = (uintptr_t) "y.pl"};
	struct perl_context *context = context_of(fixture, 0, 2);
	char shown[256];

	for (unsigned i = 0; i < 4; i++) {
		*context = (struct perl_context){.type = TYPE_EVAL,
			.more = (uint16_t)(kinds[i] << MORE_TYPE_SHIFT),
			.caller = (uintptr_t)&fixture->image->at[2],
			.name = (uintptr_t)&name,
			.next = 88,
			.evaluated = (uintptr_t)&fixture->image->sub[1]};
		fixture->image->main.last = 2;
		fixture->image->at[2].instruction.line = 22;
		snprintf(shown, sizeof(shown), "f %smain::outer(x.pl:10):22 " SCRIPT " r s",
			names[i]);
		assert_string_equal(walk(fixture, "frs"), shown);
	}
}

/* A context that is being pushed may still have the type of an eval that has ended. */
static void test_an_eval_that_is_over(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;

	*context_of(fixture, 0, 2) = (struct perl_context){.type = TYPE_EVAL,
		.more = 300 << MORE_TYPE_SHIFT,
		.caller = (uintptr_t)&image->at[2],
		.evaluated = (uintptr_t)&image->sub[1]};
	image->at[2].instruction.line = 22;
	image->main.last = 2;
	image->code[1].depth = 1;
	assert_string_equal(
		walk(fixture, "frs"), "f (eval)(:22):0 main::outer(x.pl:10):22 " SCRIPT " r s");
	image->code[1].depth = 0;
	assert_string_equal(walk(fixture, "frs"), "f main::outer(x.pl:10):40 " SCRIPT " r s");
	/* The eval is being compiled. */
	image->current.instruction.type = 300;
	assert_string_equal(
		walk(fixture, "frs"), "f (eval)(:22):0 main::outer(x.pl:10):22 " SCRIPT " r s");
	put(image->interpreter, 8, NULL);
	assert_string_equal(
		walk(fixture, "frs"), "f (eval)(:22):0 main::outer(x.pl:10):22 " SCRIPT " r s");
	put(image->interpreter, 8, &image->current);
	/* The eval's function was freed. */
	image->current.instruction.type = 0;
	image->code[1].depth = 1;
	image->sub[1].flags = 0xff;
	assert_string_equal(walk(fixture, "frs"), "f main::outer(x.pl:10):40 " SCRIPT " r s");
}

/* There is no main program if a host calls functions, in a thread, and in a BEGIN block. */
static void test_without_a_program(void **state)
{
	struct fixture *fixture = *state;

	put_call(fixture, 0, 1, 0, 0);
	assert_string_equal(walk(fixture, "rcf"), INNER " " OUTER " r c f");
	assert_true(fixture->runs.is_whole);
	/*
	 * In INIT {}, perl_run() called the function, but through no Perl_runops_standard() of its
	 * own.
	 */
	assert_string_equal(walk(fixture, "rcfs"), INNER " " OUTER " r c f s");
	assert_string_equal(walk(fixture, "rs"), "r s");
	assert_false(fixture->runs.is_whole);
}

static void assert_refused(struct fixture *fixture)
{
	assert_string_equal(walk(fixture, "frs"), "f r s");
	assert_false(fixture->runs.is_whole);
	assert_int_equal(fixture->runs.known, 0);
}

static void test_more_or_fewer_than_there_are(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(walk(fixture, "rcfrcfrs"), "r c f r c f r s");
	assert_false(fixture->runs.is_whole);
	put_call(fixture, 0, 1, 0, 0);
	assert_refused(fixture);
}

static void test_while_it_ends(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->interpreter[LAYOUT->phase] = PHASE_DESTRUCT;
	assert_refused(fixture);
}

static void test_another_stack(void **state)
{
	struct fixture *fixture = *state;

	put(fixture->image->interpreter, LAYOUT->top_env, fixture->image);
	assert_refused(fixture);
	put(fixture->image->interpreter, LAYOUT->top_env,
		fixture->image->interpreter + LAYOUT->start_env);
	assert_refused(fixture);
}

static void test_a_key(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t keys[KEYS_END / 8 + 1] = {0};

	fixture->runs.thread.self = (uintptr_t)keys;
	put(fixture->image->interpreter, LAYOUT->top_env,
		fixture->image->interpreter + LAYOUT->start_env);
	keys[58] = 2;
	keys[59] = fixture->image->curinterp;
	keys[60] = 3;
	keys[61] = (uintptr_t)fixture->image->script & ~7UL;
	assert_refused(fixture);
	keys[62] = 1;
	keys[63] = fixture->image->curinterp;
	assert_string_equal(walk(fixture, "frs"), "f " INNER " " OUTER " " SCRIPT " r s");
	assert_int_equal(fixture->runs.known, (uintptr_t)&keys[63]);
	/* The thread-specific value is no longer the interpreter, so the walk is refused. */
	keys[63] = 0;
	assert_refused(fixture);
}

/* Wrong counts, invalid pointers, and lists with cycles must be refused. */
static void test_hostile(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;

	image->main.last = CONTEXTS + 1;
	assert_refused(fixture);
	image->main.last = -2;
	assert_refused(fixture);
	/* The memory behind the contexts looks like a context but must not be used. */
	put_call(fixture, 1, 0, 2, 88);
	image->main.last = CONTEXTS;
	image->main.room = CONTEXTS - 1;
	assert_refused(fixture);
	image->main.room = CONTEXTS;
	image->main.last = 3;
	image->main.contexts = 0;
	assert_refused(fixture);
	image->main.contexts = (uintptr_t)(image + 1) - CONTEXT_BYTES;
	assert_refused(fixture);
	image->main.contexts = (uintptr_t)image->contexts[0];
	image->main.previous = (uintptr_t)&image->main;
	assert_refused(fixture);
	image->main.previous = 0;
	context_of(fixture, 0, 1)->function = (uintptr_t)(image + 1) - 8;
	assert_refused(fixture);
	put_call(fixture, 0, 1, 0, 88);
	image->sub[0].flags = 0;
	assert_refused(fixture);
	image->sub[0].flags = VALUE_CODE;
	image->package.flags = 0;
	walk(fixture, "frs");
	assert_string_equal(fixture->shown.names[0], "__ANON__::inner(x.pl:11):40");
	image->package.flags = PACKAGE_OOK;
	image->start[0].instruction.type = 0;
	image->start[0].instruction.next = (uintptr_t)&image->start[0];
	memset(image->name[1] + TEXT_BYTES, 0xff, 4);
	put(image->package_body, PACKAGE_NAME, (void *)8);
	assert_string_equal(walk(fixture, "rs"),
		"__ANON__::(x.pl:11):40 __ANON__::outer(:0):23 " SCRIPT " r s");
}

/* If there are more Perl functions than fit into a sample, the ones that fit are kept. */
static void test_too_deep(void **state)
{
	struct fixture *fixture = *state;
	char *contexts = calloc(2 * WIRE_MAX_DEPTH, CONTEXT_BYTES);

	for (unsigned i = 0; i < 2 * WIRE_MAX_DEPTH; i++)
		memcpy(contexts + i * CONTEXT_BYTES, context_of(fixture, 0, 1), CONTEXT_BYTES);
	fixture->image->main.contexts = (uintptr_t)contexts;
	fixture->image->main.last = 2 * WIRE_MAX_DEPTH - 1;
	fixture->image->main.room = 2 * WIRE_MAX_DEPTH;
	walk(fixture, "frs");
	assert_true(fixture->runs.is_whole);
	assert_in_range(fixture->runs.cut - fixture->frames, WIRE_MAX_DEPTH / 2, WIRE_MAX_DEPTH);
	walk(fixture, "frcfrs");
	assert_false(fixture->runs.is_whole);
	assert_null(fixture->runs.cut);
	free(contexts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_whole),
		TEST(test_two_activations),
		TEST(test_one_that_goes_on),
		TEST(test_sort),
		TEST(test_the_topmost),
		TEST(test_defer),
		TEST(test_files_and_strings),
		TEST(test_an_eval_that_is_over),
		TEST(test_without_a_program),
		TEST(test_more_or_fewer_than_there_are),
		TEST(test_while_it_ends),
		TEST(test_another_stack),
		TEST(test_a_key),
		TEST(test_hostile),
		TEST(test_too_deep),
	};

	static const char *const releases[LAYOUTS] = {"Perl 5.36", "Perl 5.40", "Perl 5.42"};
	int failed = 0;

	for (row = 0; row < LAYOUTS; row++)
		failed += cmocka_run_group_tests_name(releases[row], tests, NULL, NULL);
	return failed;
}
