/* SPDX-License-Identifier: MIT */
/*
 * Functions of a virtual machine's language. Each is stored once per process, for ever, and has an
 * address in the code space, so that its frame is one word like any other. Its name is sent by a
 * control record, once for each image, before the first sample that contains it.
 */
#ifndef LIBPROF_VMSTACK_FUNCTION_H
#define LIBPROF_VMSTACK_FUNCTION_H

#include <stdint.h>

#include "libprof/flameprof_vm.h"

/* Limits: number of functions, and bytes of all names and files. */
#define FUNCTIONS_MAX	   (1u << 20)
#define FUNCTION_TEXT_MAX  (128u << 20)
/* Longest name or file in bytes. Longer ones are cut; functions equal up to there are one. */
#define FUNCTION_NAME_BYTES FLAMEPROF_NAME_BYTES

/* A function. Only the fields marked as atomic change; never freed. */
struct function {
	uint64_t space;	    /* address in the code space */
	/* atomic: number of the image in whose control ring the name is */
	uint64_t published;
	/* under the lock: the image whose waiting list it was put in */
	uint64_t waiting;
	struct function *next_waiting;
	uint64_t hash;
	uint32_t line;
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes; /* with the NUL; file_bytes 1: no file */
	uint32_t file_bytes;
	char text[]; /* name, file */
};

/* Cache for the file of the previous frame, because neighbours often share it. All zero: empty. */
struct function_file {
	/* compared as a pointer, only within one call of the host */
	const char *file;
	uint32_t bytes;	  /* without NUL */
	uint64_t hash;
};

/*
 * Find or store the function of @frame (borrowed). Returns function_other(), shown as "[more
 * functions]", if there is no room for another one.
 * Context: any thread, not a handler; sampling signals may be unblocked. Takes a lock for a new
 * function.
 */
struct function *function_find(
	const struct flameprof_vm_frame *frame, struct function_file *before);

/* Return the functions "[vm]", the root of a machine's stacks, and "[more functions]". */
struct function *function_root(void);
struct function *function_other(void);

/*
 * Write @function's name to this image's control ring, unless it was written. If the ring is full,
 * the name waits for function_announce_waiting() and is counted in slot->control_dropped meanwhile.
 * Context: any thread, not a handler. The process has a slot, which is not freed during the call.
 */
void function_announce(struct function *function);

/*
 * Write waiting names to the control ring as far as there is room. Returns their number.
 * Context: as function_announce(), or the reader of the control ring.
 */
unsigned function_announce_waiting(void);

#endif
