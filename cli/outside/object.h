/* SPDX-License-Identifier: MIT */
/*
 * What unwinding needs to know of a mapped ELF file: where its segments go, its build-id, and a
 * copy of its call-frame information. Taken from the file when that is surely the mapped one, so
 * that nothing is paged into the target for our sake; else (deleted, replaced, the vDSO) from the
 * target's memory. A copy, because a file that is cut short under a mapping of ours would end us.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OBJECT_H
#define CLI_OUTSIDE_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "cli/gather/maps.h"
#include "libprof/wire.h"

#define OBJECT_LOADS_MAX 32

struct object_load {
	uint64_t vaddr, offset, bytes; /* as in the file */
};

struct object {
	uint32_t number; /* WIRE_FRAME module number, from 1, for as long as we run */
	uint64_t inode;
	unsigned major, minor;
	struct timespec changed; /* of the file; an inode's number can be used again */
	char *path;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	struct object_load loads[OBJECT_LOADS_MAX];
	unsigned load_count;
	/* Call-frame information, ELF virtual addresses; header 0: none. */
	uint64_t header;
	uint64_t cfi_start, cfi_end;
	char *cfi; /* copy of [cfi_start, cfi_end) */
	uint64_t dynamic; /* section, ELF virtual address; 0: none */
};

struct objects {
	struct object **list;
	unsigned count, room;
};

/*
 * The object that @mapping (of code, of @pid) shows a part of; @first is the mapping of the same
 * file with its first byte, NULL when there is none.
 * Returns a pointer that is valid until objects_release(), or NULL when it is no ELF file of ours,
 * can't be read, or there are too many.
 */
const struct object *objects_find(struct objects *objects, pid_t pid,
	const struct mapping *mapping, const struct mapping *first);
void objects_release(struct objects *objects);

/* What to subtract from addresses in @mapping to have ELF virtual ones. Returns 0 or -ENOENT. */
int object_bias(const struct object *object, const struct mapping *mapping, uintptr_t *bias);

/* ---- a target's memory ----------------------------------------------------------------------- */

/*
 * Read by process_vm_readv(2) in stretches of a few pages, which are kept while its owner is
 * stopped. A walk asks for some hundred words that lie in two or three stretches; a system call for
 * each word is what makes stock accessors slow.
 */
#define MEMORY_PAGE    4096u
#define MEMORY_SLOTS   64u /* pages kept, at the place their number says */
#define MEMORY_STRETCH 4u  /* pages read at once */

struct memory {
	pid_t pid;
	/* A stack that was copied while its thread ran on, from @stack_start on; what lies above
	 * the copy is not read, for it may be another one's by now. NULL: none. */
	const char *stack;
	uintptr_t stack_start;
	size_t stack_bytes;
	uintptr_t held[MEMORY_SLOTS]; /* address of the page in each slot; 1: none */
	char page[MEMORY_SLOTS][MEMORY_PAGE];
};

/* Forget what was kept and read from @pid from now on: before each walk. */
void memory_begin(struct memory *memory, pid_t pid);

/* The same, with the @bytes bytes at @stack (borrowed) for what was at @start. */
void memory_begin_copied(struct memory *memory, pid_t pid, const char *stack, uintptr_t start,
	size_t bytes);

/* One word at any alignment. Returns 0, or -EFAULT when it cannot be read. */
int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value);

/* @bytes bytes, past the cache. Returns 0, or -EFAULT when they are not all there. */
int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes);

#endif
