/* SPDX-License-Identifier: MIT */
/* Lua functions are called through their stubs: see calls.c. */
#ifndef FLAMELUA_CALLS_H
#define FLAMELUA_CALLS_H

/*
 * From now on, calls of Lua functions on this thread go through stubs.
 * Returns 0; -ENOTSUP where executable memory is refused, -errno: all stays plain Lua.
 * Context: no Lua code is running.
 */
int calls_init(void);

#endif
