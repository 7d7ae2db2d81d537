/* SPDX-License-Identifier: MIT */
/*
 * Following the process images of a run: which slots hold whom, who has ended, and when what is
 * left in their rings may be taken.
 */
#include "cli/run/slots.h"

#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/profile/profile.h"
#include "cli/run/intake.h"
#include "cli/run/process.h"

static uint32_t slots_high(const struct slots *slots)
{
	uint32_t high = __atomic_load_n(&slots->arena->slots_high, __ATOMIC_ACQUIRE);

	return high < WIRE_SLOTS ? high : WIRE_SLOTS;
}

unsigned slots_live(const struct slots *slots)
{
	const struct wire_arena *arena = slots->arena;
	uint32_t arrived = __atomic_load_n(&arena->forks_arrived, __ATOMIC_ACQUIRE);
	uint32_t begun = __atomic_load_n(&arena->forks_begun, __ATOMIC_ACQUIRE);
	unsigned live = begun > arrived ? begun - arrived : 0;

	for (uint32_t i = 0; i < slots_high(slots); i++)
		live += slots->known[i].image_id != 0 && !slots->known[i].has_left;
	return live;
}

/* Copy a string of the arena so that it ends. */
static void copy_text(char *out, const char *from, size_t size)
{
	memcpy(out, from, size);
	out[size - 1] = '\0';
}

/* A new image under a pid ends the one that had it before: exec, or a pid used again. */
static void supersede(struct slots *slots, uint32_t slot, uint32_t pid)
{
	for (uint32_t i = 0; i < slots_high(slots); i++)
		if (i != slot && slots->known[i].image_id && slots->known[i].pid == pid &&
			!slots->known[i].namespaced)
			slots->known[i].superseded = 1;
}

/* A forked child runs its parent's program. */
static void inherit_name(struct profile *profile, uint32_t index)
{
	uint64_t parent_id = profile_image_at(profile, index)->parent;
	uint32_t parent = profile_image(profile, parent_id);

	memcpy(profile_image_at(profile, index)->exe, profile_image_at(profile, parent)->exe,
		WIRE_EXE_BYTES);
}

static void meet(struct slots *slots, uint32_t index)
{
	const struct wire_slot *slot = wire_slot(slots->arena, index);
	struct known_slot *known = &slots->known[index];
	struct profile_image *image;

	known->image_id = __atomic_load_n(&slot->image, __ATOMIC_ACQUIRE);
	if (!known->image_id)
		return;
	known->image = profile_image(slots->profile, known->image_id);
	known->pid = slot->pid;
	known->namespaced = slot->namespaced;
	known->superseded = 0;
	known->has_left = 0;
	known->cpu_ns = 0;
	slots->connected++;
	if (profile_error(slots->profile))
		return;
	image = profile_image_at(slots->profile, known->image);
	image->parent = slot->parent_image;
	image->pid = slot->pid;
	image->ppid = slot->ppid;
	image->start_ns = slot->start_ns;
	image->start_cpu_ns = slot->start_cpu_ns;
	copy_text(image->exe, slot->exe, sizeof(image->exe));
	if (!image->exe[0] && image->parent)
		inherit_name(slots->profile, known->image);
	copy_text(image->comm, slot->comm, sizeof(image->comm));
	if (!known->namespaced)
		supersede(slots, index, known->pid);
}

static int helper_is_active(const struct known_slot *known, const struct wire_slot *slot)
{
	uint32_t state = __atomic_load_n(&slot->helper, __ATOMIC_ACQUIRE);

	if (state != WIRE_HELPER_STARTING && state != WIRE_HELPER_RUNNING)
		return 0;
	/* A helper that was itself killed can't say so. */
	return known->namespaced || !slot->helper_pid || process_is_running(slot->helper_pid);
}

/* A killed process can't say what it used; this is what we saw last. */
static void look_at_clock(struct known_slot *known)
{
	uint64_t cpu_ns = known->namespaced || known->superseded ? 0 : process_cpu_ns(known->pid);

	if (cpu_ns)
		known->cpu_ns = cpu_ns;
}

static int process_left(const struct known_slot *known)
{
	return known->superseded || (!known->namespaced && !process_is_running(known->pid));
}

