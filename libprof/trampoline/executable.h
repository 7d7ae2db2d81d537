/* SPDX-License-Identifier: MIT */
/*
 * Memory that is written once and then executed, never both at a time: private memory that is made
 * executable when it is written, and where that is refused (prctl(PR_SET_MDWE), some policies of
 * SELinux), a memfd that is written through one mapping and executed through another.
 */
#ifndef LIBPROF_TRAMPOLINE_EXECUTABLE_H
#define LIBPROF_TRAMPOLINE_EXECUTABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make [@start, @start + @bytes), pages that are the caller's to replace, executable code.
 *
 * @write    writes the code: @room is where to write to, @start where it will run
 * @of_file  gets whether the pages are a memfd's
 *
 * Returns 0; -ENOMEM; -EACCES when executable memory is refused: the pages are readable and
 * writable then.
 */
int executable_make(uintptr_t start, size_t bytes,
	void (*write)(void *context, uint8_t *room), void *context, int *of_file);

/* Give the pages' memory back; the addresses stay ours and hold nothing. */
void executable_drop(uintptr_t start, size_t bytes);

#endif
