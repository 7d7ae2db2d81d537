/* SPDX-License-Identifier: MIT */
/*
 * Name the kernel's functions by /proc/kallsyms. Its lines are "ADDRESS TYPE NAME", followed by
 * "[MODULE]" for functions of modules.
 *
 * Source: Linux kernel/kallsyms.c. Context: one thread.
 */
#ifndef CLI_SYMBOLS_KERNEL_SYMBOLS_H
#define CLI_SYMBOLS_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kernel_symbols;

/*
 * Read /proc/kallsyms. Returns 0 and an owned table; -EPERM if the kernel hides the addresses
 * (kernel.kptr_restrict); -ENOMEM; or -errno.
 */
int kernel_symbols_open(struct kernel_symbols **out);
/* Read the table from @file (borrowed). Returns as kernel_symbols_open(). */
int kernel_symbols_read(struct kernel_symbols **out, FILE *file);
void kernel_symbols_free(struct kernel_symbols *symbols); /* NULL is fine */

/* Return the name of the function at @address, or NULL. Valid until kernel_symbols_free(). */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address);

/* Check whether the kernel shows addresses. Returns 0, -EPERM if it hides them, or -errno. */
int kernel_symbols_probe(void);

#endif
