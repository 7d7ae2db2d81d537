/* SPDX-License-Identifier: MIT */
/*
 * Following the process images of a run: which slots hold whom, who has ended, and when what is
 * left in their rings may be taken.
 */
#include "cli/run/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/profile/accounting.h"
#include "cli/profile/profile.h"
#include "cli/run/channel.h"
#include "cli/run/intake.h"
#include "cli/run/process.h"

#define NS_PER_S 1000000000ULL

/* What we know of one slot. image_id 0: nobody we have met. */
struct known_slot {
	uint64_t image_id;
	uint32_t image; /* profile index */
	uint32_t pid;
	uint32_t namespaced; /* the pid means nothing to us: only the image itself can say it left */
	uint32_t superseded; /* another image connected under the same pid */
	uint64_t cpu_ns; /* of the process when it was last looked at */
};

struct gather {
	struct channel channel;
	struct intake intake;
	struct profile *profile;
	struct known_slot slots[WIRE_SLOTS];
	uint64_t connected; /* images ever seen */
};

int gather_open(
	struct gather **out, const struct gather_config *config, struct diag_message *message)
{
	struct gather *gather = calloc(1, sizeof(*gather));
	int error = -ENOMEM;

	if (!gather)
		goto out;
	error = channel_init(
		&gather->channel, config->rate_hz, config->test_clock_hz, message);
	if (error) {
		free(gather);
		return error;
	}
	((struct wire_arena *)gather->channel.arena)->start_paused = config->start_paused != 0;
	((struct wire_arena *)gather->channel.arena)->jit = config->jit;
	gather->profile = profile_new(
		config->test_clock_hz ? config->test_clock_hz : config->rate_hz);
	error = -ENOMEM;
	if (gather->profile)
		error = intake_init(&gather->intake, gather->channel.arena, gather->profile);
out:
	if (error) {
		gather_free(gather);
		return diag_fail(message, error, "cannot set up the profile: %s", strerror(-error));
	}
	*out = gather;
	return 0;
}

void gather_free(struct gather *gather)
{
	if (!gather)
		return;
	intake_release(&gather->intake);
	profile_free(gather->profile);
	channel_release(&gather->channel);
	free(gather);
}

const char *gather_environment(const struct gather *gather)
{
	return gather->channel.environment;
}

int gather_descriptor(const struct gather *gather)
{
	return gather->channel.pipe_read;
}

struct profile *gather_profile(struct gather *gather)
{
	return gather->profile;
}

int gather_connected(const struct gather *gather)
{
	return gather->connected != 0;
}

uint32_t gather_python(const struct gather *gather, uint32_t refused[WIRE_PYTHON_REFUSALS])
{
	const struct wire_arena *arena = gather->channel.arena;

	for (unsigned i = 0; i < WIRE_PYTHON_REFUSALS; i++)
		refused[i] = __atomic_load_n(&arena->python_refused[i], __ATOMIC_RELAXED);
	return __atomic_load_n(&arena->python_named, __ATOMIC_RELAXED);
}

static uint32_t slots_high(const struct gather *gather)
{
	const struct wire_arena *arena = gather->channel.arena;
	uint32_t high = __atomic_load_n(&arena->slots_high, __ATOMIC_ACQUIRE);

	return high < WIRE_SLOTS ? high : WIRE_SLOTS;
}

unsigned gather_live(const struct gather *gather)
{
	const struct wire_arena *arena = gather->channel.arena;
	uint32_t arrived = __atomic_load_n(&arena->forks_arrived, __ATOMIC_ACQUIRE);
	uint32_t begun = __atomic_load_n(&arena->forks_begun, __ATOMIC_ACQUIRE);
	unsigned live = begun > arrived ? begun - arrived : 0;

	for (uint32_t i = 0; i < slots_high(gather); i++)
		live += gather->slots[i].image_id != 0;
	return live;
}

/* Copy a string of the arena so that it ends. */
static void copy_text(char *out, const char *from, size_t size)
{
	memcpy(out, from, size);
	out[size - 1] = '\0';
}

/* A new image under a pid ends the one that had it before: exec, or a pid used again. */
static void supersede(struct gather *gather, uint32_t slot, uint32_t pid)
{
	for (uint32_t i = 0; i < slots_high(gather); i++)
		if (i != slot && gather->slots[i].image_id && gather->slots[i].pid == pid &&
			!gather->slots[i].namespaced)
			gather->slots[i].superseded = 1;
}

/* A forked child runs its parent's program. */
static void inherit_name(struct profile *profile, uint32_t index)
{
	uint64_t parent_id = profile_image_at(profile, index)->parent;
	uint32_t parent = profile_image(profile, parent_id);

	memcpy(profile_image_at(profile, index)->exe, profile_image_at(profile, parent)->exe,
		WIRE_EXE_BYTES);
}

