/* SPDX-License-Identifier: MIT */
/*
 * Reading a control ring: one record at a time is copied out and checked, in the copy. Both readers
 * do it this way: flamerun, to whom the target's memory proves nothing, and the library inside a
 * process that profiles itself and may have written anywhere.
 */
#ifndef LIBPROF_WIRE_CONTROL_H
#define LIBPROF_WIRE_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libprof/wire.h"

#define WIRE_CONTROL_RECORD_MAX (WIRE_CONTROL_BYTES / 2)

/* A record taken out. */
struct wire_control_record {
	enum wire_control_type type;
	uint32_t bytes;
	union {
		struct wire_control control;
		struct wire_module module;
		struct wire_code code;
		struct wire_function function;
		struct wire_mark mark;
		char raw[WIRE_CONTROL_RECORD_MAX];
	};
};

enum wire_control_step {
	WIRE_CONTROL_EMPTY,	/* nothing complete is there */
	WIRE_CONTROL_TAKEN,	/* @record is one */
	WIRE_CONTROL_SKIPPED,	/* padding, or a record that says nothing sensible; go on */
	WIRE_CONTROL_HOLE,	/* a record that its writer did not live to finish; go on */
	WIRE_CONTROL_DAMAGED,	/* the ring cannot be read any further */
};

/* Is the text of @n bytes behind a record's @fixed ones inside it and not empty of its NUL? */
static inline int wire_control_text_fits(
	struct wire_control_record *record, size_t fixed, uint32_t n)
{
	if (record->bytes < fixed || !n || n > record->bytes - fixed)
		return 0;
	record->raw[fixed + n - 1] = '\0';
	return 1;
}

/* Two texts, one behind the other. */
static inline int wire_control_function_is_whole(struct wire_control_record *record)
{
	const size_t fixed = offsetof(struct wire_function, name);
	uint32_t name_bytes = record->function.name_bytes;

	return wire_control_text_fits(record, fixed, name_bytes) &&
	       wire_control_text_fits(record, fixed + name_bytes, record->function.file_bytes);
}

/* Does the record hold what its type says? Its text is terminated then. */
static inline int wire_control_is_whole(struct wire_control_record *record)
{
	switch (record->type) {
	case WIRE_CONTROL_MODULE:
		return wire_control_text_fits(record, offsetof(struct wire_module, path),
			       record->module.path_bytes) &&
		       record->module.build_id_bytes <= WIRE_BUILD_ID_MAX;
	case WIRE_CONTROL_CODE:
		return wire_control_text_fits(
			record, offsetof(struct wire_code, name), record->code.name_bytes);
	case WIRE_CONTROL_FUNCTION:
		return wire_control_function_is_whole(record);
	case WIRE_CONTROL_MARK:
		return wire_control_text_fits(
			record, offsetof(struct wire_mark, name), record->mark.name_bytes);
	default:
		return 0;
	}
}

/*
 * Take the oldest record of @slot, whose ring's bytes begin at @ring, and give its bytes back.
 * Context: the ring's one reader.
 */
static inline enum wire_control_step wire_control_read(
	struct wire_slot *slot, char *ring, struct wire_control_record *record)
{
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED);
	uint32_t offset = (uint32_t)(tail % WIRE_CONTROL_BYTES) & ~7u;
	uint32_t word = __atomic_load_n((uint32_t *)(ring + offset), __ATOMIC_ACQUIRE);
	uint32_t bytes = word >> 8;
	int is_whole = 0;

	if (!word)
		return WIRE_CONTROL_EMPTY;
	if (bytes < sizeof(struct wire_control) || bytes % 8 || bytes > WIRE_CONTROL_BYTES - offset)
		return WIRE_CONTROL_DAMAGED;
	record->type = (enum wire_control_type)(word & 0xff);
	record->bytes = bytes;
	if (bytes <= WIRE_CONTROL_RECORD_MAX && record->type != WIRE_CONTROL_PAD) {
		wire_copy(record->raw, ring + offset, bytes);
		is_whole = wire_control_is_whole(record);
	}
	/* Writers count on zeroes where no record is. */
	memset(ring + offset, 0, bytes);
	__atomic_store_n(&slot->control_tail, tail + bytes, __ATOMIC_RELEASE);
	return is_whole ? WIRE_CONTROL_TAKEN : WIRE_CONTROL_SKIPPED;
}

/*
 * Where wire_control_read() finds nothing more: pass over a record that was reserved and never
 * finished. Returns WIRE_CONTROL_HOLE, or WIRE_CONTROL_EMPTY when there is none or its length is
 * not known. Context: the ring's one reader; all its writers are dead.
 */
static inline enum wire_control_step wire_control_skip_hole(
	struct wire_slot *slot, char *ring, struct wire_control_record *record)
{
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_ACQUIRE);
	uint32_t offset = (uint32_t)(tail % WIRE_CONTROL_BYTES) & ~7u;
	const struct wire_control *hole = (const struct wire_control *)(ring + offset);
	uint32_t bytes = __atomic_load_n(&hole->reserved, __ATOMIC_RELAXED);

	if (head - tail > WIRE_CONTROL_BYTES || bytes > head - tail || bytes % 8 ||
		bytes < sizeof(struct wire_control) || bytes > WIRE_CONTROL_BYTES - offset)
		return WIRE_CONTROL_EMPTY;
	memset(ring + offset, 0, bytes);
	record->bytes = bytes;
	__atomic_store_n(&slot->control_tail, tail + bytes, __ATOMIC_RELEASE);
	return WIRE_CONTROL_HOLE;
}

/*
 * Leave the ring as the next owner of the slot expects it. Returns 1 when something in it could not
 * be read. Context: as above.
 */
static inline int wire_control_reset(struct wire_slot *slot, char *ring)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_ACQUIRE);

	if (head == __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED))
		return 0;
	memset(ring, 0, WIRE_CONTROL_BYTES);
	/* A place that records can begin at, whatever the head says. */
	__atomic_store_n(&slot->control_head, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->control_tail, 0, __ATOMIC_RELEASE);
	return 1;
}

#endif
