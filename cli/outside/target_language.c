/* SPDX-License-Identifier: MIT */
/*
 * Keep the functions in a hash table with open addressing, keyed by identity. Functions that a walk
 * added can be removed only in reverse order, because then no other function has to move.
 */
#include "cli/outside/target_language.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"

#define RUNTIMES_MAX  4u
/* Number of entries of the hash table. At most three quarters are used. */
#define FUNCTIONS_MAX 65536u
#define STATES_MAX    1024u

struct function {
	uint64_t identity; /* 0: free */
	/* The function's number in frames, as in record_function.space. */
	uint64_t space;
	uint32_t first_line;
};

struct target_language {
	struct runtime runtimes[RUNTIMES_MAX];
	uint32_t runtime_count;
	/* The first runtime that generates code, or NULL. */
	const struct runtime *generator;
	struct runtime_cache cache;
	struct runtime_room room;
	struct target_shared *shared; /* current walk's, borrowed */
	struct function functions[FUNCTIONS_MAX];
	uint32_t function_count;
	/* the last function number that was assigned */
	uint64_t numbers;
	/* Indices in functions[] of the functions that the last walk added. */
	uint32_t added[WIRE_MAX_DEPTH];
	uint32_t added_count;
	struct runtime_walk_expanded expanded[RUNTIME_WALK_EXPANDED];
	uint32_t walks;
	const struct runtime *listed;		 /* of `states`, or NULL */
	struct runtime_state states[STATES_MAX]; /* sorted by tid */
	unsigned state_count;
};

/* ---- runtimes -------------------------------------------------------------------------------- */

int target_language_find(struct target *target, const struct runtime_module *module)
{
	struct target_language *language = target->language;
	struct runtime_reader reader;
	struct runtime found;
	int error;

	runtime_reader_init(&reader, target->pid, 0);
	error = runtime_find(&found, &reader, module);
	if (error == -ENOTSUP)
		target->unknown_runtimes |= runtime_bit(found.kind);
	if (error <= 0)
		return error;
	if (!language)
		language = target->language = calloc(1, sizeof(*language));
	if (!language)
		return 0;
	for (uint32_t i = 0; i < language->runtime_count; i++)
		if (language->runtimes[i].base == found.base)
			return runtime_has_evaluator(&found) ? (int)i + 1 : 0;
	if (language->runtime_count == RUNTIMES_MAX)
		return 0;
	language->runtimes[language->runtime_count++] = found;
	if (runtime_generates_code(&found) && !language->generator)
		language->generator = &language->runtimes[language->runtime_count - 1];
	return runtime_has_evaluator(&found) ? (int)language->runtime_count : 0;
}

void target_language_free(struct target_language *language)
{
	free(language);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Returns the index of @identity, or of a free entry for it; FUNCTIONS_MAX if none may be added. */
static uint32_t find_function(const struct target_language *language, uint64_t identity)
{
	uint32_t at = (uint32_t)(identity % FUNCTIONS_MAX);

	while (language->functions[at].identity && language->functions[at].identity != identity)
		at = (at + 1) % FUNCTIONS_MAX;
	if (!language->functions[at].identity &&
		(language->function_count >= FUNCTIONS_MAX / 4 * 3 ||
			language->added_count == WIRE_MAX_DEPTH))
		return FUNCTIONS_MAX;
	return at;
}

/* Record the function of @frame. Returns its record_function.space, or 0 if it was not recorded. */
static uint64_t announce(
	const struct target *target, struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct target_language *language = target->language;
	const struct runtime *runtime = runs->runtime;
	char text[RUNTIME_NAME_BYTES + RUNTIME_FILE_BYTES];
	int error = runtime_walk_first_line(runs, frame);
	uint32_t bytes = runtime->kind->text(
		runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0);
	struct record_function record = {
		.image = target->image,
		.space = WIRE_LANGUAGE_BIT | WIRE_LANGUAGE_OUTSIDE |
			 (language->numbers + 1) * WIRE_LANGUAGE_LINES,
		.line = frame->first_line,
		.flags = WIRE_FUNCTION_LINES,
	};

	bytes += runtime->kind->text(
		runtime, &runs->reader, frame->file, text + bytes, RUNTIME_FILE_BYTES, 1);
	if (error || language->numbers + 1 >= WIRE_LANGUAGE_NUMBERS ||
		pipe_writer_put(language->shared->pipe_writer, RECORD_FUNCTION, &record,
			sizeof(record), text, bytes))
		return 0;
	language->numbers++;
	return record.space;
}

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	const struct target *target = runs->context;
	struct target_language *language = target->language;
	uint32_t at = find_function(language, frame->identity);
	uint64_t space;

	if (at == FUNCTIONS_MAX)
		return 0;
	if (!language->functions[at].identity) {
		space = announce(target, runs, frame);
		if (!space)
			return 0;
		language->functions[at] =
			(struct function){frame->identity, space, frame->first_line};
		language->function_count++;
		language->added[language->added_count++] = at;
	}
	frame->first_line = language->functions[at].first_line;
	return wire_language_frame(
		language->functions[at].space, frame->first_line, runtime_walk_line(runs, frame));
}

