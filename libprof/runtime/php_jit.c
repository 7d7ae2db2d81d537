/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Step from code of opcache's JIT compiler to the interpreter. The interpreter's function
 * execute_ex() jumps to this code and back, so the code runs in that function's stack frame. The
 * code also calls subroutines of its own, which return.
 *
 * Only opcache knows where its buffer for code is. PHP's list of extensions has a function of
 * opcache, which leads to opcache's module. There, zend_jit_unprotect() loads the variables that
 * have the buffer's address and size. 8.2 exports that function. 8.4 does not, but exports
 * zend_jit_blacklist_function(), which calls zend_jit_unprotect().
 */
#include "libprof/runtime/php.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "arch/epilogue.h"
#include "arch/php.h"

#define WORD sizeof(uintptr_t)

#define EXTENSIONS_MAX	  32u
/* Offset of zend_extension.startup in a zend_llist_element. */
#define EXTENSION_STARTUP 56u
#define PAGE_BYTES	  4096u
#define PAGES_MAX	  512u /* of a module's code */
#define SEGMENTS_MAX	  16u
/* Bytes of zend_jit_blacklist_function(), up to the end of its call of zend_jit_unprotect(). */
#define CALLER_BYTES	  160u
#define SUBROUTINE_BYTES  2048u
#define CODE_AHEAD	  256u

struct php_buffer {
	uintptr_t start, bytes;
};

/* ---- the buffer ------------------------------------------------------------------------------ */

/* Find the module that contains the code of @function. Returns 0 or -ENOENT. */
static int find_module(
	struct runtime_reader *reader, uintptr_t function, struct runtime_symbols *out)
{
	uintptr_t at = function & ~(uintptr_t)(PAGE_BYTES - 1), dynamic = 0, end = 0;
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;

	for (unsigned n = 0; n < PAGES_MAX; n++, at -= PAGE_BYTES)
		if (runtime_load(reader, at, &header, sizeof(header)) ||
			!memcmp(header.e_ident, ELFMAG, SELFMAG))
			break;
	if (runtime_load(reader, at, &header, sizeof(header)) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG))
		return -ENOENT;
	for (unsigned n = 0; n < header.e_phnum && n < SEGMENTS_MAX; n++) {
		if (runtime_load(reader, at + header.e_phoff + n * sizeof(segment), &segment,
			    sizeof(segment)))
			return -ENOENT;
		if (segment.p_type == PT_DYNAMIC)
			dynamic = at + segment.p_vaddr;
		if (segment.p_type == PT_LOAD && segment.p_vaddr + segment.p_memsz > end)
			end = segment.p_vaddr + segment.p_memsz;
	}
	if (!dynamic || function - at >= end)
		return -ENOENT;
	return runtime_symbols_read(out, reader, dynamic, at);
}

/*
 * If @function is zend_jit_unprotect(), find the buffer by decoding its code. Returns 0 or -ENOENT.
 */
static int ask_function(struct runtime_reader *reader, uintptr_t function, struct php_buffer *out)
{
	uint8_t code[ARCH_PHP_CODE_BYTES];
	uintptr_t start, bytes;

	if (!function || runtime_load(reader, function, code, sizeof(code)) ||
		arch_php_find_buffer(code, function, &start, &bytes) ||
		runtime_load_word(reader, start, &out->start) ||
		runtime_load_word(reader, bytes, &out->bytes))
		return -ENOENT;
	return 0;
}

/* Find the buffer by decoding a function that @caller calls. Returns 0 or -ENOENT. */
static int ask_called(struct runtime_reader *reader, uintptr_t caller, struct php_buffer *out)
{
	uint8_t code[CALLER_BYTES];
	uintptr_t called;

	if (!caller || runtime_load(reader, caller, code, sizeof(code)))
		return -ENOENT;
	for (unsigned i = 0; i + ARCH_CALL_BYTES <= sizeof(code); i++) {
		called = arch_called(code + i, caller + i);
		if (called && !ask_function(reader, called, out))
			return 0;
	}
	return -ENOENT;
}

