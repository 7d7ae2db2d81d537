/* SPDX-License-Identifier: MIT */
/*
 * One look at a time, each for the address met last: where there is one, others of the same code
 * follow. Reading the list takes some 100 us of a large process.
 */
#include "cli/gather/mappings.h"

#include <stddef.h>
#include <string.h>

#include "cli/gather/record.h"
#include "cli/gather/maps.h"

#define WAIT_MS_MIN 50u
#define WAIT_MS_MAX 3200u
#define NS_PER_MS   1000000ULL

/* Numbers of modules that the process itself tells of rise from 1. */
#define MODULES_MAX (WIRE_MODULE_MAX / 2)

static int is_known(const struct mappings *mappings, uint64_t address)
{
	for (uint32_t i = 0; i < MAPPINGS_KNOWN && i < mappings->known_count; i++)
		if (address >= mappings->known[i].start && address < mappings->known[i].end)
			return 1;
	return 0;
}

void mappings_want(struct mappings *mappings, const char *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count && !mappings->wanted; i++) {
		uint64_t frame;

		memcpy(&frame, frames + i * sizeof(frame), sizeof(frame));
		if (WIRE_FRAME_MODULE(frame) == WIRE_MODULE_NONE &&
			!is_known(mappings, WIRE_FRAME_ADDRESS(frame)))
			mappings->wanted = WIRE_FRAME_ADDRESS(frame);
	}
}

static void tell(struct mappings *mappings, const struct mapping *mapping, uint64_t image,
	struct outbox *outbox)
{
	struct record_module record = {
		.image = image,
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->offset,
		.number = WIRE_MODULE_MAX - mappings->told,
		.flags = WIRE_MODULE_MAPPED,
	};

	if (!outbox_put(outbox, RECORD_MODULE, &record, offsetof(struct record_module, path),
		    mapping->path, strlen(mapping->path) + 1))
		mappings->told++;
}

void mappings_look(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct outbox *outbox)
{
	uint64_t wanted = mappings->wanted;
	const struct mapping *mapping;
	struct maps maps = {0};
	uint32_t at;

	if (!wanted || mappings->told >= MODULES_MAX ||
		now_ns - mappings->looked_ns < mappings->wait_ms * NS_PER_MS)
		return;
	mappings->wanted = 0;
	mappings->looked_ns = now_ns;
	mappings->wait_ms = mappings->wait_ms ? 2 * mappings->wait_ms : WAIT_MS_MIN;
	if (mappings->wait_ms > WAIT_MS_MAX)
		mappings->wait_ms = WAIT_MS_MAX;
	if (maps_read(&maps, (pid_t)pid) < 0)
		return;
	mapping = maps_find(&maps, wanted);
	if (mapping) {
		at = mappings->known_count++ % MAPPINGS_KNOWN;
		mappings->known[at].start = mapping->start;
		mappings->known[at].end = mapping->end;
	}
	if (mapping && mapping->is_code && mapping->inode) {
		tell(mappings, mapping, image, outbox);
		mappings->wait_ms = 0;
	}
	maps_release(&maps);
}
