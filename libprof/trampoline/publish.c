/* SPDX-License-Identifier: MIT */
/*
 * Which tools are told of generated code: the switch, the lock, replay of what exists when a tool
 * is asked for, and fork children. What a tool is told, it is told once: the bits in struct known
 * say which tools know a region and each of its slots.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/fork.h"

static const struct publisher *const tools[] = {
	&publisher_perf_map,
	&publisher_jitdump,
	&publisher_gdb,
	&publisher_unwinders,
	&publisher_libunwind,
};
enum { TOOLS = sizeof(tools) / sizeof(*tools) };

/* What region->published points to; made when the first tool hears of the region. */
struct known {
	struct known *next, **at; /* list of all: checkers of leaks do not look into regions */
	void *state[TOOLS];
	uint8_t tools;	/* bit t: tools[t] knows the region */
	uint8_t slot[]; /* bit t: it knows this slot */
};

/*
 * Protects all below, every struct known, and the tools. Taken before region.c's lock, which replay
 * needs; so nobody comes here with that one held.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned on;   /* atomic; flags; written under the lock */
static unsigned ever; /* atomic: some tool was on, so that ends have to be told */
static int fork_watched;
static struct known *all_known;

unsigned flameprof_published(void)
{
	if (elsewhere.flameprof_published)
		return elsewhere.flameprof_published();
	return __atomic_load_n(&on, __ATOMIC_RELAXED);
}

int publish_is_on(void)
{
	return flameprof_published() != 0;
}

/*
 * A maker stores, then asks whether anybody listens; flameprof_publish() listens, then looks what
 * is stored. With a full fence between the two steps of each, one of them sees the other.
 */
static int somebody_listens(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ever, __ATOMIC_RELAXED) != 0;
}

static int is_on(unsigned tool)
{
	return (flameprof_published() & tools[tool]->flag) != 0;
}

/* @error of a tool: passed on; a tool that ended is off. */
static int heard(unsigned tool, int error)
{
	if (error == PUBLISH_ENDED)
		__atomic_and_fetch(&on, ~tools[tool]->flag, __ATOMIC_RELAXED);
	return error;
}

static int tell_slot(struct region *region, uint32_t slot, unsigned tool)
{
	struct known *known = region->published;
	uint8_t bit = 1u << tool;

	if (!is_on(tool) || !(known->tools & bit) || (known->slot[slot] & bit))
		return 0;
	if (!__atomic_load_n(&region->slot[slot].space, __ATOMIC_ACQUIRE))
		return 0;

	int error = tools[tool]->add_slot
		? tools[tool]->add_slot(region, slot, known->state[tool]) : 0;

	if (!error)
		known->slot[slot] |= bit;
	return heard(tool, error);
}

static struct known *know(struct region *region)
{
	struct known *known = calloc(1, sizeof(*known) + region->slots);

	if (!known)
		return NULL;
	known->next = all_known;
	known->at = &all_known;
	if (all_known)
		all_known->at = &known->next;
	all_known = known;
	return region->published = known;
}

static void forget(struct region *region)
{
	struct known *known = region->published;

	if (!known)
		return;
	*known->at = known->next;
	if (known->next)
		known->next->at = known->at;
	region->published = NULL;
	free(known);
}

/* Returns the first error; goes on for all slots. */
static int tell_region(struct region *region, unsigned tool)
{
	uint8_t bit = 1u << tool;
	int first = 0;

	if (!is_on(tool))
		return 0;
	struct known *known = region->published ? region->published : know(region);

	if (!known)
		return -ENOMEM;
	if (!(known->tools & bit)) {
		if (tools[tool]->add_region)
			first = heard(tool, tools[tool]->add_region(region, &known->state[tool]));
		if (first)
			return first;
		known->tools |= bit;
	}
	for (uint32_t i = 0; i < region->slots; i++) {
		int error = tell_slot(region, i, tool);

		if (!first)
			first = error;
	}
	return first;
}

static int flush(unsigned tool)
{
	return tools[tool]->flush && is_on(tool) ? heard(tool, tools[tool]->flush()) : 0;
}

static void flush_all(void)
{
	for (unsigned tool = 0; tool < TOOLS; tool++)
		flush(tool);
}

