/* SPDX-License-Identifier: MIT */
/* Report errors of scripts on stderr, as lua5.4 does, but with the native stack. */
#ifndef FLAMELUA_REPORT_H
#define FLAMELUA_REPORT_H

#include <lua.h>

/* Begin all messages with the name @program, which is borrowed until the process ends. */
void report_name(const char *program);

/*
 * Message handler for lua_pcall(): add Lua's traceback to the message, and keep the native stack
 * for report().
 */
int report_handler(lua_State *L);

/* If @status is an error, print and pop its message and return 0. Otherwise return 1. */
int report(lua_State *L, int status);

/* Report that @word of the command line is wrong or, if @word is NULL, that a word is missing. */
void report_usage(const char *word);

#endif
