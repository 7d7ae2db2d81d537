/* SPDX-License-Identifier: MIT */
/*
 * Add samples, names and marks to a profile. A thread's successive stacks usually differ only near
 * the innermost frame, so the outer frames that they share are compared with the previous stack
 * instead of looked up.
 */
#include <errno.h>
#include <string.h>

#include "libprof/profile/tables.h"

/* ---- words ----------------------------------------------------------------------------------- */
/*
 * Modules, names of code and marks. A program may announce any number of them, so they have limits.
 */

int profile_add_module(struct flameprof_profile *p, uint32_t image,
	const struct names_module *module, const char *path)
{
	struct names_module added = *module;
	int error;

	added.image = image;
	error = names_add_module(&p->names, &p->account, &added, path);
	return error == -EINVAL ? error : profile_fail(p, error);
}

/* Returns the table for names of @image's code, or NULL without memory. */
static struct names *names_of(struct flameprof_profile *p, uint32_t image)
{
	struct pages *words = image ? &profile_image_at(p, image)->words : NULL;

	if (!words)
		return &p->names;
	return pages_reserve(&p->account, words, sizeof(struct names)) ? NULL : words->at;
}

/* Add @bytes to words_bytes if @error is 0, that is, if the addition succeeded. Returns @error. */
static int count_words(struct flameprof_profile *p, size_t bytes, int error)
{
	if (!error)
		p->words_bytes += bytes;
	return error == -ENOMEM ? profile_fail(p, error) : error;
}

int profile_add_code(struct flameprof_profile *p, uint32_t image, const struct names_code *code,
	const char *name, const char *file)
{
	size_t bytes = sizeof(*code) + strlen(name) + strlen(file) + 2;
	struct names *words;

	if (!name[0] || !code->bytes)
		return 0;
	if (bytes > p->words_max - p->words_bytes)
		return -ENOSPC;
	words = names_of(p, image);
	return count_words(p, bytes,
		words ? names_add_function(words, &p->account, code, name, file) : -ENOMEM);
}

int profile_add_mark(struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name)
{
	size_t bytes = sizeof(struct profile_mark) + strlen(name) + 1;
	uint32_t offset;
	int error;

	if (p->mark_count >= p->marks_max || bytes > p->words_max - p->words_bytes)
		return -ENOSPC;
	error = pages_reserve(
		&p->account, &p->marks, ((size_t)p->mark_count + 1) * sizeof(struct profile_mark));
	if (!error)
		error = names_add_string(&p->names, &p->account, name, &offset);
	if (!error)
		*profile_mark_at(p, p->mark_count++) = (struct profile_mark){time_ns, tid, offset};
	return count_words(p, bytes, error);
}

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * Result of looking up a sample: the table entries that were found, and which ones must be added.
 */
struct found {
	const struct profile_image *image;
	/* Number of the thread that gets the weight, as in struct profile_thread_key. */
	uint32_t number;
	uint32_t thread;	       /* index + 1, 0: missing */
	/* Record in p->recent of a thread that has no entry, or NULL. */
	struct profile_thread *recent;
	/*
	 * 1 if times are no longer kept and the thread has no entry. The weight then goes to
	 * number 0, the entry that such threads of the image share.
	 */
	int is_unshown;
	/* Number of frames whose nodes were found, from the outermost frame on. */
	uint32_t depth;
	uint32_t node;		       /* the node of the last frame found */
	uint32_t stack;		       /* index + 1, 0: missing */
	uint64_t time_ns;
	struct profile_stack key;
};

/* Returns the number of outermost frames that the sample shares with the stack added last. */
static uint32_t shared_frames(
	const struct flameprof_profile *p, uint32_t root, const uint64_t *frames, uint32_t n)
{
	const struct profile_step *path = p->path.at;
	uint32_t most = n < p->path_depth ? n : p->path_depth;
	uint32_t i = 0;

	if (root != p->path_root)
		return 0;
	while (i < most && path[i].frame == (frames[n - 1 - i] & ~WIRE_FRAME_BY_FP))
		i++;
	return i;
}