void publish_add_region(struct region *region)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	for (unsigned tool = 0; tool < TOOLS; tool++)
		tell_region(region, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_remove_region(struct region *region)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);

	struct known *known = region->published;

	for (unsigned tool = 0; known && tool < TOOLS; tool++) {
		if ((known->tools & 1u << tool) && tools[tool]->remove_region)
			tools[tool]->remove_region(region, known->state[tool]);
	}
	flush_all();
	forget(region);
	pthread_mutex_unlock(&lock);
}

void publish_add_slot(struct region *region, uint32_t slot)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	/* Without memory for `known`, or before publish_add_region(): that one tells of the slot. */
	for (unsigned tool = 0; region->published && tool < TOOLS; tool++)
		tell_slot(region, slot, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_remove_slot(struct region *region, uint32_t slot)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);

	struct known *known = region->published;

	for (unsigned tool = 0; known && tool < TOOLS; tool++) {
		if ((known->slot[slot] & 1u << tool) && tools[tool]->remove_slot)
			tools[tool]->remove_slot(region, slot, known->state[tool]);
	}
	if (known)
		known->slot[slot] = 0;
	flush_all();
	pthread_mutex_unlock(&lock);
}

struct replay {
	unsigned tool;
	int error;  /* the first */
	int afresh; /* the tool knows nothing of what its bits say: a new file */
};

static int replay_region(void *context, struct region *region)
{
	struct replay *replay = context;
	struct known *known = region->published;
	uint8_t bit = 1u << replay->tool;

	if (replay->afresh && known) {
		known->tools &= ~bit;
		for (uint32_t i = 0; i < region->slots; i++)
			known->slot[i] &= ~bit;
	}

	int error = tell_region(region, replay->tool);

	if (!replay->error)
		replay->error = error;
	return !is_on(replay->tool);
}

static int replay(unsigned tool, int afresh)
{
	struct replay all = {.tool = tool, .afresh = afresh};

	region_each(replay_region, &all);

	int error = flush(tool);

	return all.error ? all.error : error;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* What is in memory is inherited; what is in files is in the parent's. */
static void in_fork_child(void)
{
	for (unsigned tool = 0; tool < TOOLS; tool++) {
		if (!is_on(tool) || !tools[tool]->fork_child)
			continue;
		if (tools[tool]->fork_child())
			heard(tool, PUBLISH_ENDED);
		else
			replay(tool, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* Returns 0, or the first error. */
static int turn_on(unsigned tool)
{
	/* One that was on and ended has to be told all again. */
	int afresh = !is_on(tool);
	int error = tools[tool]->start();

	if (error < 0)
		return error;
	afresh |= error == PUBLISH_AFRESH;
	__atomic_or_fetch(&on, tools[tool]->flag, __ATOMIC_RELAXED);
	__atomic_store_n(&ever, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	error = replay(tool, afresh);
	if (!error && tools[tool]->status)
		error = tools[tool]->status();
	return error;
}

int flameprof_publish(unsigned what)
{
	unsigned possible = 0;
	int first = 0;

	if (elsewhere.flameprof_publish)
		return elsewhere.flameprof_publish(what);
	for (unsigned tool = 0; tool < TOOLS; tool++)
		possible |= tools[tool]->flag;
	if (what & ~possible)
		return -EINVAL;
	for (unsigned tool = 0; tool < TOOLS; tool++) {
		if ((what & tools[tool]->flag) && tools[tool]->prepare)
			tools[tool]->prepare();
	}
	pthread_mutex_lock(&lock);
	/* A fork that cannot be watched would leave children writing into our files. */
	if (!fork_watched) {
		/* Handlers that prepare run backwards: ours before those of the locks inside. */
		trampoline_fork_register();
		first = -pthread_atfork(before_fork, after_fork, in_fork_child);
	}
	fork_watched = !first;
	for (unsigned tool = 0; fork_watched && tool < TOOLS; tool++) {
		int error = what & tools[tool]->flag ? turn_on(tool) : 0;

		if (!first)
			first = error;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

/* Files that have an end get it. Other threads may be anywhere: without the lock nothing is done. */
static __attribute__((destructor)) void finish(void)
{
	if (!publish_is_on() || pthread_mutex_trylock(&lock))
		return;
	for (unsigned tool = 0; tool < TOOLS; tool++) {
		if (is_on(tool) && tools[tool]->finish)
			tools[tool]->finish();
	}
	pthread_mutex_unlock(&lock);
}
