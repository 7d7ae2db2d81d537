/* SPDX-License-Identifier: MIT */
/*
 * A coroutine that yields leaves the C stack with all its frames. When it is resumed, Lua runs its
 * innermost function, and the callers one after the other as each returns to it: names would be
 * missing below the innermost. So the callers' frames are put back first, through stubs of their
 * own whose target waits for the inner function before it goes on with the outer one:
 *
 *	unroll		Lua's
 *	gen		flamelua_resume, waits
 *	mid		flamelua_resume, waits
 *	leaf		luaV_execute, runs
 *
 * Calls of C functions are in nobody's frame again. Only Lua's unroll() can go on with one, by
 * finishCcall(), which is static, and not before what it called has returned to unroll(): a frame
 * that waits in order to go on, as those above do, cannot stand below it. One that stands there to
 * be seen could, if it returned to unroll() and was put back after each C call that ends, with all
 * below. Instead, what stands below the innermost C call is shown when that goes on.
 */
#include "share/examples/lua/calls.h"

#include "share/examples/lua/machine.h"
#include "share/examples/lua/stubs.h"
#include "share/examples/lua/ticks.h"

/* A generator that walks a tree pays for the frames at each value; deeper ones wait their turn. */
#define MOST_CALLERS 64

static void flamelua_enter(lua_State *L, struct lua_call *call, struct lua_call *innermost)
{
	run_resumed *stub;

	if (call == innermost) {
		flamelua_call(L, call);
		return;
	}
	stub = stub_resume(L, call);
	stub(L, call, innermost);
	/* @call has ended, by a tail call: what took its place has not begun. */
	call = machine.tail;
	if (call) {
		machine.tail = NULL;
		flamelua_call(L, call);
	}
}

void flamelua_resume(lua_State *L, struct lua_call *call, struct lua_call *innermost)
{
	flamelua_enter(L, call->next, innermost);
	/* As Lua does before it goes on with a call that was interrupted in an instruction. */
	luaV_finishOp(L);
	ticks_watch(call);
	__real_luaV_execute(L, call);
}

void calls_resume(lua_State *L, struct lua_call *innermost)
{
	struct lua_call *outermost = innermost;

	/* One that is not FRESH ends together with its callers, and can only be the outermost. */
	for (unsigned n = 0; n < MOST_CALLERS && (outermost->status & LUA_CALL_FRESH) &&
		!(outermost->previous->status & LUA_CALL_C); n++)
		outermost = outermost->previous;
	flamelua_enter(L, outermost, innermost);
}
