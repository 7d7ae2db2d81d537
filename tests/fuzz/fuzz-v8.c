/* SPDX-License-Identifier: MIT */
/*
 * Read V8's frames from a hostile heap: a page with one function that is interpreted, compiled by
 * the baseline compiler, and optimised with itself inlined. The page has a fixed address, so that
 * the input, which overwrites any of its words, can make words point into the page; nothing is
 * mapped behind it. Reading must end and must not touch other memory, and texts must fit their
 * buffers. Memory is read by system calls, as from outside; only the sampling handler uses plain
 * loads.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libprof/runtime/runtime_walk.h"
#include "libprof/runtime/v8.c"
#include "libprof/runtime/v8_code.c"
#include "libprof/runtime/v8_source.c"
#include "libprof/wire.h"
#include "tests/unit/v8-fixture.h"

#define PAGE_AT	     ((uintptr_t)0x10000000)
#define PAGES	     4096u
#define FRAMES	     64u
#define PLACE(field) (PAGE_AT + offsetof(struct page, field))

#define INSTRUCTIONS 160u

/* An instruction stream: its header, then the instructions. */
struct stream {
	_Alignas(32) uint64_t head[4];
	uint8_t code[INSTRUCTIONS];
};

struct page {
	struct stream baseline, optimised;
	uint64_t maps[V8_TYPES + 1][2]; /* in the order of the types */
	uint64_t function[8], shared[8], scope[16], script[16], array[8];
	uint64_t source[8], name[8], file[8];
	uint64_t bytecode[16], code[2][8], data[12], literals[4], calls[8];
	/* position tables of bytecode, baseline code and optimised code */
	uint8_t tables[4][64];
	uint64_t handlers[8];
	uint8_t sizes[3][6];
	/* for each frame: 48 bytes below fp, fp, return address */
	uint64_t stack[8][8];
};
_Static_assert(sizeof(struct page) <= PAGES, "fits");

static struct runtime_cache kept;
static struct runtime_room lent;
static struct runtime_walk_expanded expanded[RUNTIME_WALK_EXPANDED];

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	char text[RUNTIME_FILE_BYTES];

	if (v8_text(runs->runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0) >
			RUNTIME_NAME_BYTES ||
		v8_text(runs->runtime, &runs->reader, frame->file, text, RUNTIME_FILE_BYTES, 1) >
			RUNTIME_FILE_BYTES)
		__builtin_trap();
	return wire_language_frame(
		WIRE_LANGUAGE_BIT, frame->first_line, runtime_walk_line(runs, frame));
}

/* ---- the page -------------------------------------------------------------------------------- */

static uint64_t pointer(uintptr_t at)
{
	return at + V8_HEAP_OBJECT;
}

/* Return the map pointer, which is the first word of an object of @type. */
static uint64_t map_of(uint32_t type)
{
	unsigned index = type == TYPE_FUNCTION	 ? 0
			 : type == TYPE_ONE_BYTE ? V8_TYPES
						 : type - TYPE_SHARED + 1;

	return pointer(PLACE(maps) + 16 * index);
}

static void put_text(uint64_t at[8], const char *text)
{
	uint32_t length = (uint32_t)strlen(text);

	at[0] = map_of(TYPE_ONE_BYTE);
	memcpy((char *)at + V8_STRING_LENGTH, &length, sizeof(length));
	memcpy(at + 2, text, length);
}

/* Make an array object of bytes. Returns a pointer to it. */
static uint64_t put_table(struct page *page, unsigned index, const uint8_t *bytes, uint32_t length)
{
	const uint64_t head[2] = {map_of(TYPE_ARRAY), number(length)};

	memcpy(page->tables[index], head, sizeof(head));
	memcpy(page->tables[index] + sizeof(head), bytes, length);
	return pointer(PLACE(tables) + index * sizeof(page->tables[0]));
}

static void put_code(
	struct page *page, unsigned index, uint32_t kind, uint64_t data, uint64_t table)
{
	struct stream *stream = index ? &page->optimised : &page->baseline;
	uintptr_t at = index ? PLACE(optimised) : PLACE(baseline);

