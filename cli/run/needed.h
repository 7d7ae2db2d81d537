/* SPDX-License-Identifier: MIT */
/*
 * The libraries an ELF file asks for by DT_NEEDED, read from the file as it lies on disk.
 */
#ifndef CLI_RUN_NEEDED_H
#define CLI_RUN_NEEDED_H

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define NEEDED_BYTES (NAME_MAX + 1)

/* Where to look; nothing in the file is believed beyond what its header was checked for. */
struct needed_file {
	int descriptor;		   /* borrowed */
	const ElfW(Ehdr) * header; /* borrowed; of this machine's word size and byte order */
	uint64_t dynamic_offset, dynamic_bytes; /* of PT_DYNAMIC; 0 bytes: there is none */
};

/*
 * Is there a library among the needed ones whose name begins with one of @starts (NULL at the end)?
 * Its name goes to @name then. False also for what cannot be read.
 */
bool needed_find(
	const struct needed_file *file, const char *const *starts, char name[NEEDED_BYTES]);

#endif
