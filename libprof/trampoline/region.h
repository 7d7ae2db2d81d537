/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: region_find() and region_resolve() run in the handler. */
/*
 * All generated code of the process as an ordered set of regions: a chunk of equal stubs, or one
 * piece of the host's code. Readers take no lock and may be interrupted threads or handlers;
 * writers take one lock.
 *
 * A struct region is never given back to the system and keeps its type, so that a reader that lost
 * a race reads old values, not other things; `generation` tells it.
 */
#ifndef LIBPROF_TRAMPOLINE_REGION_H
#define LIBPROF_TRAMPOLINE_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof_stub.h"
#include "libprof/unwind/unwind.h"

/* ---- the tree -------------------------------------------------------------------------------- */
/*
 * The ordered set behind region.h: one array of leaves, each an array of entries in order of
 * address.
 *
 *	top ──▶ { low[], leaf[] } ──▶ { start[], region[] } ──▶ struct region
 *
 * low[i] is the least start that leaf i may hold; low[0] is 0.
 *
 * A node that readers can see is never written to, but for single words that are right before and
 * after: a top's pointer to a leaf; a leaf's to a region that goes, which becomes NULL. For
 * anything else writers make a new leaf, or a new top when leaves come or go. What was replaced
 * waits until REGION_TREE_WAIT other nodes were replaced before it is written again. A reader
 * counts replacements before and after: fewer than that, and nothing that it read was rewritten.
 * Only a reader that was kept off the CPU meanwhile begins anew; nobody waits.
 */

/* Small enough that all of a leaf can be asked of memory at once. */
#define REGION_TREE_LEAF 32u
#define REGION_TREE_WAIT 64u
#define REGION_TREE_LINE 64u /* of the CPU's cache, usually */

struct region_leaf {
	struct region_leaf *next_deferred;
	uint64_t deferred_at; /* region_tree.replaced when it was */
	uint32_t count;
	uintptr_t start[REGION_TREE_LEAF] __attribute__((aligned(REGION_TREE_LINE)));
	struct region *region[REGION_TREE_LEAF];
};

struct region_top {
	struct region_top *next_deferred;
	uint64_t deferred_at;
	uint32_t room;
	uint32_t count;
	/* uintptr_t low[room]; struct region_leaf *leaf[room]; */
	uintptr_t word[];
};

struct region_tree {
	struct region_top *top; /* atomic; NULL: empty */
	uint64_t replaced;	/* atomic: nodes replaced so far */
	/* Oldest first; the writers'. */
	struct region_leaf *first_leaf, **last_leaf;
	struct region_top *first_top, **last_top;
	struct region_top *outgrown; /* too small to be used again */
};

/* The process's. */
extern struct region_tree region_tree;

static inline uintptr_t *region_top_low(struct region_top *top)
{
	return top->word;
}

static inline struct region_leaf **region_top_leaf(struct region_top *top)
{
	return (struct region_leaf **)(top->word + top->room);
}

/* The region that holds @address, or NULL. Context: signal-safe. */
struct region *region_tree_find(struct region_tree *tree, uintptr_t address);

/*
 * Returns 0, -EEXIST when [start, start + bytes) overlaps a region, -ENOMEM.
 * Context: one writer at a time, not a handler; as are all below.
 */
int region_tree_add(struct region_tree *tree, struct region *region);

/* Returns 0, or -ENOENT. Needs no memory. */
int region_tree_remove(struct region_tree *tree, struct region *region);

/* As region_each(). */
int region_tree_each(struct region_tree *tree,
	int (*visit)(void *context, struct region *region), void *context);

/* ---- the process's set ----------------------------------------------------------------------- */

/* What is known of one stub. Slot i of a region lies at start + i * stride. */
struct region_slot {
	uint64_t space;	   /* atomic: its address in the code space; 0: no stub */
	const char *name;  /* a struct permanent's, which stays with the slot */
	uintptr_t payload;
	uint64_t published; /* atomic: the image whose control ring has its name */
};

