/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the readers of the set of regions. */
/*
 * Find generated code by address without a lock. The walk in the handler calls this through the
 * pointer modules_code. flameprof_lookup() uses it, too.
 */
#include <errno.h>
#include <stddef.h>

#include "libprof/flameprof_stub.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"
#include "libprof/trampoline/region.h"
#include "libprof/wire.h"

/* Defined in this file, so that this file can be linked without the code that sets it. */
struct other_copy other_copy;

/* Returns the index of the last of @count ascending words that is <= @address; 0 if none is. */
static uint32_t last_not_above(const uintptr_t *word, uint32_t count, uintptr_t address)
{
	uint32_t at = 0;

	/* This compiles to no branch: half of such branches would be mispredicted. */
	while (count > 1) {
		uint32_t half = count / 2;

		at += __atomic_load_n(&word[at + half], __ATOMIC_RELAXED) <= address ? half : 0;
		count -= half;
	}
	return at;
}

static struct region *find_in_leaf(struct region_leaf *leaf, uintptr_t address)
{
	struct region *region;
	uint32_t count, at;

	/* Prefetch the whole leaf, to wait for memory once and not at each step of the search. */
	for (at = 0; at < REGION_TREE_LEAF; at += REGION_TREE_LINE / sizeof(uintptr_t)) {
		__builtin_prefetch(&leaf->start[at]);
		__builtin_prefetch(&leaf->region[at]);
	}
	count = __atomic_load_n(&leaf->count, __ATOMIC_RELAXED);
	if (!count || count > REGION_TREE_LEAF)
		return NULL;
	at = last_not_above(leaf->start, count, address);
	region = __atomic_load_n(&leaf->region[at], __ATOMIC_RELAXED);
	if (!region)
		return NULL;
	__builtin_prefetch(region + 1); /* the slot of host code */
	if (address - __atomic_load_n(&region->start, __ATOMIC_RELAXED) >=
		__atomic_load_n(&region->bytes, __ATOMIC_RELAXED))
		return NULL;
	return region;
}

static struct region *find_in_top(struct region_top *top, uintptr_t address)
{
	uint32_t count = __atomic_load_n(&top->count, __ATOMIC_RELAXED);
	struct region_leaf *leaf;
	uint32_t at;

	if (!count || count > top->room)
		return NULL;
	at = last_not_above(region_top_low(top), count, address);
	leaf = __atomic_load_n(&region_top_leaf(top)[at], __ATOMIC_ACQUIRE);
	return leaf ? find_in_leaf(leaf, address) : NULL;
}

struct region *region_tree_find(struct region_tree *tree, uintptr_t address)
{
	for (;;) {
		uint64_t before = __atomic_load_n(&tree->replaced, __ATOMIC_ACQUIRE);
		struct region_top *top = __atomic_load_n(&tree->top, __ATOMIC_ACQUIRE);
		struct region *found = top ? find_in_top(top, address) : NULL;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&tree->replaced, __ATOMIC_RELAXED) - before < REGION_TREE_WAIT)
			return found;
	}
}

struct region_tree region_tree;

const struct region *region_find(uintptr_t pc)
{
	return region_tree_find(&region_tree, pc);
}

uint64_t region_space_new(size_t bytes)
{
	/*
	 * First address of the code space. 0 means no stub. Small numbers are left out: they look
	 * like errors.
	 */
	static uint64_t next = 4096;

	/*
	 * A frame on the wire has 48 bits for the address. At a million new stubs per second, the
	 * addresses last for seven weeks.
	 */
	return __atomic_fetch_add(&next, (bytes + 15) & ~(size_t)15, __ATOMIC_RELAXED);
}

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

