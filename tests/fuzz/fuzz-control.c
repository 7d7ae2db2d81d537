/* SPDX-License-Identifier: MIT */
/* Any bytes as the control ring of a process, and any state of its positions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/marks.h"
#include "cli/run/intake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *arena;
	struct profile *profile = profile_new(197);
	struct picture_mark *marks;
	struct intake intake;
	uint32_t image, count;
	uint64_t tail = 0;

	if (!arena)
		arena = calloc(1, WIRE_ARENA_BYTES);
	if (!arena || !profile || intake_init(&intake, arena, profile))
		abort();
	image = profile_image(profile, 1);
	if (size >= sizeof(tail)) {
		memcpy(&tail, data, sizeof(tail));
		data += sizeof(tail);
		size -= sizeof(tail);
	}
	size = size > WIRE_CONTROL_BYTES ? WIRE_CONTROL_BYTES : size;
	memset(wire_control_data(arena, 0), 0, WIRE_CONTROL_BYTES);
	wire_slot(arena, 0)->control_tail = tail;
	for (size_t i = 0; i < size; i++)
		wire_control_data(arena, 0)[(tail + i) % WIRE_CONTROL_BYTES] = (char)data[i];
	control_read_all(&intake, 0, image);
	for (uint64_t address = 0; address < 256; address++) {
		const char *name = announced_code_name(
			profile_announced(profile), image, address << (address & 31));

		if (name && !name[0])
			abort();
	}
	if (marks_make(profile, &marks, &count))
		abort();
	for (uint32_t i = 1; i < count; i++)
		if (marks[i].time_ns < marks[i - 1].time_ns)
			abort();
	free(marks);
	intake_release(&intake);
	profile_free(profile);
	return 0;
}
