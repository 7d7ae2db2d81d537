/* SPDX-License-Identifier: MIT */
/*
 * Report generated code to the tools that are on. Also turn tools on, report all existing code to a
 * new tool, and start again in fork children. Each tool is a struct publisher in its own file:
 * publish_perf_map.c and publish_jitdump.c (perf), publish_gdb.c, publish_unwinders.c (exceptions),
 * publish_libunwind.c.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "libprof/at_start.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"

/* ---- reporting to tools ---------------------------------------------------------------------- */
/* Each region and slot is reported once to each tool. Context: under the lock, except as stated. */

enum { PUBLISH_TOOLS = 5 };

/* A tool's number is its index here. */
static const struct publisher *const publish_tools[PUBLISH_TOOLS] = {
	&publisher_perf_map,
	&publisher_jitdump,
	&publisher_gdb,
	&publisher_unwinders,
	&publisher_libunwind,
};

/* Says to which tools a region was reported. Made at the first report: region->published. */
struct known_region {
	/*
	 * Links of a list of all structs of this type. Leak checkers find the structs through this
	 * list, because they do not see the pointers in regions.
	 */
	struct known_region *next, **at;
	void *state[PUBLISH_TOOLS];
	uint8_t tools;	/* bit t: reported to tool t */
	uint8_t slot[]; /* bit t: reported to tool t */
};

static struct known_region *all_known;
/*
 * Flags of the tools that the host itself has requested. A tool that is on without such a request
 * is informed only of stubs, because the host may report its own code to this tool itself.
 */
static unsigned asked;
static AT_START unsigned publish_notify_on; /* atomic */

/* Returns the flags of the tools that are on. Context: signal-safe, also at process end. */
static inline unsigned publish_notify_flags(void)
{
	return __atomic_load_n(&publish_notify_on, __ATOMIC_RELAXED);
}

static void publish_notify_set_on(unsigned tool)
{
	__atomic_or_fetch(&publish_notify_on, publish_tools[tool]->flag, __ATOMIC_RELAXED);
}

static int publish_notify_is_on(unsigned tool)
{
	return (publish_notify_flags() & publish_tools[tool]->flag) != 0;
}

/* If @error, a result of @tool, is PUBLISH_ENDED, turn @tool off. Returns @error. */
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

/* Report @slot to @tool if it is on and has the region, but not the slot. Returns 0 or -errno. */
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
 * Report @region, and its slots that have a stub, to @tool, unless they were reported before.
 * Returns 0, also if the tool is off; or the first error. After an error of one slot, the others
 * are still reported.
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

/* Report the end of @region to all tools that got the region, even to tools that are off. */
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

/* Forget that @region was reported to @tool, so that it will be reported again. */
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

/* Report to @tool that a batch of calls is over. Returns 0 or the tool's error. */
static int publish_notify_flush(unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];

	if (!publisher->flush || !publish_notify_is_on(tool))
		return 0;
	return publish_notify_result(tool, publisher->flush());
}

/*
 * Protects the tools and their state. Reporting all regions takes region.c's lock while this lock
 * is held, so no function of this file may be called with region.c's lock held.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Atomic: a tool was on at some time, so ends of regions and slots must be reported. */
static unsigned ever;
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
 * Was a tool ever on? A thread that adds a region or slot stores it first, then calls this
 * function. flameprof_publish() sets `ever` first, then reads the regions. Both sides have a full
 * fence between the two steps, so at least one of them sees the other's store.
 */
static int was_ever_on(void)
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
	if (!was_ever_on())
		return;
	pthread_mutex_lock(&lock);
	publish_notify_end_of_region(region);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_add_slot(struct region *region, uint32_t slot)
{
	if (!was_ever_on())
		return;
	pthread_mutex_lock(&lock);
	/*
	 * If the region is not reported yet, publish_notify_slot() does nothing:
	 * publish_add_region() will report the region's slots.
	 */
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		publish_notify_slot(region, slot, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

void publish_remove_slot(struct region *region, uint32_t slot)
{
	if (!was_ever_on())
		return;
	pthread_mutex_lock(&lock);
	publish_notify_end_of_slot(region, slot);
	flush_all();
	pthread_mutex_unlock(&lock);
}

struct replay {
	unsigned tool;
	int error;  /* the first one */
	/* 1: the tool has a new file, so everything must be reported again. */
	int is_reset;
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

/*
 * Start all tools again in a fork child. Their state is inherited, but files must be the child's
 * own.
 */
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

/* Turn @tool on and report all existing code to it. Returns 0, or the first error. */
static int start_tool(unsigned tool)
{
	/* All code must be reported again to a tool that was turned off. */
	int is_reset = !publish_notify_is_on(tool);
	int error = publish_tools[tool]->start();

	if (error < 0)
		return error;
	is_reset |= error == PUBLISH_AFRESH;
	publish_notify_set_on(tool);
	__atomic_store_n(&ever, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	error = replay(tool, is_reset);
	if (!error && publish_tools[tool]->status)
		error = publish_tools[tool]->status();
	return error;
}

/* Turn on the tools @flags; @by_host: those that the host requested. Returns 0 or first error. */
static int publish_to(unsigned flags, unsigned by_host)
{
	int first = 0;

	pthread_mutex_lock(&lock);
	asked |= by_host;
	/* Without a fork handler, fail: children would write into the parent's files. */
	if (!fork_watched) {
		/* Prepare handlers run in reverse order, so register those of inner locks first. */
		permanent_watch_forks();
		region_watch_forks();
		first = -pthread_atfork(before_fork, after_fork, in_fork_child);
	}
	fork_watched = !first;
	for (unsigned tool = 0; fork_watched && tool < PUBLISH_TOOLS; tool++) {
		int error = flags & publish_tools[tool]->flag ? start_tool(tool) : 0;

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
	/*
	 * Without an unwinder that knows the stubs, an exception through a stub ends the process.
	 */
	if (region->kind != FLAMEPROF_CODE_HOST &&
		!(publish_notify_flags() & FLAMEPROF_PUBLISH_UNWINDERS) &&
		publish_unwinders_are_loaded())
		publish_to(FLAMEPROF_PUBLISH_UNWINDERS, 0);
	if (!was_ever_on())
		return;
	pthread_mutex_lock(&lock);
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++)
		publish_notify_region(region, tool);
	flush_all();
	pthread_mutex_unlock(&lock);
}

/*
 * When the process ends, complete the tools' files. If another thread holds the lock, give up,
 * because that thread may never release it.
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
