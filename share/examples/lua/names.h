/* SPDX-License-Identifier: MIT */
/* What functions are called in the picture. */
#ifndef FLAMELUA_NAMES_H
#define FLAMELUA_NAMES_H

#include "share/examples/lua/internals.h"

#define FUNCTION_NAME_BYTES 128
#define FUNCTION_FILE_BYTES 384

struct function_name {
	char name[FUNCTION_NAME_BYTES]; /* "fib", "main chunk", or "function" where there is none */
	char file[FUNCTION_FILE_BYTES];
	int line; /* 0: a whole chunk */
};

/*
 * The Lua function of @call, by the name it is called by here.
 *
 * @is_beginning  the call has not begun: L's stack ends where it says, and for what C calls the
 *                variables of the Lua function around it are searched. Uses two slots of the stack
 *
 * Context: @call is active. Allocates nothing, raises no error.
 */
void function_name(
	lua_State *L, struct lua_call *call, int is_beginning, struct function_name *out);

#endif
