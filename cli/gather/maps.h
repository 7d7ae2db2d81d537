/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/maps as a sorted table (source: proc(5)), and code that a process mapped from files by
 * itself: V8 maps its built-in functions from node's file a second time. The library in the process
 * knows only what the dynamic linker loaded; what is sampled elsewhere is looked up here, and told
 * as a module.
 *
 * Context: one thread.
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
	uint64_t inode; /* 0: no file */
	unsigned major, minor;
	bool is_code;
	char *path; /* "" without a name; owned by the table */
};

struct maps {
	struct mapping *list; /* by address */
	unsigned count, room;
	uint64_t hash; /* of the text: equal when nothing changed */
};

/*
 * Read the mappings of @pid in place of what @maps (zero-initialised at first) holds.
 * Returns 1 when they changed, 0 when they did not, or -errno with @maps as it was.
 */
int maps_read(struct maps *maps, pid_t pid);

/* The same from @text, which is changed. Returns 1, 0 or -ENOMEM. */
int maps_parse(struct maps *maps, char *text);
void maps_release(struct maps *maps);

/* The mapping that holds @address, or NULL. */
const struct mapping *maps_find(const struct maps *maps, uintptr_t address);

/*
 * Is it a jitdump's? Those who write one map its first page as code, so that profilers learn of the
 * file's name.
 */
bool maps_is_jitdump(const struct mapping *mapping);

/* ---- code that nobody told of ---------------------------------------------------------------- */

#define MAPPINGS_KNOWN 8

struct mappings {
	uint64_t wanted; /* an address in none of those that are known; 0: there was none */
	struct {
		uint64_t start, end;
	} known[MAPPINGS_KNOWN]; /* looked up before; the oldest makes room */
	uint32_t known_count;
	uint32_t announced; /* as modules */
	bool has_dump;	    /* the file that its JIT compiler tells of itself in was announced */
	uint32_t wait_ms; /* between two looks; the longer, the less they found */
	uint64_t read_ns;
};

/* Note the address of a frame without a module among the @count at @frames, any bytes. */
void mappings_request(struct mappings *mappings, const char *frames, uint32_t count);

/*
 * Look up what is wanted in process @pid, if it is time, and tell of a file's code there as a
 * module of @image, and once of the jitdump that it has mapped for whoever looks for it, as code
 * without any. A process that may not be looked into has none.
 */
void mappings_update(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct pipe_writer *pipe_writer);

#endif
