/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: a program may call these functions from its own signal handlers. */
/*
 * Functions that work both under flamerun and in a process that profiles itself. Each reads or
 * writes one word, or writes one control record.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/syscall.h"
#include "libprof/flameprof.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/session/injected.h"
#include "libprof/session/session.h"

/* Defined here, because this file must not depend on injected.c, which is not signal-safe. */
struct injected injected;

const char *flameprof_version(void)
{
	return FLAMERUN_VERSION;
}

int flameprof_active(void)
{
	return injected_is_there() ? injected.active() : sampler_is_this_process();
}

enum flameprof_status flameprof_status(void)
{
	if (injected_is_there())
		return injected.status();
	if (!sampler_is_hosted())
		return sampler_is_this_process() ? FLAMEPROF_UNDER_FLAMERUN : FLAMEPROF_STOPPED;
	return (enum flameprof_status)__atomic_load_n(&session.status, __ATOMIC_ACQUIRE);
}

static int set_paused(uint32_t paused)
{
	struct wire_slot *slot;

	if (!sampler_is_this_process())
		return -ESRCH;
	slot = __atomic_load_n(&sampler.slot, __ATOMIC_ACQUIRE);
	if (__atomic_exchange_n(&sampler.paused, paused, __ATOMIC_ACQ_REL) == paused)
		return 0;
	__atomic_store_n(&slot->pause_changed_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&slot->is_paused, paused, __ATOMIC_RELEASE);
	return 0;
}

int flameprof_pause(void)
{
	return injected_is_there() ? injected.pause() : set_paused(1);
}

int flameprof_resume(void)
{
	return injected_is_there() ? injected.resume() : set_paused(0);
}

/*
 * In a process that profiles itself, wake the worker if the control ring is more than a quarter
 * full. Otherwise the worker reads the ring at its next tick.
 */
static void wake_reader(struct wire_slot *slot)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_RELAXED);

	if (sampler_is_hosted() && head - tail > WIRE_CONTROL_BYTES / 4)
		sampler_wake_reader(sampler.arena);
}

static int put_mark(const char *name)
{
	size_t length = 0;
	struct wire_slot *slot;
	struct wire_mark *mark;
	uint32_t bytes;

	while (length < FLAMEPROF_MARK_BYTES && name[length])
		length++;
	slot = __atomic_load_n(&sampler.slot, __ATOMIC_ACQUIRE);
	bytes = (uint32_t)(sizeof(*mark) + length + 1 + 7) & ~7u;
	mark = (struct wire_mark *)control_reserve(slot,
		wire_control_data(sampler.arena, wire_slot_index(sampler.arena, slot)), bytes);
	if (!mark) {
		__atomic_fetch_add(&sampler.dropped_marks, 1, __ATOMIC_RELAXED);
		wake_reader(slot);
		return -ENOSPC;
	}
	mark->time_ns = clock_monotonic_ns();
	mark->tid = (uint32_t)arch_syscall0(SYS_gettid);
	mark->name_bytes = (uint32_t)length + 1;
	memcpy(mark->name, name, length);
	mark->name[length] = '\0';
	control_commit(&mark->control, bytes, WIRE_CONTROL_MARK);
	wake_reader(slot);
	return 0;
}

int flameprof_mark(const char *name)
{
	int error = -ESRCH;

	if (!name)
		return -EINVAL;
	if (injected_is_there())
		return injected.mark(name);
	/*
	 * Increment `markers` before checking whether this process is sampled, because the end of
	 * sampling waits until `markers` is 0.
	 */
	__atomic_fetch_add(&sampler.markers, 1, __ATOMIC_SEQ_CST);
	if (sampler_is_this_process())
		error = put_mark(name);
	__atomic_fetch_sub(&sampler.markers, 1, __ATOMIC_RELEASE);
	return error;
}
