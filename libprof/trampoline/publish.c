/* SPDX-License-Identifier: MIT */
/*
 * Who is told of generated code: the switch, the lock, replay of what exists when a tool is
 * asked for, fork children. Each tool is a struct publisher in a file of its own:
 * publish_perf_map.c and publish_jitdump.c for perf, publish_gdb.c, publish_unwinders.c for what
 * throws exceptions, publish_libunwind.c.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "libprof/at_start.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"

/* ---- telling --------------------------------------------------------------------------------- */
/*
 * Telling each tool once: which tools there are, which are on, and what each knows. Under the lock,
 * unless stated otherwise.
 */

enum { PUBLISH_TOOLS = 5 };

/* Tools are numbers below PUBLISH_TOOLS. */
static const struct publisher *const publish_tools[PUBLISH_TOOLS] = {
	&publisher_perf_map,
	&publisher_jitdump,
	&publisher_gdb,
	&publisher_unwinders,
	&publisher_libunwind,
};

/* What region->published points to; made when the first tool hears of the region. */
struct known_region {
	/* The list of all, since checkers of leaks do not look into regions. */
	struct known_region *next, **at;
	void *state[PUBLISH_TOOLS];
	uint8_t tools;	/* bit t: tool t knows the region */
	uint8_t slot[]; /* bit t: it knows this slot */
};

static struct known_region *all_known;
/*
 * Flags of the tools that the host asked for. Other tools that are on get stubs alone, because the
 * host may publish its own code to them itself.
 */
static unsigned asked;
static AT_START unsigned publish_notify_on; /* atomic */

/* Flags of the tools that are on. Every process asks when it ends. Context: signal-safe. */
static inline unsigned publish_notify_flags(void)
{
	return __atomic_load_n(&publish_notify_on, __ATOMIC_RELAXED);
}

static void publish_notify_turn_on(unsigned tool)
{
	__atomic_or_fetch(&publish_notify_on, publish_tools[tool]->flag, __ATOMIC_RELAXED);
}

static int publish_notify_is_on(unsigned tool)
{
	return (publish_notify_flags() & publish_tools[tool]->flag) != 0;
}

/*
 * What @tool answered. One that has ended is off from now on.
 * Returns @error.
 */
static int publish_notify_result(unsigned tool, int error)
{
	if (error == PUBLISH_ENDED)
		__atomic_and_fetch(
			&publish_notify_on, ~publish_tools[tool]->flag, __ATOMIC_RELAXED);
	return error;
}

static struct known_region *add_known(struct region *region)
{
	struct known_region *known = calloc(1, sizeof(*known) + region->slots);

	if (!known)
		return NULL;
	known->next = all_known;
	known->at = &all_known;
	if (all_known)
		all_known->at = &known->next;
	all_known = known;
	return region->published = known;
}

static void remove_known(struct region *region)
{
	struct known_region *known = region->published;

	*known->at = known->next;
	if (known->next)
		known->next->at = known->at;
	region->published = NULL;
	free(known);
}

/* As above, of one slot of a region it knows. */
static int publish_notify_slot(struct region *region, uint32_t slot, unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];
	struct known_region *known = region->published;
	uint8_t bit = 1u << tool;
	int error = 0;

	if (!publish_notify_is_on(tool) || !known || !(known->tools & bit) ||
		(known->slot[slot] & bit))
		return 0;
	if (!__atomic_load_n(&region->slot[slot].space, __ATOMIC_ACQUIRE))
		return 0;
	if (publisher->add_slot)
		error = publisher->add_slot(region, slot, known->state[tool]);
	if (!error)
		known->slot[slot] |= bit;
	return publish_notify_result(tool, error);
}

/*
 * Tell @tool of a region and its slots with names, of those that it does not know.
 * Returns 0, also when the tool is off, or the first error; goes on for all slots after one.
 */
static int publish_notify_region(struct region *region, unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];
	struct known_region *known = region->published;
	uint8_t bit = 1u << tool;
	int first = 0;

	if (!publish_notify_is_on(tool))
		return 0;
	if (region->kind == FLAMEPROF_CODE_HOST && !(asked & publisher->flag))
		return 0;
	if (!known)
		known = add_known(region);
	if (!known)
		return -ENOMEM;
	if (!(known->tools & bit)) {
		if (publisher->add_region)
			first = publisher->add_region(region, &known->state[tool]);
		if (first)
			return publish_notify_result(tool, first);
		known->tools |= bit;
	}
	for (uint32_t i = 0; i < region->slots; i++) {
		int error = publish_notify_slot(region, i, tool);

		if (!first)
			first = error;
	}
	return first;
}

/* Tell all tools that know it, on or off, that it ends. */
static void publish_notify_end_of_region(struct region *region)
{
	struct known_region *known = region->published;

	if (!known)
		return;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		const struct publisher *publisher = publish_tools[tool];

		if ((known->tools & 1u << tool) && publisher->remove_region)
			publisher->remove_region(region, known->state[tool]);
	}
	remove_known(region);
}

static void publish_notify_end_of_slot(struct region *region, uint32_t slot)
{
	struct known_region *known = region->published;

	if (!known)
		return;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		const struct publisher *publisher = publish_tools[tool];

		if ((known->slot[slot] & 1u << tool) && publisher->remove_slot)
			publisher->remove_slot(region, slot, known->state[tool]);
	}
	known->slot[slot] = 0;
}

