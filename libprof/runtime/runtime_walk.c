/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Call the readers of runtimes during a walk, and match runs of language frames with the native
 * frames that execute them (activations).
 *
 * Inside the process, frames are read by plain loads if the thread holds the runtime's lock,
 * because nothing frees the frames while it does. There are two exceptions: the innermost frame,
 * which may be half written, and all frames while the evaluator's setup code runs. Without the
 * lock, the runtime may free its structures at any time, so everything is read by system calls.
 */
#include "libprof/runtime/runtime_walk.h"

#include <errno.h>

/* Frames that are kept free for native frames, if a run of language frames is too long. */
#define RESERVED_FRAMES 512u
/* The largest number of a run's frames that are read but not written. Reading one takes 100 ns. */
#define SKIPPED_MAX (1u << 13)

/* ---- lines ----------------------------------------------------------------------------------- */

uint32_t runtime_walk_line(struct runtime_walk *runs, const struct runtime_frame *frame)
{
	const struct runtime *runtime = runs->runtime;
	uint64_t key = runtime_mix(frame->identity, (uint32_t)frame->position);
	uint64_t found[RUNTIME_CACHE_WORDS] = {0};

	if (!runtime->kind->line)
		return frame->line;
	if (runtime_cache_find(&runs->reader, key, found))
		return (uint32_t)found[0];
	found[0] = runtime->kind->line(runtime, &runs->reader, frame);
	runtime_cache_keep(&runs->reader, key, found);
	return (uint32_t)found[0];
}

/* ---- runs ------------------------------------------------------------------------------------ */

int runtime_walk_first_line(struct runtime_walk *runs, struct runtime_frame *frame)
{
	struct runtime_frame first = *frame;

	if (frame->first_line != RUNTIME_LINE_LATER)
		return 0;
	first.position = RUNTIME_POSITION_FIRST;
	frame->first_line = runs->runtime->kind->line(runs->runtime, &runs->reader, &first);
	return frame->first_line ? 0 : -EAGAIN;
}

/* May plain loads start at a run's second frame? Not while the evaluator's setup code runs. */
static int may_trust(const struct runtime_walk *runs)
{
	const struct runtime *runtime = runs->runtime;

	return runs->reader.is_own &&
	       runs->pc - runtime->entry >= runtime->setup_end - runtime->entry;
}

static int begin(struct runtime_walk *runs, const struct runtime *runtime, uintptr_t sp)
{
	int error = 0;

	runs->runtime = runtime;
	runs->reader.is_trusted = 0;
	runs->reader.may_trust = may_trust(runs);
	if (runs->reader.is_own) {
		runs->reader.fixed_start = runtime->base;
		runs->reader.fixed_bytes = runtime->base_bytes;
	}
	runs->stack = (struct runtime_stack){.place = RUNTIME_AT_NONE};
	if (runtime->kind->begin)
		error = runtime->kind->begin(
			runtime, &runs->reader, &runs->thread, sp, runs->known, &runs->stack);
	if (error)
		runs->stack.place = RUNTIME_AT_NONE;
	else
		runs->known = runs->stack.state;
	return error == -ENOENT ? 0 : error;
}

/*
 * @frames is full: read the other frames of a counted run without writing them, because the native
 * frames of the evaluator outside of the run must still be counted. Drop up to RESERVED_FRAMES of
 * the @count frames written so far, to make room for native frames. Returns how many of the @count
 * frames are left, or -errno.
 */
static int cut_run(struct runtime_walk *runs, uint64_t *frames, unsigned count)
{
	struct runtime_frame frame;
	int got = 1;

	count -= count < RESERVED_FRAMES ? count : RESERVED_FRAMES;
	if (!runs->cut)
		runs->cut = frames + count;
	for (unsigned n = 0; n < SKIPPED_MAX && got > 0; n++)
		got = runs->runtime->kind->next(
			runs->runtime, &runs->reader, &runs->stack, &frame, 1);
	if (got)
		return got < 0 ? got : -ENOSPC;
	return (int)count;
}

/* Write the frames of the run at runs->stack. Returns the number of frames, or -errno. */
static int write_run(struct runtime_walk *runs, uint64_t *frames, unsigned room)
{
	const struct runtime_kind *kind = runs->runtime->kind;
	struct runtime_frame frame;
	unsigned count = 0;
	int got;

	if (runs->cut)
		room = 0;
	while (count < room) {
		got = kind->next(runs->runtime, &runs->reader, &runs->stack, &frame, 1);
		if (got <= 0)
			return got ? got : (int)count;
		frames[count] = runs->word(runs, &frame);
		if (!frames[count++])
			return -ENOSPC;
		runs->reader.is_trusted = runs->reader.may_trust;
	}
	return runs->runtime->is_counted ? cut_run(runs, frames, count) : (int)count;
}

