/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Ruby's stacks in made-up memory, laid out for each release in ruby_layouts. A stack is shown if
 * it is complete, and refused if it is cut short, endless or another thread's. LAST marks a frame
 * that ends a call of the evaluator.
 *
 * vm ─▶ ractor ─▶ thread ─▶ context ─▶ work  block, LAST  each (C)  <main>, LAST  dummy
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

#include "libprof/runtime/ruby.c"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/wire.h"

#define PAGES_BYTES 8192u
#define SELF	    0x1234567u
#define TID	    77u
#define IS_LOCAL    2u
#define FRAMES	    5u
#define INDEX_WORDS 32u
#define FRAME_WORDS 8u /* of the largest control frame */
#define BODY_WORDS  24u
#define CLASS_WORDS 24u
#define MODULE	    3u	/* number of the runtime's module */
/* number of first instructions whose lines are stored as counts, not as bits */
#define COUNTED	    54u
#define ENTRY	    0x50000000u

enum {
	WORK,
	BLOCK,
	EACH,
	MAIN,
	DUMMY
};

/*
 * A string object of Ruby. The length of a short string is in its flags or in front of its bytes.
 */
struct string {
	uintptr_t flags, class;
	char rest[48];
};

struct image {
	uintptr_t vm_pointer, vm[200], space[4], ractor[80], thread[20], native[8], context[30];
	uint8_t is_jit_on;
	uintptr_t frame_words[FRAMES * FRAME_WORDS];
	struct ruby_environment environment[FRAMES];
	struct {
		uintptr_t flags, wrapper, body;
	} code[FRAMES];
	uintptr_t body_words[FRAMES][BODY_WORDS];
	struct ruby_method method[2]; /* of work, of each */
	uintptr_t definition[2][6];
	uint32_t lines[3][3];
	uint64_t index[INDEX_WORDS];
	/* Classes that have a name themselves or in a hidden variable. */
	struct {
		uintptr_t object[CLASS_WORDS], extension[2], table[7], entry[3];
		struct string name;
	} class[2];
	struct string label[FRAMES], base[FRAMES], path, symbol;
	/* Names of symbols: an array that contains another array. */
	uintptr_t symbols[3], all[3], some[2 + 2 * 70];
	char end[]; /* nothing is mapped behind it */
};

/* Row of the release under test. */
static unsigned row;
#define LAYOUT (&ruby_layouts[row])

struct fixture {
	struct image *image;
	struct runtime runtime;
	struct runtime_walk runs;
	/* frames that the evaluator's C frame called, leaf first */
	uint64_t leaf, callee;
	uint64_t frames[32];
	unsigned told;
	char names[16][RUNTIME_NAME_BYTES], files[16][RUNTIME_FILE_BYTES];
	uint32_t lines[16];
};

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct fixture *fixture = runs->context;

	runtime_ruby.text(runs->runtime, &runs->reader, frame->name, fixture->names[fixture->told],
		RUNTIME_NAME_BYTES, 0);
	runtime_ruby.text(runs->runtime, &runs->reader, frame->file, fixture->files[fixture->told],
		RUNTIME_FILE_BYTES, 1);
	fixture->lines[fixture->told++] = runtime_walk_line(runs, frame);
	return wire_language_frame(WIRE_LANGUAGE_BIT, frame->first_line, 0);
}

static struct ruby_frame *frame_of(struct image *image, unsigned i)
{
	return (struct ruby_frame *)((char *)image->frame_words + i * LAYOUT->frame_bytes);
}

static struct ruby_body *body_of(struct image *image, unsigned i)
{
	return (struct ruby_body *)image->body_words[i];
}

static struct ruby_lines *lines_of(struct image *image, unsigned i)
{
	return (struct ruby_lines *)((char *)image->body_words[i] + LAYOUT->body_lines);
}

static struct ruby_context *context_of(struct image *image)
{
	return (struct ruby_context *)image->context;
}

static char *bytes_of(struct string *string)
{
	return (char *)string + LAYOUT->string_bytes;
}

