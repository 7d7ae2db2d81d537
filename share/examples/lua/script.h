/* SPDX-License-Identifier: MIT */
/* Execute a command line of lua5.4: its options, then a script with its arguments. */
#ifndef FLAMELUA_SCRIPT_H
#define FLAMELUA_SCRIPT_H

#include <lua.h>

/* Called once, after opening the libraries and before any Lua code runs. May raise Lua errors. */
typedef void libraries_are_open(lua_State *L);

/*
 * Execute the command line @argv as lua5.4 does, but without the interactive mode.
 *
 * Returns 1, or 0 after reporting an error on stderr. Raises Lua errors.
 */
int script_run(lua_State *L, int argc, char **argv, libraries_are_open *ready);

#endif
