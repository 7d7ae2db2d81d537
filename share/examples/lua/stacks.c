/* SPDX-License-Identifier: MIT */
/*
 * Walk Lua's list of calls. lua_getstack() would be quadratic, because for each level it begins at
 * the innermost call.
 */
#include "share/examples/lua/stacks.h"

#include <flameprof_vm.h>
#include <stdlib.h>
#include <string.h>

#include "share/examples/lua/machine.h"
#include "share/examples/lua/stubs.h"

#define MOST_FRAMES 4096

static struct flameprof_vm_frame frames[MOST_FRAMES];

static void set_lua_frame(const struct stub *stub, struct flameprof_vm_frame *out)
{
	*out = (struct flameprof_vm_frame){.name = "function"};
	if (!stub)
		return;
	out->name = stub->name;
	out->file = stub->name + strlen(stub->name) + 1;
	out->line = (uint32_t)stub->proto->first_line;
}

static lua_CFunction code_of(const struct lua_call *call)
{
	if (call->function->tag == LUA_TAG_C_FUNCTION)
		return call->function->of.function;
	if (call->function->tag == LUA_TAG_C_CLOSURE)
		return ((const struct lua_closure *)call->function->of.pointer)->of.function;
	return NULL;
}

/* Name a builtin as its stub is named, and another C function as the caller's code names it. */
static void set_c_frame(lua_State *L, struct lua_call *call, struct flameprof_vm_frame *out)
{
	struct flameprof_code_info code;
	lua_Debug ar = {.i_ci = (struct CallInfo *)call};

	*out = (struct flameprof_vm_frame){.name = "[C]"};
	if (!flameprof_lookup((uintptr_t)code_of(call), &code)) {
		out->name = code.name;
		return;
	}
	lua_getinfo(L, "n", &ar);
	if (ar.name)
		out->name = ar.name;
}

/*
 * Append @call and its callers, up to the base of its coroutine, to the frames. @n and the result
 * are the number of frames before and after.
 */
static unsigned walk(lua_State *L, struct lua_call *call, unsigned n)
{
	for (; call->previous && n < MOST_FRAMES; call = call->previous, n++) {
		if (call->status & LUA_CALL_C)
			set_c_frame(L, call, &frames[n]);
		else
			set_lua_frame(stub_get(L, call), &frames[n]);
	}
	return n;
}

void stacks_record(void *context, uint32_t ticks)
{
	const struct resumption *resumption = machine.resumption;
	lua_State *L = machine.state;
	unsigned n = 0;

	(void)context;
	if (machine.ended)
		set_lua_frame(stub_table_find(&stub_table, machine.ended), &frames[n++]);
	n = walk(L, machine.at ? machine.at : L->call, n);
	for (; resumption && resumption->from; resumption = resumption->outer)
		n = walk(resumption->from, resumption->from->call, n);
	/* Drop the outermost frame: it is the C function of flamelua that called the script. */
	if (n && !strcmp(frames[n - 1].name, "[C]"))
		n--;
	/* Ignore errors: a stack that cannot be stored is counted as lost in the profile. */
	flameprof_record_vm_stack(frames, n, ticks);
}
