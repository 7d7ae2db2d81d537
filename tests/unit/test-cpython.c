/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the stack work ◀ call ◀ main from made-up memory, laid out as each CPython release lays it
 * out. An activation is the evaluator's C frame of one call. Up to 3.10 each function has its own
 * activation; in later releases work and call share one. From 3.13 on the release publishes its
 * offsets; the numbers here were read from processes of Debian's packages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/runtime/cpython.c"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/wire.h"

#define SELF	   0x1234567u
#define ENTRY	   0x50000000u
#define SETUP_END  (ENTRY + 50)
/* a native frame, encoded as in samples */
#define NATIVE	   0x1000u
#define FUNCTIONS  3u
#define TEXT_BYTES 128u
#define PUBLISHED  "xdebugpy"

enum {
	WORK,
	CALL,
	MAIN
};

static const uint64_t published_by_3_13[] = {0x30d05f0, 0, 283376, 608, 632, 194976, 7272, 7264,
	7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768, 7760, 304, 0, 8, 16, 72, 152, 160, 232, 32,
	80, 8, 0, 56, 72, 70, 208, 112, 120, 128, 136, 68, 52, 96, 104, 200, 16, 8, 416, 24, 88,
	168, 32, 24, 16, 40, 24, 16, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40};
static const uint64_t published_by_3_14[] = {0x30e08f0, 0, 316616, 784, 808, 225864, 7280, 7272,
	7344, 7360, 7408, 7688, 7672, 7680, 16, 7784, 0, 7800, 7792, 7992, 0, 832, 0, 8, 16, 72,
	152, 160, 232, 32, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112, 120, 128, 136, 68, 52, 96, 104,
	208, 0, 16, 8, 416, 24, 88, 168, 40, 32, 16, 40, 24, 16, 200, 24, 40, 32, 48, 32, 40, 24,
	16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40};
static const uint64_t published_by_3_15[] = {0x30f00f0, 0, 346568, 912, 936, 226240, 7272, 7264,
	7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0, 7752, 7744, 7944, 0, 888, 0, 8, 16, 72, 80,
	88, 96, 176, 184, 256, 32, 36, 40, 136, 288, 0, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112, 120,
	128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 424, 24, 88, 168, 32, 288, 944, 888, 40, 32, 16,
	40, 24, 16, 200, 24, 40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40};

static const struct release {
	uint32_t version;
	/* begins at the version word; NULL if the release publishes no offsets */
	const uint64_t *published;
	size_t published_bytes;
} releases[] = {
	{308, NULL, 0},
	{309, NULL, 0},
	{310, NULL, 0},
	{311, NULL, 0},
	{312, NULL, 0},
	{313, published_by_3_13, sizeof(published_by_3_13)},
	{314, published_by_3_14, sizeof(published_by_3_14)},
	{315, published_by_3_15, sizeof(published_by_3_15)},
};
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

struct image {
	char runtime[2048], interpreter[2][8192], state[512];
	char frame[FUNCTIONS][128], code[FUNCTIONS][256], text[FUNCTIONS][TEXT_BYTES], file[128];
	char lines[64], base[128];
	struct {
		char cframe[64], frame[128];
	} activation[FUNCTIONS + 1];
	uint64_t code_type;
};

struct fixture {
	struct image image;
	struct runtime runtime;
	struct runtime_reader reader;
	struct runtime_walk runs;
	const struct release *release;
	uintptr_t outer_pc; /* pc of the outermost activation */
	unsigned activations;
	uint64_t frames[16];
	/* language frames that were reported, and frames in the resulting stack */
	unsigned told, n;
	char names[8][RUNTIME_NAME_BYTES];
	uint64_t identity[8];
	uint32_t lines[8];
};

static void put(char *structure, uint32_t offset, const void *pointer)
{
	uintptr_t word = (uintptr_t)pointer;

	memcpy(structure + offset, &word, sizeof(word));
}

static void put_int(char *structure, uint32_t offset, uint32_t value)
{
	memcpy(structure + offset, &value, sizeof(value));
}

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;

	runtime_cpython.text(runs->runtime, &runs->reader, frame->name,
		fixture->names[fixture->told], RUNTIME_NAME_BYTES, 0);
	fixture->identity[fixture->told] = frame->identity;
	fixture->lines[fixture->told++] = runtime_walk_line(runs, frame);
	return wire_language_frame(WIRE_LANGUAGE_BIT, frame->first_line, 0);
}

