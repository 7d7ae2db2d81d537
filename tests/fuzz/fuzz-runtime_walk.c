/* SPDX-License-Identifier: MIT */
/*
 * Read stacks of Python, PHP, Ruby, Perl, Lua and LuaJIT from hostile memory. The input is a page
 * at a fixed address, so that its words can point into it; nothing is mapped behind it. Reading
 * must end and must not touch other memory.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libprof/runtime/cpython.c"
#include "libprof/runtime/lua.h"
#include "libprof/runtime/runtime_walk.h"
#include "libprof/wire.h"

#define PAGE_AT	      ((uintptr_t)0x10000000)
#define PAGES	      4096u
#define FRAMES	      256u
#define RUBY_RELEASES 2u /* rows of ruby_layouts.inc */
#define PERL_RELEASES 3u /* and of perl_layouts.inc */

static uint64_t frames[FRAMES];

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	const struct runtime *runtime = runs->runtime;
	char text[RUNTIME_FILE_BYTES];

	if (runtime->kind->text(runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0) >
			RUNTIME_NAME_BYTES ||
		runtime->kind->text(runtime, &runs->reader, frame->file, text, RUNTIME_FILE_BYTES,
			1) > RUNTIME_FILE_BYTES)
		__builtin_trap();
	return wire_language_frame(
		WIRE_LANGUAGE_BIT, frame->first_line, runtime_walk_line(runs, frame));
}

/*
 * Read the registers of a frame from the page, at an offset that depends on the frame's stack
 * pointer.
 */
static uint64_t registers_of(const struct unwind_frame *frame, struct arch_registers *out)
{
	memcpy(out, (const void *)(PAGE_AT + (frame->sp - PAGE_AT) / 2), sizeof(*out));
	return out->r[0];
}

/* Walk a stack whose native frames of the evaluator lie all over the page. */
static void tell(const struct runtime *runtime, uintptr_t known)
{
	struct runtime_walk runs = {.known = known};
	unsigned n = 0;

	runtime_walk_init(&runs, 0, word_of, NULL);
	runtime_reader_init(&runs.reader, getpid(), 0);
	for (uintptr_t sp = PAGE_AT; sp < PAGE_AT + PAGES && n < FRAMES; sp += 64) {
		const struct unwind_frame frame = {.pc = sp,
			.sp = sp,
			.caller_sp = sp + 64,
			.caller_pc = sp + 64,
			.registers = registers_of};

		n += runtime_walk_frames(&runs, runtime, &frame, frames + n, FRAMES - n);
	}
	if (runtime_walk_finish(&runs, frames, n, 1) > FRAMES)
		__builtin_trap();
}

static void tell_php(const uint8_t *data)
{
	const struct runtime runtime = {
		.kind = &runtime_php,
		.offsets = {data[7] % 2}, /* which release's layout */
		.is_counted = 1,
		.base = PAGE_AT,
		.base_bytes = PAGES,
		.code_type = PAGE_AT + data[1] * 8u,
		.entry = PAGE_AT,
		.entry_end = PAGE_AT + PAGES,
		.objects = {PAGE_AT + data[5] * 8u, PAGE_AT, PAGE_AT + PAGES, PAGE_AT + 1,
			PAGE_AT + PAGES},
	};
	struct unwind_activation at = {.pc = PAGE_AT + data[3] * 8u, .sp = PAGE_AT + data[2] * 8u};
	struct runtime_reader reader;
	struct runtime_stack stack = {.own = {data[6] * 8u}};

	tell(&runtime, 0);
	runtime_reader_init(&reader, getpid(), 0);
	runtime_php.step(&runtime, &reader, &stack, &at);
	at.question = UNWIND_STACK_END;
	for (unsigned n = 0; n < 16 && runtime_php.step(&runtime, &reader, &stack, &at); n++)
		at.pc = PAGE_AT;
}

