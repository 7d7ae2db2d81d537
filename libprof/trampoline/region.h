/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: region_find() and region_resolve() run in the handler. */
/*
 * All generated code of the process as an ordered set of regions: a chunk of equal stubs, or one
 * piece of the host's code. Readers take no lock and may be interrupted threads or handlers; writers
 * take one lock.
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

/* What is known of one stub. Slot i of a region lies at start + i * stride. */
struct region_slot {
	uint64_t space;	   /* atomic: its address in the code space; 0: no stub */
	const char *name;  /* owned by the region's maker, readable for ever */
	uintptr_t payload;
	uint64_t published; /* atomic: the image whose control ring has its name */
};

/* The least stride of stubs of @code_bytes. */
#define REGION_STRIDE(code_bytes) (((code_bytes) + 7u & ~7u) + 24u)

struct region {
	uintptr_t start;
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
	struct region_slot *slot;
	/*
	 * Call-frame information: an .eh_frame_hdr with a search table that covers the region, or 0:
	 * frame pointers.
	 */
	uintptr_t eh_frame_hdr;
	const void *eh_frame; /* the section it indexes */
	size_t eh_frame_bytes; /* with the four zero bytes that end it */
	int of_file;	       /* pages of a memfd, not anonymous memory */
	void *owner;
	void *published; /* publish.c's, under its lock; NULL in a new region */
};

/* A stretch of @bytes in the code space that nobody had and nobody will get. Context: signal-safe. */
uint64_t region_space_new(size_t bytes);

/*
 * Add @region, borrowed until region_remove().
 * Returns 0, -EEXIST when it overlaps another, -ENOMEM.
 */
int region_add(struct region *region);
void region_remove(struct region *region);

/* The region @pc lies in, or NULL. Context: signal-safe. */
const struct region *region_find(uintptr_t pc);

/* Call @visit for every region, in order of address, under the writers' lock. */
int region_each(int (*visit)(void *context, struct region *region), void *context);

/*
 * The stub or code at @pc as the unwinder wants it: number WIRE_MODULE_CODE, bias such that
 * pc - bias is its address in the code space. With @announce its name is in this image's control
 * ring when the call returns.
 * Returns 0, or -ENOENT. Context: signal-safe.
 */
int region_resolve(uintptr_t pc, int announce, struct unwind_module *out);

#endif
