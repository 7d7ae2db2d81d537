/* SPDX-License-Identifier: MIT */
/*
 * State of the thread that runs Lua. It is zero on other threads, where a C module may start Lua
 * states of its own: these run as plain Lua.
 */
#ifndef FLAMELUA_MACHINE_H
#define FLAMELUA_MACHINE_H

#include <pthread.h>

#include "share/examples/lua/internals.h"

/* A resumed coroutine. On the C stack. */
struct resumption {
	lua_State *from; /* state that resumed it; NULL: unknown */
	struct resumption *outer;
};

struct machine {
	/* call Lua functions through stubs, in C frames of their own */
	int nests;
	int ticks;	       /* ticks are registered */
	/* lowest address for stubs; the C stack below is left to Lua */
	uintptr_t stack_end;
	/* call that flamelua_call() runs next, after a tail call */
	struct lua_call *tail;
	/* that runs now: the main one, or a coroutine */
	lua_State *state;
	struct resumption *resumption; /* of `state`; NULL: it is no coroutine */
	/* call that ticks are charged to; NULL: the innermost */
	struct lua_call *at;
	/* callee of `at` that is charged instead; NULL: none */
	const struct lua_proto *ended;
	/* see ticks.h: atomic, only this thread writes it */
	struct lua_call *watched;
	pthread_mutex_t lock;	       /* see ticks.h */
};

extern __thread struct machine machine;

#endif
