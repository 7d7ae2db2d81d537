/* SPDX-License-Identifier: MIT */
/* Make and read names that are not symbols, and list marks (times named by programs). */
#ifndef CLI_PROFILE_PICTURE_NAMES_H
#define CLI_PROFILE_PICTURE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libprof/pprof/protobuf.h"
#include "libprof/profile/profile.h"
#include "render/calltree.h"
#include "render/picture.h"

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the last component of @path, or all of @path if it ends in a slash. Points into @path. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Write "[replaced: file]", the name of all code of a file that was replaced while the program ran.
 * In such code, functions cannot be told apart. Drops the kernel's " (deleted)" from @file. Returns
 * @out.
 */
char *replaced_name(char *out, size_t size, const char *file);

/* Returns the file in @name if replaced_name() made it, and its length in *@bytes; else NULL. */
const char *replaced_name_file(const char *name, size_t *bytes);

/* Write CALLTREE_BUILD_ID and the build-id, the "file" of unnamed code; "" if @bytes is 0. */
#define PICTURE_BUILD_ID_BYTES 144
void picture_names_build_id(char out[PICTURE_BUILD_ID_BYTES], const uint8_t *id, size_t bytes);

/* ---- frames that are not functions ----------------------------------------------------------- */

/* The module of "[kernel]" and "[kernel: read]", frames of kind CALLTREE_KERNEL. */
#define KERNEL_MODULE "[kernel]"

/*
 * Find the kind of a frame by its name: "[module+0x12]" and "[replaced: module]" are unnamed code,
 * "[kernel: read]" is the kernel, any other "[...]" is synthetic. A name without brackets is the
 * kernel's if @module is flamerun's or perf's name of the kernel, else of kind @otherwise.
 */
enum calltree_frame_kind picture_names_kind(
	const char *name, const char *module, enum calltree_frame_kind otherwise);

/* Weights of the stacks with these properties. */
struct special_weights {
	uint64_t unnamed;	   /* ends in code without a name */
	uint64_t kernel;	   /* ends in the kernel */
	uint64_t kernel_functions; /* part of `kernel` with function names */
	/* ends in "[unsampled]" or "[unsampled: NAME]" */
	uint64_t unsampled;
	uint64_t incomplete; /* outermost frames missing */
};

/* Compute the special weights of @tree, which is finished. */
void special_weights_of(const struct calltree *tree, struct special_weights *out);

/* bytes of the longest module_text() */
#define PICTURE_NAMES_MODULE_BYTES 128

/*
 * Write " [libz.so.1]", the text that follows the name of @frame, to @out. The text is "" if the
 * name contains the module ("[libz.so.1+0x12]", "[kernel: read]") and for waits; for a virtual
 * machine's function it is " [vm]". Returns @out.
 */
const char *module_text(
	char out[PICTURE_NAMES_MODULE_BYTES], const struct calltree_frame *frame);

/* ---- functions of virtual machines ----------------------------------------------------------- */

/*
 * A virtual machine's function is named "name (file:line)" and has the module "[vm]". Formats with
 * fields for file and line split the name again, so file and line survive every conversion.
 */
#define MACHINE_MODULE PPROF_MACHINE_FILE

/* Returns "name (file:line)" from malloc, or NULL. @file "" or @line 0: not known. */
char *machine_name_make(const char *name, const char *file, uint32_t line);

/* The parts of a name. The texts do not end with NUL: `name_bytes`, `file_bytes` are lengths. */
struct machine_name {
	size_t name_bytes;
	const char *file;
	size_t file_bytes;
	uint32_t line;
};

/* Split "name (file:line)" at the last " (". Returns false if @text has no file and line. */
bool machine_name_split(const char *text, struct machine_name *out);

/* Is @frame a virtual machine's function or the root frame of its stacks? */
bool machine_name_is_of(const struct calltree_frame *frame);

/* ---- marks ----------------------------------------------------------------------------------- */

/*
 * List the marks of @profile in order of time, in ns since the first sample. Returns 0, *@marks
 * (from malloc, NULL if there are none; texts are borrowed from @profile) and *@count; or -ENOMEM.
 * Context: one thread.
 */
int marks_make(struct flameprof_profile *profile, struct picture_mark **marks, uint32_t *count);

/* Sort @count marks by time. */
void marks_sort(struct picture_mark *marks, uint32_t count);

#endif
