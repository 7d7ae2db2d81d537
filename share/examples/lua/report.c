/* SPDX-License-Identifier: MIT */
/*
 * Report an error that no script caught. The message handler records the native stack, because Lua
 * unwinds that stack before lua_pcall() returns. The stack is kept as text, because its functions
 * may be freed before the text is printed.
 */
#include "share/examples/lua/report.h"

#include <dlfcn.h>
#include <flameprof_stub.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/examples/lua/symbols.h"

/* A runaway recursion has thousands of frames, so print only the innermost and outermost ones. */
#define INNERMOST_FRAMES 40
#define OUTERMOST_FRAMES 20
#define MOST_FRAMES	 4096

static const char *program_name = "flamelua";
static char *native_stack;

void report_name(const char *program)
{
	if (program && program[0])
		program_name = program;
}

static void print_frame(FILE *out, const struct symbols *symbols,
	const struct flameprof_backtrace_frame *frame)
{
	const char *name = frame->is_code ? frame->code.name : symbols_find(symbols, frame->pc);
	Dl_info info;

	if (!name && dladdr((void *)frame->pc, &info) && info.dli_fname) {
		name = info.dli_sname;
		if (!name) {
			fprintf(out, "\n\t[%s+0x%" PRIxPTR "]", info.dli_fname,
				frame->pc - (uintptr_t)info.dli_fbase);
			return;
		}
	}
	if (name)
		fprintf(out, "\n\t%s", name);
	else
		fprintf(out, "\n\t[0x%" PRIxPTR "]", frame->pc);
}

static void remember_native_stack(void)
{
	static struct flameprof_backtrace_frame frames[MOST_FRAMES];
	unsigned n = flameprof_backtrace(NULL, frames, MOST_FRAMES);
	struct symbols symbols;
	size_t bytes;
	FILE *out;

	free(native_stack);
	native_stack = NULL;
	out = open_memstream(&native_stack, &bytes);
	if (!out)
		return;
	symbols_init(&symbols);
	fprintf(out, "native stack:");
	for (unsigned i = 0; i < n; i++) {
		if (i == INNERMOST_FRAMES && n > INNERMOST_FRAMES + OUTERMOST_FRAMES) {
			fprintf(out, "\n\t...\t(skipping %u frames)",
				n - INNERMOST_FRAMES - OUTERMOST_FRAMES);
			i = n - OUTERMOST_FRAMES;
		}
		print_frame(out, &symbols, &frames[i]);
	}
	symbols_release(&symbols);
	fclose(out);
}

int report_handler(lua_State *L)
{
	const char *message = lua_tostring(L, 1);

	remember_native_stack();
	if (!message) {
		if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
			return 1;
		message = lua_pushfstring(
			L, "(error object is a %s value)", luaL_typename(L, 1));
	}
	luaL_traceback(L, L, message, 1);
	return 1;
}

int report(lua_State *L, int status)
{
	const char *message;

	if (status == LUA_OK)
		return 1;
	message = lua_tostring(L, -1);
	fprintf(stderr, "%s: %s\n", program_name, message ? message : "(no message)");
	if (native_stack)
		fprintf(stderr, "%s\n", native_stack);
	free(native_stack);
	native_stack = NULL;
	fflush(stderr);
	lua_pop(L, 1);
	return 0;
}

void report_usage(const char *word)
{
	if (word && (word[1] == 'e' || word[1] == 'l'))
		fprintf(stderr, "%s: '%s' needs argument\n", program_name, word);
	else
		fprintf(stderr, "%s: unrecognized option '%s'\n", program_name, word ? word : "");
	fprintf(stderr,
		"usage: %s [flamelua option...] [-e STAT] [-l MODULE] [-v] [-E] [-W] [--] "
		"[script [argument...]]\n",
		program_name);
}
