/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions, by /proc/kallsyms: "ADDRESS TYPE NAME", for those of modules "[MODULE]"
 * behind it. Source: Linux kernel/kallsyms.c.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_KERNEL_SYMBOLS_H
#define CLI_SYMBOLS_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kernel_symbols;

/*
 * Read them. Returns 0 and an owned table; -EPERM where the kernel does not tell the addresses,
 * kernel.kptr_restrict; -ENOMEM; or -errno.
 */
int kernel_symbols_open(struct kernel_symbols **out);
/* The same of @file, which stays the caller's. */
int kernel_symbols_read(struct kernel_symbols **out, FILE *file);
void kernel_symbols_free(struct kernel_symbols *symbols); /* NULL is fine */

/* The name of the function at @address, or NULL. Valid until kernel_symbols_free(). */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address);

/* Does the kernel tell where its functions are? Returns 0 or an error as above. */
int kernel_symbols_probe(void);

#endif
