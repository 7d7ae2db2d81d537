/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names, for modules known by path and build-id. Own sorted arrays over the symbol
 * tables that libelf reads; debug files are looked for on this machine only. Files are opened at
 * the first look-up in their module. All input is untrusted: a broken file gives unnamed code,
 * never a crash.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_SYMBOLS_H
#define CLI_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

enum symbols_source {
	SYMBOLS_NONE = 0,    /* no file, or no symbols in it */
	SYMBOLS_SYMTAB,      /* .symtab of the module itself */
	SYMBOLS_DEBUG_FILE,  /* .symtab of a separate debug file (build-id or debug link) */
	SYMBOLS_MINI,        /* .gnu_debugdata */
	SYMBOLS_DYNSYM,      /* exported names only */
	SYMBOLS_VDSO,
	SYMBOLS_GO,          /* .gopclntab */
	SYMBOLS_MISMATCH     /* the file's build-id is not the one that ran: not used */
};

struct symbols_module {
	const char *path;         /* as the target saw it, "": the program of @pid; borrowed */
	const uint8_t *build_id;  /* as mapped in the target; NULL when it had none */
	size_t build_id_bytes;
	uint32_t pid; /* to open the file through /proc/<pid>/root while it lives; 0: don't */
	int is_vdso;
	bool is_hurried;          /* only what its own file says openly is read */
};

struct symbols_name {
	const char *name;   /* demangled; owned by struct symbols, valid until symbols_free() */
	uint64_t start;     /* ELF virtual address */
	uint64_t size;
};

/* Returns an owned object, or NULL without memory. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols); /* NULL is fine */

/*
 * Ask @is_hurried before each module is read: when it says so, the symbols that are not in the
 * module's own file are done without. NULL: take the time.
 */
void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void));

/*
 * Register a module; equal path and build-id give the same handle.
 * Returns a handle >= 0, or -ENOMEM.
 */
int symbols_add_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * Name the function that covers ELF virtual address @address of module @handle. Symbol sizes are
 * respected: code between symbols is unnamed, never the nearest wrong name. PLT entries are
 * "name@plt".
 * Returns 0, -ENOENT when no symbol covers the address, or -ENOMEM. *@out only on success.
 */
int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out);

/*
 * The start of the function without a name that covers @address, from call-frame information, so
 * that the samples of one function stay together.
 * Returns 0, or -ENOENT when that can't be told. *@start only on success.
 */
int symbols_function(struct symbols *symbols, int handle, uint64_t address, uint64_t *start);

/*
 * The ELF virtual address at which module @handle has the byte at @offset of its file: profiles of
 * others tell where files were mapped, not how far from their addresses.
 * Returns 0, or -ENOENT when that can't be told. *@address only on success.
 */
int symbols_offset_address(
	struct symbols *symbols, int handle, uint64_t offset, uint64_t *address);

/* Where the names of @handle come from; known after its first look-up. */
enum symbols_source symbols_module_source(const struct symbols *symbols, int handle);

#endif
