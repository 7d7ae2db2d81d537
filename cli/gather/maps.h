/* SPDX-License-Identifier: MIT */
/*
 * Read /proc/PID/maps into a sorted table (source: proc(5)), and find code that a process mapped
 * from files without the dynamic linker. V8, for example, maps its built-in functions a second time
 * from node's file. The library in the process knows only the linker's modules; for samples
 * elsewhere this file looks up the mapping and reports it as a module. Context: one thread.
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
	uint64_t inode; /* 0 if not a file */
	unsigned major, minor;
	bool is_code;
	char *path; /* owned by the table; "" without a name */
};

struct maps {
	struct mapping *list; /* sorted by address, owned */
	unsigned count, room;
	uint64_t hash; /* hash of the file's text, to detect changes */
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
 * Is @mapping the code mapping of a jitdump file? Runtimes that write a jitdump map its first page
 * executable, so that profilers can find the file's name.
 */
bool maps_is_jitdump(const struct mapping *mapping);

/* ---- code outside of the linker's modules ---------------------------------------------------- */

#define MAPPINGS_KNOWN 8

struct mappings {
	uint64_t wanted; /* address to look up, in no known range; 0: none */
	struct {
		uint64_t start, end;
	} known[MAPPINGS_KNOWN]; /* ranges looked up before; the oldest is overwritten */
	uint32_t known_count;
	uint32_t announced; /* number of modules reported */
	bool has_dump;	    /* the process's jitdump was reported */
	uint32_t wait_ms; /* ms between two reads of maps; doubled when one finds nothing */
	uint64_t read_ns;
};

/*
 * Note for lookup the first of the @count frames at @frames (unaligned) that has no module and lies
 * in no known range. Does nothing while an address is noted.
 */
void mappings_request(struct mappings *mappings, const char *frames, uint32_t count);

/*
 * Look up the noted address in the maps of process @pid, if wait_ms have passed. If it lies in a
 * file's code, write that mapping as a module of @image to @pipe_writer. Also report a mapped
 * jitdump once; its module only names the file, without any code. Does nothing if /proc forbids
 * reading @pid.
 */
void mappings_update(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct pipe_writer *pipe_writer);

#endif
