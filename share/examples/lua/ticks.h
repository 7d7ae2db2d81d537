/* SPDX-License-Identifier: MIT */
/*
 * Safe points: where the thread that runs Lua looks whether ticks wait. It does so at calls of and
 * returns from Lua functions and, by intercept stubs, after builtins. For loops that call nothing a
 * tick sets the trap of the innermost call, which the interpreter looks at when it jumps back: it
 * then calls luaG_traceexec(), and that one is ours.
 *
 * The trap is a word of a lua_call, set by the timer's thread. While the call is one of a Lua
 * function any moment is fine: the interpreter only ever asks whether the word is 0, clears it, and
 * sets it by itself for reasons of its own. In calls of C functions the word is part of another
 * value, and when Lua frees the call the memory is somebody else's. So:
 *
 * - `watched` is the only call the timer writes to, and only while it holds `lock`. It takes that
 *   without waiting: a tick that loses is found at the next call, or the next tick is.
 * - `watched` is set to calls of Lua functions that have a C frame of their own (FRESH). By the
 *   time that frame returns in the ordinary way, `watched` is another call or NULL.
 * - Errors and yields jump over that frame. A yield leaves the call what it is. After an error Lua
 *   closes variables (luaF_close()) before it calls anything, whoever caught it: there, and where
 *   calls or coroutines are freed (luaE_shrinkCI(), luaE_freethread()), a watched call that is
 *   meant becomes NULL under the lock, so that no tick is on its way to it. Nothing else frees
 *   calls but lua_close(), before which ticks end.
 */
#ifndef FLAMELUA_TICKS_H
#define FLAMELUA_TICKS_H

#include <flameprof_vm.h>

#include "share/examples/lua/machine.h"

/*
 * Have ticks on this thread, which @function is called with at safe points.
 * Returns 0 or -errno. Context: calls_init() was successful.
 */
int ticks_init(uint64_t period_ns, flameprof_interrupt_function *function);

/* No more ticks. */
void ticks_end(void);

/* Ticks wait: safe_point(). */
void ticks_take(lua_State *L, struct lua_call *call, const struct lua_proto *ended);

static inline void ticks_watch(struct lua_call *call)
{
	int is_ours = (call->status & (LUA_CALL_C | LUA_CALL_FRESH)) == LUA_CALL_FRESH;

	__atomic_store_n(&machine.watched, is_ours ? call : NULL, __ATOMIC_RELAXED);
}

/*
 * One function takes over from another, and ticks that wait are for the one that ran until now:
 * that of @call, a call of @L; or a function called by it that has ended, @ended (NULL: none),
 * whose call is no more. So at a call they are the caller's, at a return those of the function that
 * ended. If they were charged to what runs next, functions without loops would have none.
 */
static inline void safe_point(lua_State *L, struct lua_call *call, const struct lua_proto *ended)
{
	if (__builtin_expect(__atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_RELAXED) != 0, 0))
		ticks_take(L, call, ended);
}

#endif