/* Is @frame the native frame that executes the next run? */
static int is_place(const struct runtime_walk *runs, const struct unwind_frame *frame)
{
	const struct runtime *runtime = runs->runtime;

	return runtime->is_counted ? frame->pc >= runtime->entry && frame->pc < runtime->entry_end
				   : runs->stack.place - frame->sp < frame->caller_sp - frame->sp;
}

/*
 * Is the frame at @frames a caller of runs->activation (the evaluator's last frame), with exactly
 * @between frames in between?
 */
static int is_behind(const struct runtime_walk *runs, const uint64_t *frames, unsigned between)
{
	return runs->activation && frames == runs->activation + 1 + between;
}

/* Do the evaluator's frame at @frames and its previous one share a run? See runtime.is_joined. */
static int is_joined(const struct runtime_walk *runs, const uint64_t *frames)
{
	return runs->runtime->is_joined &&
	       (is_behind(runs, frames, 1) ||
		       (is_behind(runs, frames, 2) && runs->joiner == runs->activation + 1));
}

/* Implements runtime_walk_frames() for a runtime that has an evaluator. */
static unsigned frames_of_evaluator(struct runtime_walk *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	struct runtime_stack *stack = &runs->stack;
	int count;

	if (!runs->runtime)
		runs->error = begin(runs, runtime, frame->sp);
	runs->has_start |= frame->pc - runtime->start < runtime->start_end - runtime->start &&
			   is_behind(runs, frames, 0);
	if (frame->pc - runtime->joiner < runtime->joiner_end - runtime->joiner &&
		is_behind(runs, frames, 0))
		runs->joiner = frames;
	if (runs->error || runs->runtime != runtime || !is_place(runs, frame))
		return 0;
	stack->is_innermost = !runs->activation && frame->pc == runs->pc;
	if (runtime->kind->enter)
		runs->error = runtime->kind->enter(runtime, &runs->reader, stack, frame);
	if (runs->error)
		return 0;
	if (is_joined(runs, frames)) {
		runs->activation = frames;
		return 0;
	}
	if (stack->place == RUNTIME_AT_NONE) {
		runs->error = runs->unfilled ? -EBADMSG : 0;
		runs->activation = runs->unfilled = frames;
		return 0;
	}
	stack->run_by = frame;
	count = write_run(runs, frames, room);
	stack->run_by = NULL;
	runs->has_innermost_run |= frame->pc == runs->pc;
	if (count < 0) {
		runs->error = count;
		return 0;
	}
	runs->activation = frames + count;
	if (stack->is_shared)
		runs->error = begin(runs, runtime, frame->caller_sp);
	return (unsigned)count;
}

/* ---- frames of generated code ---------------------------------------------------------------- */

/* Returns the cache entry for @key. Each key has two possible entries; @way is 0 or 1. */
static struct runtime_walk_expanded *expanded_of(
	const struct runtime_walk *runs, uint64_t key, unsigned way)
{
	return &runs->expanded[((key ^ key >> 32) ^ way) % RUNTIME_WALK_EXPANDED];
}

static int has_key(const struct runtime_walk_expanded *entry, uint64_t key)
{
	return __atomic_load_n(&entry->key, __ATOMIC_RELAXED) == key;
}

