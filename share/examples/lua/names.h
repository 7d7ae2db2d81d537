/* SPDX-License-Identifier: MIT */
/* Find the names of Lua functions for the picture. */
#ifndef FLAMELUA_NAMES_H
#define FLAMELUA_NAMES_H

#include "share/examples/lua/internals.h"

#define FUNCTION_NAME_BYTES 128
#define FUNCTION_FILE_BYTES 384

struct function_name {
	/* "fib", "main chunk", or "function" if the function has no name */
	char name[FUNCTION_NAME_BYTES];
	char file[FUNCTION_FILE_BYTES];
	int line; /* line of the definition; 0: a whole chunk */
};

/*
 * Find the name of the Lua function of @call: the variable or field by which the caller's code
 * calls it.
 *
 * @is_beginning  set if the call has not begun. Then, if C calls the function, also search the
 *                variables of the nearest Lua caller. This search pushes two values on L's stack,
 *                whose top is valid only before the call begins
 *
 * Context: @call is active. Allocates nothing, raises no error.
 */
void function_name(
	lua_State *L, struct lua_call *call, int is_beginning, struct function_name *out);

#endif
