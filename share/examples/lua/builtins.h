/* SPDX-License-Identifier: MIT */
/* C functions that scripts can call have frames with their Lua names: see builtins.c. */
#ifndef FLAMELUA_BUILTINS_H
#define FLAMELUA_BUILTINS_H

#include <lua.h>

/*
 * Put an intercept stub in the place of each function in C of the libraries that are loaded, and of
 * those `require` will load.
 *
 * Raises errors (memory). Context: the libraries are open, internals_check() has said 1.
 */
void builtins_intercept(lua_State *L);

#endif
