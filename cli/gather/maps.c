/* SPDX-License-Identifier: MIT */
/* Parse /proc/PID/maps, and look up code in mappings that the library does not know. */
#include "cli/gather/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/pipe_record.h"
#include "cli/symbols/jitdump.h"
#include "libprof/fnv.h"
#include "render/array.h"
#include "render/bytes.h"

/* ---- the table ------------------------------------------------------------------------------- */

#define TEXT_BYTES_MAX (64u << 20)

/*
 * Read all of /proc/@pid/maps and append a NUL. Returns 0 or -errno; @text is owned in either case.
 */
static int read_text(pid_t pid, struct bytes *text)
{
	char name[64], part[8192];
	ssize_t got;
	int error, fd;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((got = read(fd, part, sizeof(part))) > 0 && text->used < TEXT_BYTES_MAX)
		bytes_put(text, part, (size_t)got);
	error = got < 0 ? -errno : got ? -ENOMEM : 0;
	close(fd);
	/* The file is empty if the process is exiting and has released its memory. */
	if (!error && !text->used && !text->error)
		error = -ESRCH;
	bytes_put(text, "", 1);
	return error ? error : text->error;
}

/* Copy a path. The kernel escapes only newlines in paths, as \012: decode them. */
static char *copy_path(const char *from, size_t bytes)
{
	char *path = malloc(bytes + 1), *to = path;

	for (size_t i = 0; path && i < bytes; i++) {
		if (bytes - i >= 4 && !memcmp(from + i, "\\012", 4)) {
			*to++ = '\n';
			i += 3;
		} else {
			*to++ = from[i];
		}
	}
	if (path)
		*to = '\0';
	return path;
}

/* Add "start-end perms offset major:minor inode path", unless malformed or out of order. */
static int add_line(struct maps *maps, const char *line, size_t bytes)
{
	struct mapping mapping = {0};
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu%n", &mapping.start, &mapping.end, permissions,
		    &mapping.offset, &mapping.major, &mapping.minor, &mapping.inode, &at) != 7 ||
		(size_t)at > bytes)
		return 0;
	if (mapping.start >= mapping.end ||
		(maps->count && mapping.start < maps->list[maps->count - 1].end))
		return 0;
	mapping.is_code = permissions[2] == 'x';
	while ((size_t)at < bytes && line[at] == ' ')
		at++;
	if (ARRAY_GROW(maps->list, maps->count, maps->room, 64))
		return -ENOMEM;
	mapping.path = copy_path(line + at, bytes - (size_t)at);
	if (!mapping.path)
		return -ENOMEM;
	maps->list[maps->count++] = mapping;
	return 0;
}

int maps_parse(struct maps *maps, char *text)
{
	struct maps fresh = {.hash = fnv_text(FNV_BEGIN, text, SIZE_MAX)};
	int error = 0;

	if (maps->count && fresh.hash == maps->hash)
		return 0;
	for (char *line = text; *line && !error;) {
		size_t bytes = strcspn(line, "\n");
		bool is_ended = line[bytes] == '\n';

		/* Terminate the line, because sscanf() first measures its whole input. */
		line[bytes] = '\0';
		error = add_line(&fresh, line, bytes);
		line += bytes + is_ended;
	}
	if (error) {
		maps_release(&fresh);
		return error;
	}
	maps_release(maps);
	*maps = fresh;
	return 1;
}

int maps_read(struct maps *maps, pid_t pid)
{
	struct bytes text = {0};
	int error = read_text(pid, &text);
	int changed = error ? error : maps_parse(maps, (char *)text.data);

	bytes_release(&text);
	return changed;
}

void maps_release(struct maps *maps)
{
	for (unsigned i = 0; i < maps->count; i++)
		free(maps->list[i].path);
	free(maps->list);
	*maps = (struct maps){0};
}

const struct mapping *maps_find(const struct maps *maps, uintptr_t address)
{
	size_t at = ARRAY_UPTO(maps->list, maps->count, end, address);

	if (at == maps->count || address < maps->list[at].start)
		return NULL;
	return &maps->list[at];
}

bool maps_is_jitdump(const struct mapping *mapping)
{
	return mapping->is_code && mapping->inode && jitdump_is_named(mapping->path);
}

/* ---- code outside of the linker's modules ---------------------------------------------------- */

#define WAIT_MS_MIN 50u
#define WAIT_MS_MAX 3200u
#define NS_PER_MS   1000000ULL

/* Modules are numbered from WIRE_MODULE_MAX down, because the library numbers them from 1 up. */
#define MODULES_MAX (WIRE_MODULE_MAX / 2)

static int is_known(const struct mappings *mappings, uint64_t address)
{
	for (uint32_t i = 0; i < MAPPINGS_KNOWN && i < mappings->known_count; i++)
		if (address >= mappings->known[i].start && address < mappings->known[i].end)
			return 1;
	return 0;
}

void mappings_request(struct mappings *mappings, const char *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count && !mappings->wanted; i++) {
		uint64_t frame;

		memcpy(&frame, frames + i * sizeof(frame), sizeof(frame));
		if (WIRE_FRAME_MODULE(frame) == WIRE_MODULE_NONE &&
			!is_known(mappings, WIRE_FRAME_ADDRESS(frame)))
			mappings->wanted = WIRE_FRAME_ADDRESS(frame);
	}
}

static void put_module(struct mappings *mappings, const struct mapping *mapping, uint64_t image,
	struct pipe_writer *pipe_writer)
{
	struct record_module record = {
		.image = image,
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->offset,
		.time_ns = clock_now_ns(),
		.number = WIRE_MODULE_MAX - mappings->announced,
		.flags = WIRE_MODULE_MAPPED,
	};

	if (!pipe_writer_put(pipe_writer, RECORD_MODULE, &record,
		    offsetof(struct record_module, path), mapping->path, strlen(mapping->path) + 1))
		mappings->announced++;
}

void mappings_update(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct pipe_writer *pipe_writer)
{
	uint64_t wanted = mappings->wanted;
	const struct mapping *mapping;
	struct maps maps = {0};
	uint32_t at;

	if (!wanted || mappings->announced >= MODULES_MAX ||
		now_ns - mappings->read_ns < mappings->wait_ms * NS_PER_MS)
		return;
	mappings->wanted = 0;
	mappings->read_ns = now_ns;
	mappings->wait_ms = mappings->wait_ms ? 2 * mappings->wait_ms : WAIT_MS_MIN;
	if (mappings->wait_ms > WAIT_MS_MAX)
		mappings->wait_ms = WAIT_MS_MAX;
	if (maps_read(&maps, (pid_t)pid) < 0)
		return;
	for (unsigned i = 0; i < maps.count && !mappings->has_dump; i++) {
		mappings->has_dump = maps_is_jitdump(&maps.list[i]);
		if (mappings->has_dump)
			put_module(mappings, &maps.list[i], image, pipe_writer);
	}
	mapping = maps_find(&maps, wanted);
	if (mapping) {
		at = mappings->known_count++ % MAPPINGS_KNOWN;
		mappings->known[at].start = mapping->start;
		mappings->known[at].end = mapping->end;
	}
	if (mapping && mapping->is_code && mapping->inode) {
		put_module(mappings, mapping, image, pipe_writer);
		mappings->wait_ms = 0;
	}
	maps_release(&maps);
}