/* The least stride of stubs of @code_bytes. */
#define REGION_STRIDE(code_bytes) ((((code_bytes) + 7u) & ~7u) + 24u)

struct region {
	uintptr_t start; /* first of all what look-ups read, in one line of the cache */
	size_t bytes;
	uint32_t generation; /* atomic: even: as it says; odd: being changed */
	enum flameprof_code_kind kind;
	/*
	 * Bytes from stub to stub; a host's code: all of it. For stubs at least
	 * REGION_STRIDE(code_bytes): perf wants an index to the call-frame information behind each.
	 */
	uint32_t stride;
	uint32_t code_bytes; /* of a stub */
	uint32_t slots;	     /* 1 for a host's code */
	int of_file;	     /* pages of a memfd, not anonymous memory */
	int hides_target;    /* the frame above a stub's is to be left out */
	struct region_slot *slot;
	/*
	 * Where the unwinder's cache has the rows of one stub's code, which all stubs of the region
	 * share: an address of the code space that stands for nothing else.
	 */
	uint64_t row_space;
	/*
	 * Call-frame information: an .eh_frame_hdr with a search table that covers the region, or
	 * 0: frame pointers. Both lie in [cfi_start, cfi_end).
	 */
	uintptr_t eh_frame_hdr;
	uintptr_t cfi_start, cfi_end;
	const void *eh_frame; /* the section it indexes */
	size_t eh_frame_bytes; /* with the four zero bytes that end it */
	/*
	 * The same in one FDE, for unwinders that go through all of them at first (libgcc), ended
	 * by four zero bytes; NULL: there is none.
	 */
	const void *brief_frame;
	void *owner;
	void *published; /* publish.c's, under its lock; NULL in a new region */
} __attribute__((aligned(64)));

/*
 * A stretch of @bytes in the code space that nobody had and nobody will get.
 * Context: signal-safe.
 */
uint64_t region_space_new(size_t bytes);

/*
 * Add @region, borrowed until region_remove(). `bytes` is not 0 and nothing of it changes while it
 * is in the set. Returns 0, -EEXIST when it overlaps another, -ENOMEM. Context: any thread, not a
 * handler; as are region_remove() and region_each().
 */
int region_add(struct region *region);
void region_remove(struct region *region);

/*
 * What is written into a region that was in the set before, readers may still be reading: to be
 * done between these two. Context: one thread at a time.
 */
void region_change_begin(struct region *region);
void region_change_end(struct region *region);

/* The region @pc lies in, or NULL. Context: signal-safe. */
const struct region *region_find(uintptr_t pc);

/* A stub, or a piece of the host's code, as it was at one moment. */
struct region_stub {
	uintptr_t start;
	size_t bytes; /* up to the next stub */
	uint64_t space;
	uintptr_t payload;
	const char
		*name; /* a struct permanent's; may get another's letters when the stub is gone */
	struct region_slot *slot;
	enum flameprof_code_kind kind;
	uintptr_t eh_frame_hdr, cfi_start, cfi_end;
	uint64_t row_space;
	int hides_target;
};

/* The stub @pc lies in. Returns 0, or -ENOENT. Context: signal-safe. */
int region_find_stub(uintptr_t pc, struct region_stub *out);

/* Call @visit for every region, in order of address, under the writers' lock. */
int region_each(int (*visit)(void *context, struct region *region), void *context);

/*
 * The stub or code at @pc as the unwinder wants it: number WIRE_MODULE_CODE, bias such that
 * pc - bias is its address in the code space. With @announce its name is in this image's control
 * ring when the call returns.
 * Returns 0, or -ENOENT. Context: signal-safe.
 */
int region_resolve(uintptr_t pc, int announce, struct unwind_module *out);

/*
 * From now on no fork child finds our lock held by a thread that it does not have. To be called
 * before the lock is taken first, and before others watch for a lock that they hold around it.
 * Does its work once. Context: not a handler.
 */
void region_watch_forks(void);

#endif
