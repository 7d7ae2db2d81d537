/* SPDX-License-Identifier: MIT */
/*
 * What flamelua knows of the thread that runs Lua. Other threads (a C module may start Lua states of
 * its own) find all of it zero, and are plain Lua.
 */
#ifndef FLAMELUA_MACHINE_H
#define FLAMELUA_MACHINE_H

#include "share/examples/lua/internals.h"

struct machine {
	int nests;	      /* Lua functions are called through stubs, as C calls */
	uintptr_t stack_end;  /* no deeper than here, the rest of the C stack is Lua's own */
	lua_State *state;     /* that runs now: the main one, or a coroutine */
	struct lua_call *tail; /* is to be run by flamelua_call() in place of what returns to it */
};

extern __thread struct machine machine;

#endif
