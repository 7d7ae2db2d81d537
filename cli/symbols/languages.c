/* SPDX-License-Identifier: MIT */
/*
 * Ada: gnat marks each library unit with data symbols, "ada__text_io_E" (its elaboration counter),
 * "ada__text_ioB" and "ada__text_ioS" (versions of body and specification, in programs). So a
 * function is Ada's if its name begins with the name of such a unit, and if the module uses gnat's
 * runtime, whose names begin with "__gnat_". A C function "a__b" of the same module keeps its name.
 *
 * Nim: each program and library defines NimMain. If it is defined, demangle.c recognises names of
 * Nim by their form.
 */
#include "cli/symbols/languages.h"

#include <ctype.h>
#include <string.h>

#include "libprof/fnv.h"
#include "render/array.h"

void languages_note(struct languages *languages, const char *name, enum languages_symbol kind)
{
	static const char *const endings[] = {"_E", "B", "S"};
	size_t bytes = strlen(name);

	if (!strncmp(name, "__gnat_", 7))
		languages->has_gnat = true;
	else if (kind == LANGUAGES_FUNCTION && !strcmp(name, "NimMain"))
		languages->has_nim = true;
	if (kind != LANGUAGES_DATA || !islower((unsigned char)*name))
		return;
	for (int i = 0; i < 3; i++) {
		size_t unit = bytes - strlen(endings[i]);

		if (bytes < 2 || strcmp(name + unit, endings[i]))
			continue;
		/* If memory is short, the unit is not noted, so its names are not demangled. */
		if (!ARRAY_GROW(languages->units, languages->count, languages->room, 64))
			languages->units[languages->count++] = fnv_bytes(FNV_BEGIN, name, unit);
		return;
	}
}

static int compare_hashes(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Does @name begin with the name of a library unit, followed by "__", "." or nothing? */
static bool is_ada(const struct languages *languages, const char *name)
{
	uint64_t hash = FNV_BEGIN;

	if (!languages->count)
		return false;
	/* gnat puts "_ada_" before the name of a procedure that is itself a library unit. */
	name += strncmp(name, "_ada_", 5) ? 0 : 5;
	for (;; hash = fnv_bytes(hash, name++, 1)) {
		if ((!*name || *name == '.' || !strncmp(name, "__", 2)) &&
			bsearch(&hash, languages->units, languages->count, sizeof(hash),
				compare_hashes))
			return true;
		if (!*name)
			return false;
	}
}

void languages_finish(struct languages *languages)
{
	if (languages->count)
		qsort(languages->units, languages->count, sizeof(*languages->units),
			compare_hashes);
}

enum demangle_language languages_of(const struct languages *languages, const char *name)
{
	if (languages->has_gnat && is_ada(languages, name))
		return DEMANGLE_ADA;
	return languages->has_nim ? DEMANGLE_NIM : DEMANGLE_BY_NAME;
}

void languages_release(struct languages *languages)
{
	free(languages->units);
	*languages = (struct languages){0};
}
