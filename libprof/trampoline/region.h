/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: region_find() and region_resolve() run in the handler. */
/*
 * The ordered set of all generated code of the process. A region is a chunk of equal stubs, or one
 * piece of the host's own code. Readers, which may be signal handlers, take no lock. Writers take
 * one lock.
 *
 * The memory of a struct region is never used for anything else. So a reader that still reads a
 * removed region gets old values or those of the next region. `generation` shows that the region
 * has changed.
 */
#ifndef LIBPROF_TRAMPOLINE_REGION_H
#define LIBPROF_TRAMPOLINE_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof_stub.h"
#include "libprof/unwind/unwind.h"

/* ---- the tree -------------------------------------------------------------------------------- */
/*
 * A two-level tree: one array of leaves, each an array of entries in order of address.
 *
 *	top ──▶ { low[], leaf[] } ──▶ { start[], region[] } ──▶ struct region
 *
 * low[i] is the lowest start that leaf i may have; low[0] is 0.
 *
 * In a node that readers can see, writers change only single words that are valid before and after
 * the change: a top's pointer to a leaf, or a leaf's pointer to a removed region, which becomes
 * NULL. For any other change, writers make a new leaf, or a new top if the number of leaves
 * changes.
 *
 * A replaced node is reused only after REGION_TREE_WAIT more nodes were replaced. A reader compares
 * the count of replaced nodes before and after its search. If the count grew by less than
 * REGION_TREE_WAIT, no node that it read was reused. Otherwise the reader searches again. So only a
 * reader that was off the CPU for long searches again, and nobody waits.
 */

/* Entries of a leaf. A whole leaf is small enough to be prefetched at once. */
#define REGION_TREE_LEAF 32u
#define REGION_TREE_WAIT 64u
#define REGION_TREE_LINE 64u /* of a typical cache line */

struct region_leaf {
	struct region_leaf *next_deferred;
	/* The value of region_tree.replaced when this node was replaced. */
	uint64_t deferred_at;
	uint32_t count;
	uintptr_t start[REGION_TREE_LEAF] __attribute__((aligned(REGION_TREE_LINE)));
	struct region *region[REGION_TREE_LEAF];
};

struct region_top {
	struct region_top *next_deferred;
	uint64_t deferred_at;
	uint32_t room;
	uint32_t count;
	/* Contains uintptr_t low[room], then struct region_leaf *leaf[room]. */
	uintptr_t word[];
};

struct region_tree {
	struct region_top *top; /* atomic; NULL: empty */
	uint64_t replaced;	/* atomic: nodes replaced so far */
	/* Replaced nodes, oldest first. Only writers use these lists. */
	struct region_leaf *first_leaf, **last_leaf;
	struct region_top *first_top, **last_top;
	struct region_top *outgrown; /* too small for reuse */
};

/* The set of this process. */
extern struct region_tree region_tree;

static inline uintptr_t *region_top_low(struct region_top *top)
{
	return top->word;
}

static inline struct region_leaf **region_top_leaf(struct region_top *top)
{
	return (struct region_leaf **)(top->word + top->room);
}

/* Returns the region that contains @address, or NULL. Context: signal-safe. */
struct region *region_tree_find(struct region_tree *tree, uintptr_t address);

/*
 * Add @region. Returns 0, -EEXIST if it overlaps another region, or -ENOMEM. Context of all
 * writers: one at a time, not a handler.
 */
int region_tree_add(struct region_tree *tree, struct region *region);

/* Remove @region; allocates no memory. Returns 0 or -ENOENT. */
int region_tree_remove(struct region_tree *tree, struct region *region);

/* Call @visit for every region: see region_each(). */
int region_tree_each(struct region_tree *tree,
	int (*visit)(void *context, struct region *region), void *context);

/* ---- the set of this process ----------------------------------------------------------------- */

/* One slot, which may have a stub. Slot i of a region describes the code at start + i * stride. */
struct region_slot {
	/* Atomic: the stub's address in the code space; 0: there is no stub. */
	uint64_t space;
	/* Data of a struct permanent, whose memory is reused only for names of this slot. */
	const char *name;
	uintptr_t payload;
	/* Atomic: the process image (one exec) whose control ring has the name. */
	uint64_t published;
};

