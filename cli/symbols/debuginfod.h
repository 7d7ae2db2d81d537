/* SPDX-License-Identifier: MIT */
/*
 * Asking debuginfod servers for debug files, several at a time, not for ever. What comes is in the
 * folder that their clients share, where module.c finds it, now and the next time.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_DEBUGINFOD_H
#define CLI_SYMBOLS_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

/*
 * Open the debug file of build-id @id that was fetched for this user, by whichever client.
 * Returns 0, @file, to be closed by the caller, and its @path of less than @path_bytes; or -ENOENT.
 */
int debuginfod_open(struct elf_file *file, const uint8_t *id, size_t id_bytes, char *path,
	size_t path_bytes);

/* As many are asked for at once, and in all. */
#define DEBUGINFOD_AT_ONCE 8u
#define DEBUGINFOD_MAX     256u

/* Seconds, unless DEBUGINFOD_MAXTIME has another number of them. */
#define DEBUGINFOD_SECONDS 30u

struct debuginfod_request {
	const uint8_t *build_id; /* borrowed */
	size_t build_id_bytes;
	bool came; /* filled in */
};

/* What became of requests; zero-initialise, they add up. */
struct debuginfod_report {
	unsigned came;
	unsigned unknown;    /* to the servers */
	unsigned failed;     /* no server answered: */
	int error;	     /* the last one's errno */
	unsigned left;	     /* when time was up, or somebody was in a hurry */
	unsigned seconds;    /* that was how long; 0: nobody waited so long */
	bool has_no_library; /* elfutils' client is not here: nobody was asked */
};

/*
 * Ask for the debug files of the @count @requests, the first of them first. Servers are those of
 * DEBUGINFOD_URLS. Ends early when @is_hurried (NULL: never) says so.
 */
void debuginfod_fetch(struct debuginfod_request *requests, size_t count, bool (*is_hurried)(void),
	struct debuginfod_report *report);

#endif
