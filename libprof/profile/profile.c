/* SPDX-License-Identifier: MIT */
/*
 * A profile's tables: create them, find and add entries, truncate them. add.c adds samples; read.c
 * has the public functions that read a profile.
 *
 * A stack is found by the hash of its path and confirmed by walking up from its leaf node. All
 * slots of a new stack can be prefetched at once, because a path's hash does not depend on the
 * parent's number. A node takes 12 bytes, and a slot of the hash table 4. The bits of a slot that
 * the number does not need hold a part of the hash.
 *
 * A process image (one exec or fork) is a node above its stacks: module numbers and code spaces
 * belong to one image, so equal frames of two images are different nodes. Modules of all images are
 * in one table. Names of code are in one table per image, because only the code of one image is
 * announced with rising `space`, which makes adding to the sorted table cheap.
 *
 * Entries are first reserved, then committed, so a sample that does not fit changes nothing. A
 * sixteenth of the memory limit is reserved for names, so that a full profile still has names.
 */
#include <errno.h>
#include <string.h>

#include "libprof/profile/tables.h"

/*
 * Part of a profile's memory limit that is reserved for names: 1/NAMES_DIVISOR, at least
 * NAMES_BYTES_MIN.
 */
#define NAMES_DIVISOR	16
#define NAMES_BYTES_MIN 16384u

static size_t bytes_for_samples(size_t limit_bytes)
{
	size_t names = limit_bytes / NAMES_DIVISOR;

	if (names < NAMES_BYTES_MIN)
		names = NAMES_BYTES_MIN;
	return limit_bytes > names ? limit_bytes - names : 0;
}

struct flameprof_profile *profile_new(const struct profile_config *config)
{
	struct flameprof_profile *p = pages_new(sizeof(*p));
	int is_limited = config->limit_bytes != 0;

	if (!p)
		return NULL;
	p->limit_bytes = is_limited ? config->limit_bytes : SIZE_MAX;
	p->times_max = is_limited ? UINT64_MAX : PROFILE_TIMES_MAX;
	p->words_max = is_limited ? SIZE_MAX : PROFILE_WORDS_MAX;
	p->marks_max = is_limited ? UINT32_MAX : PROFILE_MARKS_MAX;
	p->account.limit_bytes = bytes_for_samples(p->limit_bytes);
	p->account.used_bytes = pages_round(sizeof(*p));
	p->period_ns = config->period_ns;
	p->clock = config->clock;
	/* Ignore a failure, because a profile without a title is still useful. */
	if (config->title)
		names_add_string(&p->names, &p->account, config->title, &p->title);
	return p;
}

void flameprof_profile_free(struct flameprof_profile *p)
{
	struct pages_account *account;

	if (!p)
		return;
	account = &p->account;
	for (uint32_t i = 0; i < p->image_count; i++) {
		struct pages *words = &profile_image_at(p, i)->words;

		if (words->at)
			names_release(words->at, account);
		pages_release(account, words);
	}
	pages_release(account, &p->images);
	pages_release(account, &p->image_lookup.slots);
	pages_release(account, &p->nodes);
	pages_release(account, &p->node_lookup.slots);
	pages_release(account, &p->stacks);
	pages_release(account, &p->stack_lookup.slots);
	pages_release(account, &p->threads);
	pages_release(account, &p->thread_lookup.slots);
	pages_release(account, &p->samples);
	names_release(&p->names, account);
	pages_release(account, &p->marks);
	pages_release(account, &p->path);
	pages_release(account, &p->recent);
	pages_free(p, sizeof(*p));
}

/* Reserve @bytes for an array and @more entries in its lookup table. */
static int reserve(struct flameprof_profile *p, struct pages *array, size_t bytes,
	struct lookup *lookup, uint32_t more, lookup_hash_fn *hash)
{
	int error = pages_reserve(&p->account, array, bytes);

	return error ? error : lookup_reserve(lookup, &p->account, more, hash, p);
}

/* ---- images ---------------------------------------------------------------------------------- */

static uint32_t image_hash(const void *owner, uint32_t number)
{
	return lookup_hash(profile_image_at(owner, number - 1)->id);
}

/*
 * Add the root node of an image other than the first. Its word has WIRE_FRAME_BY_FP set, which no
 * frame in the tree has.
 */
static void commit_root(struct flameprof_profile *p, struct profile_image *image, uint32_t index)
{
	image->root_hash = profile_path_hash(0, index);
	image->root = profile_commit_node(p, 0, WIRE_FRAME_BY_FP | index, image->root_hash);
}

static int reserve_image(struct flameprof_profile *p)
{
	size_t bytes = ((size_t)p->image_count + 1) * sizeof(struct profile_image);
	int error = reserve(p, &p->images, bytes, &p->image_lookup, 1, image_hash);

	return error || !p->image_count ? error : profile_reserve_nodes(p, 1);
}

