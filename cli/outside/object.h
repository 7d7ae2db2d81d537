/* SPDX-License-Identifier: MIT */
/*
 * ELF files that are mapped in targets: their segments, build-id, and a copy of their call-frame
 * information. The file is read if it certainly is the mapped one, because reading the target's
 * memory would load pages into the target. For a deleted or replaced file, and for the vDSO, the
 * target's memory is read. Call-frame information is copied and not mapped, because reading a
 * mapped file that was truncated would kill flamerun by SIGBUS.
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
	/* Module number in frames, from 1. */
	uint32_t number;
	uint64_t inode;
	unsigned major, minor;
	/* ctime of the file, because inode numbers are reused */
	struct timespec changed;
	char *path;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	struct object_load loads[OBJECT_LOADS_MAX];
	unsigned load_count;
	/* ELF virtual addresses of .eh_frame_hdr (0: none) and of all call-frame information. */
	uint64_t header;
	uint64_t cfi_start, cfi_end;
	char *cfi;	  /* copy of that range */
	uint64_t dynamic; /* its vaddr; 0: none */
};

struct objects {
	struct object **list;
	unsigned count, room;
};

/*
 * Find or read the object of the file that code mapping @mapping of @pid maps. @first is the
 * mapping of the file's first byte, or NULL. Returns a pointer that is valid until
 * objects_release(), or NULL if the file is no ELF file for this CPU, cannot be read, or is one too
 * many.
 */
const struct object *objects_find(struct objects *objects, pid_t pid,
	const struct mapping *mapping, const struct mapping *first);
void objects_release(struct objects *objects);

/* Set *@bias to the load bias of @mapping (memory address less vaddr). Returns 0 or -ENOENT. */
int object_bias(const struct object *object, const struct mapping *mapping, uintptr_t *bias);

/* ---- a target's memory ----------------------------------------------------------------------- */

/*
 * Read another process's memory by process_vm_readv(2), MEMORY_STRETCH pages at once, and cache the
 * pages during one walk. A walk reads some hundred words from two or three such groups of pages, so
 * one system call per word would be slow.
 */
#define MEMORY_PAGE    4096u
/* Number of cached pages. A page is cached in slot (page number % MEMORY_SLOTS). */
#define MEMORY_SLOTS   64u
#define MEMORY_STRETCH 4u /* pages read at once */

struct memory {
	pid_t pid;
	/*
	 * Copy of a thread's stack from address `stack_start` on, or NULL. The part of the stack
	 * above the copy counts as unreadable, because the thread has changed it since.
	 */
	const char *stack;
	uintptr_t stack_start;
	size_t stack_bytes;
	/* Address of the page that is cached in each slot; 1 if there is none. */
	uintptr_t held[MEMORY_SLOTS];
	char page[MEMORY_SLOTS][MEMORY_PAGE];
};

/* Empty the cache, and read @pid from now on. Call this before each walk: memory may change. */
void memory_begin(struct memory *memory, pid_t pid);

/* As memory_begin(), but @bytes at address @start are read from the copy @stack (borrowed). */
void memory_begin_copied(struct memory *memory, pid_t pid, const char *stack, uintptr_t start,
	size_t bytes);

/* Read the word at @address, which may be unaligned. Returns 0, or -EFAULT if it cannot be read. */
int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value);

/*
 * Read @bytes bytes at @address without the cache. Returns 0, or -EFAULT if a part cannot be read.
 */
int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes);

#endif
