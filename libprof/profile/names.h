/* SPDX-License-Identifier: MIT */
/*
 * Names of frames: modules and announced code, from control records. A profile of many process
 * images has one table for the modules of all images, and one table per image for code, because
 * each image has its own code space. In a process that profiles itself, the catalogue has all
 * announced names, and a profile has the names that its stacks refer to.
 *
 * Context: one thread at a time. All arrays of a table must always be on the same account.
 */
#ifndef LIBPROF_PROFILE_NAMES_H
#define LIBPROF_PROFILE_NAMES_H

#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "libprof/wire.h"

/* Number of executable segments that are kept per module; few modules have more. */
#define NAMES_SEGMENTS 4

/* A mapped segment; its bounds are whole pages. */
struct names_segment {
	uint64_t start, end, file_offset;
};

struct names_module {
	uint32_t number; /* number in WIRE_FRAME_MODULE */
	uint32_t flags;	 /* WIRE_MODULE_MAIN ... */
	uint64_t start, end, bias;
	/* CLOCK_MONOTONIC when the module was mapped; 0: unknown. */
	uint64_t time_ns;
	uint32_t path;	  /* offset in `strings` */
	uint32_t build_id_bytes;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	/* 0: program headers not read or unreadable */
	uint32_t segments;
	/* Index of the process image in the profile; 0 if there is one image. */
	uint32_t image;
	struct names_segment segment[NAMES_SEGMENTS];
};

/*
 * A range of the code space (WIRE_MODULE_CODE in wire.h): generated code, or a virtual machine's
 * function without machine code.
 */
struct names_code {
	uint64_t space, bytes;
	/* Address in memory; 0: a virtual machine's function. */
	uint64_t start;
	uint32_t name;	/* offset in `strings` */
	uint32_t file;	/* number of its source file, 0: none */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_*, WIRE_CODE_* */
};

/* All zero is an empty table. */
struct names {
	/* struct names_module, in the order in which they were added. */
	struct pages modules;
	uint32_t module_count;
	struct lookup module_lookup; /* by image and number */
	/* struct names_code, sorted by `space`, not overlapping. */
	struct pages codes;
	uint32_t code_count;
	/* uint32_t by file number - 1: offset in `strings`. No two files are equal. */
	struct pages files;
	uint32_t file_count;
	struct lookup file_lookup;
	struct pages strings; /* NUL-terminated; offset 0 is "" */
	uint32_t string_bytes;
};

void names_release(struct names *names, struct pages_account *account);

static inline struct names_module *names_module(const struct names *names, uint32_t index)
{
	return (struct names_module *)names->modules.at + index;
}

static inline struct names_code *names_code(const struct names *names, uint32_t index)
{
	return (struct names_code *)names->codes.at + index;
}

static inline const char *names_string(const struct names *names, uint32_t offset)
{
	return offset ? (const char *)names->strings.at + offset : "";
}

static inline int names_code_is_function(const struct names_code *code)
{
	return !code->start;
}

/* Returns 1 if @code is not code, but the reason of a wait, which is the leaf of a stack. */
static inline int names_code_is_wait(const struct names_code *code)
{
	return (code->space & WIRE_WAIT_BIT) != 0;
}

/* Returns file @number; "" for 0. */
static inline const char *names_file(const struct names *names, uint32_t number)
{
	return number ? names_string(names, ((const uint32_t *)names->files.at)[number - 1]) : "";
}

/* Returns the index + 1 of module @number of @image, 0 if unknown. */
uint32_t names_find_module(const struct names *names, uint32_t image, uint32_t number);

/* Returns the index + 1 of the code whose range contains @space, 0 if unknown. */
uint32_t names_find_code(const struct names *names, uint64_t space);

/*
 * Add an entry unless its number or address is known; texts are copied. Module numbers above
 * WIRE_MODULE_MAX and empty or overlapping ranges are refused.
 * Returns 0; -EINVAL; -ENOSPC at the limit; -ENOMEM. A failed call has no visible effect.
 */
int names_add_module(struct names *names, struct pages_account *account,
	const struct names_module *module, const char *path);
int names_add_code(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name);
/* Add a function with the name of its source file @file, which replaces code->file. */
int names_add_function(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name, const char *file);
int names_add_string(
	struct names *names, struct pages_account *account, const char *text, uint32_t *offset);

/* Remove all modules except the first @count. Cannot fail. */
void names_truncate_modules(struct names *names, uint32_t count);

#endif
