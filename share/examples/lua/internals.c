/* SPDX-License-Identifier: MIT */
/*
 * Check internals.h: compare its layouts with the results of Lua's public interface in a test
 * script. If they differ, another version of Lua is linked.
 */
#include "share/examples/lua/internals.h"

#include <lauxlib.h>

/* The test script, five lines. Lua calls the function of lines 2 to 4; C calls the main chunk. */
static const char chain[] = "local check = ...\n"
			    "local function inner(check)\n"
			    "	return (check())\n"
			    "end\n"
			    "return (inner(check))\n";

static void no_hook(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
}

/* Returns the call at @level of the public interface, or NULL; leaves its function on the stack. */
static const struct lua_call *call_at(lua_State *L, int level, lua_Debug *ar)
{
	if (!lua_getstack(L, level, ar) || !lua_getinfo(L, "Slf", ar))
		return NULL;
	return (const struct lua_call *)ar->i_ci;
}

static int is_c_call(const struct lua_call *call, lua_CFunction function)
{
	return (call->status & LUA_CALL_C) && call->function->tag == LUA_TAG_C_FUNCTION &&
		call->function->of.function == function;
}

static int is_lua_call(lua_State *L, const struct lua_call *call, const lua_Debug *ar, int is_fresh)
{
	const struct lua_proto *proto;

	if ((call->status & LUA_CALL_C) || !(call->status & LUA_CALL_FRESH) != !is_fresh)
		return 0;
	if (call->function->tag != LUA_TAG_LUA_CLOSURE ||
		call->function->of.pointer != lua_topointer(L, -1))
		return 0;
	proto = proto_of(call);
	return proto->first_line == ar->linedefined && proto->last_line == ar->lastlinedefined &&
		call->u.lua.pc > proto->code && call->u.lua.pc <= proto->code + proto->code_size;
}

/* Is `trap` at the right offset? Setting a hook must set the traps of all Lua calls. */
static int has_trap(lua_State *L, const struct lua_call *call)
{
	int before = call->u.lua.trap, after;

	lua_sethook(L, no_hook, LUA_MASKCOUNT, 1000000000);
	after = call->u.lua.trap;
	lua_sethook(L, NULL, 0, 0);
	return before == 0 && after == 1;
}

static int check(lua_State *L)
{
	lua_Debug own, inner, chunk;
	const struct lua_call *own_call = call_at(L, 0, &own), *inner_call, *chunk_call;
	int same = own_call && own_call == L->call && is_c_call(own_call, check) &&
		L->top == own_call->function + 1 + lua_gettop(L);

	inner_call = call_at(L, 1, &inner);
	same = same && inner_call && own_call->previous == inner_call &&
		inner_call->next == own_call && inner.linedefined == 2 &&
		is_lua_call(L, inner_call, &inner, 0) && has_trap(L, inner_call);
	chunk_call = call_at(L, 2, &chunk);
	same = same && chunk_call && inner_call->previous == chunk_call &&
		is_lua_call(L, chunk_call, &chunk, 1);
	lua_pushboolean(L, same);
	return 1;
}

int internals_check(lua_State *L)
{
	int top = lua_gettop(L), same = 0;

	if (!luaL_loadbufferx(L, chain, sizeof(chain) - 1, "=check", "t")) {
		lua_pushcfunction(L, check);
		same = !lua_pcall(L, 1, 1, 0) && lua_toboolean(L, -1);
	}
	lua_settop(L, top);
	return same;
}
