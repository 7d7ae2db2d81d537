/* SPDX-License-Identifier: MIT */
/* Errors of scripts, on stderr: as lua5.4 prints them, and with the native stack. */
#ifndef FLAMELUA_REPORT_H
#define FLAMELUA_REPORT_H

#include <lua.h>

/* Messages begin with this. Borrowed for good. */
void report_name(const char *program);

/* Message handler for lua_pcall(): adds Lua's traceback, and remembers the native stack. */
int report_handler(lua_State *L);

/* Print and pop the error message when @status is one. Returns 1, or 0 if there was an error. */
int report(lua_State *L, int status);

/* @word of the command line is wrong. */
void report_usage(const char *word);

#endif
