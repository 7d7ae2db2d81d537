/* SPDX-License-Identifier: MIT */
/* Read any bytes as the control ring of a process, with any ring positions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/wire_control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check that every text of an accepted record ends inside the record. */
static void check(const struct wire_control_record *record)
{
	switch (record->type) {
	case WIRE_CONTROL_MODULE:
		if (strlen(record->module.path) >= record->bytes)
			abort();
		break;
	case WIRE_CONTROL_CODE:
		if (strlen(record->code.name) >= record->bytes)
			abort();
		break;
	case WIRE_CONTROL_FUNCTION:
		if (strlen(record->function.name) +
				strlen(record->function.name + record->function.name_bytes) >=
			record->bytes)
			abort();
		break;
	case WIRE_CONTROL_MARK:
		if (strlen(record->mark.name) >= record->bytes)
			abort();
		break;
	default:
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire_control_record record;
	static struct wire_slot slot;
	static char ring[WIRE_CONTROL_BYTES];
	uint64_t positions[2] = {0};

	if (size >= sizeof(positions)) {
		memcpy(positions, data, sizeof(positions));
		data += sizeof(positions);
		size -= sizeof(positions);
	}
	size = size > WIRE_CONTROL_BYTES ? WIRE_CONTROL_BYTES : size;
	memset(ring, 0, sizeof(ring));
	slot.control_tail = positions[0];
	slot.control_head = positions[0] + positions[1];
	for (size_t i = 0; i < size; i++)
		ring[(positions[0] + i) % WIRE_CONTROL_BYTES] = (char)data[i];
	for (;;) {
		enum wire_control_step step = wire_control_read(&slot, ring, &record);

		if (step == WIRE_CONTROL_EMPTY)
			step = wire_control_skip_hole(&slot, ring, &record);
		if (step == WIRE_CONTROL_TAKEN)
			check(&record);
		if (step == WIRE_CONTROL_EMPTY || step == WIRE_CONTROL_DAMAGED)
			break;
	}
	wire_control_reset(&slot, ring);
	if (slot.control_head != slot.control_tail)
		abort();
	return 0;
}
