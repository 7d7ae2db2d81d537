/* SPDX-License-Identifier: MIT */
/*
 * When a coroutine yields, all its frames leave the C stack. When it is resumed, Lua runs the
 * innermost function first and each caller only after its callee has returned, so the callers'
 * names would be missing on the C stack. Therefore the callers' frames are restored first, through
 * stubs of their own. Their target runs the callee and then continues the caller:
 *
 *	unroll		Lua's
 *	gen		flamelua_resume, waits
 *	mid		flamelua_resume, waits
 *	leaf		luaV_execute, runs
 *
 * Calls of C functions are not restored. Only Lua's unroll() can continue such a call, by
 * finishCcall(), which is static, and only after the callee has returned to unroll(). So no frame
 * can wait for the callee and then continue the C call. Therefore the C stack shows the calls
 * inside the innermost C call only. The callers of that C call appear when the C call continues.
 */
#include "share/examples/lua/calls.h"

#include "share/examples/lua/machine.h"
#include "share/examples/lua/stubs.h"
#include "share/examples/lua/ticks.h"

/* Restore at most this many callers at a time, and outer callers after these have returned. */
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
	/* @call has made a tail call to a function that has not begun yet; run that function. */
	call = machine.tail;
	if (call) {
		machine.tail = NULL;
		flamelua_call(L, call);
	}
}

void flamelua_resume(lua_State *L, struct lua_call *call, struct lua_call *innermost)
{
	flamelua_enter(L, call->next, innermost);
	/* As in Lua's unroll(): finish the interrupted instruction before the call continues. */
	luaV_finishOp(L);
	ticks_watch(call);
	__real_luaV_execute(L, call);
}

void calls_resume(lua_State *L, struct lua_call *innermost)
{
	struct lua_call *outermost = innermost;

	/*
	 * Stop at a call without LUA_CALL_FRESH. When such a call ends, luaV_execute() continues
	 * its callers in the same C frame, so only the outermost restored call may be one.
	 */
	for (unsigned n = 0; n < MOST_CALLERS && (outermost->status & LUA_CALL_FRESH) &&
		!(outermost->previous->status & LUA_CALL_C); n++)
		outermost = outermost->previous;
	flamelua_enter(L, outermost, innermost);
}
