/* SPDX-License-Identifier: MIT */
/*
 * Safe points: the moments when the thread that runs Lua checks for pending ticks. It checks
 * when a Lua function is called or returns and, by intercept stubs, after builtins. For loops
 * without calls, a tick sets the trap of the innermost call, which the interpreter reads when it
 * jumps back. The interpreter then calls luaG_traceexec(), which is wrapped.
 *
 * The trap is a word of a lua_call, set by the timer's thread. In a call of a Lua function this is
 * safe at any moment, because the interpreter only tests whether the word is 0, clears it, and sets
 * it for reasons of its own. In a call of a C function the word is part of another value, and after
 * Lua has freed the call the memory may be in use for something else. Therefore:
 *
 * - The timer writes only to the call `watched`, and only while it holds `lock`. It does not wait
 *   for the lock: if the lock is held, the tick is noticed at the next call or with the next tick.
 * - `watched` is set to calls of Lua functions that have a C frame of their own (LUA_CALL_FRESH).
 *   When that frame has returned in the ordinary way, `watched` is another call or NULL.
 * - Errors and yields leave that frame by longjmp(). A yield leaves the call as it is. After an
 *   error Lua closes variables (luaF_close()) before it calls anything, wherever the error is
 *   caught. The wrapper of luaF_close() therefore sets `watched` to NULL, unless the innermost call
 *   is watched. The wrappers of luaE_shrinkCI() and luaE_freethread() do so if the watched call may
 *   be freed. They hold the lock, so that no tick is about to write to the call. Otherwise calls
 *   are freed in lua_close() only, before which ticks end.
 */
#ifndef FLAMELUA_TICKS_H
#define FLAMELUA_TICKS_H

#include <flameprof_vm.h>

#include "share/examples/lua/machine.h"

/*
 * Start ticks on this thread. @function is called at safe points if ticks are pending. Returns 0 or
 * -errno. Context: after calls_init() has succeeded.
 */
int ticks_init(uint64_t period_ns, flameprof_interrupt_function *function);

/* Stop ticks. */
void ticks_end(void);

/* Handle pending ticks; safe_point() calls this and has the same parameters. */
void ticks_take(lua_State *L, struct lua_call *call, const struct lua_proto *ended);

static inline void ticks_watch(struct lua_call *call)
{
	int is_ours = (call->status & (LUA_CALL_C | LUA_CALL_FRESH)) == LUA_CALL_FRESH;

	__atomic_store_n(&machine.watched, is_ours ? call : NULL, __ATOMIC_RELAXED);
}

/*
 * Handle pending ticks when a function calls or returns. Charge them to the function that has run
 * until now: the caller or, if @ended is not NULL, the callee @ended, whose call no longer exists.
 * @call is the caller's call in state @L. If ticks were charged to the function that runs next,
 * functions without loops would get none.
 */
static inline void safe_point(lua_State *L, struct lua_call *call, const struct lua_proto *ended)
{
	if (__builtin_expect(__atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_RELAXED) != 0, 0))
		ticks_take(L, call, ended);
}

#endif