/* Make a string object whose header gives the length @length. Returns its address. */
static uintptr_t put_length(struct string *string, uintptr_t length)
{
	string->flags = 5u;
	if (LAYOUT->string_bytes == 2 * WORD)
		string->flags |= length << 14;
	else
		memcpy(string->rest, &length, sizeof(length));
	return (uintptr_t)string;
}

static uintptr_t put_string(struct string *string, const char *text)
{
	assert_in_range(strlen(text), 0, LAYOUT->string_bytes == 2 * WORD ? 23 : 39);
	strcpy(bytes_of(string), text);
	return put_length(string, strlen(text));
}

static void put_class(struct image *image, unsigned i, const char *name)
{
	uintptr_t string = put_string(&image->class[i].name, name);

	image->class[i].object[0] = 2u;
	if (LAYOUT->class_name) {
		image->class[i].object[LAYOUT->class_name / WORD] = string;
		return;
	}
	image->class[i].object[3] = (uintptr_t)image->class[i].extension;
	image->class[i].extension[1] = (uintptr_t)image->class[i].table;
	image->class[i].table[5] = 1;
	image->class[i].table[6] = (uintptr_t)image->class[i].entry;
	image->class[i].entry[1] = 0xabc1;
	image->class[i].entry[2] = string;
}

/* Make class @i the singleton class of class @of. */
static void put_singleton(struct image *image, unsigned i, unsigned of)
{
	image->class[i].object[0] = 2u | 1u << 12;
	if (LAYOUT->class_attached)
		image->class[i].object[LAYOUT->class_attached / WORD] =
			(uintptr_t)image->class[of].object;
	else
		image->class[i].entry[2] = (uintptr_t)image->class[of].object;
}

static void put_method(struct image *image, unsigned i, uintptr_t kind)
{
	image->method[i] = (struct ruby_method){
		.flags = 0x601au,
		.definition = (uintptr_t)image->definition[i],
		.owner = (uintptr_t)image->class[i].object,
	};
	image->definition[i][0] = kind;
}

/* Write the code of frame @i, which is at the second of eight instructions. */
static void put_code(struct image *image, unsigned i, const char *label, const char *base)
{
	image->code[i].flags = RUBY_INTERNAL_CODE;
	image->code[i].body = (uintptr_t)body_of(image, i);
	*body_of(image, i) = (struct ruby_body){
		.instructions_count = 8,
		.instructions = (uintptr_t)image->index,
		.path = (uintptr_t)&image->path,
		.label = put_string(&image->label[i], label),
		.base_label = put_string(&image->base[i], base),
		.first_line =
			LAYOUT->first_line_bytes == 8 ? (10u + i) << 1 | 1 : (10u + i) | 7ULL << 32,
	};
	*lines_of(image, i) = (struct ruby_lines){.lines = (uintptr_t)image->lines, .count = 1};
	frame_of(image, i)->code = (uintptr_t)&image->code[i];
	frame_of(image, i)->instruction = (uintptr_t)(image->index + 2);
}

static void put_frames(struct image *image)
{
	static const uintptr_t flags[FRAMES] = {0x11110001 | IS_LOCAL, 0x22220001 | IS_LAST,
		RUBY_KIND_C | IS_LOCAL, 0x77770001 | IS_LAST | IS_LOCAL,
		KIND_DUMMY | IS_LAST | IS_LOCAL};

	for (unsigned i = 0; i < FRAMES; i++) {
		frame_of(image, i)->environment = (uintptr_t)&image->environment[i].flags;
		image->environment[i].flags = flags[i];
	}
	image->environment[WORK].method = (uintptr_t)&image->method[0];
	image->environment[EACH].method = (uintptr_t)&image->method[1];
	image->environment[BLOCK].outer = (uintptr_t)&image->environment[MAIN].flags | 1;
	put_code(image, WORK, "work", "work");
	put_code(image, BLOCK, "block in <main>", "<main>");
	put_code(image, MAIN, "<main>", "<main>");
	put_string(&image->path, "./made.rb");
	image->lines[0][0] = 21;
	put_class(image, 0, "Shape");
	put_class(image, 1, "Array");
	put_method(image, 0, 0);
	put_method(image, 1, 1);
}

