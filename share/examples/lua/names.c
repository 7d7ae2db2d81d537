/* SPDX-License-Identifier: MIT */
/*
 * Names of functions. A function of Lua's has none of its own: it is a value that a variable or a
 * field holds. What the caller's code calls it is Lua's own answer in error messages, too.
 */
#include "share/examples/lua/names.h"

#include <stdio.h>
#include <string.h>

/* A file by the path it was loaded by; other chunks as Lua's messages show them. */
static const char *place_of(const lua_Debug *ar)
{
	return ar->source[0] == '@' && ar->source[1] ? ar->source + 1 : ar->short_src;
}

void function_name(lua_State *L, struct lua_call *call, char out[FUNCTION_NAME_BYTES])
{
	lua_Debug ar = {.i_ci = (struct CallInfo *)call};
	const char *place;

	lua_getinfo(L, "nS", &ar);
	place = place_of(&ar);
	if (!strcmp(ar.what, "main"))
		snprintf(out, FUNCTION_NAME_BYTES, "main chunk (%s)", place);
	else if (!ar.name)
		snprintf(out, FUNCTION_NAME_BYTES, "function (%s:%d)", place, ar.linedefined);
	else
		snprintf(out, FUNCTION_NAME_BYTES, "%s%.128s (%s:%d)",
			strcmp(ar.namewhat, "metamethod") ? "" : "__", ar.name, place,
			ar.linedefined);
}
