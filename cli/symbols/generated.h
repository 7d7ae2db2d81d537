/* SPDX-License-Identifier: MIT */
/*
 * Names of the code that one process made: out of its jitdump, where it has one mapped, and its
 * perf map. Each is read when the first name is asked for.
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

/* Zero-initialise, then fill in what is known. */
struct generated {
	const char *dump_path; /* of the jitdump; borrowed, NULL: there is none */
	uint32_t pid;	       /* the process's own number for itself */
	int64_t start_wall_s;  /* files last written before are somebody else's; 0: none is */
	int held_dump, held_map; /* descriptors of the two if held, borrowed; 0: not held */
	struct jitdump *dump;
	struct perfmap *map;
	bool is_dump_read, is_map_read;
};

/*
 * The name of the code at @address at @time_ns (CLOCK_MONOTONIC, GENERATED_*), NULL when nothing
 * tells. Valid until generated_release(). *@moves: it is asked for any time, and depends on it.
 */
const char *generated_name(
	struct generated *generated, uint64_t address, uint64_t time_ns, bool *moves);

/* Write the path of the file that has names into @out, "" when there is none. */
void generated_path(const struct generated *generated, char *out, size_t size);

void generated_release(struct generated *generated);

#endif
