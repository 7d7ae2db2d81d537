/* SPDX-License-Identifier: MIT */
/*
 * The internals of Lua that flamelua uses and that Debian's headers lack: layouts of Lua 5.4.4 to
 * 5.4.8, as far as flamelua reads them, and internal functions that the linker diverts to flamelua
 * (listed in wrapped.flags). internals_check() compares the layouts with the public interface.
 */
#ifndef FLAMELUA_INTERNALS_H
#define FLAMELUA_INTERNALS_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#if LUA_VERSION_RELEASE_NUM < 50404 || LUA_VERSION_RELEASE_NUM > 50408
#error flamelua knows the inside of Lua 5.4.4 to 5.4.8
#endif

/*
 * A value on Lua's stack: a C function without upvalues is in `function`, a closure is at
 * `pointer`.
 */
struct lua_value {
	union {
		void *pointer;
		lua_CFunction function;
	} of;
	unsigned char tag;
};

enum lua_value_tag {
	LUA_TAG_LUA_CLOSURE = LUA_TFUNCTION | 0x40, /* 0x40: collectable */
	LUA_TAG_C_FUNCTION = LUA_TFUNCTION | 0x10,
	LUA_TAG_C_CLOSURE = LUA_TFUNCTION | 0x20 | 0x40,
};

/* Lua's CallInfo: one call that has not returned. Calls are in a list, and Lua reuses them. */
struct lua_call {
	struct lua_value *function, *top;
	struct lua_call *previous, *next;
	union {
		struct {
			/* next instruction, as last saved by the interpreter */
			const uint32_t *pc;
			/* not 0: the interpreter calls luaG_traceexec() before its next step */
			volatile int trap;
			int extra_arguments;
		} lua;
		/* The members for a call of a C function; they share the bytes of `lua`. */
		struct {
			lua_KFunction continuation;
			ptrdiff_t old_error_function;
			lua_KContext context;
		} c;
	} u;
	int u2;
	short results;
	unsigned short status;
};

/* Bits of lua_call.status. */
enum {
	LUA_CALL_C = 1 << 1, /* call of a C function */
	/* luaV_execute() returns when this call returns */
	LUA_CALL_FRESH = 1 << 2,
};

/* Lua's Proto: a function's code, which its closures share. */
struct lua_proto {
	void *gc_next;
	unsigned char gc_tag, gc_marked;
	unsigned char parameters, is_vararg, registers;
	int upvalues_size, constants_size, code_size, lineinfo_size, protos_size, locals_size,
		abslineinfo_size;
	int first_line, last_line;
	struct lua_value *constants;
	const uint32_t *code;
};

struct lua_closure {
	void *gc_next;
	unsigned char gc_tag, gc_marked, upvalues;
	void *gc_list;
	union {
		struct lua_proto *proto;
		lua_CFunction function;
	} of;
};

struct lua_State {
	void *gc_next;
	unsigned char gc_tag, gc_marked, status, allowhook;
	unsigned short calls;
	struct lua_value *top;
	void *global;
	struct lua_call *call; /* innermost call */
};

static inline struct lua_proto *proto_of(const struct lua_call *call)
{
	return ((const struct lua_closure *)call->function->of.pointer)->of.proto;
}

/* Has @call executed an instruction? Such a call is running or was interrupted by a yield. */
static inline int has_begun(const struct lua_call *call)
{
	return call->u.lua.pc != proto_of(call)->code;
}

/*
 * Compare the layouts above with the Lua that was linked. Returns 1 if they agree, or 0. Leaves the
 * state unchanged. Context: no Lua code is running.
 */
int internals_check(lua_State *L);

/* ---- diverted by the linker: __wrap_ is flamelua's, __real_ is Lua's ------------------------- */

/*
 * Prepare a call of @function; if it is a C function, call it. Returns the prepared call, or NULL
 * if the call is done.
 */
struct lua_call *__real_luaD_precall(lua_State *L, struct lua_value *function, int results);
struct lua_call *__wrap_luaD_precall(lua_State *L, struct lua_value *function, int results);

/*
 * Prepare a tail call that replaces @call. Returns -1 for a Lua function. A C function is called,
 * and the number of its results is returned.
 */
int __real_luaD_pretailcall(lua_State *L, struct lua_call *call, struct lua_value *function,
	int arguments, int delta);
int __wrap_luaD_pretailcall(lua_State *L, struct lua_call *call, struct lua_value *function,
	int arguments, int delta);

/* End a call: move its results to their place in the caller. */
void __real_luaD_poscall(lua_State *L, struct lua_call *call, int results);
void __wrap_luaD_poscall(lua_State *L, struct lua_call *call, int results);

/* Run a prepared call. Returns when a call that is FRESH returns. */
void __real_luaV_execute(lua_State *L, struct lua_call *call);
void __wrap_luaV_execute(lua_State *L, struct lua_call *call);

/* Finish the instruction of the innermost call that a yield interrupted. There is no wrapper. */
void luaV_finishOp(lua_State *L);

/* Free the code of a function that is no longer used. */
void __real_luaF_freeproto(lua_State *L, struct lua_proto *proto);
void __wrap_luaF_freeproto(lua_State *L, struct lua_proto *proto);

/* Run hooks before the instruction at @pc; without hooks clear the trap. Returns the trap. */
int __real_luaG_traceexec(lua_State *L, const uint32_t *pc);
int __wrap_luaG_traceexec(lua_State *L, const uint32_t *pc);

/* Close variables down to @level. In Lua up to 5.4.4 this function returns void. */
struct lua_value *__real_luaF_close(
	lua_State *L, struct lua_value *level, int status, int may_yield);
struct lua_value *__wrap_luaF_close(
	lua_State *L, struct lua_value *level, int status, int may_yield);

/* Free some of the calls that have returned. */
void __real_luaE_shrinkCI(lua_State *L);
void __wrap_luaE_shrinkCI(lua_State *L);

/* Free a coroutine with all its calls. */
void __real_luaE_freethread(lua_State *L, lua_State *coroutine);
void __wrap_luaE_freethread(lua_State *L, lua_State *coroutine);

int __real_lua_resume(lua_State *L, lua_State *from, int arguments, int *results);
int __wrap_lua_resume(lua_State *L, lua_State *from, int arguments, int *results);

void __real_lua_close(lua_State *L);
void __wrap_lua_close(lua_State *L);

#endif
