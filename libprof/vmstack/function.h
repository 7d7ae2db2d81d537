/* SPDX-License-Identifier: MIT */
/*
 * Functions of a virtual machine's language. Each is kept once in a process and for good, with a
 * place in the code space, so that a frame of it is one word as any other. Its name travels by a
 * control record, once for each image, before the first sample that has it.
 */
#ifndef LIBPROF_VMSTACK_FUNCTION_H
#define LIBPROF_VMSTACK_FUNCTION_H

#include <stdint.h>

#include "libprof/flameprof_vm.h"

/* What is kept: functions, and bytes of their names and files. */
#define FUNCTIONS_MAX	   (1u << 20)
#define FUNCTION_TEXT_MAX  (128u << 20)
/* Of a name, and of a file; longer ones are cut, and what is equal up to there is one. */
#define FUNCTION_NAME_BYTES FLAMEPROF_NAME_BYTES

/* Nothing of it changes but what is atomic; never freed. */
struct function {
	uint64_t space;	    /* in the code space */
	uint64_t published; /* atomic: the image whose control ring has its name */
	uint64_t waiting;   /* under the lock: the image in whose list it is, or was */
	struct function *next_waiting;
	uint64_t hash;
	uint32_t line;
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes; /* each with its NUL; the file's 1: none */
	uint32_t file_bytes;
	char text[]; /* name, file */
};

/* The file of the frame looked up before: neighbours often share it. All zero: none yet. */
struct function_file {
	const char *file; /* compared as a pointer, within one call of the host's only */
	uint32_t bytes;	  /* without NUL */
	uint64_t hash;
};

/*
 * The function of @frame (borrowed), made if needed. Where there is no room for another one it is
 * function_other(), shown as "[more functions]".
 * Context: any thread, not a handler, sampling signals allowed; takes a lock when it is a new one.
 */
struct function *function_find(
	const struct flameprof_vm_frame *frame, struct function_file *before);

/* "[vm]", which stands below a machine's stacks, and what stands for those beyond the ceiling. */
struct function *function_root(void);
struct function *function_other(void);

/*
 * The name into this image's control ring, unless it is there. When that is full it waits for
 * function_announce_waiting(), and counts among slot->control_dropped meanwhile.
 * Context: as function_find(); the sampler has a slot, whose end waits for the caller.
 */
void function_announce(struct function *function);

/*
 * Announce what waits, as much as there is room for. Returns how many, 0 also when nothing waits.
 * Context: as function_announce(), or the reader of the control ring.
 */
unsigned function_announce_waiting(void);

#endif