static void put_text(const struct cpython_offsets *at, char *object, const char *text)
{
	put(object, SIZE_OFFSET, (void *)(uintptr_t)strlen(text));
	put_int(object, at->text_state, 1u << 2 | 1u << 5 | 1u << 6); /* compact, ASCII */
	memcpy(object + at->ascii, text, strlen(text) + 1);
}

/* Make the function's code object and a frame that is at its first instruction. */
static void put_function(struct fixture *fixture, unsigned i, const char *name)
{
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);
	struct image *image = &fixture->image;
	int is_tagged = fixture->release->version >= 314;

	put_text(at, image->text[i], name);
	put(image->code[i], TYPE_OFFSET, &image->code_type);
	put(image->code[i], at->name, image->text[i]);
	put(image->code[i], at->file, image->file);
	put(image->code[i], at->lines, image->lines);
	put_int(image->code[i], at->first_line, 10 + 10 * i);
	put(image->frame[i], at->code, image->code[i] + is_tagged);
	if (at->bytecode)
		put(image->frame[i], at->instruction, image->code[i] + at->bytecode);
}

/* Make a line table that maps every instruction to the function's first line + 1. */
static void put_lines(struct fixture *fixture)
{
	static const unsigned char by_steps[] = {0, 1}, by_ranges[] = {8, 1},
				   by_entries[] = {0x80 | 11 << 3 | 7, 0};
	uint32_t version = fixture->release->version;

	put(fixture->image.lines, SIZE_OFFSET, (void *)2UL);
	memcpy(fixture->image.lines + BYTES_OFFSET,
		version < 310	 ? by_steps
		: version == 310 ? by_ranges
				 : by_entries,
		2);
}

static void put_stack(struct fixture *fixture)
{
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);
	uint32_t version = fixture->release->version;
	struct image *image = &fixture->image;
	int has_runs = version >= 311, has_frame = version >= 312;
	unsigned n = 0;
	char *caller;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		int is_end = i != WORK || !has_runs;

		caller = i < MAIN ? image->frame[i + 1] : version >= 315 ? image->base : NULL;
		put(image->frame[i], at->previous,
			is_end && has_frame ? image->activation[n].frame : caller);
		if (version == 311)
			image->frame[i][at->owner] = (char)is_end;
		if (has_runs && (i == WORK || i == MAIN) && at->cframe)
			put(image->activation[n].cframe, at->cframe_frame, image->frame[i]);
		if (!is_end)
			continue;
		put(image->activation[n].frame, at->previous, caller);
		image->activation[n].frame[at->owner] = OWNED_BY_CSTACK;
		put(image->activation[n].cframe, at->cframe_previous,
			i == MAIN ? image->state + at->root : image->activation[n + 1].cframe);
		n++;
	}
	fixture->activations = n;
	image->base[at->owner] = OWNED_BY_CSTACK;
	/* Python 3.10 does not write the fields of the thread's state that precede the cframe. */
	put(image->state, at->root + at->cframe_previous,
		version == 310 ? image->activation[0].cframe : NULL);
	put(image->state, at->cframe ? at->cframe : at->innermost,
		at->cframe ? image->activation[0].cframe : image->frame[0]);
	if (version == 310)
		put(image->state, at->innermost, image->frame[0]);
}

static int publish(struct fixture *fixture)
{
	struct image *image = &fixture->image;

	memcpy(image->runtime, PUBLISHED, 8);
	memcpy(image->runtime + 8, fixture->release->published, fixture->release->published_bytes);
	return read_published(
		&fixture->runtime, &fixture->reader, find_layout(fixture->release->version));
}