static void tell_ruby(const uint8_t *data)
{
	const struct runtime runtime = {
		.kind = &runtime_ruby,
		.is_counted = 1,
		.has_inner = 1,
		.offsets = {data[4] / 6 % RUBY_RELEASES},
		.objects = {PAGE_AT, data[4] & 128 ? PAGE_AT + data[5] : 0},
		.base = PAGE_AT,
		.base_bytes = sizeof(uintptr_t),
		.code_type = PAGE_AT + data[1] * 8u,
		.entry = PAGE_AT,
		.entry_end = PAGE_AT + PAGES,
	};
	struct unwind_activation at = {.pc = PAGE_AT + data[3], .sp = PAGE_AT + data[2] * 8u};
	const struct arch_registers registers = {0};
	struct runtime_reader reader;
	struct runtime_state states[16];

	tell(&runtime, data[2] ? PAGE_AT + data[2] * 8u : 0);
	runtime_reader_init(&reader, getpid(), 0);
	runtime_ruby.states(&runtime, &reader, states, 16);
	at.innermost = &registers;
	runtime_ruby.step(&runtime, &reader, NULL, &at);
}

static void put_word(char *page, size_t offset, uintptr_t word)
{
	memcpy(page + offset % PAGES, &word, sizeof(word));
}

/*
 * Make Perl's structures of the input. Words whose highest byte is 1 become pointers into the page.
 */
static void tell_perl(const uint8_t *data, char *page)
{
	uintptr_t info = data[5] * 8u, word;

	for (size_t i = 0; i < PAGES; i += sizeof(word)) {
		memcpy(&word, page + i, sizeof(word));
		if (word >> 56 == 1)
			put_word(page, i, PAGE_AT + word % PAGES);
	}
	put_word(page, data[1] * 8u, PAGE_AT);
	put_word(page, 760, PAGE_AT + PAGES);
	put_word(page, 776, PAGE_AT + PAGES);
	put_word(page, 224, PAGE_AT + info);
	put_word(page, 216, 0);
	put_word(page, info, 0);
	put_word(page, info + 8, PAGE_AT + data[6] * 8u);
	const struct runtime runtime = {
		.kind = &runtime_perl,
		.is_counted = 1,
		.is_joined = 1,
		.offsets = {data[4] / 6 % PERL_RELEASES},
		.joiner = PAGE_AT + data[2] * 8u,
		.joiner_end = PAGE_AT + data[2] * 16u,
		.base = PAGE_AT + data[1] * 8u,
		.base_bytes = sizeof(uintptr_t),
		.entry = PAGE_AT,
		.entry_end = PAGE_AT + data[2] * 16u,
		.start = PAGE_AT + data[2] * 16u,
		.start_end = PAGE_AT + PAGES,
	};

	tell(&runtime, data[3] % 2 ? runtime.base : 0);
}

/*
 * Make a Lua state at the page's start. Words whose highest byte is 1 become pointers into the
 * page.
 */
static void tell_lua(const uint8_t *data, char *page)
{
	const struct lua_layout *layout = &lua_layouts[data[1] % 4];
	struct runtime runtime = {
		.kind = &runtime_lua,
		.is_counted = 1,
		.offsets = {data[1] % 4},
		.base = PAGE_AT,
		.base_bytes = 16,
		.entry = PAGE_AT,
		.entry_end = PAGE_AT + PAGES,
		.objects = {PAGE_AT, PAGE_AT + data[2] * 16u},
	};
	struct runtime_symbols symbols = {.bias = PAGE_AT, .eh_frame_hdr = PAGE_AT + data[3] * 8u};
	struct runtime_reader reader;
	uintptr_t word, begin, end;

	for (size_t i = 0; i < PAGES; i += sizeof(word)) {
		memcpy(&word, page + i, sizeof(word));
		if (word >> 56 == 1)
			put_word(page, i, PAGE_AT + word % PAGES);
	}
	page[8] = 8;
	put_word(page, layout->state_global, PAGE_AT + 256);
	put_word(page, 256u + layout->global_main, PAGE_AT);
	put_word(page, layout->state_stack, PAGE_AT);
	put_word(page, layout->state_stack_end, PAGE_AT + PAGES);
	put_word(page, layout->state_call, PAGE_AT + data[5] * 16u);
	tell(&runtime, 0);
	runtime_reader_init(&reader, getpid(), 0);
	runtime_function(&symbols, &reader, PAGE_AT + data[6] * 16u, &begin, &end);
	if (!runtime_symbols_read(&symbols, &reader, PAGE_AT + data[7] * 16u, PAGE_AT)) {
		symbols.eh_frame_hdr = PAGE_AT + data[3] * 8u;
		runtime_lua.find(&runtime, &reader, &symbols);
	}
}

