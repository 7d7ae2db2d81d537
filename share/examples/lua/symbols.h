/* SPDX-License-Identifier: MIT */
/* Find the names of functions that this program does not export, such as most of Lua's. */
#ifndef FLAMELUA_SYMBOLS_H
#define FLAMELUA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols {
	const unsigned char *file; /* mapped; NULL: none */
	size_t bytes;
	/* address in memory minus address in the file */
	uintptr_t bias;
};

/* Map the program's file. If it cannot be read, symbols_find() finds nothing. */
void symbols_init(struct symbols *symbols);
void symbols_release(struct symbols *symbols);

/*
 * Find the function that contains @pc by a linear search, for error reports.
 * Returns its name, borrowed until symbols_release(), or NULL when there is none.
 */
const char *symbols_find(const struct symbols *symbols, uintptr_t pc);

#endif
