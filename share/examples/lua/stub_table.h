/* SPDX-License-Identifier: MIT */
/*
 * Map the code of a Lua function to its stub: a hash table by address, with open addressing. When
 * an entry is removed, entries after it move up, so that millions of short-lived functions leave no
 * deleted entries.
 */
#ifndef FLAMELUA_STUB_TABLE_H
#define FLAMELUA_STUB_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct lua_State;
struct lua_call;
struct lua_proto;

/* Run a prepared call, as luaV_execute() does. */
typedef void run_call(struct lua_State *L, struct lua_call *call);

/* Run the callees of @call, @innermost first, then continue @call: see flamelua_resume(). */
typedef void run_resumed(
	struct lua_State *L, struct lua_call *call, struct lua_call *innermost);

struct stub {
	const struct lua_proto *proto; /* NULL: a free entry */
	run_call *run;
	run_resumed *resume; /* NULL until a coroutine that contains the function is resumed */
	char *name;	     /* function name and file name, each ends in NUL; owned */
};

/*
 * The number of entries is a power of two; at most half of them are used. The search for an address
 * begins at its hash.
 */
struct stub_table {
	struct stub *places;
	size_t mask, used;
};

/* Returns 0 or -ENOMEM. */
int stub_table_init(struct stub_table *table);

/* Free the table; the caller frees what its stubs hold. */
void stub_table_release(struct stub_table *table);

/* Returns the entry of @proto, borrowed until the table changes, or NULL when there is none. */
struct stub *stub_table_find(const struct stub_table *table, const struct lua_proto *proto);

/*
 * Add an entry for @proto, which must not have one. All members except `proto` are zero. Returns
 * the entry, borrowed until the table changes; NULL if out of memory.
 */
struct stub *stub_table_add(struct stub_table *table, const struct lua_proto *proto);

/* Remove @stub, an entry of the table. */
void stub_table_remove(struct stub_table *table, struct stub *stub);

static inline size_t stub_table_home(const struct stub_table *table, const struct lua_proto *proto)
{
	/* Use the upper half: the low bits of the addresses of 128-byte blocks differ little. */
	return (size_t)(((uint64_t)(uintptr_t)proto >> 4) * 0x9e3779b97f4a7c15u >> 32) &
		table->mask;
}

#endif
