/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Python's stacks in made-up memory, laid out as in Python 3.11. A stack is shown if it is
 * complete, and refused if it is cut short, circular or endless. An entry is the frame with which a
 * call of the evaluator begins.
 *
 * state ─▶ cframe ─▶ frame 1 ─previous─▶ frame 0, an entry
 * cframe->previous ─▶ the state's own cframe
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/runtime/cpython.c"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/wire.h"

#define PAGE_BYTES 4096u
#define SELF	   0x1234567u
#define TEXT_BYTES 64u

struct image {
	char runtime[1024], interpreter[64], state[512], cframe[64];
	char frame[2][128], code[2][256], name[2][TEXT_BYTES], lines[TEXT_BYTES];
	uint64_t code_type;
};

struct fixture {
	struct image *image; /* behind its page nothing is mapped */
	struct runtime runtime;
	const struct cpython_offsets *at;
	struct runtime_walk runs;
	uint64_t frames[8];
	unsigned told;
	char names[8][RUNTIME_NAME_BYTES];
	uint32_t lines[8];
};

static void put(char *structure, uint32_t offset, const void *pointer)
{
	uintptr_t word = (uintptr_t)pointer;

	memcpy(structure + offset, &word, sizeof(word));
}

/* Return the outermost cframe, which is a part of the thread's state. */
static char *root_of(struct fixture *fixture)
{
	return fixture->image->state + fixture->at->root;
}

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;

	runtime_cpython.text(runs->runtime, &runs->reader, frame->name,
		fixture->names[fixture->told], RUNTIME_NAME_BYTES, 0);
	fixture->lines[fixture->told++] = runtime_walk_line(runs, frame);
	return wire_language_frame(WIRE_LANGUAGE_BIT, frame->first_line, 0);
}

static void put_text(const struct cpython_offsets *at, char *object, const char *text)
{
	uint32_t state = 1u << 2 | 1u << 5 | 1u << 6; /* one byte each, compact, ASCII */

	put(object, SIZE_OFFSET, (void *)(uintptr_t)strlen(text));
	memcpy(object + at->text_state, &state, sizeof(state));
	memcpy(object + at->ascii, text, strlen(text) + 1);
}

