/* SPDX-License-Identifier: MIT */
/*
 * Give every Lua function a frame of its own on the C stack. In plain Lua, a Lua function that
 * calls another stays in the same C frame: luaD_precall() only prepares the call and returns it.
 * The linker (--wrap, wrapped.flags) redirects luaD_precall() and luaD_pretailcall() to the
 * wrappers in this file, so Lua itself is linked unchanged. A wrapper runs the whole call through
 * the callee's stub, and then tells the interpreter that the call has ended, as after a call of a C
 * function. At a tail call, the caller's stub returns before the callee's stub is entered. The C
 * stack, outermost frame first:
 *
 *	luaV_execute	the caller
 *	flamelua_call
 *	fib (script.lua:12)
 *	luaV_execute	the callee
 *
 * Lua's own count of C calls does not change, so its limit of 200 means the same as in plain Lua.
 * Instead the free C stack is measured. When little of it is left, calls run in their caller's C
 * frame, as in plain Lua, so a runaway recursion fails with plain Lua's error.
 */
#include "share/examples/lua/calls.h"

#include <pthread.h>

#include "share/examples/lua/machine.h"
#include "share/examples/lua/stubs.h"
#include "share/examples/lua/ticks.h"

/*
 * Bytes of C stack left for Lua: enough for 200 calls of its largest C function, string.gsub() with
 * 2 KiB of locals.
 */
#define ROOM_FOR_LUA_BYTES (1u << 20)
/* If the C stack has no limit, use at most this many bytes of it. */
#define MOST_FOR_US_BYTES (1ul << 30)

__thread struct machine machine;

static inline int has_room(void)
{
	return (uintptr_t)__builtin_frame_address(0) >= machine.stack_end;
}

/*
 * Run a prepared call that has the flag LUA_CALL_FRESH: the interpreter returns when it ends. If
 * the call ends in a tail call, its stub returns to this function, and the loop runs the next
 * function through that function's stub. So the stack shows the right name and does not grow with
 * the number of tail calls.
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
	/* Ticks during an intercepted @function are recorded with the stack of machine.state. */
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

/*
 * Make the callee's stub before the tail call: its name is found in the caller's code, and the tail
 * call replaces the caller.
 */
static void name_tail_call(lua_State *L, struct lua_call *caller, struct lua_value *function)
{
	struct lua_call plain = {.function = function, .previous = caller};

	stub_of(L, &plain);
}

/*
 * The real function replaces the caller by the callee and returns -1, so that the interpreter would
 * continue in the same C frame. This wrapper returns a number of results instead. Then the
 * interpreter considers the call as finished: it calls luaD_poscall(), whose wrapper does nothing
 * for this call, and returns to flamelua_call(), because the call has LUA_CALL_FRESH.
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
	/* The interpreter subtracts @delta again; undo that in advance. */
	call->function += delta;
	machine.tail = call;
	return 0;
}

void __wrap_luaD_poscall(lua_State *L, struct lua_call *call, int results)
{
	if (__builtin_expect(machine.tail != call, 1))
		__real_luaD_poscall(L, call, results);
}

/*
 * Run a call that comes from C: from lua_call() and its variants, a metamethod, or the resumption
 * of a coroutine.
 */
void __wrap_luaV_execute(lua_State *L, struct lua_call *call)
{
	if (!machine.nests)
		__real_luaV_execute(L, call);
	else if (has_begun(call) && has_room())
		calls_resume(L, call);
	else
		flamelua_call(L, call);
}

/* Stop ticks, and stop freeing stubs, before lua_close() frees calls and runs finalizers. */
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
