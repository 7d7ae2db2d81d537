/* SPDX-License-Identifier: MIT */
/*
 * What a profile is made of. Entries have numbers in order of their first appearance; frames are
 * kept as a tree of nodes, each a frame below a parent:
 *
 *	stack ─▶ leaf node ─▶ parent ─▶ … ─▶ outermost node ─▶ 0
 *
 * How a frame was found (WIRE_FRAME_BY_FP) is left out: it is the same place in code. Node 0 and
 * string 0 are none. Everything is an array of `struct pages`, all on one account.
 */
#ifndef LIBPROF_PROFILE_PROFILE_H
#define LIBPROF_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "libprof/profile/names.h"
#include "libprof/profile/pages.h"
#include "libprof/flameprof_profile.h"
#include "libprof/wire.h"

/* 12 bytes: the frame in halves, so that nothing is padded. */
struct profile_node {
	uint32_t parent;
	uint32_t frame_low, frame_high;
};

/* Distinct by thread, node, kind and end. 28 bytes. */
struct profile_stack {
	uint64_t weight;
	uint32_t thread; /* index */
	uint32_t node;
	uint32_t path_hash; /* of its frames */
	uint32_t samples; /* there are less than 2^32: each takes 16 bytes of at most 16 GiB */
	uint16_t frames;
	uint8_t kind; /* enum wire_kind */
	uint8_t end;
} __attribute__((packed, aligned(4)));

/* One frame's place in the stack at hand. */
struct profile_step {
	uint32_t node;
	uint32_t hash; /* of the path to it */
};

/* Distinct by all three of these: a tid that is used again is another thread. */
struct profile_thread_key {
	uint64_t image; /* the run of the profiler */
	uint32_t tid;
	uint32_t number; /* in struct wire_sample */
};

struct profile_thread {
	struct profile_thread_key key;
	uint32_t last_stack; /* index + 1 of what a credit without a stack goes on, 0: none yet */
	uint32_t pad;
	uint64_t weight;
	char name[WIRE_COMM_BYTES];
};

struct profile_mark {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t name; /* offset in names.strings */
};

struct flameprof_profile {
	struct pages_account account; /* with a lower limit while samples come: names need room */
	size_t limit_bytes;
	uint64_t period_ns;
	enum flameprof_clock clock;
	uint32_t title; /* offset in names.strings */
	uint64_t start_ns, end_ns;
	int64_t start_wall_s;
	uint64_t weight;
	uint64_t vm_weight; /* of it, that of WIRE_KIND_VM */
	uint64_t dropped_weight; /* what is missing, as far as whoever took the profile knew */

	/* Numbered from 1: entry 0 of the array is the root and unused. */
	struct pages nodes;
	uint32_t node_count; /* the root not included */
	struct lookup node_lookup;

	struct pages stacks;
	uint32_t stack_count;
	struct lookup stack_lookup;

	struct pages threads;
	uint32_t thread_count;
	struct lookup thread_lookup;

	struct pages samples; /* struct flameprof_sample */
	uint64_t sample_count;

	struct names names;
	struct pages marks;
	uint32_t mark_count;

	/* struct profile_step: the stack interned last, from the outermost frame. */
	struct pages path;
};

static inline struct profile_node *profile_node(const struct flameprof_profile *p, uint32_t number)
{
	return (struct profile_node *)p->nodes.at + number;
}

static inline uint64_t profile_node_frame(const struct profile_node *node)
{
	return (uint64_t)node->frame_high << 32 | node->frame_low;
}

static inline struct profile_stack *profile_stack(const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_stack *)p->stacks.at + index;
}

static inline struct profile_thread *profile_thread(
	const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_thread *)p->threads.at + index;
}

static inline struct profile_mark *profile_mark(const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_mark *)p->marks.at + index;
}

/* What the frame @word means, as a reader sees it. */
struct flameprof_frame profile_frame(const struct flameprof_profile *p, uint64_t word);

/* ---- interning ---------------------------------------------------------------------------------
 * Find first, reserve what is missing, then commit: whatever does not fit changes nothing. Finding
 * leaves its place in the lookup; a reservation in between may move it.
 *
 * Reservations return 0, -ENOSPC at the ceiling, -ENOMEM; commits cannot fail.
 */

/*
 * Nodes are looked up by a hash of the whole path to them, so that all of a stack's slots can be
 * fetched at once, before the first parent is known. 0 is the root's.
 */
static inline uint32_t profile_path_hash(uint32_t parent_hash, uint64_t frame)
{
	return lookup_hash((frame & ~WIRE_FRAME_BY_FP) ^ (uint64_t)parent_hash << 32);
}

/* The child of @parent with @frame, whose path has @hash; 0 when there is none. */
static inline uint32_t profile_find_node(
	const struct flameprof_profile *p, uint32_t parent, uint64_t frame, uint32_t hash)
{
	struct lookup_probe probe = lookup_begin(&p->node_lookup, hash);
	uint32_t number;

	frame &= ~WIRE_FRAME_BY_FP;
	while ((number = lookup_next(&p->node_lookup, &probe))) {
		const struct profile_node *node = profile_node(p, number);

		if (node->parent == parent && profile_node_frame(node) == frame)
			break;
	}
	return number;
}

int profile_reserve_nodes(struct flameprof_profile *p, uint32_t n);

/* There is none yet. */
static inline uint32_t profile_commit_node(
	struct flameprof_profile *p, uint32_t parent, uint64_t frame, uint32_t hash)
{
	struct lookup_probe probe = lookup_begin(&p->node_lookup, hash);

	while (lookup_next(&p->node_lookup, &probe))
		;
	lookup_put(&p->node_lookup, &probe, ++p->node_count);
	*profile_node(p, p->node_count) = (struct profile_node){
		.parent = parent,
		.frame_low = (uint32_t)frame,
		.frame_high = (uint32_t)((frame & ~WIRE_FRAME_BY_FP) >> 32),
	};
	return p->node_count;
}

static inline uint32_t profile_stack_hash(const struct profile_stack *key)
{
	uint64_t shape = (uint64_t)key->kind << 4 | key->end;

	return lookup_hash((key->path_hash | (uint64_t)key->thread << 32) ^ shape << 40);
}

/* Index + 1, 0 when there is none. Of @key: thread, node, path_hash, kind, end. */
uint32_t profile_find_stack(const struct flameprof_profile *p, const struct profile_stack *key);
int profile_reserve_stack(struct flameprof_profile *p);
uint32_t profile_commit_stack(struct flameprof_profile *p, const struct profile_stack *stack);

uint32_t profile_find_thread(
	const struct flameprof_profile *p, const struct profile_thread_key *key);
/* The first of another run that has its tid and @name: the same thread as far as can be told. */
uint32_t profile_find_thread_of_other_run(const struct flameprof_profile *p,
	const struct profile_thread_key *key, const char *name);
int profile_reserve_thread(struct flameprof_profile *p);
uint32_t profile_commit_thread(
	struct flameprof_profile *p, const struct profile_thread_key *key, const char *name);

int profile_reserve_samples(struct flameprof_profile *p, uint64_t n);

/* @name is copied. Returns 0, -ENOSPC, -ENOMEM. */
int profile_add_mark(
	struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name);

/* Forget what came after these counts were taken. Cannot fail. */
struct profile_counts {
	uint32_t nodes, stacks, threads, modules, marks;
	uint64_t samples;
};
struct profile_counts profile_counts(const struct flameprof_profile *p);
/* @hashes: room for counts->nodes + 1 numbers. */
void profile_cut(
	struct flameprof_profile *p, const struct profile_counts *counts, uint32_t *hashes);

#endif