/* Copy the cached frames of @key. Returns the number of frames; -ENOENT: not cached, or no room. */
static int find_expanded(
	const struct runtime_walk *runs, uint64_t key, uint64_t *frames, unsigned room)
{
	const struct runtime_walk_expanded *entry = expanded_of(runs, key, 0);
	uint32_t version, count;

	if (!has_key(entry, key))
		entry = expanded_of(runs, key, 1);
	version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
	count = __atomic_load_n(&entry->count, __ATOMIC_RELAXED);
	if (version % 2 || !has_key(entry, key) || count > RUNTIME_WALK_EXPANDED_DEEP ||
		count > room)
		return -ENOENT;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = __atomic_load_n(&entry->frames[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&entry->version, __ATOMIC_RELAXED) == version ? (int)count : -ENOENT;
}

/* Choose the entry to write: the entry with the key, otherwise a free entry, otherwise any. */
static struct runtime_walk_expanded *entry_for(const struct runtime_walk *runs, uint64_t key)
{
	struct runtime_walk_expanded *first = expanded_of(runs, key, 0);
	struct runtime_walk_expanded *second = expanded_of(runs, key, 1);

	if (has_key(first, key) || has_key(second, key))
		return has_key(first, key) ? first : second;
	if (has_key(first, 0) || has_key(second, 0))
		return has_key(first, 0) ? first : second;
	return key >> 63 ? first : second;
}

static void keep_expanded(
	const struct runtime_walk *runs, uint64_t key, const uint64_t *frames, unsigned count)
{
	struct runtime_walk_expanded *entry = entry_for(runs, key);
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_RELAXED);

	if (version % 2 || !__atomic_compare_exchange_n(&entry->version, &version, version + 1, 0,
				   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&entry->key, key, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->count, count, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < count; i++)
		__atomic_store_n(&entry->frames[i], frames[i], __ATOMIC_RELAXED);
	__atomic_store_n(&entry->version, version + 2, __ATOMIC_RELEASE);
}

/*
 * Write the language frames of the generated code at runs->generated, but only the innermost @room
 * of them. Cache all of them if the runtime has set stack->key. Returns the number of frames, or
 * -errno.
 */
static int expand(
	struct runtime_walk *runs, const struct runtime *runtime, uint64_t *frames, unsigned room)
{
	struct runtime_stack *stack = &runs->generated;
	uint64_t key = runtime_mix(stack->key, runs->epoch), words[RUNTIME_WALK_EXPANDED_DEEP];
	int count = stack->key ? find_expanded(runs, key, frames, room) : -ENOENT;
	struct runtime_frame parts[RUNTIME_WALK_EXPANDED_DEEP];

	if (count >= 0)
		return count;
	count = runtime->kind->next(
		runtime, &runs->reader, stack, parts, RUNTIME_WALK_EXPANDED_DEEP);
	for (int i = 0; i < count; i++) {
		words[i] = runs->word(runs, &parts[i]);
		if (!words[i])
			return -ENOSPC;
	}
	if (count >= 0 && stack->key)
		keep_expanded(runs, key, words, (unsigned)count);
	if (count > (int)room)
		count = (int)room;
	for (int i = 0; i < count; i++)
		frames[i] = words[i];
	return count;
}

/* Implements runtime_walk_frames() for a runtime whose activations are frames of generated code. */
static unsigned frames_of_code(struct runtime_walk *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	const struct runtime *with_evaluator = runs->runtime;
	int is_trusted = runs->reader.is_trusted, got;

	if (runs->frame_error || !room)
		return 0;
	runs->runtime = runtime;
	runs->reader.is_trusted = 0;
	runs->generated.run_by = frame;
	got = runtime->kind->enter(runtime, &runs->reader, &runs->generated, frame);
	if (got > 0)
		got = expand(runs, runtime, frames, room);
	runs->runtime = with_evaluator;
	runs->reader.is_trusted = is_trusted;
	if (got < 0)
		runs->frame_error = got;
	return got > 0 ? (unsigned)got : 0;
}

unsigned runtime_walk_frames(struct runtime_walk *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	if (runtime)
		return frames_of_evaluator(runs, runtime, frame, frames, room);
	runtime = runs->generator;
	if (!runtime || runtime_has_evaluator(runtime))
		return 0;
	return frames_of_code(runs, runtime, frame, frames, room);
}

/* ---- steps ----------------------------------------------------------------------------------- */

int runtime_walk_step(struct runtime_walk *runs, struct unwind_activation *at)
{
	const struct runtime *runtime =
		at->question == UNWIND_STACK_END ? runs->runtime : runs->generator;
	int is_trusted = runs->reader.is_trusted, answer;

	if (!runtime || !runtime->kind->step)
		return 0;
	runs->reader.is_trusted = 0;
	answer = runtime->kind->step(runtime, &runs->reader, &runs->generated, at);
	runs->reader.is_trusted = is_trusted;
	return answer;
}

static void reverse(uint64_t *first, uint64_t *end)
{
	while (first < end) {
		uint64_t frame = *first;

		*first++ = *--end;
		*end = frame;
	}
}

/*
 * Move each counted run outward to the next activation. The innermost activation has not linked its
 * language frame yet. So each run was matched with an activation that is one too far inward, and
 * the outermost activation, @unfilled, has no run. L and M are runs, E0 to E2 activations:
 *
 *	x L E0 y M E1 z E2    becomes    x E0 y L E1 z M E2
 */
static void move_outward(uint64_t *frames, uint64_t *unfilled)
{
	while (frames < unfilled) {
		uint64_t *run = frames, *native, *next;

		while (run < unfilled && !wire_frame_is_language(*run))
			run++;
		for (native = run; native < unfilled && wire_frame_is_language(*native);)
			native++;
		for (next = native; next < unfilled && !wire_frame_is_language(*next);)
			next++;
		reverse(run, native);
		reverse(native, next);
		reverse(run, next);
		frames = next;
	}
}

/*
 * The largest number of native frames that find_inner() searches inside of the evaluator's frame.
 */
#define INNER_MAX 3u

/*
 * Returns the innermost native frame that belongs to the activation @outer, whose run begins at
 * @run. This is either a frame of generated code (in no module), which functions of the
 * activation's module call, or the function in the activation's module that the evaluator calls. If
 * there is none, returns @run.
 */
static uint64_t *find_inner(uint64_t *first, uint64_t *run, uint64_t outer)
{
	for (uint64_t *inner = run; inner > first && run - inner < INNER_MAX; inner--) {
		if (WIRE_FRAME_MODULE(inner[-1]) == WIRE_MODULE_NONE)
			return inner - 1;
		if (WIRE_FRAME_MODULE(inner[-1]) != WIRE_FRAME_MODULE(outer))
			break;
	}
	return run > first && WIRE_FRAME_MODULE(run[-1]) == WIRE_FRAME_MODULE(outer) ? run - 1
										     : run;
}

static uint64_t *copy_frames(uint64_t *to, const uint64_t *from, const uint64_t *end)
{
	while (from < end)
		*to++ = *from++;
	return to;
}

/*
 * Move each run in front of the native frames that belong to the activation, i.e. that the
 * evaluator called to execute language frames. Keep only the innermost of these native frames:
 *
 *	x inner L M outer              becomes    x L M inner outer
 *	x generated y inner L M outer  becomes    x L M generated outer
 *
 * *@cut is the end of a run or NULL, and is updated. Returns the number of frames that are left.
 */
static unsigned move_inward(uint64_t *frames, unsigned n, const uint64_t **cut)
{
	uint64_t *end = frames + n, *at, *to = frames, *run, *outer, *inner, innermost;
	const uint64_t *new_cut = NULL;

	for (at = frames; at < end; at = outer) {
		for (run = at; run < end && !wire_frame_is_language(*run);)
			run++;
		for (outer = run; outer < end && wire_frame_is_language(*outer);)
			outer++;
		inner = outer < end ? find_inner(at, run, *outer) : run;
		innermost = inner < run ? *inner : 0;
		to = copy_frames(to, at, inner);
		to = copy_frames(to, run, outer);
		if (*cut && *cut <= outer && !new_cut)
			new_cut = to;
		if (inner < run)
			*to++ = innermost;
	}
	*cut = new_cut;
	return (unsigned)(to - frames);
}

/* Remove all language frames. Returns the number of frames that are left. */
static unsigned withdraw(uint64_t *frames, unsigned n)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		if (!wire_frame_is_language(frames[i]))
			frames[left++] = frames[i];
	return left;
}

