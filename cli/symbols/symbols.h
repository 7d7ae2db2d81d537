/* SPDX-License-Identifier: MIT */
/*
 * Name addresses in modules, which are identified by path and build-id. A file is opened at the
 * first look-up in its module. Look-ups use only files on this machine; symbols_fetch() downloads
 * debug files. All input is untrusted: a broken file gives unnamed code, never a crash.
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

/* Where the names of a module come from. module_read() defines the order. */
enum symbols_source {
	SYMBOLS_NONE = 0,    /* no file, or no symbols in it */
	SYMBOLS_SYMTAB,      /* .symtab of the module itself */
	SYMBOLS_GO,          /* .gopclntab */
	/* .symtab of a debug file that was found by build-id */
	SYMBOLS_DEBUG_FILE,
	/* .symtab of a debug file that was found by debug link */
	SYMBOLS_DEBUG_LINK,
	SYMBOLS_MINI,        /* .gnu_debugdata */
	/* .symtab of a debug file that debuginfod downloaded */
	SYMBOLS_DEBUGINFOD,
	SYMBOLS_DYNSYM,      /* exported and PLT names only */
	SYMBOLS_VDSO,
	/* not used: the file has another build-id than the code that ran */
	SYMBOLS_MISMATCH,
	/* not used: the file was replaced or changed after its code ran */
	SYMBOLS_REPLACED
};

struct symbols_module {
	/* as the target sees it, "": the program of @pid; borrowed */
	const char *path;
	/* borrowed; of the code that ran; NULL: it had none */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/* to open the file through /proc/PID while the process lives; 0: none */
	uint32_t pid;
	/* address of its mapping in @pid; 0: unknown */
	uint64_t start;
	/* ns since the epoch: the file ran then; 0: unknown */
	int64_t seen_ns;
	int is_vdso;
	/* descriptor that may be its file's; borrowed, 0: none */
	int held;
	/* Set by struct symbols: */
	/* do not read debug files and compressed symbols */
	bool is_hurried;
	bool is_changed;	  /* module_is_changed() */
	/* path from symbols_keep_program(); NULL: none */
	const char *program;
};

struct symbols_origin {
	enum symbols_source source;
	/* of the debug file; NULL: names are not from a debug file */
	const char *path;
};

/* A function and a line in it. */
struct symbols_frame {
	const char *name; /* demangled */
	/* path as the compiler knew it; "": unknown */
	const char *file;
	uint32_t line;	  /* 0: unknown */
};

/* All pointers are owned by struct symbols and valid until symbols_free(). */
struct symbols_name {
	const char *name;   /* demangled */
	uint64_t start;     /* ELF virtual address */
	uint64_t size;
	/*
	 * The inline chain of an address that was passed to symbols_resolve(): the function itself,
	 * then functions inlined at the address, each into the one before it. The line of the last
	 * one is the line of the address; the line of each other one is where it calls the next.
	 */
	const struct symbols_frame *frames;
	uint32_t frame_count; /* 0: nothing is known */
};

/* Return the number of frames to show for @name, >= 1: the function alone if no chain is known. */
static inline uint32_t symbols_frames(const struct symbols_name *name)
{
	return name->frame_count ? name->frame_count : 1;
}

/* Return frame number @index to show for @name, the function itself first. */
static inline struct symbols_frame symbols_frame_at(const struct symbols_name *name, uint32_t index)
{
	return name->frame_count ? name->frames[index] : (struct symbols_frame){name->name, "", 0};
}

/* Create an empty object. Returns it owned, or NULL without memory. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols); /* NULL is fine */

/*
 * Call @is_hurried (NULL: never) before each module is read. When it returns true, debug files and
 * DWARF are no longer read, to save time. symbols_resolve() calls it from several threads.
 */
void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void));

/* Set the style of names; call it before look-ups. Default: DEMANGLE_SHORT. */
void symbols_demangle(struct symbols *symbols, enum demangle_style style);

/*
 * Set the path (borrowed; NULL: none) by which the program that was run can be opened even if its
 * file was renamed or deleted and its process has ended: a path in /proc of a descriptor that was
 * opened before the program started. Call this before modules are added.
 */
void symbols_keep_program(struct symbols *symbols, const char *path);

/*
 * Register a module (borrowed); an equal path and build-id give the same handle.
 * Returns a handle >= 0, or -ENOMEM.
 */
int symbols_add_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * Download debug files from debuginfod servers for those of the @count modules in @handles (each
 * once) that have a build-id, but no names except exported ones, or no DWARF; then the files that
 * dwz's references in debug files lead to. Call this before look-ups in these modules. @on_fetch
 * (may be NULL) is called with the number of files before the download. Adds to *@report.
 */
void symbols_fetch(struct symbols *symbols, const int *handles, size_t count,
	void (*on_fetch)(unsigned files), struct debuginfod_report *report);

/*
 * Name the function that covers ELF virtual address @address of module @handle. Code outside the
 * size of all symbols is unnamed, rather than named by the nearest symbol. PLT entries are
 * "name@plt".
 * Returns 0, -ENOENT if no symbol covers the address, or -ENOMEM. *@out is set only on success.
 */
int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out);

/*
 * Read the inline chains of the @count @addresses (borrowed, unsorted) of module @handle from
 * DWARF, for symbols_lookup() to return. Pass all addresses of a module in one call, because that
 * is fastest; chains of former calls are kept. Reading ends early if the function of
 * symbols_hurry_when() returns true.
 * Returns 0, also without DWARF; -ENOENT if there is no such module; or -ENOMEM.
 */
int symbols_resolve(struct symbols *symbols, int handle, const uint64_t *addresses, size_t count);

/*
 * Find the start of the unnamed function that covers @address, by call-frame information, so that
 * its samples can be shown as one frame.
 * Returns 0, or -ENOENT if it is unknown. *@start is set only on success.
 */
int symbols_function(struct symbols *symbols, int handle, uint64_t address, uint64_t *start);

/*
 * Convert @offset in the file of module @handle to the ELF virtual address of that byte. Needed for
 * profiles of other tools, which give the file offset of a mapping but not the load bias.
 * Returns 0, or -ENOENT if it is unknown. *@address is set only on success.
 */
int symbols_offset_address(
	struct symbols *symbols, int handle, uint64_t offset, uint64_t *address);

/* Find the system call numbers of the @count @calls (borrowed) of module @handle. */
void symbols_system_calls(
	struct symbols *symbols, int handle, struct call_number *calls, size_t count);

/* Return where the names of @handle come from; known after a look-up. Owned by @symbols. */
struct symbols_origin symbols_module_origin(const struct symbols *symbols, int handle);

#endif
