/* SPDX-License-Identifier: MIT */
/* Search tables for perf: publish_jitdump_table.h. */
#include "libprof/trampoline/publish_jitdump_table.h"

#include <errno.h>

#include "libprof/trampoline/publish_cfi.h"
#include "libprof/unwind/cfi.h"

void publish_jitdump_frames_init(
	struct publish_jitdump_frames *frames, const struct region *region)
{
	uintptr_t end = region->start + region->bytes;
	uintptr_t address = (uintptr_t)region->eh_frame;

	*frames = (struct publish_jitdump_frames){.view = *region};
	if (region->kind != FLAMEPROF_CODE_HOST ||
		publish_cfi_write(&frames->copy, region, region->start, end, address) ||
		frames->copy.used > region->eh_frame_bytes)
		return;
	frames->view.eh_frame = frames->copy.data;
	frames->view.eh_frame_bytes = frames->copy.used;
	frames->shift = (uintptr_t)frames->copy.data - address;
}

void publish_jitdump_frames_release(struct publish_jitdump_frames *frames)
{
	free(frames->copy.data);
}

struct search {
	uintptr_t origin; /* address the table counts from, as seen from what is read */
	struct publish_jitdump_table *out;
};

/* Sorted by insertion: there is one, nearly always. */
static int put_entry(void *context, const struct cfi_fde *fde)
{
	struct search *search = context;
	struct publish_jitdump_table *out = search->out;
	int64_t begin = fde->begin - search->origin, record = fde->record - search->origin;
	uint32_t i = out->count;

	if (i == PUBLISH_JITDUMP_ENTRIES)
		return -E2BIG;
	if (begin != (int32_t)begin || record != (int32_t)record)
		return -ERANGE;
	for (; i && out->entry[i - 1].begin > begin; i--)
		out->entry[i] = out->entry[i - 1];
	out->entry[i].begin = begin;
	out->entry[i].fde = record;
	out->count++;
	return 0;
}

static int find_fdes(
	const struct region *region, uintptr_t start, uintptr_t header, struct publish_jitdump_table *out)
{
	struct search search = {.origin = header, .out = out};
	struct cfi_fde fde;
	int error;

	if (region->kind == FLAMEPROF_CODE_HOST) {
		struct publish_jitdump_frames frames;

		publish_jitdump_frames_init(&frames, region);
		search.origin += frames.shift;
		error = publish_cfi_each(&frames.view, put_entry, &search);
		publish_jitdump_frames_release(&frames);
	} else {
		struct unwind_module chunk = {
			.start = region->start,
			.end = (uintptr_t)region->eh_frame + region->eh_frame_bytes,
			.eh_frame_hdr = region->eh_frame_hdr,
		};

		error = cfi_find_fde(&chunk, start, &fde);
		if (!error)
			error = put_entry(&search, &fde);
	}
	return error;
}

/* Is there room for a table behind the code? A stub's is its own; behind the host's may be more. */
static int has_room(const struct region *region, uintptr_t start, uintptr_t table_end)
{
	uintptr_t code_end = region->start + region->bytes;

	if (region->kind != FLAMEPROF_CODE_HOST)
		return table_end - start <= region->stride;
	for (uintptr_t at = code_end; at < table_end; at += 8) {
		if (region_find(at))
			return 0;
	}
	return !region_find(table_end - 1);
}

size_t publish_jitdump_table_make(struct publish_jitdump_table *out, const struct region *region,
	uintptr_t start, size_t bytes)
{
	uintptr_t header = start + ((bytes + 7) & ~(size_t)7);
	size_t used;

	*out = (struct publish_jitdump_table){1, 0x1b, 0x03, 0x3b, .count = 0};
	if (!region->eh_frame || !region->eh_frame_hdr ||
		find_fdes(region, start, header, out) || !out->count)
		return 0;
	out->frame = (uintptr_t)region->eh_frame - (header + 4);
	used = (offsetof(struct publish_jitdump_table, entry[out->count]) + 7) & ~(size_t)7;
	return has_room(region, start, header + used) ? used : 0;
}
