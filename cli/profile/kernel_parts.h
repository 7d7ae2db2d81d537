/* SPDX-License-Identifier: MIT */
/*
 * Distribute the samples that found a thread in the kernel over the kernel stacks that were
 * recorded on the same user stack. The samples give the amount of time; the recorded kernel stacks
 * (WIRE_KIND_KERNEL_STACK) show what it was spent on. Kernel stacks of one user stack are never
 * used for another.
 */
#ifndef CLI_PROFILE_KERNEL_PARTS_H
#define CLI_PROFILE_KERNEL_PARTS_H

#include <stdint.h>

#define KERNEL_PARTS_NONE UINT32_MAX

struct kernel_parts;

/* Returns an owned, empty object, or NULL without memory. */
struct kernel_parts *kernel_parts_new(void);
void kernel_parts_free(struct kernel_parts *parts); /* NULL is fine */

/*
 * Add profile stack @stack: a kernel stack that was recorded @weight times on the user stack with
 * hash @path. Returns 0, or -ENOMEM with nothing added.
 */
int kernel_parts_add(struct kernel_parts *parts, uint64_t path, uint32_t stack, uint64_t weight);

/* Sort the stacks, after the last kernel_parts_add() and before kernel_parts_next(). */
void kernel_parts_finish(struct kernel_parts *parts);

/*
 * Choose a kernel stack for the next sample on user stack @path. Returns its profile stack, or
 * KERNEL_PARTS_NONE. Over many samples each stack is returned in proportion to its weight.
 */
uint32_t kernel_parts_next(struct kernel_parts *parts, uint64_t path);

#endif