/* Store the frames from @depth on and the hashes of their paths. Returns the last hash. */
static uint32_t hash_path(struct profile_step *path, uint32_t root_hash, const uint64_t *frames,
	uint32_t n, uint32_t depth)
{
	uint32_t hash = depth ? path[depth - 1].hash : root_hash;

	for (; depth < n; depth++) {
		path[depth].frame = frames[n - 1 - depth] & ~WIRE_FRAME_BY_FP;
		hash = profile_path_hash(hash, path[depth].frame);
		path[depth].hash = hash;
	}
	return hash;
}

static uint32_t node_at_depth(
	const struct flameprof_profile *p, const struct found *found, uint32_t depth)
{
	return depth ? ((const struct profile_step *)p->path.at)[depth - 1].node
		     : found->image->root;
}

/*
 * Returns 1 if @leaf and its parents have the frames of p->path. Walk up to depth @depth only,
 * because the nodes of the outermost @depth frames are known. Store the node numbers in p->path.
 */
static int is_path_to(
	const struct flameprof_profile *p, const struct found *found, uint32_t leaf, uint32_t depth)
{
	struct profile_step *path = p->path.at;
	uint32_t n = found->key.frames, node = leaf;

	while (n > depth && node) {
		const struct profile_node *at = profile_node_at(p, node);

		if (profile_node_frame(at) != path[--n].frame)
			return 0;
		path[n].node = node;
		node = at->parent;
	}
	return n == depth && node == node_at_depth(p, found, depth);
}

/*
 * Find an earlier stack by the hash of its path, without looking up its nodes. Returns index + 1,
 * or 0.
 */
static uint32_t find_stack(
	const struct flameprof_profile *p, const struct found *found, uint32_t depth)
{
	const struct profile_stack *key = &found->key;
	struct lookup_probe probe = lookup_begin(&p->stack_lookup, profile_stack_hash(key));
	uint32_t number;

	while ((number = lookup_next(&p->stack_lookup, &probe))) {
		const struct profile_stack *stack = profile_stack_at(p, number - 1);

		if (stack->path_hash == key->path_hash && stack->thread == key->thread &&
			stack->kind == key->kind && stack->end == key->end &&
			stack->frames == key->frames && is_path_to(p, found, stack->node, depth))
			break;
	}
	return number;
}

/*
 * Prefetch the slots of all frames, then the nodes that they probably name. A stack then costs the
 * latency of two memory accesses instead of two per frame.
 */
static void prefetch_nodes(const struct flameprof_profile *p, uint32_t n, uint32_t depth)
{
	const struct profile_step *path = p->path.at;

	if (!p->node_count)
		return;
	for (uint32_t i = depth; i < n; i++)
		lookup_prefetch(&p->node_lookup, path[i].hash);
	for (uint32_t i = depth; i < n; i++)
		__builtin_prefetch(profile_node_at(p, lookup_guess(&p->node_lookup, path[i].hash)));
}

/* Look up the nodes of the frames from @depth on, until a node is missing. */
static void find_nodes(const struct flameprof_profile *p, struct found *found, uint32_t depth)
{
	struct profile_step *path = p->path.at;
	uint32_t n = found->key.frames, node = node_at_depth(p, found, depth);

	prefetch_nodes(p, n, depth);
	for (; depth < n; depth++) {
		uint32_t child = profile_find_node(p, node, path[depth].frame, path[depth].hash);

		if (!child)
			break;
		path[depth].node = node = child;
	}
	found->depth = depth;
	found->node = node;
}

static void find_thread(struct flameprof_profile *p, uint32_t image,
	const struct wire_sample *sample, struct found *found)
{
	uint32_t number = found->number = sample->thread;
	struct profile_thread_key key = {found->image->id, number};
	const struct profile_thread *last =
		p->last_thread ? profile_thread_at(p, p->last_thread - 1) : NULL;

	if (!last || last->image != image || last->key.number != number)
		p->last_thread = profile_find_thread(p, &key);
	found->thread = p->last_thread;
	if (!found->thread) {
		found->recent = profile_find_recent(p, &key);
		found->is_unshown = sample->weight && !profile_keeps_times(p);
	}
	if (found->is_unshown) {
		found->number = key.number = 0;
		found->thread = profile_find_thread(p, &key);
	}
	if (found->thread)
		found->key.thread = found->thread - 1;
}

/* Returns the thread's entry, or else its record in p->recent, or NULL. */
static struct profile_thread *thread_of(
	const struct flameprof_profile *p, const struct found *found)
{
	return found->thread && !found->is_unshown ? profile_thread_at(p, found->thread - 1)
						   : found->recent;
}

