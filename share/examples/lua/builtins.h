/* SPDX-License-Identifier: MIT */
/* Give frames with their Lua names to C functions that scripts can call: see builtins.c. */
#ifndef FLAMELUA_BUILTINS_H
#define FLAMELUA_BUILTINS_H

#include <lua.h>

/*
 * Replace each C function of the libraries that are loaded, and of those that `require` will load,
 * by an intercept stub.
 *
 * Raises Lua errors (memory). Context: the libraries are open, internals_check() has returned 1.
 */
void builtins_intercept(lua_State *L);

#endif
