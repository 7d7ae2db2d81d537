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

/* The source of a module's names. module_read() defines the order in which sources are tried. */
enum symbols_source {
	SYMBOLS_NONE = 0, /* no file, or no symbols in it */
	SYMBOLS_SYMTAB,	  /* .symtab of the module itself */
	SYMBOLS_GO,	  /* .gopclntab */
	/* .symtab of a debug file that was found by build-id */
	SYMBOLS_DEBUG_FILE,
	/* .symtab of a debug file that was found by debug link */
	SYMBOLS_DEBUG_LINK,
	SYMBOLS_MINI, /* .gnu_debugdata */
	/* .symtab of a debug file that debuginfod downloaded */
	SYMBOLS_DEBUGINFOD,
	SYMBOLS_DYNSYM, /* exported names and PLT entries only */
	SYMBOLS_VDSO,
	/* names were not used, because the file has another build-id than the code that ran */
	SYMBOLS_MISMATCH,
	/* names were not used, because the file was replaced or changed after its code ran */
	SYMBOLS_REPLACED
};

struct symbols_module {
	/* path as the profiled process sees it; "": the program of process @pid; borrowed */
	const char *path;
	/* borrowed; build-id of the code that ran; NULL: it had none */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/* process through whose /proc/PID the file may be opened while it lives; 0: none */
	uint32_t pid;
	/* address of the module's mapping in @pid; 0: unknown */
	uint64_t start;
	/* time at which the module was seen in the process, ns since the epoch; 0: unknown */
	int64_t seen_ns;
	int is_vdso;
	/*
	 * descriptor of a file that was opened while the process ran, probably the module's file;
	 * borrowed; 0: none
	 */
	int held;
	/* The caller leaves the fields below 0; symbols_add_module() and look-ups set them. */
	/* skip debug files and compressed symbols */
	bool is_hurried;
	bool is_changed; /* result of module_is_changed() */
	/* path set by symbols_keep_program(); NULL: none */
	const char *program;
};

struct symbols_origin {
	enum symbols_source source;
	/* path of the debug file; NULL: names are not from a debug file */
	const char *path;
};

/* A function, and a line in it. */
struct symbols_frame {
	const char *name; /* demangled */
	/* path as the compiler recorded it; "": unknown */
	const char *file;
	uint32_t line;	     /* 0: unknown */
	uint32_t start_line; /* line at which the function is declared; 0: unknown */
};

/* The name of an address. Struct symbols owns all pointers until symbols_free(). */
struct symbols_name {
	const char *name; /* demangled */
	uint64_t start;	  /* ELF virtual address */
	uint64_t size;
	/*
	 * The inline chain of an address that was passed to symbols_resolve(): first the function
	 * itself, then the functions inlined at the address, each into the one before it. The line
	 * of the last function is the line of the address; the line of each other function is that
	 * of its call of the next function. symbols_frame_at() returns the symbol table's name for
	 * the function itself, because DWARF does not know aliases and clones.
	 */
	const struct symbols_frame *frames;
	uint32_t frame_count; /* 0: nothing is known */
};

/* Return the number of frames to show for @name: at least 1, the function itself. */
static inline uint32_t symbols_frames(const struct symbols_name *name)
{
	return name->frame_count ? name->frame_count : 1;
}

/* Return frame number @index to show for @name; 0 is the function itself. */
static inline struct symbols_frame symbols_frame_at(const struct symbols_name *name, uint32_t index)
{
	struct symbols_frame frame =
		name->frame_count ? name->frames[index] : (struct symbols_frame){"", "", 0, 0};

	if (!index)
		frame.name = name->name;
	return frame;
}

/* Returns an owned, empty object, or NULL if out of memory. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols); /* NULL is fine */

/*
 * Set a function that is asked before each module is read; NULL: none. Once it returns true, debug
 * files and DWARF are no longer read, to save time. symbols_resolve() calls it on several threads.
 */
void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void));

/* Set the style of names. Call it before look-ups. Default: DEMANGLE_SHORT. */
void symbols_demangle(struct symbols *symbols, enum demangle_style style);

/*
 * Set a path (borrowed; NULL: none) that opens the profiled program even if its file was renamed or
 * deleted and its process has ended: a path in /proc of a descriptor that was opened before the
 * program started. Call this before modules are added.
 */
void symbols_keep_program(struct symbols *symbols, const char *path);

/*
 * Register a module (borrowed). Modules with equal path and build-id get the same handle. Returns a
 * handle >= 0, or -ENOMEM.
 */
int symbols_add_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * Download debug files from debuginfod servers for those of the @count modules in @handles (no
 * duplicates) that have a build-id but lack DWARF or names other than exported ones. Then download
 * dwz's alternate files to which debug files refer. Call this before look-ups in these modules.
 * Before the download, @on_fetch (may be NULL) is called with the number of files. Adds to
 * *@report.
 */
void symbols_fetch(struct symbols *symbols, const int *handles, size_t count,
	void (*on_fetch)(unsigned files), struct debuginfod_report *report);

/*
 * Name the function that covers ELF virtual address @address of module @handle. An address that no
 * symbol covers has no name; it does not get the name of the nearest symbol. PLT entries are
 * "name@plt". Returns 0, -ENOENT if no symbol covers the address, or -ENOMEM. *@out is set only on
 * success.
 */
int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out);

/*
 * Read the inline chains of the @count @addresses (borrowed, unsorted) of module @handle from
 * DWARF; symbols_lookup() returns them later. Pass all addresses of a module in one call, because
 * that is fastest; chains of former calls are kept. Reading ends early if the function of
 * symbols_hurry_when() returns true. Returns 0, also without DWARF; -ENOENT if there is no such
 * module; or -ENOMEM.
 */
int symbols_resolve(struct symbols *symbols, int handle, const uint64_t *addresses, size_t count);

/*
 * Find the start of the unnamed function that covers @address, by call-frame information, so that
 * its samples can be shown as one frame.
 * Returns 0, or -ENOENT if it is unknown. *@start is set only on success.
 */
int symbols_function(struct symbols *symbols, int handle, uint64_t address, uint64_t *start);

/*
 * Convert @offset, in the file of module @handle, to the ELF virtual address of that byte. This is
 * needed for profiles of other tools, which contain the file offset of a mapping but not the load
 * bias. Returns 0, or -ENOENT if it is unknown. *@address is set only on success.
 */
int symbols_offset_address(
	struct symbols *symbols, int handle, uint64_t offset, uint64_t *address);

/* A part of a file that is loaded as a whole, in whole pages. */
struct symbols_segment {
	uint64_t start, end; /* ELF virtual addresses */
	uint64_t offset;     /* offset in the file of the byte at @start */
};

/*
 * Find the segment of module @handle that contains the code at ELF virtual address @address.
 * Returns 0, -ENOENT if the file cannot be opened, or -EINVAL if no segment does. *@segment is set
 * only on success.
 */
int symbols_segment(
	struct symbols *symbols, int handle, uint64_t address, struct symbols_segment *segment);

/*
 * Find which system call each of the @count @calls (borrowed) makes. Their addresses are in module
 * @handle. Sets the fields `number` and `passing`.
 */
void symbols_system_calls(
	struct symbols *symbols, int handle, struct call_number *calls, size_t count);

/* Return the source of the names of @handle, known after a look-up. @symbols owns the path. */
struct symbols_origin symbols_module_origin(const struct symbols *symbols, int handle);

#endif
