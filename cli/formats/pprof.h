/* SPDX-License-Identifier: MIT */
/*
 * pprof profiles, in and out: what Go, gperftools and many others write, gzip-compressed or not.
 * Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * A sample has no time there: a tree that is written and read again keeps weights, names, modules
 * and threads.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_PPROF_H
#define CLI_FORMATS_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/calltree.h"
#include "render/picture.h"

/* Of each kind: locations, functions, mappings, texts. */
#define PPROF_ITEMS_MAX (1u << 23)
#define PPROF_TYPES_MAX 64u
#define PPROF_LINES_MAX 1024u /* functions inlined at one address, and those of one stack */
#define PPROF_DEPTH_MAX 65536u
/* Of a name; the rest is cut off. */
#define PPROF_NAME_BYTES 4096u

/*
 * Does the file that begins with @first hold a profile? 0x1f: gzip, yes. '\n': maybe, and then the
 * whole of it tells, see pprof_is_profile(). Else no, unless its name says so.
 */
#define PPROF_FIRST_GZIP  0x1f
#define PPROF_FIRST_PLAIN '\n'
bool pprof_is_profile(const void *bytes, size_t count);

/*
 * Read all of @in, inflated when it is gzip-compressed. @name is for messages.
 * Returns 0, *@bytes from malloc and their *@count; or -errno with @message filled: -EFBIG beyond
 * WHOLE_BYTES_MAX, -EBADMSG for damage.
 */
int pprof_load(
	FILE *in, const char *name, void **bytes, size_t *count, struct diag_message *message);

/*
 * Add the stacks of the profile at @bytes to @tree (not finished by this). Frames have the names
 * that the profile gives them; what has none is named from the mapping's file, if that is still the
 * one that ran. What could not be named is reported, once.
 *
 * @request  of it the sample type to take, NULL: the profile's default, else its last one
 *
 * Returns 0 and *@facts; or -errno with @message filled: -EBADMSG with what is damaged and where,
 * -EINVAL for a type it does not have, -ENOMEM.
 */
int pprof_read(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const struct input_request *request, struct input_facts *facts,
	struct diag_message *message);

/*
 * The same once more for what facts->other_name names, counted in the units of @facts, which
 * pprof_read() filled. What it reported is not reported again.
 */
int pprof_read_other(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const struct input_request *request, const struct input_facts *facts,
	struct diag_message *message);

/*
 * Write options->fine, or without it @tree (finished): locations of functions with file and line
 * where they are known, what is inlined being in the location of what it stands in; labels "thread"
 * and "process" likewise. With options->period_ns there are two sample types,
 * samples/count and cpu/nanoseconds, and with options->other a third. The tree's is the default.
 * Returns 0, or -errno of @out, or -ENOMEM.
 */
int pprof_write(const struct calltree *tree, const struct picture_options *options, FILE *out);
int pprof_write_gz(const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
