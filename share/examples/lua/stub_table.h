/* SPDX-License-Identifier: MIT */
/*
 * From a Lua function's code to its stub: a hash table by address, open addressing. What follows a
 * place that is freed moves up, so that millions of short-lived functions leave nothing behind.
 */
#ifndef FLAMELUA_STUB_TABLE_H
#define FLAMELUA_STUB_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct lua_State;
struct lua_call;
struct lua_proto;

/* Runs a prepared call, as luaV_execute() does. */
typedef void run_call(struct lua_State *L, struct lua_call *call);

/* The same for a call that waits for those inside it: flamelua_resume(). */
typedef void run_resumed(
	struct lua_State *L, struct lua_call *call, struct lua_call *innermost);

struct stub {
	const struct lua_proto *proto; /* NULL: nobody's place */
	run_call *run;
	run_resumed *resume; /* NULL until it is needed */
	char *name;	     /* its file lies behind its end */
};

/* A power of two places, at most half of them taken; searched from where the address hashes to. */
struct stub_table {
	struct stub *places;
	size_t mask, used;
};

/* Returns 0 or -ENOMEM. */
int stub_table_init(struct stub_table *table);

/* What the stubs hold is the caller's to free. */
void stub_table_release(struct stub_table *table);

/* Returns the place of @proto, NULL when it has none. Borrowed until the table changes. */
struct stub *stub_table_find(const struct stub_table *table, const struct lua_proto *proto);

/*
 * A place for @proto, which has none: all zero but for `proto`.
 * Returns NULL without memory. Borrowed until the table changes.
 */
struct stub *stub_table_add(struct stub_table *table, const struct lua_proto *proto);

/* @stub, a place of the table's, becomes free. */
void stub_table_remove(struct stub_table *table, struct stub *stub);

static inline size_t stub_table_home(const struct stub_table *table, const struct lua_proto *proto)
{
	/* Blocks of 128 bytes: the low bits of the product differ little. */
	return (size_t)(((uint64_t)(uintptr_t)proto >> 4) * 0x9e3779b97f4a7c15u >> 32) &
		table->mask;
}

#endif
