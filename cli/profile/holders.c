/* SPDX-License-Identifier: MIT */
/*
 * Find lock holders in stacks with a WIRE_FRAME_HOLDER frame: first sum up the weights of functions
 * in all these stacks, then choose the holder for each sample.
 */
#include "cli/profile/holders.h"

#include <stdlib.h>
#include <string.h>

#include "libprof/profile/tables.h"
#include "render/array.h"

/* A stack waits for a lock only if a lock function is among this many innermost frames. */
#define LOCK_FRAMES_MAX 6u

/* A CPU sample shows what a holder did during a wait if it is at most this many ns away. */
#define NEAR_NS 50000000ULL

#define SEEN_MAX (1u << 20)

/* Value of seen.thread if the entry is for all waiters and not for one holder. */
#define WAITERS UINT32_MAX

/* Weight of the stacks in which a function waits for a lock, or is on the stack of the holder. */
struct seen {
	uint32_t image, lock, thread;
	uint64_t weight;
	const char *function; /* a name of the tree; NULL: all functions */
};

struct cpu_sample {
	uint64_t time_ns;
	uint32_t thread, stack;
};

struct holders {
	struct frame_namer *namer;
	const struct flameprof_profile *profile;
	/*
	 * [profile stack] -> `part`: its node with WIRE_FRAME_HOLDER, or 0 if it waits for no lock.
	 * `thread`: 1 + the index of the holder's thread if this ran while it held the lock, else
	 * 0.
	 */
	struct {
		uint32_t part, thread;
	} * held;
	uint8_t *has_run; /* [thread] -> it ran while it held a lock */
	struct seen *seen;
	size_t seen_count, seen_room;
	/* number of entries at the front of `seen` that are sorted */
	size_t sorted;
	/* CPU samples of the threads with has_run, sorted by thread and time */
	struct cpu_sample *cpu;
	size_t cpu_count, cpu_room;
	uint32_t path[WIRE_MAX_DEPTH]; /* tree frames of a stack, innermost first */
};

/* ---- names ----------------------------------------------------------------------------------- */

bool holders_is_libc(const struct calltree_frame *frame)
{
	const char *module = frame->module;

	return !strncmp(module, "libc.so", 7) || !strncmp(module, "libc-2", 6) ||
	       !strncmp(module, "libpthread", 10) || !strncmp(module, "ld-", 3);
}

bool holders_takes_locks(const struct calltree_frame *frame)
{
	return strstr(frame->name, "mutex") || strstr(frame->name, "rwlock") ||
	       strstr(frame->name, "lll_lock");
}

