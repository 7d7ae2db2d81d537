/* SPDX-License-Identifier: MIT */
/*
 * The channel, its reader and the slots as one object, from the start of a run to its last sample.
 */
#include "cli/run/gather.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/profile/accounting.h"
#include "cli/profile/profile.h"
#include "cli/run/channel.h"
#include "cli/run/intake.h"
#include "cli/run/slots.h"

#define NS_PER_S 1000000000ULL

struct gather {
	struct channel channel;
	struct intake intake;
	struct profile *profile;
	struct slots slots;
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
	gather->slots.arena = gather->channel.arena;
	gather->slots.intake = &gather->intake;
	gather->slots.profile = gather->profile;
	gather->slots.pipe = gather->channel.pipe_read;
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
	return gather->slots.connected != 0;
}

uint32_t gather_python(const struct gather *gather, uint32_t refused[WIRE_PYTHON_REFUSALS])
{
	const struct wire_arena *arena = gather->channel.arena;

	for (unsigned i = 0; i < WIRE_PYTHON_REFUSALS; i++)
		refused[i] = __atomic_load_n(&arena->python_refused[i], __ATOMIC_RELAXED);
	return __atomic_load_n(&arena->python_named, __ATOMIC_RELAXED);
}

unsigned gather_live(const struct gather *gather)
{
	return slots_live(&gather->slots);
}

int gather_step(struct gather *gather)
{
	int error = message_read_all(&gather->intake, gather->channel.pipe_read);

	slots_step(&gather->slots);
	return error < 0 ? error : profile_error(gather->profile);
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
 * CPU time of all processes: what images used while they were sampled, or, with @usage, what the
 * kernel charged to the child and those it waited for, with those that still run. That knows of
 * programs that no library got into, but not of children that nobody waited for: the larger counts.
 */
static uint64_t cpu_time_ns(struct gather *gather, const struct rusage *usage)
{
	uint64_t charged_ns = usage ? timeval_ns(usage->ru_utime) + timeval_ns(usage->ru_stime) : 0;
	uint64_t seen_ns = 0;

	for (uint32_t i = 0; i < profile_images(gather->profile); i++) {
		const struct profile_image *image = profile_image_at(gather->profile, i);

		if (image->end_cpu_ns > image->start_cpu_ns)
			seen_ns += image->end_cpu_ns - image->start_cpu_ns;
		if (usage && image->still_runs)
			charged_ns += image->end_cpu_ns;
	}
	return charged_ns > seen_ns ? charged_ns : seen_ns;
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
	slots_ring_doorbells(&gather->slots);
	while (slots_have_helpers(&gather->slots) && now_ms() < until_ms) {
		struct pollfd poll_pipe = {.fd = gather->channel.pipe_read, .events = POLLIN};

		poll(&poll_pipe, 1, 1);
		gather_step(gather);
	}
	channel_close_writer(&gather->channel);
	message_read_all(&gather->intake, gather->channel.pipe_read);
	slots_finish(&gather->slots);
	if (!profile_error(gather->profile) && accounting_settle(gather->profile, start_of(arena)))
		return -ENOMEM;
	totals->cpu_ns = cpu_time_ns(gather, usage);
	totals->losses.lost_processes = __atomic_load_n(&arena->lost_processes, __ATOMIC_RELAXED);
	return profile_error(gather->profile);
}
