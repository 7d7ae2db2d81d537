/* SPDX-License-Identifier: MIT */
/*
 * The reader of V8's frames on a hostile heap: the input is laid out as a page of our own, at a
 * fixed address so that pointers in it can hit it, and behind it nothing is mapped. Whatever it
 * says, reading comes to an end, touches nothing else, and texts fit. Read as from outside: plain
 * loads of what could be read before are the handler's.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libprof/runtime/runs.h"
#include "libprof/runtime/v8.c"
#include "libprof/runtime/v8_code.c"
#include "libprof/runtime/v8_source.c"
#include "libprof/wire.h"

#define PAGE_AT ((uintptr_t)0x10000000)
#define PAGES	4096u
#define FRAMES	64u

static uint64_t lines[RUNS_LINES];
static struct runtime_kept kept;
static struct runs_expanded expanded[RUNS_EXPANDED];

static uint64_t word_of(struct runs *runs, struct runtime_frame *frame)
{
	char text[RUNTIME_FILE_BYTES];

	if (v8_text(runs->runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0) >
			RUNTIME_NAME_BYTES ||
		v8_text(runs->runtime, &runs->reader, frame->file, text, RUNTIME_FILE_BYTES, 1) >
			RUNTIME_FILE_BYTES)
		__builtin_trap();
	return wire_language_frame(
		WIRE_LANGUAGE_BIT, frame->first_line, runs_line(runs, frame, lines));
}

/* What looks like an object is one in the page, else the fuzzer would find hardly any. */
static void aim_pointers(uint64_t *words)
{
	for (unsigned i = 0; i < PAGES / 8; i++)
		if ((words[i] & V8_HEAP_OBJECT_MASK) == V8_HEAP_OBJECT && words[i] < 1u << 20)
			words[i] = PAGE_AT + (words[i] & (PAGES - 8)) + V8_HEAP_OBJECT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *page;
	struct runtime runtime = {.kind = &runtime_v8};
	struct v8_offsets *at = (struct v8_offsets *)runtime.offsets;
	struct runs runs = {.framed = &runtime, .expanded = expanded};
	uint64_t frames[FRAMES];
	unsigned n = 0;

	if (!page)
		page = mmap((void *)PAGE_AT, PAGES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED || size < 8)
		return 0;
	memset(page, 0, PAGES);
	memcpy(page, data + 8, size - 8 < PAGES ? size - 8 : PAGES);
	aim_pointers((uint64_t *)page);
	*at = (struct v8_offsets){
		.shared = data[0] & 1 ? 24 : 32,
		.scope = data[0] & 1 ? 16 : 24,
		.script = data[0] & 1 ? 32 : 40,
		.source = 8,
		.script_name = 16,
		.line_ends = 56,
		.first_local = data[0] & 1 ? 3 : 5,
		/* So that few bytes of input are enough to be of the right type. */
		.function_type = 1,
		.function_types = 16,
		.shared_type = data[1] & 3,
		.script_type = data[2] & 3,
		.scope_type = data[3] & 3,
		.array_type = data[4] & 3,
	};
	runs_init(&runs, 0, word_of, NULL);
	runtime_reader_init(&runs.reader, getpid(), 0);
	if (data[5] & 1)
		runtime_keep_in(&runs.reader, &kept);
	for (uintptr_t fp = PAGE_AT; fp < PAGE_AT + PAGES && n < FRAMES; fp += 64) {
		n += runs_frame(&runs, fp, fp, fp + 16, frames + n, FRAMES - n);
		runs.frame_error = 0;
	}
	if (runs_finish(&runs, frames, n, 1) > FRAMES)
		__builtin_trap();
	return 0;
}