static void lay_out(struct fixture *fixture, const struct release *release)
{
	struct cpython_offsets *at = (struct cpython_offsets *)fixture->runtime.offsets;
	struct image *image = &fixture->image;

	memset(fixture, 0, sizeof(*fixture));
	fixture->release = release;
	fixture->outer_pc = ENTRY + 100;
	fixture->runtime = (struct runtime){.kind = &runtime_cpython,
		.version = release->version,
		.is_counted = release->version < 310,
		.is_paired = release->version == 310,
		.base = (uintptr_t)image->runtime,
		.entry = ENTRY,
		.setup_end = SETUP_END,
		.entry_end = ENTRY + 1000,
		.code_type = (uintptr_t)&image->code_type};
	runtime_reader_init(&fixture->reader, getpid(), 0);
	if (release->published)
		assert_int_equal(publish(fixture), 0);
	else
		memcpy(at, find_layout(release->version), sizeof(*at));
	put(image->runtime, at->interpreters, image->interpreter[0]);
	put(image->interpreter[0], at->threads, image->state);
	put(image->state, at->thread_id, (void *)(uintptr_t)SELF);
	put_text(at, image->file, "file.py");
	put_lines(fixture);
	put_function(fixture, WORK, "work");
	put_function(fixture, CALL, "call");
	put_function(fixture, MAIN, "main");
	put_stack(fixture);
}

/*
 * Walk the stack, which has a native frame for each activation (C frame of the evaluator). The
 * innermost frame is at @pc. @is_rooted is set if the walk reached the thread's root.
 */
static void tell_at(struct fixture *fixture, uintptr_t pc, int is_rooted)
{
	unsigned n = 0;

	fixture->told = 0;
	fixture->runs.thread = (struct runtime_thread){.self = SELF};
	fixture->runs.known = 0;
	runtime_walk_init(&fixture->runs, pc, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (unsigned i = 0; i < fixture->activations; i++) {
		uintptr_t place = (uintptr_t)&fixture->image.activation[i];
		int is_outer = i && i == fixture->activations - 1;
		struct unwind_frame frame = {.pc = is_outer ? fixture->outer_pc
						   : i	    ? ENTRY + 100
							    : pc,
			.sp = place,
			.caller_sp = place + sizeof(fixture->image.activation[i])};

		n += runtime_walk_frames(
			&fixture->runs, &fixture->runtime, &frame, fixture->frames + n, 16 - n);
		fixture->frames[n++] = NATIVE;
	}
	fixture->n = runtime_walk_finish(&fixture->runs, fixture->frames, n, is_rooted);
}

static void tell(struct fixture *fixture)
{
	tell_at(fixture, ENTRY + 200, 1);
}

static void assert_told(const struct fixture *fixture, unsigned i, const char *name, uint32_t line)
{
	assert_string_equal(fixture->names[i], name);
	assert_int_equal(fixture->lines[i], line);
}

static void test_each_release(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(RELEASES, LAYOUTS);
	for (unsigned i = 0; i < RELEASES; i++) {
		lay_out(fixture, &releases[i]);
		tell(fixture);
		assert_true(fixture->runs.is_whole);
		assert_int_equal(fixture->told, 3);
		assert_told(fixture, 0, "work", 11);
		assert_told(fixture, 1, "call", 21);
		assert_told(fixture, 2, "main", 31);
	}
}

/*
 * CPython puts a shim frame between a constructor's call and __init__(). It must not be reported,
 * because it is no function of the program.
 */
static void test_no_shim_is_told(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < RELEASES; i++) {
		lay_out(fixture, &releases[i]);
		put(fixture->image.code[CALL], cpython_offsets_of(&fixture->runtime)->file,
			fixture->image.text[CALL]);
		/*
		 * A function whose name equals its file's name is reported if it has a line number.
		 */
		tell(fixture);
		assert_int_equal(fixture->told, 3);
		put_int(fixture->image.code[CALL],
			cpython_offsets_of(&fixture->runtime)->first_line, 0);
		if (releases[i].version < 312)
			continue;
		tell(fixture);
		assert_true(fixture->runs.is_whole);
		assert_int_equal(fixture->told, 2);
		assert_told(fixture, 0, "work", 11);
		assert_told(fixture, 1, "main", 31);
	}
}

/*
 * Two interpreters may use the same addresses, one after the other. Their functions must have
 * different identities.
 */
