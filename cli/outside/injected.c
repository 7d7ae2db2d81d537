/* SPDX-License-Identifier: MIT */
/*
 * A target for each image, and the numbers of threads out of the arena.
 */
#include "cli/outside/injected.h"

#include <stdlib.h>

#include "cli/clock.h"
#include "cli/outside/target_waits.h"
#include "libprof/procfs.h"
#include "libprof/waits/waits.h"

#define NS_PER_S 1000000000ULL

struct injected {
	struct injected_config config;
	uint64_t start_ns; /* nobody began before, whatever the arena says */
	struct collector_looker looker;
	struct target_shared shared;
	struct target *targets;
	struct target_waits *waits;
};

/* The thread's ring has its number; one without a ring has none there. */
static uint32_t find_thread(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns)
{
	const struct injected *injected = context;
	struct wire_arena *arena = injected->config.arena;
	uint32_t high = wire_rings_high(arena);

	for (uint32_t i = 0; i < high; i++) {
		const struct wire_ring *ring = wire_ring(arena, i);

		if (__atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE) >> 2 != (image & ~0ULL >> 2) ||
			__atomic_load_n(&ring->tid, __ATOMIC_ACQUIRE) != (uint32_t)tid)
			continue;
		*begun_ns = __atomic_load_n(&ring->start_ns, __ATOMIC_RELAXED);
		return __atomic_load_n(&ring->thread, __ATOMIC_RELAXED);
	}
	return 0;
}

/* From its exit or exec on a process is none of the image's, and what it does is not told of it. */
static bool has_left(void *context, const struct target *target)
{
	const struct injected *injected = context;
	const struct wire_slot *slot = wire_slot(injected->config.arena, target->slot);

	return (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) != WIRE_SLOT_LIVE;
}

static struct target **find_target(struct injected *injected, uint64_t image)
{
	struct target **at = &injected->targets;

	while (*at && (*at)->image != image)
		at = &(*at)->next;
	return at;
}

static void start(void *context, struct pipe_writer *pipe_writer)
{
	struct injected *injected = context;

	injected->shared.pipe_writer = pipe_writer;
}

static uint64_t since_start(const struct injected *injected, uint64_t ns)
{
	return ns > injected->start_ns ? ns : injected->start_ns;
}

static void add(void *context, const struct collector_image *image)
{
	struct injected *injected = context;
	struct target *target;
	uint64_t begun_ns;

	if (!image->pid) {
		target_waits_pass_over(injected->waits);
		return;
	}
	begun_ns = since_start(injected, image->start_ns);
	target = target_new((pid_t)image->pid);
	if (!target)
		return;
	target->image = image->image;
	target->slot = image->slot;
	target->first_module = TARGET_FIRST_MODULE;
	target->stack_top = procfs_stack_top(target->pid);
	if (target_waits_add(injected->waits, target, begun_ns, image->start_cpu_ns)) {
		target_free(target);
		return;
	}
	target->next = injected->targets;
	injected->targets = target;
}

static void end_thread(void *context, const struct collector_thread *thread)
{
	struct injected *injected = context;
	const struct target *target = *find_target(injected, thread->image);

	if (target)
		target_waits_end_thread(injected->waits, target,
			&(struct waits_end){
				.tid = (pid_t)thread->tid,
				.number = thread->number,
				.start_ns = since_start(injected, thread->start_ns),
				.end_ns = thread->end_ns,
				.cpu_ns = thread->end_cpu_ns,
			});
}

static void end(void *context, uint64_t image, uint64_t end_ns)
{
	struct injected *injected = context;
	struct target **at = find_target(injected, image), *target = *at;

	if (!target)
		return;
	*at = target->next;
	target_waits_remove(injected->waits, target, end_ns);
	target_free(target);
}

static uint64_t look_at_all(void *context)
{
	const struct injected *injected = context;

	return target_waits_round(injected->waits);
}

static void finish(void *context)
{
	const struct injected *injected = context;

	target_waits_finish(injected->waits);
}

struct injected *injected_new(const struct injected_config *config)
{
	struct injected *injected = calloc(1, sizeof(*injected));
	struct target_waits_config waits = {
		.period_ns = NS_PER_S / config->rate_hz,
		.has_details = config->has_details,
		.find_thread = find_thread,
		.has_left = has_left,
	};

	if (!injected)
		return NULL;
	injected->config = *config;
	injected->start_ns = clock_now_ns();
	injected->looker = (struct collector_looker){
		.context = injected,
		.start = start,
		.add = add,
		.end_thread = end_thread,
		.end = end,
		.look = look_at_all,
		.finish = finish,
	};
	waits.shared = &injected->shared;
	waits.context = injected;
	injected->waits = target_waits_new(&waits);
	if (!injected->waits) {
		injected_free(injected);
		return NULL;
	}
	return injected;
}

void injected_free(struct injected *injected)
{
	if (!injected)
		return;
	/* Without a pipe nobody is told. */
	target_waits_free(injected->waits);
	while (injected->targets) {
		struct target *target = injected->targets;

		injected->targets = target->next;
		target_free(target);
	}
	objects_release(&injected->shared.objects);
	free(injected);
}

const struct collector_looker *injected_looker(const struct injected *injected)
{
	return &injected->looker;
}
