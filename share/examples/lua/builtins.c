/* SPDX-License-Identifier: MIT */
/*
 * Call Lua's built-in C functions through intercept stubs. The stubs give their frames names like
 * "table.sort", and a tick that arrives during a builtin is charged to the builtin and not to the
 * function that runs next. For a C function without upvalues, replace the value in the tables of
 * the libraries by the stub. For a C closure, replace the code pointer in the closure object.
 */
#include "share/examples/lua/builtins.h"

#include <flameprof_vm.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "share/examples/lua/internals.h"

#define NAME_BYTES 256

/* Registry key of a Lua table from C function to stub: a function in two libraries has one stub. */
static const char stubs_key;

static lua_CFunction real_require;

/* Join "string" and "rep" to "string.rep"; the name of a global gets no prefix. */
static void join(char name[NAME_BYTES], const char *table, const char *field)
{
	int is_global = !strcmp(table, LUA_GNAME);

	snprintf(name, NAME_BYTES, "%s%s%s", is_global ? "" : table, is_global ? "" : ".", field);
}

static lua_CFunction stub_for(lua_CFunction function, const char *name)
{
	return (lua_CFunction)flameprof_intercept((flameprof_function *)function, name, NULL);
}

/* Replace the plain C function on top of the stack by its stub. */
static void exchange_value(lua_State *L, const char *name)
{
	lua_CFunction function = lua_tocfunction(L, -1);
	void *key = (void *)flameprof_intercept_original((flameprof_function *)function);

	lua_pop(L, 1);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &stubs_key);
	if (lua_rawgetp(L, -1, key) == LUA_TNIL) {
		lua_pop(L, 1);
		lua_pushcfunction(L, stub_for(function, name));
		lua_pushvalue(L, -1);
		lua_rawsetp(L, -3, key);
	}
	lua_remove(L, -2);
}

static void exchange_code(lua_State *L, const char *name)
{
	struct lua_closure *closure = (struct lua_closure *)lua_topointer(L, -1);

	closure->of.function = stub_for(closure->of.function, name);
}

static int is_closure(lua_State *L)
{
	if (!lua_getupvalue(L, -1, 1))
		return 0;
	lua_pop(L, 1);
	return 1;
}

/*
 * Do not intercept `next`: `pairs` returns the original and scripts may compare the two, and `next`
 * does too little for a frame of its own to matter.
 */
static int stays(const char *name)
{
	return !strcmp(name, "next");
}

/* Intercept all C functions in the table on top of the stack. @table is the table's name. */
static void intercept_fields(lua_State *L, const char *table)
{
	char name[NAME_BYTES];

	luaL_checkstack(L, 8, NULL);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		/*
		 * Skip keys that are no strings: lua_tostring() would convert a number in place and
		 * confuse lua_next().
		 */
		if (!lua_iscfunction(L, -1) || lua_type(L, -2) != LUA_TSTRING)
			continue;
		join(name, table, lua_tostring(L, -2));
		if (stays(name))
			continue;
		if (is_closure(L)) {
			exchange_code(L, name);
			continue;
		}
		exchange_value(L, name);
		lua_pushvalue(L, -2);
		lua_pushvalue(L, -2);
		lua_rawset(L, -5);
	}
}

/*
 * Intercept the C functions of the metatable on top of the stack and of its __index. Pop one value.
 */
static void intercept_metatable(lua_State *L, const char *type)
{
	if (lua_type(L, -1) == LUA_TTABLE) {
		intercept_fields(L, type);
		if (lua_getfield(L, -1, "__index") == LUA_TTABLE)
			intercept_fields(L, type);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/*
 * Runs in place of the code of the closure `require`. Call the original code and, if this loads a
 * module for the first time, intercept the module's functions.
 */
static int require(lua_State *L)
{
	const char *name = lua_tostring(L, 1);
	int was_loaded, results;

	lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	was_loaded = !name || lua_getfield(L, -1, name) != LUA_TNIL;
	lua_settop(L, 1);
	results = real_require(L);
	if (was_loaded)
		return results;
	luaL_checkstack(L, 3, NULL);
	lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	if (lua_getfield(L, -1, name) == LUA_TTABLE)
		intercept_fields(L, name);
	lua_pop(L, 2);
	return results;
}

static void divert_require(lua_State *L)
{
	if (lua_getglobal(L, "require") == LUA_TFUNCTION && is_closure(L)) {
		struct lua_closure *closure = (struct lua_closure *)lua_topointer(L, -1);

		real_require = closure->of.function;
		closure->of.function = require;
	}
	lua_pop(L, 1);
}

void builtins_intercept(lua_State *L)
{
	lua_newtable(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &stubs_key);
	divert_require(L);
	lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		if (lua_type(L, -1) == LUA_TTABLE && lua_type(L, -2) == LUA_TSTRING)
			intercept_fields(L, lua_tostring(L, -2));
	lua_pop(L, 1);
	luaL_getmetatable(L, LUA_FILEHANDLE);
	intercept_metatable(L, "file");
	lua_pushliteral(L, "");
	if (lua_getmetatable(L, -1))
		intercept_metatable(L, "string");
	lua_pop(L, 1);
}
