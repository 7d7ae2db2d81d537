/* SPDX-License-Identifier: MIT */
/*
 * Names of functions. A function of Lua's has none of its own: it is a value that a variable or a
 * field holds. What the caller's code calls it is Lua's own answer in error messages, too.
 */
#include "share/examples/lua/names.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const lua_Debug *ar)
{
	if (!strcmp(ar->what, "main"))
		return "main chunk";
	return ar->name ? ar->name : "function";
}

void function_name(lua_State *L, struct lua_call *call, struct function_name *out)
{
	lua_Debug ar = {.i_ci = (struct CallInfo *)call};
	const char *prefix;

	lua_getinfo(L, "nS", &ar);
	prefix = strcmp(ar.namewhat, "metamethod") ? "" : "__";
	snprintf(out->name, sizeof(out->name), "%s%.120s", prefix, name_of(&ar));
	/* A file by the path it was loaded by; other chunks as Lua's messages show them. */
	snprintf(out->file, sizeof(out->file), "%.380s",
		ar.source[0] == '@' && ar.source[1] ? ar.source + 1 : ar.short_src);
	out->line = ar.linedefined;
}
