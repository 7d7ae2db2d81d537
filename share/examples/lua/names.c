/* SPDX-License-Identifier: MIT */
/*
 * Names of functions. A function of Lua's has none of its own: it is a value that a variable or a
 * field holds. What the caller's code calls it is Lua's own answer in error messages, too. Callers
 * in C have no such code: for a comparison function that table.sort() calls, the names around that
 * call of table.sort() say more than its line.
 */
#include "share/examples/lua/names.h"

#include <stdio.h>
#include <string.h>

/* More are not searched; registers without a name count. */
#define MOST_VARIABLES 256

/*
 * What is on top of the stack, popped, is @closure and its variable has a name of the script's:
 * those Lua makes up are in parentheses.
 */
static int is_named(lua_State *L, const char *name, const void *closure)
{
	int same = lua_topointer(L, -1) == closure && name[0] != '(' && name[0];

	lua_pop(L, 1);
	return same;
}

/* A local variable of @ar's function that holds @closure, else an upvalue: its name, or NULL. */
static const char *variable_with(lua_State *L, lua_Debug *ar, const void *closure)
{
	const char *name;

	for (int i = 1; i < MOST_VARIABLES && (name = lua_getlocal(L, ar, i)); i++)
		if (is_named(L, name, closure))
			return name;
	lua_getinfo(L, "f", ar);
	for (int i = 1; i < MOST_VARIABLES && (name = lua_getupvalue(L, -1, i)); i++)
		if (is_named(L, name, closure))
			break;
	lua_pop(L, 1);
	return name;
}

/* The function of @call is called by C: by the name it has where that was called. */
static const char *name_around(lua_State *L, struct lua_call *call)
{
	struct lua_call *around = call->previous;
	lua_Debug ar;

	while (around->previous && (around->status & LUA_CALL_C))
		around = around->previous;
	if (!around->previous)
		return NULL;
	ar.i_ci = (struct CallInfo *)around;
	return variable_with(L, &ar, call->function->of.pointer);
}

void function_name(
	lua_State *L, struct lua_call *call, int is_beginning, struct function_name *out)
{
	lua_Debug ar = {.i_ci = (struct CallInfo *)call};
	const char *name, *prefix;

	lua_getinfo(L, "nS", &ar);
	name = ar.name;
	if (!name && is_beginning && !has_begun(call) &&
		(call->previous->status & LUA_CALL_C))
		name = name_around(L, call);
	if (!strcmp(ar.what, "main"))
		name = "main chunk";
	prefix = strcmp(ar.namewhat, "metamethod") ? "" : "__";
	snprintf(out->name, sizeof(out->name), "%s%.120s", prefix, name ? name : "function");
	/* A file by the path it was loaded by; other chunks as Lua's messages show them. */
	snprintf(out->file, sizeof(out->file), "%.380s",
		ar.source[0] == '@' && ar.source[1] ? ar.source + 1 : ar.short_src);
	out->line = ar.linedefined;
}
