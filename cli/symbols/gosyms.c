/* SPDX-License-Identifier: MIT */
/*
 * One symbol for each function.
 */
#include "cli/symbols/gosyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/gopclntab.h"

int gosyms_add(struct symtab *table, const struct elfimage *image)
{
	struct gopclntab functions;
	int added = 0;
	char *names;

	if (gopclntab_open(&functions, image))
		return 0;
	names = malloc(functions.size - functions.names);
	if (!names)
		return -ENOMEM;
	memcpy(names, functions.bytes + functions.names, functions.size - functions.names);
	if (symtab_keep(table, names)) {
		free(names);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < functions.count; i++) {
		struct gopclntab_function function;
		struct symtab_symbol symbol = {.rank = SYMTAB_RANK_FUNCTION};
		int error;

		if (gopclntab_function(&functions, i, &function))
			continue;
		symbol.start = function.start;
		symbol.end = symbol.limit = function.end;
		symbol.name = names +
			(function.name - (const char *)functions.bytes - functions.names);
		error = symtab_add(table, &symbol);
		if (error == -ENOMEM)
			return error;
		added += !error;
	}
	return added;
}
