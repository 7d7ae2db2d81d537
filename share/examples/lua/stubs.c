/* SPDX-License-Identifier: MIT */
/* Make a function's stub when it is called for the first time, and free it with the function. */
#include "share/examples/lua/stubs.h"

#include <errno.h>
#include <flameprof_stub.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/examples/lua/calls.h"
#include "share/examples/lua/names.h"

__thread struct stub_table stub_table;

static __thread struct flameprof_arena *arena, *resuming_arena;
/* Set when a Lua state is closed. Then no stub is freed, because it may still be running. */
static __thread int is_closing;

int stubs_init(void)
{
	int error = flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL,
		(flameprof_function *)__real_luaV_execute, NULL);

	if (error)
		return error;
	error = flameprof_arena_new(&resuming_arena, FLAMEPROF_STUB_CALL,
		(flameprof_function *)flamelua_resume, NULL);
	if (error)
		return error;
	if (flameprof_arena_status(arena) == FLAMEPROF_STUBS_DENIED)
		return -ENOTSUP;
	return stub_table_init(&stub_table);
}

/* Copy name and file name into one block. Returns an owned block, or NULL if out of memory. */
static char *keep_name(const struct function_name *function)
{
	size_t name_bytes = strlen(function->name) + 1, file_bytes = strlen(function->file) + 1;
	char *kept = malloc(name_bytes + file_bytes);

	if (kept) {
		memcpy(kept, function->name, name_bytes);
		memcpy(kept + name_bytes, function->file, file_bytes);
	}
	return kept;
}

static flameprof_function *new_stub(struct flameprof_arena *from, const struct stub *stub)
{
	char text[FUNCTION_NAME_BYTES + FUNCTION_FILE_BYTES + 16];
	const char *file = stub->name + strlen(stub->name) + 1;

	if (stub->proto->first_line)
		snprintf(text, sizeof(text), "%s (%s:%d)", stub->name, file,
			stub->proto->first_line);
	else
		snprintf(text, sizeof(text), "%s (%s)", stub->name, file);
	return flameprof_stub_new(from, text, (uintptr_t)stub->proto);
}

static struct stub *get(lua_State *L, struct lua_call *call, int is_beginning)
{
	const struct lua_proto *proto = proto_of(call);
	struct stub *stub = stub_table_find(&stub_table, proto);
	struct function_name function;
	char *name;

	if (stub)
		return stub;
	function_name(L, call, is_beginning, &function);
	name = keep_name(&function);
	stub = name ? stub_table_add(&stub_table, proto) : NULL;
	if (!stub) {
		free(name);
		return NULL;
	}
	stub->name = name;
	stub->run = (run_call *)new_stub(arena, stub);
	return stub;
}

struct stub *stub_get(lua_State *L, struct lua_call *call)
{
	return get(L, call, 0);
}

run_call *stub_make(lua_State *L, struct lua_call *call)
{
	const struct stub *stub = get(L, call, 1);

	return stub ? stub->run : __real_luaV_execute;
}

run_resumed *stub_resume(lua_State *L, struct lua_call *call)
{
	struct stub *stub = get(L, call, 0);

	if (!stub)
		return flamelua_resume;
	if (!stub->resume)
		stub->resume = (run_resumed *)new_stub(resuming_arena, stub);
	return stub->resume;
}

void __wrap_luaF_freeproto(lua_State *L, struct lua_proto *proto)
{
	struct stub *stub = NULL;

	if (stub_table.places && !is_closing)
		stub = stub_table_find(&stub_table, proto);
	if (stub) {
		flameprof_stub_free(arena, (flameprof_function *)stub->run);
		flameprof_stub_free(resuming_arena, (flameprof_function *)stub->resume);
		free(stub->name);
		stub_table_remove(&stub_table, stub);
	}
	__real_luaF_freeproto(L, proto);
}

void stubs_keep(void)
{
	is_closing = 1;
}