static void put_code(struct fixture *fixture, int i, const char *name)
{
	const struct cpython_offsets *at = fixture->at;
	struct image *image = fixture->image;
	uint32_t first = 10 + 10 * (uint32_t)i;

	put_text(at, image->name[i], name);
	put(image->code[i], TYPE_OFFSET, &image->code_type);
	put(image->code[i], at->name, image->name[i]);
	put(image->code[i], at->file, image->name[i]);
	put(image->code[i], at->lines, image->lines);
	memcpy(image->code[i] + at->first_line, &first, sizeof(first));
	put(image->frame[i], at->code, image->code[i]);
	put(image->frame[i], at->instruction, image->code[i] + at->bytecode);
	put(image->frame[i], at->previous, i ? image->frame[i - 1] : NULL);
	image->frame[i][at->owner] = i == 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(
		NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image *image = (struct image *)(pages + PAGE_BYTES - sizeof(struct image));
	const struct cpython_offsets *at = find_layout(311);

	munmap(pages + PAGE_BYTES, PAGE_BYTES);
	*state = fixture;
	fixture->image = image;
	fixture->at = at;
	fixture->runtime = (struct runtime){.kind = &runtime_cpython,
		.version = 311,
		.base = (uintptr_t)image->runtime,
		.code_type = (uintptr_t)&image->code_type};
	memcpy(fixture->runtime.offsets, at, sizeof(*at));
	put(image->runtime, at->interpreters, image->interpreter);
	put(image->interpreter, at->threads, image->state);
	put(image->state, at->thread_id, (void *)(uintptr_t)SELF);
	put(image->state, at->cframe, image->cframe);
	put(image->cframe, at->cframe_previous, root_of(fixture));
	put(image->cframe, at->cframe_frame, image->frame[1]);
	/* The line table has one entry: eight code units belong to the next line. */
	put(image->lines, SIZE_OFFSET, (void *)(uintptr_t)2);
	image->lines[BYTES_OFFSET] = (char)(0x80 | 11 << 3 | 7);
	put_code(fixture, 0, "outer");
	put_code(fixture, 1, "inner");
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap((void *)((uintptr_t)fixture->image & ~(uintptr_t)(PAGE_BYTES - 1)), PAGE_BYTES);
	free(fixture);
	return 0;
}

/* Walk over the native frame that holds the cframe. Returns the number of Python frames. */
static unsigned tell(struct fixture *fixture, uintptr_t self, uintptr_t known)
{
	uintptr_t place = (uintptr_t)fixture->image->cframe;
	const struct unwind_frame frame = {.sp = place - 16, .caller_sp = place + 16};
	unsigned n;

	fixture->told = 0;
	fixture->runs.thread = (struct runtime_thread){.self = self};
	fixture->runs.known = known;
	runtime_walk_init(&fixture->runs, 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	n = runtime_walk_frames(&fixture->runs, &fixture->runtime, &frame, fixture->frames, 8);
	return runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
}

static void assert_both(struct fixture *fixture, unsigned told)
{
	assert_int_equal(told, 2);
	assert_true(fixture->runs.is_whole);
	assert_string_equal(fixture->names[0], "inner");
	assert_string_equal(fixture->names[1], "outer");
	assert_int_equal(fixture->lines[0], 21);
	assert_int_equal(fixture->lines[1], 11);
}

static void test_what_is_whole(void **state)
{
	struct fixture *fixture = *state;

	assert_both(fixture, tell(fixture, SELF, 0));
	assert_int_equal(fixture->runs.known, (uintptr_t)fixture->image->state);
	/* First the thread is unknown and its state is known, then both are unknown. */
	assert_both(fixture, tell(fixture, 0, (uintptr_t)fixture->image->state));
	assert_both(fixture, tell(fixture, 0, 0));
}

/* The remembered state is no longer a thread's state, or it is unmapped. */
static void test_what_was_known_is_stale(void **state)
{
	struct fixture *fixture = *state;

	assert_both(fixture, tell(fixture, SELF, (uintptr_t)root_of(fixture)));
	assert_both(fixture, tell(fixture, SELF, 8));
}

static void test_another_thread(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(tell(fixture, SELF + 1, 0), 0);
	assert_int_equal(tell(fixture, SELF + 1, (uintptr_t)fixture->image->state), 0);
}

static void test_all_states(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	struct runtime_state states[3];
	struct runtime_reader reader;

	runtime_reader_init(&reader, getpid(), 0);
	put(image->state, fixture->at->native_id, (void *)77);
	assert_int_equal(runtime_cpython.states(&fixture->runtime, &reader, states, 3), 1);
	assert_int_equal(states[0].tid, 77);
	assert_int_equal(states[0].state, (uintptr_t)image->state);
	/* Refuse a circular list of states, and a list that leads to an invalid address. */
	put(image->state, fixture->at->thread_next, image->state);
	runtime_forget(&reader);
	assert_int_equal(runtime_cpython.states(&fixture->runtime, &reader, states, 3), 3);
	put(image->state, fixture->at->thread_next, (void *)8);
	runtime_reader_init(&reader, getpid(), 0);
	assert_int_equal(runtime_cpython.states(&fixture->runtime, &reader, states, 3), 1);
}

static void assert_refused(struct fixture *fixture)
{
	assert_int_equal(tell(fixture, SELF, 0), 0);
	assert_false(fixture->runs.is_whole);
	assert_int_equal(fixture->runs.known, 0);
}

static void test_while_it_ends(void **state)
{
	struct fixture *fixture = *state;

	put(fixture->image->runtime, fixture->at->finalizing, fixture);
	assert_refused(fixture);
}

static void test_no_code(void **state)
{
	struct fixture *fixture = *state;

	put(fixture->image->code[0], TYPE_OFFSET, fixture);
	assert_refused(fixture);
	put(fixture->image->frame[0], fixture->at->code, (void *)8);
	assert_refused(fixture);
}

/* A frame that ends behind the page. */
static void test_cut_short(void **state)
{
	struct fixture *fixture = *state;

	put(fixture->image->frame[1], fixture->at->previous, fixture->image + 1);
	assert_refused(fixture);
	put(fixture->image->frame[1], fixture->at->previous, (char *)(fixture->image + 1) - 64);
	assert_refused(fixture);
}

/*
 * Frame 0 is marked as an entry, but its caller is not the innermost frame of the evaluator's
 * previous C frame, as when a generator throws into another generator. The list of frames must then
 * be followed further. Here the list is circular.
 */
static void test_an_entry_that_ends_no_run(void **state)
{
	struct fixture *fixture = *state;

	put(fixture->image->frame[0], fixture->at->previous, fixture->image->frame[1]);
	assert_int_equal(tell(fixture, SELF, 0), 8);
	assert_false(fixture->runs.is_whole);
}

/* Circular lists come to an end. */
static void test_circles(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	unsigned told;

	put(image->frame[1], fixture->at->previous, image->frame[1]);
	told = tell(fixture, SELF, 0);
	assert_int_equal(told, 8);
	assert_false(fixture->runs.is_whole);
	put(image->state, fixture->at->thread_next, image->state);
	assert_int_equal(tell(fixture, SELF + 1, 0), 0);
	/*
	 * If there are several interpreters, the address of the cframe shows to which thread the
	 * state belongs.
	 */
	put(image->interpreter, fixture->at->interpreter_next, image->interpreter);
	assert_int_equal(tell(fixture, SELF + 1, 0), 8);
	/* Make the list of cframes and the list of frames circular. */
	put(image->cframe, fixture->at->cframe_previous, image->cframe);
	put(image->interpreter, fixture->at->interpreter_next, NULL);
	put(image->frame[1], fixture->at->previous, image->frame[0]);
	put(image->frame[0], fixture->at->previous, image->frame[1]);
	assert_int_equal(tell(fixture, SELF, 0), 2);
	assert_false(fixture->runs.is_whole);
}

static void test_lengths_that_lie(void **state)
{
	struct fixture *fixture = *state;
	char *name = fixture->image->name[1], *lines = fixture->image->lines;

	put(name, SIZE_OFFSET, (void *)~0UL);
	put(lines, SIZE_OFFSET, (void *)~0UL);
	assert_int_equal(tell(fixture, SELF, 0), 2);
	assert_memory_equal(fixture->names[0], "inner", 5);
	assert_true(strlen(fixture->names[0]) < RUNTIME_NAME_BYTES);
	assert_int_equal(fixture->lines[0], 0);
}

/* A function with the shape of an evaluator: setup code, then jumps to addresses from a table. */
static __attribute__((noinline)) int evaluate(volatile int *calls, const unsigned char *code)
{
	static const void *const table[] = {&&stop, &&one, &&two};

	*calls += 1;
	goto *table[*code];
one:
	*calls += 10;
	code++;
	goto *table[*code];
two:
	*calls += 100;
	code++;
	goto *table[*code];
stop:
	return *calls;
}

static void test_where_the_set_up_ends(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t entry = (uintptr_t)evaluate, end;
	struct runtime_reader reader;
	volatile int calls = 0;

	assert_int_equal(evaluate(&calls, (const unsigned char *)"\1\2\1"), 121);
	runtime_reader_init(&reader, getpid(), 1);
	end = find_setup_end(&reader, entry);
	assert_true(end > entry && end - entry < RUNTIME_SETUP_MAX);
	/*
	 * If the code contains no jump to an address from a table or if reads fail, the setup code
	 * counts as RUNTIME_SETUP_MAX bytes long.
	 */
	memset(fixture->image->runtime, 0x90, sizeof(fixture->image->runtime));
	entry = (uintptr_t)fixture->image->runtime;
	assert_int_equal(find_setup_end(&reader, entry), entry + RUNTIME_SETUP_MAX);
	assert_int_equal(find_setup_end(&reader, 4096), 4096 + RUNTIME_SETUP_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_whole),
		TEST(test_what_was_known_is_stale),
		TEST(test_another_thread),
		TEST(test_all_states),
		TEST(test_while_it_ends),
		TEST(test_no_code),
		TEST(test_cut_short),
		TEST(test_an_entry_that_ends_no_run),
		TEST(test_circles),
		TEST(test_lengths_that_lie),
		TEST(test_where_the_set_up_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
