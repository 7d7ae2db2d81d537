/* SPDX-License-Identifier: MIT */
/* Run what a command line of lua5.4 asks for: its options, then a script with its arguments. */
#ifndef FLAMELUA_SCRIPT_H
#define FLAMELUA_SCRIPT_H

#include <lua.h>

/* Called once when the libraries are open, before any Lua code runs. May raise Lua errors. */
typedef void libraries_are_open(lua_State *L);

/*
 * Run what @argv asks for as lua5.4 does, but without the interactive mode.
 *
 * Returns 1, or 0 after an error, which was reported on stderr. Raises Lua errors.
 */
int script_run(lua_State *L, int argc, char **argv, libraries_are_open *ready);

#endif
