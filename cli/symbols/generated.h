/* SPDX-License-Identifier: MIT */
/*
 * Name the code that a process generated at run time, by the jitdump or perf map that the process
 * wrote. The files are read when the first name is looked up.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_GENERATED_H
#define CLI_SYMBOLS_GENERATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_AT_ANY_TIME 0
#define GENERATED_AT_LAST     UINT64_MAX

/* Zero-initialise, then set the fields up to `held_map`. */
struct generated {
	/* path of the jitdump, borrowed; NULL: none */
	const char *dump_path;
	/* pid of the process in its own pid namespace */
	uint32_t pid;
	/* Seconds since the epoch. A file whose last write is earlier is ignored. 0: no limit. */
	int64_t start_wall_s;
	/* open descriptors of jitdump and perf map, borrowed; 0: none */
	int held_dump, held_map;
	struct jitdump *dump;
	struct perfmap *map;
	bool is_dump_read, is_map_read;
};

/*
 * Return the name of the code that was at @address at @time_ns (CLOCK_MONOTONIC or GENERATED_*), or
 * NULL if it is unknown. Valid until generated_release(). If @time_ns is
 * GENERATED_AT_ANY_TIME but the name depends on the time, set *@moves and return NULL.
 */
const char *generated_name(
	struct generated *generated, uint64_t address, uint64_t time_ns, bool *moves);

/* Write to @out the path of the file from which names came; "" if there is none. */
void generated_path(const struct generated *generated, char *out, size_t size);

void generated_release(struct generated *generated);

#endif