static void put_symbols(struct image *image)
{
	image->symbols[0] = 400;
	image->symbols[2] = (uintptr_t)image->all;
	image->all[0] = image->some[0] = 7u | 1u << 13;
	image->all[2] = (uintptr_t)image->some;
	image->definition[1][RUBY_DEFINITION_NAME / WORD] = '+';
	image->some[2 + 2 * '+'] = put_string(&image->symbol, "each");
}

static void put_thread(struct image *image)
{
	char *identity = (char *)(LAYOUT->thread_native ? image->native : image->thread);
	const uint32_t tid = TID;

	image->vm_pointer = (uintptr_t)image->vm;
	image->vm[VM_RACTORS / WORD] = (uintptr_t)image->ractor + LAYOUT->ractor_node;
	image->vm[VM_THREAD / WORD] = (uintptr_t)image->thread;
	image->vm[LAYOUT->vm_objspace / WORD] = (uintptr_t)image->space;
	image->ractor[LAYOUT->ractor_node / WORD] = (uintptr_t)image->vm + VM_RACTORS;
	image->ractor[LAYOUT->ractor_threads / WORD] = (uintptr_t)image->thread;
	*(struct ruby_thread *)image->thread =
		(struct ruby_thread){.next = (uintptr_t)image->ractor + LAYOUT->ractor_threads,
			.ractor = (uintptr_t)image->ractor,
			.vm = (uintptr_t)image->vm};
	if (LAYOUT->thread_native)
		image->thread[LAYOUT->thread_native / WORD] = (uintptr_t)image->native;
	image->thread[LAYOUT->thread_context / WORD] = (uintptr_t)image->context;
	*(uintptr_t *)(identity + LAYOUT->thread_self) = SELF;
	memcpy(identity + LAYOUT->thread_tid, &tid, sizeof(tid));
	*context_of(image) = (struct ruby_context){.values = (uintptr_t)image->frame_words,
		.values_count = FRAMES * LAYOUT->frame_bytes / WORD,
		.frame = (uintptr_t)image->frame_words,
		.thread = (uintptr_t)image->thread};
	*(struct ruby_machine *)((char *)image->context + LAYOUT->context_stack) =
		(struct ruby_machine){.stack_start = 4096, .stack_bytes = 4096};
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *pages = mmap(
		NULL, 2 * PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image *image = (struct image *)(pages + PAGES_BYTES - sizeof(struct image));

	munmap(pages + PAGES_BYTES, PAGES_BYTES);
	*state = fixture;
	fixture->image = image;
	fixture->leaf = WIRE_FRAME(1, 1);
	fixture->callee = WIRE_FRAME(MODULE, 2);
	fixture->runtime = (struct runtime){.kind = &runtime_ruby,
		.is_counted = 1,
		.has_inner = 1,
		.version = LAYOUT->version,
		.offsets = {row},
		.objects = {(uintptr_t)&image->vm_pointer, (uintptr_t)&image->is_jit_on},
		.code_type = (uintptr_t)image->symbols,
		.entry = ENTRY,
		.entry_end = ENTRY + 16};
	put_thread(image);
	put_frames(image);
	put_symbols(image);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap((void *)((uintptr_t)fixture->image->end - PAGES_BYTES), PAGES_BYTES);
	free(fixture);
	return 0;
}

/*
 * Walk a stack that has @activations C frames of Ruby's evaluator, the first at @sp. Each of these
 * has called `callee`, which called `leaf`. Returns the number of frames found.
 */
static unsigned tell_at(
	struct fixture *fixture, struct runtime_thread thread, uintptr_t sp, unsigned activations)
{
	const uint64_t native[] = {fixture->leaf, fixture->callee};
	const struct unwind_frame frame = {.pc = ENTRY + 4, .sp = sp, .caller_sp = sp + 16};
	unsigned n = 0;

	fixture->told = 0;
	fixture->runs.thread = thread;
	runtime_walk_init(&fixture->runs, 0, word_of, fixture);
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	for (unsigned i = 0; i < activations; i++) {
		for (unsigned k = 0; k < 2; k++)
			fixture->frames[n++] = native[k];
		n += runtime_walk_frames(
			&fixture->runs, &fixture->runtime, &frame, fixture->frames + n, 16);
		fixture->frames[n++] = WIRE_FRAME(MODULE, 3);
	}
	return runtime_walk_finish(&fixture->runs, fixture->frames, n, 1);
}

static unsigned tell(struct fixture *fixture)
{
	return tell_at(fixture, (struct runtime_thread){.self = SELF}, 2048, 2);
}

static void assert_whole(struct fixture *fixture, unsigned n)
{
	static const char *const names[] = {
		"Shape#work", "block in <main>", "Array#each", "<main>"};

	assert_true(fixture->runs.is_whole);
	assert_int_equal(n, 10);
	assert_int_equal(fixture->told, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(fixture->names[i], names[i]);
	assert_int_equal(fixture->lines[0], 21);
	assert_string_equal(fixture->files[0], "./made.rb");
	assert_int_equal(fixture->lines[2], 0);
	assert_int_equal(fixture->runs.known, (uintptr_t)fixture->image->thread);
}

static void assert_refused(struct fixture *fixture)
{
	assert_int_equal(tell(fixture), 6);
	assert_false(fixture->runs.is_whole);
	assert_int_equal(fixture->runs.known, 0);
}

static void test_what_is_whole(void **state)
{
	struct fixture *fixture = *state;

	assert_whole(fixture, tell(fixture));
	/*
	 * A frame of Ruby's module that the evaluator called runs on behalf of the evaluator's Ruby
	 * functions, so it stands outside of them, next to the evaluator.
	 */
	assert_int_equal(fixture->frames[0], WIRE_FRAME(1, 1));
	assert_true(wire_frame_is_language(fixture->frames[1]));
	assert_true(wire_frame_is_language(fixture->frames[2]));
	assert_int_equal(fixture->frames[3], WIRE_FRAME(MODULE, 2));
	assert_int_equal(fixture->frames[4], WIRE_FRAME(MODULE, 3));
	assert_whole(fixture, tell(fixture));
	fixture->runs.known = 8;
	assert_whole(fixture, tell(fixture));
}

/*
 * A called frame without a module, such as YJIT's code, stands next to the evaluator, outside of
 * its Ruby functions. Frames of Ruby's module between the two are left out.
 */
static void test_places_of_what_runs_them(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t generated = WIRE_FRAME(WIRE_MODULE_NONE, 9);

	fixture->leaf = generated;
	assert_int_equal(tell(fixture), 8);
	assert_true(fixture->runs.is_whole);
	assert_true(wire_frame_is_language(fixture->frames[0]));
	assert_true(wire_frame_is_language(fixture->frames[1]));
	assert_int_equal(fixture->frames[2], generated);
	assert_int_equal(fixture->frames[3], WIRE_FRAME(MODULE, 3));
	assert_int_equal(fixture->frames[7], WIRE_FRAME(MODULE, 3));
	fixture->callee = generated;
	fixture->leaf = WIRE_FRAME(1, 1);
	assert_whole(fixture, tell(fixture));
	assert_int_equal(fixture->frames[0], WIRE_FRAME(1, 1));
	assert_true(wire_frame_is_language(fixture->frames[2]));
	assert_int_equal(fixture->frames[3], generated);
	/*
	 * Of two frames of Ruby's module, only the one that the evaluator called is moved outside
	 * the Ruby functions, next to the evaluator's frame.
	 */
	fixture->callee = fixture->leaf = WIRE_FRAME(MODULE, 2);
	assert_whole(fixture, tell(fixture));
	assert_int_equal(fixture->frames[0], WIRE_FRAME(MODULE, 2));
	assert_true(wire_frame_is_language(fixture->frames[1]));
	/* Frames of other modules are shown inside the Ruby functions, as their callees. */
	fixture->leaf = WIRE_FRAME(1, 1);
	fixture->callee = WIRE_FRAME(1, 2);
	assert_whole(fixture, tell(fixture));
	assert_int_equal(fixture->frames[1], WIRE_FRAME(1, 2));
	assert_true(wire_frame_is_language(fixture->frames[2]));
}

/* Walk from outside: the thread's state is found by the tid or by the stack. */
static void test_from_outside(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_state states[2];
	struct runtime_reader reader;

	runtime_reader_init(&reader, getpid(), 0);
	assert_int_equal(runtime_ruby.states(&fixture->runtime, &reader, states, 2), 1);
	assert_int_equal(states[0].tid, TID);
	assert_int_equal(states[0].state, (uintptr_t)fixture->image->thread);
	assert_whole(fixture, tell_at(fixture, (struct runtime_thread){.tid = TID}, 2048, 2));
	fixture->runs.known = 0;
	assert_whole(fixture, tell_at(fixture, (struct runtime_thread){.tid = TID + 1}, 2048, 2));
}

/* Returns whether @address was read together with other addresses, which uses smaller windows. */
static int was_expected(const struct runtime_reader *reader, const void *address)
{
	const struct runtime_window *window = reader->room->windows;

	for (unsigned i = 0; i < RUNTIME_WINDOWS_MORE; i++)
		if ((uintptr_t)address - window[i].start < window[i].bytes)
			return window[i].bytes <= RUNTIME_AHEAD_BYTES;
	window = reader->windows;
	for (unsigned i = 0; i < 2; i++)
		if ((uintptr_t)address - window[i].start < window[i].bytes)
			return window[i].bytes <= RUNTIME_AHEAD_BYTES;
	return 0;
}

/*
 * The cache remembers to which code and method definition a frame's pointers led in an earlier
 * walk, and reads these together with the pointers. If the pointers have changed, the frame must
 * show what they lead to now.
 */
static void test_what_a_frame_leads_to(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	static struct runtime_cache kept;
	static struct runtime_room room;
	char *pages =
		mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ruby_body *body = (struct ruby_body *)pages, *next = body + 16;
	const struct runtime *runtime = &fixture->runtime;
	uintptr_t *definition = (uintptr_t *)(pages + PAGES_BYTES / 2);

	memset(&kept, 0, sizeof(kept));
	*body = *next = *body_of(image, WORK);
	next->first_line = LAYOUT->first_line_bytes == 8 ? 33 << 1 | 1 : 33;
	memcpy(definition, image->definition[1], sizeof(image->definition[1]));
	image->method[1].definition = (uintptr_t)definition;
	for (unsigned walks = 0; walks < 3; walks++) {
		const unsigned is_known = walks > 0;
		struct ruby_environment environment;
		struct runtime_reader reader;
		struct runtime_frame out;
		struct ruby_frame frame;

		image->code[WORK].body = (uintptr_t)(walks < 2 ? body : next);
		for (unsigned at = WORK; at <= EACH; at += EACH - WORK) {
			uintptr_t address = (uintptr_t)frame_of(image, at);

			runtime_reader_init(&reader, getpid(), 0);
			runtime_lend(&reader, &room);
			reader.cache = &kept;
			assert_int_equal(
				ruby_load_frame(runtime, &reader, address, &frame, &environment),
				0);
			assert_int_equal(read_frame(runtime, &reader, address, &frame, &environment,
						 1, &out),
				1);
			assert_int_equal(was_expected(&reader,
						 at == WORK ? (void *)body : (void *)definition),
				is_known);
			assert_int_equal(out.first_line, at == EACH ? 0 : walks < 2 ? 10 : 33);
		}
	}
	munmap(pages, PAGES_BYTES);
}

/* Refuse the stack of another thread and the stack of another fiber. */
static void test_another_stack(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(tell_at(fixture, (struct runtime_thread){.self = SELF + 1}, 2048, 2), 6);
	assert_int_equal(fixture->told, 0);
	assert_int_equal(tell_at(fixture, (struct runtime_thread){.self = SELF}, 4096, 2), 6);
	assert_false(fixture->runs.is_whole);
	assert_int_equal(fixture->told, 0);
}

/* The number of the evaluator's C frames differs from the number of LAST frames. */
static void test_counts_that_differ(void **state)
{
	struct fixture *fixture = *state;
	const struct runtime_thread thread = {.self = SELF};

	assert_int_equal(tell_at(fixture, thread, 2048, 1), 3);
	assert_false(fixture->runs.is_whole);
	/*
	 * The innermost C frame of the evaluator may have no Ruby function, because it begins or
	 * ends. More such C frames are refused.
	 */
	assert_int_equal(tell_at(fixture, thread, 2048, 3), 13);
	assert_true(fixture->runs.is_whole);
	assert_int_equal(fixture->frames[2], WIRE_FRAME(MODULE, 3));
	assert_true(wire_frame_is_language(fixture->frames[4]));
	assert_int_equal(tell_at(fixture, thread, 2048, 4), 12);
	assert_false(fixture->runs.is_whole);
}

static void test_while_the_heap_is_compacted(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->space[SPACE_FLAGS / WORD] = IS_COMPACTING;
	assert_refused(fixture);
}

static void test_while_it_ends(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->vm[VM_THREAD / WORD] = 0;
	assert_int_equal(tell(fixture), 6);
	assert_int_equal(fixture->told, 0);
}

/*
 * YJIT makes a frame the innermost one before it has filled it in, and stores no line for a frame.
 */
static void test_frames_of_generated_code(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	struct runtime_reader reader;
	uintptr_t stack[8] = {0, 0, 0, ENTRY + 8};
	uint8_t code[] = "\x49\x89\x45\x20\x49\x89\x45\x10", filler[ARCH_RUBY_CODE_BYTES] = {0};
	struct arch_registers registers = {0};
	struct unwind_activation at = {
		.pc = (uintptr_t)filler, .sp = (uintptr_t)stack, .innermost = &registers};

	if (!ARCH_RUBY_HAS_YJIT || LAYOUT->version != YJIT_VERSION)
		skip();
	runtime_reader_init(&reader, getpid(), 0);
	memcpy(filler + 8, code, sizeof(code));
	assert_int_equal(runtime_ruby.step(&fixture->runtime, &reader, NULL, &at), UNWIND_CALLER);
	assert_int_equal(at.pc, ENTRY + 8);
	assert_int_equal(at.sp, (uintptr_t)(stack + 4));
	assert_true(reader.noted_at);
	/* The instruction that makes the frame the innermost one has not been executed. */
	memcpy(filler, "\x4d\x89\x6c\x24\x10", 5);
	at = (struct unwind_activation){
		.pc = (uintptr_t)filler, .sp = (uintptr_t)stack, .innermost = &registers};
	runtime_reader_init(&reader, getpid(), 0);
	assert_int_equal(runtime_ruby.step(&fixture->runtime, &reader, NULL, &at), UNWIND_CALLER);
	assert_false(reader.noted_at);
	stack[3] = ENTRY + 16;
	runtime_reader_init(&reader, getpid(), 0);
	assert_int_equal(runtime_ruby.step(&fixture->runtime, &reader, NULL, &at), 0);
	frame_of(image, WORK)->jit_return = 1;
	frame_of(image, WORK)->instruction = 1;
	assert_int_equal(tell(fixture), 10);
	assert_int_equal(fixture->lines[0], 0);
}

static void test_no_code(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;

	image->code[WORK].flags = 0x1e; /* moved */
	assert_refused(fixture);
	frame_of(image, WORK)->code = 8;
	assert_refused(fixture);
	put_frames(image);
	frame_of(image, BLOCK)->instruction = 1;
	assert_refused(fixture);
	put_frames(image);
	image->environment[EACH].method = 8;
	assert_refused(fixture);
}

/* Refuse frames that end behind the mapped memory and frames that begin before their stack. */
static void test_cut_short(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	uintptr_t frame = context_of(image)->frame;

	context_of(image)->frame = (uintptr_t)image->end - 32;
	assert_refused(fixture);
	context_of(image)->values_count = 1ULL << 40;
	assert_refused(fixture);
	context_of(image)->values_count = 64;
	context_of(image)->frame = frame;
	assert_refused(fixture);
	context_of(image)->values_count = FRAMES * LAYOUT->frame_bytes / WORD;
	frame_of(image, BLOCK)->environment = (uintptr_t)image->end;
	assert_refused(fixture);
}

/* Circular lists come to an end. */
static void test_circles(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	const struct runtime_thread other = {.self = SELF + 1};

	image->thread[0] = (uintptr_t)image->thread;
	assert_int_equal(tell_at(fixture, other, 2048, 2), 6);
	image->ractor[LAYOUT->ractor_node / WORD] = (uintptr_t)image->ractor + LAYOUT->ractor_node;
	assert_int_equal(tell_at(fixture, other, 2048, 2), 6);
	image->environment[BLOCK].outer = (uintptr_t)&image->environment[BLOCK].flags;
	assert_int_equal(tell(fixture), 10);
}

static uint32_t line_of(struct fixture *fixture, unsigned position)
{
	const struct runtime_frame frame = {
		.position = (int32_t)position, .lines = (uintptr_t)lines_of(fixture->image, WORK)};

	runtime_forget(&fixture->runs.reader);
	return runtime_ruby.line(&fixture->runtime, &fixture->runs.reader, &frame);
}

/* Lines 21, 22, 23 begin at instructions 0, 60 and 200. */
static void test_lines(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	struct ruby_lines *lines = lines_of(image, WORK);

	for (unsigned i = 0; i < 3; i++)
		image->lines[i][0] = 21 + i;
	lines->count = 3;
	lines->index = (uintptr_t)image->index;
	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 9; k++)
			image->index[i] |= 1ULL << 7 * k;
	image->index[6] = 1;
	image->index[7] = 1;
	image->index[7] |= 1 << 9;
	for (unsigned i = 2; i < 7; i++)
		image->index[7] |= 2ULL << 9 * i;
	image->index[8] = 1ULL << (60 - COUNTED);
	image->index[8 + (200 - COUNTED) / 64] = 1ULL << (200 - COUNTED) % 64;
	runtime_reader_init(&fixture->runs.reader, getpid(), 0);
	assert_int_equal(line_of(fixture, 0), 21);
	assert_int_equal(line_of(fixture, 53), 21);
	assert_int_equal(line_of(fixture, 59), 21);
	assert_int_equal(line_of(fixture, 60), 22);
	assert_int_equal(line_of(fixture, 130), 22);
	assert_int_equal(line_of(fixture, 199), 22);
	assert_int_equal(line_of(fixture, 200), 23);
	assert_int_equal(line_of(fixture, 500), 23);
	lines->count = 2;
	assert_int_equal(line_of(fixture, 200), 0);
}

static void test_lengths_that_lie(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	uintptr_t *words = (uintptr_t *)&image->label[WORK];

	words[0] = 5u | IS_LAST | 1u << 13;
	words[2] = ~0UL;
	words[3] = (uintptr_t)bytes_of(&image->path);
	put_length(&image->path, LAYOUT->string_bytes == 2 * WORD ? 31 : ~0UL);
	assert_int_equal(tell(fixture), 10);
	assert_true(strlen(fixture->names[0]) < RUNTIME_NAME_BYTES);
	image->class[0].table[5] = ~0UL;
	image->class[0].entry[1] = 0xabc3;
	if (LAYOUT->class_name)
		image->class[0].object[LAYOUT->class_name / WORD] = (uintptr_t)image->end - WORD;
	assert_int_equal(tell(fixture), 10);
}

/*
 * A class's own method is named with a dot. Code made by define_method has the name of its block.
 */
static void test_names(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;

	put_singleton(image, 1, 0);
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->names[2], "Shape.each");
	image->definition[0][0] = RUBY_DEFINITION_BLOCK;
	put_string(&image->label[WORK], "rescue in work");
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->names[0], "rescue in work");
	image->definition[0][0] = 0;
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->names[0], "rescue in Shape#work");
}

