/* SPDX-License-Identifier: MIT */
/*
 * gdb's JIT interface: a list of ELF files in memory, and a function in which gdb has a breakpoint.
 * gdb reads a file when it is announced, or when it attaches; a file is never changed after that
 * but replaced. A region is told in parts of up to 64 slots, so that a new name costs a gdb that
 * watches one small file, and a gdb that attaches later need not read a file for each stub.
 * Source: gdb's manual, "JIT Interface".
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <stdlib.h>

#include "libprof/trampoline/publish_cfi.h"
#include "libprof/trampoline/publish_gdb_elf.h"

#define PART_SLOTS 64u

struct jit_code_entry {
	struct jit_code_entry *next_entry;
	struct jit_code_entry *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

enum jit_action { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

struct jit_descriptor {
	uint32_t version;
	uint32_t action_flag;
	struct jit_code_entry *relevant_entry;
	struct jit_code_entry *first_entry;
};

/*
 * The names gdb looks for, in the dynamic symbol table since the rest may be stripped. Weak, so
 * that the copy of a host that links another compiler's (LLVM) is everybody's; the version they are
 * exported with keeps a library with a copy of its own from being given ours.
 */
extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

__attribute__((weak, visibility("default"))) struct jit_descriptor __jit_debug_descriptor = {
	.version = 1};

__attribute__((weak, noinline, visibility("default"))) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

struct part {
	struct jit_code_entry entry;
	struct publish_gdb_part what;
	struct publish_bytes image; /* empty: not announced */
	struct publish_bytes cfi;
	struct part *next_stale;
	int stale; /* on the list: the image is not what `what` says */
};

struct parts {
	uint32_t count;
	struct part part[];
};

static struct part *stale_parts;

static void announce(struct jit_code_entry *entry, enum jit_action action)
{
	__jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = action;
	__jit_debug_register_code();
	__jit_debug_descriptor.action_flag = JIT_NOACTION;
	__jit_debug_descriptor.relevant_entry = NULL;
}

/* A gdb may stop us between any two instructions and read the list from its head on. */
static void link_entry(struct jit_code_entry *entry)
{
	struct jit_code_entry *first = __jit_debug_descriptor.first_entry;

	entry->prev_entry = NULL;
	entry->next_entry = first;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (first)
		first->prev_entry = entry;
	__jit_debug_descriptor.first_entry = entry;
	announce(entry, JIT_REGISTER);
}

static void unlink_entry(struct jit_code_entry *entry)
{
	if (entry->prev_entry)
		entry->prev_entry->next_entry = entry->next_entry;
	else
		__jit_debug_descriptor.first_entry = entry->next_entry;
	if (entry->next_entry)
		entry->next_entry->prev_entry = entry->prev_entry;
	announce(entry, JIT_UNREGISTER);
}

static void withdraw(struct part *part)
{
	if (!part->image.data)
		return;
	unlink_entry(&part->entry);
	free(part->image.data);
	part->image = (struct publish_bytes){0};
}

static int renew(struct part *part)
{
	struct publish_bytes image = {0};
	int error;

	withdraw(part);
	if (!part->what.named)
		return 0;
	error = publish_gdb_elf(&image, &part->what);
	if (error) {
		free(image.data);
		return error;
	}
	part->image = image;
	part->entry.symfile_addr = (const char *)image.data;
	part->entry.symfile_size = image.used;
	link_entry(&part->entry);
	return 0;
}

static int start(void)
{
	return __jit_debug_descriptor.version == 1 ? 0 : -ENOTSUP;
}

static int add_region(const struct region *region, void **state)
{
	uint32_t count = (region->slots + PART_SLOTS - 1) / PART_SLOTS;
	struct parts *parts = calloc(1, sizeof(*parts) + count * sizeof(struct part));

	if (!parts)
		return -ENOMEM;
	parts->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct part *part = &parts->part[i];
		uint32_t first = i * PART_SLOTS;
		uint32_t rest = region->slots - first;

		part->what.region = region;
		part->what.first = first;
		part->what.count = rest < PART_SLOTS ? rest : PART_SLOTS;
		part->what.cfi = &part->cfi;
	}
	*state = parts;
	return 0;
}

static void remove_region(const struct region *region, void *state)
{
	struct parts *parts = state;

	(void)region;
	for (uint32_t i = 0; i < parts->count; i++) {
		struct part *part = &parts->part[i];

		withdraw(part);
		free(part->cfi.data);
		for (struct part **at = &stale_parts; part->stale; at = &(*at)->next_stale) {
			if (*at != part)
				continue;
			*at = part->next_stale;
			part->stale = 0;
			break;
		}
	}
	free(parts);
}

static struct part *change(struct parts *parts, uint32_t slot)
{
	struct part *part = &parts->part[slot / PART_SLOTS];

	if (!part->stale) {
		part->stale = 1;
		part->next_stale = stale_parts;
		stale_parts = part;
	}
	return part;
}

/* Without call-frame information that we understand, gdb has the names and reads prologues. */
static void read_cfi(struct part *part)
{
	const struct region *region = part->what.region;
	uintptr_t lo = publish_slot_start(region, part->what.first);
	uintptr_t hi = publish_slot_start(region, part->what.first + part->what.count);

	if (region->kind == FLAMEPROF_CODE_HOST)
		hi = region->start + region->bytes;
	if (publish_cfi_write(&part->cfi, region, lo, hi, 0)) {
		free(part->cfi.data);
		part->cfi = (struct publish_bytes){0};
	}
}

static int add_slot(const struct region *region, uint32_t slot, void *state)
{
	struct part *part = change(state, slot);

	(void)region;
	if (!part->cfi.data)
		read_cfi(part);
	part->what.named |= 1ULL << slot % PART_SLOTS;
	return 0;
}

static void remove_slot(const struct region *region, uint32_t slot, void *state)
{
	struct part *part = change(state, slot);

	(void)region;
	part->what.named &= ~(1ULL << slot % PART_SLOTS);
}

static int flush(void)
{
	int first = 0;

	while (stale_parts) {
		struct part *part = stale_parts;
		int error;

		stale_parts = part->next_stale;
		part->stale = 0;
		error = renew(part);
		if (!first)
			first = error;
	}
	return first;
}

const struct publisher publisher_gdb = {
	.flag = FLAMEPROF_PUBLISH_GDB,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
	.add_slot = add_slot,
	.remove_slot = remove_slot,
	.flush = flush,
};
