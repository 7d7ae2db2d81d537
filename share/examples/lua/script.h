/* SPDX-License-Identifier: MIT */
/* What the command line of lua5.4 says: its options, then a script with its arguments. */
#ifndef FLAMELUA_SCRIPT_H
#define FLAMELUA_SCRIPT_H

#include <lua.h>

/* Called once when the libraries are open, before any Lua code runs; may raise errors. */
typedef void libraries_are_open(lua_State *L);

/*
 * Do what @argv says, as lua5.4 does, but for the interactive mode, which there is none of.
 *
 * Returns 1, or 0 after an error, which was reported on stderr. Raises errors.
 */
int script_run(lua_State *L, int argc, char **argv, libraries_are_open *ready);

#endif