/* Read the file name that Ruby 3.3 gives to code from a string. */
static void test_files(void **state)
{
	struct fixture *fixture = *state;
	char text[1000];

	memset(text, 'x', sizeof(text));
	memcpy(text, "(eval at /", 10);
	memcpy(text + sizeof(text) - 9, "/a.rb:12)", 9);
	fixture->image->path.flags = 5u | 1u << 13;
	((uintptr_t *)&fixture->image->path)[2] = sizeof(text);
	((uintptr_t *)&fixture->image->path)[3] = (uintptr_t)text;
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->files[0], "(eval at a.rb:12)");
	/* If any other file name is too long, its end is kept. */
	text[0] = '/';
	assert_int_equal(tell(fixture), 10);
	assert_int_equal(strlen(fixture->files[0]), RUNTIME_FILE_BYTES - 1);
	assert_string_equal(fixture->files[0] + RUNTIME_FILE_BYTES - 10, "/a.rb:12)");
	/* Show a file name without a folder, and a text that is cut short. */
	((uintptr_t *)&fixture->image->path)[3] = (uintptr_t) "(eval at b:1)";
	((uintptr_t *)&fixture->image->path)[2] = strlen("(eval at b:1)");
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->files[0], "(eval at b:1)");
	/* An eval inside an eval. */
	((uintptr_t *)&fixture->image->path)[3] = (uintptr_t) "(eval at (eval at /a/b.rb:2):1)";
	((uintptr_t *)&fixture->image->path)[2] = strlen("(eval at (eval at /a/b.rb:2):1)");
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->files[0], "(eval at (eval at b.rb:2):1)");
	((uintptr_t *)&fixture->image->path)[2] = strlen("(eval at ");
	assert_int_equal(tell(fixture), 10);
	assert_string_equal(fixture->files[0], "(eval at ");
}

