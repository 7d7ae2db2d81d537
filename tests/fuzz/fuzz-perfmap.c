/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as a perf map.
 *
 *	clang-14 -g -O1 -std=gnu11 -D_GNU_SOURCE -I. \
 *		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *		-o fuzz-perfmap tests/fuzz/fuzz-perfmap.c cli/symbols/perfmap.c
 *	./fuzz-perfmap -max_total_time=60
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfmap *map;
	char *copy = malloc(size ? size : 1);
	static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, 0x7fffffffffffULL};

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (perfmap_parse(&map, copy, size))
		return 0;
	for (uint64_t address = 0; address < 4096; address++) {
		const char *name = perfmap_lookup(map, address);

		/* A name must not be empty and must end inside the text. */
		if (name && (!name[0] || strlen(name) >= size))
			abort();
	}
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++)
		perfmap_lookup(map, far[i]);
	perfmap_free(map);
	return 0;
}
