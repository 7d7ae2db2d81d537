/* SPDX-License-Identifier: MIT */
/*
 * What frames mean: the modules and the announced code they lie in, as control records told. A
 * profile of many images has the modules of all in one table; code spaces are each image's own, and
 * so are the tables of them. The catalogue of a process that profiles itself has all that was
 * announced, a profile of it what its stacks name.
 *
 * Context: one thread at a time. Memory is on the account given, always the same for one table.
 */
#ifndef LIBPROF_PROFILE_NAMES_H
#define LIBPROF_PROFILE_NAMES_H

#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "libprof/wire.h"

/* Executable segments kept of a module; more are rare. */
#define NAMES_SEGMENTS 4

/* As mapped: whole pages. */
struct names_segment {
	uint64_t start, end, file_offset;
};

struct names_module {
	uint32_t number; /* in frames */
	uint32_t flags;	 /* WIRE_MODULE_MAIN ... */
	uint64_t start, end, bias;
	uint64_t time_ns; /* CLOCK_MONOTONIC: it was mapped then; 0: not known */
	uint32_t path;	  /* offset in strings */
	uint32_t build_id_bytes;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t segments; /* 0: its program headers could not be read, or nobody tried */
	uint32_t image;	   /* index of the profile, 0 where there is one image */
	struct names_segment segment[NAMES_SEGMENTS];
};

/* A stretch of the code space: code, or a function of a virtual machine's, which is none. */
struct names_code {
	uint64_t space, bytes;
	uint64_t start; /* in memory; 0: a machine's function */
	uint32_t name;	/* offset in strings */
	uint32_t file;	/* number of its file, 0: none */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_*, WIRE_CODE_* */
};

/* All zero is an empty table. */
struct names {
	struct pages modules; /* struct names_module, in order of addition */
	uint32_t module_count;
	struct lookup module_lookup; /* by image and number */
	struct pages codes;	/* struct names_code, by space, none overlaps another */
	uint32_t code_count;
	struct pages files; /* uint32_t by number - 1: offset in strings, each file once */
	uint32_t file_count;
	struct lookup file_lookup;
	struct pages strings; /* NUL-terminated each; offset 0 is "" */
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

/* Is it no code at all, but what a thread waits for? */
static inline int names_code_is_wait(const struct names_code *code)
{
	return (code->space & WIRE_WAIT_BIT) != 0;
}

/* The file with @number, "" for 0. */
static inline const char *names_file(const struct names *names, uint32_t number)
{
	return number ? names_string(names, ((const uint32_t *)names->files.at)[number - 1]) : "";
}

/* Index + 1 of the module with @number of @image, 0 when it is not known. */
uint32_t names_find_module(const struct names *names, uint32_t image, uint32_t number);

/* Index + 1 of the code that has @space in its stretch, 0 when none is known. */
uint32_t names_find_code(const struct names *names, uint64_t space);

/*
 * Add what is not known yet; what is stays as it is. Paths and names are copied. Numbers beyond
 * WIRE_MODULE_MAX and empty or overlapping stretches are refused.
 * Returns 0; -EINVAL; -ENOSPC at the ceiling; -ENOMEM. A failed call changed nothing that is seen.
 */
int names_add_module(struct names *names, struct pages_account *account,
	const struct names_module *module, const char *path);
int names_add_code(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name);
/* The same with its file, whose number code->file need not be. */
int names_add_function(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name, const char *file);
int names_add_string(
	struct names *names, struct pages_account *account, const char *text, uint32_t *offset);

/* Forget the modules added after the first @count. Cannot fail. */
void names_truncate_modules(struct names *names, uint32_t count);

#endif
