/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/maps as a sorted table. Source: proc(5).
 */
#ifndef CLI_GATHER_MAPS_H
#define CLI_GATHER_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
