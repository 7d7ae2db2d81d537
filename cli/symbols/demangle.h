/* SPDX-License-Identifier: MIT */
/*
 * Turn the mangled names of C++, Rust, D, Fortran, OCaml, Haskell and Crystal into what their
 * authors wrote.
 */
#ifndef CLI_SYMBOLS_DEMANGLE_H
#define CLI_SYMBOLS_DEMANGLE_H

/* A result longer than this is not used: the mangled name is shown instead. */
#define DEMANGLE_MAX_BYTES 4096u

enum demangle_style {
	/*
	 * For a picture: template arguments, but no parameters, hashes or versions
	 * ("@@GLIBC_2.34"), and no marks of compiler-made copies and pieces (.constprop.0 .isra.0
	 * .part.0 .cold .llvm.N .lto_priv.0 .localalias), so that the copies of one function are
	 * one frame.
	 */
	DEMANGLE_SHORT,
	/* All of it: "foo::bar(int) [clone .constprop.0]", "core::run::h0123456789abcdef". */
	DEMANGLE_FULL,
	DEMANGLE_NONE, /* as in the symbol table */
};

/* The styles' names in that order, NULL at the end; and the style that is called @name. */
const char *const *demangle_styles(void);
enum demangle_style demangle_style_of(const char *name);

/*
 * The name to show for @mangled. Names that do not demangle stay as they are, in DEMANGLE_SHORT
 * without what is cut off there. Hostile names cost bounded memory and time.
 * Returns an owned string, or NULL without memory.
 * Context: any thread.
 */
char *demangle_name(const char *mangled, enum demangle_style style);

/*
 * Cut off @name (as DEMANGLE_FULL makes it, or other tools do) what tells the copies of one
 * function apart: "[clone ...]", the suffixes above, Rust's hashes. What then is equal is compared
 * and merged.
 */
void demangle_drop_copies(char *name);

#endif