static int read_slot(const struct region *region, uintptr_t pc, struct region_stub *out)
{
	uintptr_t start = LOAD(region->start);
	size_t bytes = LOAD(region->bytes);
	uint32_t stride = LOAD(region->stride);
	struct region_slot *slots = LOAD(region->slot);
	uint32_t index = 0;

	/* The cast is safe, because a region has fewer than 2^32 bytes. */
	if (pc < start || pc - start >= bytes || !stride || !slots)
		return -ENOENT;
	if (bytes != stride)
		index = (uint32_t)(pc - start) / stride;
	if (index >= LOAD(region->slots))
		return -ENOENT;
	out->slot = &slots[index];
	out->start = start + (uintptr_t)index * stride;
	out->bytes = stride;
	out->kind = LOAD(region->kind);
	out->eh_frame_hdr = LOAD(region->eh_frame_hdr);
	out->cfi_start = LOAD(region->cfi_start);
	out->cfi_end = LOAD(region->cfi_end);
	out->row_space = LOAD(region->row_space);
	out->hides_target = LOAD(region->hides_target);
	out->space = __atomic_load_n(&out->slot->space, __ATOMIC_ACQUIRE);
	out->name = LOAD(out->slot->name);
	out->payload = LOAD(out->slot->payload);
	return out->space && out->name ? 0 : -ENOENT;
}

int region_find_stub(uintptr_t pc, struct region_stub *out)
{
	const struct region *region = region_find(pc);
	uint32_t generation;

	if (!region)
		return -ENOENT;
	generation = __atomic_load_n(&region->generation, __ATOMIC_ACQUIRE);
	if (generation & 1 || read_slot(region, pc, out))
		return -ENOENT;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/*
	 * If the stub was freed during the read, or another stub got its slot, it is not known to
	 * which of the two stubs @pc belongs.
	 */
	if (LOAD(region->generation) != generation || LOAD(out->slot->space) != out->space)
		return -ENOENT;
	return 0;
}

_Static_assert(sizeof(struct wire_code) + FLAMEPROF_NAME_BYTES + 8 <= WIRE_CONTROL_BYTES / 2,
	"a record with the longest name fits the control ring");

/*
 * Write the name of @stub to the control ring of this process image (one exec). If the ring is
 * full, the next sample with this stub tries again. If the name changes while it is copied, it
 * belongs to a newer stub and @stub has ended. The record then gets an address in the code space
 * that no frame has.
 */
static void write_code_record(const struct region_stub *stub, uint64_t image)
{
	uint32_t name_bytes = permanent_text_bytes(stub->name);
	uint32_t room = ((uint32_t)sizeof(struct wire_code) + name_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_code *record =
		(struct wire_code *)control_reserve(sampler.slot, data, room);

	if (!record)
		return;
	record->space = stub->space;
	record->bytes = stub->bytes;
	record->start = stub->start;
	record->flags = stub->hides_target ? WIRE_CODE_HIDES_TARGET : 0;
	record->name_bytes = permanent_copy(stub->name, record->name, name_bytes);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&stub->slot->space, __ATOMIC_RELAXED) == stub->space)
		__atomic_store_n(&stub->slot->published, image, __ATOMIC_RELEASE);
	else
		record->space = region_space_new(stub->bytes);
	control_commit(&record->control, room, WIRE_CONTROL_CODE);
}

int region_resolve(uintptr_t pc, int announce_name, struct unwind_module *out)
{
	struct region_stub stub;
	int error = region_find_stub(pc, &stub);

	if (error)
		return error;
	*out = (struct unwind_module){
		.start = stub.start,
		.end = stub.start + stub.bytes,
		.bias = stub.start - stub.space,
		.eh_frame_hdr = stub.eh_frame_hdr,
		.number = WIRE_MODULE_CODE,
		.cfi_start = stub.cfi_start,
		.cfi_end = stub.cfi_end,
		.row_bias = stub.start - stub.row_space,
	};
	if (announce_name && sampler.arena &&
		__atomic_load_n(&stub.slot->published, __ATOMIC_ACQUIRE) != sampler.image)
		write_code_record(&stub, sampler.image);
	return 0;
}

int flameprof_lookup(uintptr_t pc, struct flameprof_code_info *out)
{
	struct region_stub stub;
	int error;

	if (other_copy.flameprof_lookup)
		return other_copy.flameprof_lookup(pc, out);
	if (!out)
		return -EINVAL;
	error = region_find_stub(pc, &stub);
	if (error)
		return error;
	*out = (struct flameprof_code_info){
		.start = stub.start,
		.bytes = stub.bytes,
		.kind = stub.kind,
		.payload = stub.payload,
		.name = stub.name,
	};
	return 0;
}
