/* SPDX-License-Identifier: MIT */
/*
 * What a program's ELF file says about libraries that LD_PRELOAD brings along. flamerun asks before
 * it starts a program, the library in a target before each exec. Layout and rules: elf(5),
 * load_elf_binary() in the kernel's fs/binfmt_elf.c. Nothing read is believed before it is bounded.
 */
#ifndef LIBPROF_PRELOAD_ELF_PROGRAM_H
#define LIBPROF_PRELOAD_ELF_PROGRAM_H

#include <stdint.h>

enum elf_program_kind {
	/* its loader is glibc's, as far as names tell */
	ELF_PROGRAM_DYNAMIC,
	ELF_PROGRAM_LOADER,	/* ld.so itself, run as "ld.so ./program" */
	ELF_PROGRAM_STATIC,	/* nobody loads libraries for it */
	/* it cannot start with our library; or its loader */
	ELF_PROGRAM_OTHER_LIBC,
	/* It needs no library: threads and signals are its own affair, as Go's without cgo. */
	ELF_PROGRAM_NO_LIBC,
	/* or word size, or byte order; of the rest nothing is filled */
	ELF_PROGRAM_OTHER_CPU,
};

struct elf_program {
	enum elf_program_kind kind;
	uint8_t word_class; /* ELFCLASS* */
	uint8_t byte_order; /* ELFDATA* */
	uint16_t machine;   /* EM_* */
	/* PT_INTERP, NUL included; 0 bytes: there is none. */
	uint64_t loader_offset, loader_bytes;
	/*
	 * The first library it needs if that is AddressSanitizer's runtime, else "". That ends a
	 * program in which another library was loaded before it.
	 */
	char sanitizer[32];
};

/*
 * Read the file open at @descriptor. Returns 0, or -ENOEXEC when it is no program, or damaged.
 * Context: any thread, a handler, a vfork child; 2 KB of stack.
 */
int elf_program_read(int descriptor, struct elf_program *out);

/*
 * Does the last word of @options, the value of ASAN_OPTIONS (NULL: none), allow other libraries
 * before AddressSanitizer's own? Context: as above.
 */
int elf_program_allows_any_order(const char *options);

/*
 * Is the first entry of @list, the value of LD_PRELOAD (NULL: none), AddressSanitizer's runtime?
 * Entries that are @library (NULL: none) are skipped. Context: as above.
 */
int elf_program_preloads_sanitizer(const char *list, const char *library);

#endif
