/* SPDX-License-Identifier: MIT */
/*
 * The texts of a pprof profile. Their numbers come by arithmetic, not from a table: a fixed few,
 * then two for each module, one for each thread, piece of code, file of those, and mark.
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_TEXTS_H
#define LIBPROF_AGGREGATOR_PPROF_TEXTS_H

#include "libprof/aggregator/profile.h"
#include "libprof/aggregator/protobuf_out.h"

enum pprof_text {
	PPROF_TEXT_EMPTY, /* 0, says the format */
	PPROF_TEXT_SAMPLES,
	PPROF_TEXT_COUNT,
	PPROF_TEXT_CLOCK,
	PPROF_TEXT_NANOSECONDS,
	PPROF_TEXT_THREAD_ID,
	PPROF_TEXT_THREAD,
	PPROF_TEXT_GENERATED,
	PPROF_TEXT_UNSAMPLED,
	PPROF_TEXT_NO_STACK,
	PPROF_TEXT_VM_TIME,
	PPROF_TEXT_MACHINE,
	PPROF_TEXT_TITLE,
	PPROF_TEXT_DROPPED,
	PPROF_TEXTS
};

static inline uint32_t pprof_text_of_path(const struct flameprof_profile *p, uint32_t module)
{
	(void)p;
	return PPROF_TEXTS + 2 * module;
}

static inline uint32_t pprof_text_of_build_id(const struct flameprof_profile *p, uint32_t module)
{
	return pprof_text_of_path(p, module) + 1;
}

static inline uint32_t pprof_text_of_thread(const struct flameprof_profile *p, uint32_t thread)
{
	return pprof_text_of_path(p, p->names.module_count) + thread;
}

static inline uint32_t pprof_text_of_code(const struct flameprof_profile *p, uint32_t code)
{
	return pprof_text_of_thread(p, p->thread_count) + code;
}

/* @file: a number of names.files, 0: none. */
static inline uint32_t pprof_text_of_file(const struct flameprof_profile *p, uint32_t file)
{
	return file ? pprof_text_of_code(p, p->names.code_count) + file - 1 : PPROF_TEXT_EMPTY;
}

static inline uint32_t pprof_text_of_mark(const struct flameprof_profile *p, uint32_t mark)
{
	return pprof_text_of_code(p, p->names.code_count) + p->names.file_count + mark;
}

/* Write all of them as @field, in the order of their numbers. */
void pprof_texts_write(
	const struct flameprof_profile *p, struct protobuf_out *out, uint32_t field);

#endif
