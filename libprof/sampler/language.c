/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Frames of language runtimes in the handler, and the table of their functions.
 *
 * Names are copied in the handler, once per function, because the runtime may free them before any
 * other thread could read them. They are written to the control ring. While the ring is full,
 * samples with a new function have no language frames.
 *
 * Functions are kept in a table from which nothing is removed.
 */
#include "libprof/sampler/language.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libprof/sampler/ring.h"

#define RUNTIMES_MAX	4u
#define FUNCTIONS_FEW	2048u /* a power of two */
#define PROBES_FEW	8u
/* A power of two; at most three quarters of the entries are used. */
#define FUNCTIONS_MAX	65536u
#define PROBES_MAX	64u
#define ROOM_FOR_OTHERS (WIRE_CONTROL_BYTES / 4)

static struct runtime runtimes[RUNTIMES_MAX];
static uint32_t runtime_count;		/* atomic */
/* Atomic: the first runtime that generates code, or NULL. */
static const struct runtime *generator;
static struct runtime_cache cache;

static struct {
	/* A module that was not fully loaded when it was checked; `dynamic` is atomic, 0: none. */
	struct runtime_module module;
	/* Atomic: number of calls of language_find_again(). */
	uint32_t asked;
} pending;

static int find_in(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module)
{
	int error = runtime_find(out, reader, module);

	if (error == -ENOTSUP)
		__atomic_fetch_or(
			&sampler.slot->unknown_runtimes, runtime_bit(out->kind), __ATOMIC_RELAXED);
	return error;
}

