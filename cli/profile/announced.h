/* SPDX-License-Identifier: MIT */
/*
 * What programs said about themselves while they were profiled: names for code they generated, and
 * marks. They may say anything, as often as they like: there is a ceiling, and what goes beyond is
 * refused.
 *
 * Context: one thread.
 */
#ifndef CLI_PROFILE_ANNOUNCED_H
#define CLI_PROFILE_ANNOUNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNOUNCED_CODES_MAX (4u << 20)
#define ANNOUNCED_MARKS_MAX (1u << 20)
/* Of all names and marks together. */
#define ANNOUNCED_TEXT_MAX (256u << 20)

enum announced_kind {
	ANNOUNCED_CODE,	    /* generated */
	ANNOUNCED_FUNCTION, /* of a virtual machine's language: no code */
	ANNOUNCED_ROOT,	    /* what stands above such a machine's stacks */
};

struct announced_code {
	uint64_t start; /* in the code space, see WIRE_MODULE_CODE */
	uint64_t bytes;
	enum announced_kind kind;
	uint32_t image; /* index of the profile */
	uint32_t turn;	/* later ones win where a program says two things of one place */
	char *name;
};

struct announced_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC, as the program says */
	uint32_t image;
	uint32_t tid;
	char *text;
};

/* Zero-initialise. */
struct announced {
	struct announced_code *codes;
	struct announced_mark *marks;
	uint32_t code_count, code_room;
	uint32_t mark_count, mark_room;
	size_t text_bytes;
	bool is_sorted; /* codes, by image and start */
};

void announced_release(struct announced *announced);

/*
 * Remember that @bytes bytes from @start of @image's code space are @name (copied). An empty name
 * or stretch says nothing and is no error. Returns 0, -ENOSPC at a ceiling, or -ENOMEM.
 */
int announced_add_code(struct announced *announced, uint32_t image, uint64_t start, uint64_t bytes,
	const char *name);

/*
 * Remember that the place @start stands for a function called "@name (@file:@line)", with what is
 * known of that: "" and 0 are not; or for the root called @name. Returns as announced_add_code().
 */
int announced_add_function(struct announced *announced, uint32_t image, uint64_t start,
	enum announced_kind kind, const char *name, const char *file, uint32_t line);

/* Remember a mark; @mark->text is copied. Returns 0, -ENOSPC at a ceiling, or -ENOMEM. */
int announced_add_mark(struct announced *announced, const struct announced_mark *mark);

/* What is at @address of @image's code space, or NULL. Valid until something is added. */
const struct announced_code *announced_at(
	struct announced *announced, uint32_t image, uint64_t address);

/* Its name, or NULL. */
static inline const char *announced_code_name(
	struct announced *announced, uint32_t image, uint64_t address)
{
	const struct announced_code *code = announced_at(announced, image, address);

	return code ? code->name : NULL;
}

#endif