/*
 * Have all runs been written? If the walk has not reached the function at runtime->start, the
 * outermost run remains, because only a frame that this function calls executes it.
 */
static int is_at_end(const struct runtime_walk *runs)
{
	return runs->stack.place ==
	       (runs->runtime->start && !runs->has_start ? RUNTIME_AT_OUTERMOST : RUNTIME_AT_NONE);
}

/*
 * May paired runs have been matched with the wrong frames of the evaluator? No, if the walk has
 * reached the end of both lists. Otherwise this is possible only while the innermost frame of the
 * evaluator is being linked: the thread is in the evaluator, and either the thread is in the setup
 * code, or the innermost frame has no run.
 */
static int is_mispaired(const struct runtime_walk *runs, int is_rooted)
{
	const struct runtime *runtime = runs->runtime;
	uintptr_t offset = runs->pc - runtime->entry;

	if (runs->error)
		return 1;
	if (is_rooted && is_at_end(runs) && !runs->stack.is_shared)
		return 0;
	return offset < runtime->entry_end - runtime->entry &&
	       (offset < runtime->setup_end - runtime->entry || !runs->has_innermost_run);
}

unsigned runtime_walk_finish(struct runtime_walk *runs, uint64_t *frames, unsigned n, int is_rooted)
{
	if (runs->frame_error) {
		runs->is_whole = 0;
		runs->cut = NULL;
		return withdraw(frames, n);
	}
	if (!runs->runtime)
		return n;
	runs->is_whole = !runs->error &&
			 (is_rooted ? is_at_end(runs) : !runs->runtime->is_counted) &&
			 !(runs->cut && runs->unfilled);
	/* The cached state may be the wrong one, so do not use it again. */
	if (!runs->is_whole)
		runs->known = 0;
	if (runs->runtime->is_paired && is_mispaired(runs, is_rooted)) {
		runs->is_whole = 0;
		return withdraw(frames, n);
	}
	if (!runs->runtime->is_counted)
		return n;
	if (!runs->is_whole) {
		runs->cut = NULL;
		return withdraw(frames, n);
	}
	if (runs->unfilled)
		move_outward(frames, frames + (runs->unfilled - frames));
	if (runs->runtime->has_inner)
		n = move_inward(frames, n, &runs->cut);
	if (runs->cut)
		n = (unsigned)(runs->cut - frames);
	/* Remove outer native frames too: the language frames that they execute were cut. */
	while (runs->cut && n && !wire_frame_is_language(frames[n - 1]))
		n--;
	return n;
}