uint32_t profile_image(struct flameprof_profile *p, uint64_t id)
{
	uint32_t hash = lookup_hash(id), found;
	struct lookup_probe probe = lookup_begin(&p->image_lookup, hash);
	struct profile_image *image;
	int error;

	while ((found = lookup_next(&p->image_lookup, &probe)))
		if (profile_image_at(p, found - 1)->id == id)
			return found - 1;
	error = reserve_image(p);
	if (error) {
		profile_fail(p, error);
		return 0;
	}
	probe = lookup_begin(&p->image_lookup, hash);
	while (lookup_next(&p->image_lookup, &probe))
		;
	image = profile_image_at(p, p->image_count);
	image->id = id;
	if (p->image_count)
		commit_root(p, image, p->image_count);
	lookup_put(&p->image_lookup, &probe, ++p->image_count);
	return p->image_count - 1;
}

int profile_begin_run(struct flameprof_profile *p, uint64_t id)
{
	if (!p->image_count)
		profile_image(p, id);
	if (!p->image_count)
		return p->error;
	/* Do not update image_lookup, because the only image is never looked up by id. */
	if (profile_image_at(p, 0)->id != id)
		p->last_thread = 0;
	profile_image_at(p, 0)->id = id;
	return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/*
 * The argument of node_hash(), which must be called for the nodes in the order of their numbers: a
 * node's hash is computed from that of its parent, which has a lower number.
 */
struct path_hasher {
	const struct flameprof_profile *profile;
	uint32_t *hashes; /* by node number; [0]: root */
};

static uint32_t node_hash(const void *owner, uint32_t number)
{
	const struct path_hasher *hasher = owner;
	const struct profile_node *node = profile_node_at(hasher->profile, number);

	hasher->hashes[number] =
		profile_path_hash(hasher->hashes[node->parent], profile_node_frame(node));
	return hasher->hashes[number];
}

/*
 * Make room for @n more nodes. Path hashes are not stored, so growing the table computes them into
 * temporary memory, four bytes per node. Check first that all of it fits, because a table that
 * cannot grow would otherwise compute all hashes again for every sample.
 */
static int grow_node_lookup(struct flameprof_profile *p, uint32_t n)
{
	struct pages hashes = {NULL, 0};
	size_t hashes_bytes = ((size_t)p->node_count + 1) * sizeof(uint32_t);
	size_t slots_bytes = (size_t)8 << p->node_lookup.bits;
	size_t together = pages_round(hashes_bytes) + pages_round(slots_bytes);
	int error = -ENOSPC;

	if (p->account.used_bytes + together <= p->account.limit_bytes)
		error = pages_reserve(&p->account, &hashes, hashes_bytes);
	if (!error) {
		struct path_hasher hasher = {p, hashes.at};

		error = lookup_reserve(&p->node_lookup, &p->account, n, node_hash, &hasher);
	}
	pages_release(&p->account, &hashes);
	return error && lookup_has_room(&p->node_lookup, n) ? 0 : error;
}

int profile_reserve_nodes(struct flameprof_profile *p, uint32_t n)
{
	size_t bytes = ((size_t)p->node_count + 1 + n) * sizeof(struct profile_node);
	int error = pages_reserve(&p->account, &p->nodes, bytes);

	if (error || !lookup_wants_growth(&p->node_lookup, n))
		return error;
	return grow_node_lookup(p, n);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t stack_hash(const void *owner, uint32_t number)
{
	return profile_stack_hash(profile_stack_at(owner, number - 1));
}

uint32_t profile_find_stack(const struct flameprof_profile *p, const struct profile_stack *key)
{
	struct lookup_probe probe = lookup_begin(&p->stack_lookup, profile_stack_hash(key));
	uint32_t number;

	while ((number = lookup_next(&p->stack_lookup, &probe))) {
		const struct profile_stack *stack = profile_stack_at(p, number - 1);

		if (stack->node == key->node && stack->thread == key->thread &&
			stack->kind == key->kind && stack->end == key->end)
			break;
	}
	return number;
}

int profile_reserve_stack(struct flameprof_profile *p)
{
	size_t bytes = ((size_t)p->stack_count + 1) * sizeof(struct profile_stack);

	return reserve(p, &p->stacks, bytes, &p->stack_lookup, 1, stack_hash);
}

uint32_t profile_commit_stack(struct flameprof_profile *p, const struct profile_stack *stack)
{
	struct lookup_probe probe = lookup_begin(&p->stack_lookup, profile_stack_hash(stack));

	while (lookup_next(&p->stack_lookup, &probe))
		;
	*profile_stack_at(p, p->stack_count) = *stack;
	lookup_put(&p->stack_lookup, &probe, ++p->stack_count);
	return p->stack_count;
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint32_t thread_key_hash(const struct profile_thread_key *key)
{
	return lookup_hash(key->image << 32 ^ key->image >> 32 ^ key->number);
}

static uint32_t thread_hash(const void *owner, uint32_t number)
{
	return thread_key_hash(&profile_thread_at(owner, number - 1)->key);
}

uint32_t profile_find_thread(
	const struct flameprof_profile *p, const struct profile_thread_key *key)
{
	struct lookup_probe probe = lookup_begin(&p->thread_lookup, thread_key_hash(key));
	uint32_t found;

	while ((found = lookup_next(&p->thread_lookup, &probe))) {
		const struct profile_thread_key *other = &profile_thread_at(p, found - 1)->key;

		if (other->number == key->number && other->image == key->image)
			break;
	}
	return found;
}

int profile_reserve_thread(struct flameprof_profile *p)
{
	size_t bytes = ((size_t)p->thread_count + 1) * sizeof(struct profile_thread);

	return reserve(p, &p->threads, bytes, &p->thread_lookup, 1, thread_hash);
}

uint32_t profile_commit_thread(
	struct flameprof_profile *p, const struct profile_thread_key *key, uint32_t image)
{
	struct lookup_probe probe = lookup_begin(&p->thread_lookup, thread_key_hash(key));

	while (lookup_next(&p->thread_lookup, &probe))
		;
	*profile_thread_at(p, p->thread_count) =
		(struct profile_thread){.key = *key, .image = image};
	lookup_put(&p->thread_lookup, &probe, ++p->thread_count);
	return p->thread_count;
}

/*
 * Number of slots in p->recent, which has names, tids and last stacks of threads that have no entry
 * in p->threads. A program may start any number of threads, and most end before a sample of them is
 * kept. Thread numbers rise and select the slot, so a slot is overwritten only after this many
 * later threads.
 */
#define RECENT_THREADS 16384u

static struct profile_thread *recent_slot(
	const struct flameprof_profile *p, const struct profile_thread_key *key)
{
	uint32_t place = (key->number + lookup_hash(key->image)) % RECENT_THREADS;

	return (struct profile_thread *)p->recent.at + place;
}

struct profile_thread *profile_find_recent(
	const struct flameprof_profile *p, const struct profile_thread_key *key)
{
	struct profile_thread *recent = p->recent.at ? recent_slot(p, key) : NULL;

	return recent && recent->key.image == key->image && recent->key.number == key->number
		? recent
		: NULL;
}

int profile_reserve_recent(struct flameprof_profile *p)
{
	return pages_reserve(
		&p->account, &p->recent, RECENT_THREADS * sizeof(struct profile_thread));
}

struct profile_thread *profile_commit_recent(
	struct flameprof_profile *p, const struct profile_thread_key *key, uint32_t image)
{
	struct profile_thread *recent = recent_slot(p, key);

	*recent = (struct profile_thread){.key = *key, .image = image};
	return recent;
}

void profile_name_thread(struct flameprof_profile *p, uint32_t image, uint32_t number, uint32_t tid,
	const char *comm)
{
	const struct profile_thread_key key = {profile_image_at(p, image)->id, number};
	uint32_t found = profile_find_thread(p, &key);
	struct profile_thread *thread =
		found ? profile_thread_at(p, found - 1) : profile_find_recent(p, &key);

	if (!thread) {
		if (profile_fail(p, profile_reserve_recent(p)))
			return;
		thread = profile_commit_recent(p, &key, image);
	}
	if (tid)
		thread->tid = tid;
	if (comm && comm[0])
		memcpy(thread->name, comm, WIRE_COMM_BYTES - 1);
}

/* ---- samples --------------------------------------------------------------------------------- */

int profile_reserve_samples(struct flameprof_profile *p, uint64_t n)
{
	uint64_t count = p->sample_count + n;

	if (count > UINT32_MAX)
		return -ENOSPC;
	return pages_reserve(&p->account, &p->samples, count * sizeof(struct flameprof_sample));
}

/* ---- going back ------------------------------------------------------------------------------ */

struct profile_counts profile_counts(const struct flameprof_profile *p)
{
	return (struct profile_counts){
		.nodes = p->node_count,
		.stacks = p->stack_count,
		.threads = p->thread_count,
		.modules = p->names.module_count,
		.marks = p->mark_count,
		.samples = p->sample_count,
	};
}

void profile_truncate(
	struct flameprof_profile *p, const struct profile_counts *counts, uint32_t *hashes)
{
	struct path_hasher hasher = {p, hashes};

	hashes[0] = 0;
	p->node_count = counts->nodes;
	p->stack_count = counts->stacks;
	p->thread_count = counts->threads;
	p->mark_count = counts->marks;
	p->sample_count = counts->samples;
	p->path_depth = 0;
	p->path_stack = 0;
	p->last_thread = 0;
	names_truncate_modules(&p->names, counts->modules);
	lookup_rebuild(&p->node_lookup, p->node_count, node_hash, &hasher);
	lookup_rebuild(&p->stack_lookup, p->stack_count, stack_hash, p);
	lookup_rebuild(&p->thread_lookup, p->thread_count, thread_hash, p);
}
