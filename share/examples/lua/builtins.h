/* SPDX-License-Identifier: MIT */
/* Give each C function that scripts can call a frame with its Lua name: see builtins.c. */
#ifndef FLAMELUA_BUILTINS_H
#define FLAMELUA_BUILTINS_H

#include <lua.h>

/*
 * Replace each C function by an intercept stub: now for the libraries that are loaded, later for
 * those that `require` loads.
 *
 * Raises Lua errors (memory). Context: the libraries are open, internals_check() has returned 1.
 */
void builtins_intercept(lua_State *L);

#endif
