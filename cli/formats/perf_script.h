/* SPDX-License-Identifier: MIT */
/*
 * Read the output of `perf script`: text in a file, or of a perf that is started for a recording
 * (perf.data). perf.data itself is not parsed, because only perf knows what all its versions wrote.
 *
 * A sample begins with a line "comm pid/tid [cpu] time: period event:". Lines of its functions
 * follow, innermost first: "address name+offset (file)". An empty line ends it. This is the default
 * output, also with -F +pid.
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

/* Is @text, the start of a file, output of perf script? The first line without '#' decides. */
bool perf_script_is(const char *text, size_t bytes);

/*
 * Read all @lines into *@tree (owned, empty, not finished here), which may be replaced by another
 * tree. Weights are the periods of one event, or numbers of samples if no periods are printed.
 * @event is the name of this event; NULL: the event with most samples. Returns 0 and *@facts; or
 * -errno with @message filled: -EINVAL if @event was not recorded, -E2BIG for too many events,
 * -ENOMEM, or an error of reading.
 */
int perf_script_read(struct calltree **tree, struct lines *lines, const char *name,
	const char *event, struct input_facts *facts, struct diag_message *message);

/* Is @in a recording of perf? Call this before @in is read; nothing of it is consumed. */
bool perf_data_is(FILE *in);

/*
 * Read the recording @path by starting `perf script`. Returns as perf_script_read() does, or
 * -ENOENT if perf is not installed, or -EIO if it fails.
 */
int perf_data_read(struct calltree **tree, const char *path, const char *event,
	struct input_facts *facts, struct diag_message *message);

#endif