/*
 * Make a LuaJIT state at offset 0 and its global state at 128. Words whose highest byte is 1 become
 * pointers into the page.
 */
static void tell_luajit(const uint8_t *data, char *page)
{
	const struct runtime runtime = {
		.kind = &runtime_luajit,
		.is_counted = 1,
		.base = PAGE_AT,
		.base_bytes = PAGES,
		.entry = PAGE_AT,
		.entry_end = PAGE_AT + (data[1] % 2 ? PAGES : 1),
	};
	struct unwind_activation at = {.pc = PAGE_AT + data[3] * 8u,
		.sp = PAGE_AT + data[2] * 8u,
		.question = data[1] % 2 ? UNWIND_OWN_CODE : UNWIND_GENERATED};
	struct arch_registers registers;
	struct runtime_reader reader;
	uintptr_t word;

	for (size_t i = 0; i < PAGES; i += sizeof(word)) {
		memcpy(&word, page + i, sizeof(word));
		if (word >> 56 == 1)
			put_word(page, i, PAGE_AT + word % PAGES);
	}
	page[9] = 6;
	put_word(page, 16, PAGE_AT + 128);
	put_word(page, 32, PAGE_AT + data[5] * 16u);
	put_word(page, 48, PAGE_AT + PAGES);
	put_word(page, 56, PAGE_AT + 512);
	put_word(page, 80, PAGE_AT + data[6] * 64u);
	put_word(page, 128 + 192, PAGE_AT);
	put_word(page, 128 + 368, PAGE_AT);
	tell(&runtime, 0);
	runtime_reader_init(&reader, getpid(), 0);
	memcpy(&registers, page, sizeof(registers));
	at.innermost = data[1] % 4 < 2 ? &registers : NULL;
	runtime_luajit.step(&runtime, &reader, NULL, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *page;
	struct runtime runtime = {.kind = &runtime_cpython, .base = PAGE_AT};
	struct runtime_reader reader;
	struct runtime_symbols symbols;
	struct runtime_state states[16];
	const struct cpython_offsets *row;

	if (!page)
		page = mmap((void *)PAGE_AT, PAGES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED || size < 8)
		return 0;
	memset(page, 0, PAGES);
	memcpy(page, data + 8, size - 8 < PAGES ? size - 8 : PAGES);
	if (data[4] % 6 < 2) {
		(data[4] % 6 ? tell_ruby : tell_php)(data);
		return 0;
	}
	if (data[4] % 6 < 5) {
		(data[4] % 6 == 2	   ? tell_perl
			: data[4] % 6 == 3 ? tell_lua
					   : tell_luajit)(data, page);
		return 0;
	}
	runtime_reader_init(&reader, getpid(), 0);
	row = &layouts[data[0] % LAYOUTS];
	runtime.version = row->version;
	if (data[0] >= 128) {
		const uint64_t version = 3ull << 24 | (row->version % 100) << 16 | 0xf0;

		memcpy(page, "xdebugpy", 8);
		memcpy(page + 8, &version, sizeof(version));
	}
	runtime.is_counted = runtime.version < 310;
	runtime.entry = PAGE_AT;
	runtime.entry_end = PAGE_AT + PAGES;
	runtime.code_type = PAGE_AT + data[1];
	/*
	 * Use the version's offsets; from PUBLISHED_FROM on, use those that the process publishes.
	 */
	memcpy(runtime.offsets, row, sizeof(*row));
	if (runtime.version < PUBLISHED_FROM || !read_published(&runtime, &reader, row)) {
		tell(&runtime, data[2] ? PAGE_AT + data[2] * 8u : 0);
		runtime_cpython.states(&runtime, &reader, states, 16);
	}
	if (!runtime_symbols_read(&symbols, &reader, PAGE_AT, data[3]))
		runtime_symbol(&symbols, &reader, "_PyRuntime", NULL);
	return 0;
}
