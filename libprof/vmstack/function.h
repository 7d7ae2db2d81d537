/* SPDX-License-Identifier: MIT */
/*
 * Functions of a virtual machine's language. Each is stored once per process, for ever, and has an
 * address in the code space, so that its frame is one word like any other. Its name is written to
 * the control ring, once for each process image, before the first sample that contains the
 * function.
 */
#ifndef LIBPROF_VMSTACK_FUNCTION_H
#define LIBPROF_VMSTACK_FUNCTION_H

#include <stdint.h>

#include "libprof/flameprof_vm.h"

/* Limits of the table: number of functions; total bytes of names and files. */
#define FUNCTIONS_MAX	   (1u << 20)
#define FUNCTION_TEXT_MAX  (128u << 20)
/*
 * Longest name or file in bytes. Longer ones are cut; functions that are equal after the cut are
 * one function.
 */
#define FUNCTION_NAME_BYTES FLAMEPROF_NAME_BYTES

/*
 * A function, which is never freed. Only the fields marked as atomic or as under the lock change.
 */
struct function {
	uint64_t space;	    /* address in the code space */
	/* Atomic: number of the image whose control ring contains the name. */
	uint64_t published;
	/* Under the lock: number of the image to whose waiting list the function was added. */
	uint64_t waiting;
	struct function *next_waiting;
	uint64_t hash;
	uint32_t line;
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes; /* NUL included */
	uint32_t file_bytes;
	char text[]; /* name, file */
};

/*
 * Cache for the file of the previous frame, because neighbouring frames often have the same file.
 * All zero: empty.
 */
struct function_file {
	/*
	 * Files are compared by this pointer, not by content. The host may reuse the memory after
	 * its call returns, so use the cache only within one call.
	 */
	const char *file;
	uint32_t bytes;	  /* without NUL */
	uint64_t hash;
};

/*
 * Find or store the function of @frame (borrowed). Returns function_other(), shown as "[more
 * functions]", if there is no room for another function.
 * Context: any thread, not a handler; sampling signals may be unblocked. Takes a lock for a new
 * function.
 */
struct function *function_find(
	const struct flameprof_vm_frame *frame, struct function_file *before);

/* Return "[vm]", the root of a virtual machine's stacks, and "[more functions]". */
struct function *function_root(void);
struct function *function_other(void);

/*
 * Write @function's name to this image's control ring, unless it was written before. If the ring is
 * full, the name waits for function_announce_waiting() and is counted in slot->control_dropped
 * meanwhile.
 * Context: any thread, not a handler. The process has a slot, which is not freed during the call.
 */
void function_announce(struct function *function);

/*
 * Write waiting names to the control ring as far as there is room. Returns the number of names
 * written.
 * Context: as function_announce(), or the reader of the control ring.
 */
unsigned function_announce_waiting(void);

#endif
