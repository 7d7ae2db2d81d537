/* SPDX-License-Identifier: MIT */
/*
 * One call stub for each Lua function's code, which its closures share, from its first call until
 * the collector frees the code.
 */
#ifndef FLAMELUA_STUBS_H
#define FLAMELUA_STUBS_H

#include "share/examples/lua/internals.h"
#include "share/examples/lua/stub_table.h"

extern __thread struct stub_table stub_table;

/*
 * Start making stubs.
 * Returns 0, -ENOTSUP if executable memory is refused, or -errno of flameprof_arena_new().
 */
int stubs_init(void);

/*
 * Stop freeing stubs, because a state is being closed, maybe by os.exit(): its functions are freed
 * while their stubs are running.
 */
void stubs_keep(void);

/*
 * Find or make the stub of @call's function.
 * Returns it, borrowed until another stub is made or freed; NULL without memory.
 */
struct stub *stub_get(lua_State *L, struct lua_call *call);

/*
 * Make the stub for @call, which has not begun and whose function has none in the table.
 * Returns the function that runs the call, never NULL: without a stub the call has no name.
 */
run_call *stub_make(lua_State *L, struct lua_call *call);

/* Returns the function that resumes @call, never NULL: a stub of that name, or its target. */
run_resumed *stub_resume(lua_State *L, struct lua_call *call);

/* Returns the function that runs @call, which is about to begin. */
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