/* A waiting thread has no native thread. A native thread may run several Ruby threads in turns. */
static void test_native_threads(void **state)
{
	struct fixture *fixture = *state;
	struct image *image = fixture->image;
	uintptr_t other[sizeof(image->thread) / WORD], context[sizeof(image->context) / WORD];
	struct ruby_machine *machine;
	struct runtime_state states[2];
	struct runtime_reader reader;

	if (!LAYOUT->thread_native)
		skip();
	memcpy(other, image->thread, sizeof(other));
	memcpy(context, image->context, sizeof(context));
	((struct ruby_context *)context)->thread = (uintptr_t)other;
	machine = (struct ruby_machine *)((char *)context + LAYOUT->context_stack);
	machine->stack_start = 3 * 4096;
	other[LAYOUT->thread_context / WORD] = (uintptr_t)context;
	other[0] = (uintptr_t)image->thread;
	image->ractor[LAYOUT->ractor_threads / WORD] = (uintptr_t)other;
	assert_whole(fixture, tell(fixture));
	machine->stack_start = 4096;
	assert_int_equal(tell_at(fixture, (struct runtime_thread){.self = SELF}, 8192, 2), 6);
	assert_false(fixture->runs.is_whole);
	image->ractor[LAYOUT->ractor_threads / WORD] = (uintptr_t)image->thread;
	image->thread[LAYOUT->thread_native / WORD] = 0;
	assert_int_equal(tell(fixture), 6);
	assert_int_equal(fixture->told, 0);
	runtime_reader_init(&reader, getpid(), 0);
	assert_int_equal(runtime_ruby.states(&fixture->runtime, &reader, states, 2), 0);
}

static void test_a_compiler_that_is_not_known(void **state)
{
	struct fixture *fixture = *state;

	fixture->image->is_jit_on = 1;
	assert_refused(fixture);
	fixture->runtime.objects[RUBY_JIT] = 0;
	assert_whole(fixture, tell(fixture));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const char *const releases[] = {"Ruby 3.1", "Ruby 3.3"};
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_whole),
		TEST(test_places_of_what_runs_them),
		TEST(test_from_outside),
		TEST(test_what_a_frame_leads_to),
		TEST(test_another_stack),
		TEST(test_counts_that_differ),
		TEST(test_while_the_heap_is_compacted),
		TEST(test_while_it_ends),
		TEST(test_frames_of_generated_code),
		TEST(test_no_code),
		TEST(test_cut_short),
		TEST(test_circles),
		TEST(test_lines),
		TEST(test_lengths_that_lie),
		TEST(test_names),
		TEST(test_files),
		TEST(test_native_threads),
		TEST(test_a_compiler_that_is_not_known),
	};

	int failed = 0;

	for (row = 0; row < sizeof(releases) / sizeof(releases[0]); row++)
		failed += cmocka_run_group_tests_name(releases[row], tests, NULL, NULL);
	return failed;
}
