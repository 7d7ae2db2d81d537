/* SPDX-License-Identifier: MIT */
/*
 * State of the thread that runs Lua. On other threads this state is zero, and Lua states that a C
 * module starts there run as plain Lua.
 */
#ifndef FLAMELUA_MACHINE_H
#define FLAMELUA_MACHINE_H

#include <pthread.h>

#include "share/examples/lua/internals.h"

/* A resumed coroutine; a variable on the C stack of its lua_resume(). */
struct resumption {
	lua_State *from; /* the state that resumed the coroutine; NULL: unknown */
	struct resumption *outer;
};

struct machine {
	/* calls of Lua functions go through stubs, in C frames of their own */
	int nests;
	int ticks; /* ticks are registered */
	/* lowest address for frames of stubs; the C stack below is left to Lua */
	uintptr_t stack_end;
	/* after a tail call: the call that flamelua_call() runs next */
	struct lua_call *tail;
	/* the state that runs now: the main one, or a coroutine's */
	lua_State *state;
	struct resumption *resumption; /* of `state`; NULL if `state` is no coroutine */
	/* the call to which ticks are charged; NULL: the innermost call */
	struct lua_call *at;
	/* a callee of `at` that has returned and is charged instead of it; NULL: none */
	const struct lua_proto *ended;
	/* see ticks.h; atomic, written by this thread only */
	struct lua_call *watched;
	pthread_mutex_t lock; /* see ticks.h */
};

extern __thread struct machine machine;

#endif
