/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Names are copied in the handler, once a function: where they lie may be gone before anybody else
 * looks. They go through the control ring; while that is full, runs that have a new function stay
 * out of the stacks.
 *
 * While its thread holds the runtime's lock, what it runs is alive and read by plain loads, but for
 * the innermost frame: that may be just begun or left. The rest is read by system calls, as is
 * everything where the thread is about to begin an activation, and where it does not hold the lock,
 * for then the runtime may end under it.
 *
 * Functions and lines are kept in tables that never forget; entries are one word that tells all, or
 * is filled in behind it.
 */
#include "libprof/sampler/language.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libprof/sampler/ring.h"

#define RUNTIMES_MAX	4u
#define FUNCTIONS_MAX	65536u /* a power of two; filled to three quarters */
#define LINES_MAX	16384u /* a power of two */
#define PROBES_MAX	64u
#define ENTRY_BYTES	1024u /* of the evaluator's code: there an activation is being set up */
#define ROOM_FOR_OTHERS (WIRE_CONTROL_BYTES / 4)

static struct runtime runtimes[RUNTIMES_MAX];
static uint32_t runtime_count; /* atomic */

uint32_t language_find_runtime(uintptr_t dynamic, uintptr_t bias, int pid)
{
	struct runtime_reader reader;
	struct runtime found;
	uint32_t index;

	runtime_reader_init(&reader, pid);
	if (!runtime_find(&found, &reader, dynamic, bias))
		return 0;
	index = __atomic_fetch_add(&runtime_count, 1, __ATOMIC_RELAXED);
	if (index >= RUNTIMES_MAX)
		return 0;
	runtimes[index] = found;
	return index + 1;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct function_entry {
	uint64_t identity;  /* atomic: 0 is free */
	uint64_t space;	    /* atomic: 0 until it is given one */
	uint64_t published; /* atomic: the image whose control ring has its name */
};

static struct function_entry functions[FUNCTIONS_MAX];
static uint32_t function_count; /* atomic */

static struct function_entry *find_function(uint64_t identity)
{
	for (uint64_t n = 0; n < PROBES_MAX; n++) {
		struct function_entry *entry = &functions[(identity + n) % FUNCTIONS_MAX];
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

static uint64_t space_of(struct function_entry *entry)
{
	uint64_t number = (uint64_t)(entry - functions) + 1, space = 0;
	uint64_t wanted = WIRE_LANGUAGE_BIT | number * WIRE_LANGUAGE_LINES;

	__atomic_compare_exchange_n(
		&entry->space, &space, wanted, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return wanted;
}

/* Modules and marks come through the same ring, and do not wait. */
static int has_room(const struct wire_slot *slot, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);

	/* Twice, because one that does not fit before the ring's end leaves that empty. */
	return head - tail + 2 * bytes + ROOM_FOR_OTHERS <= WIRE_CONTROL_BYTES;
}

/* Tell the name of @frame's function. Returns 0 or -ENOSPC. */
static __attribute__((noinline)) int announce(
	struct language *language, const struct runtime_frame *frame, struct function_entry *entry)
{
	const struct runtime *runtime = language->runtime;
	char text[RUNTIME_NAME_BYTES + RUNTIME_FILE_BYTES];
	uint32_t name_bytes = runtime->kind->text(
		runtime, &language->reader, frame->name, text, RUNTIME_NAME_BYTES, 0);
	uint32_t file_bytes = runtime->kind->text(
		runtime, &language->reader, frame->file, text + name_bytes, RUNTIME_FILE_BYTES, 1);
	uint32_t bytes =
		((uint32_t)sizeof(struct wire_function) + name_bytes + file_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_function *record = NULL;

	if (has_room(sampler.slot, bytes))
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
	__atomic_store_n(&entry->published, sampler.image, __ATOMIC_RELEASE);
	return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */
/*
 * By function and position; an entry is the upper 47 bits of their hash, 1, and the line's distance
 * from the first one.
 */
static uint64_t lines[LINES_MAX]; /* atomic */

static uint32_t find_line(struct language *language, const struct runtime_frame *frame)
{
	const struct runtime *runtime = language->runtime;
	uint64_t hash = (frame->identity ^ (uint64_t)(uint32_t)frame->position << 1) *
			0x9e3779b97f4a7c15ULL;
	uint64_t *entry = &lines[(hash >> 20) % LINES_MAX];
	uint64_t key = (hash & ~0x1ffffULL) | 0x10000, known;
	uint32_t line, delta;

	known = __atomic_load_n(entry, __ATOMIC_RELAXED);
	if ((known & ~0xffffULL) == key) {
		delta = (uint32_t)known & 0xffff;
		return delta == 0xffff ? 0 : frame->first_line + delta;
	}
	line = runtime->kind->line(runtime, &language->reader, frame);
	delta = line - frame->first_line;
	if (!line || delta > 0xffff)
		delta = 0xffff;
	__atomic_store_n(entry, key | delta, __ATOMIC_RELAXED);
	return line;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The frame as the wire has it; 0: its function can't be told. */
static uint64_t frame_word(struct language *language, const struct runtime_frame *frame)
{
	struct function_entry *entry = find_function(frame->identity);

	if (!entry || (__atomic_load_n(&entry->published, __ATOMIC_ACQUIRE) != sampler.image &&
			      announce(language, frame, entry)))
		return 0;
	return wire_language_frame(space_of(entry), frame->first_line, find_line(language, frame));
}

static int begin(struct language *language, const struct runtime *runtime, uintptr_t sp)
{
	struct sampler_thread *thread = language->thread;
	int error;

	language->runtime = runtime;
	language->reader.is_trusted = 0;
	error = runtime->kind->begin(runtime, &language->reader, (uintptr_t)pthread_self(), sp,
		thread->runtime_state, &language->stack);
	if (error)
		language->stack.place = UINTPTR_MAX;
	else
		thread->runtime_state = language->stack.state;
	return error == -ENOENT ? 0 : error;
}

/* Plain loads, from the second frame on, where nothing that is read can go away. */
static int may_trust(const struct language *language)
{
	const struct runtime *runtime = language->runtime;

	return language->stack.is_held &&
	       (language->pc < runtime->entry || language->pc >= runtime->entry_end ||
		       language->pc - runtime->entry >= ENTRY_BYTES);
}

/* Tell the run. Returns how many frames, or -errno. */
static int tell_run(struct language *language, uint64_t *frames, unsigned room)
{
	const struct runtime_kind *kind = language->runtime->kind;
	struct runtime_frame frame;
	unsigned told = 0;
	int got;

	while (told < room) {
		got = kind->next(language->runtime, &language->reader, &language->stack, &frame);
		if (got <= 0)
			return got ? got : (int)told;
		frames[told] = frame_word(language, &frame);
		if (!frames[told++])
			return -ENOSPC;
		language->reader.is_trusted = may_trust(language);
	}
	return (int)told;
}

/* Does the frame run the next of the runs? */
static int is_place(
	const struct language *language, uintptr_t pc, uintptr_t sp, uintptr_t caller_sp)
{
	const struct runtime *runtime = language->runtime;

	return runtime->is_counted ? pc >= runtime->entry && pc < runtime->entry_end
				   : language->stack.place - sp < caller_sp - sp;
}

unsigned language_run(struct language *language, const struct unwind_module *module, uintptr_t pc,
	uintptr_t sp, uintptr_t caller_sp, uint64_t *frames, unsigned room)
{
	const struct runtime *runtime = &runtimes[module->runtime - 1];
	int told;

	if (!language->runtime)
		language->error = begin(language, runtime, sp);
	if (language->error || language->runtime != runtime ||
		!is_place(language, pc, sp, caller_sp))
		return 0;
	if (language->stack.place == UINTPTR_MAX) {
		language->error = language->unfilled ? -EBADMSG : 0;
		language->unfilled = frames;
		return 0;
	}
	told = tell_run(language, frames, room);
	if (told < 0) {
		language->error = told;
		return 0;
	}
	if (language->stack.is_shared)
		language->error = begin(language, runtime, caller_sp);
	return (unsigned)told;
}

/*
 * Counted frames, each before its activation's, of which the outermost has none: it is the
 * innermost that has not linked its frame yet, so each frame is the next activation's.
 *
 *	x L0 E0 y L1 E1 z E2    becomes    x E0 y L0 E1 z L1 E2
 */
static void move_outward(const uint64_t *unfilled, uint64_t *frames, unsigned n)
{
	uint64_t *to = frames, moved = 0;

	for (const uint64_t *from = frames; from < frames + n; from++) {
		uint64_t frame = *from;

		if (moved && (from == unfilled || wire_frame_is_language(frame))) {
			*to++ = moved;
			moved = 0;
		}
		if (from <= unfilled && wire_frame_is_language(frame))
			moved = frame;
		else
			*to++ = frame;
	}
}

/* Take all language frames out again. Returns how many frames are left. */
static unsigned withdraw(uint64_t *frames, unsigned n)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		if (!wire_frame_is_language(frames[i]))
			frames[left++] = frames[i];
	return left;
}

unsigned language_finish(
	const struct language *language, uint64_t *frames, struct unwind_result result)
{
	int is_whole = language->runtime && !language->error &&
		       (result.end != WIRE_END_ROOT || language->stack.place == UINTPTR_MAX);

	if (!language->runtime)
		return result.frames;
	if (language->runtime->is_counted && result.end != WIRE_END_ROOT)
		is_whole = 0;
	if (!is_whole)
		__atomic_fetch_add(&sampler.slot->kept_native, 1, __ATOMIC_RELAXED);
	if (!language->runtime->is_counted)
		return result.frames;
	if (!is_whole)
		return withdraw(frames, result.frames);
	if (language->unfilled)
		move_outward(language->unfilled, frames, result.frames);
	return result.frames;
}
