/* SPDX-License-Identifier: MIT */
/*
 * Read /proc/PID/maps into a sorted table (source: proc(5)). Also find code that a process mapped
 * from a file without the dynamic linker: V8, for example, maps its built-in functions a second
 * time from node's file. The library in the process knows only the modules that the dynamic linker
 * loaded. If a frame of a sample is in none of these, its mapping is looked up here and reported as
 * a module. Context: one thread.
 */
#ifndef CLI_GATHER_MAPS_H
#define CLI_GATHER_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/pipe_record.h"

struct mapping {
	uintptr_t start, end;
	uint64_t offset;
	uint64_t inode; /* 0 if no file is mapped */
	unsigned major, minor;
	bool is_code;
	char *path; /* owned; "" if unnamed */
};

struct maps {
	struct mapping *list; /* sorted by address, owned */
	unsigned count, room;
	/* Hash of the text of /proc/PID/maps, to detect changes. */
	uint64_t hash;
};

/*
 * Replace the content of @maps (zero-initialised at first) by the mappings of @pid. Returns 1 if
 * they changed, 0 if not, or -errno with @maps unchanged.
 */
int maps_read(struct maps *maps, pid_t pid);

/*
 * Replace the content of @maps by the mappings in @text, which is modified. Returns 1 if they
 * changed, 0 if not, or -ENOMEM with @maps unchanged.
 */
int maps_parse(struct maps *maps, char *text);
void maps_release(struct maps *maps);

/* Find the mapping that contains @address. Returns NULL if there is none. */
const struct mapping *maps_find(const struct maps *maps, uintptr_t address);

/*
 * Is @mapping the code mapping of a jitdump file? Runtimes map the first page of their jitdump
 * executable, so that profilers can find the file's name.
 */
bool maps_is_jitdump(const struct mapping *mapping);

/* ---- code outside of the linker's modules ---------------------------------------------------- */

#define MAPPINGS_KNOWN 8

struct mappings {
	/* The next address to look up, or 0. It is in no range of `known`. */
	uint64_t wanted;
	/* Ranges that were looked up before. A new range overwrites the oldest. */
	struct {
		uint64_t start, end;
	} known[MAPPINGS_KNOWN];
	uint32_t known_count;
	uint32_t announced; /* number of modules reported */
	bool has_dump;	    /* the process's jitdump was reported */
	/* Least ms between two reads of maps. Doubled after a read without success. */
	uint32_t wait_ms;
	uint64_t read_ns;
};

/*
 * Find the first of the @count @frames (unaligned words) that is in no module and in no known
 * range, and store its address in `wanted`. Do nothing if `wanted` is set already.
 */
void mappings_request(struct mappings *mappings, const char *frames, uint32_t count);

/*
 * Look up `wanted` in the mappings of process @pid, if wait_ms have passed since the last read. If
 * it is in code of a file, write that mapping as a module of @image to @pipe_writer. Also write a
 * mapped jitdump as a module, once; this module only gives the name of the jitdump file. Does
 * nothing if /proc/@pid/maps cannot be read.
 */
void mappings_update(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct pipe_writer *pipe_writer);

#endif
