/* SPDX-License-Identifier: MIT */
/*
 * The slow half of an intercept stub's check (arch/stub.h), in assembly: arch/<cpu>/. It runs where
 * the original has just returned, with results in registers that no ordinary call preserves.
 */
#ifndef ARCH_INTERCEPT_H
#define ARCH_INTERCEPT_H

/*
 * Call what arch_intercept_prepare() was given and leave every register a result may be in, of any calling
 * convention of the CPU, as it was. Needs, besides what is called, up to 3 KiB of stack on x86_64
 * and 1.5 KiB on aarch64, there up to 8.7 KiB more for the vectors of SVE.
 *
 * Context: generated code, after arch_intercept_prepare().
 */
void arch_intercept_slow(void);

/*
 * Learn what registers this CPU has, and that @take is to be called. May be repeated, and has to be
 * where an image of the process goes on on another machine. Context: any thread.
 */
void arch_intercept_prepare(void (*take)(void));

#endif
