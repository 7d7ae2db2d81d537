/* SPDX-License-Identifier: MIT */
/*
 * What the kernel was seen to do on a stack, for the samples that found a thread in the kernel on
 * the same one. Samples tell how much time there was, looks (WIRE_KIND_LOOK) what it was spent on:
 * a stack's samples get the kernel's frames of its looks, in proportion. Nothing is passed from one
 * stack to another.
 *
 * Context: one thread.
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
 * On the stack whose frames hash to @path @weight looks saw what profile stack @stack says. Returns
 * 0 or -ENOMEM: left out.
 */
int kernel_parts_add(
	struct kernel_parts *parts, uint64_t path, uint32_t stack, uint64_t weight);

/* Behind the last of them. */
void kernel_parts_finish(struct kernel_parts *parts);

/*
 * The look, a profile stack, whose frames the next sample on @path has; KERNEL_PARTS_NONE: nothing
 * was seen there. Many samples get each in proportion to its weight.
 */
uint32_t kernel_parts_next(struct kernel_parts *parts, uint64_t path);

#endif
