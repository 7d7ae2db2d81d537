/* SPDX-License-Identifier: MIT */
/*
 * Each Lua function's code has one call stub, which all its closures share. The stub exists from
 * the first call until the garbage collector frees the code.
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
 * Returns the stub of @call's function; makes one if there is none. It is borrowed until another
 * stub is made or freed. Returns NULL if out of memory.
 */
struct stub *stub_get(lua_State *L, struct lua_call *call);

/*
 * Make the stub for @call, which has not begun and whose function has no stub yet. Returns a
 * function to run the call, never NULL: if no stub can be made, it is __real_luaV_execute(), and
 * the call has no name on the stack.
 */
run_call *stub_make(lua_State *L, struct lua_call *call);

/*
 * Returns a function that resumes @call, never NULL: a stub with the function's name or, without a
 * stub, flamelua_resume().
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
