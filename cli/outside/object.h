/* SPDX-License-Identifier: MIT */
/*
 * ELF files that are mapped in targets: their segments, build-id, and a copy of their call-frame
 * information. They are read from the file if it is certainly the mapped one, so that no page is
 * loaded into the target by flamerun; otherwise (deleted, replaced, the vDSO) from the target's
 * memory. The information is copied, not mapped, because reading a mapped file that somebody
 * truncates would end flamerun.
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
	uint32_t number; /* module number in frames, from 1; the same for the whole run */
	uint64_t inode;
	unsigned major, minor;
	struct timespec changed; /* ctime of the file, because inode numbers are reused */
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
 * Find or read the object of which @mapping, code of @pid, maps a part. @first: the mapping of the
 * file's first byte, or NULL.
 * Returns a pointer that is valid until objects_release(); or NULL if it is no ELF file for this
 * CPU, can't be read, or there are too many objects.
 */
const struct object *objects_find(struct objects *objects, pid_t pid,
	const struct mapping *mapping, const struct mapping *first);
void objects_release(struct objects *objects);

/*
 * Compute *@bias, which is subtracted from an address in @mapping to get its ELF virtual address.
 * Returns 0 or -ENOENT.
 */
int object_bias(const struct object *object, const struct mapping *mapping, uintptr_t *bias);

/* ---- a target's memory ----------------------------------------------------------------------- */

/*
 * Memory is read by process_vm_readv(2), a few pages at once, and cached during one walk. A walk
 * reads some hundred words out of two or three such groups of pages. One system call for each word
 * is what makes the usual accessors slow.
 */
#define MEMORY_PAGE    4096u
#define MEMORY_SLOTS   64u /* cached pages; page number modulo this is the slot */
#define MEMORY_STRETCH 4u  /* pages that are read at once */

struct memory {
	pid_t pid;
	/*
	 * Copy of a thread's stack from @stack_start on, or NULL. Since the thread runs again,
	 * stack memory above the copy is not read.
	 */
	const char *stack;
	uintptr_t stack_start;
	size_t stack_bytes;
	uintptr_t held[MEMORY_SLOTS]; /* address of the page in each slot; 1: no page */
	char page[MEMORY_SLOTS][MEMORY_PAGE];
};

/* Empty the cache and read from @pid from now on. Call it before each walk. */
void memory_begin(struct memory *memory, pid_t pid);

/* As memory_begin(), with @bytes bytes at @stack (borrowed) as the contents of address @start. */
void memory_begin_copied(struct memory *memory, pid_t pid, const char *stack, uintptr_t start,
	size_t bytes);

/* Read one word at any alignment. Returns 0, or -EFAULT if it cannot be read. */
int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value);

/* Read @bytes bytes without the cache. Returns 0, or -EFAULT if a part cannot be read. */
int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes);

#endif
