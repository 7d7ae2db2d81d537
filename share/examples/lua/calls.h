/* SPDX-License-Identifier: MIT */
/* Lua functions are called through their stubs: see calls.c and resumed.c. */
#ifndef FLAMELUA_CALLS_H
#define FLAMELUA_CALLS_H

#include "share/examples/lua/internals.h"

/*
 * From now on, calls of Lua functions on this thread go through stubs.
 * Returns 0; -ENOTSUP where executable memory is refused, -errno: all stays plain Lua.
 * Context: no Lua code is running.
 */
int calls_init(void);

/* Run @call through its function's stub, then what took its place by tail calls, until it ends. */
struct lua_call *flamelua_call(lua_State *L, struct lua_call *call);

/* The same for the innermost call of a coroutine that goes on: resumed.c. */
void calls_resume(lua_State *L, struct lua_call *innermost);

/*
 * What stubs of waiting calls call: runs the calls inside @call, down to @innermost, then goes on
 * with
 * @call itself.
 */
void flamelua_resume(lua_State *L, struct lua_call *call, struct lua_call *innermost);

#endif
