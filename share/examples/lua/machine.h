/* SPDX-License-Identifier: MIT */
/*
 * State of the thread that runs Lua. On other threads this state is zero, and Lua states that a C
 * module starts there run as plain Lua.
 */
#ifndef FLAMELUA_MACHINE_H
#define FLAMELUA_MACHINE_H

#include <pthread.h>

#include "share/examples/lua/internals.h"

/* One running call of lua_resume(); a variable on the C stack of that call. */
struct resumption {
	lua_State *from; /* the state that resumed the coroutine; NULL: unknown */
	struct resumption *outer;
};

struct machine {
	/* set if calls of Lua functions go through stubs, in C frames of their own */
	int nests;
	int ticks; /* set while ticks are registered */
	/* lowest address for frames of stubs; the C stack below is left to Lua */
	uintptr_t stack_end;
	/* after a tail call: the call that flamelua_call() runs next */
	struct lua_call *tail;
	/* the state that runs now: the main one, or a coroutine's */
	lua_State *state;
	/* the resumption that runs `state`; NULL if `state` is not a coroutine */
	struct resumption *resumption;
	/* the call to which ticks are charged; NULL: the innermost call */
	struct lua_call *at;
	/* if not NULL, ticks are charged to this callee of `at`, which has returned */
	const struct lua_proto *ended;
	/* the call whose trap the timer sets (ticks.h); atomic, written by this thread only */
	struct lua_call *watched;
	pthread_mutex_t lock; /* see ticks.h */
};

extern __thread struct machine machine;

#endif
