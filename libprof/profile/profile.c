/* SPDX-License-Identifier: MIT */
/*
 * A profile's tables: making them, finding and adding entries, cutting them back. What a sample
 * does to them is store.c, what a reader sees of them profile_read.c.
 */
#include "libprof/profile/profile.h"

#include <errno.h>
#include <string.h>

#include "libprof/aggregator/store.h"

/* Kept back of a profile's memory for what store_resolve() adds. */
#define NAMES_DIVISOR	16
#define NAMES_BYTES_MIN 16384u

static size_t for_samples(size_t limit_bytes)
{
	size_t names = limit_bytes / NAMES_DIVISOR;

	if (names < NAMES_BYTES_MIN)
		names = NAMES_BYTES_MIN;
	return limit_bytes > names ? limit_bytes - names : 0;
}

struct flameprof_profile *store_new(const struct store_config *config)
{
	struct flameprof_profile *p = pages_new(sizeof(*p));

	if (!p)
		return NULL;
	p->limit_bytes = config->limit_bytes;
	p->account.limit_bytes = for_samples(config->limit_bytes);
	p->account.used_bytes = pages_round(sizeof(*p));
	p->period_ns = config->period_ns;
	p->clock = config->clock;
	/* A title that does not fit is no reason to have no profile. */
	if (config->title)
		names_add_string(&p->names, &p->account, config->title, &p->title);
	return p;
}

void store_begin(struct flameprof_profile *p, uint64_t start_ns, int64_t start_wall_s)
{
	p->start_ns = start_ns;
	p->start_wall_s = start_wall_s;
}

void store_end(struct flameprof_profile *p, uint64_t end_ns)
{
	p->end_ns = end_ns;
}

size_t store_bytes(const struct flameprof_profile *p)
{
	return p->account.used_bytes;
}

void flameprof_profile_free(struct flameprof_profile *p)
{
	struct pages_account *account;

	if (!p)
		return;
	account = &p->account;
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
	pages_free(p, sizeof(*p));
}

/* @bytes for a table, and @more entries in its lookup. */
static int reserve(struct flameprof_profile *p, struct pages *array, size_t bytes,
	struct lookup *lookup, uint32_t more, lookup_hash_fn *hash)
{
	int error = pages_reserve(&p->account, array, bytes);

	return error ? error : lookup_reserve(lookup, &p->account, more, hash, p);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Paths are hashed in the order of numbers: the parent's hash is there. */
struct path_hasher {
	const struct flameprof_profile *profile;
	uint32_t *hashes; /* by number, [0] is the root's */
};

static uint32_t node_hash(const void *owner, uint32_t number)
{
	const struct path_hasher *hasher = owner;
	const struct profile_node *node = profile_node(hasher->profile, number);

	hasher->hashes[number] =
		profile_path_hash(hasher->hashes[node->parent], profile_node_frame(node));
	return hasher->hashes[number];
}

/*
 * The hashes are made anew where they are needed: four bytes a node, for a moment. Whether all of
 * it fits is asked first: a full table would otherwise try with each sample.
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
	return profile_stack_hash(profile_stack(owner, number - 1));
}

uint32_t profile_find_stack(const struct flameprof_profile *p, const struct profile_stack *key)
{
	struct lookup_probe probe = lookup_begin(&p->stack_lookup, profile_stack_hash(key));
	uint32_t number;

	while ((number = lookup_next(&p->stack_lookup, &probe))) {
		const struct profile_stack *stack = profile_stack(p, number - 1);

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
	*profile_stack(p, p->stack_count) = *stack;
	lookup_put(&p->stack_lookup, &probe, ++p->stack_count);
	return p->stack_count;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* By tid alone, so that threads that share one are found together. */
static uint32_t thread_key_hash(const struct profile_thread_key *key)
{
	return lookup_hash(key->tid);
}

static uint32_t thread_hash(const void *owner, uint32_t number)
{
	return thread_key_hash(&profile_thread(owner, number - 1)->key);
}

uint32_t profile_find_thread(
	const struct flameprof_profile *p, const struct profile_thread_key *key)
{
	struct lookup_probe probe = lookup_begin(&p->thread_lookup, thread_key_hash(key));
	uint32_t found;

	while ((found = lookup_next(&p->thread_lookup, &probe))) {
		const struct profile_thread_key *other = &profile_thread(p, found - 1)->key;

		if (other->tid == key->tid && other->number == key->number &&
			other->image == key->image)
			break;
	}
	return found;
}

uint32_t profile_find_thread_of_other_run(const struct flameprof_profile *p,
	const struct profile_thread_key *key, const char *name)
{
	struct lookup_probe probe = lookup_begin(&p->thread_lookup, thread_key_hash(key));
	uint32_t found;

	while ((found = lookup_next(&p->thread_lookup, &probe))) {
		const struct profile_thread *other = profile_thread(p, found - 1);

		if (other->key.tid == key->tid && other->key.image != key->image &&
			!memcmp(other->name, name, WIRE_COMM_BYTES))
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
	struct flameprof_profile *p, const struct profile_thread_key *key, const char *name)
{
	struct lookup_probe probe = lookup_begin(&p->thread_lookup, thread_key_hash(key));
	struct profile_thread *thread = profile_thread(p, p->thread_count);

	while (lookup_next(&p->thread_lookup, &probe))
		;
	*thread = (struct profile_thread){.key = *key};
	memcpy(thread->name, name, WIRE_COMM_BYTES - 1);
	lookup_put(&p->thread_lookup, &probe, ++p->thread_count);
	return p->thread_count;
}

/* ---- samples, marks -------------------------------------------------------------------------- */

int profile_reserve_samples(struct flameprof_profile *p, uint64_t n)
{
	uint64_t count = p->sample_count + n;

	if (count > UINT32_MAX)
		return -ENOSPC;
	return pages_reserve(&p->account, &p->samples, count * sizeof(struct flameprof_sample));
}

int profile_add_mark(
	struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name)
{
	size_t bytes = ((size_t)p->mark_count + 1) * sizeof(struct profile_mark);
	uint32_t offset;
	int error = pages_reserve(&p->account, &p->marks, bytes);

	if (!error)
		error = names_add_string(&p->names, &p->account, name, &offset);
	if (error)
		return error;
	*profile_mark(p, p->mark_count++) = (struct profile_mark){time_ns, tid, offset};
	return 0;
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

void profile_cut(
	struct flameprof_profile *p, const struct profile_counts *counts, uint32_t *hashes)
{
	struct path_hasher hasher = {p, hashes};

	hashes[0] = 0;
	p->node_count = counts->nodes;
	p->stack_count = counts->stacks;
	p->thread_count = counts->threads;
	p->mark_count = counts->marks;
	p->sample_count = counts->samples;
	names_cut_modules(&p->names, counts->modules);
	lookup_rebuild(&p->node_lookup, p->node_count, node_hash, &hasher);
	lookup_rebuild(&p->stack_lookup, p->stack_count, stack_hash, p);
	lookup_rebuild(&p->thread_lookup, p->thread_count, thread_hash, p);
}
