/* SPDX-License-Identifier: MIT */
/*
 * Read and write pprof profiles, compressed by gzip or not. Go, gperftools and many others write
 * them. Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Samples have no times in this format: a tree that is written and read again keeps weights, names,
 * modules, addresses and threads.
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

/* Maximum numbers of locations, of functions, of mappings, of texts. */
#define PPROF_ITEMS_MAX (1u << 23)
#define PPROF_TYPES_MAX 64u
#define PPROF_LINES_MAX 1024u /* functions inlined at one address */
#define PPROF_DEPTH_MAX 65536u
/* Longer names are cut. */
#define PPROF_NAME_BYTES 4096u

/*
 * First bytes of profiles. With 0x1f (gzip), the file is a profile. With '\n', pprof_is_profile()
 * decides by the whole file. With any other byte, it is a profile only if its name says so.
 */
#define PPROF_FIRST_GZIP  0x1f
#define PPROF_FIRST_PLAIN '\n'
bool pprof_is_profile(const void *bytes, size_t count);

/*
 * Read all of @in and inflate it if it is compressed. @name is for messages. Returns 0 with *@bytes
 * from malloc and *@count; or -errno with @message filled: -EFBIG over WHOLE_BYTES_MAX, -EBADMSG if
 * damaged.
 */
int pprof_load(
	FILE *in, const char *name, void **bytes, size_t *count, struct diag_message *message);

/*
 * Add the stacks of the profile at @bytes to @tree, which is not finished here. Frames have the
 * profile's names. Addresses without names are named from the mapping's file if it is still the
 * file that ran; those that cannot be named are reported once. @request->sample_type selects the
 * values; NULL: the profile's default, or else its last type. Returns 0 and *@facts; or -errno with
 * @message filled: -EBADMSG with the damage and its offset, -EINVAL if there is no such type,
 * -ENOMEM.
 */
int pprof_read(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const struct input_request *request, struct input_facts *facts,
	struct diag_message *message);

/*
 * Read the stacks of the type @type of the same @bytes, in the units of @facts, after pprof_read().
 * Nothing is reported a second time. Returns as pprof_read() does.
 */
int pprof_read_type(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const char *type, const struct input_request *request, const struct input_facts *facts,
	struct diag_message *message);

/*
 * Write options->fine, or @tree if that is NULL (finished). Locations have file and line if known;
 * inlined functions are in the location of the function that they are inlined into. Samples have
 * labels "thread" and "process". If options->period_ns is set, the sample types are samples/count
 * and cpu/nanoseconds; options->other, if set, gets a third. options->kept are types of their own.
 * The default is the type of @tree.
 * Returns 0, -errno of @out, or -ENOMEM.
 */
int pprof_write(const struct calltree *tree, const struct picture_options *options, FILE *out);
int pprof_write_gz(const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