/* Let @tool know nothing of @region: it will be told again. */
static void publish_notify_reset(struct region *region, unsigned tool)
{
	struct known_region *known = region->published;
	uint8_t others = ~(1u << tool);

	if (!known)
		return;
	known->tools &= others;
	for (uint32_t i = 0; i < region->slots; i++)
		known->slot[i] &= others;
}

/* Returns 0 or the error of the tool; its batch is over. */
static int publish_notify_flush(unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];

	if (!publisher->flush || !publish_notify_is_on(tool))
		return 0;
	return publish_notify_result(tool, publisher->flush());
}

/*
 * Protects the tools and what they know. Taken before region.c's lock, which replay needs; so
 * nobody comes here with that one held.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned ever; /* atomic: some tool was on, so that ends have to be told */
static int fork_watched;

unsigned flameprof_published(void)
{
	if (other_copy.flameprof_published)
		return other_copy.flameprof_published();
	return publish_notify_flags();
}

int publish_is_on(void)
{
	return publish_notify_flags() != 0;
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

static void flush_all(void)
{
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		publish_notify_flush(tool);
}

void publish_remove_region(struct region *region)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	publish_notify_end_of_region(region);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_add_slot(struct region *region, uint32_t slot)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	/* Before publish_add_region() this tells nobody, and that tells of the slot. */
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		publish_notify_slot(region, slot, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_remove_slot(struct region *region, uint32_t slot)
{
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	publish_notify_end_of_slot(region, slot);
	flush_all();
	pthread_mutex_unlock(&lock);
}

struct replay {
	unsigned tool;
	int error;  /* the first */
	int is_reset; /* the tool knows nothing of what its bits say: a new file */
};

static int replay_region(void *context, struct region *region)
{
	struct replay *replay = context;
	int error;

	if (replay->is_reset)
		publish_notify_reset(region, replay->tool);
	error = publish_notify_region(region, replay->tool);

	if (!replay->error)
		replay->error = error;
	return !publish_notify_is_on(replay->tool);
}

static int replay(unsigned tool, int is_reset)
{
	struct replay all = {.tool = tool, .is_reset = is_reset};

	region_each(replay_region, &all);

	int error = publish_notify_flush(tool);

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
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		if (!publish_notify_is_on(tool) || !publish_tools[tool]->fork_child)
			continue;
		if (publish_tools[tool]->fork_child())
			publish_notify_result(tool, PUBLISH_ENDED);
		else
			replay(tool, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* Returns 0, or the first error. */
static int turn_on(unsigned tool)
{
	/* One that was on and ended has to be told all again. */
	int is_reset = !publish_notify_is_on(tool);
	int error = publish_tools[tool]->start();

	if (error < 0)
		return error;
	is_reset |= error == PUBLISH_AFRESH;
	publish_notify_turn_on(tool);
	__atomic_store_n(&ever, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	error = replay(tool, is_reset);
	if (!error && publish_tools[tool]->status)
		error = publish_tools[tool]->status();
	return error;
}

/* Turn on the tools @what, of which the host asked for @by_host. Returns 0, or the first error. */
static int publish_to(unsigned what, unsigned by_host)
{
	int first = 0;

	pthread_mutex_lock(&lock);
	asked |= by_host;
	/* A fork that cannot be watched would leave children writing into our files. */
	if (!fork_watched) {
		/*
		 * Handlers that prepare run backwards: those of inner locks are registered first.
		 */
		permanent_watch_forks();
		region_watch_forks();
		first = -pthread_atfork(before_fork, after_fork, in_fork_child);
	}
	fork_watched = !first;
	for (unsigned tool = 0; fork_watched && tool < PUBLISH_TOOLS; tool++) {
		int error = what & publish_tools[tool]->flag ? turn_on(tool) : 0;

		if (!first)
			first = error;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

int flameprof_publish(unsigned what)
{
	unsigned possible = 0;

	if (other_copy.flameprof_publish)
		return other_copy.flameprof_publish(what);
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		possible |= publish_tools[tool]->flag;
	if (what & ~possible)
		return -EINVAL;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		if ((what & publish_tools[tool]->flag) && publish_tools[tool]->prepare)
			publish_tools[tool]->prepare();
	}
	return publish_to(what, what);
}

void publish_add_region(struct region *region)
{
	/* An exception that reaches a stub that its unwinder does not know ends the process. */
	if (region->kind != FLAMEPROF_CODE_HOST &&
		!(publish_notify_flags() & FLAMEPROF_PUBLISH_UNWINDERS) &&
		publish_unwinders_are_loaded())
		publish_to(FLAMEPROF_PUBLISH_UNWINDERS, 0);
	if (!somebody_listens())
		return;
	pthread_mutex_lock(&lock);
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		publish_notify_region(region, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

/*
 * Files that have an end get it. Other threads may be anywhere: without the lock nothing is done.
 */
static __attribute__((destructor)) void finish_tools(void)
{
	if (!publish_is_on() || pthread_mutex_trylock(&lock))
		return;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		if (publish_notify_is_on(tool) && publish_tools[tool]->finish)
			publish_tools[tool]->finish();
	}
	pthread_mutex_unlock(&lock);
}