const char *holders_in_name(const char *name, size_t *bytes, size_t *stem)
{
	const char *words = strstr(name, HOLDERS_WORDS);
	size_t all = strlen(name);

	if (!words || words - name < 2)
		return NULL;
	if (stem)
		*stem = (size_t)(words - name) - 2;
	words += strlen(HOLDERS_WORDS);
	*bytes = all - (size_t)(words - name) - 1;
	return words;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint64_t frame_of(const struct flameprof_profile *profile, uint32_t node)
{
	return profile_node_frame(profile_node_at(profile, node));
}

uint32_t holders_part(const struct flameprof_profile *profile, const struct profile_stack *stack,
	struct profile_stack *waiter)
{
	uint32_t at = stack->node;

	for (uint16_t n = 1; stack->kind == WIRE_KIND_WAIT && n <= stack->frames; n++) {
		uint32_t parent = profile_node_at(profile, at)->parent;

		if (wire_frame_is_holder(frame_of(profile, at))) {
			*waiter = *stack;
			waiter->node = parent;
			waiter->frames = (uint16_t)(stack->frames - n);
			return at;
		}
		at = parent;
	}
	return 0;
}

static const struct calltree_frame *path_frame(const struct holders *holders, uint32_t at)
{
	return calltree_frame_at(holders->namer->tree, holders->path[at]);
}

/*
 * Fill holders->path with the frames from @node out to @outside, exclusive. Returns their number.
 */
static uint32_t find_path(struct holders *holders, uint32_t image, uint32_t node, uint32_t outside)
{
	uint32_t root = profile_image_at(holders->profile, image)->root, count = 0, length;

	while (node != root && node != outside) {
		const uint32_t *chain = frame_namer_chain(holders->namer, image, node, &length);

		while (length && count < WIRE_MAX_DEPTH)
			holders->path[count++] = chain[--length];
		node = profile_node_at(holders->profile, node)->parent;
	}
	return count;
}

/* Returns the function at path index @at. NULL: it is libc's, acquires locks or is no code. */
static const char *program_function(const struct holders *holders, uint32_t at)
{
	const struct calltree_frame *frame = path_frame(holders, at);
	bool is_code = frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_JIT ||
		       frame->kind == CALLTREE_INLINE;

	return is_code && !holders_is_libc(frame) && !holders_takes_locks(frame) ? frame->name
										 : NULL;
}

/* ---- weights of functions -------------------------------------------------------------------- */

static int by_words(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static void add_seen(struct holders *holders, const struct seen *of, const char *function)
{
	if (holders->seen_count >= SEEN_MAX ||
		ARRAY_GROW(holders->seen, holders->seen_count, holders->seen_room, 64))
		return;
	holders->seen[holders->seen_count] = *of;
	holders->seen[holders->seen_count++].function = function;
}

static void sort_seen(struct holders *holders)
{
	size_t kept = 0;

	if (!holders->seen_count)
		return;
	qsort(holders->seen, holders->seen_count, sizeof(*holders->seen), by_words);
	for (size_t i = 1; i < holders->seen_count; i++) {
		if (by_words(&holders->seen[kept], &holders->seen[i]))
			holders->seen[++kept] = holders->seen[i];
		else
			holders->seen[kept].weight += holders->seen[i].weight;
	}
	holders->seen_count = holders->sorted = kept + 1;
}

static uint64_t weight_seen(
	const struct holders *holders, struct seen of, uint32_t thread, const char *function)
{
	const struct seen *found;

	of.thread = thread;
	of.function = function;
	found = bsearch(&of, holders->seen, holders->sorted, sizeof(of), by_words);
	return found ? found->weight : 0;
}

/*
 * If stack @number waits for a lock, add the function that waits. Ignore a stack without a lock
 * function, because its futex may be something other than a lock.
 */
static void add_waiter(struct holders *holders, uint32_t number)
{
	const struct flameprof_profile *profile = holders->profile;
	const struct profile_stack *stack = profile_stack_at(profile, number);
	struct profile_thread_key key;
	struct profile_stack waiter;
	struct seen of = {.thread = WAITERS, .weight = 1};
	uint32_t part = holders_part(profile, stack, &waiter), frames, at = 0;

	if (!part)
		return;
	of.image = profile_stack_image(profile, stack);
	of.lock = WIRE_WAIT_SORT(frame_of(profile, part));
	frames = find_path(holders, of.image, waiter.node, 0);
	while (at < frames && !holders_takes_locks(path_frame(holders, at)))
		at++;
	if (at == frames || at >= LOCK_FRAMES_MAX)
		return;
	holders->held[number].part = part;
	while (at < frames && !program_function(holders, at))
		at++;
	if (at < frames)
		add_seen(holders, &of, program_function(holders, at));
	if (profile_node_at(profile, stack->node)->parent != part)
		return;
	key = (struct profile_thread_key){profile_image_at(profile, of.image)->id,
		WIRE_HOLDER_THREAD(frame_of(profile, part))};
	holders->held[number].thread = profile_find_thread(profile, &key);
	if (holders->held[number].thread)
		holders->has_run[holders->held[number].thread - 1] = 1;
}

/* ---- holders that ran ------------------------------------------------------------------------ */

static int by_thread_and_time(const void *left, const void *right)
{
	const struct cpu_sample *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void find_cpu_samples(struct holders *holders)
{
	const struct flameprof_profile *profile = holders->profile;

	for (uint64_t i = 0; i < profile->sample_count; i++) {
		const struct flameprof_sample *sample = profile_sample_at(profile, i);
		const struct profile_stack *stack = profile_stack_at(profile, sample->stack);

		if (!holders->has_run[stack->thread] || stack->kind != WIRE_KIND_CPU)
			continue;
		if (ARRAY_GROW(holders->cpu, holders->cpu_count, holders->cpu_room, 1024))
			break;
		holders->cpu[holders->cpu_count++] =
			(struct cpu_sample){sample->time_ns, stack->thread, sample->stack};
	}
	if (holders->cpu_count)
		qsort(holders->cpu, holders->cpu_count, sizeof(*holders->cpu), by_thread_and_time);
}

/* Returns the leaf node of @thread's CPU sample that is nearest to @time_ns; 0 if none is near. */
static uint32_t find_running(const struct holders *holders, uint32_t thread, uint64_t time_ns)
{
	const struct cpu_sample wanted = {.time_ns = time_ns, .thread = thread};
	size_t low = 0, high = holders->cpu_count;
	uint64_t nearest_ns = NEAR_NS;
	uint32_t node = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_thread_and_time(&holders->cpu[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low - (low > 0); i <= low && i < holders->cpu_count; i++) {
		const struct cpu_sample *sample = &holders->cpu[i];
		uint64_t ns = sample->time_ns > time_ns ? sample->time_ns - time_ns
							: time_ns - sample->time_ns;

		if (sample->thread != thread || ns > nearest_ns)
			continue;
		nearest_ns = ns;
		node = profile_stack_at(holders->profile, sample->stack)->node;
	}
	return node;
}

/* ---- holders --------------------------------------------------------------------------------- */

/*
 * Fill holders->path with the stack of the thread that holds the lock for which sample @number
 * waits. Set *@of to the lock and this thread. Returns the number of frames, or 0 if the sample
 * waits for no lock or the holder is not known.
 */
static uint32_t find_holder(struct holders *holders, uint64_t number, struct seen *of)
{
	const struct flameprof_profile *profile = holders->profile;
	const struct flameprof_sample *sample = profile_sample_at(profile, number);
	const struct profile_stack *stack = profile_stack_at(profile, sample->stack);
	uint32_t part = holders->held[sample->stack].part;
	uint32_t thread = holders->held[sample->stack].thread;
	uint32_t node = profile_node_at(profile, stack->node)->parent;

	if (!part || (node == part && !thread))
		return 0;
	*of = (struct seen){profile_stack_image(profile, stack),
		WIRE_WAIT_SORT(frame_of(profile, part)),
		WIRE_HOLDER_THREAD(frame_of(profile, part)), sample->weight, NULL};
	if (node == part)
		node = find_running(holders, thread - 1, sample->time_ns);
	return node ? find_path(holders, of->image, node, part) : 0;
}

/* Returns the innermost function in the path's @frames that also waited for the lock, or NULL. */
static const char *find_taker(const struct holders *holders, const struct seen *of, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++) {
		const char *function = program_function(holders, i);

		if (function && weight_seen(holders, *of, WAITERS, function))
			return function;
	}
	return NULL;
}

/* Add the functions of the path, each only once even if it is recursive. */
static void add_holder(struct holders *holders, const struct seen *of, uint32_t frames)
{
	add_seen(holders, of, NULL);
	for (uint32_t i = 0; i < frames; i++) {
		const char *function = program_function(holders, i);
		uint32_t first = 0;

		while (first < i && path_frame(holders, first)->name != function)
			first++;
		if (function && first == i)
			add_seen(holders, of, function);
	}
}

/* Add the functions of holders' stacks. Skip stacks in which find_taker() finds the holder. */
static void add_holders(struct holders *holders)
{
	for (uint64_t i = 0; i < holders->profile->sample_count; i++) {
		struct seen of = {.image = 0};
		uint32_t frames = find_holder(holders, i, &of);

		if (frames && !find_taker(holders, &of, frames))
			add_holder(holders, &of, frames);
	}
	sort_seen(holders);
}

struct holders *holders_new(struct frame_namer *namer)
{
	const struct flameprof_profile *profile = namer->profile;
	struct holders *holders = profile->wait_weight ? calloc(1, sizeof(*holders)) : NULL;

	if (!holders)
		return NULL;
	holders->namer = namer;
	holders->profile = profile;
	holders->held = calloc((size_t)profile->stack_count + 1, sizeof(*holders->held));
	holders->has_run = calloc((size_t)profile->thread_count + 1, 1);
	for (uint32_t i = 0; holders->held && holders->has_run && i < profile->stack_count; i++)
		add_waiter(holders, i);
	if (!holders->seen_count) {
		holders_free(holders);
		return NULL;
	}
	sort_seen(holders);
	find_cpu_samples(holders);
	add_holders(holders);
	return holders;
}

void holders_free(struct holders *holders)
{
	if (!holders)
		return;
	free(holders->held);
	free(holders->has_run);
	free(holders->seen);
	free(holders->cpu);
	free(holders);
}

const char *holders_function(struct holders *holders, uint64_t sample)
{
	struct seen of = {.image = 0};
	uint32_t frames = holders ? find_holder(holders, sample, &of) : 0;
	const char *function = find_taker(holders, &of, frames);
	uint64_t all = frames && !function ? weight_seen(holders, of, of.thread, NULL) : 0;

	for (uint32_t i = 0; i < frames && !function; i++) {
		const char *other = program_function(holders, i);

		if (other && weight_seen(holders, of, of.thread, other) * 3 >= all * 2)
			function = other;
	}
	return function;
}