/*
 * Limit of the CPU time after a thread's last sample that is added to the thread's last stack. The
 * kernel checks timers at its tick, at least every 10 ms, so a thread normally uses less than two
 * ticks after its last sample. If it used more, the sampling signal was blocked.
 */
#define LAST_STACK_NS 20000000

static int fits_last_stack(const struct flameprof_profile *p, const struct wire_sample *sample)
{
	return sample->kind != WIRE_KIND_CREDIT || sample->weight <= 1 ||
	       sample->weight * p->period_ns <= LAST_STACK_NS;
}

/*
 * Find the stack for a sample without frames: the last stack of its thread. A WIRE_KIND_CREDIT
 * sample also gets the time of the thread's last sample. Otherwise, if many threads end together,
 * more weight would be at one moment than the CPUs could have run. If the weight of a
 * WIRE_KIND_CREDIT sample is more than LAST_STACK_NS, no stack is found, and the weight is drawn as
 * [unsampled].
 */
static void find_last_stack(
	const struct flameprof_profile *p, const struct wire_sample *sample, struct found *found)
{
	const struct profile_thread *thread = thread_of(p, found);

	found->node = found->image->root;
	found->key.path_hash = found->image->root_hash;
	if (thread && thread->last_frames && fits_last_stack(p, sample)) {
		found->node = thread->last_node;
		found->key.path_hash = thread->last_hash;
		found->key.frames = thread->last_frames;
		found->key.end = thread->last_end;
		if (found->key.kind == WIRE_KIND_CREDIT)
			found->time_ns = thread->last_ns;
	}
	found->depth = found->key.frames;
	found->key.node = found->node;
	if (found->thread)
		found->stack = profile_find_stack(p, &found->key);
}

/* Returns 1 if the sample has the thread, kind and end of the stack that was added last. */
static int is_last_stack(const struct flameprof_profile *p, const struct found *found)
{
	const struct profile_stack *stack;

	if (!p->path_stack)
		return 0;
	stack = profile_stack_at(p, p->path_stack - 1);
	return stack->thread == found->key.thread && stack->kind == found->key.kind &&
	       stack->end == found->key.end;
}

/*
 * Find the stack of a sample with frames, or if there is none, the nodes of its outermost frames.
 */
static void find_frames(
	const struct flameprof_profile *p, const uint64_t *frames, struct found *found)
{
	uint32_t n = found->key.frames;
	uint32_t depth = shared_frames(p, found->image->root, frames, n);

	found->key.path_hash = hash_path(p->path.at, found->image->root_hash, frames, n, depth);
	if (found->thread && depth == n && p->path_depth == n && is_last_stack(p, found))
		found->stack = p->path_stack;
	else if (found->thread)
		found->stack = find_stack(p, found, depth);
	if (found->stack) {
		found->depth = n;
		found->node = profile_stack_at(p, found->stack - 1)->node;
		return;
	}
	find_nodes(p, found, depth);
}

/* Returns 1 if the sample shows a thread on a CPU. */
static int is_seen(const struct wire_sample *sample)
{
	return sample->kind == WIRE_KIND_CPU;
}

/* Reserve room for all missing entries. After an error nothing is added. */
static int reserve_missing(
	struct flameprof_profile *p, const struct wire_sample *sample, const struct found *found)
{
	uint32_t missing = found->key.frames - found->depth;
	int error = 0;

	if (sample->weight && sample->kind != WIRE_KIND_KERNEL_STACK && profile_keeps_times(p))
		error = profile_reserve_samples(p, 1);
	if (!error && missing)
		error = profile_reserve_nodes(p, missing);
	if (!error && !found->thread && sample->weight)
		error = profile_reserve_thread(p);
	if (!error && is_seen(sample) && !thread_of(p, found) &&
		(found->is_unshown || !sample->weight))
		error = profile_reserve_recent(p);
	if (!error && sample->weight && !found->stack)
		error = profile_reserve_stack(p);
	return error;
}

static void commit_path(struct flameprof_profile *p, struct found *found)
{
	struct profile_step *path = p->path.at;

	for (; found->depth < found->key.frames; found->depth++) {
		struct profile_step *step = &path[found->depth];

		step->node = profile_commit_node(p, found->node, step->frame, step->hash);
		found->node = step->node;
	}
	found->key.node = found->node;
}

