/* SPDX-License-Identifier: MIT */
/*
 * Turn mangled names of C++, Rust, D, Fortran, OCaml, Haskell, Crystal, Ada and Nim into source
 * names.
 */
#ifndef CLI_SYMBOLS_DEMANGLE_H
#define CLI_SYMBOLS_DEMANGLE_H

/* If a result would be longer than this, the mangled name is shown instead. */
#define DEMANGLE_MAX_BYTES 4096u

enum demangle_style {
	/*
	 * For a flame graph: with template arguments, but without parameters, hashes and versions
	 * ("@@GLIBC_2.34"). Suffixes of compiler-made copies and parts of a function (.constprop.0
	 * .isra.0 .part.0 .cold .llvm.N .lto_priv.0 .localalias) are cut off, so that all copies of
	 * a function are one frame.
	 */
	DEMANGLE_SHORT,
	/* Complete: "foo::bar(int) [clone .constprop.0]", "core::run::h0123456789abcdef". */
	DEMANGLE_FULL,
	DEMANGLE_NONE, /* names are not demangled */
};

/* Languages whose mangled names look like C: other symbols must show the language (languages.h). */
enum demangle_language {
	DEMANGLE_BY_NAME, /* the name shows the language */
	DEMANGLE_ADA,
	DEMANGLE_NIM,
};

/*
 * demangle_styles() returns the names of the styles, indexed by enum value, with NULL at the end.
 * demangle_style_of() returns the style with this name, or DEMANGLE_SHORT for an unknown name.
 */
const char *const *demangle_styles(void);
enum demangle_style demangle_style_of(const char *name);

/*
 * Return the name to show for @mangled, an owned string, or NULL if out of memory. A name that
 * cannot be demangled is returned unchanged, except that DEMANGLE_SHORT cuts off suffixes and
 * versions. A name of Ada or Nim is demangled only if @language says so. Time and memory are
 * bounded for hostile names, too.
 * Context: any thread.
 */
char *demangle_name(
	const char *mangled, enum demangle_language language, enum demangle_style style);

/*
 * Cut off @name, in place, the parts that distinguish copies of one function: "[clone ...]", the
 * suffixes listed at DEMANGLE_SHORT and Rust's hashes. @name may come from DEMANGLE_FULL or from
 * another tool. The remaining names are those by which profiles are compared and merged.
 */
void demangle_drop_copies(char *name);

#endif