/* The least stride for stubs of @code_bytes, with space for a table: see region.stride. */
#define REGION_STRIDE(code_bytes) ((((code_bytes) + 7u) & ~7u) + 24u)

struct region {
	/* First in the struct, so that a search reads one cache line. */
	uintptr_t start;
	size_t bytes;
	/* Atomic. The number is odd while the fields are being changed. */
	uint32_t generation;
	enum flameprof_code_kind kind;
	/*
	 * Bytes from one stub to the next; for the host's code, its size. perf needs a search table
	 * of call-frame information after each stub, so a stub's stride is at least
	 * REGION_STRIDE(code_bytes).
	 */
	uint32_t stride;
	uint32_t code_bytes; /* of a stub */
	uint32_t slots;	     /* 1 for a host's code */
	/* The pages are those of a memfd, not anonymous memory. */
	int of_file;
	/* Omit the frame of the target, which is the stub's callee, from stacks. */
	int hides_target;
	struct region_slot *slot;
	/*
	 * The unwinder caches the rows of one stub for all stubs of the region, under this address
	 * in the code space. No stub has this address.
	 */
	uint64_t row_space;
	/*
	 * Call-frame information: an .eh_frame_hdr with a search table for the region; 0 if the
	 * code has frame pointers. The .eh_frame_hdr and its .eh_frame are in [cfi_start, cfi_end).
	 */
	uintptr_t eh_frame_hdr;
	uintptr_t cfi_start, cfi_end;
	/* The section that eh_frame_hdr indexes. */
	const void *eh_frame;
	size_t eh_frame_bytes; /* with the four zero bytes */
	/*
	 * One FDE for all stubs, followed by four zero bytes, for unwinders that read all FDEs at
	 * their first search (libgcc); NULL: none.
	 */
	const void *brief_frame;
	void *owner;
	/* State of publish.c, under its lock; NULL in a new region. */
	void *published;
} __attribute__((aligned(64)));

/*
 * Reserve @bytes consecutive numbers of the code space (WIRE_MODULE_CODE), and return the first. No
 * number is ever reserved twice. Context: signal-safe.
 */
uint64_t region_space_new(size_t bytes);

/*
 * Add @region, borrowed until region_remove(). Its `bytes` must not be 0, and its fields must not
 * change while it is in the set. Returns 0, -EEXIST if it overlaps another region, or -ENOMEM.
 * Context of region_add(), region_remove() and region_each(): any thread, not a handler.
 */
int region_add(struct region *region);
void region_remove(struct region *region);

/*
 * Call these before and after changing a region's fields, so that a reader that found the region
 * before it left the set notices the change. Context: one thread at a time.
 */
void region_change_begin(struct region *region);
void region_change_end(struct region *region);

/* Returns the region that contains @pc, or NULL. Context: signal-safe. */
const struct region *region_find(uintptr_t pc);

/* A consistent copy of the data of a stub, or of a piece of the host's code. */
struct region_stub {
	uintptr_t start;
	size_t bytes; /* up to the next stub */
	uint64_t space;
	uintptr_t payload;
	/* The data of a struct permanent. It is overwritten when the slot gets another stub. */
	const char *name;
	struct region_slot *slot;
	enum flameprof_code_kind kind;
	uintptr_t eh_frame_hdr, cfi_start, cfi_end;
	uint64_t row_space;
	int hides_target;
};

/* Find the stub that contains @pc. Returns 0 or -ENOENT. Context: signal-safe. */
int region_find_stub(uintptr_t pc, struct region_stub *out);

/*
 * Call @visit for every region, in order of address, with the writers' lock held, until @visit
 * returns a value other than 0. Returns that value, or 0.
 */
int region_each(int (*visit)(void *context, struct region *region), void *context);

/*
 * Describe the stub or code at @pc for the unwinder: number is WIRE_MODULE_CODE, and pc - bias is
 * the address in the code space. With @announce, also write its name to the control ring of this
 * process image (one exec), unless the ring is full. Returns 0 or -ENOENT. Context: signal-safe.
 */
int region_resolve(uintptr_t pc, int announce, struct unwind_module *out);

/*
 * Hold this file's lock across every fork(), so that it is free in the child. Call this before the
 * lock is first taken, and before outer locks are registered. Repeated calls do nothing.
 * Context: not a handler.
 */
void region_watch_forks(void);

#endif