static void test_each_interpreter_has_functions_of_its_own(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 2; i < RELEASES; i++) {
		struct image *image = &fixture->image;
		const struct cpython_offsets *at;
		uint64_t identity[3];

		lay_out(fixture, &releases[i]);
		at = cpython_offsets_of(&fixture->runtime);
		tell(fixture);
		identity[0] = fixture->identity[0];
		put(image->interpreter[0], at->threads, NULL);
		put(image->interpreter[0], at->interpreter_next, image->interpreter[1]);
		put(image->interpreter[1], at->threads, image->state);
		for (uint32_t id = 1; id < 3; id++) {
			put_int(image->interpreter[1], at->interpreter_id, id);
			tell(fixture);
			assert_true(fixture->runs.is_whole);
			assert_int_equal(fixture->told, 3);
			identity[id] = fixture->identity[0];
		}
		assert_int_not_equal(identity[0], identity[1]);
		assert_int_not_equal(identity[0], identity[2]);
		assert_int_not_equal(identity[1], identity[2]);
	}
}

/*
 * Publish the offsets of @release with the one word changed to @value. Returns the result of
 * reading them.
 */
static int publish_but(
	struct fixture *fixture, const struct release *release, size_t word, uint64_t value)
{
	uint64_t words[128];
	struct release changed = *release;

	memcpy(words, release->published, release->published_bytes);
	words[word] = value;
	changed.published = words;
	memset(fixture, 0, sizeof(*fixture));
	runtime_reader_init(&fixture->reader, getpid(), 0);
	fixture->runtime.base = (uintptr_t)fixture->image.runtime;
	fixture->release = &changed;
	return publish(fixture);
}

/* Published offsets must be checked, because the process can write any value there. */
static void test_what_is_published_is_checked(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < RELEASES; i++) {
		const struct release *release = &releases[i];
		const struct cpython_offsets *row = find_layout(release->version);
		uint64_t hex;

		if (!release->published)
			continue;
		hex = release->published[0];
		assert_int_equal(publish_but(fixture, release, 0, hex), 0);
		/*
		 * Refuse a beta version, another release, and a build without the global
		 * interpreter lock.
		 */
		assert_int_equal(
			publish_but(fixture, release, 0, (hex & ~0xfful) | 0xb1), -ENOTSUP);
		assert_int_equal(publish_but(fixture, release, 0, hex + 0x10000), -ENOTSUP);
		assert_int_equal(publish_but(fixture, release, 1, 1), -ENOTSUP);
		/*
		 * Refuse offsets beyond the bytes that the reader reads of a frame, a thread state
		 * and a code object.
		 */
		assert_int_equal(
			publish_but(fixture, release, row->owner / 8 - 1, FRAME_BYTES), -ENOTSUP);
		assert_int_equal(publish_but(fixture, release, row->owner / 8 - 1, 1ull << 32 | 70),
			-ENOTSUP);
		assert_int_equal(publish_but(fixture, release, row->lines / 8 - 1, CODE_BYTES - 4),
			-ENOTSUP);
		assert_int_equal(
			publish_but(fixture, release, row->thread_id / 8 - 1, 1u << 16), -ENOTSUP);
		assert_int_equal(publish_but(fixture, release, row->type / 8 - 1, 24), -ENOTSUP);
		fixture->image.runtime[0] = 0;
		assert_int_equal(
			read_published(&fixture->runtime, &fixture->reader, row), -ENOTSUP);
	}
}

static void test_unknown_releases(void **state)
{
	(void)state;
	assert_null(find_layout(307));
	assert_null(find_layout(releases[RELEASES - 1].version + 1));
	assert_null(find_layout(version_of(0x1030d00f0)));
	assert_int_equal(version_of(0x30d05f0), 313);
}

static void lay_out_version(struct fixture *fixture, uint32_t version)
{
	const struct release *release = releases;

	while (release->version != version)
		release++;
	lay_out(fixture, release);
}

/* Check that all language frames are dropped, whether or not the walk reached the thread's root. */
static void assert_native(struct fixture *fixture, uintptr_t pc)
{
	for (int is_rooted = 0; is_rooted < 2; is_rooted++) {
		tell_at(fixture, pc, is_rooted);
		assert_int_equal(fixture->runs.is_whole, 0);
		assert_int_equal(fixture->n, fixture->activations);
	}
}

static void assert_all_told(struct fixture *fixture, uintptr_t pc, int is_rooted)
{
	tell_at(fixture, pc, is_rooted);
	assert_int_equal(fixture->told, 3);
	assert_int_equal(fixture->n, fixture->activations + 3);
}

/*
 * When a function begins, Python 3.10 links its cframe into the thread's state before it links its
 * frame.
 */
