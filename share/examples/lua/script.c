/* SPDX-License-Identifier: MIT */
/*
 * The front end of an interpreter: parse the command line as lua5.4 does, and run the script.
 * report.c reports errors.
 */
#include "share/examples/lua/script.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/examples/lua/report.h"

struct words {
	/* index of the script's name, or of the wrong word; argc if there is neither */
	int script;
	int wrong, version, statement, no_environment;
};

/* the state in which SIGINT raises an error */
static lua_State *interrupted;

static void raise_interrupt(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	lua_sethook(L, NULL, 0, 0);
	luaL_error(L, "interrupted!");
}

static void on_interrupt(int number)
{
	signal(number, SIG_DFL);
	lua_sethook(interrupted, raise_interrupt,
		LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void catch_interrupt(void (*handler)(int))
{
	/* Do not set SA_RESTART, so that SIGINT also ends a script that reads from a terminal. */
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

/* Call the function below its @arguments arguments. Returns 1, or 0 after reporting an error. */
static int call(lua_State *L, int arguments, int results)
{
	int handler = lua_gettop(L) - arguments, status;

	lua_pushcfunction(L, report_handler);
	lua_insert(L, handler);
	interrupted = L;
	catch_interrupt(on_interrupt);
	status = lua_pcall(L, arguments, results, handler);
	catch_interrupt(SIG_DFL);
	lua_remove(L, handler);
	return report(L, status);
}

static int run_loaded(lua_State *L, int status)
{
	return status == LUA_OK ? call(L, 0, 0) : report(L, status);
}

static int run_text(lua_State *L, const char *text, const char *name)
{
	return run_loaded(L, luaL_loadbuffer(L, text, strlen(text), name));
}

/* Run the content of the variable LUA_INIT, or the file that it names after an '@'. */
static int run_environment(lua_State *L)
{
	static const char *const names[] = {"=LUA_INIT_5_4", "=LUA_INIT"};

	for (int i = 0; i < 2; i++) {
		const char *text = getenv(names[i] + 1);

		if (text)
			return text[0] == '@' ? run_loaded(L, luaL_loadfile(L, text + 1))
					      : run_text(L, text, names[i]);
	}
	return 1;
}

/* Load a module: @words are "module" or "global=module". */
static int run_module(lua_State *L, char *words)
{
	char *module = strchr(words, '=');

	if (module)
		*module++ = '\0';
	lua_getglobal(L, "require");
	lua_pushstring(L, module ? module : words);
	if (!call(L, 1, 1))
		return 0;
	lua_setglobal(L, words);
	return 1;
}

/* Parse the options but do not execute them: some must be known before the libraries are opened. */
static struct words parse_options(char **argv)
{
	struct words words = {0};
	int i;

	for (i = 1; argv[i]; i++) {
		const char *word = argv[i];

		words.script = i;
		if (word[0] != '-' || !word[1])
			return words;
		if (!strcmp(word, "--")) {
			words.script = i + 1;
			return words;
		}
		if (word[1] == 'e' || word[1] == 'l') {
			words.statement |= word[1] == 'e';
			if (!word[2] && (!argv[++i] || argv[i][0] == '-'))
				words.wrong = 1;
		} else if (!strchr("vEW", word[1]) || word[2]) {
			words.wrong = 1;
		}
		if (words.wrong)
			return words;
		words.version |= word[1] == 'v';
		words.no_environment |= word[1] == 'E';
	}
	words.script = i;
	return words;
}

static int run_options(lua_State *L, char **argv, int end)
{
	for (int i = 1; i < end; i++) {
		char option = argv[i][1];

		if (option == 'W') {
			lua_warning(L, "@on", 0);
		} else if (option == 'e' || option == 'l') {
			char *value = argv[i][2] ? argv[i] + 2 : argv[++i];

			if (!(option == 'e' ? run_text(L, value, "=(command line)")
					    : run_module(L, value)))
				return 0;
		}
	}
	return 1;
}

static int run_script(lua_State *L, char **argv, int script)
{
	int is_stdin = !strcmp(argv[script], "-") && strcmp(argv[script - 1], "--");
	int status = luaL_loadfile(L, is_stdin ? NULL : argv[script]);
	int count;

	if (status != LUA_OK)
		return report(L, status);
	if (lua_getglobal(L, "arg") != LUA_TTABLE)
		luaL_error(L, "'arg' is not a table");
	count = (int)luaL_len(L, -1);
	luaL_checkstack(L, count + 3, "too many arguments to script");
	for (int i = 1; i <= count; i++)
		lua_rawgeti(L, -i, i);
	lua_remove(L, -count - 1);
	return call(L, count, LUA_MULTRET);
}

/*
 * Set the global `arg`: the script's name at 0, its arguments from 1 on, words before it below 0.
 */
static void set_arguments(lua_State *L, int argc, char **argv, int script)
{
	int zero = script < argc ? script : 0;

	lua_createtable(L, argc - zero - 1, zero + 1);
	for (int i = 0; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i - zero);
	}
	lua_setglobal(L, "arg");
}

int script_run(lua_State *L, int argc, char **argv, libraries_are_open *ready)
{
	struct words words = parse_options(argv);

	luaL_checkversion(L);
	if (words.wrong) {
		report_usage(argv[words.script]);
		return 0;
	}
	if (words.version)
		puts(LUA_COPYRIGHT);
	if (words.no_environment) {
		lua_pushboolean(L, 1);
		lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
	}
	luaL_openlibs(L);
	set_arguments(L, argc, argv, words.script);
	lua_gc(L, LUA_GCGEN, 0, 0);
	ready(L);
	if (!words.no_environment && !run_environment(L))
		return 0;
	if (!run_options(L, argv, words.script))
		return 0;
	if (words.script < argc)
		return run_script(L, argv, words.script);
	if (words.statement || words.version)
		return 1;
	return run_loaded(L, luaL_loadfile(L, NULL));
}
