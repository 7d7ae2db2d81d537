/* SPDX-License-Identifier: MIT */
/*
 * Read HotSpot's frames from a hostile code cache: a page with one compiled method, one stub and an
 * interpreter. The page has a fixed address, so that the input, which overwrites any of its words,
 * can make words point into the page. Reading must end and must not touch other memory, and texts
 * must fit their buffers. Memory is read by system calls, as from outside; only the sampling
 * handler uses plain loads.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libprof/runtime/hotspot.c"
#include "libprof/runtime/hotspot_code.c"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/wire.h"

#define PAGE_AT	  ((uintptr_t)0x10000000)
#define PAGES	  4096u
#define FRAMES	  256u
#define STEPS	  32u
#define AT(field) (PAGE_AT + offsetof(struct page, field))

struct page {
	uint64_t unloaded;    /* classes */
	/* code heap: low, high; its segment map: low, high, log2 of the segment size */
	uint64_t heap[5];
	uint8_t segments[32]; /* of 64 bytes */
	uint64_t queue[2];    /* interpreter: address, bytes */
	uint64_t method[4], fixed[16], constants[16], holder[4], symbols[3][4];
	uint64_t stack[64];
	/* blocks: a compiled method, a stub, the interpreter's code */
	uint8_t code[2048];
};
_Static_assert(sizeof(struct page) <= PAGES, "fits");

static const struct hotspot_offsets offsets = {.heap_memory = 0,
	.heap_segments = 16,
	.heap_segment_log = 32,
	.space_low = 0,
	.space_high = 8,
	.block_is_used = 8,
	.queue_buffer = 0,
	.queue_bytes = 8,
	.blob_name = 0,
	.header_bytes = HOTSPOT_FIELD(8, HOTSPOT_INT),
	.frame_complete = HOTSPOT_FIELD(12, HOTSPOT_INT),
	.frame_words = HOTSPOT_FIELD(16, HOTSPOT_INT),
	.code_begin = HOTSPOT_FIELD_POINTER(24),
	.code_end = HOTSPOT_FIELD_POINTER(32),
	.blob_size = 40,
	.nmethod_method = HOTSPOT_FIELD_POINTER(40),
	.scopes = HOTSPOT_FIELD_POINTER(48),
	.deopt = HOTSPOT_FIELD_POINTER(56),
	.deopt_handle = HOTSPOT_FIELD_POINTER(64),
	.original_pc = HOTSPOT_FIELD(72, HOTSPOT_INT),
	.entry = HOTSPOT_FIELD_POINTER(80),
	.loop_entry = HOTSPOT_FIELD_POINTER(88),
	.metadata = HOTSPOT_FIELD(96, HOTSPOT_INT),
	.pcs = HOTSPOT_FIELD(100, HOTSPOT_INT),
	.pcs_end = HOTSPOT_FIELD(104, HOTSPOT_INT),
	.stubs = HOTSPOT_FIELD(108, HOTSPOT_INT),
	.compile_id = HOTSPOT_FIELD(112, HOTSPOT_INT),
	.mutable_data = HOTSPOT_FIELD(0, HOTSPOT_INT), /* it lies in the nmethod */
	.immutable_data = HOTSPOT_FIELD(0, HOTSPOT_INT),
	.pc_offset = 0,
	.pc_scope = 4,
	.method_const = 8,
	.constants = 8,
	.const_flags = HOTSPOT_FIELD(28, HOTSPOT_U2),
	.code_bytes = 32,
	.name_index = 34,
	.holder = 24,
	.constants_length = 60,
	.source_index = 54,
	.klass_name = 24,
	.symbol_length = 4,
	.symbol_text = 6,
	.block_size = 16,
	.nmethod_size = 128,
	.const_size = 48,
	.constants_size = 72,
	.pc_size = 16,
	.has_lines = 1,
	.sweeper = 8};

static struct runtime_cache kept;
static struct runtime_walk_expanded expanded[RUNTIME_WALK_EXPANDED];

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	char text[RUNTIME_FILE_BYTES];

	if (hotspot_text(runs->runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0) >
			RUNTIME_NAME_BYTES ||
		hotspot_text(runs->runtime, &runs->reader, frame->file, text, RUNTIME_FILE_BYTES,
			1) > RUNTIME_FILE_BYTES)
		__builtin_trap();
	if (runtime_walk_first_line(runs, frame))
		return 0;
	return wire_language_frame(
		WIRE_LANGUAGE_BIT, frame->first_line, runtime_walk_line(runs, frame));
}

static void put(struct page *page, uint64_t at, const void *value, unsigned bytes)
{
	memcpy((char *)page + (at - PAGE_AT), value, bytes);
}

static void put_word(struct page *page, uint64_t at, uint64_t value)
{
	put(page, at, &value, sizeof(value));
}

/*
 * Put a block of the code cache at @at: its header and its blob, which has a frame of four words.
 */
static uint64_t put_blob(struct page *page, uint64_t at, uint32_t header, uint32_t bytes)
{
	const uint32_t ints[3] = {header, 4, 4};
	uint64_t blob = at + offsets.block_size;

	page->code[at - AT(code) + offsets.block_is_used] = 1;
	put_word(page, blob + offsets.blob_name, AT(symbols));
	put(page, blob + HOTSPOT_FIELD_OFFSET(offsets.header_bytes), ints, sizeof(ints));
	put_word(page, blob + HOTSPOT_FIELD_OFFSET(offsets.code_begin), blob + header);
	put_word(page, blob + HOTSPOT_FIELD_OFFSET(offsets.code_end), at + bytes);
	return blob;
}

