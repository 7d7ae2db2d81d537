/* SPDX-License-Identifier: MIT */
/*
 * What `perf script` prints of a recording, as text in a file or straight from a recording
 * (perf.data), which perf itself reads: only it knows what all its versions wrote.
 *
 * A sample is a line "comm pid/tid [cpu] time: period event:", below it a line for each function,
 * innermost first: "address name+offset (file)"; an empty line ends it. It is what perf prints by
 * default, and with -F +pid.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_PERF_SCRIPT_H
#define CLI_FORMATS_PERF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "cli/formats/folded.h"
#include "render/calltree.h"

#define PERF_EVENTS_MAX 32u
#define PERF_DEPTH_MAX	65536u

/* Is text that begins with these @bytes perf's? Its first line that is no comment tells. */
bool perf_script_is(const char *text, size_t bytes);

/*
 * Read all of @lines into *@tree (owned, empty, not finished by this; another may take its place).
 * Weights are the periods of one event, or its samples where none are printed.
 *
 * @event  which one, NULL: that of the most samples
 *
 * Returns 0 and *@facts; or -errno with @message filled: -EINVAL for an event that was not
 * recorded, -E2BIG for too many of them, -ENOMEM, or of reading.
 */
int perf_script_read(struct calltree **tree, struct lines *lines, const char *name,
	const char *event, struct input_facts *facts, struct diag_message *message);

/* Is @in (not read from by now, nor by this) a file that holds a recording? */
bool perf_data_is(FILE *in);

/*
 * The same of the recording @path, by `perf script`, which has to be installed.
 * Returns what perf_script_read() does, -ENOENT without perf, -EIO when it fails.
 */
int perf_data_read(struct calltree **tree, const char *path, const char *event,
	struct input_facts *facts, struct diag_message *message);

#endif
