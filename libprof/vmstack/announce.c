/* SPDX-License-Identifier: MIT */
/*
 * Telling names. The control ring holds some hundred of them, and flamerun empties it twenty times
 * a second: a machine that enters thousands of functions at once has to wait with some. They are
 * remembered in a list, so that none is lost because it is not seen again.
 */
#include <stddef.h>
#include <string.h>

#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/vmstack/function.h"
#include "libprof/wire.h"

_Static_assert(sizeof(struct wire_function) + 2 * (FUNCTION_NAME_BYTES + 1) + 8 <=
		       WIRE_CONTROL_BYTES / 2,
	"a record with the longest name and file fits the control ring");

/* Under function_lock(). */
static struct function *waiting;
static uint64_t waiting_image; /* whose it is; another one has nobody waiting */
static uint32_t has_waiting;   /* atomic: worth the lock */

/* Modules met by handlers and marks come through the same ring, and do not wait. */
#define ROOM_FOR_OTHERS (WIRE_CONTROL_BYTES / 4)

static int has_room(const struct wire_slot *slot, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);

	/* Twice, because one that does not fit before the ring's end leaves that empty. */
	return head - tail + 2 * bytes + ROOM_FOR_OTHERS <= WIRE_CONTROL_BYTES;
}

/*
 * Returns 1 when the ring has it. Under function_lock(): the ring is read in order, and who is
 * interrupted between the two steps keeps back what others announced behind it.
 */
static int put(struct function *function)
{
	uint32_t text_bytes = function->name_bytes + function->file_bytes;
	uint32_t bytes = ((uint32_t)sizeof(struct wire_function) + text_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_function *record;

	if (!has_room(sampler.slot, bytes))
		return 0;
	record = (struct wire_function *)control_reserve(sampler.slot, data, bytes);
	if (!record)
		return 0;
	record->space = function->space;
	record->line = function->line;
	record->flags = function->flags;
	record->name_bytes = function->name_bytes;
	record->file_bytes = function->file_bytes;
	memcpy(record->name, function->text, text_bytes);
	control_commit(&record->control, bytes, WIRE_CONTROL_FUNCTION);
	/* Now others may write stacks that have it. */
	__atomic_store_n(&function->published, sampler.image, __ATOMIC_RELEASE);
	return 1;
}

static int is_published(const struct function *function)
{
	return __atomic_load_n(&function->published, __ATOMIC_ACQUIRE) == sampler.image;
}

/* Under function_lock(). */
static void wait_in_list(struct function *function)
{
	if (waiting_image != sampler.image) {
		waiting_image = sampler.image;
		waiting = NULL;
	}
	if (function->waiting != sampler.image) {
		function->waiting = sampler.image;
		function->next_waiting = waiting;
		waiting = function;
		__atomic_store_n(&has_waiting, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sampler.slot->control_dropped, 1, __ATOMIC_RELAXED);
	}
}

/* In a process that samples itself the worker empties the ring. */
static void wake_reader(const struct wire_slot *slot)
{
	if (sampler_is_hosted() && !has_room(slot, WIRE_CONTROL_BYTES / 4))
		sampler_wake_reader(sampler.arena);
}

void function_announce(struct function *function)
{
	if (is_published(function))
		return;
	function_lock();
	if (!is_published(function) && !put(function))
		wait_in_list(function);
	function_unlock();
	wake_reader(sampler.slot);
}

unsigned function_announce_waiting(void)
{
	unsigned told = 0;

	if (!__atomic_load_n(&has_waiting, __ATOMIC_RELAXED))
		return 0;
	function_lock();
	if (waiting_image != sampler.image)
		waiting = NULL;
	while (waiting && (is_published(waiting) || put(waiting))) {
		waiting = waiting->next_waiting;
		__atomic_fetch_sub(&sampler.slot->control_dropped, 1, __ATOMIC_RELAXED);
		told++;
	}
	__atomic_store_n(&has_waiting, waiting != NULL, __ATOMIC_RELAXED);
	function_unlock();
	return told;
}
