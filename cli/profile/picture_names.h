/* SPDX-License-Identifier: MIT */
/*
 * How files, functions of virtual machines and the marks of a profile are called in pictures.
 */
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

/* @path without its folders; whole when it ends in a slash. Points into it. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * What stands for all code of a file that was replaced while it ran: where in it a function began
 * nobody knows any more. @file may have the kernel's " (deleted)". Returns @out.
 */
char *replaced_name(char *out, size_t size, const char *file);

/* The file that @name, made by that, is of (borrowed from it), and its *@bytes; NULL: it is not. */
const char *replaced_name_file(const char *name, size_t *bytes);

/*
 * Write what unnamed code has for a file: CALLTREE_BUILD_ID and the build-id @id; "" when it has
 * none, of 0 bytes.
 */
#define PICTURE_BUILD_ID_BYTES 144
void picture_names_build_id(char out[PICTURE_BUILD_ID_BYTES], const uint8_t *id, size_t bytes);

/* ---- what is no function --------------------------------------------------------------------- */

/* The module of "[kernel]" and "[kernel: read]", frames of kind CALLTREE_KERNEL. */
#define KERNEL_MODULE "[kernel]"

/*
 * "[module+0x12]" and "[replaced: module]" are unnamed code, "[kernel: read]" is the kernel's, any
 * other "[...]" something that is no function; what has no brackets is the kernel's if @module is,
 * as we or perf's users call it, or else of kind @otherwise.
 */
enum calltree_frame_kind picture_names_kind(
	const char *name, const char *module, enum calltree_frame_kind otherwise);

/* What stacks weigh that are no ordinary ones. */
struct special_weights {
	uint64_t unnamed;    /* that end in code without a name */
	uint64_t kernel;     /* that end in the kernel */
	uint64_t kernel_functions; /* of these, in functions that it told the names of */
	uint64_t unsampled;  /* that end in "[unsampled]" or "[unsampled: NAME]" */
	uint64_t incomplete; /* that lack the way from the start */
};

/* Of @tree (finished). */
void special_weights_of(const struct calltree *tree, struct special_weights *out);

/* Of a frame's module, at most so much is shown. */
#define PICTURE_NAMES_MODULE_BYTES 128

/*
 * " [libz.so.1]" into @out, what is said behind the name of @frame. "[libz.so.1+0x12]" and
 * "[kernel: read]" say it already, a machine's module is called "[vm]", and that of a wait is none.
 * Returns @out.
 */
const char *module_text(
	char out[PICTURE_NAMES_MODULE_BYTES], const struct calltree_frame *frame);

/* ---- functions of virtual machines ----------------------------------------------------------- */

/*
 * "name (file:line)", in the module "[vm]". Formats that have fields of their own for file and line
 * get them out of that again, so that they survive every way from one file to another.
 */
#define MACHINE_MODULE PPROF_MACHINE_FILE

/* Returns the whole, from malloc, or NULL without memory. @file "" and @line 0 are not known. */
char *machine_name_make(const char *name, const char *file, uint32_t line);

/* The parts of a name: lengths of name and file, which begins at @file. */
struct machine_name {
	size_t name_bytes;
	const char *file;
	size_t file_bytes;
	uint32_t line;
};

/*
 * Take "name (file:line)" apart at the last " (". Returns false for a name without both: it is the
 * name as it is.
 */
bool machine_name_split(const char *text, struct machine_name *out);

/* Is @frame a virtual machine's, its root included? */
bool machine_name_is_of(const struct calltree_frame *frame);

/* ---- marks ----------------------------------------------------------------------------------- */

/*
 * In order of time, counted from the first sample.
 * Returns 0 and an array in *@marks (from malloc, NULL when there are none; texts are borrowed from
 * @profile) and their *@count; or -ENOMEM. Context: one thread.
 */
int marks_make(struct flameprof_profile *profile, struct picture_mark **marks, uint32_t *count);

/* Put @count marks in order of time. */
void marks_sort(struct picture_mark *marks, uint32_t count);

#endif
