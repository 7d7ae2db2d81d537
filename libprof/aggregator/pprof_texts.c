/* SPDX-License-Identifier: MIT */
/*
 * What each text says.
 */
#include "libprof/aggregator/pprof_texts.h"

#include <inttypes.h>
#include <stdio.h>

#include "libprof/aggregator/pprof.h"
#include "libprof/pprof/fields.h"

#define COMMENT_BYTES 1024

static void write_title(
	const struct flameprof_profile *p, struct protobuf_out *out, uint32_t field)
{
	char text[COMMENT_BYTES];

	snprintf(text, sizeof(text), PPROF_TITLE "%s", names_string(&p->names, p->title));
	protobuf_out_string(out, field, text);
}

static void write_dropped(
	const struct flameprof_profile *p, struct protobuf_out *out, uint32_t field)
{
	char text[COMMENT_BYTES];

	snprintf(text, sizeof(text), PPROF_DROPPED "%" PRIu64, p->dropped_weight);
	protobuf_out_string(out, field, text);
}

static void write_module(const struct flameprof_profile *p, const struct names_module *module,
	struct protobuf_out *out, uint32_t field)
{
	char hex[2 * WIRE_BUILD_ID_MAX + 1] = "";
	int is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0;

	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
	protobuf_out_string(out, field, is_vdso ? "[vdso]" : names_string(&p->names, module->path));
	protobuf_out_string(out, field, hex);
}

static void write_mark(const struct flameprof_profile *p, const struct profile_mark *mark,
	struct protobuf_out *out, uint32_t field)
{
	uint64_t us = mark->time_ns > p->start_ns ? (mark->time_ns - p->start_ns) / 1000 : 0;
	char text[COMMENT_BYTES];

	snprintf(text, sizeof(text), PPROF_MARK "%" PRIu64 ".%03u %u %s", us / 1000,
		(unsigned)(us % 1000), mark->tid, names_string(&p->names, mark->name));
	protobuf_out_string(out, field, text);
}

void pprof_texts_write(
	const struct flameprof_profile *p, struct protobuf_out *out, uint32_t field)
{
	static const char *const clocks[] = {
		[FLAMEPROF_CLOCK_CPU] = "cpu",
		[FLAMEPROF_CLOCK_ELAPSED] = "wall",
		[FLAMEPROF_CLOCK_VM] = PPROF_MACHINE_TIME,
	};
	const char *fixed[PPROF_TEXT_TITLE] = {
		[PPROF_TEXT_EMPTY] = "",
		[PPROF_TEXT_SAMPLES] = "samples",
		[PPROF_TEXT_COUNT] = "count",
		[PPROF_TEXT_CLOCK] = clocks[p->clock],
		[PPROF_TEXT_NANOSECONDS] = "nanoseconds",
		[PPROF_TEXT_THREAD_ID] = "thread_id",
		[PPROF_TEXT_THREAD] = "thread",
		[PPROF_TEXT_GENERATED] = PPROF_GENERATED_FILE,
		[PPROF_TEXT_UNSAMPLED] = "[unsampled]",
		[PPROF_TEXT_NO_STACK] = "[no stack]",
		[PPROF_TEXT_VM_TIME] = PPROF_MACHINE_TIME,
		[PPROF_TEXT_MACHINE] = PPROF_MACHINE_FILE,
	};

	for (unsigned i = 0; i < PPROF_TEXT_TITLE; i++)
		protobuf_out_string(out, field, fixed[i]);
	write_title(p, out, field);
	write_dropped(p, out, field);
	for (uint32_t i = 0; i < p->names.module_count; i++)
		write_module(p, names_module(&p->names, i), out, field);
	for (uint32_t i = 0; i < p->thread_count; i++)
		protobuf_out_string(out, field, profile_thread(p, i)->name);
	for (uint32_t i = 0; i < p->names.code_count; i++)
		protobuf_out_string(
			out, field, names_string(&p->names, names_code(&p->names, i)->name));
	for (uint32_t i = 1; i <= p->names.file_count; i++)
		protobuf_out_string(out, field, names_file(&p->names, i));
	for (uint32_t i = 0; i < p->mark_count; i++)
		write_mark(p, profile_mark(p, i), out, field);
}