	stream->head[0] = map_of(TYPE_CODE);
	stream->head[1] = pointer(PLACE(code) + index * sizeof(page->code[0]));
	page->code[index][0] = map_of(TYPE_CODE);
	page->code[index][1] = data;
	page->code[index][2] = table;
	page->code[index][5] = at + sizeof(stream->head);
	page->code[index][6] = (uint64_t)INSTRUCTIONS << 32 | kind;
}

static void put_function(struct page *page)
{
	static const uint16_t types[V8_TYPES + 1] = {TYPE_FUNCTION, TYPE_SHARED, TYPE_SCRIPT,
		TYPE_SCOPE, TYPE_ARRAY, TYPE_BYTECODE, TYPE_CODE, TYPE_ONE_BYTE};

	for (unsigned i = 0; i <= V8_TYPES; i++)
		memcpy((char *)page->maps[i] + V8_TYPE_OF_MAP, &types[i], sizeof(types[i]));
	put_text(page->source, "one\ntwo\nthree\nfour");
	put_text(page->name, "work");
	put_text(page->file, "/where/x.js");
	page->function[0] = map_of(TYPE_FUNCTION);
	page->function[3] = pointer(PLACE(shared));
	page->shared[0] = map_of(TYPE_SHARED);
	page->shared[1] = pointer(PLACE(code));
	page->shared[2] = pointer(PLACE(scope));
	page->shared[4] = pointer(PLACE(script));
	page->script[0] = map_of(TYPE_SCRIPT);
	page->script[1] = pointer(PLACE(source));
	page->script[2] = pointer(PLACE(file));
	page->scope[0] = map_of(TYPE_SCOPE);
	page->scope[1] = number(1u << 12 | SCOPE_INFERRED);
	page->scope[3] = number(1);
	page->scope[6] = pointer(PLACE(name));
	page->scope[9] = number(8);
	page->scope[10] = number(18);
}

/*
 * Fill the position tables. An entry has a distance in code and a distance in the source, both
 * zigzag-encoded (times 2). A source position is the offset of a character times 2.
 */
static void put_tables(struct page *page)
{
	static const uint8_t sizes[3][6] = {
		{1, 1, 1, 1, 1, 2}, {1, 1, 1, 1, 1, 3}, {1, 1, 1, 1, 1, 5}};
	static const uint8_t bytecodes[] = {4, 5, 0, 0, 5, 0, 0, 4, 4, 4};
	static const uint8_t lines_at[] = {2, 36, 12, 12};
	static const uint8_t code_of[] = {40, 10, 10, 10, 10, 10, 10};
	/* Code offset 9 is character 8. Code offset 17 is character 9 in the second inlining. */
	static const uint8_t inlined_at[] = {18, 36, 16, 132, 128, 128, 128, 32};
	const uint64_t calls[2][2] = {{(8 + 1) << 1, 0}, {(uint64_t)(9 + 1) << 1 | 1ULL << 31, 0}};

	memcpy(page->sizes, sizes, sizeof(sizes));
	page->bytecode[0] = map_of(TYPE_BYTECODE);
	page->bytecode[1] = number(sizeof(bytecodes));
	page->bytecode[4] = put_table(page, 0, lines_at, sizeof(lines_at));
	memcpy(page->bytecode + 7, bytecodes, sizeof(bytecodes));
	put_code(page, 0, 10, pointer(PLACE(bytecode)),
		put_table(page, 1, code_of, sizeof(code_of)));
	page->literals[0] = map_of(TYPE_ARRAY);
	page->literals[1] = number(1);
	page->literals[2] = pointer(PLACE(shared)) + 2; /* weak */
	page->calls[0] = map_of(TYPE_ARRAY);
	page->calls[1] = number(sizeof(calls));
	memcpy(page->calls + 2, calls, sizeof(calls));
	page->data[0] = map_of(TYPE_ARRAY);
	page->data[1] = number(10);
	page->data[4] = pointer(PLACE(literals));
	page->data[8] = pointer(PLACE(shared));
	page->data[9] = pointer(PLACE(calls));
	put_code(page, 1, 12, pointer(PLACE(data)),
		put_table(page, 2, inlined_at, sizeof(inlined_at)));
	page->handlers[4] = PLACE(sizes);
}