/* Find the buffer if @function is in opcache's module. Returns 0, or -ENOENT if it is not. */
static int ask_module(struct runtime_reader *reader, uintptr_t function, struct php_buffer *out)
{
	struct runtime_symbols symbols;

	if (!function || find_module(reader, function, &symbols))
		return -ENOENT;
	function = runtime_symbol(&symbols, reader, "zend_jit_unprotect", NULL);
	if (function)
		return ask_function(reader, function, out);
	function = runtime_symbol(&symbols, reader, "zend_jit_blacklist_function", NULL);
	return ask_called(reader, function, out);
}

/*
 * Find the buffer by the list of extensions; 0 bytes: none. Returns -ENOENT if the list is empty.
 */
static int ask_extensions(
	const struct runtime *runtime, struct runtime_reader *reader, struct php_buffer *out)
{
	uintptr_t at = runtime->objects[PHP_EXTENSIONS], startup;
	struct php_buffer found;
	unsigned n;

	*out = (struct php_buffer){0, 0};
	for (n = 0; n < EXTENSIONS_MAX && !runtime_load_word(reader, at, &at) && at; n++) {
		if (runtime_load_word(reader, at + EXTENSION_STARTUP, &startup) ||
			ask_module(reader, startup, &found))
			continue;
		*out = found;
		break;
	}
	return n || at ? 0 : -ENOENT;
}

/* Finding the buffer takes dozens of loads, so cache it for RUNTIME_AN_AGE walks. */
static struct php_buffer find_buffer(const struct runtime *runtime, struct runtime_reader *reader)
{
	uint64_t key = runtime_mix(runtime->base, reader->age), words[RUNTIME_CACHE_WORDS] = {0};
	struct php_buffer found;

	if (runtime_cache_find(reader, key, words))
		return (struct php_buffer){words[0], words[1]};
	if (ask_extensions(runtime, reader, &found))
		return (struct php_buffer){0, 0};
	words[0] = found.start;
	words[1] = found.bytes;
	runtime_cache_keep(reader, key, words);
	return found;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int read_code(const void *context, uintptr_t address, uintptr_t *word)
{
	return runtime_load_word((struct runtime_reader *)context, address, word);
}

/* Returns the target of the direct call that returns to @caller, or 0 if there is no such call. */
static uintptr_t called_before(const struct arch_text *code, uintptr_t caller)
{
	uint8_t bytes[ARCH_CALL_BYTES];

	return arch_text_read(code, caller - sizeof(bytes), bytes, sizeof(bytes)) < sizeof(bytes)
		       ? 0
		       : arch_called(bytes, caller - sizeof(bytes));
}

/*
 * If @at is in a subroutine of compiled code, step to the caller. The return address is on top of
 * the stack, or one word further if a word aligns the stack.
 */
static void leave_subroutine(
	struct runtime_reader *reader, const struct arch_text *code, struct unwind_activation *at)
{
	uintptr_t caller;

	for (unsigned slot = 0; slot < 2; slot++) {
		if (runtime_load_word(reader, at->sp + slot * WORD, &caller) ||
			caller - code->start >= code->end - code->start ||
			at->pc - called_before(code, caller) >= SUBROUTINE_BYTES)
			continue;
		at->pc = caller;
		at->sp += (slot + 1) * WORD;
		return;
	}
}

/* Returns the number of bytes that compiled code has pushed at @pc. Reads the code ahead. */
static uint32_t count_pushed(
	struct runtime_reader *reader, const struct arch_text *code, uintptr_t pc)
{
	uintptr_t start = pc & ~(WORD - 1), bytes = code->end - start;

	runtime_expect(reader, start, bytes < CODE_AHEAD ? bytes : CODE_AHEAD);
	return arch_php_pushed(code, pc);
}

int php_leave_compiled(
	const struct runtime *runtime, struct runtime_reader *reader, struct unwind_activation *at)
{
	struct php_buffer buffer = {0, 0};
	struct arch_text code;

	if (ARCH_PHP_HAS_JIT && runtime->objects[PHP_EXTENSIONS])
		buffer = find_buffer(runtime, reader);
	if (at->pc - buffer.start >= buffer.bytes)
		return 0;
	code = (struct arch_text){buffer.start, buffer.start + buffer.bytes, read_code, reader};
	leave_subroutine(reader, &code, at);
	at->sp += count_pushed(reader, &code, at->pc);
	at->pc = runtime->entry + (runtime->entry_end - runtime->entry) / 2;
	return UNWIND_INSIDE;
}
