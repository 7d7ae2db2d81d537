/* SPDX-License-Identifier: MIT */
/*
 * Read a control ring: copy one record out at a time and check the copy. flamerun needs the check
 * because it cannot trust a program's memory; a program that profiles itself needs it because it
 * may have overwritten the ring.
 */
#ifndef LIBPROF_WIRE_CONTROL_H
#define LIBPROF_WIRE_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libprof/wire.h"

#define WIRE_CONTROL_RECORD_MAX (WIRE_CONTROL_BYTES / 2)

/* A record copied out of the ring, and its type and length. */
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
	WIRE_CONTROL_EMPTY,	/* no complete record */
	WIRE_CONTROL_TAKEN,	/* the record was copied */
	/* Padding or a malformed record was skipped; call again. */
	WIRE_CONTROL_SKIPPED,
	/* A record whose writer was killed was skipped; call again. */
	WIRE_CONTROL_HOLE,
	WIRE_CONTROL_DAMAGED, /* unreadable from here on */
};

/*
 * Returns 1 if @n (not 0) bytes of text fit into the record behind its first @fixed bytes, and
 * terminates the text.
 */
static inline int wire_control_text_fits(
	struct wire_control_record *record, size_t fixed, uint32_t n)
{
	if (record->bytes < fixed || !n || n > record->bytes - fixed)
		return 0;
	record->raw[fixed + n - 1] = '\0';
	return 1;
}

/* Check that both texts, name and the file behind it, are inside the record. */
static inline int wire_control_function_is_whole(struct wire_control_record *record)
{
	const size_t fixed = offsetof(struct wire_function, name);
	uint32_t name_bytes = record->function.name_bytes;

	return wire_control_text_fits(record, fixed, name_bytes) &&
	       wire_control_text_fits(record, fixed + name_bytes, record->function.file_bytes);
}

/* Check the record's lengths by its type and terminate its texts. Returns 1 if it is valid. */
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
 * Read the oldest record of @slot into @record and free its bytes. @ring is the start of the slot's
 * control ring. Context: the ring's only reader.
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
	/* Zero the bytes, because writers rely on free bytes being zero. */
	memset(ring + offset, 0, bytes);
	__atomic_store_n(&slot->control_tail, tail + bytes, __ATOMIC_RELEASE);
	return is_whole ? WIRE_CONTROL_TAKEN : WIRE_CONTROL_SKIPPED;
}

/*
 * Skip a record that was reserved and never finished. Call this if wire_control_read() finds no
 * record and all writers are dead. Returns WIRE_CONTROL_HOLE, or WIRE_CONTROL_EMPTY if there is no
 * such record or its length is unknown. Context: the ring's only reader.
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
 * Empty the ring for the next owner of the slot. Returns 1 if the ring held unread bytes. Context:
 * the ring's only reader; all writers are dead.
 */
static inline int wire_control_reset(struct wire_slot *slot, char *ring)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_ACQUIRE);

	if (head == __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED))
		return 0;
	memset(ring, 0, WIRE_CONTROL_BYTES);
	/* Begin at 0, because a damaged head may not be a multiple of 8. */
	__atomic_store_n(&slot->control_head, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->control_tail, 0, __ATOMIC_RELEASE);
	return 1;
}

#endif
