/* SPDX-License-Identifier: MIT */
/* What functions are called in the picture. */
#ifndef FLAMELUA_NAMES_H
#define FLAMELUA_NAMES_H

#include "share/examples/lua/internals.h"

#define FUNCTION_NAME_BYTES 512

/*
 * "fib (script.lua:12)" for the Lua function of @call, by the name it is called by here;
 * "function (script.lua:12)" where it has none, "main chunk (script.lua)" for a file's.
 * Context: @call is active. Allocates nothing, raises no error.
 */
void function_name(lua_State *L, struct lua_call *call, char out[FUNCTION_NAME_BYTES]);

#endif
