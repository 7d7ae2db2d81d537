/* SPDX-License-Identifier: MIT */
/*
 * Find out which functions of a module are written in Ada or Nim. Their linker names look like
 * names of C ("a__b"), so demangle them only if other symbols of the module show the language.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_LANGUAGES_H
#define CLI_SYMBOLS_LANGUAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/demangle.h"

/* Evidence of Ada and Nim in the symbols of one module. Zero at first. */
struct languages {
	uint64_t *units; /* owned; hashes of possible Ada units */
	size_t count, room;
	bool has_gnat, has_nim;
};

enum languages_symbol { LANGUAGES_UNDEFINED, LANGUAGES_FUNCTION, LANGUAGES_DATA };

/* Note a symbol of the module. Call this for all symbols before languages_finish(). */
void languages_note(struct languages *languages, const char *name, enum languages_symbol kind);

/* Call this between languages_note() and languages_of(), again if more symbols were noted. */
void languages_finish(struct languages *languages);

/* Return the language of the function with linker name @name. Context: any thread. */
enum demangle_language languages_of(const struct languages *languages, const char *name);

void languages_release(struct languages *languages);

#endif
