/* SPDX-License-Identifier: MIT */
/*
 * Unwinding information as perf finds it in a jitdump.
 *
 * perf takes a piece's file for what lies at the code's address and behind it, up to the end of the
 * unwinding information; files that overlap cut each other short. So only the search table of one
 * .eh_frame_hdr goes behind each stub's code, into its stride (REGION_STRIDE), and the .eh_frame of
 * the region is announced once, as a piece of its own at the address where it is:
 *
 *	stub | table of one entry | fill ...  stub | table | fill ...      .eh_frame
 *	             `-------------------------------------------------------^
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_JITDUMP_TABLE_H
#define LIBPROF_TRAMPOLINE_PUBLISH_JITDUMP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/trampoline/publish_bytes.h"
#include "libprof/trampoline/region.h"

/* FDEs of one piece of the host's code. */
#define PUBLISH_JITDUMP_ENTRIES 16u

/* An .eh_frame_hdr: pcrel | sdata4, udata4, datarel | sdata4. */
struct publish_jitdump_table {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	struct {
		int32_t begin, fde;
	} entry[PUBLISH_JITDUMP_ENTRIES];
};

/*
 * What perf reads as the region's .eh_frame: view.eh_frame_bytes from view.eh_frame, for the
 * address region->eh_frame. The host's may name personalities, which perf would look up in memory,
 * so it is written anew when the result is no longer than it was.
 */
struct publish_jitdump_frames {
	struct region view;
	uintptr_t shift; /* how far the view's pcs and records are from where perf sees them */
	struct publish_bytes copy;
};

void publish_jitdump_frames_init(
	struct publish_jitdump_frames *frames, const struct region *region);
void publish_jitdump_frames_release(struct publish_jitdump_frames *frames);

/*
 * The table for the piece of @region's code of @bytes from @start on.
 *
 * Returns how many bytes of *@out belong behind the code, 0 for none: there is no information, it
 * is not understood, or there is no room.
 */
size_t publish_jitdump_table_make(struct publish_jitdump_table *out, const struct region *region,
	uintptr_t start, size_t bytes);

#endif
