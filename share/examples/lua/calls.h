/* SPDX-License-Identifier: MIT */
/* Call Lua functions through their stubs: see calls.c and resumed.c. */
#ifndef FLAMELUA_CALLS_H
#define FLAMELUA_CALLS_H

#include "share/examples/lua/internals.h"

/*
 * Start calling the Lua functions of this thread through stubs.
 * Returns 0, -ENOTSUP if executable memory is refused, or -errno. After an error, calls stay as in
 * plain Lua.
 * Context: no Lua code is running.
 */
int calls_init(void);

/* Run @call through its stub, then each call that replaces it by a tail call. Returns NULL. */
struct lua_call *flamelua_call(lua_State *L, struct lua_call *call);

/* Resume a coroutine with the innermost call @innermost: see resumed.c. */
void calls_resume(lua_State *L, struct lua_call *innermost);

/*
 * Continue @call, a call of a resumed coroutine that waits for its callees: first run the callees,
 * from @innermost outwards, then @call itself. The target of the stubs of stub_resume().
 */
void flamelua_resume(lua_State *L, struct lua_call *call, struct lua_call *innermost);

#endif
