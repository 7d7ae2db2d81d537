/* SPDX-License-Identifier: MIT */
/* Keep a struct target for each image, and find the numbers of its threads in the arena. */
#include "cli/outside/injected.h"

#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/gather/kernel_stacks.h"
#include "cli/outside/outer_pid.h"
#include "cli/outside/stackwalk.h"
#include "cli/outside/target_waits.h"
#include "libprof/procfs.h"
#include "libprof/waits/waits.h"
#include "render/array.h"

#define NS_PER_S 1000000000ULL

/* Least time between two searches for pids. A search takes some ms. */
#define SEARCH_NS    (NS_PER_S / 2)
#define SEARCHES_MAX 4

/* A program in another PID namespace whose pid in flamerun's namespace is not known yet. */
struct unplaced {
	struct collector_image image;
	unsigned searches;
};

struct injected {
	struct injected_config config;
	/* CLOCK_MONOTONIC ns at which sampling began. Replaces earlier times from the arena. */
	uint64_t start_ns;
	struct collector_reader reader;
	struct target_shared shared;
	/* List of targets, oldest first, because the oldest mostly end first. */
	struct target *targets, **targets_end;
	struct target_waits *waits;
	struct unplaced *unplaced; /* owned */
	unsigned unplaced_count, unplaced_room;
	uint64_t searched_ns;
	struct memory memory;
	uint64_t frames[KERNEL_STACK_FRAMES + WIRE_MAX_DEPTH];
};

static struct target **find_target(struct injected *injected, uint64_t image)
{
	struct target **at = &injected->targets;

	while (*at && (*at)->image != image)
		at = &(*at)->next;
	return at;
}

/*
 * Find the ring of thread @tid. Returns the thread's number in the image, or 0 if it has no ring.
 * *@begun_ns is set to the time when the thread began.
 */
