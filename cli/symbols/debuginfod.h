/* SPDX-License-Identifier: MIT */
/*
 * Download debug files from debuginfod servers, several at a time and with a time limit. Downloaded
 * files are stored in the cache folder that all debuginfod clients of the user share, where
 * debuginfod_open() finds them, also when flamerun runs again.
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
 * Open the debug file of build-id @id if any debuginfod client has stored it in the cache folder.
 * Returns 0 with @file, which the caller closes, and its path in @path (room for @path_bytes
 * bytes); or -ENOENT.
 */
int debuginfod_open(struct elf_file *file, const uint8_t *id, size_t id_bytes, char *path,
	size_t path_bytes);

/*
 * Limits of one debuginfod_fetch(): parallel downloads, and requests in all. Requests beyond
 * DEBUGINFOD_MAX are ignored.
 */
#define DEBUGINFOD_AT_ONCE 8u
#define DEBUGINFOD_MAX     256u

/* Time limit in seconds if DEBUGINFOD_MAXTIME is not set. */
#define DEBUGINFOD_SECONDS 30u

struct debuginfod_request {
	const uint8_t *build_id; /* borrowed */
	size_t build_id_bytes;
	bool came; /* set if the file was downloaded */
};

/* Results of requests. Zero-initialise; each debuginfod_fetch() adds to it. */
struct debuginfod_report {
	unsigned came;
	unsigned unknown; /* number of files that no server has */
	/* number of requests that failed, for example because no server answered */
	unsigned failed;
	int error; /* errno of the last failed request */
	/* number of files not downloaded because of the time limit or is_hurried() */
	unsigned left;
	/* the time limit in seconds if it was reached, else 0 */
	unsigned seconds;
	/* libdebuginfod is not installed, so nothing was requested */
	bool has_no_library;
};

/*
 * Download the debug files of the @count @requests, in this order, from the servers in
 * DEBUGINFOD_URLS, which libdebuginfod reads. Sets `came` in each request and adds to @report. Ends
 * early when @is_hurried (NULL: never) returns true.
 */
void debuginfod_fetch(struct debuginfod_request *requests, size_t count, bool (*is_hurried)(void),
	struct debuginfod_report *report);

#endif
