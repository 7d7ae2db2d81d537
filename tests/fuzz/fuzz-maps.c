/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as /proc/PID/maps, because a program chooses the names of its files. A mapping
 * that is found must contain the requested address. Reading the same text again must change
 * nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gather/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps maps = {0};
	char *text = copy_text(data, size);

	if (maps_parse(&maps, text) != 1)
		abort();
	for (unsigned i = 0; i < maps.count; i++) {
		const struct mapping *mapping = &maps.list[i];

		if (strlen(mapping->path) > size || mapping->start >= mapping->end)
			abort();
		if (i && mapping->start < mapping[-1].end)
			abort();
		if (maps_find(&maps, mapping->start) != mapping ||
			maps_find(&maps, mapping->end - 1) != mapping ||
			maps_find(&maps, mapping->end) == mapping)
			abort();
	}
	free(text);
	text = copy_text(data, size);
	if (maps_parse(&maps, text) != (maps.count ? 0 : 1))
		abort();
	free(text);
	maps_release(&maps);
	return 0;
}
