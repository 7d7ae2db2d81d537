/* SPDX-License-Identifier: MIT */
/*
 * One call stub for each Lua function (for its code: closures share it), from its first call until
 * the collector frees the code.
 */
#ifndef FLAMELUA_STUBS_H
#define FLAMELUA_STUBS_H

#include "share/examples/lua/internals.h"

/* Runs a prepared call, as luaV_execute() does. */
typedef void run_call(lua_State *L, struct lua_call *call);

struct stub {
	const struct lua_proto *proto; /* NULL: nobody's place in the table */
	run_call *run;
	run_call *resume; /* resumed.c's, NULL until it is needed */
};

/* A power of two places, at most half of them taken; looked into from where the address hashes to. */
struct stub_table {
	struct stub *places;
	size_t mask, used;
};

extern __thread struct stub_table stub_table;

static inline size_t stub_home(const struct lua_proto *proto, size_t mask)
{
	/* Code is allocated in blocks of 128 bytes: below the middle of the product nothing differs. */
	return (size_t)(((uintptr_t)proto >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask;
}

/*
 * Begin to make stubs.
 * Returns 0, or -errno of flameprof_arena_new(); -ENOTSUP where executable memory is refused.
 */
int stubs_init(void);

/*
 * The stub of @call's function, made now.
 * Returns never NULL: what runs the call without a name where there can be no stub.
 */
run_call *stub_make(lua_State *L, struct lua_call *call);

/* The stub of @call's function. */
static inline run_call *stub_of(lua_State *L, struct lua_call *call)
{
	const struct lua_proto *proto = proto_of(call);

	for (size_t i = stub_home(proto, stub_table.mask);; i++) {
		const struct stub *stub = &stub_table.places[i & stub_table.mask];

		if (__builtin_expect(stub->proto == proto, 1))
			return stub->run;
		if (!stub->proto)
			return stub_make(L, call);
	}
}

#endif
