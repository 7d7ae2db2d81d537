/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Which modules have Ruby in them, of which release, and where are its vm and vm_exec(). Ruby 3.1
 * exports both; from 3.3 on, two exported functions lead there:
 *
 *	rb_during_gc ─▶ ruby_current_vm_ptr, which it loads first
 *	rb_iseq_eval ─▶ vm_exec ─▶ vm_exec_core, which is large
 *	             ─▶ vm_push_frame, …
 */
#include <errno.h>

#include "arch/ruby.h"
#include "libprof/runtime/ruby.h"

/* Printed by layout.py, from ruby.layout. */
const struct ruby_layout ruby_layouts[] = {
#include "libprof/runtime/ruby_layouts.inc"
};

#define LAYOUTS		    (sizeof(ruby_layouts) / sizeof(ruby_layouts[0]))
#define EVALUATOR_BYTES_MIN 8192u /* of vm_exec_core(), and more than vm_exec() has */
#define FUNCTION_BYTES_MAX  (1u << 20)
#define GLOBALS_BYTES_MAX   (1u << 20)

/* ---- code ------------------------------------------------------------------------------------ */

/* What the exported function @name loads first from an address that its code has; else 0. */
static uintptr_t find_loaded(
	struct runtime_reader *reader, struct runtime_symbols *symbols, const char *name)
{
	uintptr_t at = runtime_symbol(symbols, reader, name, NULL);
	uint8_t code[ARCH_RUBY_LOAD_BYTES];

	return at && !runtime_load(reader, at, code, sizeof(code)) ? arch_ruby_loaded(code, at) : 0;
}

/*
 * Find the next function that the code from @at to @end calls, or jumps to at its end. @at moves
 * behind that call. Returns 1 with where the function begins and ends, or 0: there are no more.
 */
static int next_callee(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t *at, uintptr_t end, uintptr_t callee[2])
{
	while (*at + ARCH_RUBY_CALL_BYTES <= end) {
		uint8_t code[ARCH_RUBY_CALL_BYTES];
		uintptr_t target;

		if (runtime_load(reader, *at, code, sizeof(code)))
			return 0;
		target = arch_ruby_target(code, *at);
		*at += ARCH_RUBY_CALL_STEP;
		if (target && !runtime_function(symbols, reader, target, &callee[0], &callee[1]) &&
			callee[0] == target)
			return 1;
	}
	return 0;
}

static int calls_evaluator(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t at, uintptr_t end)
{
	uintptr_t callee[2];

	while (next_callee(symbols, reader, &at, end, callee))
		if (callee[1] - callee[0] >= EVALUATOR_BYTES_MIN &&
			callee[1] - callee[0] <= FUNCTION_BYTES_MAX)
			return 1;
	return 0;
}

static int find_entry(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t at, end, callee[2];
	uint64_t bytes = 0;

	out->entry = runtime_symbol(symbols, reader, "rb_vm_exec", &bytes);
	out->entry_end = out->entry + bytes;
	if (out->entry)
		return 0;
	at = runtime_symbol(symbols, reader, "rb_iseq_eval", &bytes);
	end = at + (bytes < EVALUATOR_BYTES_MIN ? bytes : 0);
	while (at && next_callee(symbols, reader, &at, end, callee))
		if (callee[1] - callee[0] < EVALUATOR_BYTES_MIN &&
			calls_evaluator(symbols, reader, callee[0], callee[1])) {
			out->entry = callee[0];
			out->entry_end = callee[1];
			return 0;
		}
	return -ENOTSUP;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Note where the vm is, and all that is read of the module's data at each walk, as one range. */
static int find_globals(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	/* YJIT has a flag of its own, RJIT's options begin with one. */
	static const char *const flags[RUBY_JITS] = {"rb_yjit_enabled_p", "rb_rjit_opts"};
	uintptr_t vm = runtime_symbol(symbols, reader, "ruby_current_vm_ptr", NULL), end;
	unsigned count = 0;

	if (!vm)
		vm = find_loaded(reader, symbols, "rb_during_gc");
	if (!vm || vm % RUBY_WORD)
		return -ENOTSUP;
	out->objects[RUBY_VM] = out->base = vm;
	end = vm + RUBY_WORD;
	for (unsigned i = 0; i < RUBY_JITS; i++) {
		uintptr_t flag = runtime_symbol(symbols, reader, flags[i], NULL);

		if (!flag)
			continue;
		out->objects[RUBY_JIT + count++] = flag;
		out->base = flag < out->base ? flag : out->base;
		end = flag + 1 > end ? flag + 1 : end;
	}
	out->base_bytes = end - out->base;
	return out->base_bytes <= GLOBALS_BYTES_MAX ? 0 : -ENOTSUP;
}

/* ruby_api_version is an array: 3, 3, 0. */
int ruby_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint32_t version[3];
	uint64_t bytes = 0;
	uintptr_t at = runtime_symbol(symbols, reader, "ruby_api_version", &bytes);
	unsigned i = 0;

	if (!at || bytes != sizeof(version) || runtime_load(reader, at, version, sizeof(version)))
		return -ENOENT;
	if (!ARCH_RUBY_IS_KNOWN)
		return -ENOTSUP;
	out->version = version[0] * 100 + version[1];
	while (i < LAYOUTS && ruby_layouts[i].version != out->version)
		i++;
	if (i == LAYOUTS || find_globals(out, reader, symbols) || find_entry(out, reader, symbols))
		return -ENOTSUP;
	out->offsets[0] = i;
	/* It returns how many symbols there are, the first word of their table. */
	out->code_type = find_loaded(reader, symbols, "rb_sym_immortal_count");
	out->is_counted = out->has_inner = 1;
	return 0;
}
