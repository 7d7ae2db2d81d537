/* SPDX-License-Identifier: MIT */
/*
 * Copying our own vDSO.
 */
#include "cli/symbols/vdso.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The end of our mapping that begins at @start, 0 when it cannot be told. */
static unsigned long mapping_end(unsigned long start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long end = 0;

	while (maps && !end && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			end = to;
	}
	if (maps)
		fclose(maps);
	return end;
}

int vdso_open(struct elfimage *image)
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR);
	unsigned long end = start ? mapping_end(start) : 0;

	if (end <= start)
		return -ENOENT;

	char *copy = malloc(end - start);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, (const void *)start, end - start);

	int error = elfimage_init_memory(image, copy, end - start);

	if (error)
		free(copy);
	return error;
}