static void lay_out(struct page *page)
{
	memset(page, 0, PAGES);
	put_function(page);
	put_tables(page);
	for (unsigned i = 0; i < 8; i++) {
		page->stack[i][1] = number(55 + i); /* offset, array, …, function, context */
		page->stack[i][2] = pointer(PLACE(bytecode));
		page->stack[i][4] = pointer(PLACE(function));
		page->stack[i][5] = pointer(PLACE(array));
		page->stack[i][7] = PLACE(baseline.code) + 41;
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Return the program counter of a frame in the kind of code that @how selects. */
static uintptr_t pc_of(uint8_t how)
{
	uintptr_t at = (uintptr_t)(how >> 2);

	return how % 4 == 1   ? PLACE(baseline.code) + 2 * at
	       : how % 4 == 2 ? PLACE(optimised.code) + at
			      : 0;
}

/* Run one input: 8 bytes of options, then words to overwrite: 2 bytes offset, 8 bytes value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct page *page;
	/* number of the input, so that facts cached for one input are not used for the next */
	static uint64_t inputs;
	struct runtime runtime = {
		.kind = &runtime_v8, .version = 1204, .base = PLACE(sizes), .base_bytes = 18};
	struct runtime_walk runs = {.generator = &runtime, .expanded = expanded, .epoch = ++inputs};
	struct arch_registers registers = {0};
	uint64_t frames[FRAMES], word;
	unsigned n = 0;

	if (!page)
		page = mmap((void *)PAGE_AT, PAGES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED || size < 8)
		return 0;
	memcpy(runtime.offsets, &published_offsets, sizeof(published_offsets));
	lay_out(page);
	for (size_t i = 8; i + 10 <= size; i += 10) {
		memcpy(&word, data + i + 2, sizeof(word));
		if (data[i + 1] & 0x80) /* point it into the page */
			word = PAGE_AT + word % PAGES;
		memcpy((char *)page + (data[i] * 16u + (data[i + 1] & 15)) % (PAGES - 8), &word, 8);
	}
	registers.r[ARRAY_REGISTER] = pointer(PLACE(bytecode));
	registers.r[OFFSET_REGISTER] = 55u + data[6];
	registers.r[ARCH_V8_DISPATCH] = PLACE(handlers);
	registers.r[ARCH_DWARF_PC] =
		data[0] & 4 ? PLACE(sizes) + 8 : PLACE(optimised.code) + data[7];
	registers.r[ARCH_DWARF_SP] = data[0] & 8 ? PLACE(stack) : PLACE(stack) + 56;
	runtime_walk_init(&runs, 0, word_of, NULL);
	runtime_reader_init(&runs.reader, getpid(), 0);
	runtime_lend(&runs.reader, &lent);
	if (data[0] & 1)
		runs.reader.cache = &kept;
	for (unsigned i = 0; i < 8; i++) {
		uintptr_t fp = PLACE(stack) + i * 64 + 48;

		uintptr_t pc = pc_of(data[1 + i % 5] + (uint8_t)(i << 4)), sp = fp - 48;
		const struct unwind_frame frame = {.pc = pc,
			.sp = sp,
			.caller_sp = fp + 16,
			.fp = fp,
			.is_generated = pc != 0,
			.innermost = data[0] & 2 && registers.r[ARCH_DWARF_SP] == sp ? &registers
										     : NULL};

		n += runtime_walk_frames(&runs, NULL, &frame, frames + n, FRAMES - n);
		runs.frame_error = 0;
	}
	if (runtime_walk_finish(&runs, frames, n, 1) > FRAMES)
		__builtin_trap();
	return 0;
}
