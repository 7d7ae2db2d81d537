/* SPDX-License-Identifier: MIT */
/*
 * Start and end the collector process and the tracing process, which gather samples, and read the
 * pipes to which they write.
 */
#include "cli/run/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gather/channel.h"
#include "cli/gather/collector.h"
#include "cli/gather/perf_events.h"
#include "cli/gather/pipe_reader.h"
#include "cli/outside/injected.h"
#include "cli/outside/outside.h"
#include "cli/profile/accounting.h"
#include "libprof/profile/profile.h"

/*
 * Wait for the collector at most WAIT_TRIES times WAIT_MS ms. It reads the arena within a few ms,
 * but needs longer on a machine without a free CPU.
 */
#define WAIT_MS	   1000
#define WAIT_TRIES 20

struct gather {
	struct channel channel;
	struct pipe_reader *pipe_reader;
	struct collector *collector; /* NULL: no process has the library */
	struct perf_events *events;  /* NULL: threads have only timers */
	uint64_t event_cost_ns;
	struct injected *injected; /* NULL: waits are not recorded there */
	/*
	 * NULL: no tracing process. If there is a collector, too, the tracing process samples only
	 * programs without the library.
	 */
	struct outside *outside;
};

/*
 * Start a tracing process for programs without the library. If this fails, those programs are not
 * sampled. Start none for the test clock, because the tracer uses another clock, and none for
 * start_paused, because programs without the library cannot ask for sampling.
 */
static void open_for_uninjected(struct gather *gather, const struct gather_config *config)
{
	const struct outside_config outside = {
		.rate_hz = config->rate_hz,
		.pipe = pipe_reader_writer(gather->pipe_reader, RECORD_TRACER),
		.arena = gather->channel.arena,
		.arena_descriptor = gather->channel.arena_descriptor,
		.waits = config->waits,
		.wait_details = config->wait_details,
	};

	if (!config->test_clock_hz && !config->start_paused)
		outside_open(&gather->outside, &outside, NULL);
}

static int open_inside(
	struct gather *gather, const struct gather_config *config, struct diag_message *message)
{
	struct collector_config collector = {
		.pipe = pipe_reader_writer(gather->pipe_reader, RECORD_COLLECTOR),
	};
	const struct channel_config channel = {
		.rate_hz = config->rate_hz,
		.test_clock_hz = config->test_clock_hz,
		.signal = config->signal,
		.has_events = config->has_events,
		.has_kernel = config->has_kernel,
	};
	int error = channel_init(&gather->channel, &channel, message);

	if (error)
		return error;
	gather->channel.arena->start_paused = config->start_paused;
	gather->channel.arena->records_thread_ends = config->waits;
	collector.arena = gather->channel.arena;
	collector.blocks = gather->channel.blocks;
	/* If memory is short, waits and kernel stacks are not recorded. */
	if (config->waits || config->has_kernel)
		gather->injected = injected_new(&(struct injected_config){
			.arena = gather->channel.arena,
			.rate_hz = config->test_clock_hz ? config->test_clock_hz : config->rate_hz,
			.has_waits = config->waits,
			.has_details = config->wait_details,
		});
	if (gather->injected)
		collector.reader = injected_reader(gather->injected);
	if (config->has_events) {
		gather->event_cost_ns = perf_events_cost_ns(config->signal);
		perf_events_set_period(
			gather->channel.arena, config->rate_hz, gather->event_cost_ns);
		gather->events = perf_events_new(gather->channel.arena,
			gather->channel.arena_descriptor, config->signal, config->has_kernel);
	}
	collector.events = gather->events;
	open_for_uninjected(gather, config);
	error = collector_start(&gather->collector, &collector);
	return error ? diag_fail(message, error, "cannot start a thread: %s", strerror(-error)) : 0;
}

static int open_outside(
	struct gather *gather, const struct gather_config *config, struct diag_message *message)
{
	const struct outside_config outside = {
		.rate_hz = config->rate_hz,
		.waits = config->waits,
		.wait_details = config->wait_details,
		.follow = config->follow,
		.pipe = pipe_reader_writer(gather->pipe_reader, RECORD_TRACER),
	};

	return outside_open(&gather->outside, &outside, message);
}

int gather_open(
	struct gather **out, const struct gather_config *config, struct diag_message *message)
{
	struct gather *gather = calloc(1, sizeof(*gather));
	int error = -ENOMEM;

	if (gather) {
		gather->channel.arena_descriptor = -1;
		error = pipe_reader_open(&gather->pipe_reader,
			config->test_clock_hz ? config->test_clock_hz : config->rate_hz);
	}
	if (error) {
		diag_fail(message, error, "cannot set up the profile: %s", strerror(-error));
		goto out;
	}
	error = config->outside ? open_outside(gather, config, message)
				: open_inside(gather, config, message);
out:
	if (error)
		gather_free(gather);
	else
		*out = gather;
	return error;
}

void gather_free(struct gather *gather)
{
	if (!gather)
		return;
	collector_free(gather->collector);
	perf_events_free(gather->events);
	injected_free(gather->injected);
	outside_free(gather->outside);
	pipe_reader_free(gather->pipe_reader);
	channel_release(&gather->channel);
	free(gather);
}

const char *gather_environment(const struct gather *gather)
{
	return gather->channel.environment;
}

pid_t gather_tracer(const struct gather *gather)
{
	return gather->outside ? outside_tracer(gather->outside) : -1;
}

int gather_attach(struct gather *gather, pid_t pid, bool from_exec, struct diag_message *message)
{
	return outside_attach(gather->outside, pid, from_exec, message);
}

