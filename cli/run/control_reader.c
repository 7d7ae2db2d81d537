/* SPDX-License-Identifier: MIT */
/*
 * The control rings' reader. A record is copied out once, and the copy is checked.
 */
#include <string.h>

#include "cli/run/intake.h"

#define RECORD_MAX (WIRE_CONTROL_BYTES / 2)

static void take_module(struct intake *intake, uint32_t image, const char *record, uint32_t bytes)
{
	struct wire_module module;
	char path[RECORD_MAX];
	uint32_t room = bytes - (uint32_t)sizeof(module);

	if (bytes < sizeof(module))
		return;
	memcpy(&module, record, sizeof(module));
	if (module.path_bytes > room || module.build_id_bytes > WIRE_BUILD_ID_MAX)
		return;
	memcpy(path, record + sizeof(module), module.path_bytes);
	path[module.path_bytes] = '\0';
	struct profile_module out = {
		.path = path,
		.build_id_bytes = module.build_id_bytes,
		.flags = module.flags,
		.start = module.start,
		.end = module.end,
	};
	memcpy(out.build_id, module.build_id, sizeof(out.build_id));
	profile_add_module(intake->profile, image, module.number, &out);
}

void control_read_all(struct intake *intake, uint32_t slot_index, uint32_t image)
{
	struct wire_slot *slot = wire_slot(intake->arena, slot_index);
	char *ring = wire_control_data(intake->arena, slot_index);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED);
	char record[RECORD_MAX];

	for (uint32_t taken = 0; taken < WIRE_CONTROL_BYTES;) {
		uint32_t offset = (uint32_t)(tail % WIRE_CONTROL_BYTES);
		uint32_t word = __atomic_load_n((uint32_t *)(ring + offset), __ATOMIC_ACQUIRE);
		uint32_t bytes = word >> 8;

		if (!word)
			break;
		if (bytes < 8 || bytes % 8 || bytes > WIRE_CONTROL_BYTES - offset) {
			profile_totals(intake->profile)->losses.malformed++;
			break;
		}
		if ((word & 0xff) != WIRE_CONTROL_PAD && bytes <= RECORD_MAX) {
			memcpy(record, ring + offset, bytes);
			if ((word & 0xff) == WIRE_CONTROL_MODULE)
				take_module(intake, image, record, bytes);
		}
		/* Writers count on zeroes where no record is. */
		memset(ring + offset, 0, bytes);
		taken += bytes;
		tail += bytes;
		__atomic_store_n(&slot->control_tail, tail, __ATOMIC_RELEASE);
	}
}
