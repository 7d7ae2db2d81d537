/* SPDX-License-Identifier: MIT */
/*
 * Read from a program's ELF file whether a library in LD_PRELOAD can be loaded into the program.
 * flamerun does this before it starts a program, and the library in a profiled process before each
 * exec. The file may hold anything, so every value is checked before use. Layout and rules: elf(5),
 * load_elf_binary() in the kernel's fs/binfmt_elf.c.
 */
#ifndef LIBPROF_PRELOAD_ELF_PROGRAM_H
#define LIBPROF_PRELOAD_ELF_PROGRAM_H

#include <stdint.h>

enum elf_program_kind {
	/* The program's loader is glibc's, judged by the loader's name. */
	ELF_PROGRAM_DYNAMIC,
	ELF_PROGRAM_LOADER,	/* ld.so itself, run as "ld.so ./program" */
	ELF_PROGRAM_STATIC,	/* has no loader for libraries */
	/*
	 * The program's loader is another C library's, or the program is such a loader. It cannot
	 * start with this library.
	 */
	ELF_PROGRAM_OTHER_LIBC,
	/*
	 * The program needs no library. Such a program, e.g. of Go without cgo, makes threads and
	 * signal handlers by system calls.
	 */
	ELF_PROGRAM_NO_LIBC,
	/* Another CPU, word size or byte order; the fields below `machine` are not filled in. */
	ELF_PROGRAM_OTHER_CPU,
};

struct elf_program {
	enum elf_program_kind kind;
	uint8_t word_class; /* ELFCLASS* */
	uint8_t byte_order; /* ELFDATA* */
	uint16_t machine;   /* EM_* */
	/*
	 * Position and length of the loader's path (PT_INTERP), including the NUL. The length is 0
	 * if the program has no loader.
	 */
	uint64_t loader_offset, loader_bytes;
	/*
	 * Name of the first library that the program needs, if it is AddressSanitizer's runtime,
	 * else "". The runtime ends the program if another library was loaded before the runtime.
	 */
	char sanitizer[32];
};

/*
 * Read the program in the file open at @descriptor. Returns 0, or -ENOEXEC if the file is no
 * program or damaged. Context: any thread, a handler, a vfork child; uses 2 KB of stack.
 */
int elf_program_read(int descriptor, struct elf_program *out);

/*
 * Returns 1 if @options, the value of ASAN_OPTIONS (NULL: not set), allows other libraries before
 * AddressSanitizer's runtime. Context: any thread, a handler, a vfork child.
 */
int elf_program_allows_any_order(const char *options);

/*
 * Returns 1 if the first entry of @list, the value of LD_PRELOAD (NULL: not set), is
 * AddressSanitizer's runtime. Entries that are @library (NULL: none) are skipped. Context: any
 * thread, a handler, a vfork child.
 */
int elf_program_preloads_sanitizer(const char *list, const char *library);

#endif
