/* SPDX-License-Identifier: MIT */
/*
 * The table of stubs.h: open addressing, and what follows a place that is freed moves up, so that
 * millions of short-lived functions leave nothing behind.
 */
#include "share/examples/lua/stubs.h"

#include <errno.h>
#include <flameprof_stub.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/examples/lua/calls.h"
#include "share/examples/lua/names.h"

#define FIRST_PLACES 1024

__thread struct stub_table stub_table;

static __thread struct flameprof_arena *arena, *resuming_arena;
/* A state that is being closed: its functions are freed while their stubs are still running. */
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
	stub_table.places = calloc(FIRST_PLACES, sizeof(*stub_table.places));
	if (!stub_table.places)
		return -ENOMEM;
	stub_table.mask = FIRST_PLACES - 1;
	return 0;
}

static struct stub *find(const struct lua_proto *proto)
{
	for (size_t i = stub_home(proto, stub_table.mask);; i++) {
		struct stub *stub = &stub_table.places[i & stub_table.mask];

		if (!stub->proto || stub->proto == proto)
			return stub;
	}
}

static int grow(void)
{
	struct stub_table old = stub_table;
	size_t places = (old.mask + 1) * 2;
	struct stub *bigger = calloc(places, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	stub_table.places = bigger;
	stub_table.mask = places - 1;
	for (size_t i = 0; i <= old.mask; i++)
		if (old.places[i].proto)
			*find(old.places[i].proto) = old.places[i];
	free(old.places);
	return 0;
}

/* Name and file in one block. Returns NULL without memory. */
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

struct stub *stub_get(lua_State *L, struct lua_call *call)
{
	const struct lua_proto *proto = proto_of(call);
	struct stub *stub = find(proto);
	struct function_name function;
	char *name;

	if (stub->proto)
		return stub;
	if (stub_table.used * 2 > stub_table.mask && grow())
		return NULL;
	function_name(L, call, &function);
	name = keep_name(&function);
	if (!name)
		return NULL;
	stub = find(proto);
	*stub = (struct stub){.proto = proto, .name = name};
	stub->run = (run_call *)new_stub(arena, stub);
	stub_table.used++;
	return stub;
}

run_call *stub_make(lua_State *L, struct lua_call *call)
{
	struct stub *stub = stub_get(L, call);

	return stub ? stub->run : __real_luaV_execute;
}

run_resumed *stub_resume(lua_State *L, struct lua_call *call)
{
	struct stub *stub = stub_get(L, call);

	if (!stub)
		return flamelua_resume;
	if (!stub->resume)
		stub->resume = (run_resumed *)new_stub(resuming_arena, stub);
	return stub->resume;
}

static void forget(struct stub *stub)
{
	size_t mask = stub_table.mask, hole = (size_t)(stub - stub_table.places);

	stub_table.used--;
	for (size_t i = hole;;) {
		i = (i + 1) & mask;
		if (!stub_table.places[i].proto)
			break;
		/* What begins to look behind the hole does not look into it. */
		size_t home = stub_home(stub_table.places[i].proto, mask);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		stub_table.places[hole] = stub_table.places[i];
		hole = i;
	}
	stub_table.places[hole] = (struct stub){0};
}

void __wrap_luaF_freeproto(lua_State *L, struct lua_proto *proto)
{
	struct stub *stub = stub_table.places && !is_closing ? find(proto) : NULL;

	if (stub && stub->proto) {
		flameprof_stub_free(arena, (flameprof_function *)stub->run);
		flameprof_stub_free(resuming_arena, (flameprof_function *)stub->resume);
		free(stub->name);
		forget(stub);
	}
	__real_luaF_freeproto(L, proto);
}

void stubs_keep(void)
{
	is_closing = 1;
}
