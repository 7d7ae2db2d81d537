/* SPDX-License-Identifier: MIT */
/*
 * Find names of functions. A Lua function has no name of its own, because it is the value of a
 * variable or a field. Like Lua's error messages, use the name of this variable or field in the
 * caller's code. A caller in C has no Lua code: for a comparison function that table.sort() calls,
 * search the variables of the Lua function that called table.sort().
 */
#include "share/examples/lua/names.h"

#include <stdio.h>
#include <string.h>

/* Search at most this many variables, counting registers without a name. */
#define MOST_VARIABLES 256

/*
 * Is the value on top of the stack @closure, and is @name a name from the script? Names that Lua
 * makes up are in parentheses. Pops the value.
 */
static int is_named(lua_State *L, const char *name, const void *closure)
{
	int same = lua_topointer(L, -1) == closure && name[0] != '(' && name[0];

	lua_pop(L, 1);
	return same;
}

/*
 * Returns the name of a local variable or, failing that, an upvalue of @ar's function that holds
 * @closure; NULL if there is none.
 */
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

/*
 * Find the name of a function that C calls: search the variables of the innermost Lua function
 * among its callers.
 */
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
	/*
	 * Use the path by which a file was loaded. Other chunks have the name of Lua's error
	 * messages.
	 */
	snprintf(out->file, sizeof(out->file), "%.380s",
		ar.source[0] == '@' && ar.source[1] ? ar.source + 1 : ar.short_src);
	out->line = ar.linedefined;
}