static uint32_t find_thread(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns)
{
	struct injected *injected = context;
	const struct target *target = *find_target(injected, image);
	struct wire_arena *arena = injected->config.arena;
	uint32_t high = wire_rings_high(arena);

	if (target && target->has_other_tids)
		tid = procfs_inner_pid(tid);

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

/* Has the process of @target begun to exit or exec? Waits after that do not belong to the image. */
static bool has_left(void *context, const struct target *target)
{
	const struct injected *injected = context;
	const struct wire_slot *slot = wire_slot(injected->config.arena, target->slot);

	return (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) != WIRE_SLOT_LIVE;
}

/*
 * Has the program paused its sampling? *@since_ns is set to the time of the last pause or resume.
 */
static bool is_paused(void *context, const struct target *target, uint64_t *since_ns)
{
	const struct injected *injected = context;
	const struct wire_slot *slot = wire_slot(injected->config.arena, target->slot);
	bool is_paused = __atomic_load_n(&slot->is_paused, __ATOMIC_ACQUIRE) != 0;

	*since_ns = __atomic_load_n(&slot->pause_changed_ns, __ATOMIC_RELAXED);
	return is_paused;
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

static void add_target(struct injected *injected, const struct collector_image *image, pid_t pid)
{
	uint64_t begun_ns = since_start(injected, image->start_ns);
	struct target *target = target_new(pid);

	if (!target)
		return;
	target->image = image->image;
	target->slot = image->slot;
	target->has_other_tids = image->namespaced;
	target->first_module = TARGET_FIRST_MODULE;
	if (injected->config.has_waits &&
		target_waits_add(injected->waits, target, begun_ns, image->start_cpu_ns)) {
		target_free(target);
		return;
	}
	*injected->targets_end = target;
	injected->targets_end = &target->next;
}

static void add(void *context, const struct collector_image *image)
{
	struct injected *injected = context;

	if (!image->namespaced)
		add_target(injected, image, (pid_t)image->pid);
	else if (ARRAY_GROW(
			 injected->unplaced, injected->unplaced_count, injected->unplaced_room, 16))
		target_waits_pass_over(injected->waits);
	else
		injected->unplaced[injected->unplaced_count++] = (struct unplaced){.image = *image};
}

/* Stop the search for the pid of @image. Returns false if there was no such search. */
static bool remove_unplaced(struct injected *injected, uint64_t image)
{
	for (unsigned i = 0; i < injected->unplaced_count; i++) {
		if (injected->unplaced[i].image.image != image)
			continue;
		injected->unplaced[i] = injected->unplaced[--injected->unplaced_count];
		return true;
	}
	return false;
}

/* Search for the pids of all images in unplaced[]. Make a target for each pid that was found. */
static void find_unplaced(struct injected *injected)
{
	unsigned count = injected->unplaced_count;
	uint64_t now_ns = clock_now_ns();
	struct outer_pid *pids;

	if (!count || now_ns - injected->searched_ns < SEARCH_NS)
		return;
	injected->searched_ns = now_ns;
	pids = calloc(count, sizeof(*pids));
	for (unsigned i = 0; pids && i < count; i++)
		pids[i] = (struct outer_pid){.inner = (pid_t)injected->unplaced[i].image.pid,
			.image = injected->unplaced[i].image.image,
			.image_at = injected->unplaced[i].image.image_at};
	if (pids)
		outer_pids_find(pids, count);
	for (unsigned i = count; pids && i-- > 0;) {
		struct unplaced unplaced = injected->unplaced[i];

		if (!pids[i].outer && ++injected->unplaced[i].searches < SEARCHES_MAX)
			continue;
		remove_unplaced(injected, unplaced.image.image);
		if (pids[i].outer)
			add_target(injected, &unplaced.image, pids[i].outer);
		else
			target_waits_pass_over(injected->waits);
	}
	free(pids);
}

static void end_thread(void *context, const struct collector_thread *thread)
{
	struct injected *injected = context;
	const struct target *target = *find_target(injected, thread->image);
	struct waits_end end = {
		.tid = target && target->has_other_tids ? 0 : (pid_t)thread->tid,
		.number = thread->number,
		.start_ns = since_start(injected, thread->start_ns),
		.end_ns = thread->end_ns,
		.cpu_ns = thread->end_cpu_ns,
	};

	memcpy(end.comm, thread->comm, sizeof(end.comm));
	if (target)
		target_waits_end_thread(injected->waits, target, &end);
}

static void end(void *context, uint64_t image, uint64_t end_ns)
{
	struct injected *injected = context;
	struct target **at = find_target(injected, image), *target = *at;

	if (remove_unplaced(injected, image))
		target_waits_pass_over(injected->waits);
	if (!target)
		return;
	*at = target->next;
	if (injected->targets_end == &target->next)
		injected->targets_end = at;
	target_waits_remove(injected->waits, target, end_ns);
	target_free(target);
}

/*
 * Unwind the user stack of @kernel_stack, and record both as one stack. The pc of the innermost
 * user frame is not a return address: it is after a system call instruction, or at one that
 * faulted.
 */
static void add_kernel_stack(
	void *context, uint64_t image, uint32_t thread, const struct kernel_stack *kernel_stack)
{
	struct injected *injected = context;
	struct target *target = *find_target(injected, image);
	struct stackwalk walk = {.target = target,
		.shared = &injected->shared,
		.memory = &injected->memory,
		/* The thread has run since, so its language frames in memory have changed. */
		.is_native = true};
	struct wire_sample sample = {.thread = thread,
		.time_ns = kernel_stack->time_ns,
		.weight = 1,
		.kind = WIRE_KIND_KERNEL_STACK};
	struct unwind_result result;

	if (!target)
		return;
	if (!target->stack_top)
		target->stack_top = procfs_stack_top(target->pid);
	for (uint32_t i = 0; i < kernel_stack->count; i++)
		injected->frames[i] = WIRE_FRAME(WIRE_MODULE_KERNEL, kernel_stack->frame[i]);
	memory_begin_copied(&injected->memory, target->pid, kernel_stack->stack,
		kernel_stack->registers.r[ARCH_DWARF_SP], kernel_stack->bytes);
	result = stackwalk_run(
		&walk, &kernel_stack->registers, injected->frames + kernel_stack->count);
	sample.end = (uint8_t)result.end;
	sample.frames = (uint16_t)(kernel_stack->count + result.frames);
	if (result.frames && sample.frames <= WIRE_MAX_DEPTH)
		pipe_writer_put_sample(
			injected->shared.pipe_writer, image, &sample, injected->frames);
}

static uint64_t read_all(void *context)
{
	struct injected *injected = context;

	find_unplaced(injected);
	return injected->config.has_waits ? target_waits_round(injected->waits) : UINT64_MAX;
}

static void finish(void *context)
{
	struct injected *injected = context;

	while (injected->unplaced_count) {
		injected->unplaced_count--;
		target_waits_pass_over(injected->waits);
	}
	if (injected->config.has_waits)
		target_waits_finish(injected->waits);
}

struct injected *injected_new(const struct injected_config *config)
{
	struct injected *injected = calloc(1, sizeof(*injected));
	struct target_waits_config waits = {
		.period_ns = NS_PER_S / config->rate_hz,
		.has_details = config->has_details,
		.find_thread = find_thread,
		.is_paused = is_paused,
		.has_left = has_left,
	};

	if (!injected)
		return NULL;
	injected->config = *config;
	injected->targets_end = &injected->targets;
	injected->start_ns = clock_now_ns();
	injected->reader = (struct collector_reader){
		.context = injected,
		.start = start,
		.add = add,
		.end_thread = end_thread,
		.end = end,
		.add_kernel_stack = add_kernel_stack,
		.read = read_all,
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
	/* Do not write records here, because the pipe may be closed. */
	target_waits_free(injected->waits);
	while (injected->targets) {
		struct target *target = injected->targets;

		injected->targets = target->next;
		target_free(target);
	}
	objects_release(&injected->shared.objects);
	free(injected->unplaced);
	free(injected);
}

const struct collector_reader *injected_reader(const struct injected *injected)
{
	return &injected->reader;
}
