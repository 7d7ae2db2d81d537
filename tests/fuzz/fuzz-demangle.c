/* SPDX-License-Identifier: MIT */
/* Demangle any bytes as a function's name, in all styles, and shorten the result for a label. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/demangle.h"
#include "render/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);

	if (!name)
		abort();
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	for (int style = DEMANGLE_SHORT; style <= DEMANGLE_NONE; style++) {
		char *shown = demangle_name(name, (enum demangle_style)style);
		char *shorter = shown ? malloc(LABEL_SHORT_BYTES(strlen(shown))) : NULL;

		if (!shorter || (strlen(shown) > DEMANGLE_MAX_BYTES + size))
			abort();
		label_short(shorter, shown);
		if (strlen(shorter) >= LABEL_SHORT_BYTES(strlen(shown)))
			abort();
		demangle_drop_copies(shown);
		free(shown);
		free(shorter);
	}
	free(name);
	return 0;
}