static void test_a_frame_of_3_10_that_is_not_linked_yet(void **state)
{
	struct fixture *fixture = *state;
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);

	lay_out_version(fixture, 310);
	put(fixture->image.state, at->innermost, fixture->image.frame[CALL]);
	assert_native(fixture, ENTRY + 10);
	/* At ENTRY + 10 the frame may be linked already. Then all functions are reported. */
	lay_out_version(fixture, 310);
	assert_all_told(fixture, ENTRY + 10, 1);
	/*
	 * If the walk did not reach the root, the activations cannot be counted, so no language
	 * frame is reported.
	 */
	tell_at(fixture, ENTRY + 10, 0);
	assert_int_equal(fixture->n, fixture->activations);
	/* At ENTRY + 200 the function has begun, so its cframe and its frame are linked. */
	assert_all_told(fixture, ENTRY + 200, 0);
}

/*
 * When a function ends, Python 3.10 unlinks its cframe from the thread's state before it unlinks
 * its frame.
 */
static void test_a_frame_of_3_10_that_is_linked_still(void **state)
{
	struct fixture *fixture = *state;
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);

	lay_out_version(fixture, 310);
	put(fixture->image.state, at->cframe, fixture->image.activation[1].cframe);
	assert_native(fixture, ENTRY + 200);
	/*
	 * The cframe and the frame are both unlinked, so the innermost activation (C frame of the
	 * evaluator) gets no function.
	 */
	put(fixture->image.state, at->innermost, fixture->image.frame[CALL]);
	tell_at(fixture, ENTRY + 200, 1);
	assert_true(fixture->runs.is_whole);
	assert_int_equal(fixture->told, 2);
	assert_int_equal(fixture->n, fixture->activations + 2);
	assert_told(fixture, 0, "call", 21);
}

/*
 * While generator.throw() throws into a generator to which another generator delegates, Python 3.10
 * links the outer generator's frame, which has no caller. The list of frames then ends before the
 * list of cframes.
 */
static void test_frames_of_3_10_that_end_early(void **state)
{
	struct fixture *fixture = *state;
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);

	lay_out_version(fixture, 310);
	put(fixture->image.frame[CALL], at->previous, NULL);
	tell(fixture);
	assert_int_equal(fixture->n, fixture->activations);
}

/*
 * In Python 3.10 a greenlet's outermost cframe has no frame and belongs to no activation (C frame
 * of the evaluator).
 */
static void test_a_greenlet_of_3_10(void **state)
{
	struct fixture *fixture = *state;
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);

	lay_out_version(fixture, 310);
	put(fixture->image.frame[CALL], at->previous, NULL);
	fixture->outer_pc = ENTRY + 5000;
	tell(fixture);
	assert_true(fixture->runs.is_whole);
	assert_int_equal(fixture->told, 2);
	assert_int_equal(fixture->n, fixture->activations + 2);
}

/*
 * While generator.throw() of Python 3.11 throws into a generator to which another generator
 * delegates, the outer generator's frame still has the mark of an entry frame, although no
 * activation (C frame of the evaluator) runs it.
 */
static void test_a_frame_of_3_11_that_was_an_entry(void **state)
{
	struct fixture *fixture = *state;
	const struct cpython_offsets *at = cpython_offsets_of(&fixture->runtime);
	struct image *image = &fixture->image;

	lay_out_version(fixture, 311);
	image->frame[WORK][at->owner] = 1;
	put(image->activation[1].cframe, at->cframe_frame, image->frame[CALL]);
	tell(fixture);
	assert_true(fixture->runs.is_whole);
	assert_int_equal(fixture->told, 3);
	assert_told(fixture, 1, "call", 21);
	assert_told(fixture, 2, "main", 31);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_release),
		cmocka_unit_test(test_no_shim_is_told),
		cmocka_unit_test(test_each_interpreter_has_functions_of_its_own),
		cmocka_unit_test(test_what_is_published_is_checked),
		cmocka_unit_test(test_unknown_releases),
		cmocka_unit_test(test_a_frame_of_3_10_that_is_not_linked_yet),
		cmocka_unit_test(test_a_frame_of_3_10_that_is_linked_still),
		cmocka_unit_test(test_frames_of_3_10_that_end_early),
		cmocka_unit_test(test_a_greenlet_of_3_10),
		cmocka_unit_test(test_a_frame_of_3_11_that_was_an_entry),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
