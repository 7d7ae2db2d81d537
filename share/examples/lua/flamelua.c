/* SPDX-License-Identifier: MIT */
/*
 * flamelua: run Lua scripts as lua5.4 does, with stacks that a native profiler can name. Lua is
 * Debian's, linked and unchanged.
 *
 *	flamerun -o lua.svg -- build/flamelua script.lua
 *
 * README.md explains the design.
 */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/examples/lua/builtins.h"
#include "share/examples/lua/calls.h"
#include "share/examples/lua/internals.h"
#include "share/examples/lua/options.h"
#include "share/examples/lua/report.h"
#include "share/examples/lua/script.h"
#include "share/examples/lua/session.h"

static struct flamelua_options options;

static void become_visible(lua_State *L)
{
	int error;

	if (!internals_check(L)) {
		fprintf(stderr, "flamelua: this Lua's inside is not known: no stubs\n");
		return;
	}
	if (!options.no_stubs) {
		error = calls_init();
		if (error)
			fprintf(stderr, "flamelua: no stubs: %s\n", strerror(-error));
		else
			session_begin(&options);
	}
	if (!options.no_intercepts)
		builtins_intercept(L);
}

/* Called in protected mode, so that errors in opening the libraries are reported, too. */
static int run(lua_State *L)
{
	int argc = (int)lua_tointeger(L, 1);
	char **argv = lua_touserdata(L, 2);

	lua_pushboolean(L, script_run(L, argc, argv, become_visible));
	return 1;
}

int main(int argc, char **argv)
{
	lua_State *L;
	char **all = argv;
	int succeeded;

	if (options_parse(&argv, &options))
		return EXIT_FAILURE;
	if (options.help)
		return EXIT_SUCCESS;
	report_name(argv[0]);
	L = luaL_newstate();
	if (!L) {
		fprintf(stderr, "%s: cannot create state: not enough memory\n", argv[0]);
		return EXIT_FAILURE;
	}
	lua_pushcfunction(L, run);
	lua_pushinteger(L, argc - (int)(argv - all));
	lua_pushlightuserdata(L, argv);
	succeeded = report(L, lua_pcall(L, 2, 1, 0)) && lua_toboolean(L, -1);
	lua_close(L);
	return succeeded ? EXIT_SUCCESS : EXIT_FAILURE;
}
