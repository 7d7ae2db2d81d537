/* SPDX-License-Identifier: MIT */
/* Use the jitdump first, because it has times; the perf map names code that the jitdump lacks. */
#include "cli/symbols/generated.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/jitdump.h"
#include "cli/symbols/perfmap.h"

_Static_assert(GENERATED_AT_LAST == JITDUMP_LAST, "the same moment");

static void read_dump(struct generated *generated)
{
	int fd = generated->held_dump ? generated->held_dump
				      : regular_open_own(generated->dump_path, generated->pid,
						generated->start_wall_s);

	if (fd < 0)
		return;
	if (jitdump_read(&generated->dump, fd))
		generated->dump = NULL;
	if (fd != generated->held_dump)
		close(fd);
}

static void read_map(struct generated *generated)
{
	int error = generated->held_map ? perfmap_read(&generated->map, generated->held_map)
					: perfmap_open(&generated->map, generated->pid,
						  generated->start_wall_s);

	if (error)
		generated->map = NULL;
}

static const char *name_in_map(struct generated *generated, uint64_t address)
{
	if (!generated->is_map_read)
		read_map(generated);
	generated->is_map_read = true;
	return generated->map ? perfmap_lookup(generated->map, address) : NULL;
}

const char *generated_name(
	struct generated *generated, uint64_t address, uint64_t time_ns, bool *moves)
{
	bool is_any = time_ns == GENERATED_AT_ANY_TIME, is_shared = false;
	const char *name = NULL;

	if (generated->dump_path && !generated->is_dump_read) {
		generated->is_dump_read = true;
		read_dump(generated);
	}
	if (generated->dump)
		name = jitdump_lookup(generated->dump, address, is_any ? JITDUMP_LAST : time_ns,
			&is_shared);
	*moves = is_any && is_shared;
	if (*moves)
		return NULL;
	return name ? name : name_in_map(generated, address);
}

void generated_path(const struct generated *generated, char *out, size_t size)
{
	out[0] = '\0';
	if (generated->dump)
		snprintf(out, size, "%s", generated->dump_path);
	else if (generated->map)
		snprintf(out, size, "/tmp/perf-%" PRIu32 ".map", generated->pid);
}

void generated_release(struct generated *generated)
{
	jitdump_free(generated->dump);
	perfmap_free(generated->map);
	*generated = (struct generated){0};
}