static void put_method(struct page *page, uint64_t nmethod)
{
	static const uint32_t places[4] = {
		240, 272, 304, 280}; /* metadata, pcs, their end, stubs */
	static const int32_t pcs[] = {-1, 0, 0, 0, 8, 4, 0, 0};
	static const uint8_t scopes[] = {0, 0, 1, 8, 1, 1, 4};

	put_word(page, nmethod + HOTSPOT_FIELD_OFFSET(offsets.nmethod_method), AT(method));
	put_word(page, nmethod + HOTSPOT_FIELD_OFFSET(offsets.scopes), nmethod + 320);
	put_word(page, nmethod + HOTSPOT_FIELD_OFFSET(offsets.entry),
		nmethod + offsets.nmethod_size);
	put_word(page, nmethod + HOTSPOT_FIELD_OFFSET(offsets.original_pc), 8);
	put(page, nmethod + HOTSPOT_FIELD_OFFSET(offsets.metadata), places, sizeof(places));
	put_word(page, nmethod + 240, AT(method));
	put(page, nmethod + 272, pcs, sizeof(pcs));
	put(page, nmethod + 320, scopes, sizeof(scopes));
	page->method[1] = AT(fixed);
	page->fixed[1] = AT(constants);
	page->fixed[3] = 1ULL << 32;
	page->fixed[4] = 20 | 1ULL << 16;
	page->constants[3] = AT(holder);
	page->constants[6] = 2ULL << 48;
	page->constants[7] = 3ULL << 32;
	page->constants[10] = AT(symbols);
	page->constants[11] = AT(symbols[1]);
	page->holder[3] = AT(symbols[2]);
	for (unsigned i = 0; i < 3; i++)
		page->symbols[i][0] = 5ULL << 32 | (uint64_t)'a' << 48;
}

static void lay_out(struct page *page)
{
	uint64_t nmethod;

	memset(page, 0, PAGES);
	page->heap[0] = AT(code);
	page->heap[1] = AT(code) + sizeof(page->code);
	page->heap[2] = AT(segments);
	page->heap[3] = AT(segments) + sizeof(page->segments);
	page->heap[4] = 6;
	page->queue[0] = AT(code) + 1536;
	page->queue[1] = 512;
	for (unsigned i = 0; i < sizeof(page->segments); i++)
		page->segments[i] = (uint8_t)(i < 16 ? i : i - 16);
	nmethod = put_blob(page, AT(code), offsets.nmethod_size, 1024);
	put_blob(page, AT(code) + 1024, 64, 512);
	put_method(page, nmethod);
	/* Write frames onto the stack that return to the compiled method and to the interpreter. */
	for (unsigned i = 0; i + 4 <= 64; i += 4) {
		page->stack[i + 2] = AT(stack) + 8 * (i + 14);
		page->stack[i + 3] = i % 3 ? AT(code) + 1544 : nmethod + offsets.nmethod_size + 8;
	}
}

/* Walk the stack from @at on, as far as the frames lead. */
static void walk(struct runtime_walk *runs, uint64_t *frames, struct unwind_activation at)
{
	unsigned n = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		const struct unwind_frame frame = {.is_generated = 1};
		int answer = runtime_walk_step(runs, &at);

		n += runtime_walk_frames(runs, NULL, &frame, frames + n, FRAMES - n);
		if (answer <= 0)
			break;
		if (n > FRAMES)
			__builtin_trap();
		at.innermost = NULL;
	}
	if (runtime_walk_finish(runs, frames, n, 1) > n)
		__builtin_trap();
}

/* Run one input: 8 bytes of options, then words to overwrite: 2 bytes offset, 8 bytes value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct page *page;
	struct runtime runtime = {.kind = &runtime_hotspot,
		.base = PAGE_AT,
		.objects = {[HOTSPOT_INTERPRETER] = AT(queue),
			[HOTSPOT_CALL_STUB] = AT(code) + 1104,
			[HOTSPOT_UNLOADED] = AT(unloaded),
			[HOTSPOT_HEAPS] = AT(heap)}};
	struct runtime_walk runs = {.generator = &runtime, .expanded = expanded};
	struct arch_registers registers;
	uint64_t frames[FRAMES], word;

	if (!page)
		page = mmap((void *)PAGE_AT, PAGES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED || size < 8)
		return 0;
	memcpy(runtime.offsets, &offsets, sizeof(offsets));
	if (data[0] & 16)
		runtime.objects[HOTSPOT_UNLOADED] = 0;
	lay_out(page);
	for (size_t i = 8; i + 10 <= size; i += 10) {
		memcpy(&word, data + i + 2, sizeof(word));
		if (data[i + 1] & 0x80) /* point it into the page */
			word = PAGE_AT + word % PAGES;
		memcpy((char *)page + (data[i] * 16u + (data[i + 1] & 15)) % (PAGES - 8), &word, 8);
	}
	for (unsigned i = 0; i < ARCH_DWARF_REGS; i++)
		registers.r[i] = AT(stack) + 8u * (data[1 + i % 5] & 63);
	registers.r[ARCH_DWARF_PC] = AT(code) + data[6] * 8u + (data[7] & 7);
	runtime_walk_init(&runs, 0, word_of, NULL);
	runtime_reader_init(&runs.reader, getpid(), 0);
	if (data[0] & 4)
		runs.reader.cache = &kept;
	walk(&runs, frames,
		(struct unwind_activation){
			.pc = registers.r[ARCH_DWARF_PC],
			.sp = registers.r[ARCH_DWARF_SP],
			.fp = registers.r[ARCH_DWARF_FP],
			.has_fp = data[0] & 1,
			.innermost = data[0] & 2 ? &registers : NULL,
		});
	return 0;
}
