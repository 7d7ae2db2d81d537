/* SPDX-License-Identifier: MIT */
/* Names of this program's own functions that it does not export: most of Lua's. */
#ifndef FLAMELUA_SYMBOLS_H
#define FLAMELUA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols {
	const unsigned char *file; /* mapped; NULL: none */
	size_t bytes;
	uintptr_t bias; /* address in memory - address in the file's tables */
};

/* Map the program's file. Finds nothing, ever, where that cannot be read. */
void symbols_init(struct symbols *symbols);
void symbols_release(struct symbols *symbols);

/*
 * The function @pc lies in. Linear: for error reports.
 * Returns NULL when there is none. Borrowed until symbols_release().
 */
const char *symbols_find(const struct symbols *symbols, uintptr_t pc);

#endif
