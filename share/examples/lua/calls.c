/* SPDX-License-Identifier: MIT */
/*
 * Every Lua function has a frame of its own on the C stack. Lua's interpreter runs a call of one
 * Lua function by another in the same C frame: luaD_precall() prepares the call and returns it.
 * The linker (--wrap, wrapped.flags) diverts the two functions that prepare calls to ours, so that
 * Lua itself is linked unchanged. Ours runs the call here, through the function's stub, and then
 * returns what a C function's call returns: the call is done. A tail call leaves its caller's stub
 * before the next function's is entered.
 *
 *	luaV_execute	the caller
 *	flamelua_call
 *	fib (script.lua:12)
 *	luaV_execute	the callee
 *
 * Lua's own count of C calls is left alone, so that its limit of 200 means what it means without
 * us; in its place the C stack is measured. Where it ends, calls are run in their caller's frame,
 * as plain Lua does, and a runaway recursion fails as it does there.
 */
#include "share/examples/lua/calls.h"

#include <pthread.h>

#include "share/examples/lua/machine.h"
#include "share/examples/lua/stubs.h"
#include "share/examples/lua/ticks.h"

/* Left to Lua and its C functions: 200 calls of the largest, string.gsub() with 2 KiB of locals. */
#define ROOM_FOR_LUA_BYTES (1u << 20)
/* Of a stack without limit. */
#define MOST_FOR_US_BYTES (1ul << 30)

__thread struct machine machine;

static inline int has_room(void)
{
	return (uintptr_t)__builtin_frame_address(0) >= machine.stack_end;
}

/*
 * Run a prepared call that is FRESH. When it ends in a tail call the interpreter comes back here,
 * out of the stub it was called through, and the next function is run by its own stub in the same
 * place: the name on the stack is right and the stack no deeper, however many follow.
 */
__attribute__((noinline)) struct lua_call *flamelua_call(lua_State *L, struct lua_call *call)
{
	const struct lua_proto *proto = NULL;

	for (;;) {
		run_call *run = stub_of(L, call);

		safe_point(L, call->previous, proto);
		proto = proto_of(call);
		ticks_watch(call);
		run(L, call);
		call = machine.tail;
		if (__builtin_expect(!call, 1))
			break;
		machine.tail = NULL;
	}
	safe_point(L, L->call, proto);
	ticks_watch(L->call);
	return NULL;
}

struct lua_call *__wrap_luaD_precall(lua_State *L, struct lua_value *function, int results)
{
	struct lua_call *call;

	if (!machine.nests)
		return __real_luaD_precall(L, function, results);
	/* For the intercept stub, when it is a C function. */
	machine.state = L;
	call = __real_luaD_precall(L, function, results);
	if (!call) {
		ticks_watch(L->call);
		return NULL;
	}
	if (__builtin_expect(!has_room(), 0)) {
		ticks_watch(call);
		return call;
	}
	call->status |= LUA_CALL_FRESH;
	return flamelua_call(L, call);
}

/* The caller's code, which is about to be gone, knows the name: as if this were no tail call. */
static void name_tail_call(lua_State *L, struct lua_call *caller, struct lua_value *function)
{
	struct lua_call plain = {.function = function, .previous = caller};

	stub_of(L, &plain);
}

/*
 * The real one has put the callee in the caller's place, exactly as without us. The interpreter
 * goes on in the same C frame when told -1; told a number of results it takes the call for
 * finished, ends it (luaD_poscall() below, which must not) and, because the call is FRESH, returns.
 */
int __wrap_luaD_pretailcall(lua_State *L, struct lua_call *call, struct lua_value *function,
	int arguments, int delta)
{
	int results;

	if (machine.nests && function->tag == LUA_TAG_LUA_CLOSURE)
		name_tail_call(L, call, function);
	results = __real_luaD_pretailcall(L, call, function, arguments, delta);
	if (results >= 0 || !machine.nests || !(call->status & LUA_CALL_FRESH))
		return results;
	/* The interpreter will take @delta off, as the real one already has. */
	call->function += delta;
	machine.tail = call;
	return 0;
}

void __wrap_luaD_poscall(lua_State *L, struct lua_call *call, int results)
{
	if (__builtin_expect(machine.tail != call, 1))
		__real_luaD_poscall(L, call, results);
}

/* Calls from C: of lua_call() and the like, of metamethods, and to resume a coroutine. */
void __wrap_luaV_execute(lua_State *L, struct lua_call *call)
{
	if (!machine.nests)
		__real_luaV_execute(L, call);
	else if (has_begun(call) && has_room())
		calls_resume(L, call);
	else
		flamelua_call(L, call);
}

/* Its finalizers are the last Lua code. */
void __wrap_lua_close(lua_State *L)
{
	ticks_end();
	stubs_keep();
	__real_lua_close(L);
}

static int measure_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), start, half;
	pthread_attr_t attributes;
	void *lowest;
	size_t bytes;
	int error = pthread_getattr_np(pthread_self(), &attributes);

	if (error)
		return -error;
	error = pthread_attr_getstack(&attributes, &lowest, &bytes);
	pthread_attr_destroy(&attributes);
	if (error)
		return -error;
	start = (uintptr_t)lowest;
	if (here - start > MOST_FOR_US_BYTES)
		start = here - MOST_FOR_US_BYTES;
	half = (here - start) / 2;
	machine.stack_end = start + (ROOM_FOR_LUA_BYTES < half ? ROOM_FOR_LUA_BYTES : half);
	return 0;
}

int calls_init(void)
{
	int error = measure_stack();

	if (!error)
		error = stubs_init();
	if (!error)
		machine.nests = 1;
	return error;
}
