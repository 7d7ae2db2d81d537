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

#include "cli/symbols/call_number.h"
#include "cli/symbols/demangle.h"

struct debuginfod_report;
struct symbols;

/* Where names come from: the first of those in the module's file and then in debug files. */
enum symbols_source {
	SYMBOLS_NONE = 0,    /* no file, or no symbols in it */
	SYMBOLS_SYMTAB,      /* .symtab of the module itself */
	SYMBOLS_GO,          /* .gopclntab */
	SYMBOLS_DEBUG_FILE,  /* .symtab of a debug file, which the build-id leads to, */
	SYMBOLS_DEBUG_LINK,  /* or a debug link */
	SYMBOLS_MINI,        /* .gnu_debugdata */
	SYMBOLS_DEBUGINFOD,  /* .symtab of a debug file that came from a debuginfod server */
	SYMBOLS_DYNSYM,      /* exported names only, and the PLT's */
	SYMBOLS_VDSO,
	SYMBOLS_MISMATCH,    /* the file's build-id is not the one that ran: not used */
	SYMBOLS_REPLACED     /* the same, and it was put there since: what ran is gone */
};

struct symbols_module {
	const char *path;         /* as the target saw it, "": the program of @pid; borrowed */
	const uint8_t *build_id;  /* as mapped in the target; NULL when it had none */
	size_t build_id_bytes;
	uint32_t pid; /* to open the file through /proc/<pid>/root while it lives; 0: don't */
	uint64_t start;		  /* where @pid has it mapped; 0: not known */
	int64_t seen_ns;	  /* since the epoch: the file was what ran then; 0: not known */
	int is_vdso;
	int held; /* a descriptor of what may be its file, borrowed; 0: none is held */
	/* Set by symbols_*() */
	bool is_hurried;          /* only what its own file says openly is read */
	bool is_changed;	  /* without a build-id: what is there came after @seen_ns */
	const char *program;	  /* as symbols_keep_program() */
};

struct symbols_origin {
	enum symbols_source source;
	const char *path; /* of the debug file; NULL: it is in none */
};

/* A function at one of its lines. */
struct symbols_frame {
	const char *name; /* demangled */
	const char *file; /* path as the compiler knew it; "": unknown */
	uint32_t line;	  /* 0: unknown */
};

/* What is pointed to is owned by struct symbols and valid until symbols_free(). */
struct symbols_name {
	const char *name;   /* demangled */
	uint64_t start;     /* ELF virtual address */
	uint64_t size;
	/*
	 * Of an address that symbols_resolve() knows: the function itself, then what is inlined at
	 * the address, each into the one before it. The last one's line is where the address is,
	 * that of others where the next one was called.
	 */
	const struct symbols_frame *frames;
	uint32_t frame_count; /* 0: nothing is known */
};

/* How many frames stand for what @name names, >= 1: where no chain is known the function alone. */
static inline uint32_t symbols_frames(const struct symbols_name *name)
{
	return name->frame_count ? name->frame_count : 1;
}

/* Frame number @index of these, the function itself first. */
static inline struct symbols_frame symbols_frame_at(const struct symbols_name *name, uint32_t index)
{
	return name->frame_count ? name->frames[index] : (struct symbols_frame){name->name, "", 0};
}

/* Returns an owned object, or NULL without memory. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols); /* NULL is fine */

/*
 * Ask @is_hurried before each module is read: when it says so, the symbols that are not in the
 * module's own file are done without, and lines are. symbols_resolve() asks from several threads.
 * NULL: take the time.
 */
void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void));

/* How names are to be written; before look-ups. DEMANGLE_SHORT, unless it was called. */
void symbols_demangle(struct symbols *symbols, enum demangle_style style);

/*
 * The program that was run can be read at @path (borrowed; NULL: no) whatever became of its name
 * and its process: the way to a descriptor that was opened before it began. To be called before
 * modules are added.
 */
void symbols_keep_program(struct symbols *symbols, const char *path);

/*
 * Register a module; equal path and build-id give the same handle.
 * Returns a handle >= 0, or -ENOMEM.
 */
int symbols_add_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * Ask debuginfod servers for the debug files of those of the @count modules in @handles (each once)
 * that have a build-id, and no names but exported ones or no DWARF, then for what dwz took out of
 * their debug files. Before look-ups in them.
 * @on_fetch (NULL: nobody) is told of how many before they are asked for. Adds to *@report.
 */
void symbols_fetch(struct symbols *symbols, const int *handles, size_t count,
	void (*on_fetch)(unsigned files), struct debuginfod_report *report);

/*
 * Name the function that covers ELF virtual address @address of module @handle. Symbol sizes are
 * respected: code between symbols is unnamed, never the nearest wrong name. PLT entries are
 * "name@plt".
 * Returns 0, -ENOENT when no symbol covers the address, or -ENOMEM. *@out only on success.
 */
int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out);

/*
 * Read what the DWARF of module @handle says of the @count @addresses (borrowed), in any order, for
 * symbols_lookup() to give. Of one module all at once is fastest; what was read before is kept.
 * Without DWARF, or when symbols_hurry_when()'s function says so between two units, look-ups give
 * what is known until then.
 * Returns 0, -ENOENT for no such module, or -ENOMEM.
 */
int symbols_resolve(struct symbols *symbols, int handle, const uint64_t *addresses, size_t count);

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

/* Find out which system calls the @count @calls (borrowed) of module @handle make. */
void symbols_system_calls(
	struct symbols *symbols, int handle, struct call_number *calls, size_t count);

/*
 * Where the names of @handle come from; known after its first look-up. Valid as long as @symbols.
 */
struct symbols_origin symbols_module_origin(const struct symbols *symbols, int handle);

#endif
