/* SPDX-License-Identifier: MIT */
/*
 * One call stub for each Lua function (for its code: closures share it), from its first call until
 * the collector frees the code.
 */
#ifndef FLAMELUA_STUBS_H
#define FLAMELUA_STUBS_H

#include "share/examples/lua/internals.h"
#include "share/examples/lua/stub_table.h"

extern __thread struct stub_table stub_table;

/*
 * Begin to make stubs.
 * Returns 0, or -errno of flameprof_arena_new(); -ENOTSUP where executable memory is refused.
 */
int stubs_init(void);

/*
 * From now on no stub is freed: a state is being closed, maybe by os.exit(), and functions go while
 * their stubs are running.
 */
void stubs_keep(void);

/*
 * The stub of @call's function, found or made: borrowed until the next one is made, or freed.
 * Returns NULL without memory.
 */
struct stub *stub_get(lua_State *L, struct lua_call *call);

/*
 * How to run @call, which has not begun, where the table does not tell.
 * Returns never NULL: what runs the call without a name where there can be no stub.
 */
run_call *stub_make(lua_State *L, struct lua_call *call);

/* How to resume @call: never NULL, a stub by the same name, or what it would call. */
run_resumed *stub_resume(lua_State *L, struct lua_call *call);

/* How to run @call, which is about to begin. */
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
