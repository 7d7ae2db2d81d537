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

#endif
