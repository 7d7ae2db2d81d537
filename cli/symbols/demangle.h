/* SPDX-License-Identifier: MIT */
/*
 * Mangled names of C++, Rust and D to what their authors wrote, for a picture: no parameter lists,
 * no hashes, no symbol versions, no marks of the compiler's copies.
 */
#ifndef CLI_SYMBOLS_DEMANGLE_H
#define CLI_SYMBOLS_DEMANGLE_H

/* A result longer than this is not used: the mangled name is shown instead. */
#define DEMANGLE_MAX_BYTES 4096u

/*
 * The name to show for @mangled. A version ("@@GLIBC_2.34") and the suffixes of compiler-made
 * copies and pieces (.constprop.0 .isra.0 .part.0 .cold .llvm.N .lto_priv.0 .localalias) are cut
 * off, so that the copies of one function are one frame. Names that do not demangle stay as they
 * are. Hostile names cost bounded memory and time.
 * Returns an owned string, or NULL without memory.
 * Context: any thread.
 */
char *demangle_name(const char *mangled);

#endif