static void meet(struct gather *gather, uint32_t index)
{
	const struct wire_slot *slot = wire_slot(gather->channel.arena, index);
	struct known_slot *known = &gather->slots[index];
	struct profile_image *image;

	known->image_id = __atomic_load_n(&slot->image, __ATOMIC_ACQUIRE);
	if (!known->image_id)
		return;
	known->image = profile_image(gather->profile, known->image_id);
	known->pid = slot->pid;
	known->namespaced = slot->namespaced;
	known->superseded = 0;
	known->cpu_ns = 0;
	gather->connected++;
	if (profile_error(gather->profile))
		return;
	image = profile_image_at(gather->profile, known->image);
	image->parent = slot->parent_image;
	image->pid = slot->pid;
	image->ppid = slot->ppid;
	image->start_ns = slot->start_ns;
	image->start_cpu_ns = slot->start_cpu_ns;
	copy_text(image->exe, slot->exe, sizeof(image->exe));
	if (!image->exe[0] && image->parent)
		inherit_name(gather->profile, known->image);
	copy_text(image->comm, slot->comm, sizeof(image->comm));
	if (!known->namespaced)
		supersede(gather, index, known->pid);
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

/* The image has ended and nobody else reads its rings: take all, free the slot if @release. */
static void finalize(struct gather *gather, uint32_t index, int release)
{
	struct wire_slot *slot = wire_slot(gather->channel.arena, index);
	struct known_slot *known = &gather->slots[index];
	struct profile_totals *totals = profile_totals(gather->profile);
	struct profile_image *image;
	uint32_t state = (uint32_t)__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff;

	control_read_all(&gather->intake, index, known->image);
	ring_recover_image(&gather->intake, known->image, release);
	image = profile_image_at(gather->profile, known->image);
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
	memset(&slot->image, 0, offsetof(struct wire_slot, control_head) -
		offsetof(struct wire_slot, image));
	memset(slot->exe, 0, sizeof(slot->exe));
	memset(slot->comm, 0, sizeof(slot->comm));
	__atomic_store_n(&slot->state, WIRE_SLOT_FREE, __ATOMIC_RELEASE);
	__atomic_store_n(&((struct wire_arena *)gather->channel.arena)->slots_hint, index,
		__ATOMIC_RELAXED);
}

static void step_slot(struct gather *gather, uint32_t index)
{
	struct wire_slot *slot = wire_slot(gather->channel.arena, index);
	struct known_slot *known = &gather->slots[index];
	uint32_t state = (uint32_t)__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff;

	if (state != WIRE_SLOT_LIVE && state != WIRE_SLOT_EXEC && state != WIRE_SLOT_EXIT)
		return;
	if (!known->image_id)
		meet(gather, index);
	if (!known->image_id || profile_error(gather->profile))
		return;
	control_read_all(&gather->intake, index, known->image);
	look_at_clock(known);
	if (process_left(known) && !helper_is_active(known, slot)) {
		/* The helper's last words are in the pipe by now; they come before the rings. */
		message_read_all(&gather->intake, gather->channel.pipe_read);
		finalize(gather, index, 1);
	} else if (__atomic_load_n(&slot->helper, __ATOMIC_ACQUIRE) == WIRE_HELPER_FAILED) {
		message_read_all(&gather->intake, gather->channel.pipe_read);
		ring_serve_image(&gather->intake, known->image);
	}
}

int gather_step(struct gather *gather)
{
	int error = message_read_all(&gather->intake, gather->channel.pipe_read);

	for (uint32_t i = 0; i < slots_high(gather); i++)
		step_slot(gather, i);
	return error < 0 ? error : profile_error(gather->profile);
}

static void ring_doorbells(struct gather *gather)
{
	for (uint32_t i = 0; i < slots_high(gather); i++) {
		struct wire_slot *slot = wire_slot(gather->channel.arena, i);

		__atomic_fetch_add(&slot->doorbell, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &slot->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static int any_helper_active(const struct gather *gather)
{
	for (uint32_t i = 0; i < slots_high(gather); i++)
		if (gather->slots[i].image_id &&
			helper_is_active(&gather->slots[i],
				wire_slot(gather->channel.arena, i)))
			return 1;
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

/*
 * CPU time the kernel charged to the child and those it waited for, with the clocks of processes
 * that still run; without @usage what the images saw of it themselves.
 */
static uint64_t cpu_time_ns(struct gather *gather, const struct rusage *usage)
{
	uint64_t sum = usage ? timeval_ns(usage->ru_utime) + timeval_ns(usage->ru_stime) : 0;

	for (uint32_t i = 0; i < profile_images(gather->profile); i++) {
		const struct profile_image *image = profile_image_at(gather->profile, i);
		uint64_t from_ns = usage ? 0 : image->start_cpu_ns;

		if ((!usage || image->still_runs) && image->end_cpu_ns > from_ns)
			sum += image->end_cpu_ns - from_ns;
	}
	return sum;
}

/* What is to become of the time that images used before they could be sampled. */
static enum accounting_start start_of(const struct wire_arena *arena)
{
	if (arena->clock_hz)
		return ACCOUNTING_START_IGNORED;
	return arena->start_paused ? ACCOUNTING_START_PAUSED : ACCOUNTING_START_CREDITED;
}

int gather_finish(struct gather *gather, int timeout_ms, const struct rusage *usage)
{
	struct wire_arena *arena = gather->channel.arena;
	uint64_t until_ms = now_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0);
	struct profile_totals *totals = profile_totals(gather->profile);

	__atomic_store_n(&arena->closing, 1, __ATOMIC_RELEASE);
	gather_step(gather);
	ring_doorbells(gather);
	while (any_helper_active(gather) && now_ms() < until_ms) {
		struct pollfd poll_pipe = {.fd = gather->channel.pipe_read, .events = POLLIN};

		poll(&poll_pipe, 1, 1);
		gather_step(gather);
	}
	channel_close_writer(&gather->channel);
	message_read_all(&gather->intake, gather->channel.pipe_read);
	for (uint32_t i = 0; i < slots_high(gather); i++)
		if (gather->slots[i].image_id && !profile_error(gather->profile))
			finalize(gather, i, 0);
	if (!profile_error(gather->profile) && accounting_settle(gather->profile, start_of(arena)))
		return -ENOMEM;
	totals->cpu_ns = cpu_time_ns(gather, usage);
	totals->losses.lost_processes = __atomic_load_n(&arena->lost_processes, __ATOMIC_RELAXED);
	return profile_error(gather->profile);
}
