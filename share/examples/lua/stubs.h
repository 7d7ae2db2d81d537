/* SPDX-License-Identifier: MIT */
/*
 * Each Lua function has one call stub, which all its closures share because the stub belongs to the
 * function's code (struct lua_proto). The stub exists from the first call of the function until the
 * garbage collector frees the code.
 */
#ifndef FLAMELUA_STUBS_H
#define FLAMELUA_STUBS_H

#include "share/examples/lua/internals.h"
#include "share/examples/lua/stub_table.h"

extern __thread struct stub_table stub_table;

/*
 * Prepare for making stubs. Returns 0, -ENOTSUP if executable memory is refused, or -errno of
 * flameprof_arena_new().
 */
int stubs_init(void);

/*
 * Stop freeing stubs, because a Lua state is being closed, maybe by os.exit(): its functions are
 * freed while their stubs may be running.
 */
void stubs_keep(void);

/*
 * Returns the stub of @call's function, borrowed until another stub is made or freed. Makes the
 * stub if there is none. Returns NULL if out of memory.
 */
struct stub *stub_get(lua_State *L, struct lua_call *call);

/*
 * Make the stub for the function of @call, which has not begun. Returns the stub's code, which runs
 * the call. If no stub can be made, returns __real_luaV_execute(), and the call has no name on the
 * stack.
 */
run_call *stub_make(lua_State *L, struct lua_call *call);

/*
 * Returns a function that continues @call as flamelua_resume() does: a stub with the name of
 * @call's function or, if no stub can be made, flamelua_resume() itself.
 */
run_resumed *stub_resume(lua_State *L, struct lua_call *call);

/* Returns the function that runs @call, which has not begun. */
static inline run_call *stub_of(lua_State *L, struct lua_call *call)
{
	const struct lua_proto *proto = proto_of(call);

	for (size_t i = stub_table_home(&stub_table, proto);; i++) {
		const struct stub *stub = &stub_table.places[i & stub_table.mask];

		if (__builtin_expect(stub->proto == proto, 1))
			return stub->run;
		if (!stub->proto)
			return stub_make(L, call);
	}
}

#endif
