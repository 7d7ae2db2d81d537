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
 * Find the name that the caller's code has for the Lua function of @call.
 *
 * @is_beginning  the call has not begun, so the top of L's stack is valid. Then, if C calls the
 *                function, also search the variables of the nearest Lua caller, which uses two
 *                slots of the stack
 *
 * Context: @call is active. Allocates nothing, raises no error.
 */
void function_name(
	lua_State *L, struct lua_call *call, int is_beginning, struct function_name *out);

#endif
