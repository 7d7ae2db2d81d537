/* SPDX-License-Identifier: MIT */
/* The slow part of ticks.h: the timer's callback, and wrappers that stop watching a call. */
#include "share/examples/lua/ticks.h"

/* Set the trap of the watched call. Called on the timer's thread at each tick. */
static void tick(void *context)
{
	struct machine *runs_lua = context;
	struct lua_call *call;

	if (pthread_mutex_trylock(&runs_lua->lock))
		return;
	call = __atomic_load_n(&runs_lua->watched, __ATOMIC_RELAXED);
	if (call)
		call->u.lua.trap = 1;
	pthread_mutex_unlock(&runs_lua->lock);
}

/* Stop watching: after this function no tick writes to any call until another call is watched. */
static void unwatch(void)
{
	if (!machine.watched)
		return;
	pthread_mutex_lock(&machine.lock);
	__atomic_store_n(&machine.watched, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&machine.lock);
}

void ticks_take(lua_State *L, struct lua_call *call, const struct lua_proto *ended)
{
	machine.state = L;
	machine.at = call;
	machine.ended = ended;
	flameprof_interrupt_take();
	machine.at = NULL;
	machine.ended = NULL;
}

int __wrap_luaG_traceexec(lua_State *L, const uint32_t *pc)
{
	safe_point(L, L->call, NULL);
	return __real_luaG_traceexec(L, pc);
}

struct lua_value *__wrap_luaF_close(
	lua_State *L, struct lua_value *level, int status, int may_yield)
{
	/* At the end of a block, the innermost call closes variables. It continues, so watch it. */
	if (machine.watched != L->call)
		unwatch();
	return __real_luaF_close(L, level, status, may_yield);
}

/* Is the watched call @call or a later call in the list after it? */
static int watched_is_behind(const struct lua_call *call)
{
	while (call && call != machine.watched)
		call = call->next;
	return call != NULL;
}

void __wrap_luaE_shrinkCI(lua_State *L)
{
	/* Only calls after the innermost one are freed. Keep watching that one: it may loop. */
	if (watched_is_behind(L->call->next))
		unwatch();
	__real_luaE_shrinkCI(L);
}

void __wrap_luaE_freethread(lua_State *L, lua_State *coroutine)
{
	const struct lua_call *call = coroutine->call;

	while (call && call->previous)
		call = call->previous;
	if (watched_is_behind(call))
		unwatch();
	if (machine.state == coroutine)
		machine.state = L;
	__real_luaE_freethread(L, coroutine);
}

/*
 * Track the running coroutine: it runs on the C stack of lua_resume(), which returns when the
 * coroutine yields, ends or fails.
 */
int __wrap_lua_resume(lua_State *L, lua_State *from, int arguments, int *results)
{
	struct resumption resumption = {.from = from, .outer = machine.resumption};
	lua_State *state = machine.state;
	int status;

	machine.resumption = &resumption;
	machine.state = L;
	status = __real_lua_resume(L, from, arguments, results);
	machine.resumption = resumption.outer;
	machine.state = state;
	return status;
}

int ticks_init(uint64_t period_ns, flameprof_interrupt_function *function)
{
	int error = -pthread_mutex_init(&machine.lock, NULL);

	if (!error)
		error = flameprof_interrupt_enable(period_ns, function, NULL);
	if (!error)
		error = flameprof_interrupt_register_call(tick, &machine);
	machine.ticks = !error;
	return error;
}

void ticks_end(void)
{
	if (machine.ticks)
		flameprof_interrupt_unregister();
	machine.ticks = 0;
}