/* Add the weight to the stack and all totals, and the sample's time while there is room. */
static void commit_weight(
	struct flameprof_profile *p, const struct wire_sample *sample, struct found *found)
{
	/*
	 * Waits and the samples of virtual machines are measured in elapsed time. Do not add that
	 * time to p->weight if the profile measures another time.
	 */
	int is_other = (sample->kind == WIRE_KIND_WAIT && p->clock != FLAMEPROF_CLOCK_ELAPSED) ||
		       (sample->kind == WIRE_KIND_VM && p->clock != FLAMEPROF_CLOCK_VM);
	struct profile_stack *stack;

	if (!found->stack)
		found->stack = profile_commit_stack(p, &found->key);
	stack = profile_stack_at(p, found->stack - 1);
	stack->samples += stack->samples != UINT32_MAX;
	stack->weight += sample->weight;
	if (sample->kind == WIRE_KIND_KERNEL_STACK)
		return;
	if (!is_other) {
		profile_thread_at(p, found->thread - 1)->weight += sample->weight;
		p->weight += sample->weight;
	}
	if (sample->kind == WIRE_KIND_VM)
		p->vm_weight += sample->weight;
	else if (sample->kind == WIRE_KIND_WAIT)
		p->wait_weight += sample->weight;
	else if (sample->kind == WIRE_KIND_CREDIT)
		p->totals.counts.credited += sample->weight;
	else
		p->totals.counts.ends[stack->end] += sample->weight;
	if (profile_keeps_times(p))
		((struct flameprof_sample *)p->samples.at)[p->sample_count++] =
			(struct flameprof_sample){
				.time_ns = found->time_ns,
				.stack = found->stack - 1,
				.weight = sample->weight,
			};
	else
		p->totals.counts.untimed++;
}

/* Add an entry for the thread and copy its record in p->recent to the entry. */
static void commit_thread(struct flameprof_profile *p, uint32_t image, struct found *found)
{
	const struct profile_thread_key key = {found->image->id, found->number};

	found->thread = profile_commit_thread(p, &key, image);
	found->key.thread = found->thread - 1;
	if (found->is_unshown)
		return;
	p->last_thread = found->thread;
	if (found->recent)
		*profile_thread_at(p, found->thread - 1) = *found->recent;
}

static void commit_sample(struct flameprof_profile *p, uint32_t image,
	const struct wire_sample *sample, struct found *found)
{
	commit_path(p, found);
	if (!found->thread && sample->weight)
		commit_thread(p, image, found);
	if (is_seen(sample)) {
		struct profile_thread *thread = thread_of(p, found);

		if (!thread)
			thread = profile_commit_recent(p,
				&(struct profile_thread_key){found->image->id, sample->thread},
				image);
		thread->last_node = found->node;
		thread->last_hash = found->key.path_hash;
		thread->last_frames = found->key.frames;
		thread->last_end = found->key.end;
		thread->last_ns = sample->time_ns;
	}
	if (sample->weight)
		commit_weight(p, sample, found);
	if (sample->frames) {
		p->path_depth = sample->frames;
		p->path_root = found->image->root;
		p->path_stack = found->stack;
	}
}

int profile_add(struct flameprof_profile *p, uint32_t image, const struct wire_sample *sample,
	const uint64_t *frames)
{
	struct found found = {
		.image = profile_image_at(p, image),
		.time_ns = sample->time_ns,
		.key = {.frames = sample->frames, .kind = sample->kind, .end = sample->end},
	};
	int error =
		pages_reserve(&p->account, &p->path, sample->frames * sizeof(struct profile_step));

	if (error)
		goto out;
	if (sample->weight && !profile_keeps_times(p))
		profile_thin(p);
	find_thread(p, image, sample, &found);
	if (sample->frames)
		find_frames(p, frames, &found);
	else
		find_last_stack(p, sample, &found);
	error = reserve_missing(p, sample, &found);
	if (error) {
		/*
		 * p->path holds a stack that was not added, so do not compare the next sample with
		 * it.
		 */
		p->path_depth = 0;
		p->path_stack = 0;
		goto out;
	}
	commit_sample(p, image, sample, &found);
out:
	return profile_fail(p, error);
}