/* ---- threads --------------------------------------------------------------------------------- */

static int compare_tids(const void *a, const void *b)
{
	uint32_t left = ((const struct runtime_state *)a)->tid;
	uint32_t right = ((const struct runtime_state *)b)->tid;

	return (left > right) - (left < right);
}

static uintptr_t find_listed(const struct target_language *language, uint32_t tid)
{
	const struct runtime_state key = {.tid = tid};
	const struct runtime_state *found =
		bsearch(&key, language->states, language->state_count, sizeof(key), compare_tids);

	return found ? found->state : 0;
}

/*
 * Returns the address of the state that the runtime keeps for the walked thread, or 0. Read the
 * states of all threads at once and keep this list, because otherwise runtime_walk_frames() would
 * search all states again for each thread.
 */
static uintptr_t find_state(
	struct target_language *language, struct runtime_walk *runs, const struct runtime *runtime)
{
	uintptr_t state = language->listed == runtime ? find_listed(language, runs->thread.tid) : 0;

	if (state || !runtime->kind->states || !runs->thread.tid)
		return state;
	language->listed = runtime;
	language->state_count =
		runtime->kind->states(runtime, &runs->reader, language->states, STATES_MAX);
	qsort(language->states, language->state_count, sizeof(language->states[0]), compare_tids);
	return find_listed(language, runs->thread.tid);
}

/* ---- walks ----------------------------------------------------------------------------------- */

void target_language_begin(struct runtime_walk *runs, struct target *target, uintptr_t pc)
{
	runtime_walk_init(runs, pc, word_of, target);
	runtime_reader_init(&runs->reader, target->pid, 0);
	runs->generator = NULL;
	if (!target->language)
		return;
	target->language->added_count = 0;
	runs->generator = target->language->generator;
	runs->reader.cache = &target->language->cache;
	runtime_lend(&runs->reader, &target->language->room);
	runs->expanded = target->language->expanded;
	runs->epoch = 0;
	runs->reader.age = target->language->walks++ / RUNTIME_AN_AGE;
}

bool target_language_appeared(const struct runtime_walk *runs, const struct target *target)
{
	return target->language && target->language->generator != runs->generator;
}

unsigned target_language_run(struct runtime_walk *runs, struct target_shared *shared,
	const struct unwind_module *module, const struct unwind_frame *frame, uint64_t *frames,
	unsigned room)
{
	const struct target *target = runs->context;
	struct target_language *language = target->language;
	const struct runtime *runtime =
		module->runtime ? &language->runtimes[module->runtime - 1] : NULL;
	uint64_t began_ns;
	bool is_listed;
	unsigned count;

	language->shared = shared;
	if (!runtime)
		return runtime_walk_frames(runs, NULL, frame, frames, room);
	if (runs->runtime || runs->known)
		return runtime_walk_frames(runs, runtime, frame, frames, room);
	if (shared->search_max_ns && shared->search_ns > shared->search_max_ns) {
		runs->runtime = runtime;
		runs->error = -EAGAIN;
		return 0;
	}
	began_ns = clock_cpu_ns();
	runs->known = find_state(language, runs, runtime);
	is_listed = runs->known;
	if (is_listed)
		shared->search_ns += clock_cpu_ns() - began_ns;
	count = runtime_walk_frames(runs, runtime, frame, frames, room);
	if (!is_listed)
		shared->search_ns += clock_cpu_ns() - began_ns;
	return count;
}

void target_language_withdraw(struct target *target)
{
	struct target_language *language = target->language;

	if (!language)
		return;
	while (language->added_count) {
		language->functions[language->added[--language->added_count]].identity = 0;
		language->function_count--;
	}
	memset(&language->cache, 0, sizeof(language->cache));
	memset(language->expanded, 0, sizeof(language->expanded));
}