int gather_descriptor(const struct gather *gather)
{
	return pipe_reader_descriptor(gather->pipe_reader);
}

struct flameprof_profile *gather_profile(struct gather *gather)
{
	return pipe_reader_profile(gather->pipe_reader);
}

const struct held_files *gather_held(const struct gather *gather)
{
	return pipe_reader_held(gather->pipe_reader);
}

bool gather_connected(const struct gather *gather)
{
	return pipe_reader_state(gather->pipe_reader)->images_seen != 0;
}

/*
 * Returns the number of process images (execs) in pid namespaces below flamerun's. flamerun has no
 * pid for these processes, so the collector does not see their end.
 */
static unsigned count_namespaced(struct wire_arena *arena)
{
	unsigned count = 0;

	for (unsigned i = 0; i < wire_slots_high(arena); i++) {
		const struct wire_slot *slot = wire_slot(arena, i);

		count += slot->namespaced &&
			 wire_slot_is_used(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE));
	}
	return count;
}

unsigned gather_count_live(const struct gather *gather)
{
	struct wire_arena *arena = gather->channel.arena;
	unsigned live = pipe_reader_state(gather->pipe_reader)->live;
	uint32_t arrived, begun;
	unsigned namespaced;

	if (gather_has_ended(gather))
		return 0;
	if (!arena)
		return live;
	arrived = __atomic_load_n(&arena->forks_arrived, __ATOMIC_ACQUIRE);
	begun = __atomic_load_n(&arena->forks_begun, __ATOMIC_ACQUIRE);
	namespaced = count_namespaced(arena);
	return (live > namespaced ? live - namespaced : 0) +
	       (begun > arrived ? begun - arrived : 0);
}

/* Has @source ended? RECORD_END may be missing, because other processes can read from the pipe. */
static bool has_ended(const struct gather *gather, enum record_source source)
{
	const struct pipe_reader_state *state = pipe_reader_state(gather->pipe_reader);

	if (source == RECORD_COLLECTOR)
		return !gather->collector || state->has_ended[source] ||
		       collector_has_ended(gather->collector);
	return !gather->outside || state->has_ended[source] || !outside_is_alive(gather->outside);
}

bool gather_has_ended(const struct gather *gather)
{
	return !gather->collector && has_ended(gather, RECORD_TRACER);
}

int gather_read(struct gather *gather)
{
	return pipe_reader_read(gather->pipe_reader);
}

int gather_sync(struct gather *gather)
{
	uint64_t requested = gather->collector ? collector_request(gather->collector) : 0;
	int error = gather_read(gather);

	for (int i = 0; i < WAIT_TRIES && pipe_reader_state(gather->pipe_reader)->round < requested;
		i++) {
		pipe_reader_wait(gather->pipe_reader, WAIT_MS);
		error = gather_read(gather);
	}
	return error;
}

/* Returns the CPU time that all images used while sampled. For a tracer this is the total. */
static uint64_t seen_ns(struct flameprof_profile *profile)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < profile->image_count; i++) {
		const struct profile_image *image = profile_image_at(profile, i);

		if (image->end_cpu_ns > image->start_cpu_ns)
			ns += image->end_cpu_ns - image->start_cpu_ns;
	}
	return ns;
}

/* Returns how to account for CPU time that an image used before it could be sampled. */
static enum accounting_start start_of(const struct wire_arena *arena)
{
	if (arena->clock_hz)
		return ACCOUNTING_START_IGNORED;
	return arena->start_paused ? ACCOUNTING_START_PAUSED : ACCOUNTING_START_CREDITED;
}

int gather_finish(struct gather *gather, const struct accounting_child *child)
{
	struct wire_arena *arena = gather->channel.arena;
	struct flameprof_profile *profile = gather_profile(gather);
	struct profile_totals *totals = profile_totals(profile);
	struct wire_counters *counts = &totals->counts;
	int error;

	if (arena)
		__atomic_store_n(&arena->closing, 1, __ATOMIC_RELEASE);
	if (gather->collector)
		collector_finish(gather->collector);
	if (gather->outside)
		outside_finish(gather->outside);
	error = gather_read(gather);
	while (!has_ended(gather, RECORD_COLLECTOR) || !has_ended(gather, RECORD_TRACER)) {
		pipe_reader_wait(gather->pipe_reader, WAIT_MS);
		error = gather_read(gather);
	}
	/* Read the last records of a source that ended without RECORD_END. */
	error = gather_read(gather);
	if (gather->events)
		counts->kernel_unseen = perf_events_unseen(gather->events);
	/* Compare before subtracting: programs of the run can write any value to these counters. */
	if (counts->delivered > counts->overruns)
		counts->handler_ns +=
			(counts->delivered - counts->overruns) * gather->event_cost_ns;
	if (!error && arena)
		error = accounting_compute(profile, start_of(arena), child);
	if (arena)
		wire_counters_of_arena(counts, arena);
	else
		totals->cpu_ns = seen_ns(profile);
	return error;
}

bool gather_has_events(const struct gather *gather)
{
	return gather->events != NULL;
}

bool gather_is_outside(const struct gather *gather)
{
	return !gather->collector;
}

const struct pipe_reader_state *gather_state(const struct gather *gather)
{
	return pipe_reader_state(gather->pipe_reader);
}

const struct pipe_reader_refusal *gather_refusals(const struct gather *gather)
{
	return pipe_reader_state(gather->pipe_reader)->refusals;
}