/* Add @found to the table. Returns its number; 0 if it has no evaluator or the table is full. */
static uint32_t add_runtime(const struct runtime *found)
{
	const struct runtime *none = NULL;
	uint32_t index = __atomic_fetch_add(&runtime_count, 1, __ATOMIC_RELAXED);

	if (index >= RUNTIMES_MAX)
		return 0;
	runtimes[index] = *found;
	if (runtime_generates_code(found))
		__atomic_compare_exchange_n(
			&generator, &none, &runtimes[index], 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return runtime_has_evaluator(found) ? index + 1 : 0;
}

uint32_t language_find_runtime(const struct runtime_module *module, int pid)
{
	struct runtime_reader reader;
	struct runtime found;
	int error;

	runtime_reader_init(&reader, pid, 1);
	error = find_in(&found, &reader, module);
	if (error == -EAGAIN) {
		pending.module.bias = module->bias;
		pending.module.eh_frame_hdr = module->eh_frame_hdr;
		__atomic_store_n(&pending.module.dynamic, module->dynamic, __ATOMIC_RELEASE);
	}
	return error > 0 ? add_runtime(&found) : 0;
}

const struct runtime *language_generator(void)
{
	return __atomic_load_n(&generator, __ATOMIC_ACQUIRE);
}

/* Search the pending module at call 1, 2, 4, 8 and so on, because it may never become a runtime. */
void language_find_again(struct runtime_walk *runs)
{
	struct runtime_module module = {
		.dynamic = __atomic_load_n(&pending.module.dynamic, __ATOMIC_ACQUIRE),
		.bias = pending.module.bias,
		.eh_frame_hdr = pending.module.eh_frame_hdr};
	uint32_t asked = __atomic_fetch_add(&pending.asked, 1, __ATOMIC_RELAXED);
	struct runtime found;
	int error;

	if (asked & (asked - 1))
		return;
	error = find_in(&found, &runs->reader, &module);
	if (error == -EAGAIN || !__atomic_compare_exchange_n(&pending.module.dynamic,
					&module.dynamic, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (error > 0)
		add_runtime(&found);
	runs->generator = language_generator();
}

int language_is_pending(void)
{
	return __atomic_load_n(&pending.module.dynamic, __ATOMIC_RELAXED) != 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct function_entry {
	uint64_t identity;   /* atomic; 0: free */
	uint32_t first_line; /* atomic */
	/* Atomic: the image whose control ring contains the function's name. */
	uint64_t published;
};

/*
 * Two tables. Most programs use only the first, small one, whose few pages are cheap to touch and
 * stay in the cache. A function is in the second table if none of its probes in the first was free.
 * Entries are never removed.
 */
static struct function_entry functions[FUNCTIONS_FEW + FUNCTIONS_MAX];
static uint32_t function_count; /* atomic */

static struct function_entry *find_among(
	struct function_entry *first, uint64_t count, uint64_t probes, uint64_t identity)
{
	for (uint64_t n = 0; n < probes; n++) {
		struct function_entry *entry = &first[(identity + n) % count];
		uint64_t found = __atomic_load_n(&entry->identity, __ATOMIC_ACQUIRE);

		if (!found &&
			__atomic_load_n(&function_count, __ATOMIC_RELAXED) >= FUNCTIONS_MAX / 4 * 3)
			return NULL;
		if (!found && __atomic_compare_exchange_n(&entry->identity, &found, identity, 0,
				      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&function_count, 1, __ATOMIC_RELAXED);
			found = identity;
		}
		if (found == identity)
			return entry;
	}
	return NULL;
}

static struct function_entry *find_function(uint64_t identity)
{
	struct function_entry *entry = find_among(functions, FUNCTIONS_FEW, PROBES_FEW, identity);

	return entry ? entry
		     : find_among(functions + FUNCTIONS_FEW, FUNCTIONS_MAX, PROBES_MAX, identity);
}

static uint64_t space_of(const struct function_entry *entry)
{
	uint64_t number = (uint64_t)(entry - functions) + 1;

	return WIRE_LANGUAGE_BIT | number * WIRE_LANGUAGE_LINES;
}

/*
 * Returns 1 if the control ring has room for @bytes besides ROOM_FOR_OTHERS, which stays free for
 * records of modules and marks, because these cannot wait.
 */
static int has_room(const struct wire_slot *slot, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);

	/*
	 * Count the bytes twice, because a record that does not fit before the ring's end leaves
	 * that part empty.
	 */
	return head - tail + 2 * bytes + ROOM_FOR_OTHERS <= WIRE_CONTROL_BYTES;
}

/*
 * Write the name of @frame's function to the control ring. Returns 0, or -ENOSPC if the ring is
 * full.
 */
static __attribute__((noinline)) int announce(
	struct runtime_walk *runs, struct runtime_frame *frame, struct function_entry *entry)
{
	const struct runtime *runtime = runs->runtime;
	char text[RUNTIME_NAME_BYTES + RUNTIME_FILE_BYTES];
	uint32_t name_bytes = runtime->kind->text(
		runtime, &runs->reader, frame->name, text, RUNTIME_NAME_BYTES, 0);
	uint32_t file_bytes = runtime->kind->text(
		runtime, &runs->reader, frame->file, text + name_bytes, RUNTIME_FILE_BYTES, 1);
	uint32_t bytes =
		((uint32_t)sizeof(struct wire_function) + name_bytes + file_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_function *record = NULL;

	if (has_room(sampler.slot, bytes) && !runtime_walk_first_line(runs, frame))
		record = (struct wire_function *)control_reserve(sampler.slot, data, bytes);
	if (!has_room(sampler.slot, WIRE_CONTROL_BYTES / 4))
		sampler_wake_reader(sampler.arena);
	if (!record)
		return -ENOSPC;
	record->space = space_of(entry);
	record->line = frame->first_line;
	record->flags = WIRE_FUNCTION_LINES;
	record->name_bytes = name_bytes;
	record->file_bytes = file_bytes;
	memcpy(record->name, text, name_bytes + file_bytes);
	control_commit(&record->control, bytes, WIRE_CONTROL_FUNCTION);
	__atomic_store_n(&entry->first_line, frame->first_line, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->published, sampler.image, __ATOMIC_RELEASE);
	return 0;
}

static struct runtime_walk_expanded expanded[RUNTIME_WALK_EXPANDED];
static uint32_t walks; /* atomic */

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct function_entry *entry = find_function(frame->identity);

	if (!entry || (__atomic_load_n(&entry->published, __ATOMIC_ACQUIRE) != sampler.image &&
			      announce(runs, frame, entry)))
		return 0;
	frame->first_line = __atomic_load_n(&entry->first_line, __ATOMIC_RELAXED);
	return wire_language_frame(
		space_of(entry), frame->first_line, runtime_walk_line(runs, frame));
}

/* ---- walks ----------------------------------------------------------------------------------- */

/*
 * Larger sets of read windows (caches of memory that was read), for this many concurrent handlers.
 * Further handlers make more system calls.
 */
#define ROOMS 8u
static struct room {
	uint32_t is_taken; /* atomic */
	struct runtime_room room;
} rooms[ROOMS];

static void take_room(struct runtime_reader *reader)
{
	for (unsigned i = 0; i < ROOMS && !reader->room; i++)
		if (!__atomic_exchange_n(&rooms[i].is_taken, 1, __ATOMIC_ACQUIRE))
			runtime_lend(reader, &rooms[i].room);
}

static void give_room(struct runtime_reader *reader)
{
	for (unsigned i = 0; i < ROOMS; i++)
		if (reader->room == &rooms[i].room)
			__atomic_store_n(&rooms[i].is_taken, 0, __ATOMIC_RELEASE);
	reader->room = NULL;
}

void language_begin(struct runtime_walk *runs, struct sampler_thread *thread,
	const struct arch_registers *registers, const struct unwind_bounds *bounds, int pid)
{
	runtime_walk_init(runs, registers->r[ARCH_DWARF_PC], word_of, NULL);
	runs->thread = (struct runtime_thread){.self = (uintptr_t)pthread_self()};
	runs->known = thread->runtime_state;
	runtime_reader_init(&runs->reader, pid, 1);
	runs->reader.stack_start = bounds->lo;
	runs->reader.stack_bytes = bounds->hi - bounds->lo;
	runs->generator = language_generator();
	runs->expanded = expanded;
	runs->epoch = sampler.image;
	runs->reader.age = __atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED) / RUNTIME_AN_AGE;
	runs->reader.cache = &cache;
	runs->reader.again = &thread->runtime_again;
	if (runs->generator)
		take_room(&runs->reader);
}

unsigned language_run(struct runtime_walk *runs, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	if (module->runtime && !runs->runtime)
		take_room(&runs->reader);
	return runtime_walk_frames(
		runs, module->runtime ? &runtimes[module->runtime - 1] : NULL, frame, frames, room);
}

void language_finish(struct runtime_walk *runs, struct sampler_thread *thread, uint64_t *frames,
	struct unwind_result *result)
{
	runtime_walk_end(runs, frames, result);
	runtime_note_again(&runs->reader);
	give_room(&runs->reader);
	thread->runtime_state = runs->known;
	if (!runs->is_whole)
		__atomic_fetch_add(&sampler.slot->kept_native, 1, __ATOMIC_RELAXED);
}
