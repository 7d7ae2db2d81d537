/* SPDX-License-Identifier: MIT */
/*
 * Functions by which profile.c, add.c, thin.c and profile_merge.c fill the tables of a profile.
 * First find entries, then reserve room for those that are missing, then commit them, so that a
 * sample that does not fit changes nothing. A reservation may move the tables, so a lookup position
 * that was found before is invalid afterwards.
 *
 * Reservations return 0, -ENOSPC at the limit, -ENOMEM; commits cannot fail.
 */
#ifndef LIBPROF_PROFILE_TABLES_H
#define LIBPROF_PROFILE_TABLES_H

#include <stdint.h>

#include "libprof/profile/profile.h"

/* Remember the first failure. Returns @error. */
static inline int profile_fail(struct flameprof_profile *p, int error)
{
	if (!p->error)
		p->error = error;
	return error;
}

/*
 * Returns the hash of the path to a node, by which the node is looked up. The hash is computed from
 * the parent's hash, not from the parent's number, so the slots of all nodes of a stack can be
 * prefetched before the first one is found. Node 0 has hash 0.
 */
static inline uint32_t profile_path_hash(uint32_t parent_hash, uint64_t frame)
{
	return lookup_hash((frame & ~WIRE_FRAME_BY_FP) ^ (uint64_t)parent_hash << 32);
}

/* Returns the child of @parent with @frame and path @hash; 0: none. */
static inline uint32_t profile_find_node(
	const struct flameprof_profile *p, uint32_t parent, uint64_t frame, uint32_t hash)
{
	struct lookup_probe probe = lookup_begin(&p->node_lookup, hash);
	uint32_t number;

	frame &= ~WIRE_FRAME_BY_FP;
	while ((number = lookup_next(&p->node_lookup, &probe))) {
		const struct profile_node *node = profile_node_at(p, number);

		if (node->parent == parent && profile_node_frame(node) == frame)
			break;
	}
	return number;
}

int profile_reserve_nodes(struct flameprof_profile *p, uint32_t n);

/* Add a node that does not exist yet. @frame must not have WIRE_FRAME_BY_FP, except for a root. */
static inline uint32_t profile_commit_node(
	struct flameprof_profile *p, uint32_t parent, uint64_t frame, uint32_t hash)
{
	struct lookup_probe probe = lookup_begin(&p->node_lookup, hash);

	while (lookup_next(&p->node_lookup, &probe))
		;
	lookup_put(&p->node_lookup, &probe, ++p->node_count);
	*profile_node_at(p, p->node_count) = (struct profile_node){
		.parent = parent,
		.frame_low = (uint32_t)frame,
		.frame_high = (uint32_t)(frame >> 32),
	};
	return p->node_count;
}

static inline uint32_t profile_stack_hash(const struct profile_stack *key)
{
	uint64_t shape = (uint64_t)key->kind << 4 | key->end;

	return lookup_hash((key->path_hash | (uint64_t)key->thread << 32) ^ shape << 40);
}

/* Find a stack by thread, node, path_hash, kind and end of @key. Returns index + 1, or 0. */
uint32_t profile_find_stack(const struct flameprof_profile *p, const struct profile_stack *key);
int profile_reserve_stack(struct flameprof_profile *p);
uint32_t profile_commit_stack(struct flameprof_profile *p, const struct profile_stack *stack);

/* Find a thread. Returns index + 1, or 0. */
uint32_t profile_find_thread(
	const struct flameprof_profile *p, const struct profile_thread_key *key);
int profile_reserve_thread(struct flameprof_profile *p);
uint32_t profile_commit_thread(
	struct flameprof_profile *p, const struct profile_thread_key *key, uint32_t image);

/*
 * A thread without a sample in the tables has no entry there. Its name, tid and last stack are kept
 * in `recent`. Find them; returns NULL if there are none. profile_commit_recent() adds an empty
 * record for a thread, for which profile_reserve_recent() must have made room.
 */
struct profile_thread *profile_find_recent(
	const struct flameprof_profile *p, const struct profile_thread_key *key);
int profile_reserve_recent(struct flameprof_profile *p);
struct profile_thread *profile_commit_recent(
	struct flameprof_profile *p, const struct profile_thread_key *key, uint32_t image);

/* Returns 1 if the time of another sample will be kept. */
static inline int profile_keeps_times(const struct flameprof_profile *p)
{
	return p->sample_count < p->times_max;
}

int profile_reserve_samples(struct flameprof_profile *p, uint64_t n);

/*
 * Make room for a quarter of @p->times_max samples by merging samples of one stack. Makes less
 * room, or none, without memory or if nearly every sample has a stack of its own.
 */
void profile_thin(struct flameprof_profile *p);

/*
 * Sizes of all tables. profile_truncate() removes all entries that were added after
 * profile_counts(). Cannot fail.
 */
struct profile_counts {
	uint32_t nodes, stacks, threads, modules, marks;
	uint64_t samples;
};
struct profile_counts profile_counts(const struct flameprof_profile *p);
/* @hashes is scratch memory for counts->nodes + 1 numbers. */
void profile_truncate(
	struct flameprof_profile *p, const struct profile_counts *counts, uint32_t *hashes);

#endif