/* Let the slot's helper look at what it has to do. */
static void ring_doorbell(struct wire_slot *slot)
{
	__atomic_fetch_add(&slot->doorbell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &slot->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The image has ended and nobody else reads its rings: take all, free the slot if @release. */
static void finalize(struct slots *slots, uint32_t index, int release)
{
	struct wire_slot *slot = wire_slot(slots->arena, index);
	struct known_slot *known = &slots->known[index];
	struct profile_totals *totals = profile_totals(slots->profile);
	struct profile_image *image;
	uint32_t state = (uint32_t)__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff;

	control_read_all(slots->intake, index, known->image);
	ring_recover_image(slots->intake, known->image, release);
	image = profile_image_at(slots->profile, known->image);
	image->still_runs = !release && !known->namespaced && !known->superseded &&
			    process_is_running(known->pid);
	image->end_cpu_ns = slot->end_cpu_ns ? slot->end_cpu_ns : known->cpu_ns;
	image->left_by_exec = state == WIRE_SLOT_EXEC;
	image->ended = release;
	totals->delivered += slot->delivered;
	totals->overruns += slot->overruns;
	totals->paused += slot->paused;
	totals->handler_ns += slot->handler_ns;
	totals->threads += slot->threads;
	totals->losses.dropped += slot->dropped;
	totals->losses.vm_dropped += slot->vm_dropped;
	totals->losses.control_dropped += slot->control_dropped;
	totals->losses.late_threads += slot->late_threads;
	known->image_id = 0;
	if (!release)
		return;
	/* Positions of the control ring go on; the rest starts afresh with the next claimer. */
	memset(&slot->image, 0,
		offsetof(struct wire_slot, control_head) - offsetof(struct wire_slot, image));
	memset(slot->exe, 0, sizeof(slot->exe));
	memset(slot->comm, 0, sizeof(slot->comm));
	__atomic_store_n(&slot->state, WIRE_SLOT_FREE, __ATOMIC_RELEASE);
	__atomic_store_n(&slots->arena->slots_hint, index, __ATOMIC_RELAXED);
}

static void step_slot(struct slots *slots, uint32_t index)
{
	struct wire_slot *slot = wire_slot(slots->arena, index);
	struct known_slot *known = &slots->known[index];
	uint32_t state = (uint32_t)__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff;

	if (state != WIRE_SLOT_LIVE && state != WIRE_SLOT_EXEC && state != WIRE_SLOT_EXIT)
		return;
	if (!known->image_id)
		meet(slots, index);
	if (!known->image_id || profile_error(slots->profile))
		return;
	control_read_all(slots->intake, index, known->image);
	look_at_clock(known);
	known->has_left = (uint32_t)process_left(known);
	if (known->has_left && helper_is_active(known, slot)) {
		ring_doorbell(slot); /* nobody else tells it */
	} else if (known->has_left) {
		/* The helper's last words are in the pipe by now; they come before the rings. */
		message_read_all(slots->intake, slots->pipe);
		finalize(slots, index, 1);
	} else if (__atomic_load_n(&slot->helper, __ATOMIC_ACQUIRE) == WIRE_HELPER_FAILED) {
		message_read_all(slots->intake, slots->pipe);
		ring_serve_image(slots->intake, known->image);
	}
}

void slots_step(struct slots *slots)
{
	for (uint32_t i = 0; i < slots_high(slots); i++)
		step_slot(slots, i);
}

void slots_ring_doorbells(struct slots *slots)
{
	for (uint32_t i = 0; i < slots_high(slots); i++)
		ring_doorbell(wire_slot(slots->arena, i));
}

int slots_have_helpers(const struct slots *slots)
{
	for (uint32_t i = 0; i < slots_high(slots); i++)
		if (slots->known[i].image_id &&
			helper_is_active(&slots->known[i], wire_slot(slots->arena, i)))
			return 1;
	return 0;
}

void slots_finish(struct slots *slots)
{
	for (uint32_t i = 0; i < slots_high(slots); i++)
		if (slots->known[i].image_id && !profile_error(slots->profile))
			finalize(slots, i, 0);
}
