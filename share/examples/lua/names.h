/* SPDX-License-Identifier: MIT */
/* Find the names that functions have in the picture. */
#ifndef FLAMELUA_NAMES_H
#define FLAMELUA_NAMES_H

#include "share/examples/lua/internals.h"

#define FUNCTION_NAME_BYTES 128
#define FUNCTION_FILE_BYTES 384

struct function_name {
	/* "fib", "main chunk", or "function" if there is none */
	char name[FUNCTION_NAME_BYTES];
	char file[FUNCTION_FILE_BYTES];
	int line; /* 0: a whole chunk */
};

/*
 * Find the name by which the Lua function of @call is called here.
 *
 * @is_beginning  the call has not begun, so the top of L's stack is valid. If C calls the function,
 *                the variables of the nearest Lua function around are searched, which uses two
 *                slots of the stack
 *
 * Context: @call is active. Allocates nothing, raises no error.
 */
void function_name(
	lua_State *L, struct lua_call *call, int is_beginning, struct function_name *out);

#endif
