/* SPDX-License-Identifier: MIT */
/*
 * What flamelua knows of the thread that runs Lua. Other threads (a C module may start Lua states
 * of its own) find all of it zero, and are plain Lua.
 */
#ifndef FLAMELUA_MACHINE_H
#define FLAMELUA_MACHINE_H

#include <pthread.h>

#include "share/examples/lua/internals.h"

/* A coroutine runs: who resumed it. On the C stack. */
struct resumption {
	lua_State *from; /* NULL: nobody said */
	struct resumption *outer;
};

struct machine {
	int nests;	       /* Lua functions are called through stubs, as C calls */
	int ticks;	       /* registered for ticks */
	uintptr_t stack_end;   /* no deeper than here, the rest of the C stack is Lua's own */
	struct lua_call *tail; /* flamelua_call() is to run this in place of what returns to it */
	lua_State *state;      /* that runs now: the main one, or a coroutine */
	struct resumption *resumption; /* of that; NULL: it is no coroutine */
	struct lua_call *at;	       /* whose ticks are being taken; NULL: the innermost call's */
	const struct lua_proto *ended; /* called by that, and ended: the ticks' own. NULL: none */
	struct lua_call *watched;      /* ticks.h: atomic, written by this thread alone */
	pthread_mutex_t lock;	       /* ticks.h */
};

extern __thread struct machine machine;

#endif
